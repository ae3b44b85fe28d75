"""Releases that say in every place that they were drawn with more noise: what they show is not so little."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import anonkit
from anonkit.checks.central_noise import noise_checks
from anonkit.checks.central_params import facts_of
from anonkit.datasets import bank_customers, bank_customers_policy

RELEASES: dict[str, tuple[dict[str, Any], int]] = {
    "dp-nb": ({"epsilon": 8.0}, 6),
    "dp-nb with a delta": ({"epsilon": 4.0, "delta": 1e-6}, 4),
    "dp-marginals": ({"epsilon": 4.0}, 5),
    "dp-marginals with a delta": ({"epsilon": 4.0, "delta": 1e-6}, 5),
    "dp-forest": ({"epsilon": 2.0}, 8),
    "dp-tree": ({"epsilon": 2.0}, 8),
    "diffprf": ({"epsilon": 2.0}, 3),
    "sulq-id3": ({"epsilon": 2.0}, 8),
}
"""Parameters, and how many times smaller than stated the noise is."""

RATES = ("rate", "class_rate")


def restated(told: Any, times: float) -> Any:
    """Return the params with every rate divided by a factor."""
    if isinstance(told, dict):
        return {
            name: int(one / times) if name in RATES and isinstance(one, int) else restated(one, times)
            for name, one in told.items()
        }
    return [restated(one, times) for one in told] if isinstance(told, list) else told


@pytest.mark.slow_cases("diffprf", "dp-marginals with a delta")
@pytest.mark.parametrize("kind", RELEASES)
def test_a_release_that_states_more_noise_than_it_has_is_told(kind: str, tmp_path: Path) -> None:
    """The true one is not; the restated one by the check that is there for it."""
    parameters, times = RELEASES[kind]
    made = anonkit.release(
        bank_customers(2_000, seed=3), method=kind.split()[0], policy=bank_customers_policy(), ledger=None,
        output=tmp_path / "out.parquet", **parameters,
    )  # fmt: skip
    params = json.loads(json.dumps(dict(made.params)))
    told = restated(params, times**2 if "delta" in kind else times)
    found = [{check.name: check.passed for check in noise_checks(one, facts_of(one))} for one in (params, told)]
    assert found == [
        {"noise_is_stated": True, "counts_agree": True},
        {"noise_is_stated": False, "counts_agree": True},
    ]
