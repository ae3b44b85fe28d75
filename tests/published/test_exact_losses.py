"""Exact arithmetic between ε and integer weights."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.errors import ParameterError
from anonkit.published.exact_losses import ceiling, check_epsilon, epsilon_ratio, privacy_loss, worst_ratio

EPSILONS = st.floats(1e-6, 40, allow_nan=False)


@given(EPSILONS)
def test_the_ratio_of_an_epsilon_never_costs_more_than_the_epsilon(epsilon: float) -> None:
    """Going to a ratio and back never raises ε, and loses less than the resolution of the ratio."""
    back = privacy_loss(epsilon_ratio(epsilon))
    assert back <= epsilon
    assert back >= epsilon - 2.0**-60 - 1e-15 * epsilon


@given(st.integers(1, 2**64), st.integers(1, 2**64))
def test_the_loss_of_a_ratio_is_its_logarithm_rounded_up(numerator: int, denominator: int) -> None:
    """The loss is the logarithm up to one unit in the last place, from above."""
    ratio = max(Fraction(numerator, denominator), Fraction(denominator, numerator))
    expected = math.log(ratio.numerator) - math.log(ratio.denominator)
    assert privacy_loss(ratio) == pytest.approx(expected, abs=1e-12)


def test_an_unbounded_ratio_costs_everything() -> None:
    """None represents an answer that only some inputs give."""
    assert privacy_loss(None) == math.inf
    assert privacy_loss(Fraction(1)) == 0.0


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=2, max_size=4))
def test_the_worst_ratio_is_the_largest_of_all_pairs(rows: list[list[int]]) -> None:
    """Looking at columns finds what looking at every pair of inputs finds."""
    worst: Fraction | None = Fraction(1)
    for first in rows:
        for second in rows:
            for a, b in zip(first, second, strict=True):
                if a and not b:
                    worst = None
                elif a and worst is not None:
                    worst = max(worst, Fraction(a, b))
    assert worst_ratio(rows) == worst


@given(st.fractions(0, 1000))
def test_ceiling_is_the_smallest_integer_above(value: Fraction) -> None:
    """The ceiling of a rational is exact."""
    assert ceiling(value) == math.ceil(value)


@pytest.mark.parametrize("epsilon", [0, -1, 41, math.nan, math.inf, True, "1"])
def test_epsilon_out_of_range_is_refused(epsilon: object) -> None:
    """ε must be a number in (0, 40]."""
    with pytest.raises(ParameterError, match="epsilon"):
        check_epsilon(epsilon)
