# SPDX-License-Identifier: Apache-2.0
"""Zero-concentrated differential privacy (zCDP), and what it comes to in (epsilon, delta).

A draw that is rho-zCDP has Renyi divergence at most alpha rho between neighbours, for every order alpha > 1. Losses of
several draws add up, and c changed rows lose c**2 as much. A total of rho keeps every (epsilon, delta) with

    delta >= exp((alpha - 1) (alpha rho - epsilon)) / (alpha - 1) * (1 - 1 / alpha)**alpha

for one alpha > 1. Any alpha gives a bound that holds; the best one is looked for in floating point, and the bound is
worked out with 60 digits and rounded up, so that no search can claim too much.

Sources: Bun and Steinke, "Concentrated differential privacy", TCC 2016 (composition, groups); Canonne, Kamath, Steinke,
"The discrete Gaussian for differential privacy", NeurIPS 2020, proposition 12 and corollary 13 (the conversion, which
is that of Asoodeh, Liao, Calmon, Kosut, Sankar, ISIT 2020, in closed form).
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from anonkit.errors import ParameterError
from anonkit.published.exact_losses import LARGEST_EPSILON, RATE_BITS

_DIGITS = 60
_SLACK = Decimal(10) ** -40
_HALVINGS = 80
_LEAST_ORDER, _LARGEST_ORDER = 1e-9, 1e15
"""Range of alpha - 1 that is searched."""
_MARGIN = Fraction(10**9 - 1, 10**9)
"""Kept back from rho, so that whoever converts it with another alpha and other rounding does not exceed the claim."""


def delta_of(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return a delta that goes with an epsilon when rho is lost: an upper bound, 1 at most.

    Parameters
    ----------
    rho : Fraction
        Above 0.
    epsilon : Fraction
        In [0, 40].
    """
    order = _best_order(float(rho), float(epsilon))
    with localcontext() as context:
        context.prec = _DIGITS
        above = Decimal(order)  # alpha - 1
        alpha = 1 + above
        exponent = above * (alpha * _decimal(rho) - _decimal(epsilon))
        log = exponent - above.ln() + alpha * (above / alpha).ln()
        return Fraction(1) if log >= 0 else min(Fraction(1), Fraction(log.exp() * (1 + _SLACK)))


def _best_order(rho: float, epsilon: float) -> float:
    """Return alpha - 1 where the logarithm of the bound is least: its derivative in alpha is 0 there."""
    low, high = _LEAST_ORDER, _LARGEST_ORDER
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        # d/da [(a - 1) (a rho - epsilon) - ln(a - 1) + a ln(1 - 1/a)] = (2 a - 1) rho - epsilon + ln(1 - 1/a)
        if (2 * middle + 1) * rho - epsilon - math.log1p(1 / middle) < 0:
            low = middle
        else:
            high = middle
    return low


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@lru_cache(maxsize=256)
def rho_units_within(epsilon: Fraction, delta: Fraction) -> int:
    """Return the most of rho, in units of 2**-52, that keeps (epsilon, delta); rounded down.

    Parameters
    ----------
    epsilon : Fraction
        In (0, 40].
    delta : Fraction
        In (0, 1).

    Raises
    ------
    ParameterError
        Not even one unit does.
    """
    one = 1 << RATE_BITS
    low, high = 0, int(LARGEST_EPSILON) * one
    while high - low > 1:
        middle = (low + high) // 2
        if delta_of(Fraction(middle, one), epsilon) <= delta:
            low = middle
        else:
            high = middle
    units = math.floor(low * _MARGIN)
    if units < 1:
        raise ParameterError(
            f"epsilon {float(epsilon):.3g} with delta {float(delta):.3g} leaves no room for noise",
            "give more of either",
        )
    return units


def changed_squared(rows_per_unit: int, *, replaced: bool) -> int:
    """Return the factor by which a unit loses more than one row in a table in which every row is in one cell.

    Rows of a unit that go, or come, change the table by a vector of length at most their number m: m**2. Where they are
    replaced, m go from some cells and m come into others: the vector is a difference of two such vectors with no entry
    below 0, hence its square is at most 2 m**2, and not (2 m)**2.
    """
    return rows_per_unit**2 * (2 if replaced else 1)
