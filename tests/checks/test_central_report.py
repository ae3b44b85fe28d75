"""Means beside the columns of drawn rows: what the noisy counts do not say is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Files, forged, verdict

import anonkit
from anonkit.checks.central_params import facts_of
from anonkit.checks.central_report import _Counted, mean_checks
from anonkit.checks.file_integrity import key_checks
from anonkit.policy.declaration import Policy
from anonkit.published.column_means import ColumnCounts, counts_of_columns
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE

COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"bounds": [0, 99], "type": "integer"},
    "wage": {"bounds": [0, 100]},
    "gain": {"bounds": [0, 9_000], "spikes": [0], "type": "integer"},
    "job": {"categories": ["a", "b", "c"]},
    "ill": {"categories": ["no", "yes"]},
}
RELEASES: dict[str, dict[str, Any]] = {
    "forest": {"method": "dp-forest", "target": "ill", "epsilon": 3.0, "depth": 2},
    "forest of a number": {"method": "dp-forest", "target": "age", "epsilon": 3.0, "depth": 2, "n_rows": 900},
    "forest of some columns": {"method": "dp-forest", "target": "ill", "epsilon": 0.02, "depth": 2},
    "forest with a delta": {"method": "dp-forest", "target": "ill", "epsilon": 3.0, "delta": 1e-4, "depth": 2},
    "marginals": {"method": "dp-marginals", "target": "ill", "epsilon": 3.0},
    "marginals of noise": {"method": "dp-marginals", "target": "ill", "epsilon": 0.01},
    "marginals with a delta": {"method": "dp-marginals", "epsilon": 3.0, "delta": 1e-4},
}
CERTAIN = [name for name in RELEASES if name not in ("forest of some columns", "marginals of noise")]


def policy(target: str | None) -> Policy:
    """The policy with one of the columns as target."""
    columns = {name: {**column, **({"role": "target"} if name == target else {})} for name, column in COLUMNS.items()}
    return Policy.from_dict({"columns": columns, **({"target": False} if target is None else {})})


def people(n: int = 900) -> pa.Table:
    """Ages, wages, gains that are mostly 0, jobs and who is ill."""
    rng = np.random.default_rng(6)
    age, job = rng.integers(0, 100, n), rng.choice(["a", "b", "c"], n)
    gain = np.where(rng.random(n) < 0.9, 0, rng.integers(0, 9_000, n))
    ill = np.where(rng.random(n) < (0.1 + 0.8 * (job == "c")), "yes", "no")
    wage = np.where(rng.random(n) < 0.1, np.nan, 100 * rng.random(n))
    return pa.table({"age": age, "wage": pa.array(wage, from_pandas=True), "gain": gain, "job": job, "ill": ill})


@cache
def released(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Params and report of a release in memory."""
    asked = dict(RELEASES[name])
    found = anonkit.release(people(), policy=policy(asked.pop("target", None)), seed=8, ledger=None, **asked)
    return found.params, found.report


def is_right(params: dict[str, Any], report: dict[str, Any]) -> bool | None:
    """Return what the check says; None where it says nothing."""
    checks = list(mean_checks(params, report, facts_of(params)))
    return checks[0].passed if checks else None


