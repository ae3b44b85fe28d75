"""Black-box audits of neighbouring tables that differ in how one cell is written: nothing above the claim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.methods import make_method
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness

RUNS = 1_000
UNITS = Policy(
    columns={
        "who": Column(name="who", role=Role.UNIT),
        "a": Column(name="a", categories=("u",)),
        "y": Column(name="y", role=Role.TARGET, categories=("0", "1")),
    }
)
CODES = Policy(
    columns={
        "a": Column(name="a", type=ColumnType.TEXT, categories=("1", "2", "1.0", "2.0")),
        "y": Column(name="y", role=Role.TARGET, categories=("0", "1")),
    }
)


def rows_of(data: object, policy: Policy, seed: int) -> np.ndarray:
    """The number of rows of each of many releases, and of those that are 1: counts that anybody can make."""
    engine, method = LocalEngine(), make_method("dp-nb", {"epsilon": 1.0})
    source = engine.scan(data, replace(policy, cell_by_cell=True))
    rng, shown = Randomness.seeded(seed), []
    for run in range(RUNS):
        draft = method.release(source, policy, engine=engine, rng=rng.child(f"run {run}"))
        cells = [cell for batch in draft.data.batches(["a"]) for cell in batch.column("a").to_pylist()]
        shown.append(len(cells) if policy is UNITS else cells.count("1"))
    return np.array(shown)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_unit_that_is_a_word_moves_no_other_unit(tmp_path: Path) -> None:
    """300 people in two spellings each, with and without one more whose id is a word."""
    lines = [f'"{form.format(100 + person)}",u,{person % 2}' for person in range(300) for form in ("{}", "{}.0")]
    samples = []
    for seed, more in enumerate(([], ["x7,u,1"])):
        path = tmp_path / f"{seed}.csv"
        path.write_text("\n".join(["who,a,y", *lines, *more, ""]))
        samples.append(rows_of(path, UNITS, seed))
    assert lower_bound(samples[0], samples[1]).lower_bound <= 1.0
    assert abs(float(np.median(samples[0])) - 300) < 10


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_missing_cell_recodes_no_other_row() -> None:
    """300 rows of 1 and 2 in pandas, with and without one row that is missing and makes the column one of floats."""
    cells = [1 + at % 2 for at in range(300)]
    labels = [str(at % 2) for at in range(300)]
    tables = [
        pd.DataFrame({"a": cells, "y": labels}),
        pd.DataFrame({"a": [*cells, None], "y": [*labels, "1"]}),
    ]
    assert [str(table["a"].dtype) for table in tables] == ["int64", "float64"]
    samples = [rows_of(table, CODES, seed) for seed, table in enumerate(tables)]
    assert lower_bound(samples[0], samples[1]).lower_bound <= 1.0
