"""Rows in the original values, shown as a release shows such rows; labels stay, and what is not covered is masked."""

from __future__ import annotations

import pyarrow as pa
import pytest

from anonkit.consumers.column_statistics import Columns
from anonkit.consumers.release_features import shown_as_released
from anonkit.errors import SourceError
from anonkit.published.recoding import (
    MASK,
    CategoryAxis,
    GlobalRecoding,
    Grouping,
    IntervalAxis,
)
from anonkit.published.recoding.recodings import labels_of
from tests.published.recoding.small_recodings import boxes_of

AGE = IntervalAxis(name="age", cuts=(20, 40), has_missing=True)
SEX = CategoryAxis(name="sex", values=("F", "M"), has_other=False, has_missing=False)
GROUPS = GlobalRecoding(
    columns=(Grouping(axis=AGE, labels=("< 20", ">= 20", ">= 20", None)), Grouping(axis=SEX, labels=("F", "M")))
)
BOXES = boxes_of((AGE, SEX))


def test_values_get_the_label_of_their_group() -> None:
    """Numbers, numbers as texts, labels that are there already; a value that no group has shows the mask."""
    data = Columns({"age": pa.array(["19", "40", "< 20", "?", "old"]), "sex": pa.array(["F", "M", "F", "X", "M"])})
    shown = shown_as_released(data, GROUPS, labels_of(GROUPS), frozenset({"?"}))
    assert shown["age"].to_pylist() == ["< 20", ">= 20", "< 20", None, MASK]
    assert shown["sex"].to_pylist() == ["F", "M", "F", MASK, "M"]


def test_rows_are_shown_in_their_box() -> None:
    """As the recoding itself shows them."""
    batch = pa.record_batch({"age": [10, 30, 50], "sex": ["F", "F", "M"]})
    expected, _ = BOXES.apply(batch)
    shown = shown_as_released(Columns(pa.Table.from_batches([batch])), BOXES, labels_of(BOXES), frozenset())
    assert {name: cells.to_pylist() for name, cells in shown.items()} == {
        name: cells.to_pylist() for name, cells in expected.items()
    }


def test_a_box_needs_all_its_columns() -> None:
    """Without one nobody knows the box of a row; released rows need none."""
    with pytest.raises(SourceError, match="'sex'"):
        shown_as_released(Columns({"age": pa.array([10, 30])}), BOXES, labels_of(BOXES), frozenset())
    released = Columns({"age": pa.array(["< 20|missing", ">= 20"])})
    assert shown_as_released(released, BOXES, labels_of(BOXES), frozenset()) == {}
