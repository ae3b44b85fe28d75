"""Recodings as values: labels, application to cells, and the way through JSON."""

from __future__ import annotations

import json
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.errors import ReleaseFormatError
from anonkit.published.recoding import (
    UNKNOWN,
    CategoryAxis,
    GlobalRecoding,
    Grouping,
    IntervalAxis,
    KeptAxis,
    LocalRecoding,
    RecodingSplit,
    recoding_from_dict,
    unique_labels,
    with_levels,
)

AGE = IntervalAxis(name="age", cuts=(20, 40), has_missing=True)
SEX = CategoryAxis(name="sex", values=("F", "M"), has_other=True, has_missing=True)


def test_a_cut_belongs_to_the_interval_above_it() -> None:
    """Part i holds cuts[i-1] <= x < cuts[i]; missing is the last part."""
    codes = AGE.codes(pa.array([19, 20, 39, 40, None, -5]))
    assert codes.tolist() == [0, 1, 1, 2, 3, 0]


def test_values_not_listed_join_the_others_or_are_unknown() -> None:
    """Without a group for the rest, nothing is said about a new value."""
    closed = CategoryAxis(name="sex", values=("F", "M"), has_other=False, has_missing=True)
    cells = pa.array(["M", "X", None, "F"])
    assert SEX.codes(cells).tolist() == [1, 2, 3, 0]
    assert closed.codes(cells).tolist() == [1, UNKNOWN, 2, 0]


@pytest.mark.parametrize(
    ("axis", "parts", "label"),
    [
        (AGE, [0], "< 20"),
        (AGE, [1], "[20, 40)"),
        (AGE, [2], ">= 40"),
        (AGE, [0, 1], "< 40"),
        (AGE, [0, 2], "< 20|>= 40"),
        (AGE, [0, 3], "< 20|missing"),
        (AGE, [3], None),
        (AGE, [0, 1, 2], "*"),
        (AGE, [0, 1, 2, 3], "*"),
        (
            CategoryAxis(name="c", values=tuple("abcdefg"), has_other=True, has_missing=True),
            [0, 1, 2, 3, 4, 7, 8],
            "not f|g",
        ),
        (
            CategoryAxis(name="c", values=tuple("abcdefg"), has_other=True, has_missing=True),
            [0, 1, 2, 7],
            "a|b|c|other",
        ),
        (SEX, [0], "F"),
        (SEX, [0, 1], "F|M"),
        (SEX, [2], "other"),
        (SEX, [1, 3], "M|missing"),
        (SEX, [3], None),
        (SEX, [0, 1, 2], "*"),
        (SEX, [0, 1, 2, 3], "*"),
    ],
)
def test_labels_say_what_a_group_holds(axis: IntervalAxis | CategoryAxis, parts: list[int], label: str | None) -> None:
    """Intervals with open ends, categories joined by a bar, a star for everything."""
    assert axis.label(parts) == label


@given(st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=8), st.randoms())
def test_labels_are_unique_exactly_by_group(labels: list[str | None], random: object) -> None:
    """Two parts share a label when, and only when, they share a group."""
    groups = [hash((at * 7919) % 5) % 4 for at in range(len(labels))]
    out = unique_labels(labels, groups)
    for i in range(len(out)):
        for j in range(len(out)):
            assert (out[i] == out[j]) == (groups[i] == groups[j])


def _local() -> LocalRecoding:
    return LocalRecoding(
        axes=(AGE, SEX),
        nodes=(
            RecodingSplit(axis=0, left=(0, 3), children=(1, 2)),
            None,
            RecodingSplit(axis=1, left=(0,), children=(3, 4)),
            None,
            None,
        ),
    )


def test_a_local_recoding_labels_boxes() -> None:
    """Every row shows the region of its box in every column."""
    batch = pa.record_batch({"age": [10, 30, 50, None], "sex": ["F", "F", "M", "Z"]})
    columns, unknown = _local().apply(batch)

    assert columns["age"].to_pylist() == ["< 20|missing", ">= 20", ">= 20", "< 20|missing"]
    assert columns["sex"].to_pylist() == ["*", "F", "M|other|missing", "*"]
    assert not unknown.any()


