"""Delta of drawing rows and showing classes of k: against all outcomes of small classes, in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import pytest

from anonkit.budget_rules.model_queries import PairGain
from anonkit.errors import ParameterError
from anonkit.mechanisms.accounting import draw_epsilon
from anonkit.mechanisms.sampling_threshold import (
    LARGEST_CLASS,
    RowDraw,
    SampledAccounting,
    best_sample,
    class_size,
    delta_of,
    most_sampled,
)
from anonkit.published.statements.draws import PERMUTE_AND_FLIP, Draw

ONE = 1 << 52
WORDS = 1 << 32


def shown(size: int, k: int, beta: Fraction) -> dict[int, Fraction]:
    """Return the law of the rows that are shown of a class: 0 where fewer than k of it were drawn."""
    law: dict[int, Fraction] = {0: Fraction(0)}
    for drawn in range(size + 1):
        chance = comb(size, drawn) * beta**drawn * (1 - beta) ** (size - drawn)
        law[drawn if drawn >= k else 0] = law.get(drawn if drawn >= k else 0, Fraction(0)) + chance
    return law


def beyond(left: dict[int, Fraction], right: dict[int, Fraction], factor: Fraction) -> Fraction:
    """Return how much the likeliest set of outcomes exceeds the factor: the hockey-stick divergence."""
    return sum(
        (max(chance - factor * right.get(outcome, Fraction(0)), Fraction(0)) for outcome, chance in left.items()),
        Fraction(0),
    )


@pytest.mark.parametrize(
    ("beta", "k", "epsilon"), [(0.25, 3, 1.0), (0.5, 2, 0.75), (0.125, 4, 0.25), (0.25, 6, 2.0), (0.375, 5, 0.5)]
)
def test_delta_is_that_of_the_worst_class_by_enumeration(beta: float, k: int, epsilon: float) -> None:
    """For all classes up to 60 rows and both directions no set of outcomes needs more, and one needs as much."""
    exact, factor = Fraction(beta), Fraction(math.exp(epsilon))
    laws = [shown(size, k, exact) for size in range(62)]
    comes = max(beyond(laws[size + 1], laws[size], factor) for size in range(61))
    goes = max(beyond(laws[size], laws[size + 1], factor) for size in range(61))

    found = delta_of(int(beta * WORDS), k, int(epsilon * ONE))
    assert goes == 0
    assert comes <= found <= comes * (1 + Fraction(1, 10**4))


def test_the_published_bound_is_above_it() -> None:
    """SafePub adds up the probabilities themselves: never less."""
    beta, k, epsilon = 0.25, 5, 1.0
    gamma = (math.exp(epsilon) - 1 + beta) / math.exp(epsilon)
    first = math.ceil(k / gamma - 1)
    published = max(
        sum(comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(math.floor(gamma * n) + 1, n + 1))
        for n in range(first, first + 60)
    )
    assert delta_of(int(beta * WORDS), k, int(epsilon * ONE)) < published


def test_k_is_the_smallest_that_keeps_delta() -> None:
    """One less does not; a k that was requested is kept."""
    sampled, units, delta = int(0.3 * WORDS), ONE, 1e-6
    k = class_size(sampled, units, delta, 2)
    assert delta_of(sampled, k, units) <= delta < delta_of(sampled, k - 1, units)
    assert class_size(sampled, units, delta, k + 7) == k + 7


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0, 20.0])
def test_the_sample_shows_classes_of_few_rows(epsilon: float) -> None:
    """None of the eighths of the largest sample shows classes that are smaller by more than a tenth."""
    units = int(epsilon * ONE)
    sampled = best_sample(units, 1e-9, 10)
    needed = class_size(sampled, units, 1e-9, 10) / sampled
    others = [most_sampled(units) * part // 8 for part in range(1, 8)]
    assert sampled in others
    assert all(needed <= 1.1 * class_size(other, units, 1e-9, 10) / other for other in others)
    assert sampled / WORDS < -math.expm1(-epsilon)


def test_a_sample_beyond_epsilon_is_refused() -> None:
    """A removed row would lose more than epsilon: no delta helps; nor is a sample of nothing one."""
    for sampled in (most_sampled(ONE) + 1, 0):
        with pytest.raises(ParameterError, match="sample"):
            delta_of(sampled, 5, ONE)


def test_a_k_that_nobody_reaches_is_refused() -> None:
    """Almost all rows drawn, with a large epsilon: delta falls too slowly with k."""
    with pytest.raises(ParameterError, match=f"no k up to {LARGEST_CLASS:,}"):
        class_size(most_sampled(12 * ONE), 12 * ONE, 1e-9, 2)


def test_true_rows_pay_for_their_choice_and_for_their_draw() -> None:
    """The params list both, the budget what each costs, and the promise is what was given."""
    choice = Draw(name="how", query=PairGain(), law=PERMUTE_AND_FLIP, rate=ONE // 8)
    rows = RowDraw(sampled=1 << 30, k=20, rate=ONE)
    account = SampledAccounting(choice=choice, draw=rows, epsilon=1.5, delta=1e-6)
    params = account.to_params()
    assert params["choice"]["epsilon"] == draw_epsilon(choice)
    assert (params["draw"]["sampled_of"], params["draw"]["delta"]) == (1 << 32, delta_of(1 << 30, 20, ONE))
    assert account.budget["epsilon"] == 1.5
    expected = [{"name": "how", "epsilon": 0.25}, {"name": "which rows are drawn", "epsilon": 1.0}]
    assert account.budget["per_attribute"] == expected
