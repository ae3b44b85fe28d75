"""Delta of drawing rows and showing classes of k: against all outcomes of small classes, in exact fractions.

Privacy amplification by shuffling: the bound against exact output distributions, and against the closed form.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.budget_rules.model_queries import PairGain
from anonkit.errors import ParameterError
from anonkit.mechanisms import privacy_amplification
from anonkit.mechanisms.accounting import draw_epsilon
from anonkit.mechanisms.privacy_amplification import (
    LARGEST_CLASS,
    ResponseRatios,
    RowAnswers,
    RowDraw,
    SampledAccounting,
    best_sample,
    class_size,
    default_delta,
    delta_of,
    most_sampled,
    uniform_shares,
)
from anonkit.mechanisms.randomizers import answered_attribute
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.statements.noise_statement import PERMUTE_AND_FLIP, Draw

Matrix = Sequence[Sequence[Fraction]]


def shuffled(rows: Sequence[Sequence[Fraction]]) -> Counter[tuple[int, ...]]:
    """Return the exact law of the answers of some rows, order lost: each row has its own answer probabilities."""
    law: Counter[tuple[int, ...]] = Counter({(0,) * len(rows[0]): Fraction(1)})  # type: ignore[dict-item]
    for row in rows:
        following: Counter[tuple[int, ...]] = Counter()
        for counts, chance in law.items():
            for answer, share in enumerate(row):
                grown = tuple(count + (at == answer) for at, count in enumerate(counts))
                following[grown] += chance * share  # type: ignore[assignment]
        law = following
    return law


def exact_delta(matrix: Matrix, n: int, epsilon: float) -> float:
    """Return the smallest true delta: over all pairs of rows and all values of the others, by enumeration."""
    factor = Fraction(math.exp(epsilon))
    worst = Fraction(0)
    for others in itertools.combinations_with_replacement(range(len(matrix)), n - 1):
        laws = [shuffled([matrix[x], *(matrix[other] for other in others)]) for x in range(len(matrix))]
        for one, other in itertools.permutations(laws, 2):
            worst = max(worst, sum((max(p - factor * other[y], Fraction(0)) for y, p in one.items()), Fraction(0)))
    return float(worst)


@st.composite
def weights(draw: st.DrawFn, inputs: int = 3, outputs: int = 3) -> list[list[int]]:
    """A response matrix of small integers without zeros, all rows with one sum."""
    n_inputs = draw(st.integers(2, inputs))
    n_outputs = draw(st.integers(2, outputs))
    rows = [[draw(st.integers(1, 9)) for _ in range(n_outputs)] for _ in range(n_inputs)]
    total = max(map(sum, rows))
    return [[*row[:-1], row[-1] + total - sum(row)] for row in rows]


def probabilities(matrix: Sequence[Sequence[int]]) -> Matrix:
    """Return a response matrix as rationals."""
    return [[Fraction(weight, sum(row)) for weight in row] for row in matrix]


@settings(max_examples=40)
@given(matrix=weights(), n=st.integers(1, 4), share=st.floats(0, 1))
def test_the_bound_is_not_below_the_enumerated_law(matrix: list[list[int]], n: int, share: float) -> None:
    """For any channel, any two rows, any values of the others: the true delta is at most the stated one."""
    row = RowAnswers.every([ResponseRatios.of(matrix)])
    epsilon = share * row.epsilon
    assert exact_delta(probabilities(matrix), n, epsilon) <= row.delta(epsilon, n) + 1e-12


@settings(max_examples=15)
@given(first=weights(2, 3), second=weights(2, 2), n=st.integers(1, 3), share=st.floats(0, 1))
def test_the_bound_holds_for_rows_that_answer_everything(
    first: list[list[int]], second: list[list[int]], n: int, share: float
) -> None:
    """The product of two channels is enumerated; blankets and ratios multiply."""
    product = [
        [one * other for one, other in itertools.product(left, right)]
        for left, right in itertools.product(probabilities(first), probabilities(second))
    ]
    row = RowAnswers.every([ResponseRatios.of(first), ResponseRatios.of(second)])
    epsilon = share * row.epsilon
    assert exact_delta(product, n, epsilon) <= row.delta(epsilon, n) + 1e-12


@settings(max_examples=15)
@given(first=weights(2, 3), second=weights(2, 2), n=st.integers(1, 3), share=st.floats(0, 1))
def test_the_bound_holds_for_rows_that_answer_one_attribute(
    first: list[list[int]], second: list[list[int]], n: int, share: float
) -> None:
    """The chosen attribute is public, and chosen independently of the row; pairs differ in both attributes."""
    shares = (Fraction(2, 3), Fraction(1, 3))
    mixture = [
        [*(shares[0] * one for one in left), *(shares[1] * one for one in right)]
        for left, right in itertools.product(probabilities(first), probabilities(second))
    ]
    row = RowAnswers.one_of([ResponseRatios.of(first), ResponseRatios.of(second)], shares)
    epsilon = share * row.epsilon
    assert exact_delta(mixture, n, epsilon) <= row.delta(epsilon, n) + 1e-12


@pytest.mark.parametrize("n", [2, 3, 5, 40])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.6])
def test_the_transform_equals_the_sum_over_all_counts(n: int, share: float) -> None:
    """For 3-ary randomized response the expectation is summed over all multinomial counts, exactly."""
    matrix = [[5, 1, 1], [1, 5, 1], [1, 1, 5]]
    row = RowAnswers.every([ResponseRatios.of(matrix)])
    epsilon, gamma = share * row.epsilon, 3 / 7
    values = [gamma * (5 - math.exp(epsilon)), gamma * (1 - 5 * math.exp(epsilon)), gamma * (1 - math.exp(epsilon)), 0]
    chances = [gamma / 3, gamma / 3, gamma / 3, 1 - gamma]
    total = 0.0
    for a in range(n + 1):
        for b in range(n + 1 - a):
            for c in range(n + 1 - a - b):
                counts = (a, b, c, n - a - b - c)
                excess = sum(count * value for count, value in zip(counts, values, strict=True))
                if excess > 0:
                    ways = math.factorial(n) / math.prod(map(math.factorial, counts))
                    total += excess * ways * math.prod(p**count for p, count in zip(chances, counts, strict=True))
    assert row.delta(epsilon, n) == pytest.approx(min(total / (gamma * n), 1.0), rel=0.02)
    assert row.delta(epsilon, n) >= total / (gamma * n) * (1 - 1e-9)


def closed_form(epsilon: float, delta: float, n_rows: int) -> float:
    """Return the bound of Feldman, McMillan and Talwar, FOCS 2021, theorem III.1, which knows epsilon alone."""
    assert epsilon <= math.log(n_rows / (16 * math.log(2 / delta)))
    root = 8 * math.sqrt(math.exp(epsilon) * math.log(4 / delta)) / math.sqrt(n_rows)
    return math.log1p(math.tanh(epsilon / 2) * (root + 8 * math.exp(epsilon) / n_rows))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("n", [20_000])
def test_the_bound_is_below_the_closed_form_of_2021(epsilon: float, n: int) -> None:
    """The closed form knows only epsilon; the blanket of randomized response says at least half as much again."""
    row = RowAnswers.every([ResponseRatios.of(RandomizedResponse.from_epsilon(2, epsilon).weights())])
    assert row.amplified(1e-6, n) < closed_form(epsilon, 1e-6, n) / 1.5


@settings(max_examples=20)
@given(
    k=st.integers(2, 12),
    epsilon=st.floats(0.1, 5),
    n=st.integers(1, 20_000),
    exponent=st.floats(3, 9),
)
def test_the_stated_epsilon_meets_its_delta(k: int, epsilon: float, n: int, exponent: float) -> None:
    """It is at most the row's, its delta is at most the one requested, and a little less would not do."""
    row = RowAnswers.every([ResponseRatios.of(RandomizedResponse.from_epsilon(k, epsilon).weights())])
    delta = 10**-exponent
    stated = row.amplified(delta, n)
    assert stated <= row.epsilon
    assert stated == row.epsilon or row.delta(stated, n) <= delta
    assert stated == row.epsilon or row.delta(0.99 * stated, n) > delta or stated < 1e-6


