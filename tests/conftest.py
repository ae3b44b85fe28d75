"""Fixtures shared by the tests: the repository, the real tables, the paper's simulated customers."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import settings

settings.register_profile("anonkit", deadline=None)  # a deadline is a timed assertion
settings.load_profile("anonkit")

REPOSITORY = Path(__file__).parents[1]
REAL_TABLES = REPOSITORY.parent / "shared" / "data"

USUAL_EIGHT = (
    "age",
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
)
"""The eight quasi-identifiers of Adult that the literature uses."""


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return REPOSITORY


@pytest.fixture(scope="session")
def real_tables() -> Path:
    """The folder of real tables; tests skip where it is absent, and must not in CI."""
    if not REAL_TABLES.exists():
        if os.environ.get("CI"):
            pytest.fail("the real tables (../shared/data) are absent in CI")
        pytest.skip("the real tables (../shared/data) are not there")
    return REAL_TABLES


@pytest.fixture(scope="session")
def adult(real_tables: Path) -> pa.Table:
    """Adult, 48,842 rows."""
    from anonkit.engines.local import LocalEngine
    from anonkit.policy import Policy

    engine = LocalEngine()
    source = engine.scan(real_tables / "adult.csv.gz", Policy())
    return pa.Table.from_batches(source.batches(), schema=source.schema)


@pytest.fixture(scope="session")
def small_customers() -> pa.Table:
    """400 simulated bank customers."""
    from anonkit.datasets import bank_customers

    return bank_customers(400, seed=1)
