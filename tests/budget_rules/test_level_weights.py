"""Budgets over levels: the figures of the papers."""

from __future__ import annotations

import pytest

from anonkit.budget_rules.level_weights import ALLOCATIONS, arithmetic_ascending, halving, harmonic


def divided(weights: list) -> list[float]:  # type: ignore[type-arg]
    """The shares of an epsilon of 1."""
    return [float(weight / sum(weights)) for weight in weights]


def test_the_shares_are_those_of_the_papers() -> None:
    """EDPRF with three levels: 0.18, 0.27, 0.55; halving: 1/2, 1/4, 1/4; arithmetic: 1/6, 2/6, 3/6."""
    assert divided(harmonic(3)) == pytest.approx([2 / 11, 3 / 11, 6 / 11])
    assert divided(halving(3)) == pytest.approx([0.5, 0.25, 0.25])
    assert divided(arithmetic_ascending(3)) == pytest.approx([1 / 6, 2 / 6, 3 / 6])


@pytest.mark.parametrize("name", ALLOCATIONS)
@pytest.mark.parametrize("levels", [1, 2, 7])
def test_every_level_gets_something(name: str, levels: int) -> None:
    """No level is left without a budget."""
    weights = ALLOCATIONS[name](levels)
    assert len(weights) == levels
    assert all(weight > 0 for weight in weights)