def test_more_rows_and_larger_domains_hide_better() -> None:
    """Epsilon falls with the number of rows and with the number of categories."""
    rows = [
        RowAnswers.every([ResponseRatios.of(RandomizedResponse.from_epsilon(k, 2.0).weights())]) for k in (2, 5, 20)
    ]
    by_domain = [row.amplified(1e-6, 5_000) for row in rows]
    by_rows = [rows[0].amplified(1e-6, n) for n in (500, 5_000, 50_000)]
    assert by_domain == sorted(by_domain, reverse=True)
    assert by_rows == sorted(by_rows, reverse=True)


def test_a_grid_of_ratios_costs_little_and_never_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Different channels have many kinds of draws; put on a grid, their epsilon rises by a few hundredths at most."""
    channels = [ResponseRatios.of(RandomizedResponse.from_epsilon(3, 0.4 + 0.05 * at).weights()) for at in range(5)]
    exact = RowAnswers.every(channels)
    monkeypatch.setattr(privacy_amplification, "_MOST_KINDS", 50)
    grid = RowAnswers.every(channels)
    assert grid.chance.sum() == pytest.approx(1)
    assert exact.delta(0.1, 3_000) < grid.delta(0.1, 3_000)
    assert exact.amplified(1e-6, 3_000) * 0.998 < grid.amplified(1e-6, 3_000) < 1.03 * exact.amplified(1e-6, 3_000)


def test_an_answer_that_rules_an_input_out_is_refused() -> None:
    """Nothing hides a row that is betrayed for certain; an answer nobody gives says nothing."""
    with pytest.raises(ParameterError, match="rules an input out"):
        ResponseRatios.of([[4, 0], [2, 2]])
    assert ResponseRatios.of([[3, 1, 0], [1, 3, 0]]).ratio == 3


def test_one_row_is_not_hidden() -> None:
    """Alone in its file a row keeps the loss of its randomizer."""
    row = RowAnswers.every([ResponseRatios.of(RandomizedResponse.from_epsilon(2, 1.0).weights())])
    assert row.amplified(1e-6, 1) == row.epsilon


def test_the_shares_are_those_of_the_draw() -> None:
    """Each attribute is chosen as often as the exact shares say, to the word."""
    for n_attributes in (1, 3, 7):
        shares = uniform_shares(n_attributes)
        assert sum(shares) == 1
        assert max(shares) - min(shares) <= Fraction(1, 1 << 32)
        asked = answered_attribute(bytes(16), 0, 0, 20_000, n_attributes)
        counts = np.bincount(asked, minlength=n_attributes) / 20_000
        assert np.abs(counts - [float(one) for one in shares]).max() < 0.02


def test_the_default_delta_is_small_against_the_rows() -> None:
    """1e-6, and a hundredth of a row at most."""
    assert default_delta(100) == 1e-6
    assert default_delta(10**6) == 1e-8


def of_rows(log_u: list[float], log_v: list[float], chance: list[float], blanket: float = 1.0) -> RowAnswers:
    """Return a row whose law is written by hand."""
    return RowAnswers(
        epsilon=9.0, blanket=blanket, log_u=np.array(log_u), log_v=np.array(log_v), chance=np.array(chance)
    )


@pytest.mark.parametrize(
    ("ratio", "blanket"),
    [
        (Fraction(1, 2), Fraction(1)),
        (Fraction(2), Fraction(0)),
        (Fraction(2), Fraction(3, 2)),
        (Fraction(2), Fraction(1, 4)),
    ],
)
def test_numbers_of_no_channel_are_refused(ratio: Fraction, blanket: Fraction) -> None:
    """A ratio below 1; a blanket of 0, above 1, or below what its ratio leaves."""
    with pytest.raises(ParameterError, match="channel"):
        ResponseRatios(ratio=ratio, blanket=blanket)


@given(st.lists(st.floats(0.2, 3), min_size=2, max_size=4), st.integers(2, 200))
def test_rows_that_answer_one_way_beside_another_answer_both(epsilons: list[float], n: int) -> None:
    """Channel beside channel is the row that answers every channel."""
    channels = [ResponseRatios.of(RandomizedResponse.from_epsilon(3, epsilon).weights()) for epsilon in epsilons]
    row = RowAnswers.every(channels[:1])
    for channel in channels[1:]:
        row = row.compose(RowAnswers.every([channel]))
    together = RowAnswers.every(channels)
    assert row.epsilon == pytest.approx(together.epsilon)
    assert row.blanket == pytest.approx(together.blanket)
    assert row.delta(0.5, n) == pytest.approx(together.delta(0.5, n), rel=1e-6, abs=1e-12)


def test_rows_that_hide_each_other_completely_lose_nothing() -> None:
    """A delta that is met at epsilon 0 needs no epsilon; one answer for all inputs has none to lose."""
    row = RowAnswers.every([ResponseRatios.of(RandomizedResponse.from_epsilon(2, 0.01).weights())])
    assert row.delta(0.0, 10**6) < 0.01
    assert row.amplified(0.01, 10**6) == 0.0
    assert RowAnswers.every([ResponseRatios(ratio=Fraction(1), blanket=Fraction(1))]).amplified(1e-6, 10) == 0.0


@pytest.mark.parametrize("n", [1, 2, 10, 1_000])
@pytest.mark.parametrize("blanket", [0.25, 1.0])
def test_a_draw_of_one_value_has_its_mean_for_an_excess(n: int, blanket: float) -> None:
    """All mass above zero: E of the sum is n times the blanket times the value, so delta is the value or 1."""
    row = of_rows([0.3], [0.0], [1.0], blanket)
    assert 0 <= row.delta(0.0, n) - blanket * math.expm1(0.3) < 1e-6
    assert of_rows([0.0], [0.3], [1.0], blanket).delta(0.0, n) == 0.0


def test_a_gain_too_rare_for_floats_is_not_taken_for_none() -> None:
    """One draw in 1e30 gains a little: the bound is not below its share, though every moment is that of a loss."""
    row = of_rows([0.0, 1e-6], [math.log(2), 0.0], [1.0, 1e-30])
    assert 1e-30 * math.expm1(1e-6) <= row.delta(0.0, 1) < 1e-6


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
