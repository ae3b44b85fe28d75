"""Invariant answers by shares from noisy counts: two releases, and both losses in the account."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.consumers import aggregate_tables

SHARES = {"clerk": 0.7, "farmer": 0.2, "nurse": 0.1}
ROWS = 4_000


def test_both_losses_are_booked_and_counts_are_kept_in_expectation(tmp_path: Path) -> None:
    """As the page of policies has it: the second release takes the noisy shares, and no other number of the table."""
    jobs = [job for job, share in SHARES.items() for _ in range(round(ROWS * share))]
    table, listed = pa.table({"job": jobs}), {"categories": [*SHARES]}
    booked = {"ledger": tmp_path / "ledger.sqlite", "dataset": "people", "unit": "none", "utility": False}
    counted = {"columns": {"job": listed}, "aggregates": {"jobs": "job"}}
    anonkit.release(
        table, method="dp-tables", epsilon=0.5, policy=counted, output=tmp_path / "counts.parquet", **booked
    )
    (counts,) = aggregate_tables(tmp_path / "counts.parquet").values()
    known = counts[counts["job"] != "other or missing"].set_index("job")["count"].clip(lower=1)
    shares = known.div(known.sum())

    answered = {"columns": {"job": {**listed, "reference_shares": shares.to_dict()}}}
    out = tmp_path / "answers.parquet"
    second = anonkit.release(table, method="errph", epsilon=1.0, policy=answered, no_target=True, output=out, **booked)

    totals = {entry["neighbours"]: entry["epsilon"] for entry in second.report["ledger"]["totals"]}
    assert pytest.approx(2 * 0.5 + 1.0) in totals.values()
    assert anonkit.validate(out).passed
    shown = second.to_pandas()["job"].value_counts(normalize=True)
    error = 5 * np.sqrt(np.array([*SHARES.values()]) / ROWS)  # five standard deviations of answers, noise included
    assert (np.abs(np.array([shown[job] - share for job, share in SHARES.items()])) < error).all()
