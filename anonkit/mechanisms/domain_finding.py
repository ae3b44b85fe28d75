# SPDX-License-Identifier: Apache-2.0
"""Private domains: categories that enough rows have, and bounds within which most numbers lie.

*Categories* are found by noisy counts above a threshold (stability-based histograms: Korolova, Kenthapadi, Mishra,
Ntoulas, WWW 2009; Bun, Nissim, Stemmer, ITCS 2016). Only values that occur get noise; a value that only one unit has is
published if its noise is large, and the probability of that is delta.

*Bounds* are found by noisy counts of public cells, which need no delta: first the powers of two, with either sign,
then equal cells between the outermost two that exceed the noise.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import IntArray
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts
from anonkit.published.exact_losses import RATE_BITS

THRESHOLDED = "thresholded-laplace"
"""Name of the mechanism of categories in an account."""
LOWEST_POWER, HIGHEST_POWER = -20, 40
"""Cells of sizes reach from 2**-20 to 2**41; smaller numbers are 0, larger ones are in the last cell."""
FINER_CELLS = 64
_FALSE_ALARM = 0.05
"""Chance that some empty cell exceeds the threshold."""
_FEW = 5
"""Cells that are no numbers, in units of the noise of their count: up to so many, a column is one of numbers."""
_ONE = 1 << RATE_BITS
_DIGITS = 40


def delta_of_threshold(threshold: int, rate: int, rows: int, *, replaced: bool) -> Fraction:
    """Return the probability that a value which only one unit has is published; rounded up.

    The unit has m rows. If n of them hold one value, it passes with probability q**(threshold - n) / (1 + q), q =
    exp(-rate), and m rows can hold values of n rows each at most m / n times: the sum over its values is at most the
    largest m / n times that. Where rows are replaced, values that go and values that come count.

    Parameters
    ----------
    threshold : int
        Above `rows`.
    rate : int
        In units of 2**-52.
    rows : int
        Most rows of a unit, m.
    replaced : bool
    """
    with localcontext() as context:
        context.prec = _DIGITS
        context.rounding = ROUND_CEILING
        loss = Decimal(rate) / _ONE
        scale = (1 + (-loss).exp()).ln()
        logs = [(Decimal(rows) / n).ln() - loss * (threshold - n) - scale for n in range(1, rows + 1)]
        chance = (max(logs) + Decimal(10) ** -30).exp() * (2 if replaced else 1)
        return Fraction(chance * (1 + Decimal(10) ** -30))


def threshold_within(delta: Fraction, rate: int, rows: int, *, replaced: bool) -> int:
    """Return the least threshold that keeps a delta. Parameters are those of `delta_of_threshold`."""
    low, high = rows, rows + 1
    while delta_of_threshold(high, rate, rows, replaced=replaced) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if delta_of_threshold(middle, rate, rows, replaced=replaced) <= delta:
            high = middle
        else:
            low = middle
    return high


def common_values(counts: IntArray, rate: int, threshold: int, words: UniformStream) -> IntArray:
    """Return the positions of the values whose noisy count reaches a threshold.

    Parameters
    ----------
    counts : int64 array, shape (n_values,)
        Rows of each value that occurs; values without rows are left out, and in an order that does not depend on the
        rows.
    rate, threshold : int
    words : UniformStream

    Privacy
    -------
    Let tables differ in one unit of m rows that come or go (or are replaced). Values that both tables have move by m
    (2 m) together, which costs that many times the rate; all others are published with probability
    `delta_of_threshold`.
    """
    present = np.flatnonzero(counts > 0)
    return present[noisy_counts(counts[present], rate, words) >= threshold]


def sizes_of(numbers: NDArray[np.float64]) -> IntArray:
    """Return the cell of each number: by sign and power of two, from the most negative to the largest."""
    _, exponents = np.frexp(np.abs(numbers))
    powers = np.clip(exponents - 1, LOWEST_POWER - 1, HIGHEST_POWER) - (LOWEST_POWER - 1)  # 0 means nearly 0
    powers = np.where(numbers == 0, 0, powers)
    return np.asarray(np.where(numbers < 0, -powers, powers) + (HIGHEST_POWER - LOWEST_POWER + 1), dtype=np.int64)


N_SIZES = 2 * (HIGHEST_POWER - LOWEST_POWER + 1) + 1


def ends_of_size(cell: int) -> tuple[float, float]:
    """Return the least and the largest number of a cell of `sizes_of`."""
    power = cell - (HIGHEST_POWER - LOWEST_POWER + 1)
    if power == 0:
        return 0.0, 0.0
    near, far = (2.0 ** (abs(power) + LOWEST_POWER - 1 + step) for step in (0, 1))
    return (near, far) if power > 0 else (-far, -near)


def standing_out(noisy: IntArray, rate: int) -> tuple[int, int] | None:
    """Return the first and the last of the cells that exceed the noise; None when none does. Post-processing."""
    least = math.log(noisy.size / (2 * _FALSE_ALARM)) * _ONE / rate
    found = np.flatnonzero(noisy > least)
    return (int(found[0]), int(found[-1])) if found.size else None


def found_bounds(
    numbers: NDArray[np.float64], rows: IntArray, rates: tuple[int, int], words: UniformStream
) -> tuple[float, float] | None:
    """Return bounds within which most of the numbers lie; None where nothing exceeds the noise.

    Parameters
    ----------
    numbers : array, shape (n_values,)
        Different finite numbers.
    rows : int64 array, shape (n_values,)
        Rows of each.
    rates : (int, int)
        Of the noise of sizes, and of that of the finer cells, in units of 2**-52.
    words : UniformStream

    Privacy
    -------
    A row is in one public cell of each of two tables; the cells of the second follow from the noise of the first. It
    loses both rates. The second is drawn whatever the first gave.
    """
    coarse = np.bincount(sizes_of(numbers), weights=rows, minlength=N_SIZES).astype(np.int64)
    sizes = standing_out(noisy_counts(coarse, rates[0], words), rates[0])
    low, high = (0.0, 0.0) if sizes is None else (ends_of_size(sizes[0])[0], ends_of_size(sizes[1])[1])
    if not low < high:
        low, high = low - 1.0, high + 1.0
    places = np.floor((np.clip(numbers, low, high) - low) / (high - low) * FINER_CELLS)
    cells = np.minimum(places, FINER_CELLS - 1).astype(np.int64)
    finer = np.bincount(cells, weights=rows, minlength=FINER_CELLS).astype(np.int64)
    within = standing_out(noisy_counts(finer, rates[1], words), rates[1])
    if sizes is None:
        return None
    if within is None:
        return low, high
    edges = np.linspace(low, high, FINER_CELLS + 1)
    return float(edges[within[0]]), float(edges[within[1] + 1])


def is_numeric(texts: int, rate: int, words: UniformStream) -> bool:
    """Return True if a column of strings holds numbers: by a noisy count whether few cells are something else.

    Privacy
    -------
    A row is in the count once, or not: it loses the rate.
    """
    return bool(int(noisy_counts(np.array([texts]), rate, words)[0]) * rate < _FEW * _ONE)
