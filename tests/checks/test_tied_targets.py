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
VALUES = 3


def policy(columns: int, classes: int) -> Policy:
    """Columns of three values, and a target by which it is dear to split them all."""
    values = {f"c{at:02}": tuple(map(str, range(VALUES))) for at in range(columns)}
    target = Column(name="label", role=Role.TARGET, categories=tuple(map(str, range(classes))))
    return Policy(
        columns={**{name: Column(name=name, categories=own) for name, own in values.items()}, "label": target}
    )


def table(columns: int, classes: int, copies: bool) -> pa.Table:
    """Columns that say a little of the target and one that says much; half of them are copies of others, or none."""
    draw = np.random.default_rng(5)
    label = draw.integers(0, classes, ROWS)
    codes = draw.integers(0, VALUES, (columns, ROWS))
    follow = np.where(np.arange(columns) == 3, 0.9, 0.1)[:, np.newaxis]
    codes = np.where(draw.random((columns, ROWS)) < follow, label * VALUES // classes, codes)
    if copies:
        codes[columns // 2 :] = codes[: columns // 2]
    named = {f"c{at:02}": pa.array(column.astype(str)) for at, column in enumerate(codes)}
    return pa.table({**named, "label": pa.array(label.astype(str))})


@pytest.mark.quick_cases("14-6-*")
@pytest.mark.parametrize(
    ("columns", "classes", "epsilon", "copies", "pairs"),
    [(18, 9, 0.1, False, 1), (18, 9, 0.1, True, 9), (14, 6, 0.05, False, 0)],
)
def test_a_pair_of_the_target_is_rebuilt_and_no_other_passes_for_it(
    columns: int, classes: int, epsilon: float, copies: bool, pairs: int, tmp_path: Path
) -> None:
    """One pair where none gains, the first of several where some do, none where noise would drown it."""
    release = anonkit.release(
        table(columns, classes, copies), method="dp-marginals", epsilon=epsilon, policy=policy(columns, classes),
        n_rows=ROWS, seed=1, ledger=None,
    )  # fmt: skip
    assert not release.params["anchored"]
    assert "dependence on the target" in [reading["purpose"] for reading in release.params["readings"]]
    assert len(release.params["pairs"]) == pairs
    assert [pair["names"] for pair in release.params["pairs"][:1]] == [["c03", "label"]][:pairs]
    release.save(tmp_path / "true" / "out.parquet")
    files = Files.read(tmp_path / "true" / "out.parquet")
    of_a_seed = ("randomness",)
    assert verdict(forged(files, lambda one: None, tmp_path)) == (1, of_a_seed)
    if pairs:
        other = forged(files, lambda one: one.params["pairs"][0].update(names=["c01", "c02"]), tmp_path)
        assert "pairs" in verdict(other)[1]
