# SPDX-License-Identifier: Apache-2.0
"""Weighted sums of independent Laplace variables: tails and margins, tabulated by a Fourier transform.

Written independently of the methods, which invert the characteristic function at single points.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Parts = tuple[tuple[float, int], ...]
"""Weights of Laplace variables of scale 1, and how many there are of each."""

_GRID = 1 << 12
_SPAN = 48.0


@lru_cache(maxsize=1024)
def _law(parts: Parts) -> tuple[FloatArray, FloatArray]:
    """Return distances from 0 and the chance of being no further, of a weighted sum of Laplace variables of scale 1."""
    deviation = math.sqrt(sum(2 * times * weight * weight for weight, times in parts))
    step = _SPAN * deviation / _GRID
    turns = 2 * np.pi * np.fft.rfftfreq(_GRID, d=step)
    transform = np.exp(-sum(times * np.log1p((weight * turns) ** 2) for weight, times in parts))
    density = np.maximum(np.fft.irfft(transform, _GRID), 0.0)[: _GRID // 2] / step
    within = step * (2 * np.cumsum(density) - density - density[0])
    return np.asarray(step * np.arange(_GRID // 2), dtype=np.float64), np.asarray(within, dtype=np.float64)


def margin(parts: Parts, chance: float) -> float:
    """Return how far a weighted sum is from 0 at most, but for this chance."""
    known = _one_a_weight(parts)
    if not known:
        return 0.0
    if len(known) == 1 and known[0][1] == 1:
        return -known[0][0] * math.log(chance)
    far, within = _law(known)
    return float(np.interp(1 - chance, within, far))


def tail(parts: Parts, beyond: float) -> float:
    """Return the chance that a weighted sum is further from 0 than so far."""
    known = _one_a_weight(parts)
    if len(known) == 1 and known[0][1] == 1:
        return math.exp(-beyond / known[0][0])
    if len(known) == 2 and known[0][1] == known[1][1] == 1:
        return _of_two(known[0][0], known[1][0], beyond)
    far, within = _law(known)
    return 1 - float(np.interp(beyond, far, within))


def _one_a_weight(parts: Parts) -> Parts:
    weights = sorted({weight for weight, times in parts if weight > 0 and times > 0})
    return tuple((weight, sum(times for own, times in parts if own == weight)) for weight in weights)


def _of_two(first: float, second: float, beyond: float) -> float:
    """Return the tail of two single variables: partial fractions, and their limit where the scales are nearly one."""
    if abs(first - second) < 1e-5 * (first + second):
        middle = (first + second) / 2
        return (1 + beyond / (2 * middle)) * math.exp(-beyond / middle)
    parts = [scale**2 * math.exp(-beyond / scale) for scale in (first, second)]
    return (parts[0] - parts[1]) / (first**2 - second**2)
