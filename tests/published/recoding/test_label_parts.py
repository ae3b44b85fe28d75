"""The parts of its column that each label means: of groups, of coarser steps, and of boxes."""

from __future__ import annotations

from anonkit.published.recoding import (
    GlobalRecoding,
    Grouping,
    LocalRecoding,
    RecodingSplit,
    UnchangedAxis,
    with_levels,
)
from anonkit.published.recoding.label_parts import labels_of
from tests.published.recoding.small_recodings import AGE, SEX


def test_a_label_means_the_parts_that_show_it() -> None:
    """Kept columns have no labels; a label of a coarser step means all that it joins."""
    plain = GlobalRecoding(
        columns=(UnchangedAxis(name="n"), Grouping(axis=AGE, labels=("< 20", ">= 20", ">= 20", None)))
    )
    (axis, labels), *others = labels_of(plain).values()
    assert not others
    assert axis == AGE
    assert labels == {"< 20": {0}, ">= 20": {1, 2}, None: {3}}
    coarser = labels_of(with_levels(plain))["age"][1]
    assert {label: coarser[label] for label in labels} == labels
    assert coarser["*"] == {0, 1, 2, 3}


def test_boxes_further_up_have_labels_of_their_own() -> None:
    """Rows of the next batch may show them: of every node, and of every column."""
    recoding = LocalRecoding(
        axes=(AGE, SEX),
        nodes=(
            RecodingSplit(axis=0, left=(0, 3), children=(1, 2)),
            None,
            RecodingSplit(axis=1, left=(0,), children=(3, 4)),
            None,
            None,
        ),
    )
    found = labels_of(recoding)
    assert found["age"][1] == {"*": {0, 1, 2, 3}, "< 20|missing": {0, 3}, ">= 20": {1, 2}}
    assert found["sex"][1] == {"*": {0, 1, 2, 3}, "F": {0}, "M|other|missing": {1, 2, 3}}
