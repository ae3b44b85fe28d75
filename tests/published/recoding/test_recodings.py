"""Recodings as values: labels, application to cells, and the way through JSON."""

from __future__ import annotations

import json
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest

from anonkit.errors import ReleaseFormatError
from anonkit.published.recoding import (
    GlobalRecoding,
    Grouping,
    IntervalAxis,
    LocalRecoding,
    RecodingSplit,
    UnchangedAxis,
    recoding_from_dict,
    with_levels,
)
from anonkit.published.recoding.recodings import labels_of
from tests.published.recoding.small_recodings import AGE, SEX, boxes_of


def test_a_local_recoding_labels_boxes() -> None:
    """Every row shows the region of its box in every column."""
    batch = pa.record_batch({"age": [10, 30, 50, None], "sex": ["F", "F", "M", "Z"]})
    columns, unknown = boxes_of().apply(batch)

    assert columns["age"].to_pylist() == ["< 20|missing", ">= 20", ">= 20", "< 20|missing"]
    assert columns["sex"].to_pylist() == ["*", "F", "M|other|missing", "*"]
    assert not unknown.any()


def test_a_part_that_its_axis_has_not_is_refused() -> None:
    """It must not be taken for a part of another node: neither read back, nor applied, nor written."""
    recoding = LocalRecoding(axes=(AGE,), nodes=(RecodingSplit(axis=0, left=(AGE.size,), children=(1, 2)), None, None))
    with pytest.raises(IndexError):
        recoding.leaves([np.array([0])])
    with pytest.raises(IndexError):
        recoding.to_dict()
    written = LocalRecoding(
        axes=(AGE,), nodes=(RecodingSplit(axis=0, left=(0,), children=(1, 2)), None, None)
    ).to_dict()
    assert recoding_from_dict(written).to_dict() == written
    written["nodes"][0]["left"] = [AGE.size]
    with pytest.raises(ReleaseFormatError):
        recoding_from_dict(written)


RECODINGS = [
    GlobalRecoding(columns=()),
    GlobalRecoding(
        columns=(
            UnchangedAxis(name="n"),
            Grouping(axis=AGE, labels=("< 20", ">= 20", ">= 20", None)),
            Grouping(axis=SEX, labels=("F", "*", "*", None)),
            Grouping(
                axis=IntervalAxis(name="day", cuts=(date(2020, 1, 1),), has_missing=True), labels=("a", "b", None)
            ),
            Grouping(
                axis=IntervalAxis(name="at", cuts=(datetime(2020, 1, 1, 12, 30),), has_missing=True),
                labels=("a", "b", None),
            ),
            Grouping(axis=IntervalAxis(name="x", cuts=(0.5, 2.0), has_missing=True), labels=("a", "b", "c", None)),
        )
    ),
    boxes_of(),
]
RECODINGS += [with_levels(recoding) for recoding in RECODINGS]


@pytest.mark.parametrize("recoding", RECODINGS)
def test_a_recoding_survives_json(recoding: GlobalRecoding | LocalRecoding) -> None:
    """The recoding in params.json is the same recoding."""
    assert recoding_from_dict(json.loads(json.dumps(recoding.to_dict()))) == recoding


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"kind": "global"},
        {"kind": "other", "columns": []},
        {
            "kind": "global",
            "columns": [{"name": "x", "kind": "intervals", "cuts": ["about"], "missing": True, "labels": []}],
        },
        {
            "kind": "global",
            "columns": [
                {"name": "x", "kind": "categories", "values": ["a"], "other": True, "missing": True, "labels": []}
            ],
        },
        {"kind": "local", "axes": [{"name": "x", "kind": "kept"}], "nodes": []},
    ],
)
def test_a_damaged_recoding_is_refused(raw: dict[str, object]) -> None:
    """No half-read recoding is applied to people."""
    with pytest.raises(ReleaseFormatError, match="damaged"):
        recoding_from_dict(raw)


def test_levels_of_another_length_are_refused() -> None:
    """A level that does not say what every part is called is damaged, as is one that merges perhaps."""
    whole = with_levels(RECODINGS[1]).to_dict()
    assert recoding_from_dict(whole).merged
    short = {**whole, "columns": [{**column, "coarser": [["*"]]} for column in whole["columns"]]}
    for raw in (short, {**whole, "merged": "perhaps"}):
        with pytest.raises(ReleaseFormatError, match="damaged"):
            recoding_from_dict(raw)


def test_kept_columns_keep_type_and_order() -> None:
    """A column released as it is passes through untouched, dictionary and all."""
    column = pa.array(["lo", "hi", None]).dictionary_encode()
    batch = pa.record_batch({"n": column})
    recoding = GlobalRecoding(columns=(UnchangedAxis(name="n"),))

    assert recoding.apply(batch)[0]["n"].equals(column)
    assert recoding.types(batch.schema)["n"] == column.type


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
    found = labels_of(boxes_of())
    assert found["age"][1] == {"*": {0, 1, 2, 3}, "< 20|missing": {0, 3}, ">= 20": {1, 2}}
    assert found["sex"][1] == {"*": {0, 1, 2, 3}, "F": {0}, "M|other|missing": {1, 2, 3}}
