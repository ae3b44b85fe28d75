"""Claims of releases that are never made: what the tests of ledgers reserve, here and in processes that they start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from anonkit.ledger.booked_releases import DatasetState, PlannedSpending
from anonkit.ledger.fingerprint import Fingerprint
from anonkit.promises.guarantee import REPLACE, Neighbours

TESTS = Path(__file__).parents[1]

_START = """
import os, sys
sys.path.insert(0, {tests!r})
from ledger.claims import claim, free
from anonkit.ledger import Ledger
ledger = Ledger({where!r})
"""


def claim(epsilon: float | None = 0.1, **more: object) -> PlannedSpending:
    """Return a claim on dataset `d`."""
    given: dict[str, object] = {
        "dataset": "d",
        "method": "rr",
        "kind": "local-dp",
        "epsilon": epsilon,
        "delta": None,
        "k": None,
        "redrawn": True,
        "neighbours": Neighbours(adjacency=REPLACE),
        "output": None,
        "params": None,
        "fingerprint": Fingerprint(rows=3, exact=b"1" * 16, whole=b"2" * 16),
        **more,
    }
    return PlannedSpending(**given)  # type: ignore[arg-type]


def free(standing: DatasetState) -> None:
    """Refuse nothing."""


def as_version_4(execute: Callable[[str], object]) -> None:
    """Take out of the tables of a ledger what version 5 keeps; a file's id, and its version, are left to the caller."""
    for column in ("params_digest", "remark", "neighbours", "unit", "people", "cap"):
        execute(f"ALTER TABLE release DROP COLUMN {column}")
    for table in ("release_people", "people"):
        execute(f"DROP TABLE {table}")
    for column in ("budget_neighbours", "budget_unit"):
        execute(f"ALTER TABLE dataset DROP COLUMN {column}")


def die(where: str, output: Path, then: str = "") -> None:
    """Let a process reserve a release in a ledger, do what `then` says, and be killed."""
    code = (
        f"{_START.format(tests=str(TESTS), where=where)}number = ledger.reserve(claim(output={str(output)!r}), free)\n"
    )
    subprocess.run([sys.executable, "-c", f"{code}{then}\nos.kill(os.getpid(), 9)"], check=False, env=environment())


def environment() -> dict[str, str]:
    """Return the environment of a process that a test starts: what can be imported here can be there."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
