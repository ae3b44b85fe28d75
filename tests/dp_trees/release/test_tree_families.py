"""The shared parts of published trees: thresholds and stop rules."""

from __future__ import annotations

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ParameterError
from anonkit.methods import make_method

POLICY = bank_customers_policy()


@pytest.mark.parametrize("name", ["c45-arithmetic", "c45-halving", "diffp-c45"])
def test_c45_trees_are_pruned_on_request_for_nothing(name: str) -> None:
    """The same draws and the same claim, fewer leaves; counts of what is cut off are in the leaf that replaces it."""
    sizes, totals = [], []
    for pruning in ("none", "pessimistic"):
        release = anonkit.release(
            bank_customers(2_000, seed=1),
            method=name, policy=POLICY, epsilon=1.0, depth=4, stop="depth", pruning=pruning, seed=2, ledger=None,
        )  # fmt: skip
        nodes = release.params["trees"][0]
        sizes.append(len(nodes))
        totals.append(sum(sum(node["counts"]) for node in nodes if "counts" in node))
        assert release.report["budget"]["epsilon"] <= 1.0
    assert sizes[1] < sizes[0]
    assert totals[0] == totals[1]
    with pytest.raises(ParameterError, match="pruning"):
        make_method(name, {"epsilon": 1.0, "pruning": "much"})
