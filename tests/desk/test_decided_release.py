"""Recipe, command and Python beside a page of the desk make the rows that the desk writes, in their order."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import anonkit
from anonkit.cli import anonkit as program
from anonkit.cli.boundary import run
from anonkit.datasets import bank_customers
from anonkit.desk import job_kinds
from anonkit.desk.decided_release import DecidedRelease, Decisions
from anonkit.pipeline.recipe import Recipe

SEED = 11
PLAIN = """
unit = "none"
[columns]
age = { role = "quasi_identifier" }
education = { role = "quasi_identifier" }
income = { role = "sensitive" }
deposit = { role = "insensitive" }
customer_value = { role = "target" }
"""
POLICIES = {
    "weights": PLAIN + 'w = { role = "weight" }\nh = { role = "identifier" }\n',
    "households": PLAIN.replace('unit = "none"\n', "") + 'w = { role = "identifier" }\nh = { role = "household" }\n',
    "keys": PLAIN
    + 'w = { role = "identifier" }\nh = { role = "identifier" }\n[[keys]]\ncolumns = ["age", "education"]\nk = 8\n',
}


def written(folder: Path, policy: str) -> Path:
    """Write customers with a weight and a household each, and their policy as a desk keeps it; return the table."""
    drawn, table = np.random.default_rng(4), bank_customers(240, seed=2)
    table = table.select(["age", "education", "income", "deposit", "customer_value"])
    table = table.append_column("w", pa.array(drawn.uniform(1, 9, 240).round(2)))
    table = table.append_column("h", pa.array([f"h{at // 2}" for at in range(240)]))
    (folder / "out").mkdir()
    csv.write_csv(table, folder / "in.csv")
    (folder / "out" / "policy.toml").write_text(policy, encoding="utf-8")
    return folder / "in.csv"


def made(data: Path) -> tuple[pa.Table, Any]:
    """Return the rows of a release, in their order, and its params."""
    params = json.loads(data.with_name(f"{data.stem}.params.json").read_text(encoding="utf-8"))
    return parquet.read_table(data), params


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_recipe_command_and_python_make_the_rows_of_the_desk(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows in the same order and the same params, with weights, households and keys of the policy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANONKIT_LEDGER", str(tmp_path / "ledger"))
    written(tmp_path, POLICIES[name])
    release = DecidedRelease(
        source="in.csv",
        folder=Path("out"),
        decisions=Decisions(approach="classes", method="mondrian", parameters={"k": 4}, sample=0.1),
        seed=SEED,
        counts_people=name != "households",
    )
    (tmp_path / "out" / "recipe.toml").write_text(release.recipe(), encoding="utf-8")
    order = {"folder": str(tmp_path / "out"), "sign": None, "force": False, "private": "private", "seed": SEED}
    job_kinds.written(order, job_kinds.ProgressChannel(send=lambda said: None))
    by_desk = made(tmp_path / "out" / "release.parquet")
    assert by_desk[0].num_rows > 100

    recipe, words = tmp_path / "out" / "recipe.toml", shlex.split(release.command("decide"))[1:]
    call = release.python("decide")
    ways = {
        "recipe": lambda output: Recipe.load(recipe).run(output=output, seed=SEED),
        "command": lambda output: run(program, [*words, "--output", str(output), "--quiet"], "anonkit"),
        "python": lambda output: eval(call.replace("out/release.parquet", str(output)), {"anonkit": anonkit}),
    }
    for way, make in ways.items():
        monkeypatch.setenv("ANONKIT_LEDGER", str(tmp_path / f"ledger-{way}"))  # a rehearsal adds to no other
        output = tmp_path / way / "again.parquet"
        make(output)
        rows, params = made(output)
        assert rows.equals(by_desk[0]), way
        assert params == by_desk[1], way
