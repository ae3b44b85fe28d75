"""Published aggregates are followed from request to figure: what is forged in params, report or table is found."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.checks.central import central_checks, central_report_checks
from anonkit.errors import ReleaseFormatError
from anonkit.policy.column_declarations import Column, Missing
from anonkit.policy.declaration import Policy

POLICY = Policy(
    columns={
        "age": Column(name="age", bounds=(17.0, 90.0)),
        "pay": Column(name="pay", bounds=(-100.0, 3e5), missing=Missing.FIRST),
        "sex": Column(name="sex", categories=("f", "m")),
        "ward": Column(name="ward", categories=("north", "by sea"), missing=Missing.FIRST),
    }
)
LINES = (
    "people = sex, ward", "sex", "age", "sum(pay)", "mean(age) by sex, ward", "mean(age)", "sum(age) by sex weight 2",
    "quantile(pay, 0.25, 0.5, 0.75) by ward", "median(pay)", "median(age)",
)  # fmt: skip
Forge = Callable[[dict[str, Any], dict[str, Any], dict[str, list[Any]]], object]


def _release(lines: tuple[str, ...], epsilon: float = 1.0, n: int = 300) -> Any:
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "age": rng.integers(10, 95, n).astype(float),
            "pay": rng.gamma(2.0, 2e4, n),
            "sex": rng.choice(["f", "m", "?"], n),
            "ward": rng.choice(["north", "by sea"], n),
        }
    )
    return anonkit.release(
        table, method="dp-tables", epsilon=epsilon, policy=POLICY, aggregate=lines, bins=4, ledger=None
    )


@pytest.fixture(scope="module")
def release() -> Any:
    """A release of every kind of table."""
    return _release(LINES)


def checked(release: Any, folder: Path, forge: Forge | None = None, *, draft: bool = False) -> set[str]:
    """Names of the checks that fail on a release after it was forged."""
    params, report = copy.deepcopy(dict(release.params)), copy.deepcopy(dict(release.report))
    table = release.to_arrow()
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    if forge is not None:
        forge(params, report, columns)
    numbers = ("value", "low", "high")
    kinds = {name: pa.float64() if name in numbers else pa.string() for name in columns}
    pq.write_table(
        pa.table({name: pa.array(cells, kinds[name]) for name, cells in columns.items()}), folder / "forged.parquet"
    )
    found = list(central_checks(folder / "forged.parquet", params, report["guarantee"], is_promised=True))
    if not draft:
        found += central_report_checks(params, report, is_promised=True)
    return {check.name for check in found if not check.passed}


@pytest.mark.quick_cases("lines*-1.0", "lines0-30.0", "lines3-0.02")
@pytest.mark.parametrize("epsilon", [0.02, 1.0, 30.0])
@pytest.mark.parametrize("lines", [LINES, (), ("count",), ("quantile(age, 0.05, 0.95)", "sex, ward, age")])
def test_what_the_method_publishes_is_what_the_check_rebuilds(
    lines: tuple[str, ...], epsilon: float, tmp_path: Path
) -> None:
    """Requests, measurements, account, figures and report of two codes agree at every epsilon."""
    made = _release(lines, epsilon)
    assert checked(made, tmp_path) == set()
    assert checked(made, tmp_path, draft=True) == set()


def _change(column: str, at: int, by: float) -> Forge:
    def forge(params: dict[str, Any], report: dict[str, Any], columns: dict[str, list[Any]]) -> None:
        columns[column][at] = (columns[column][at] or 0.0) + by

    return forge


def _line(table: str, statistic: str) -> Callable[[Mapping[str, list[Any]]], int]:
    def found(columns: Mapping[str, list[Any]]) -> int:
        return next(
            at
            for at, pair in enumerate(zip(columns["table"], columns["statistic"], strict=True))
            if pair == (table, statistic)
        )

    return found


@pytest.mark.parametrize(
    ("table", "statistic", "column", "by", "check"),
    [
        ("people", "count", "value", 1, "values"),
        ("people", "count", "low", 1, "intervals"),
        ("count by sex", "count", "high", -3, "intervals"),
        ("sum(pay)", "sum", "value", 1, "values"),
        ("sum(pay)", "sum", "low", 1e6, "intervals"),
        ("mean(age) by sex, ward", "count", "value", 1, "values"),
        ("mean(age) by sex, ward", "mean", "value", 0.01, "values"),
        ("mean(age) by sex, ward", "mean", "low", 0.5, "intervals"),
        ("mean(age) by sex, ward", "mean", "high", -0.5, "intervals"),
        ("mean(age)", "mean", "low", -0.5, "intervals"),
        ("mean(age)", "sum", "high", 100, "intervals"),
        ("sum(age) by sex", "sum", "value", -100, "values"),
        ("quantile(pay, 0.25, 0.5, 0.75) by ward", "quantile 0.5", "value", 1e4, "values"),
        ("quantile(pay, 0.25, 0.5, 0.75) by ward", "quantile 0.5", "value", -3e5, "quantiles_ascend"),
        ("quantile(pay, 0.5)", "quantile 0.5", "low", 3e5, "intervals"),
        ("quantile(pay, 0.5)", "quantile 0.5", "high", 3e5, "intervals"),
        ("quantile(age, 0.5)", "quantile 0.5", "low", -1e5, "intervals"),
    ],
)
def test_a_figure_that_does_not_follow_is_found(
    release: Any, table: str, statistic: str, column: str, by: float, check: str, tmp_path: Path
) -> None:
    """Each value and each end of an interval is that of the noisy measurement."""

    def forge(params: dict[str, Any], report: dict[str, Any], columns: dict[str, list[Any]]) -> None:
        _change(column, _line(table, statistic)(columns), by)(params, report, columns)

    assert check in checked(release, tmp_path, forge)


def _drop_line(params: Any, report: Any, columns: Any) -> None:
    for cells in columns.values():
        del cells[3]


def _double_line(params: Any, report: Any, columns: Any) -> None:
    for cells in columns.values():
        cells.append(cells[3])


def _rates(params: Any, report: Any, columns: Any) -> None:
    for own in (*params["measurements"], *params["accounting"]):
        own["rate"] *= 2
    for line in params["accounting"]:
        line["epsilon"] *= 2


def _regroup(params: Any, report: Any, columns: Any) -> None:
    params["groups"][1]["domain"]["categories"] = ["f", "n"]


@pytest.mark.parametrize(
    ("forge", "check"),
    [
        (_drop_line, "groups_once"),
        (_double_line, "groups_once"),
        (_rates, "epsilon"),
        (_rates, "account_lines"),
        (_regroup, "columns"),
        (lambda params, *_: params.update(rows=[1, 2]), "keys"),
        (lambda params, *_: params["tables"][0].update(weight=3), "requested_tables"),
        (lambda params, *_: params["tables"][0].update(name="all"), "requested_tables"),
        (lambda params, *_: params["parameters"]["aggregate"].append("count"), "requested_tables"),
        (lambda params, *_: params["parameters"].update(aggregate=[]), "requested_tables"),
        (lambda params, *_: params["tables"][1].update(measured=1), "measurements"),
        (lambda params, *_: params["measurements"].pop(), "measurements"),
        (lambda params, *_: params["numbers"].reverse(), "measurements"),
        (lambda params, *_: params["groups"].append(dict(params["groups"][-1], name="zzz")), "measurements"),
        (lambda params, *_: params["measurements"][0].update(rate=5), "noisy_tables"),
        (lambda params, *_: params["measurements"][2]["grid"].update(high=7), "noisy_tables"),
        (lambda params, *_: params["measurements"][0]["values"].pop(), "noisy_tables"),
        (lambda params, *_: params["accounting"][2].update(sensitivity=1), None),
        (lambda params, *_: params["columns"].pop(), "columns"),
        (lambda params, _, columns: columns.update(extra=columns["table"]), "columns"),
        (lambda params, *_: params["columns"][0].update(shows="a true count"), "columns"),
        (lambda params, *_: params["columns"][1].update(shows="value"), "columns"),
        (lambda params, *_: params["columns"][-1].update(type="category"), "columns"),
        (lambda params, *_: params["columns"][-1].update(domain={}), "columns"),
        (
            lambda params, *_: params["numbers"][0].update(has_missing=not params["numbers"][0]["has_missing"]),
            "columns",
        ),
        (lambda params, *_: params["numbers"][0].update(bounds=[17.0, 89.0]), "columns"),
        (lambda params, *_: params["numbers"][1].update(has_missing=1), "columns"),
        (
            lambda params, report, _: report["budget"]["per_attribute"].append(report["budget"]["per_attribute"][-1]),
            "budget_lines",
        ),
        (lambda params, report, _: report["budget"]["per_attribute"].pop(), "budget_lines"),
        (lambda params, report, _: report["method"]["parameters"].update(bins=5), "parameters"),
        (lambda params, *_: params["composition"].update(adjacency="replace one record"), "adjacency"),
        (lambda params, *_: params["tables"][0].update(by=["sex", "sex"]), None),
        (lambda params, *_: params["tables"][0].update(by=["pay"]), None),
        (lambda params, *_: params["tables"][0].update(of="pay"), None),
        (lambda params, *_: params["tables"][0].update(weight=-1), None),
        (lambda params, *_: params["tables"][7].update(levels=[0.5, 0.25]), None),
        (lambda params, *_: params["parameters"].update(confidence=10), None),
        (lambda params, *_: params["parameters"].pop("points"), None),
        (lambda params, *_: params["groups"].reverse(), None),
        (lambda params, *_: params["groups"][1].update(name="low"), None),
        (lambda params, *_: params["groups"][0]["domain"].update(cells=5), None),
        (lambda params, *_: params["numbers"][0].update(bounds=[3.0, 2.0]), None),
        (lambda params, *_: params["numbers"][0].update(bounds=["a", 2.0]), None),
        (lambda params, *_: params["measurements"][0].update(values=[[1.5]]), None),
    ],
)
def test_a_forged_release_of_aggregates_is_refused(
    release: Any, forge: Forge, check: str | None, tmp_path: Path
) -> None:
    """By the check of its name; without one the params cannot be read at all."""
    if check is None:
        with pytest.raises(ReleaseFormatError):
            checked(release, tmp_path, forge)
    else:
        assert check in checked(release, tmp_path, forge)


def test_measurements_without_the_noise_that_they_state_are_found(tmp_path: Path) -> None:
    """Two counts of the same rows that agree to the row, at an epsilon where noise is in the thousands."""
    made = _release(("sex", "ward", "age", "quantile(pay, 0.5)"), epsilon=0.01)

    def forge(params: dict[str, Any], report: dict[str, Any], columns: dict[str, list[Any]]) -> None:
        for own in params["measurements"]:
            flat = [300, *[0] * (sum(map(len, own["values"])) - 1)]
            width = len(own["values"][0])
            own["values"] = [flat[at : at + width] for at in range(0, len(flat), width)]

    assert "noise_is_stated" in checked(made, tmp_path, forge)


def test_measurements_restated_at_a_sixteenth_of_epsilon_are_found(tmp_path: Path) -> None:
    """Each line is paid for as stated. Groups that several measurements count are compared one by one."""
    made = _release(("age, sex", "age, ward", "sex, ward", "median(age) by sex, ward"), epsilon=16.0)

    def restated(told: Any) -> Any:
        if isinstance(told, dict):
            return {
                name: one // 16 if name == "rate" else one / 16 if name == "epsilon" else restated(one)
                for name, one in told.items()
            }
        return [restated(one) for one in told] if isinstance(told, list) else told

    def forge(params: dict[str, Any], report: dict[str, Any], columns: dict[str, list[Any]]) -> None:
        for files in (params, report):
            files.update(restated(files))

    failed = checked(made, tmp_path, forge)
    assert "noise_is_stated" in failed
    assert "counts_agree" not in failed


@pytest.mark.slow
def test_a_group_that_noise_leaves_nobody_in_has_no_mean_and_any_interval(tmp_path: Path) -> None:
    """Few rows, small epsilon: some means and quantiles are empty, with intervals of all the bounds."""
    empty = 0
    for _ in range(6):
        made = _release(("mean(age) by sex, ward", "median(age) by sex, ward"), epsilon=0.05, n=4)
        assert checked(made, tmp_path) == set()
        lines = made.to_pandas()
        told = lines[lines["value"].isna()]
        empty += len(told)
        assert (told["low"] <= 17).all()
        assert (told["high"] >= 90).all()
    assert empty > 0


def test_a_median_of_whole_numbers_is_found_on_their_own_grid(tmp_path: Path) -> None:
    """The check rebuilds the places from the declared step; a grid of other places, as without a step, is refused."""
    table = pa.table({"days": [at % 40 for at in range(300)]})
    policy = {"columns": {"days": {"bounds": [0, 39], "step": 3}}}
    found = anonkit.release(
        table, method="dp-tables", epsilon=4.0, policy=policy, aggregate=("median(days)",), ledger=None
    )
    assert checked(found, tmp_path) == set()

    def without_step(params: dict[str, Any], _report: dict[str, Any], _columns: dict[str, list[Any]]) -> None:
        for number in params["numbers"]:
            del number["step"]

    assert checked(found, tmp_path, without_step)
