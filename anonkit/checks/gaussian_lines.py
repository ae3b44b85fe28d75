# SPDX-License-Identifier: Apache-2.0
"""Draws of a published account that are paid in rho: what they cost, what rho comes to in epsilon, how wide they are.

Nothing of this is shared with the code that makes the claim. The conversion is solved for epsilon here, and for delta
there: a loss of rho keeps, for every alpha > 1,

    epsilon = alpha rho + ln(1 - 1 / alpha) - ln(alpha delta) / (alpha - 1)

with that delta (Canonne, Kamath, Steinke 2020, corollary 13). Whatever alpha is taken, the epsilon holds, so that a
search that misses the best one refuses a release and never lets one pass.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

from anonkit.checks.central_params import EXPONENTIAL, GAUSSIAN, integers
from anonkit.checks.sameness import same
from anonkit.errors import ReleaseFormatError

_UNIT = Fraction(1, 1 << 52)
_DIGITS = 50
_ROUNDING_OF_DOUBLES = 1e-12
_ROUNDING = Decimal(10) ** -30
_STEPS = 160
_GOLDEN = (math.sqrt(5) - 1) / 2
_ORDERS = (-20.0, 40.0)
"""Range of ln(alpha - 1) that is searched."""


def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon that a loss of rho keeps with a delta; rounded up.

    Parameters
    ----------
    rho : Fraction
        Above 0.
    delta : Fraction
        In (0, 1).
    """
    low, high = _ORDERS
    loss, rest = float(rho), math.log(delta.numerator) - math.log(delta.denominator)

    def rough(log: float) -> float:
        order = math.exp(log)
        return order * loss + loss - math.log1p(1 / order) - (rest + math.log1p(order)) / order

    for _ in range(_STEPS):  # golden section: the bound falls, then rises with alpha
        first, second = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, second) if rough(first) < rough(second) else (first, high)
    with localcontext() as context:
        context.prec = _DIGITS
        order = Decimal((low + high) / 2).exp()
        alpha = order + 1
        at_delta = (Decimal(delta.numerator) / Decimal(delta.denominator)).ln()
        exact = alpha * Decimal(rho.numerator) / Decimal(rho.denominator)
        exact += (order / alpha).ln() - (at_delta + alpha.ln()) / order
        return max(Fraction(0), Fraction(exact + _ROUNDING * (1 + abs(exact))))


@lru_cache(maxsize=256)
def rho_within(epsilon: float, delta: float) -> float:
    """Return the rho at which epsilon and delta are used up."""
    low, high = 0.0, 64.0
    while high - low > high * 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(Fraction(middle), Fraction(delta)) <= epsilon else (low, middle)
    return low


def rho_of(line: Mapping[str, Any]) -> Fraction:
    """Return what a line of Gaussian noise costs one row.

    Raises
    ------
    ReleaseFormatError
        It is none that anonkit writes, or states another rho than its rate has.
    """
    rate, times = integers([line["rate"], line["times"]])
    plain = (line["sensitivity"], line["level"], line["ends_path"], line["rate_unit"])
    if line["mechanism"] != GAUSSIAN or rate < 1 or times < 1 or plain != (1, None, False, "2**-52"):
        raise ReleaseFormatError("a line of the account is no Gaussian noise that anonkit draws")
    return _stated(line, rate * times * _UNIT)


def choice_rho_of(line: Mapping[str, Any]) -> Fraction:
    """Return what a line of choices by the exponential mechanism costs one row: epsilon**2 / 8 for each of them.

    Losses of all outcomes of a choice lie within epsilon of each other; that bound is for this mechanism alone.

    Raises
    ------
    ReleaseFormatError
        It is none that anonkit writes, or states another rho than its rate has.
    """
    rate, width, times = integers([line["rate"], line["sensitivity"], line["times"]])
    plain = (line["level"], line["ends_path"], line["rate_unit"])
    if line["mechanism"] != EXPONENTIAL or min(rate, width, times) < 1 or plain != (None, False, "2**-52"):
        raise ReleaseFormatError("a line of the account is paid in rho, and is no choice that has one")
    return _stated(line, times * (rate * width * _UNIT) ** 2 / 8)


def _stated(line: Mapping[str, Any], cost: Fraction) -> Fraction:
    """Return a cost, if it is the one that the line states."""
    if not same(float(cost), line["rho"], tolerance=_ROUNDING_OF_DOUBLES):
        raise ReleaseFormatError(
            "a line of the account states another rho than its rate has", "the params file was altered"
        )
    return cost


def gaussian_variance(rate: int) -> float:
    """Return the variance of the law with weights exp(-y**2 * rate / 2**52), by adding up its squares."""
    reach = 2 + math.ceil(40 * math.sqrt(2**51 / rate))
    step = max(1, reach // 20_000)  # a wide law is smooth: every so many points give the same
    weights = [math.exp(-(y * y) * rate / 2**52) for y in range(0, reach, step)]
    squares = math.fsum(weight * (step * at) ** 2 for at, weight in enumerate(weights))
    return squares / (math.fsum(weights) - 0.5)
