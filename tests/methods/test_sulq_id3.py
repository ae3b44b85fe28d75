"""`sulq-id3`: every count is requested by itself, and paid by itself."""

from __future__ import annotations

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.methods.sulq_id3 import SuLQID3

POLICY = bank_customers_policy()


def test_what_a_row_pays_for_the_tables_of_a_node() -> None:
    """A count by value and one by value and class for each attribute."""
    plan = SuLQID3(epsilon=1.0).plan(POLICY)
    (draw,) = plan.split_draws(0)
    assert draw.times == 2 * len(plan.schema.attributes)
    assert plan.count_units(0) == plan.level_units[0] // 2


def test_budgets_of_the_levels_are_equal() -> None:
    """Epsilon / (2 (depth + 1)) for every draw of a level."""
    plan = SuLQID3(epsilon=1.0, depth=4).plan(POLICY)
    assert [units / plan.path_units for units in plan.level_units] == pytest.approx([1 / 5] * 5)


def test_a_release_keeps_to_its_epsilon_and_stops_by_noise() -> None:
    """With little epsilon the threshold stops the tree at once."""
    release = anonkit.release(bank_customers(500, seed=1), method="sulq-id3", epsilon=0.1, policy=POLICY, seed=1)
    assert release.report["guarantee"]["parameters"]["epsilon"] <= 0.1
    assert len(release.params["trees"][0]) == 1
