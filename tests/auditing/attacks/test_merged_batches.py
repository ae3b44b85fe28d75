"""Attacks on a merged batch are scored on the rows that merged too."""

from __future__ import annotations

from pathlib import Path

import pytest

import anonkit
from anonkit.auditing.attacks.aligned import align
from anonkit.datasets import bank_customers


@pytest.mark.slow
def test_rows_that_merged_are_aligned_with_what_they_show(tmp_path: Path) -> None:
    """Every row of a merged batch is found again under the coarser step it shows; none is taken for left out."""
    anonkit.release(
        bank_customers(1_500, seed=21),
        method="mondrian",
        k=8,
        target="customer_value",
        output=tmp_path / "first.parquet",
        ledger=None,
    )
    batch = bank_customers(300, seed=22)
    applied = anonkit.apply(tmp_path / "first.parquet", batch, ledger=None)
    found = align(applied.params, applied.to_arrow(), batch)

    assert applied.params["recoding"]["merged"]
    assert found is not None
    assert (found.position >= 0).all()
    assert found.table.num_rows == 300
