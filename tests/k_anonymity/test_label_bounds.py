"""Labels of intervals as two numbers: one to one, with the label's information, read back as the label."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anonkit.bundle.bound_columns import KEY, BoundColumn, bound_columns, labelled
from anonkit.bundle.json_documents import to_json
from anonkit.checks.plain_bounds import bounds_of
from anonkit.errors import GuaranteeError, ParameterError
from anonkit.k_anonymity.label_bounds import bounds_of_labels
from anonkit.pipeline.written_bounds import ShownAsBounds
from anonkit.published.recoding import (
    GlobalRecoding,
    Grouping,
    IntervalAxis,
    LocalRecoding,
    RecodingSplit,
    unique_labels,
)

_REACH = 1000
ROWS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20)


def params_of(recoding: Any, **types: str) -> dict[str, Any]:
    """Params with the recoding, as a receiver reads them."""
    columns = [{"name": name, "type": kind} for name, kind in types.items()]
    return dict(json.loads(to_json({"columns": columns, "recoding": recoding.to_dict()})))


def grouped(axis: IntervalAxis, groups: list[int]) -> Grouping:
    """Parts of an axis in groups, each called by what it holds."""
    names = [axis.label([part for part, one in enumerate(groups) if one == group]) for group in groups]
    return Grouping(axis=axis, labels=unique_labels(names, groups))


@st.composite
def columns(draw: st.DrawFn, name: str = "x") -> tuple[Grouping, str]:
    """Any groups of any intervals, of integers or others, with and without missing."""
    whole = draw(st.booleans())
    numbers = st.integers(-50, 50) if whole else st.floats(-50, 50).map(lambda number: number + 0.0)
    cuts = draw(st.lists(numbers, min_size=1, max_size=5, unique=True).map(sorted))
    axis = IntervalAxis(name=name, cuts=tuple(cuts), has_missing=draw(st.booleans()))
    groups = draw(st.lists(st.integers(0, 3), min_size=axis.size, max_size=axis.size))
    return grouped(axis, groups), "int64" if whole else "double"


@given(column=columns())
def test_bounds_are_one_to_one_and_hold_what_the_label_holds(column: tuple[Grouping, str]) -> None:
    """Two labels never have one pair, a label has the pair of its words, and its values lie within; else refused."""
    grouping, kind = column
    params, words = params_of(GlobalRecoding(columns=(grouping,)), x=kind), set(grouping.labels)
    spoken = {label: bounds_of(label, whole=kind == "int64") for label in words}
    try:
        pairs = bounds_of_labels(params, ["x"], lambda _: words)["x"]["labels"]
    except ParameterError:
        assert len(set(spoken.values())) < len(words)
        return

    found = {label: (low, high) for label, low, high in pairs}
    assert found == spoken
    assert len(set(found.values())) == len(found) == len(pairs)
    cuts = [-_REACH, *map(float, grouping.axis.cuts), _REACH]  # type: ignore[arg-type]
    for part, label in enumerate(grouping.labels[: len(cuts) - 1]):
        low, high = found[label]
        lowest, highest = cuts[part], cuts[part + 1] - (kind == "int64")
        assert (-math.inf if low is None else low) <= lowest
        assert highest <= (math.inf if high is None else high)


@given(first=columns("x"), second=columns("y"), picks=ROWS)
def test_the_classes_of_the_numbers_are_those_of_the_labels(
    first: tuple[Grouping, str], second: tuple[Grouping, str], picks: list[tuple[int, int]]
) -> None:
    """Rows agree in their numbers exactly when they agree in their labels, and the labels are read back."""
    (x, x_kind), (y, y_kind) = first, second
    params = params_of(GlobalRecoding(columns=(x, y)), x=x_kind, y=y_kind)
    try:
        params[KEY] = bounds_of_labels(params, ["x", "y"], lambda name: {"x": x, "y": y}[name].labels)
    except ParameterError:
        assume(False)
    rows = [(x.labels[i % len(x.labels)], y.labels[j % len(y.labels)], at) for at, (i, j) in enumerate(picks)]
    cells = [pa.array(list(cells), kind) for cells, kind in zip(
        zip(*rows, strict=True) if rows else ((), (), ()), (pa.string(), pa.string(), pa.int64()), strict=True
    )]  # fmt: skip
    batch = pa.record_batch(cells, ["x", "y", "z"])
    shown = ShownAsBounds(
        columns=bound_columns(params), whole=frozenset(n for n, k in (("x", x_kind), ("y", y_kind)) if k == "int64")
    )
    written = shown(batch, 0)

    assert written.schema.names == ["x_low", "x_high", "y_low", "y_high", "z"]
    assert written.schema == shown.schema(batch.schema)
    plain = [tuple(row.values())[:4] for row in written.to_pylist()]
    labels = [row[:2] for row in rows]
    assert len(set(zip(plain, labels, strict=True))) == len(set(plain)) == len(set(labels))
    back, strange = labelled(pa.Table.from_batches([written]), shown.columns)
    assert strange == {"x": 0, "y": 0}
    assert back.to_pydict() == pa.Table.from_batches([batch]).to_pydict()


def axis(*cuts: Any, missing: bool = False, **more: Any) -> IntervalAxis:
    """Intervals of x."""
    return IntervalAxis(name="x", cuts=cuts, has_missing=missing, **more)


def one(column: Grouping, kind: str = "int64", shown: set[str | None] | None = None) -> dict[str, Any]:
    """The bounds of a column, by label; rows show all of its labels, or some."""
    params = params_of(GlobalRecoding(columns=(column,)), x=kind)
    found = bounds_of_labels(params, ["x"], lambda _: set(column.labels) if shown is None else shown)
    return {label: (low, high) for label, low, high in found["x"]["labels"]}


def test_whole_numbers_end_within_and_others_after_their_interval() -> None:
    """[30, 40) is 30 and 39 of integers, 30 and 40 of others; one number is itself; an open end is missing."""
    grouping = grouped(axis(20, 30, 40), [0, 1, 2, 3])
    assert one(grouping) == {"< 20": (None, 19), "[20, 30)": (20, 29), "[30, 40)": (30, 39), ">= 40": (40, None)}
    assert one(grouping, "double")["[30, 40)"] == (30, 40)
    alone = Grouping(axis=axis(1.5, 1.6), labels=("< 1.5", "1.5", ">= 1.6"))
    assert one(alone, "double")["1.5"] == (1.5, 1.5)


def test_what_two_labels_would_share_is_refused_where_rows_show_both() -> None:
    """Missing alone beside `*`, an interval with missing beside the same without, and what holds no number."""
    alone = Grouping(axis=axis(5, missing=True), labels=("*", "*", None))
    with pytest.raises(ParameterError, match="column 'x' cannot be shown as bounds") as refusal:
        one(alone)
    assert "labels" in str(refusal.value.hint)
    assert "drop" in str(refusal.value.hint)
    assert one(alone, shown={None}) == {None: (None, None)}
    assert one(alone, shown={"*"}) == one(alone, shown=set()) == {"*": (None, None)}
    y = IntervalAxis(name="y", cuts=(1,), has_missing=False)
    nodes = (
        RecodingSplit(axis=1, left=(0,), children=(1, 2)),
        RecodingSplit(axis=0, left=(0,), children=(3, 4)),
        None,
        None,
    )
    more = (RecodingSplit(axis=0, left=(1,), children=(5, 6)), None, None)
    boxes = LocalRecoding(axes=(axis(5, missing=True), y), nodes=(*nodes, *more))
    params = params_of(boxes, x="int64", y="int64")
    both = {">= 5", ">= 5|missing"}
    with pytest.raises(ParameterError, match="with missing cells in one"):
        bounds_of_labels(params, ["x"], lambda _: both)
    for label in both:
        told = [row[0] for row in bounds_of_labels(params, ["x"], lambda _, label=label: {label})["x"]["labels"]]
        assert both & set(told) == {label}
    assert set(bounds_of_labels(params, ["y"], lambda _: {"< 1"})) == {"y"}
    for nothing, kind in ((axis(36.2, 36.8), "int64"), (axis(math.inf), "double")):
        with pytest.raises(ParameterError, match="or one none"):
            one(grouped(nothing, list(range(nothing.size))), kind)


def test_declared_groups_of_boxes_have_the_bounds_of_their_name() -> None:
    """A box inside a declared group shows the group's label, and the group's bounds; boxes above have theirs too."""
    named = axis(10, 20, 30, named=(("< 20", (0, 1)), (">= 20", (2, 3))))
    recoding = LocalRecoding(axes=(named,), nodes=(RecodingSplit(axis=0, left=(0,), children=(1, 2)), None, None))
    found = bounds_of_labels(params_of(recoding, x="int32"), ["x"], lambda _: {"< 20", "*"})
    assert found["x"]["labels"] == [["*", None, None], ["< 20", None, 19]]


def test_other_columns_stay_labels() -> None:
    """Dates, decimals, and what is not released are not shown as numbers."""
    for kind in ("date32[day]", "decimal128(9, 2)", "uint64"):
        params = params_of(GlobalRecoding(columns=(grouped(axis(5), [0, 1]),)), x=kind)
        assert bounds_of_labels(params, ["x"], lambda _: {"< 5", ">= 5"}) == {}
    params = params_of(GlobalRecoding(columns=(grouped(axis(5), [0, 1]),)), x="int64")
    assert bounds_of_labels(params, ["y"], lambda _: {"< 5", ">= 5"}) == {}
    params["columns"][0]["place"] = {"resolutions": [5]}
    assert bounds_of_labels(params, ["x"], lambda _: {"< 5", ">= 5"}) == {}


def test_a_name_that_is_taken_is_refused() -> None:
    """No column of the source, released or not, is called as a bound."""
    params = params_of(GlobalRecoding(columns=(grouped(axis(5), [0, 1]),)), x="int64", x_high="string")
    with pytest.raises(ParameterError, match="there is a column 'x_high'"):
        bounds_of_labels(params, ["x"], lambda _: {"< 5", ">= 5"})


def test_a_label_without_bounds_is_never_written() -> None:
    """A label without bounds in the recoding stops the release."""
    params = params_of(GlobalRecoding(columns=(grouped(axis(5), [0, 1]),)), x="int64")
    params[KEY] = bounds_of_labels(params, ["x"], lambda _: {"< 5", ">= 5"})
    shown = ShownAsBounds(columns=bound_columns(params), whole=frozenset({"x"}))
    with pytest.raises(GuaranteeError, match="column 'x' shows 2 cells that have no bounds"):
        shown(pa.record_batch([pa.array(["< 5", "[5, 6)", None])], ["x"]), 0)


def test_whole_numbers_that_became_floats_are_read_unless_two_became_one() -> None:
    """pandas makes floats of integers beside missing ones: beyond 2**53 they are the floats nearest to them."""
    large, next_one = 2**60 + 1, 2**60 + 3
    column = BoundColumn(
        name="x",
        low="x_low",
        high="x_high",
        labels=(("a", (None, 5)), ("b", (6, large)), ("c", (6, next_one)), ("d", (large, None))),
    )

    def read(low: list[Any], high: list[Any], kind: pa.DataType) -> tuple[list[str | None], int]:
        labels, strange = column.read(pa.array(low, kind), pa.array(high, kind))
        return labels.to_pylist(), strange

    rows = [None, 6, 6, large], [5, large, next_one, None]
    assert read(*rows, pa.int64()) == (["a", "b", "c", "d"], 0)
    floats = [[None if end is None else float(end) for end in ends] for ends in rows]
    assert read(*floats, pa.float64()) == (["a", None, None, "d"], 2)
    assert read([None], [None], pa.int64()) == ([None], 1)
    assert read([], [], pa.int64()) == ([], 0)
