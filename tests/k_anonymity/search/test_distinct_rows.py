"""Distinct rows with their multiplicities: the table, whatever the order of its rows and columns."""

from __future__ import annotations

import numpy as np

from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.distinct_rows import DistinctRows, NumberedRows, released_partition


def column(name: str, codes: list[int]) -> CodedColumn:
    """A column of numbers."""
    return CodedColumn(name=name, codes=np.array(codes, dtype=np.int32), values=[0, 1, 2], ordered=True)


ROWS = [column("b", [1, 0, 1, 1, 0]), column("a", [2, 0, 2, 1, 0])]


def test_rows_that_are_alike_are_counted() -> None:
    """Entries ascend by their codes, columns by their names; shuffled rows give the same."""
    found = DistinctRows.of(ROWS, [])
    assert [one.name for one in found.columns] == ["a", "b"]
    assert [one.codes.tolist() for one in found.columns] == [[0, 1, 2], [0, 1, 1]]
    order = [4, 2, 0, 3, 1]
    shuffled = DistinctRows.of([column(one.name, one.codes[order].tolist()) for one in reversed(ROWS)], [])
    assert all((x.codes == y.codes).all() for x, y in zip(found.columns, shuffled.columns, strict=True))


def test_numbered_rows_say_which_entry_each_row_is() -> None:
    """Codes of its entry are the codes of the row; weights are the multiplicities."""
    found = NumberedRows.of(ROWS, [])
    assert found.weights.tolist() == [2.0, 1.0, 2.0]
    for one in ROWS:
        own = next(each for each in found.columns if each.name == one.name)
        assert (own.codes[found.entry] == one.codes).all()


def test_dropped_columns_do_not_divide_rows() -> None:
    """Classes by the released groups of the other column."""
    partition = released_partition(ROWS, {"a": np.array([0, 1, 1], dtype=np.int32), "b": None})
    classes = partition.classes
    assert len(set(classes.tolist())) == 2
    assert classes[0] == classes[2] == classes[3] != classes[1]
