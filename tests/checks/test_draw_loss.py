"""The delta of drawn rows, by enumeration, and beside the code that chooses k by it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from math import comb

import pytest

from anonkit.checks import draw_loss
from anonkit.checks.draw_loss import delta_of_draw
from anonkit.mechanisms.privacy_amplification import class_size, delta_of, most_sampled
from tests.checks.test_promise_checkers import ONE, WORDS


@pytest.mark.parametrize(("beta", "k", "epsilon"), [(0.25, 3, 1.0), (0.5, 2, 0.75), (0.125, 4, 0.25), (0.25, 6, 2.0)])
def test_delta_is_that_of_the_worst_class_by_enumeration(beta: float, k: int, epsilon: float) -> None:
    """The outcomes of classes up to 60 rows, each by its exact probability."""
    exact, factor = Fraction(beta), Fraction(math.exp(epsilon))

    def law(size: int, drawn: int) -> Fraction:
        return comb(size, drawn) * exact**drawn * (1 - exact) ** (size - drawn) if drawn <= size else Fraction(0)

    worst = max(
        sum(max(law(size, drawn) - factor * law(size - 1, drawn), Fraction(0)) for drawn in range(k, size + 1))
        for size in range(k, 61)
    )
    assert float(delta_of_draw(int(beta * WORDS), k, int(epsilon * ONE))) == pytest.approx(float(worst), rel=1e-12)


@pytest.mark.quick_cases("1-*", "4-0.4", "4-15.0", "7-0.4", "7-3.0")
@pytest.mark.parametrize("epsilon", [0.02, 0.4, 3.0, 15.0])
@pytest.mark.parametrize("part", [1, 4, 7])
def test_what_chose_k_never_says_less(epsilon: float, part: int) -> None:
    """Two pieces of code that share nothing agree to seven digits, the one that promises above."""
    units = int(epsilon * ONE)
    sampled = most_sampled(units) * part // 8
    k = class_size(sampled, units, 1e-7, 2)
    stated, found = delta_of(sampled, k, units), float(delta_of_draw(sampled, k, units))
    assert found <= stated <= found * (1 + 1e-4)


@pytest.mark.parametrize(
    ("sampled", "k", "rate"), [(0, 5, ONE), (WORDS, 5, ONE), (1 << 30, 1, ONE), (1 << 31, 5, ONE // 4)]
)
def test_a_draw_that_no_epsilon_covers_is_none(sampled: int, k: int, rate: int) -> None:
    """Nothing drawn, all drawn, single rows shown, or more drawn than epsilon allows."""
    with pytest.raises(ValueError, match="no draw that epsilon covers"):
        delta_of_draw(sampled, k, rate)


def test_a_draw_that_nobody_could_add_up_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file cannot make its reader count for hours."""
    monkeypatch.setattr(draw_loss, "_LARGEST", 50)
    with pytest.raises(ValueError, match="no draw that could be checked"):
        delta_of_draw(1 << 20, 40, ONE)


def test_a_delta_of_decimals_has_as_many_digits_as_are_needed() -> None:
    """Far below the smallest float nothing is lost."""
    assert Decimal("1e-400") < delta_of_draw(1 << 24, 200, ONE) < Decimal("1e-390")
