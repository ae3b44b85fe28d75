"""Budgets of a dataset: epsilon and delta of all releases together, and no second draw unasked."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest
from ledger.claims import claim

from anonkit.errors import BudgetError
from anonkit.ledger.overspending import refuse_overspent
from anonkit.ledger.settling import NO_LIMIT, Allowance, Cost, DatasetState, Entry, ReleaseState
from anonkit.promises.guarantee import ADD_OR_REMOVE, Neighbours

ROW = Neighbours(adjacency=ADD_OR_REMOVE)


def state(allowance: Allowance, *spent: float, redrawn: bool = False) -> DatasetState:
    """A dataset with releases of some losses."""
    entries = []
    for number, epsilon in enumerate(spent, 1):
        planned = claim(epsilon, redrawn=redrawn, neighbours=ROW, delta=1e-6)
        given = {one.name: getattr(planned, one.name) for one in fields(planned)}
        entries.append(Entry(**given, number=number, state=ReleaseState.COMMITTED, created="2026-01-01", process="1 2"))
    return DatasetState(dataset="d", allowance=allowance, entries=entries)


def cost(epsilon: float | None, delta: float = 0.0, *, redrawn: bool = False) -> Cost:
    """The loss of a further release."""
    return Cost(epsilon=epsilon, delta=delta, redrawn=redrawn, neighbours=ROW)


def test_a_budget_may_be_spent_to_its_end_and_no_further() -> None:
    """The losses of all releases that count, with the new one's."""
    standing = state(Allowance(epsilon=1.0, neighbours=ROW), 0.25, 0.5)
    refuse_overspent(standing, cost(0.25), NO_LIMIT)
    with pytest.raises(BudgetError, match=r"epsilon 0\.75 is spent, this release needs 0\.26"):
        refuse_overspent(standing, cost(0.26), NO_LIMIT)
    refuse_overspent(standing, cost(None), NO_LIMIT)  # k-anonymity spends none


def test_delta_has_a_budget_of_its_own() -> None:
    """Spent by two releases, and by the third."""
    standing = state(Allowance(epsilon=9.0, delta=3e-6, neighbours=ROW), 0.1, 0.1)
    refuse_overspent(standing, cost(0.1, 1e-6), NO_LIMIT)
    with pytest.raises(BudgetError, match="budget of delta"):
        refuse_overspent(standing, cost(0.1, 2e-6), NO_LIMIT)


def test_a_loss_without_a_bound_fits_into_no_finite_budget() -> None:
    """And into an infinite one."""
    with pytest.raises(BudgetError, match="no bound"):
        refuse_overspent(state(Allowance(epsilon=5.0, neighbours=ROW)), cost(math.inf), NO_LIMIT)
    refuse_overspent(state(Allowance(epsilon=math.inf)), cost(math.inf), NO_LIMIT)


def test_rows_are_not_randomized_twice_unasked() -> None:
    """Independent answers average out: a budget must allow it."""
    with pytest.raises(BudgetError, match=r"randomized before \(release 1\).*together epsilon would be 0\.3"):
        refuse_overspent(state(NO_LIMIT, 0.1, redrawn=True), cost(0.2, redrawn=True), NO_LIMIT)
    refuse_overspent(state(Allowance(epsilon=1.0), 0.1, redrawn=True), cost(0.2, redrawn=True), NO_LIMIT)
    refuse_overspent(state(NO_LIMIT, 0.1), cost(0.2, redrawn=True), NO_LIMIT)
