"""`diffgen`: half of the budget on what is made finer, half on the counts."""

from __future__ import annotations

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.methods.diffgen import DiffGen

POLICY = bank_customers_policy()


def test_the_budget_is_that_of_the_paper() -> None:
    """Epsilon / (2 (numbers + 2 steps)) for each draw, and half for the counts."""
    plan = DiffGen(epsilon=1.0, steps=5).plan(POLICY)
    choice, count = plan.accounting.draws
    assert choice.times == 5 + 2 * 5
    assert choice.units / choice.times / 2**52 == pytest.approx(1 / (2 * 15))
    assert count.units / 2**52 == pytest.approx(0.5)


def test_cells_are_generalized_records_with_counts() -> None:
    """As the paper releases them; validation adds the account up."""
    release = anonkit.release(
        bank_customers(2_000, seed=1), method="diffgen", epsilon=2.0, policy=POLICY, steps=3, as_="cells", seed=1
    )
    table = release.to_arrow()
    assert table.column_names[-1] == "count"
    assert abs(sum(table.column("count").to_pylist()) - 2_000) < 400
    whole = [name for name in table.column_names[:-2] if set(table.column(name).to_pylist()) == {"*"}]
    assert len(whole) >= 10 - 3
