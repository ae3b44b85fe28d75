"""`c45-halving`: half of what is left for each level."""

from __future__ import annotations

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.methods.c45_halving import C45Halving

POLICY = bank_customers_policy()


def test_each_level_gets_half_of_what_is_left() -> None:
    """The last two levels share alike, so that nothing is left over."""
    plan = C45Halving(epsilon=1.0).plan(POLICY)
    assert [units / plan.path_units for units in plan.level_units] == pytest.approx([1 / 2, 1 / 4, 1 / 8, 1 / 8])


def test_it_is_the_tree_of_the_arithmetic_one_but_for_the_budget() -> None:
    """Only the weights differ."""
    from dataclasses import replace

    from anonkit.methods.c45_arithmetic import C45Arithmetic

    mine, other = (method(epsilon=1.0).plan(POLICY) for method in (C45Halving, C45Arithmetic))
    assert mine.choices == replace(other.choices, weights=mine.choices.weights)
    assert mine.schema == other.schema


def test_a_release_predicts() -> None:
    """The published tree is better than the commonest class."""
    from anonkit.consumers import Forest

    release = anonkit.release(bank_customers(5_000, seed=1), method="c45-halving", epsilon=2.0, policy=POLICY, seed=1)
    test = bank_customers(500, seed=2)
    truth = test.column("customer_value").to_pylist()
    assert Forest(release.params).fit().score(test, truth) > max(truth.count(one) for one in set(truth)) / 500 + 0.03


def test_the_published_stop_rule_promises_nothing() -> None:
    """A pure node is seen without noise."""
    assert C45Halving(epsilon=1.0, stop="pure").guarantee(POLICY).kind == "none"
