"""Columns that a release would show unchanged: row numbers and functions of others are found, measures are not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from anonkit.domains.coded_columns import CodedColumn
from anonkit.drafting.identifying.clear_cells import (
    allowed_note,
    evidence_of_cells,
    evidence_of_times,
    follows_from,
    found_in,
    functions_among,
    refused_note,
)

DRAW = np.random.default_rng(1)


def coded(values: list[object]) -> CodedColumn:
    """A column of codes."""
    known = sorted(set(values), key=str)
    codes = np.array([known.index(value) for value in values], dtype=np.int32)
    return CodedColumn(name="a", codes=codes, values=known, ordered=isinstance(known[0], int))


def test_numbers_of_rows_are_found() -> None:
    """Different integers that lie close together, in any order and with gaps; not measures, and not a few."""
    numbers = DRAW.permutation(100) + 5
    found = found_in(evidence_of_cells(pa.chunked_array([numbers]), "n"))
    assert found is not None
    assert found.rule == "row_numbers"
    assert "'n'" in refused_note("n", found)
    assert found.reason in allowed_note("n", found)
    assert found_in(evidence_of_cells(pa.chunked_array([numbers * 40]), "n")) is None
    assert found_in(evidence_of_cells(pa.chunked_array([np.arange(9)]), "n")) is None
    assert found_in(evidence_of_times("day", filled=100, distinct=100)) is None


def test_a_function_of_a_known_column_follows_from_it() -> None:
    """A code of a city, or an income in another currency; neither noise nor a constant."""
    city = DRAW.integers(0, 4, 200).tolist()
    code = [("n", "e", "s", "w")[at] for at in city]
    assert follows_from(coded(code), coded(city))
    assert not follows_from(coded(DRAW.integers(0, 4, 200).tolist()), coded(city))
    assert not follows_from(coded(["x"] * 200), coded(city))
    income = DRAW.permutation(10_000)[:200]
    assert follows_from(coded((income * 3).tolist()), coded(income.tolist()))


@pytest.mark.parametrize("names", [["code", "other"], ["other", "code"]])
def test_columns_that_follow_are_listed_with_the_first_they_follow_from(names: list[str]) -> None:
    """Among the known ones, and each once."""
    city = DRAW.integers(0, 4, 200)
    table = pa.table(
        {"city": city, "town": city * 2, "code": [f"c{at}" for at in city], "other": DRAW.integers(0, 50, 200)}
    )
    assert functions_among(table, names, ["city", "town"]) == [("code", "city")]
