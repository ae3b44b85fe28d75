"""The labels of a fifth of the rows guide no search: these rows are first, and the public figure is about them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.k_anonymity import preparing
from anonkit.k_anonymity.held_out_labels import LEAST, held_out_labels
from anonkit.k_anonymity.recoding_method import RecodingMethod
from anonkit.methods import METHODS as MODULES
from anonkit.methods import method_class
from anonkit.published.recoding import recoding_from_dict
from anonkit.randomness import Randomness
from anonkit.utility.class_utility import predictive_utility

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


@pytest.mark.slow_cases("mondrian")
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


def test_small_tables_are_searched_with_all_their_labels() -> None:
    """Below the least rows none is marked, and nothing is public."""
    release = _released(_table(LEAST - 1))
    assert release.report["utility"]["prediction_of_target"] == "not measured"


def test_a_method_that_reads_no_label_scores_the_first_fifth(tmp_path: Path) -> None:
    """Datafly, and a batch that is recoded as an earlier one: any rows serve, and the figure is found again."""
    table = _table()
    release = _released(table, "datafly", seed=None, output=tmp_path / "out.parquet")
    assert release.report["utility"]["scored_rows"] == release.to_arrow().num_rows // 5
    assert anonkit.validate(tmp_path / "out.parquet").passed
    assert release.owner["prediction_for_all_rows"]["rows_scored"] == N_ROWS
    assert "did not see" not in release.owner["prediction_for_all_rows"]["protocol"]


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
