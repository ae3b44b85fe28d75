"""`dp-tree`: what `dp-forest` makes, from exactly one tree."""

from __future__ import annotations

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.methods.dp_tree import DPTree
from anonkit.parameters import parameters_of


@pytest.mark.slow
def test_it_is_dp_forest_with_one_tree() -> None:
    """The same seed gives the same trees, account and scores."""
    table, policy = bank_customers(2000, seed=1), bank_customers_policy()
    tree, forest = (
        anonkit.release(table, method=method, epsilon=1.0, policy=policy, seed=4, **more)
        for method, more in (("dp-tree", {}), ("dp-forest", {"trees": 1}))
    )
    for key in ("trees", "accounting", "histograms", "scores"):
        assert tree.params[key] == forest.params[key]
    assert len(tree.params["trees"]) == 1


def test_the_number_of_trees_is_no_parameter() -> None:
    """Everything else is as for `dp-forest`."""
    assert "trees" not in {one.name for one in parameters_of(DPTree)}
    assert DPTree(epsilon=1.0).guarantee(bank_customers_policy()).to_dict()["kind"] == "central-dp"
