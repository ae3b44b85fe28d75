"""The terminal shows the owner alone a preview of `mondrian` where another method drops columns."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.cli import anonkit
from anonkit.cli.boundary import run
from anonkit.cli.options import OwnerAsReader
from anonkit.datasets import bank_customers
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.methods.mondrian import Mondrian
from anonkit.methods.rfka import RFKA
from anonkit.pipeline.suppression import Previewed, mondrian_preview, rows_searched
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness
from anonkit.report.foreseen_words import preview_lines

NAMES = tuple(f"x{at}" for at in range(8))


def _table(n_rows: int) -> pa.Table:
    """Columns that all inform a little about the target: more than one recoding can show."""
    rng = np.random.default_rng(1)
    base = rng.normal(size=n_rows)
    columns = {name: np.round(base + rng.normal(size=n_rows), 2) for name in NAMES}
    return pa.table({**columns, "y": np.where(base > 0, "yes", "no")})


def _policy() -> Policy:
    columns = {name: {"role": "quasi_identifier"} for name in NAMES} | {"y": {"role": "target"}}
    return Policy.from_dict({"columns": columns, "unit": "none"})


def _columns(dropped: int) -> list[Any]:
    actions = ["generalized"] * (len(NAMES) - dropped) + ["dropped"] * dropped
    return [
        {"name": name, "role": "quasi_identifier", "action": action}
        for name, action in zip(NAMES, actions, strict=True)
    ]


@pytest.mark.parametrize(("n_rows", "searched"), [(250, 250), (1_000, 500)])
def test_more_columns_are_found_on_few_rows(n_rows: int, searched: int) -> None:
    """The sample has at most 20,000 rows, and the listed columns are those of the table."""
    with LocalEngine() as engine:
        source = engine.scan(_table(n_rows), _policy())
        found = mondrian_preview(Previewed(source), _policy(), engine, RFKA(k=10), _columns(5), Randomness.seeded(1))
    block: Any = found["mondrian_preview"]
    assert (block["rows"], block["of"], block["shown"]) == (searched, n_rows, 3)
    assert set(block["more"]) == set(block["columns"]) & set(NAMES[3:]) != set()


@given(n_rows=st.integers(1, 10**7))
def test_no_more_rows_are_searched_than_the_time_bears(n_rows: int) -> None:
    """One in fifty, 500 at least and 20,000 at most: so many take at most a tenth of the time of the command."""
    assert rows_searched(n_rows) == min(max(n_rows // 50, 500), 20_000)


def test_rows_that_were_drawn_already_are_searched() -> None:
    """Of them the sample is taken; the preview is about the whole source."""
    with LocalEngine() as engine:
        source = engine.scan(_table(2_000), _policy())
        drawn = engine.keep(engine.sample(source, 1_000, Randomness.seeded(2)))
        found = mondrian_preview(
            Previewed(source, drawn), _policy(), engine, RFKA(k=10), _columns(5), Randomness.seeded(1)
        )
    block: Any = found["mondrian_preview"]
    assert (block["rows"], block["of"]) == (500, 2_000)


@given(dropped=st.sampled_from([0, 3]), boxes=st.booleans())
def test_nothing_is_searched_where_nothing_is_dropped(dropped: int, boxes: bool) -> None:
    """Nor for `mondrian` itself, nor where the sample cannot reach k."""
    method = Mondrian(k=2) if boxes or not dropped else RFKA(k=400)
    with LocalEngine() as engine:
        source = engine.scan(_table(40), _policy())
        assert (
            mondrian_preview(Previewed(source), _policy(), engine, method, _columns(dropped), Randomness.seeded(1))
            == {}
        )


def test_the_line_says_what_was_searched() -> None:
    """Figures of both methods, and the names that are more."""
    block = {
        "rows": 500,
        "of": 9000,
        "quasi_identifiers": 8,
        "shown": 3,
        "columns": list(NAMES[:5]),
        "more": ["x3", "x4"],
    }
    (line,) = preview_lines(block)
    assert (
        "at least 5 of 8 quasi-identifiers (this release shows 3), with x3, x4; searched on 500 of 9,000 rows" in line
    )
    (line,) = preview_lines({**block, "rows": 9000, "more": []})
    assert line.endswith("(this release shows 3); searched on all rows")


def _asked(folder: Path, n_rows: int, *, recipe: bool = False) -> list[str]:
    """Write a table, its policy and a recipe of its release; return the words of the command that makes it."""
    path, policy, out = folder / "in.csv", folder / "policy.toml", folder / "out.parquet"
    pyarrow.csv.write_csv(_table(n_rows), path)
    lines = [f'{name} = {{ role = "quasi_identifier" }}' for name in NAMES]
    policy.write_text('unit = "none"\n[columns]\n' + "\n".join(lines) + '\ny = { role = "target" }\n')
    (folder / "recipe.toml").write_text(
        'method = "rfka"\ninput = "in.csv"\noutput = "out.parquet"\npolicy = "policy.toml"\nutility = false\n'
        "parameters = { trees = 20 }\n"
    )
    if recipe:
        return ["run", str(folder / "recipe.toml"), "--no-ledger"]
    return ["release", str(path), str(out), "--policy", str(policy), "--trees", "20", "--no-ledger", "--no-utility"]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [False, True], ids=["release", "run"])
def test_the_owner_alone_reads_it(tmp_path: Path, capfd: pytest.CaptureFixture[str], recipe: bool) -> None:
    """On the terminal with the owner's figures, after a dry run too, and in no file of the release."""
    asked = _asked(tmp_path, 300, recipe=recipe)
    capfd.readouterr()
    for more, told in ((["--dry-run", "--owner"], True), (["--owner"], True), (["--force"], False)):
        assert run(anonkit, [*asked, *more], "anonkit") == 0
        captured = capfd.readouterr()
        assert ("mondrian would show" in captured.err) is told
        assert "mondrian would show" not in captured.out
    assert "mondrian" not in json.dumps(json.loads((tmp_path / "out.report.json").read_text()))


