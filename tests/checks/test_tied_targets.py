"""Releases of dp-marginals whose target splits no tables but has the first pair: rebuilt, and forged ones refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Files, forged, verdict

import anonkit
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy

ROWS = 12_000
NAMES = [f"c{at}" for at in range(10)]
POLICY = Policy(
    columns={
        **{name: Column(name=name, categories=tuple(map(str, range(12)))) for name in NAMES},
        "label": Column(name="label", role=Role.TARGET, categories=("0", "1")),
    }
)


def table(copies: bool) -> pa.Table:
    """Columns of which none says much of the target; two of them are copies of others, or none."""
    draw = np.random.default_rng(5)
    codes = draw.integers(0, 12, (10, ROWS))
    if copies:
        codes[[6, 8]] = codes[[5, 7]]
    label = np.where(draw.random(ROWS) < 0.4, codes[3] >= 6, draw.random(ROWS) < 0.5)
    named = {name: pa.array(column.astype(str)) for name, column in zip(NAMES, codes, strict=True)}
    return pa.table({**named, "label": pa.array(label.astype(int).astype(str))})


@pytest.mark.slow_cases("0.2-True-2")
@pytest.mark.parametrize(("epsilon", "copies", "pairs"), [(0.2, False, 1), (0.2, True, 2), (0.08, False, 0)])
def test_a_pair_of_the_target_is_rebuilt_and_no_other_passes_for_it(
    epsilon: float, copies: bool, pairs: int, tmp_path: Path
) -> None:
    """One pair where none gains, the first of several where some do, none where noise would drown it."""
    release = anonkit.release(
        table(copies), method="dp-marginals", epsilon=epsilon, policy=POLICY, n_rows=ROWS, seed=1, ledger=None
    )
    assert not release.params["anchored"]
    assert len(release.params["pairs"]) == pairs
    assert [pair["names"] for pair in release.params["pairs"][:1]] == [["c3", "label"]][:pairs]
    release.save(tmp_path / "true" / "out.parquet")
    files = Files.read(tmp_path / "true" / "out.parquet")
    of_a_seed = ("randomness",)
    assert verdict(forged(files, lambda one: None, tmp_path)) == (1, of_a_seed)
    if pairs:
        other = forged(files, lambda one: one.params["pairs"][0].update(names=["c1", "c2"]), tmp_path)
        assert "pairs" in verdict(other)[1]
