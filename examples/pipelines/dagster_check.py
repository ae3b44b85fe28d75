"""A Dagster asset check that blocks what comes after it when a table is not k-anonymous."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dagster import AssetCheckResult, AssetChecksDefinition, asset_check

import anonkit


def k_anonymity_check(asset: Any, columns: Sequence[str], k: int) -> AssetChecksDefinition:
    """Return a blocking check of an asset that is a data frame."""

    @asset_check(asset=asset, blocking=True, name="k_anonymity")
    def check(table: Any) -> AssetCheckResult:
        found = anonkit.validate(table, quasi_identifiers=columns, k=k)
        observed = found.disclosure.k if found.disclosure else 0
        return AssetCheckResult(passed=found.passed, metadata={"observed_k": observed, "required_k": k})

    return check