@given(st.integers(0, 3), st.integers(0, 3))
def test_boxes_are_disjoint_and_cover_the_space(age: int, sex: int) -> None:
    """Every point of the space is in one leaf, and the leaf's labels cover it."""
    recoding = _local()
    leaf = int(recoding.leaves([np.array([age]), np.array([sex])])[0])
    assert recoding.nodes[leaf] is None
    assert leaf in recoding.boxes()


def test_each_set_of_parts_is_named_once_however_many_batches_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The labels of all boxes are made for the recoding, and not anew for every batch of rows."""
    named: list[tuple[int, ...]] = []
    label = IntervalAxis.label

    def counted(axis: IntervalAxis, parts: list[int]) -> str | None:
        named.append(tuple(parts))
        return label(axis, parts)

    monkeypatch.setattr(IntervalAxis, "label", counted)
    recoding = _local()
    for _ in range(3):
        recoding.apply(pa.record_batch({"age": [10, 30], "sex": ["F", "M"]}))
    recoding.boxes()
    assert sorted(named) == [(0, 3), (1, 2)]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_all_rows_at_once_end_where_each_ends_by_itself(seed: int, n_splits: int) -> None:
    """On random trees every row is in the leaf that its own walk reaches, and in the region of no other."""
    draw = np.random.default_rng(seed)
    nodes: list[RecodingSplit | None] = [None]
    for _ in range(n_splits):
        at = int(draw.choice([number for number, node in enumerate(nodes) if node is None]))
        axis = int(draw.integers(2))
        left = tuple(np.flatnonzero(draw.random((AGE, SEX)[axis].size) < 0.5).tolist())
        nodes[at] = RecodingSplit(axis=axis, left=left, children=(len(nodes), len(nodes) + 1))
        nodes += [None, None]
    recoding = LocalRecoding(axes=(AGE, SEX), nodes=tuple(nodes))
    points = [(age, sex) for age in range(AGE.size) for sex in range(SEX.size)]
    regions = recoding.regions()
    for point, leaf in zip(
        points, recoding.leaves([np.array(codes) for codes in zip(*points, strict=True)]), strict=True
    ):
        number = 0
        while (node := nodes[number]) is not None:
            number = node.children[point[node.axis] not in node.left]
        assert leaf == number
        assert [at for at, held in regions.items() if all(p in h for p, h in zip(point, held, strict=True))] == [leaf]


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
            KeptAxis(name="n"),
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
    _local(),
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


def test_dates_are_cut_like_numbers() -> None:
    """Days and timestamps before and after a cut fall on their sides."""
    days = IntervalAxis(name="d", cuts=(date(2000, 1, 1),), has_missing=True)
    assert days.codes(pa.array([date(1999, 12, 31), date(2000, 1, 1), None])).tolist() == [0, 1, 2]
    times = IntervalAxis(name="t", cuts=(datetime(2000, 1, 1, 12),), has_missing=True)
    cells = pa.array([datetime(2000, 1, 1, 11, 59), datetime(2000, 1, 1, 12), None], pa.timestamp("us"))
    assert times.codes(cells).tolist() == [0, 1, 2]


def test_nothing_is_said_about_missing_where_there_was_none() -> None:
    """A recoding of a table without missing values does not know what to do with one."""
    ages = IntervalAxis(name="age", cuts=(20,), has_missing=False)
    sexes = CategoryAxis(name="sex", values=("F",), has_other=True, has_missing=False)
    assert ages.codes(pa.array([1, None])).tolist() == [0, UNKNOWN]
    assert sexes.codes(pa.array(["F", None])).tolist() == [0, UNKNOWN]
    assert (ages.label([1]), ages.label([0, 1]), sexes.label([0, 1])) == (">= 20", "*", "*")


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
    recoding = GlobalRecoding(columns=(KeptAxis(name="n"),))

    assert recoding.apply(batch)[0]["n"].equals(column)
    assert recoding.types(batch.schema)["n"] == column.type
