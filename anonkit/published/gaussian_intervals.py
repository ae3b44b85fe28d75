# SPDX-License-Identifier: Apache-2.0
"""Intervals for discrete Gaussian noise on a count, or a weighted sum of counts, at a stated confidence.

One draw: the law itself. Sums: a sum of draws of one law is a discrete Gaussian variable of the added variances, up to
1e-15 of its masses where the law is not narrow (Kairouz, Liu, Steinke 2021), and a discrete Gaussian variable is within
1 of a normal one of the same parameter that is drawn together with it (Canonne, Kamath, Steinke 2020, proposition 25).
Sums of narrow laws: the tail that all of them have, being no wider than normal ones in their moments.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from anonkit.published.exact_losses import RATE_BITS

WeighedDraws = tuple[tuple[float, int, int], ...]
"""Independent sums: the weight of each, the rate of its draws in units of 2**-52, and how many draws it has."""

_WIDE = 4.0
"""Square of the parameter of the law from which on a sum is a discrete Gaussian variable for all that matters."""
_TABULATED = 1e8
"""The same, up to which single draws are looked up in their law."""
_BEYOND = 1e-12


def gaussian_margin(parts: WeighedDraws, chance: float) -> float:
    """Return beyond what a weighted sum of draws is, either way, with this chance at most.

    Parameters
    ----------
    parts : tuple of (weight, rate, draws)
        Weights above 0, rates and draws at least 1; one part at least.
    chance : float
        Of both tails together, in (0, 1).
    """
    squares = [(1 << RATE_BITS) / (2 * rate) for _, rate, _ in parts]
    (weight, _, draws), *others = parts
    if not others and draws == 1 and squares[0] <= _TABULATED:
        return weight * _within(squares[0], chance)
    variance = sum(own**2 * n * square for (own, _, n), square in zip(parts, squares, strict=True))
    if min(squares) < _WIDE:
        return math.sqrt(2 * variance * math.log(2 / chance))
    return -NormalDist().inv_cdf(chance / 2) * math.sqrt(variance) + sum(own for own, _, _ in parts)


def _within(square: float, chance: float) -> int:
    """Return the least integer that one draw exceeds in absolute value with at most this probability."""
    reach = 2 + math.ceil(math.sqrt(2 * square * math.log(4 / (chance * _BEYOND))))
    masses = np.exp(-(np.arange(reach, dtype=np.float64) ** 2) / (2 * square))
    masses[1:] *= 2
    beyond = 1 - np.cumsum(masses) / masses.sum()
    return int(np.argmax(beyond <= chance - _BEYOND))
