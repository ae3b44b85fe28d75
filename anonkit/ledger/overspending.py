# SPDX-License-Identifier: Apache-2.0
"""Releases that a dataset cannot afford any more: beyond its budget of epsilon or of delta, or drawn a second time."""

from __future__ import annotations

import math

from anonkit.errors import BudgetError, option
from anonkit.ledger.standing import Allowance, Standing, total
from anonkit.promises.cautious_figures import allowance_words, loss_words
from anonkit.promises.guarantee import Guarantee

_NO_BOUND = (
    "its loss has no bound, since it publishes values as they are or by a transformation; no finite budget covers it"
)


def refuse_overspent(standing: Standing, promise: Guarantee, declared: Allowance) -> None:
    """Refuse a release that its dataset has not the budget for; a promise without a loss spends none.

    Parameters
    ----------
    standing : Standing
        Of the dataset before the release, with what is allowed now.
    promise : Guarantee
        What its loss is, and whether a second draw costs.
    declared : Allowance
        What the policy says, for the hint.

    Raises
    ------
    BudgetError
        Epsilon or delta of all releases would go beyond what is allowed, or rows were randomized before and no budget
        allows a second draw.
    """
    loss = promise.loss()
    if loss is None:
        return
    after = total([standing.epsilon, loss.epsilon])
    if standing.budget is not None and after > standing.budget:
        if math.isinf(loss.epsilon):
            raise BudgetError(
                f"this release does not fit into the budget of {allowance_words(standing.budget)}: {_NO_BOUND}",
                "method rr keeps to an epsilon",
            )
        raise BudgetError(
            f"the budget of the dataset would be overspent: epsilon {loss_words(standing.epsilon)} is spent, this "
            f"release needs {loss_words(loss.epsilon)}, {allowance_words(standing.budget)} is allowed in all",
            _more(standing.left, "budget", standing.budget, declared.epsilon),
        )
    budget_delta = standing.budget_delta
    if budget_delta is not None and total([standing.delta, loss.delta]) > budget_delta:
        raise BudgetError(
            f"the budget of delta of the dataset would be overspent: delta {loss_words(standing.delta)} is spent, this "
            f"release needs {loss_words(loss.delta)}, {allowance_words(budget_delta)} is allowed in all",
            _more(standing.left_delta, "budget_delta", budget_delta, declared.delta),
        )
    # without a budget nobody has agreed to a second draw: independent answers about the same rows average out
    earlier = [entry for entry in standing.counted if entry.redrawn]
    if standing.budget is None and promise.redraw_costs and earlier:
        raise BudgetError(*_second_draw(standing, earlier[-1].number, after))


def _more(left: float | None, name: str, budget: float, declared: float | None) -> str:
    """Return what can be done about a budget that is spent."""
    hint = (
        f"{allowance_words(left or 0.0)} is left; hand out an earlier release again, ask for less, or raise "
        f"{option(name)} knowingly"
    )
    if declared is None or declared <= budget:
        return hint
    return f"{hint}: the policy's {allowance_words(declared)} does not raise it"


def _second_draw(standing: Standing, number: int, after: float) -> tuple[str, str]:
    message = (
        f"the rows of dataset {standing.dataset!r} were randomized before (release {number}): a second draw with fresh "
        "noise lets an attacker average the noise away"
    )
    if math.isinf(after):
        return (
            f"{message}; together the loss has no bound, since values are published as they are or by a transformation",
            f"hand out the earlier release again; {option('budget', math.inf)} allows a second draw all the same",
        )
    needed = loss_words(after)
    return (
        f"{message}; together epsilon would be {needed}",
        f"hand out the earlier one again, or {option('budget', float(needed))}",
    )
