"""Columns of intervals as two numbers: every pair is its label again, and a pair of none or of two is none."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from anonkit.bundle.bound_columns import BoundColumn, bound_columns, labelled
from anonkit.errors import ReleaseFormatError

AGE = BoundColumn(
    name="age",
    low="age_low",
    high="age_high",
    labels=(("< 20", (None, 20)), ("[20, 40)", (20, 40)), ("*", (None, None))),
)


def test_a_pair_is_its_label() -> None:
    """Also where a library has made floats of whole numbers; rows without a label are counted."""
    lows, highs = pa.array([None, 20, 20, None]), pa.array([20, 40, 41, None])
    for low, high in ((lows, highs), (lows.cast(pa.float64()), highs.cast(pa.float64()))):
        labels, unknown = AGE.read(low, high)
        assert labels.to_pylist() == ["< 20", "[20, 40)", None, "*"]
        assert unknown == 1


def test_a_pair_of_two_labels_is_none() -> None:
    """Nobody can know which of them it was."""
    twice = BoundColumn(name="a", low="l", high="h", labels=(("x", (1, 2)), ("y", (1, 2)), ("z", (2, 3))))
    assert twice.codes(pa.array([1, 2]), pa.array([2, 3])).tolist() == [-1, 2]


def test_rows_get_labels_in_place_of_bounds() -> None:
    """At the place of the two columns."""
    table = pa.table({"id": [1, 2], "age_low": [None, 20], "age_high": [20, 40], "sex": ["f", "m"]})
    rows, unknown = labelled(table, [AGE])
    assert sorted(rows.column_names) == ["age", "id", "sex"]
    assert rows.column("age").to_pylist() == ["< 20", "[20, 40)"]
    assert unknown == {"age": 0}


@pytest.mark.parametrize(
    "block",
    [
        {"age": {"low": "l", "high": "h", "labels": [["x", True, 2]]}},
        {"age": {"low": "l", "high": "h", "labels": [["x", "1", 2]]}},
        {"age": {"low": "l", "labels": []}},
        [],
        {"age": {"low": "l", "high": "h", "labels": [["x", 1]]}},
    ],
)
def test_damaged_bounds_are_refused(block: Any) -> None:
    """A truth value and a text are no numbers."""
    with pytest.raises(ReleaseFormatError, match="bounds"):
        bound_columns({"bounds": block})
    assert bound_columns({}) == ()
    (read,) = bound_columns({"bounds": {"age": {"low": "age_low", "high": "age_high", "labels": [["< 20", None, 20]]}}})
    assert read.names == ("age_low", "age_high")
