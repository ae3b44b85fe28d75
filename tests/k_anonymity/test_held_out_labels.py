"""The labels of a fifth of the rows guide no search: these rows are first, and the public figure is about them.

Labels of intervals as two numbers: one to one, with the label's information, read back as the label.
"""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import anonkit
from anonkit.bundle.bound_columns import KEY, BoundColumn, bound_columns, labelled
from anonkit.bundle.json_documents import to_json
from anonkit.checks.shown_numbers import bounds_of
from anonkit.errors import GuaranteeError, ParameterError
from anonkit.k_anonymity import preparing
from anonkit.k_anonymity.held_out_labels import LEAST, bounds_of_labels, held_out_labels
from anonkit.k_anonymity.recoding_method import RecodingMethod
from anonkit.methods import METHODS as MODULES
from anonkit.methods import method_class
from anonkit.pipeline.derived_columns import ShownAsBounds
from anonkit.published.recoding import (
    GlobalRecoding,
    Grouping,
    IntervalAxis,
    LocalRecoding,
    RecodingSplit,
    recoding_from_dict,
    unique_labels,
)
from anonkit.randomness import Randomness
from anonkit.utility.class_utility import predictive_utility

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


N_ROWS = 2_000


def _table(n_rows: int = N_ROWS, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    age, place = random.integers(20, 80, n_rows), random.integers(0, 5, n_rows)
    return pa.table(
        {
            "number": np.arange(n_rows),
            "age": age,
            "place": [f"p{one}" for one in place],
            "y": np.where(random.random(n_rows) < age / 100, "yes", "no"),
        }
    )


POLICY: dict[str, Any] = {
    "columns": {
        "number": {"role": "insensitive", "release_as_is": True},
        "age": {"role": "quasi_identifier"},
        "place": {"role": "quasi_identifier"},
    }
}
METHODS: dict[str, dict[str, Any]] = {
    "rfka": {"method": "rfka", "trees": 5},
    "greedy-hamdist": {"method": "greedy-hamdist", "max_suppression": 0.1},
    "mondrian": {"method": "mondrian"},
}
UNGUIDED: dict[str, dict[str, Any]] = {
    "datafly": {"method": "datafly"},
    "incognito": {"method": "incognito"},
    "mdav": {"method": "mdav"},
}


def _released(table: pa.Table, method: str = "mondrian", **more: Any) -> anonkit.Release:
    asked = {
        "k": 5,
        "target": "y",
        "unit": "none",
        "ledger": None,
        "seed": 3,
        "policy": POLICY,
        **{**METHODS, **UNGUIDED}[method],
    }
    asked |= more
    return anonkit.release(table, **{**asked, "policy": anonkit.Policy.from_dict(asked["policy"])})


def _first(release: anonkit.Release) -> set[int]:
    scored = release.report["utility"]["scored_rows"]
    return set(release.to_arrow().column("number").to_pylist()[:scored])


@pytest.mark.quick_cases("greedy-hamdist")
@pytest.mark.parametrize("method", METHODS)
def test_no_label_of_the_rows_scored_moves_the_recoding(method: str) -> None:
    """All their labels are changed: recoding, rows and their order stay; of other rows a few change it."""
    table = _table()
    release = _released(table, method)
    first = _first(release)
    assert 300 <= len(first) <= 500
    labels = table.column("y").to_pylist()
    other = {"yes": "no", "no": "yes"}
    turned = [other[label] if at in first else label for at, label in enumerate(labels)]
    again = _released(table.set_column(3, "y", pa.array(turned)), method, utility=False)
    assert again.params["recoding"] == release.params["recoding"]
    names = ["number", *(name for name in release.to_arrow().column_names if name in ("age", "place"))]
    assert again.to_arrow().select(names) == release.to_arrow().select(names)
    assert "held out" not in release.to_arrow().column_names
    if method != "greedy-hamdist":  # which keeps every value of a table as plain as this
        random = np.random.default_rng(0).permutation(labels).tolist()
        mixed = pa.array([label if at in first else random[at] for at, label in enumerate(labels)])
        moved = _released(table.set_column(3, "y", mixed), method, utility=False)
        assert moved.params["recoding"] != release.params["recoding"]


@pytest.mark.quick_cases("mdav")
@pytest.mark.parametrize("method", UNGUIDED)
def test_a_method_that_reads_no_label_is_moved_by_none(method: str) -> None:
    """All labels are mixed: the same recoding."""
    table = _table()
    labels = np.random.default_rng(0).permutation(table.column("y").to_pylist())
    mixed = table.set_column(3, "y", pa.array(labels.tolist()))
    first, second = (_released(one, method, utility=False).params["recoding"] for one in (table, mixed))
    assert first == second


def test_every_method_of_classes_is_looked_at() -> None:
    """Those that recode by a search; what an earlier release recoded is searched no more."""
    searching = {name for name in MODULES if issubclass(method_class(name), RecodingMethod)}
    assert {*METHODS, *UNGUIDED} == searching


def test_every_search_is_handed_rows_without_these_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly the marked rows are unlabelled, of a number too."""
    seen = []
    found = preparing.guiding_target

    def watched(*args: Any, **named: Any) -> Any:
        seen.append((found(*args, **named), named["hidden"]))
        return seen[-1][0]

    monkeypatch.setattr(preparing, "guiding_target", watched)
    table = _table()
    _released(table, utility=False)
    numeric = table.set_column(3, "y", pa.array(np.arange(N_ROWS) * 1.5))
    _released(numeric, utility=False)
    for guide, hidden in seen:
        assert ((guide.labels < 0) == hidden).all()
        assert guide.numbers is None or (np.isnan(guide.numbers) == hidden).all()
        assert 0.15 < hidden.mean() < 0.25


def test_marks_are_of_the_key_and_the_row_number_alone() -> None:
    """Other cells, the same marks; a column of their name keeps its own."""
    from anonkit.engines.engine_choice import Local
    from anonkit.policy.declaration import Policy

    with Local().opened() as engine:
        marks = []
        for table in (_table(seed=1), _table(seed=2).append_column("held out", pa.array(range(N_ROWS)))):
            source = engine.hold(table)
            marked, name = held_out_labels(source, Policy(), engine, Randomness.seeded(5))
            rows = pa.Table.from_batches(list(marked.batches(marked.schema.names)))
            assert rows.select(table.column_names) == table
            marks.append(rows.column(name).to_pylist())
    assert marks[0] == marks[1]
    assert 0.15 < np.mean(marks[0]) < 0.25


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"all_labels": True}, {"unit": "number"}], ids=["all labels", "people"])
def test_where_the_search_sees_all_labels_nothing_is_public(options: dict[str, Any], tmp_path: Path) -> None:
    """No figure and no rows to score, a person having several; the owner's comparison says what may have been seen."""
    policy = {"columns": {name: how for name, how in POLICY["columns"].items() if name != "number"}}
    table = _table()
    if "unit" in options:
        table = table.set_column(0, "number", pa.array([*range(N_ROWS - 1), 0]))
    asked = {"policy": policy if "unit" in options else POLICY, **options}
    release = _released(table, output=tmp_path / "out.parquet", seed=None, **asked)
    assert release.report["utility"]["prediction_of_target"] == "not measured"
    assert "scored_rows" not in release.report["utility"]
    assert "may have seen the target" in release.owner["prediction_for_all_rows"]["protocol"]
    assert release.owner["prediction_for_all_rows"]["rows_scored"] == N_ROWS
    assert anonkit.validate(tmp_path / "out.parquet").passed
    parameters = release.report["method"]["parameters"]
    assert parameters.get("all_labels", False) is ("all_labels" in options)


OF_PEOPLE = {"columns": {name: how for name, how in POLICY["columns"].items() if name != "number"}}


@pytest.mark.quick_cases("datafly")
@pytest.mark.parametrize("method", [*METHODS, *UNGUIDED])
def test_of_people_with_one_row_each_a_fifth_is_scored(method: str, tmp_path: Path) -> None:
    """Rows of nobody do not count; the figure is found again, and no label of the first rows moved anything."""
    table = _table().append_column("serial", pa.array(range(N_ROWS)))
    table = table.set_column(0, "number", pa.array([None, None, *range(2, N_ROWS)]))
    shown = {"columns": {**OF_PEOPLE["columns"], "serial": POLICY["columns"]["number"]}}
    release = _released(table, method, unit="number", policy=shown)
    scored, rows = release.report["utility"]["scored_rows"], release.to_arrow()
    assert 300 <= scored <= 500
    assert isinstance(release.report["utility"]["prediction_of_target"], dict)
    written = _released(table, method, unit="number", policy=shown, seed=None, output=tmp_path / "out.parquet")
    assert anonkit.validate(tmp_path / "out.parquet").passed
    assert written.report["utility"]["scored_rows"] > 0
    first = set(rows.column("serial").to_pylist()[:scored])
    labels = table.column("y").to_pylist()
    turned = [{"yes": "no", "no": "yes"}[label] if at in first else label for at, label in enumerate(labels)]
    again = _released(table.set_column(3, "y", pa.array(turned)), method, unit="number", policy=shown, utility=False)
    assert again.params["recoding"] == release.params["recoding"]


@pytest.mark.quick_cases("datafly")
@pytest.mark.parametrize("method", UNGUIDED)
def test_of_people_with_several_rows_no_rows_are_scored(method: str) -> None:
    """Not where no search reads labels either: a model may not learn from other rows of people whom it predicts."""
    table = _table().set_column(0, "number", pa.array([*range(N_ROWS - 1), 0]))
    utility = _released(table, method, unit="number", policy=OF_PEOPLE).report["utility"]
    assert utility["prediction_of_target"] == "not measured"
    assert "scored_rows" not in utility


def test_marks_of_whole_people_would_leave_fewer_than_k() -> None:
    """Why several rows have no figure: all ways to mark six people who have rows in two classes, k = 3.

    Whoever knows that a person has a row in each class sees on which side of the file the rows of each class are, and
    keeps the people of the first class on whose side the second class has rows too.
    """
    first, second = (0, 1, 2), (0, 3, 4, 5)  # whose rows are in each class; person 0 is looked for
    left = []
    for marked in itertools.product((False, True), repeat=6):
        sides = {marked[person] for person in second}
        left.append(sum(marked[person] in sides for person in first))
    assert max(left) == 3
    assert min(left) == 1


@pytest.mark.slow
def test_small_tables_are_searched_with_all_their_labels() -> None:
    """Below the least rows none is marked, and nothing is public."""
    release = _released(_table(LEAST - 1))
    assert release.report["utility"]["prediction_of_target"] == "not measured"


@pytest.mark.slow
def test_a_method_that_reads_no_label_scores_the_first_fifth(tmp_path: Path) -> None:
    """Datafly, and a batch that is recoded as an earlier one: any rows serve, and the figure is found again."""
    table = _table()
    release = _released(table, "datafly", seed=None, output=tmp_path / "out.parquet")
    assert release.report["utility"]["scored_rows"] == release.to_arrow().num_rows // 5
    assert anonkit.validate(tmp_path / "out.parquet").passed
    assert release.owner["prediction_for_all_rows"]["rows_scored"] == N_ROWS
    assert "did not see" not in release.owner["prediction_for_all_rows"]["protocol"]


@pytest.mark.slow
@pytest.mark.parametrize("cells", ["labels", "bounds"])
def test_the_owner_s_comparison_scores_only_rows_whose_labels_were_hidden(cells: str, tmp_path: Path) -> None:
    """As many rows as are marked; validate finds the public figure from labels and from bounds."""
    release = _released(_table(), output=tmp_path / "out.parquet", seed=None, cells=cells)
    own, public = release.owner["prediction_for_all_rows"], release.report["utility"]
    assert own["rows_scored"] == public["scored_rows"]
    assert "did not see" in own["protocol"]
    assert anonkit.validate(tmp_path / "out.parquet").passed


def _coin(seed: int, method: str) -> dict[str, Any]:
    """Return the public figure of a release whose target is a coin, and is independent of every column."""
    random = np.random.default_rng(seed)
    columns = {f"c{at}": random.integers(0, size, N_ROWS) for at, size in enumerate((8, 30, 100, 4))}
    table = pa.table({**columns, "y": np.where(random.random(N_ROWS) < 0.5, "a", "b")})
    policy = {"columns": {name: {"role": "quasi_identifier"} for name in columns}}
    found: dict[str, Any] = _released(table, method, policy=policy, seed=seed).report["utility"]["prediction_of_target"]
    return found


@pytest.mark.slow
def test_a_coin_is_not_predicted() -> None:
    """The mean of two figures is .5, as far as so many rows can show."""
    figures = [_coin(seed, "mondrian") for seed in range(2)]
    assert abs(np.mean([figure["auc"] for figure in figures]) - 0.5) < 4 * 0.0289 / np.sqrt(2)  # of 200 and 200 rows


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mondrian", "rfka"])
def test_intervals_of_a_coin_hold_what_guessing_gets(method: str) -> None:
    """Of 100 tables at least 93 intervals of the AUC hold .5."""
    ends = [_coin(seed, method)["ci"]["auc"] for seed in range(100)]
    assert sum(low <= 0.5 <= high for low, high in ends) >= 93


@pytest.mark.slow
def test_rows_that_come_later_are_predicted_as_well_as_is_stated() -> None:
    """Ten columns decide by their squares; the same model predicts rows that were not released."""
    random = np.random.default_rng(4)
    cells = random.normal(size=(40_000, 10)).round(1)
    everything = pa.table(
        {
            **{f"x{at}": cells[:, at] for at in range(10)},
            "y": np.where((cells**2).sum(axis=1) > 9.34, "yes", "no"),
        }
    )
    policy = {"columns": {name: {"role": "quasi_identifier"} for name in everything.column_names[:-1]}}
    differences = []
    for seed in range(6):
        release = _released(everything.slice(4_000 * seed, 4_000), "mondrian", k=10, policy=policy, seed=seed)
        others = everything.slice(24_000).combine_chunks()
        recoded, _ = recoding_from_dict(release.params["recoding"]).apply(others.to_batches()[0])
        utility, rows = release.report["utility"], release.to_arrow()
        later = pa.table({**recoded, "y": others.column("y")}).select(rows.column_names)
        table = pa.concat_tables([_texts(later), _texts(rows.slice(utility["scored_rows"]))])
        found = predictive_utility(table, list(policy["columns"]), "y", later.num_rows)
        assert found is not None
        differences.append(utility["prediction_of_target"]["auc"] - found["auc"])
    assert abs(np.mean(differences)) < 4 * 0.013 / np.sqrt(6)  # of 800 rows whose AUC is .85


def _texts(table: pa.Table) -> pa.Table:
    return pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})
