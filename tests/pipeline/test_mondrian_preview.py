"""What `mondrian` would show is told to the owner on the terminal, where another method drops columns; nobody else."""

from __future__ import annotations

import json
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
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.methods.mondrian import Mondrian
from anonkit.methods.rfka import RFKA
from anonkit.pipeline.mondrian_preview import mondrian_preview
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness
from anonkit.report.owner_words import preview_lines

NAMES = tuple(f"x{at}" for at in range(8))


def _table(n_rows: int) -> pa.Table:
    """Columns that all tell a little of the target: more than one recoding can show."""
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


@pytest.mark.parametrize(("n_rows", "searched"), [(250, 250), (1_000, 300)])
def test_more_columns_are_found_on_few_rows(n_rows: int, searched: int) -> None:
    """The sample has at most 20,000 rows, and the columns that are told are those of the table."""
    with LocalEngine() as engine:
        source = engine.scan(_table(n_rows), _policy())
        found = mondrian_preview(source, _policy(), engine, RFKA(k=10), _columns(5), Randomness.seeded(1))
    block: Any = found["mondrian_preview"]
    assert (block["rows"], block["of"], block["shown"]) == (searched, n_rows, 3)
    assert set(block["more"]) == set(block["columns"]) & set(NAMES[3:]) != set()


@given(dropped=st.sampled_from([0, 3]), boxes=st.booleans())
def test_nothing_is_searched_where_nothing_is_dropped(dropped: int, boxes: bool) -> None:
    """Nor for `mondrian` itself, nor where the sample cannot reach k."""
    method = Mondrian(k=2) if boxes or not dropped else RFKA(k=400)
    with LocalEngine() as engine:
        source = engine.scan(_table(40), _policy())
        assert mondrian_preview(source, _policy(), engine, method, _columns(dropped), Randomness.seeded(1)) == {}


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


def test_the_owner_alone_reads_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """On the terminal with the owner's figures, and in no file of the release."""
    path, policy, out = tmp_path / "in.csv", tmp_path / "policy.toml", tmp_path / "out.parquet"
    pyarrow.csv.write_csv(_table(300), path)
    lines = [f'{name} = {{ role = "quasi_identifier" }}' for name in NAMES]
    policy.write_text('unit = "none"\n[columns]\n' + "\n".join(lines) + '\ny = { role = "target" }\n')
    asked = ["release", str(path), str(out), "--policy", str(policy), "--trees", "20", "--no-ledger", "--no-utility"]
    capfd.readouterr()
    assert run(anonkit, [*asked, "--owner"], "anonkit") == 0
    captured = capfd.readouterr()
    assert "mondrian would show" in captured.out + captured.err
    assert "mondrian" not in json.dumps(json.loads((tmp_path / "out.report.json").read_text()))
    assert run(anonkit, [*asked, "--force"], "anonkit") == 0
    captured = capfd.readouterr()
    assert "mondrian would show" not in captured.out + captured.err
