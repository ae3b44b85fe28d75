"""Coarser values of one column: the fewest bits for the most rows that are no longer unique, by brute force."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.pipeline.coarsening_effects import CodedQuasiIdentifiers, coarsenings

AGE = np.array([0, 1, 2, 3, 0, 1], dtype=np.int32)
SEX = np.array([0, 0, 0, 0, 1, 1], dtype=np.int32)
TABLE = CodedQuasiIdentifiers(columns=[AGE, SEX], rows=np.ones(6, dtype=np.int64), people=None)
HALVES = ("2 ranges", np.array([0, 0, 1, 1], dtype=np.int32))


def test_the_best_of_each_column_is_listed_by_rows_a_bit() -> None:
    """All six rows are unique; halves of the age leave none, and cost less than leaving the age out."""
    found = coarsenings(TABLE, ["age", "sex"], [[HALVES], []], uniques=6)
    assert [(one.column, one.to, one.uniques, one.k) for one in found] == [
        ("age", "2 ranges", 0, 2),
        ("sex", "left out", 2, 1),
    ]
    shares = np.array([2, 2, 1, 1]) / 6
    before = float(-(shares * np.log2(shares)).sum())
    halves = np.array([4, 2]) / 6
    assert found[0].lost_bits == pytest.approx(before + float((halves * np.log2(halves)).sum()))
    rows_a_bit = [(6 - one.uniques) / one.lost_bits for one in found]
    assert rows_a_bit == sorted(rows_a_bit, reverse=True)


def test_what_removes_no_unique_row_is_not_listed() -> None:
    """A column of one value has nothing to lose, and a table without unique rows nothing to gain."""
    constant = CodedQuasiIdentifiers(
        columns=[AGE, np.zeros(6, dtype=np.int32)], rows=np.ones(6, dtype=np.int64), people=None
    )
    assert [one.column for one in coarsenings(constant, ["age", "one"], [[], []], uniques=2)] == ["age"]
    assert coarsenings(TABLE, ["age", "sex"], [[HALVES], []], uniques=0) == []