@given(
    is_declared=st.booleans(),
    is_at_terminal=st.booleans(),
    quiet=st.booleans(),
    dry_run=st.booleans(),
    method=st.sampled_from(["rfka", "mondrian", "datafly", "incognito", "safepub", "dp-nb", "rr", None]),
)
def test_a_terminal_is_told_after_a_dry_run_where_no_noise_is_drawn(
    is_declared: bool, is_at_terminal: bool, quiet: bool, dry_run: bool, method: str | None
) -> None:
    """A dry run measures the source under k-anonymity as a release does; under noise only on request."""
    reader = OwnerAsReader(is_declared=is_declared, is_at_terminal=is_at_terminal)
    found = reader.has_it_measured(quiet=quiet, dry_run=dry_run, method=method)
    searches = method in ("rfka", "mondrian", "datafly", "incognito")
    assert found is (reader.reads(quiet=quiet) and (is_declared or not dry_run or searches))


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [12_000, 48_842, 200_000])
def test_it_takes_a_tenth_of_the_time_of_the_command(tmp_path: Path, n_rows: int) -> None:
    """Processor time of a release of simulated customers by the default, in a process of its own."""
    path, policy = tmp_path / "in.csv", tmp_path / "policy.toml"
    table = bank_customers(n_rows, seed=3)
    pyarrow.csv.write_csv(table, path)
    roles = {**dict.fromkeys(table.column_names, "quasi_identifier"), "customer_value": "target"}
    lines = [f'{name} = {{ role = "{role}" }}' for name, role in roles.items()]
    policy.write_text('unit = "none"\n[columns]\n' + "\n".join(lines) + "\n", encoding="utf-8")
    asked = ["release", str(path), str(tmp_path / "out.parquet"), "--policy", str(policy), "--no-ledger", "--owner"]
    ran = subprocess.run([sys.executable, "-c", TIMED, *asked], capture_output=True, text=True, check=True)
    preview, command = map(float, ran.stdout.splitlines()[-1].split())
    assert preview <= 0.1 * command, (preview, command)


TIMED = """
import sys, time
from anonkit.utility import learning_process
from anonkit.pipeline import release_path
learning_process._Process.answer = lambda self, *args: None  # all work is done, and counted, in this process
real, spent = release_path.mondrian_preview, []
def timed(*args):
    begun = time.process_time()
    found = real(*args)
    spent.append(time.process_time() - begun)
    assert found
    return found
release_path.mondrian_preview = timed
from anonkit.cli import anonkit
from anonkit.cli.boundary import run
assert run(anonkit, sys.argv[1:], "anonkit") == 0
print(f"\\n{sum(spent)} {time.process_time()}")
"""
"""Makes a release, and prints last how many seconds of the processor the preview took, and the command."""
