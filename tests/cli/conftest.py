# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the command-line tests: the command line in this process, and small tables on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anonkit.cli import anonkit
from anonkit.cli.boundary import run
from anonkit.comparing import foreseen_release

ROWS = 60
SIMULATED = 120
"""Rows that a plan under noise simulates: models of them are trained in a tenth of a second."""


@dataclass(frozen=True)
class Ran:
    """The result of a command line."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON object on stdout."""
        found: dict[str, Any] = json.loads(self.out)
        return found


Cli = Callable[..., Ran]


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run a command line in this process; what C libraries print is seen too."""
    monkeypatch.delenv("ANONKIT_DEBUG", raising=False)
    monkeypatch.setattr(foreseen_release, "ROWS", SIMULATED)

    def call(*args: object) -> Ran:
        capfd.readouterr()
        code = run(anonkit, [str(arg) for arg in args], "anonkit")
        captured = capfd.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


def table_text(rows: int = ROWS) -> str:
    """Return a small table as CSV: an identifier, three quasi-identifiers, a sensitive attribute, a class label."""
    lines = ["name,age,zip,sex,illness,income"]
    for at in range(rows):
        illness, income = ("flu", "cold", "none")[at % 3], ("low", "high")[at // 7 % 2]
        lines.append(f"Person {at:03d},{20 + at % 40},{100 + at % 5},{'FM'[at % 2]},{illness},{income}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A small table on disk, `in.csv`, alone in its folder."""
    path = tmp_path / "in.csv"
    path.write_text(table_text(), encoding="utf-8")
    return path


@pytest.fixture
def quick() -> tuple[str, ...]:
    """Options that make a release of the small table quick."""
    return ("--method", "mondrian", "--k", "3", "--identifier", "name", "--sensitive", "illness", "--target", "income")


@pytest.fixture
def released(cli: Cli, table: Path, quick: tuple[str, ...]) -> Path:
    """A release of the small table, `out.parquet`, beside it."""
    output = table.with_name("out.parquet")
    ran = cli("release", table, output, *quick, "--quiet")
    assert ran.code == 0, ran.err
    return output
