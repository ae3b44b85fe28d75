"""The shared parts of published trees: thresholds and stop rules."""

from __future__ import annotations

import math

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.dp_trees.release.tree_releases import friedman_schuster, one_deviation
from anonkit.errors import ParameterError
from anonkit.methods import make_method
from anonkit.methods.diffp_id3 import DiffPID3
from tests.dp_trees.tables import MIXED

POLICY = bank_customers_policy()


def test_thresholds_are_those_of_the_papers() -> None:
    """t |C| sqrt(2) / epsilon with the largest domain and the number of classes; one deviation without them."""
    assert friedman_schuster(0.5, MIXED) == pytest.approx(7 * 2 * math.sqrt(2) / 0.5)
    assert one_deviation(0.5, MIXED) == pytest.approx(math.sqrt(2) / 0.5)


@pytest.mark.parametrize(("stop", "kind"), [("depth", "central-dp"), ("noisy", "central-dp"), ("pure", "none")])
def test_the_stop_rule_decides_whether_anything_is_promised(stop: str, kind: str) -> None:
    """A look without noise promises nothing."""
    assert DiffPID3(epsilon=1.0, stop=stop).guarantee(POLICY).kind == kind


@pytest.mark.parametrize("wrong", [{"depth": 0}, {"depth": 21}, {"stop": "never"}, {"max_rows": 0}, {"bins": 1}])
def test_parameters_outside_their_range_are_refused(wrong: dict[str, object]) -> None:
    """The name and the range."""
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        DiffPID3(**{"epsilon": 1.0, **wrong})  # type: ignore[arg-type]


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
