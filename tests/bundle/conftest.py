"""A release in three parts, a bucket that it is put into, and a release of which each test has a copy."""

from __future__ import annotations

import pytest
from objects_in_memory import Bucket, bucket_in_memory

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from tests.pipeline.test_exporting import kept, release  # noqa: F401 -- fixtures of exports


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> anonkit.Release:
    """A release in three parts on this machine."""
    policy = bank_customers_policy()
    out = tmp_path_factory.mktemp("local") / "out.parquet"
    return anonkit.release(
        bank_customers(300, seed=1), method="ppnb", p_keep=0.5, policy=policy, output=out, part_rows=100, ledger=None
    )


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A bucket in memory."""
    return bucket_in_memory(monkeypatch)
