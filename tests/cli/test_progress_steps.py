# SPDX-License-Identifier: Apache-2.0
"""Every command that shows progress knows its steps before it begins: "3 of 6", never "step 3"."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import anonkit
from anonkit.ledger.account import Where
from tests.cli.conftest import Cli, table_text

RECIPE = """
method = "mondrian"
input = "in.csv"
output = "made.parquet"
utility = false
[parameters]
k = 3
[policy.columns]
name = { role = "identifier" }
income = { role = "target" }
"""
COMMANDS = {
    "init": ("init", "in.csv"),
    "risk": ("risk", "in.csv"),
    "release": (
        "release",
        "--method",
        "mondrian",
        "--k",
        "3",
        "--no-utility",
        "--target",
        "income",
        "in.csv",
        "again.parquet",
    ),
    "run": ("run", "recipe.toml"),
    "apply": ("apply", "old.params.json", "in.csv", "next.parquet", "--no-ledger"),
    "export": ("export", "old.parquet", "out.csv"),
    "audit": ("audit", "old.parquet", "--original", "in.csv", "--attacks", "10"),
    "compare": ("compare", "many.csv", "--methods", "mondrian", "--k", "3", "--target", "income", "--attacks", "10"),
    "validate": ("validate", "old.parquet"),
    "report": ("report", "old.parquet", "--dossier", "--original", "in.csv"),
    "reconstruct": ("reconstruct", "noisy.parquet", "--test", "in.csv"),
    "demo": ("demo", "--rows", "200"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table, a release of it and a recipe; it is the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text(table_text())
    (tmp_path / "many.csv").write_text(table_text(200))
    (tmp_path / "recipe.toml").write_text(RECIPE)
    how: dict[str, Any] = {"method": "mondrian", "k": 3, "utility": False, "ledger": Where.NOWHERE}
    anonkit.release("in.csv", output="old.parquet", identifiers=["name"], target="income", **how)
    return tmp_path


def randomized_release() -> None:
    """Write a release by randomized response of the columns sex and income."""
    policy = {
        "columns": {
            "sex": {"categories": ["F", "M"]},
            "income": {"role": "target", "categories": ["high", "low"]},
            **{name: {"role": "identifier"} for name in ("name", "age", "zip", "illness")},
        }
    }
    anonkit.release("in.csv", method="rr", epsilon=4, policy=policy, output="noisy.parquet", ledger=Where.NOWHERE)


@pytest.mark.quick_cases("run", "validate")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_names_its_steps_before_it_begins(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """In their order, none left out and none made up."""
    named: list[tuple[str, ...]] = []
    gone: list[str] = []

    @contextmanager
    def recorded(quiet: bool, *, steps: Sequence[str] = (), **_: Any) -> Iterator[Callable[[str, float], None]]:
        named.append(tuple(steps))

        def note(step: str, share: float) -> None:
            assert 0 <= share <= 1
            gone.extend([step] if step not in gone[-1:] else [])

        yield note

    monkeypatch.setattr(importlib.import_module(f"anonkit.cli.{name}"), "progress_line", recorded)
    if name == "reconstruct":
        randomized_release()
    ran = cli(*COMMANDS[name])

    assert ran.code == 0, ran.err
    assert named == [tuple(gone)]
    assert gone
