# SPDX-License-Identifier: Apache-2.0
"""Releases that a dataset cannot afford any more: beyond its budget of epsilon or of delta, or drawn a second time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from anonkit.errors import BudgetError, option
from anonkit.ledger.neighbour_totals import BookedLoss, total, totals
from anonkit.ledger.settling import Allowance, Cost, DatasetState
from anonkit.promises.guarantee import Neighbours
from anonkit.promises.noise_promises import allowance_words, loss_words

_NO_BOUND = (
    "its loss has no bound, since it publishes values as they are or by a transformation; no finite budget covers it"
)


def refuse_overspent(standing: DatasetState, cost: Cost, declared: Allowance) -> None:
    """Refuse a release beyond the budget of its dataset; a promise without a loss spends none.

    Parameters
    ----------
    standing : Standing
        Of the dataset before the release, with what is allowed now.
    cost : Cost
        Of the release: how much, and whom; whether a second draw costs.
    declared : Allowance
        Limit of the policy, for the hint.

    Raises
    ------
    BudgetError
        Epsilon or delta of all releases would go beyond what is allowed, or has no bound that could be compared with
        it; or rows were randomized before and no budget allows a second draw.
    """
    loss = cost.loss
    if loss is None:
        return
    allowance = standing.allowance
    losses = [*standing.losses, loss]
    if allowance.is_set and not _is_free(allowance):
        if allowance.neighbours is None and any(one.neighbours is None for one in standing.losses):
            raise BudgetError(
                f"the budget of dataset {standing.dataset!r} was set before the ledger kept whose loss is meant: what "
                f"is spent, epsilon {loss_words(total(one.epsilon for one in standing.losses))}, is of unknown "
                "neighbours",
                f"say it anew: {option('budget', 'NUMBER')}; earlier releases are counted by their bare numbers then",
            )
        if math.isinf(loss.epsilon):
            if allowance.epsilon is not None and not math.isinf(allowance.epsilon):
                raise BudgetError(
                    f"this release does not fit into the budget of {allowance_words(allowance.epsilon)}: {_NO_BOUND}",
                    "method rr keeps to an epsilon",
                )
        else:
            for kind in _kinds(allowance, losses):
                _refuse_beyond(replace(standing, allowance=replace(allowance, neighbours=kind)), loss, kind, declared)
    # without a budget nobody has agreed to a second draw: independent answers about the same rows average out
    earlier = [entry for entry in standing.counted if entry.redrawn]
    if standing.budget is None and cost.redrawn and earlier:
        raise BudgetError(*_second_draw(standing, earlier[-1].number, _after(standing, loss, standing.neighbours)[0]))


def _is_free(allowance: Allowance) -> bool:
    """Return True if every loss fits into a budget, bounded or not."""
    return allowance.epsilon == math.inf and allowance.delta is None


def _kinds(allowance: Allowance, losses: Sequence[BookedLoss]) -> list[Neighbours]:
    """Return the neighbours for which a budget holds: those that it names, else all for which there is a bound.

    Raises
    ------
    BudgetError
        There are none.
    """
    if allowance.neighbours is not None:
        return [allowance.neighbours]
    bounded = [one.neighbours for one in totals(losses) if one.neighbours is not None and one.is_bounded]
    if not bounded:
        raise BudgetError(
            "the budget holds for nobody: between no two tables have all releases of the dataset a bound together",
            _SAME_WHOSE,
        )
    return bounded


_SAME_WHOSE = (
    f"declare the same {option('unit', 'NAME')} and neighbours in every release of the dataset; "
    f"{option('budget', math.inf)} goes on without a bound"
)


def _after(standing: DatasetState, loss: BookedLoss, kind: Neighbours) -> tuple[float, float]:
    """Return the composed loss of all releases with this one, for a kind of neighbours."""
    spent = replace(standing, allowance=replace(standing.allowance, neighbours=kind))
    epsilon, delta = (loss.epsilon, loss.delta) if loss.neighbours is None else loss.of(kind)
    return total([spent.epsilon, epsilon]), total([spent.delta, delta])


def _refuse_beyond(standing: DatasetState, loss: BookedLoss, kind: Neighbours, declared: Allowance) -> None:
    after, uncovered = _after(standing, loss, kind)
    if math.isinf(after):
        raise BudgetError(
            f"the budget holds for {kind.in_short}, and {_who_is_unbounded(standing, loss, kind)} no bound for that",
            _SAME_WHOSE,
        )
    needed, more = (loss.epsilon, loss.delta) if loss.neighbours is None else loss.of(kind)
    whose = f", for {kind.in_short}"
    if standing.budget is not None and after > standing.budget:
        raise BudgetError(
            f"the budget of the dataset would be overspent: epsilon {loss_words(standing.epsilon)} is spent, this "
            f"release needs {loss_words(needed)}, {allowance_words(standing.budget)} is allowed in all{whose}",
            _more(standing.left, "budget", standing.budget, declared.epsilon),
        )
    budget_delta = standing.budget_delta
    if budget_delta is not None and uncovered > budget_delta:
        raise BudgetError(
            f"the budget of delta of the dataset would be overspent: delta {loss_words(standing.delta)} is spent, this "
            f"release needs {loss_words(more)}, {allowance_words(budget_delta)} is allowed in all{whose}",
            _more(standing.left_delta, "budget_delta", budget_delta, declared.delta),
        )


def _who_is_unbounded(standing: DatasetState, loss: BookedLoss, kind: Neighbours) -> str:
    if loss.neighbours is not None and math.isinf(loss.of(kind)[0]):
        return "this release has"
    first = next(one.number for one in standing.counted if one.loss is not None and _is_unbounded(one.loss, kind))
    return f"release {first} has"


def _is_unbounded(loss: BookedLoss, kind: Neighbours) -> bool:
    return math.isinf(loss.epsilon if loss.neighbours is None else loss.of(kind)[0])


def _more(left: float | None, name: str, budget: float, declared: float | None) -> str:
    """Return the remedies for a budget that is spent."""
    hint = (
        f"{allowance_words(left or 0.0)} is left; hand out an earlier release again, ask for less, or raise "
        f"{option(name)} knowingly"
    )
    if declared is None or declared <= budget:
        return hint
    return f"{hint}: the policy's {allowance_words(declared)} does not raise it"


def _second_draw(standing: DatasetState, number: int, after: float) -> tuple[str, str]:
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
