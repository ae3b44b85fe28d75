# SPDX-License-Identifier: Apache-2.0
"""The public rule of spikes (values that many rows have): candidates, and those that a noisy histogram shows.

Amounts of privacy loss under one law of noise, and how much noise a cell of a table gets for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

LAPLACE, GAUSSIAN = "discrete-laplace", "discrete-gaussian"
"""Laws of noise: what is lost under the first is epsilon, under the second rho."""


@dataclass(frozen=True, kw_only=True)
class Amount:
    """Privacy loss of a row allowed for all tables together, under one law of noise."""

    law: str
    """Discrete Laplace or discrete Gaussian."""
    loss: float
    """epsilon, or rho."""

    def noise(self, share: float) -> float:
        """Return the mean absolute noise of a cell of a table with a share of the loss."""
        lost = self.loss * share
        return 1 / lost if self.law == LAPLACE else 1 / math.sqrt(math.pi * lost)


# chosen on simulated bank customers, survey and trips, ten means, diabetes and breast cancer, after a look at Adult
# (docs/methods/details/private_spikes.md, "Constants and tables"); `python recipes/benchmarks/plausibility.py` measures
SPIKES_SHARE = Fraction(1, 25)
"""Share of epsilon for the histograms of all columns together."""
FEWEST_VALUES = 16
"""A column with no more values, or no more than bins, is not searched: each value may be a cell anyhow."""
MOST_CANDIDATES = 200
"""Candidates of a column at most."""
MOST_FOUND = 8
"""Spikes of a column at most."""
LEAST_SHARE = Fraction(1, 20)
"""Share of the noisy rows that a spike has, at least."""
_FALSE_ALARMS = 100
"""One in so many histograms of nothing has a count above the noise."""


def spike_units(units: int, columns: int) -> int:
    """Return the loss of a row in the histogram of each of so many columns, in units of 2**-52 of epsilon.

    Parameters
    ----------
    units : int
        What a row may lose in all.
    columns : int
        1 or more.
    """
    return int(units * SPIKES_SHARE) // columns


def spacing_of(low: int, high: int) -> int:
    """Return the number of steps between candidates: the least power of ten that leaves few enough of them.

    Parameters
    ----------
    low, high : int
        The first and the last value of the column, in its steps.
    """
    every = 1
    while high // every + -low // every + 1 > MOST_CANDIDATES - 2:
        every *= 10
    return every


def candidates_of(low: int, high: int) -> tuple[int, ...]:
    """Return the values that may be found, in steps: the first, the last, and round ones between."""
    every = spacing_of(low, high)
    return tuple(sorted({low, *range(-(-low // every) * every, high + 1, every), high}))


def threshold_of(noisy: Sequence[int], rate: int) -> int:
    """Return the least noisy count of a spike: above what noise alone makes, and a share of all rows.

    Parameters
    ----------
    noisy : sequence of int, length n_candidates + 1
        As published; the last one is of all other cells.
    rate : int
        In units of 2**-52.
    """
    by_chance = math.ceil(math.log(len(noisy) * _FALSE_ALARMS) * (1 << 52) / rate)
    return max(by_chance, math.ceil(sum(noisy) * LEAST_SHARE))


def found_among(candidates: Sequence[int], noisy: Sequence[int], threshold: int) -> tuple[int, ...]:
    """Return the candidates whose noisy counts reach the threshold, the largest of too many, in ascending order."""
    order = sorted(range(len(candidates)), key=lambda at: -noisy[at])[:MOST_FOUND]
    return tuple(candidates[at] for at in sorted(order) if noisy[at] >= threshold)
