"""True releases of every kind, made once, for the forger."""

from __future__ import annotations

import pyarrow as pa
import pytest
from checks.forgeries import SMALL, Files
from checks.small_releases import FAMILIES, made

import anonkit


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory, small_customers: pa.Table) -> dict[str, Files]:
    """One true release of each kind, in memory."""
    found = {}
    for method, parameters in SMALL.items():
        output = tmp_path_factory.mktemp("true") / "out.parquet"
        anonkit.release(
            small_customers, method=method, target="customer_value", output=output, ledger=None, **parameters
        )
        found[method] = Files.read(output)
    return found


@pytest.fixture(scope="session")
def small_releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """One small release of each family, in memory."""
    return {family: made(family, tmp_path_factory.mktemp("small")) for family in FAMILIES}