def of(report: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the entry of a column."""
    return next(column for column in report["columns"] if column["name"] == name)


@pytest.mark.quick_cases("marginals with a delta", "forest", "forest of a number", "marginals")
@pytest.mark.parametrize("name", RELEASES)
def test_what_releases_state_follows(name: str) -> None:
    """Of every law and kind of tables, where little is known too; without means nothing is checked."""
    params, report = released(name)
    assert sum("mean" in column for column in report["columns"]) >= (3 if name in CERTAIN else 1)
    assert is_right(params, report) is True
    silent = {**report, "columns": [{k: v for k, v in one.items() if k != "mean"} for one in report["columns"]]}
    assert is_right(params, silent) is None


def narrower(mean: dict[str, Any]) -> None:
    """Promise more than the noise allows, at the lower end."""
    mean["low"] += 0.05 * (mean["high"] - mean["low"])


def narrower_above(mean: dict[str, Any]) -> None:
    """The same at the upper end."""
    mean["high"] -= 0.05 * (mean["high"] - mean["low"])


def wider(mean: dict[str, Any]) -> None:
    """State an end beyond what the noise reaches."""
    mean["low"] -= 0.1 * (mean["high"] - mean["low"])


def outside(mean: dict[str, Any]) -> None:
    """State a value that is not in its interval."""
    mean["value"] = mean["high"] + 1


def moved(mean: dict[str, Any]) -> None:
    """State another value than that of the counts."""
    mean["value"] += 0.1 * (mean["high"] - mean["low"])


def turned(mean: dict[str, Any]) -> None:
    """Let the rows carry what they do not, or not what they do."""
    mean["of_the_rows"] = not mean["of_the_rows"]


EDITS: list[Callable[[dict[str, Any]], None]] = [narrower, narrower_above, wider, outside, moved, turned]


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("name", CERTAIN)
def test_what_does_not_follow_is_refused(name: str, edit: Callable[[dict[str, Any]], None]) -> None:
    """An end, the value, or whether the rows carry the mean."""
    params, report = released(name)
    other = copy.deepcopy(report)
    edit(of(other, "age")["mean"])
    assert is_right(params, other) is False


@pytest.mark.parametrize("name", ["forest", "marginals of noise"])
def test_each_counted_column_has_its_mean_and_no_other(name: str) -> None:
    """A mean left out, and one of a column of categories."""
    params, report = released(name)
    other = copy.deepcopy(report)
    mean = of(other, "age").pop("mean")
    assert is_right(params, other) is False
    of(other, "age")["mean"] = mean
    of(other, "job")["mean"] = mean
    assert is_right(params, other) is False


def test_counts_that_are_not_there_leave_no_mean() -> None:
    """Without the line of the account, or with a cell fewer: other checks name these, this one does not break."""
    params, report = released("forest")
    lines = [line for line in params["accounting"] if line["purpose"] != "histograms by class"]
    assert is_right({**params, "accounting": lines}, report) is False
    shorter = [[table[1:] for table in tables] for tables in params["histograms"]]
    assert is_right({**params, "histograms": shorter}, report) is False
    params, report = released("forest of a number")
    target = {key: value for key, value in params["target"].items() if key != "histogram"}
    assert is_right({**params, "target": target}, report) is False


def test_where_nothing_is_known_nothing_is_stated() -> None:
    """Of noise alone no interval but the bounds is right."""
    params, report = released("marginals of noise")
    tables = [{**table, "counts": (0 * np.array(table["counts"])).tolist()} for table in params["tables"]]
    empty, other = {**params, "tables": tables}, copy.deepcopy(report)
    for column in other["columns"]:
        if "mean" in column:
            low, high = COLUMNS[column["name"]]["bounds"]
            (middles,) = [one.domain.midpoints() for name, one in counts_of_columns(empty) if name == column["name"]]
            column["mean"] = {"value": float(middles.mean()), "low": low, "high": high, "of_the_rows": False}
    assert is_right(empty, other) is True
    of(other, "age")["mean"]["low"] = 10
    assert is_right(empty, other) is False


def test_a_mean_without_counts_is_a_strange_key() -> None:
    """A report of another method holds none."""
    params, report = released("forest")
    assert all(check.passed for check in key_checks(params, report))
    other = {key: value for key, value in params.items() if key not in ("histograms", "mixtures")}
    assert not all(check.passed for check in key_checks(other, report))


@pytest.mark.parametrize(("law", "rate"), [(LAPLACE, 1 << 50), (GAUSSIAN, 1 << 46), (GAUSSIAN, 1 << 52)])
def test_the_reach_of_noise_is_that_of_the_methods(law: str, rate: int) -> None:
    """The margins are those of other code, of wide laws and of narrow ones."""
    params, _ = released("marginals")
    domain = dict(counts_of_columns(params))["age"].domain
    column = next(column for column in facts_of(params).columns if column.name == "age")
    own = ColumnCounts(domain=domain, counts=np.zeros(17, dtype=np.int64), draws=2, rate=rate, law=law)
    weights = np.linspace(-3, 5, 16)
    other = _Counted(column=column, counts=np.zeros(16), draws=2, rate=rate, is_gaussian=law == GAUSSIAN)
    assert other.reach(weights) == pytest.approx(own._reach(weights, 0.95), rel=2e-3)
    assert own._reach(np.zeros(16), 0.95) == 0


def test_a_forged_release_is_refused(tmp_path: Path) -> None:
    """With all files and hashes rewritten."""
    asked = dict(RELEASES["marginals"])
    anonkit.release(people(), policy=policy(asked.pop("target")), output=tmp_path / "out.parquet", ledger=None, **asked)
    true = Files.read(tmp_path / "out.parquet")

    def edit(files: Files) -> None:
        narrower(of(files.report, "age")["mean"])

    folder = tmp_path / "forged"
    folder.mkdir()
    code, failed = verdict(forged(true, edit, folder))
    assert code
    assert "column_means" in failed
