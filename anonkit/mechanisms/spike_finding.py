# SPDX-License-Identifier: Apache-2.0
"""Private spikes: values that many rows have, found among public candidates by one noisy histogram of each column."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from anonkit.domains.array_types import IntArray
from anonkit.domains.whole_values import WholeValues
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts
from anonkit.published.exact_losses import RATE_BITS

MOST_CANDIDATES = 200
MOST_FOUND = 8
LEAST_SHARE = Fraction(1, 20)
"""Share of the noisy rows that a spike has, at least."""
_FALSE_ALARMS = 100
"""One in so many histograms of nothing has a count above the noise."""


def spacing_of(values: WholeValues) -> int:
    """Return the number of steps between candidates: the least power of ten that leaves few enough of them."""
    every = 1
    while values.high // every + -values.low // every + 1 > MOST_CANDIDATES - 2:
        every *= 10
    return every


def candidates_of(values: WholeValues) -> tuple[int, ...]:
    """Return the values that may be found, in steps: the first, the last, and round ones between. Public."""
    every = spacing_of(values)
    return tuple(sorted({values.low, *range(-(-values.low // every) * every, values.high + 1, every), values.high}))


def threshold_of(noisy: IntArray, rate: int) -> int:
    """Return the least noisy count of a spike: above what noise alone makes, and a share of all rows. Post-processing.

    Parameters
    ----------
    noisy : int64 array, shape (n_candidates + 1,)
        The last one of all other cells.
    rate : int
        In units of 2**-52.
    """
    by_chance = math.ceil(math.log(noisy.size * _FALSE_ALARMS) * (1 << RATE_BITS) / rate)
    return max(by_chance, math.ceil(int(noisy.sum()) * LEAST_SHARE))


def found_among(candidates: tuple[int, ...], noisy: IntArray, threshold: int) -> tuple[int, ...]:
    """Return the candidates whose noisy counts reach the threshold, the largest of too many. Post-processing."""
    own = noisy[:-1]
    order = np.argsort(-own, kind="stable")[:MOST_FOUND]
    return tuple(candidates[at] for at in sorted(order.tolist()) if own[at] >= threshold)


def noisy_histogram(counts: IntArray, rate: int, words: UniformStream) -> IntArray:
    """Return the counts of the candidates, and of all other cells together as the last, with noise.

    Privacy
    -------
    A row is in one of the cells: it loses the rate.
    """
    return noisy_counts(counts, rate, words)
