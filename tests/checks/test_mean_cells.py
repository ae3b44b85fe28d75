"""Means beside bounds: one a class, within its interval and no finer than stated; forged ones are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged, refused, verdict
from checks.forging import at, cells, stated_anew

import anonkit
from anonkit.checks.mean_cells import _is_mean

POLICY: dict[str, Any] = {
    "columns": {
        "age": {"role": "quasi_identifier", "bounds": [0, 99]},
        "pay": {"role": "quasi_identifier", "step": 5},
        "sex": {"role": "quasi_identifier"},
        "note": {"role": "insensitive"},
    },
    "unit": "none",
}


@pytest.fixture(scope="module")
def true(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A true release with means, in memory."""
    rows = range(120)
    table = pa.table(
        {
            "age": [20 + (7 * row) % 61 for row in rows],
            "pay": [1000 + 5 * ((11 * row) % 83) for row in rows],
            "sex": [("f", "m")[row % 2] for row in rows],
            "note": ["x"] * 120,
        }
    )
    output = tmp_path_factory.mktemp("true") / "out.parquet"
    anonkit.release(
        table, method="mondrian", k=5, policy=POLICY, no_target=True, output=output, ledger=None, cells="means",
        utility=False,
    )  # fmt: skip
    return Files.read(output)


def test_a_true_release_validates(true: Files, tmp_path: Path) -> None:
    """Every mean is looked at, and how many groups show none is counted again."""
    data = forged(true, lambda files: None, tmp_path)
    assert verdict(data) == (0, ())
    checks = {check.name for check in anonkit.validate(data).checks}
    assert {"means_stated", "means:age", "means:pay", "means_counted", "bounds:age"} <= checks
    assert {"age_mean", "pay_mean"} <= set(true.table.column_names)
    assert true.params["bounds"]["pay"]["step"] == 5


def on(name: str, make: Callable[[list[float | None]], list[float | None]]) -> Edit:
    """Change the means of a column."""
    return cells(f"{name}_mean", lambda column: pa.array(make(column.to_pylist()), pa.float64()))


def _one_row(numbers: list[float | None]) -> list[float | None]:
    return [(numbers[0] or 0) + 1, *numbers[1:]]


def _finer(numbers: list[float | None]) -> list[float | None]:
    return [None if number is None else number + 0.0123 for number in numbers]


def _beyond(numbers: list[float | None]) -> list[float | None]:
    return [None if number is None else 99.0 for number in numbers]


def _unspoken(files: Files) -> None:
    """Leave the means out of everything that is said."""
    for entry in files.params["bounds"].values():
        entry.pop("mean")
    files.params.pop("means")
    files.report.pop("means")
    files.report["guarantee"]["parameters"].pop("means")


FORGERIES: dict[str, tuple[Edit, str]] = {
    "another number in one row": (on("age", _one_row), "means:age"),
    "more digits than are stated": (on("age", _finer), "means:age"),
    "no multiple of the step": (on("pay", lambda numbers: [number and number + 1 for number in numbers]), "means:pay"),
    "beyond the interval": (on("age", _beyond), "means:age"),
    "no number where there is a middle": (on("age", lambda numbers: [None] * len(numbers)), "means:age"),
    "no number in one row": (on("pay", lambda numbers: [None, *numbers[1:]]), "means:pay"),
    "not a number": (on("age", lambda numbers: [float("nan")] * len(numbers)), "means:age"),
    "a promise without means": (
        stated_anew(lambda files: files.report["guarantee"]["parameters"].pop("means")),
        "means_stated",
    ),
    "another rule": (at("params", "means", "p_percent", to=1), "means_stated"),
    "no rules": (lambda files: files.params.pop("means"), "means_stated"),
    "one column without a mean": (lambda files: files.params["bounds"]["age"].pop("mean"), "bounds:age"),
    "one open column without a mean": (lambda files: files.params["bounds"]["pay"].pop("mean"), "means_stated"),
    "a step of nothing": (at("params", "bounds", "pay", "step", to=0), "means_stated"),
    "integers": (cells("age_mean", lambda column: column.cast(pa.int64(), safe=False)), "bounds:age"),
    "no column": (at("params", "bounds", "age", "mean", to="gone"), "bounds:age"),
    "fewer middles": (at("report", "means", "columns", "age", "middle", to=lambda count: count + 1), "means_counted"),
    "no counts": (lambda files: files.report.pop("means"), "means_counted"),
    "the declared bound of an open end": (
        at("params", "columns", 0, "domain", "bounds", to=[0.0, 120.0]),
        "bounds:age",
    ),
    "means that nobody states": (_unspoken, "bounds:age"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_means_are_refused(true: Files, forgery: str, tmp_path: Path) -> None:
    """In cells, params, report and promise alike."""
    refused(true, FORGERIES[forgery], tmp_path)


@pytest.mark.parametrize(
    ("shown", "step", "passes"),
    [
        ((30, 39, 37.4, 37.4, True), None, True),
        ((30, 39, 37.44, 37.44, True), None, False),
        ((30, 39, 34.5, 34.5, True), None, True),  # the middle
        ((33.4, 47.1, 40.25, 40.25, True), None, True),
        ((33.4, 47.1, 33.4, 33.4, True), None, True),  # an end
        ((33.4, 47.1, 40.1, 40.1, True), None, False),
        ((30, 39, 40.0, 40.0, True), None, False),
        ((30, 39, 29.0, 29.0, True), None, False),
        ((30, 39, 37.4, 37.5, True), None, False),
        ((30, 39, 37.4, 37.4, False), None, False),
        ((30, 39, None, None, True), None, False),
        ((30, None, None, None, True), None, True),
        ((None, None, None, None, True), None, True),
        ((30, None, None, None, False), None, False),
        ((65, None, 72.5, 72.5, True), None, True),
        ((65, None, 72.46, 72.46, True), None, False),
        ((65, None, 75.1, 75.1, True), None, True),  # 9.96 from the end, rounded up
        ((65, None, 86.1, 86.1, True), None, False),
        ((None, 19, 12.3, 12.3, True), None, True),
        ((None, 19, 12.34, 12.34, True), None, False),
        ((None, None, 0.012, 0.012, True), None, True),
        ((None, None, 0.0, 0.0, True), None, True),
        ((0, 9.9, 1.35, 1.35, True), 0.05, True),
        ((0, 9.9, 1.36, 1.36, True), 0.05, False),
        ((30, 39, float("nan"), float("nan"), True), None, False),
    ],
)
def test_the_digits_of_a_mean(shown: Any, step: float | None, passes: bool) -> None:
    """Two digits of the interval, or of the distance from its only end; multiples of a step; the middle, or an end."""
    assert _is_mean(shown, step) is passes


@pytest.mark.parametrize("size", [0.0037, 1.0, 9.0, 41.5, 99_000.0])
def test_what_is_rounded_passes(size: float) -> None:
    """The rule of the method, for means anywhere in intervals with both ends, one or none."""
    from anonkit.k_anonymity.class_means import rounded

    for low, high in ((12.5, 12.5 + size), (12.5, None), (None, 12.5), (None, None)):
        for part in range(101):
            mean = (high if low is None and high is not None else low or 0.0) + size * part / 100 * (
                -1 if low is None else 1
            )
            shown = rounded(mean, low, high, None)
            assert _is_mean((low, high, shown, shown, True), None), (mean, low, high, shown)
