"""Tables of 1 to 2,000 columns, under every epsilon: released, or refused before noise is drawn, in bounded memory."""

from __future__ import annotations

import cProfile
import multiprocessing
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.errors import AnonkitError
from anonkit.ledger import Ledger
from anonkit.methods import example_of, method_class, method_names, method_parameters
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy

NOISY = [name for name in method_names() if "epsilon" in {one.name for one in method_parameters(name)}]
MEGABYTES = 2048


def _outcome(name: str, columns: int, epsilon: float, folder: Path) -> str:
    """Release a small table of so many columns, and return how it ended."""
    random = np.random.default_rng(1)
    given: dict[str, Column] = {}
    cells: dict[str, Any] = {}
    for at in range(columns - 1):
        key = f"c{at}"
        if at % 2 == 0 or name == "trr":
            given[key] = Column(name=key, role=Role.QUASI_IDENTIFIER, bounds=(0.0, 100.0))
            cells[key] = random.integers(0, 100, 60).astype(float)
        else:
            given[key] = Column(name=key, role=Role.QUASI_IDENTIFIER, categories=("a", "b", "c"))
            cells[key] = random.choice(["a", "b", "c"], 60)
    given["y"], cells["y"] = Column(name="y", role=Role.TARGET, categories=("no", "yes")), ["no", "yes"] * 30
    asked: dict[str, Any] = {key: value for key, value in example_of(method_class(name)).items() if key != "p_keep"}
    ledger = folder / "l.sqlite"
    booked: dict[str, Any] = {"ledger": ledger, "dataset": "d", "output": folder / "o.parquet"}
    try:
        anonkit.release(
            pa.table(cells), method=name, policy=Policy(columns=given), **{**asked, **_budget(name, epsilon)}, **booked
        )
    except AnonkitError as refused:
        spent = (
            [entry for standing in Ledger(ledger).datasets() for entry in standing.counted] if ledger.exists() else []
        )
        return f"{refused.code}, {len(spent)} charged: {refused}"
    return "released"


def _budget(name: str, epsilon: float) -> dict[str, float]:
    return {"epsilon": epsilon} if name in NOISY else {}


def _in_time(name: str, columns: int, epsilon: float, folder: Path) -> tuple[str, int]:
    """Return how it ended, and the megabytes that it took, in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (name, columns, epsilon, folder))


def _measured(name: str, columns: int, epsilon: float, folder: Path) -> tuple[str, int]:
    said = _outcome(name, columns, epsilon, folder)
    return said, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def _is_fine(said: str) -> bool:
    return said == "released" or ("0 charged" in said and "defect" not in said and "INTERNAL" not in said)


@pytest.mark.quick_cases("1e-06-dp-nb", "40.0-rr", "1e-06-trr")
@pytest.mark.parametrize("name", ["dp-nb", "rr", "trr"])
@pytest.mark.parametrize("epsilon", [1e-6, 40.0])
def test_sixty_columns(name: str, epsilon: float, tmp_path: Path) -> None:
    """The smallest and the largest epsilon."""
    assert _is_fine(_outcome(name, 60, epsilon if name != "rr" else max(epsilon, 1e-3), tmp_path))


def _calls(columns: int, of: str) -> int:
    """Return how many functions of some modules a release of the counts of every column calls."""
    names = [f"c{at}" for at in range(columns)]
    policy = Policy(columns={name: Column(name=name, categories=("a", "b")) for name in names})
    profile = cProfile.Profile()
    with profile:
        anonkit.release(
            pa.table({name: ["a", "b"] for name in names}), method="dp-tables", epsilon=1.0, policy=policy, ledger=None
        )
    return sum(entry.callcount for entry in profile.getstats() if of in str(getattr(entry.code, "co_filename", "")))


@pytest.mark.slow
def test_tables_of_counts_take_time_by_their_number() -> None:
    """Method and check: twice the columns, twice the calls. It had been four times as many."""
    assert _calls(50, "aggregate") < 2.5 * _calls(25, "aggregate")


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is counted in kilobytes there")
@pytest.mark.parametrize("columns", [1, 2, 10, 100, 600, 1250, 2000])
@pytest.mark.parametrize("name", method_names())
def test_every_number_of_columns(name: str, columns: int, tmp_path: Path) -> None:
    """Released, or refused with nothing charged, within two gigabytes."""
    for epsilon in (1e-6, 1e-3, 1.0, 20.0 if name == "safepub" else 40.0) if name in NOISY else (1.0,):
        folder = tmp_path / f"{epsilon}"
        folder.mkdir()
        said, megabytes = _in_time(name, columns, epsilon, folder)
        assert _is_fine(said), (epsilon, said)
        assert megabytes <= MEGABYTES, (epsilon, said)
