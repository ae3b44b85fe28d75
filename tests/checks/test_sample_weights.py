# SPDX-License-Identifier: Apache-2.0
"""Forgeries of the weights of a sample: cells, sums, what is said of them, and the risk that follows from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged
from checks.forging import at, both, stated_anew

import anonkit

SUM = ("weights", "sum")
RISK = ("disclosure_risk", "population", "estimates")


def people(n_rows: int) -> pa.Table:
    """Return a sample of few ages."""
    draw = np.random.default_rng(2)
    return pa.table(
        {
            "age": draw.integers(20, 24, n_rows),
            "sex": draw.choice(["f", "m"], n_rows),
            "w": draw.choice([20.0, 40.0, 60.0], n_rows),
        }
    )


def made(folder: Path, weight: dict[str, Any]) -> Files:
    """Return a release of it."""
    columns = {"age": {"role": "quasi_identifier"}, "sex": {"role": "quasi_identifier"}, "w": weight}
    out = folder / "out.parquet"
    anonkit.release(
        people(400),
        method="rfka",
        k=5,
        policy={"columns": columns, "unit": "none"},
        no_target=True,
        output=out,
        ledger=None,
        utility=False,
    )
    return Files.read(out)


@pytest.fixture(scope="module")
def means(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A release that shows mean weights."""
    return made(tmp_path_factory.mktemp("means"), {"role": "weight"})


@pytest.fixture(scope="module")
def rounded(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A release that shows rounded weights."""
    return made(tmp_path_factory.mktemp("rounded"), {"role": "weight", "weights": "rounded", "step": 20})


def cells(change: Callable[[list[float | None]], list[float | None]]) -> Edit:
    """Change the weights that rows show."""

    def edit(files: Files) -> None:
        at_ = files.table.column_names.index("w")
        own = change(files.table.column("w").to_pylist())
        files.table = files.table.set_column(at_, "w", pa.array(own, pa.float64()))

    return edit


def of_params(**said: Any) -> Edit:
    """Change what the params say of weights."""
    return lambda files: files.params["weight"].update(said)


OF_MEANS: dict[str, tuple[Edit, set[str]]] = {
    "one row": (cells(lambda own: [own[0] * 2, *own[1:]]), {"weights", "population", "disclosure_risk"}),
    "one row is missing": (
        cells(lambda own: [None, *own[1:]]),
        {"weights", "weights_sum", "population", "disclosure_risk"},
    ),
    "all are twice as large": (cells(lambda own: [2 * each for each in own]), {"weights_sum", "population"}),
    "fewer people than rows": (cells(lambda own: [0.1] * len(own)), {"weights_sum", "population"}),
    "more digits": (
        cells(lambda own: [each + 0.0123 for each in own]),
        {"weights", "weights_sum", "population"},
    ),
    "the sum": (at("report", *SUM, to=1e6), {"weights_sum"}),
    "no sum": (lambda files: files.report.pop("weights"), {"weights_sum"}),
    "another column's sum": (at("report", "weights", "column", to="age"), {"weights_sum"}),
    "largest risk": (at("report", *RISK, "individual", "max", to=1e-9), {"population"}),
    "people of the population": (at("report", *RISK, "population_size", to=1e9), {"population"}),
    "uniques": (at("report", *RISK, "uniques", to="none"), {"documents", "population"}),
    "no word in params": (lambda files: files.params.pop("weight"), {"weights"}),
    "digits": (of_params(digits=6), {"weights"}),
    "rounded in params": (of_params(shows="rounded"), {"weights"}),
    "another column in params": (of_params(column="age"), {"weights"}),
    "a step in params": (of_params(step=2), {"weights"}),
    "no word in the promise": (
        stated_anew(lambda files: files.report["guarantee"]["parameters"].pop("weight")),
        {"weights", "population"},
    ),
    "rounded in promise and params": (
        both(
            stated_anew(at("report", "guarantee", "parameters", "weight", "shows", to="rounded")),
            lambda files: files.params.update(weight={"column": "w", "shows": "rounded", "step": 0.1}),
        ),
        {"weights"},
    ),
}


@pytest.mark.parametrize("forgery", OF_MEANS)
def test_forged_means_are_refused(means: Files, forgery: str, tmp_path: Path) -> None:
    """Cells are one number a class, and what is said of them follows from the cells."""
    edit, names = OF_MEANS[forgery]
    found = anonkit.validate(forged(means, edit, tmp_path))
    assert {check.name for check in found.checks if not check.passed} == names


OF_ROUNDED: dict[str, tuple[Edit, set[str]]] = {
    "off the grid": (
        cells(lambda own: [each + 7 for each in own]),
        {"weights", "weights_sum", "population"},
    ),
    "another step": (of_params(step=15), {"weights"}),
    "no step": (of_params(step=0), {"weights"}),
    "a word": (of_params(step=True), {"weights", "documents"}),
    "means in params": (of_params(shows="mean"), {"weights"}),
}


@pytest.mark.parametrize("forgery", OF_ROUNDED)
def test_forged_steps_are_refused(rounded: Files, forgery: str, tmp_path: Path) -> None:
    """Rounded weights are multiples of the public step."""
    edit, names = OF_ROUNDED[forgery]
    found = anonkit.validate(forged(rounded, edit, tmp_path))
    assert names <= {check.name for check in found.checks if not check.passed}


def test_nothing_is_refused_that_nobody_forged(means: Files, rounded: Files, tmp_path: Path) -> None:
    """Both as they are."""
    for files in (means, rounded):
        assert anonkit.validate(forged(files, lambda files: None, tmp_path)).passed


@pytest.mark.parametrize("weight", [1e306, 1e308, float("inf")])
def test_weights_of_infinitely_many_people_are_refused(means: Files, weight: float, tmp_path: Path) -> None:
    """By the checks of what they add up to, and without a warning of overflow on the terminal."""
    found = anonkit.validate(forged(means, cells(lambda own: [weight] * len(own)), tmp_path))
    assert {"weights_sum", "population"} <= {check.name for check in found.checks if not check.passed}
