"""True releases of random tables by every central method, at any parameters: none is refused."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.checks.validation import validate
from anonkit.errors import ParameterError
from anonkit.methods import make_method
from anonkit.parameters import parameters_of
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy

METHODS = (
    "dp-nb", "dp-marginals", "dp-forest", "dp-tree", "edprf", "diffprfs", "diffprf", "c45-arithmetic", "c45-halving",
    "sulq-id3", "pinq-id3", "diffp-id3", "diffp-c45", "diffgen", "dt-diff",
)  # fmt: skip
SMALL = {"depth": (1, 4), "trees": (1, 6), "bins": (2, 20), "steps": (1, 8), "max_rows": (1, 1000)}
BOUNDS = ((0.0, 10.0), (-3.5, 7.25), (0.0, 1e9), (1e-9, 2e-9))


def column(name: str, rng: random.Random, missing: Missing | None, **more: Any) -> Column:
    """A number, or categories with or without a tree."""
    if rng.random() < 0.5 and not more:
        return Column(name=name, bounds=rng.choice(BOUNDS), missing=missing)
    values = tuple(f"c{'|' * (at % 3 == 0)}{at}" for at in range(rng.choice([1, 2, 3, 7, 40])))
    tree = tuple((value, f"g{at // 3}", f"h{at // 9}") for at, value in enumerate(values))
    more |= {"tree": tree} if len(values) > 2 and not more and rng.random() < 0.5 else {}
    return Column(name=name, categories=values, missing=missing, **more)


def some_table(rng: random.Random, *, numbers: bool) -> tuple[pa.Table, Policy]:
    """None to some hundred rows of a few columns of every kind, with people or without, the target a number or not."""
    n, draw = rng.choice([0, 1, 2, 10, 200]), np.random.default_rng(rng.randrange(1 << 30))
    missing = rng.choice([None, Missing.CATEGORY])
    columns = {f"a{at}": column(f"a{at}", rng, missing) for at in range(rng.randint(1, 5))}
    columns["y"] = column("y", rng, missing, role=Role.TARGET)
    if numbers:
        columns["y"] = Column(name="y", role=Role.TARGET, bounds=rng.choice(BOUNDS), missing=missing)
    cells: dict[str, pa.Array] = {}
    for name, one in columns.items():
        absent = draw.random(n) < (0.1 if missing else 0)
        if one.bounds is not None:
            low, high = one.bounds
            cells[name] = pa.array(low + (high - low) * draw.random(n), pa.float64(), mask=absent)
        else:
            assert one.categories is not None
            cells[name] = pa.array(draw.choice(np.array(one.categories, dtype=object), n), pa.string(), mask=absent)
    if rng.random() < 0.3:
        columns["who"] = Column(name="who", role=Role.UNIT)
        cells["who"] = pa.array([f"u{at}" for at in draw.integers(0, max(1, n // 3), n)], pa.string())
    return pa.table(cells), Policy(columns=columns)


def some_parameters(name: str, rng: random.Random, *, people: bool) -> dict[str, Any]:
    """Any parameters of a method, of trees that are soon grown."""
    given: dict[str, Any] = {"epsilon": rng.choice([0.01, 0.3, 1.0, 5.0, 40.0])}
    stacked = name in ("dp-forest", "dp-tree")
    for one in parameters_of(type(make_method(name, {"epsilon": 1.0}))):
        if one.choices:
            given[one.name] = rng.choice(one.choices)
        elif one.name in SMALL and not stacked:
            given[one.name] = rng.randint(*SMALL[one.name])
    given |= {"rows_per_unit": rng.randint(1, 4)} if people else {}
    if stacked:
        given |= {"n_rows": rng.choice([0, 100, 10**6]), "depth": rng.randint(0, 6), "bins": rng.choice([0, 2, 9])}
    return given


def refused(name: str, seed: int, *, numbers: bool = False) -> list[str]:
    """The checks of a true release that fail; nothing where epsilon is too little for so many draws."""
    rng = random.Random(f"{name} {seed}")
    table, policy = some_table(rng, numbers=numbers)
    given = some_parameters(name, rng, people=policy.unit is not None)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.parquet"
        try:
            anonkit.release(table, method=name, policy=policy, output=output, ledger=None, **given)
        except ParameterError:
            return []
        return [check.name for check in validate(output).checks if not check.passed]


@pytest.mark.slow_cases("sulq-id3", "pinq-id3")
@pytest.mark.parametrize("name", METHODS)
def test_a_true_release_is_not_refused(name: str) -> None:
    """By the release itself, or by validation, whatever the table, its domains and the parameters."""
    assert [refused(name, seed) for seed in range(2)] == [[], []]


@pytest.mark.slow_cases("dp-forest")
@pytest.mark.parametrize("name", ["dp-forest", "dp-nb", "dp-marginals", "edprf", "diffgen"])
def test_a_true_release_of_numbers_to_predict_is_not_refused(name: str) -> None:
    """The same where the target has bounds, missing or not, in people and in rows, in rows and in cells."""
    assert [refused(name, seed, numbers=True) for seed in range(3)] == [[], [], []]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", METHODS)
def test_no_true_release_of_many_is_refused(name: str) -> None:
    """The same with many tables."""
    assert [(seed, found) for seed in range(40) if (found := refused(name, seed))] == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", METHODS)
def test_no_true_release_of_many_numbers_is_refused(name: str) -> None:
    """The same with many tables whose target is a number."""
    assert [(seed, found) for seed in range(40) if (found := refused(name, seed, numbers=True))] == []
