"""zCDP and its conversion: never less than the true delta, agreed on by two codes, groups counted table by table."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.budget_rules.model_queries import TABLE, ClippedSum
from anonkit.checks.account_lines import epsilon_of
from anonkit.errors import ParameterError
from anonkit.mechanisms.accounting import Accounting, draw_rho, row_rho_units
from anonkit.mechanisms.concentrated_loss import changed_squared, delta_of, rho_units_within
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE
from anonkit.published.noisy_tables import GAUSSIAN
from anonkit.published.statements.draws import EXPONENTIAL, Draw
from tests.mechanisms.test_private_selection import law_of_exponential, law_of_permute_and_flip

ONE = 1 << 52


def true_delta(rates: list[float], epsilon: float) -> float:
    """The hockey-stick divergence of tables of one cell each, moved by one: all outcomes of all of them together."""
    losses, masses = np.zeros(1), np.ones(1)
    for rate in rates:
        reach = math.ceil(9 / math.sqrt(2 * rate)) + 2
        y = np.arange(-reach, reach + 1)
        law = np.exp(-rate * y.astype(float) ** 2)
        law /= law.sum()
        losses = (losses[:, None] + rate * ((y - 1) ** 2 - y**2)[None, :]).ravel()
        masses = (masses[:, None] * law[None, :]).ravel()
    return float((masses * np.maximum(0, 1 - np.exp(epsilon - losses))).sum())


@pytest.mark.parametrize("rates", [[0.5], [0.05], [0.3, 0.3], [0.02, 0.1, 0.4], [2.0]])
@pytest.mark.parametrize("epsilon", [0.1, 0.7, 2.0, 5.0])
def test_the_bound_is_above_the_true_delta_of_the_noise_itself(rates: list[float], epsilon: float) -> None:
    """All outcomes of one to three tables of discrete Gaussian noise: their delta is below that of the sum."""
    bound = delta_of(Fraction(sum(rates)), Fraction(epsilon))
    assert true_delta(rates, epsilon) <= bound


def test_the_bound_is_not_far_above_it() -> None:
    """At a delta of 1e-6 the epsilon of the bound is within a tenth of the true one."""
    rate = 0.02
    bound = float(epsilon_of(Fraction(rate), Fraction(1, 10**6)))
    assert true_delta([rate], 0.9 * bound) > 1e-6 > true_delta([rate], bound)


@settings(max_examples=12)
@given(
    epsilon=st.floats(0.001, 40), delta=st.floats(1e-30, 0.01), order=st.floats(1e-3, 1e4),
)  # fmt: skip
def test_two_codes_agree_that_the_rho_keeps_the_claim(epsilon: float, delta: float, order: float) -> None:
    """The rho that is spent costs no more than requested by the other code, nor much less, and no alpha does better."""
    claim, rest = Fraction(epsilon), Fraction(delta)
    units = rho_units_within(claim, rest)
    found = epsilon_of(Fraction(units, ONE), rest)
    assert found <= claim
    assert found > claim * (1 - Fraction(1, 10**6)) or units < 10**6
    rho = units / ONE
    alpha = 1 + order
    log = order * (alpha * rho - epsilon) - math.log(order) + alpha * math.log1p(-1 / alpha)
    assert math.log(float(delta_of(Fraction(units, ONE), claim))) <= log + 1e-6


def test_a_bound_of_certainty_is_one() -> None:
    """If epsilon is far below the cost of rho, delta is 1 at most."""
    assert delta_of(Fraction(10), Fraction(1, 100)) <= 1


def test_too_little_of_both_is_refused() -> None:
    """An epsilon and a delta in which no unit of rho fits, and a rate that no noise has."""
    with pytest.raises(ParameterError, match="no room"):
        rho_units_within(Fraction(1, 10**9), Fraction(1, 10**40))
    with pytest.raises(ParameterError, match="outside the range"):
        Draw(name="rows", query=TABLE, rate=4095, law=GAUSSIAN, in_rho=True)


def test_changed_rows_move_a_table_by_no_more_than_they_pay_for() -> None:
    """All tables of two cells, all sets of up to three rows of a unit: squared length m**2, and 2 m**2 replaced."""
    cells, most = 2, 3
    tables = [t for t in itertools.product(range(most + 1), repeat=cells) if sum(t) <= most]
    for rows in range(1, most + 1):
        own = [t for t in tables if sum(t) <= rows]
        gone = max(sum(x * x for x in t) for t in own)
        other = max(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for a in own for b in own)
        assert gone == changed_squared(rows, replaced=False) == rows**2
        assert other == changed_squared(rows, replaced=True) == 2 * rows**2


def test_units_of_several_rows_and_replaced_ones_get_less_each() -> None:
    """Three rows a unit: a ninth; replaced: an eighteenth."""
    whole, three, replaced = (
        row_rho_units(Fraction(1), 1e-9, rows, adjacency)
        for rows, adjacency in ((1, ADD_OR_REMOVE), (3, ADD_OR_REMOVE), (3, REPLACE))
    )
    assert (three, replaced) == (whole // 9, whole // 18)


def test_an_account_adds_up_rho_for_the_unit_of_privacy() -> None:
    """Two tables, one of them twice, for three replaced rows a unit: eighteen times what one row pays."""
    draws = (
        Draw(name="a", query=TABLE, rate=1 << 20, law=GAUSSIAN, in_rho=True),
        Draw(name="b", query=TABLE, rate=1 << 21, times=2, law=GAUSSIAN, in_rho=True),
    )
    account = Accounting(claim=(1.0, 1e-6), draws=draws, rows_per_unit=3, adjacency=REPLACE)
    assert account.rho == Fraction(18 * 5 * (1 << 20), ONE)
    assert float(draw_rho(draws[1])) == (1 << 22) / ONE


def renyi(first: np.ndarray, second: np.ndarray, alpha: float) -> float:
    """The Renyi divergence of two laws."""
    return float(np.log((first**alpha * second ** (1 - alpha)).sum()) / (alpha - 1))


@pytest.mark.parametrize("alpha", [1.001, 2.0, 8.0])
def test_a_bounded_range_is_of_the_exponential_mechanism_and_not_of_permute_and_flip(alpha: float) -> None:
    """epsilon**2 / 8 of rho (Rogers and Steinke 2021) holds for all small gaps of the one; the other loses four times.

    Two tied candidates, one of which a row raises: permute-and-flip is no mechanism of bounded range.
    """
    epsilon = 0.2
    allowed = alpha * epsilon**2 / 8
    worst = {law_of_exponential: 0.0, law_of_permute_and_flip: 0.0}
    for scores in itertools.product(range(3), repeat=2):
        for raised in itertools.product((0, 1), repeat=2):
            after = [score + more for score, more in zip(scores, raised, strict=True)]
            for law in worst:
                one, other = law(list(scores), epsilon), law(after, epsilon)
                worst[law] = max(worst[law], renyi(one, other, alpha), renyi(other, one, alpha))
    assert worst[law_of_exponential] <= allowed * (1 + 1e-9)
    assert allowed * 2 < worst[law_of_permute_and_flip] <= alpha * epsilon**2 / 2


@pytest.mark.parametrize("rate", [0, 64 << 52])
def test_a_choice_outside_its_range_is_refused(rate: int) -> None:
    """Nothing is spent on it, or far too much."""
    with pytest.raises(ParameterError, match="'which': its rate is outside"):
        Draw(name="which", rate=rate, query=ClippedSum(bound=1), law=EXPONENTIAL, in_rho=True)
