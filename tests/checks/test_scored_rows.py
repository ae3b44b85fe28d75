"""Public figures of prediction: of the head of a file alone, recomputed from it, and refused elsewhere."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.checks.scored_rows import (
    features_of,
    no_prediction,
    prediction_check,
    prediction_of_first_rows,
    rows_to_score,
)

NAMES = ["group", "place"]


def _rows(n_rows: int, seed: int = 0) -> pa.Table:
    random = np.random.default_rng(seed)
    group = random.integers(0, 6, n_rows)
    return pa.table(
        {
            "note": ["n"] * n_rows,
            "place": random.choice(["east", "west"], n_rows),
            "group": [f"[{value}, {value + 1})" for value in group],
            "y": np.where(random.random(n_rows) < 0.15 * group, "yes", "no"),
            "amount": 10.0 * group + random.normal(0, 5, n_rows),
        }
    )


def _written(table: pa.Table, path: Path) -> Path:
    pq.write_table(table, path)
    return path


def _report(target: str, scored: object, figures: object) -> dict[str, Any]:
    return {
        "utility": {"scored_rows": scored, "prediction_of_target": figures},
        "columns": [{"name": "group", "role": "quasi_identifier"}, {"name": target, "role": "target"}],
    }


def _stated(data: Path, target: str = "y", scored: int = 300) -> dict[str, Any]:
    features = features_of(pq.read_schema(data), NAMES)
    found = prediction_of_first_rows(data, features, target, scored, of_number=target == "amount")
    assert found is not None
    return _report(target, scored, found)


def _passes(data: Path, report: dict[str, Any], *, several_rows: bool = False) -> bool:
    return prediction_check(data, pq.read_schema(data), report, NAMES, several_rows=several_rows).passed


@pytest.mark.parametrize("target", ["y", "amount"])
def test_anybody_finds_the_figures_again(target: str, tmp_path: Path) -> None:
    """From one file, from a folder of its rows in parts, and up to the trees of another version; not beyond."""
    table = _rows(700)
    data = _written(table, tmp_path / "one.parquet")
    report = _stated(data, target)
    assert _passes(data, report)
    (tmp_path / "parts").mkdir()
    for at, first in enumerate(range(0, 700, 250)):
        _written(table.slice(first, 250), tmp_path / "parts" / f"part-{at:05d}.parquet")
    features = features_of(table.schema, NAMES)
    again = prediction_of_first_rows(tmp_path / "parts", features, target, 300, of_number=target == "amount")
    assert again == report["utility"]["prediction_of_target"]
    measure = "auc" if target == "y" else "mae"
    scale = 1.0 if target == "y" else again["of_mean"]["mae"]
    for change, holds in ((0.004, True), (0.01, False)):
        near = copy.deepcopy(report)
        near["utility"]["prediction_of_target"][measure] += change * scale
        assert _passes(data, near) is holds


def test_only_the_head_of_the_file_is_read(tmp_path: Path) -> None:
    """The 10,000 rows behind those scored teach the model; what is after them changes nothing."""
    head, tail = _rows(10_300), _rows(300, seed=1)
    short = _written(head, tmp_path / "short.parquet")
    long = _written(pa.concat_tables([head, tail]), tmp_path / "long.parquet")
    assert _stated(long) == _stated(short)
    later = _written(pa.concat_tables([head.slice(0, 300), tail, head.slice(300)]), tmp_path / "later.parquet")
    assert _stated(later) != _stated(short)


def _changed(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], None]:
    def changed(report: dict[str, Any]) -> None:
        change(report["utility"]["prediction_of_target"])

    return changed


FORGERIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "a better area": _changed(lambda figures: figures.update(auc=0.99)),
    "a narrower interval": _changed(lambda figures: figures["ci"].update(auc=[figures["auc"], figures["auc"]])),
    "three ends": _changed(lambda figures: figures["ci"]["auc"].append(1.0)),
    "no interval": _changed(lambda figures: figures.pop("ci")),
    "no interval of one": _changed(lambda figures: figures["ci"].pop("auc")),
    "less by guessing": _changed(lambda figures: figures.update(majority=0.1)),
    "another protocol": _changed(lambda figures: figures.update(protocol="scored on rows of our choice")),
    "a word for a figure": _changed(lambda figures: figures.update(auc="good")),
    "a truth value": _changed(lambda figures: figures.update(majority=True)),
    "one figure more": _changed(lambda figures: figures.update(f1=0.9)),
    "rows unsaid": lambda report: report["utility"].pop("scored_rows"),
    "rows as a truth value": lambda report: report["utility"].update(scored_rows=True),
    "too few rows": lambda report: report["utility"].update(scored_rows=299),
    "too many rows": lambda report: report["utility"].update(scored_rows=10_001),
    "all rows but a few": lambda report: report["utility"].update(scored_rows=650),
    "figures of another kind": _changed(lambda figures: figures.update(r2=0.5)),
    "another target": lambda report: report["columns"][1].update(name="income"),
    "no target": lambda report: report["columns"].pop(1),
    "rows without figures": lambda report: report["utility"].update(prediction_of_target="not measured"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_figures_that_the_rows_do_not_have_are_refused(name: str, tmp_path: Path) -> None:
    """Any change of the figures, or of the number of rows behind them, is refused."""
    data = _written(_rows(700).drop_columns(["amount"]), tmp_path / "one.parquet")
    report = _stated(data)
    FORGERIES[name](report)
    assert not _passes(data, report)


def test_a_promise_about_people_or_a_search_of_all_labels_states_no_figures(tmp_path: Path) -> None:
    """There figures are refused, right as they may be; without them nothing is found wrong."""
    data = _written(_rows(700), tmp_path / "one.parquet")
    report = _stated(data)
    assert not _passes(data, report, several_rows=True)
    assert not no_prediction(report).passed
    assert not no_prediction({"utility": {"scored_rows": 300}}).passed
    for utility in ({}, {"prediction_of_target": "not measured"}):
        assert no_prediction({"utility": utility}).passed
        assert _passes(data, {**report, "utility": utility}, several_rows=True)


def test_small_files_and_files_without_features_have_no_figures(tmp_path: Path) -> None:
    """A fifth of the rows is scored, 10,000 at most; below three hundred nothing is."""
    assert [rows_to_score(n_rows) for n_rows in (0, 1_499, 1_500, 50_000, 10**9)] == [0, 299, 300, 10_000, 10_000]
    data = _written(_rows(700), tmp_path / "one.parquet")
    assert prediction_of_first_rows(data, NAMES, "y", 299, of_number=False) is None
    assert prediction_of_first_rows(data, [], "y", 300, of_number=False) is None
