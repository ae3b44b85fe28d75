"""`diffprf`: one choice of the attribute a node, on numbers in bins."""

from __future__ import annotations

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.methods.diffprf import DiffPRF
from anonkit.methods.diffprfs import DiffPRFs
from anonkit.published.tree_model import Split

POLICY = bank_customers_policy()


def test_a_node_draws_once() -> None:
    """Numbers have a branch a bin, so nothing is spent on cuts."""
    binned, cut = (method(epsilon=1.0, rows="disjoint").plan(POLICY) for method in (DiffPRF, DiffPRFs))
    assert {attribute.split for attribute in binned.schema.attributes} == {Split.MULTIWAY}
    assert [draw.times for draw in binned.split_draws(0)] == [1]
    assert {attribute.split for attribute in cut.schema.attributes} == {Split.MULTIWAY, Split.CUT}


def test_the_accounting_is_that_of_the_bootstrap() -> None:
    """As DiffPRFs: the epsilon requested, and nothing with the published stop rule."""
    assert DiffPRF(epsilon=0.5).guarantee(POLICY).to_dict()["parameters"]["epsilon"] <= 0.5
    assert DiffPRF(epsilon=0.5, stop="pure").guarantee(POLICY).kind == "none"


def test_a_release_has_its_trees() -> None:
    """The model is in the params."""
    release = anonkit.release(
        bank_customers(400, seed=1), method="diffprf", epsilon=2.0, policy=POLICY, trees=3, depth=2, seed=1
    )
    assert len(release.params["trees"]) == 3
    assert release.params["rows_per_tree"] == {"kind": "bootstrap", "trees": 3}
