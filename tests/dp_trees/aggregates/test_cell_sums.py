"""Sums of aggregates: a row adds no more to the measurements than it pays for."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa

from anonkit.dp_trees.aggregates.cell_sums import CellSums
from anonkit.mechanisms.query_sensitivity import sensitivity_of
from anonkit.methods.dp_tables import DPTables
from tests.methods.test_dp_tables import LINES, POLICY


def test_one_row_moves_no_measurement_by_more_than_it_pays_for() -> None:
    """All rows of a small domain, one by one: the sums of a row are at most the sensitivity, and one reaches it."""
    plan = DPTables(epsilon=1.0, aggregate=LINES).plan(POLICY)
    add, most = CellSums(plan), np.zeros(len(plan.measurements), dtype=np.int64)
    ages, sexes = [None, -5.0, 17.0, 33.3, 90.0, 1e300, float("nan")], ["f", "x", "?", None]
    rows = itertools.product(ages, sexes, ["north", None], [None, -2.0, 7.7, 40.0, 1e9], ["yes", "other", None])
    columns = dict(zip(("age", "sex", "ward", "days", "ill"), zip(*rows, strict=True), strict=True))
    batch = pa.RecordBatch.from_pydict(
        {
            name: pa.array(cells, pa.float64() if name in ("age", "days") else pa.string())
            for name, cells in columns.items()
        }
    )
    for at in range(batch.num_rows):
        own = [int(np.abs(sums).sum()) for sums in add.divided(add(batch.slice(at, 1), 0))]
        most = np.maximum(most, own)
    assert most.tolist() == [sensitivity_of(each.query) for each in plan.measurements]
    whole = add(batch, 0)
    parts = sum((add(batch.slice(at, 7), at) for at in range(0, batch.num_rows, 7)), np.zeros_like(whole))
    assert np.array_equal(whole, parts)
