# SPDX-License-Identifier: Apache-2.0
"""The noise of the histograms by class: discrete Laplace, or with a delta discrete Gaussian where that is less.

A row is in the histogram of every measured attribute. Under Laplace noise their epsilons add up, and the noise of a
cell grows with their number; under Gaussian noise their rho adds up, and the noise grows with the root of it. So the
same budget pays for more histograms of the same noise: their number decides the law of the noise, and how many are
measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from anonkit.domains.array_types import IntArray
from anonkit.dp_trees.marginals.remaining_budget import RemainingBudget
from anonkit.mechanisms.accounting import AccountedDraw
from anonkit.mechanisms.approximate_accounting import GaussianDraw
from anonkit.mechanisms.discrete_gaussian import LEAST_RATE, gaussian_counts
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.noisy_tables import GAUSSIAN

_ONE = 1 << RATE_BITS
_MORE = 2
"""Factor on the number of histograms of the same noise: docs/methods/details/dp_forest.md names the tables."""


@dataclass(frozen=True, kw_only=True)
class HistogramNoise:
    """Independent noise of one law for every cell of the histograms."""

    draw: AccountedDraw | GaussianDraw

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise of the same variance, in rows: what is made of the counts reads their variance."""
        if isinstance(self.draw, GaussianDraw):
            return math.sqrt(_ONE / self.draw.rate) / 2  # 2 scale**2 = sigma**2 = 1 / (2 rho)
        return float(_ONE) / self.draw.rate

    def added(self, counts: IntArray, words: UniformStream) -> IntArray:
        """Return counts with noise, same shape."""
        noised = gaussian_counts if isinstance(self.draw, GaussianDraw) else noisy_counts
        return noised(counts, self.draw.rate, words)


def gaussian_histograms(left: RemainingBudget, asked: int, attributes: int) -> int:
    """Return the number of histograms to measure with Gaussian noise; 0 where Laplace noise is drawn.

    Gaussian noise is drawn where more histograms than were planned have no more of it than these have of Laplace
    noise. Twice as many are measured then: for few rows, more attributes help more than less noise does.

    Parameters
    ----------
    left : RemainingBudget
        What a row may lose in all histograms together, and the delta.
    asked : int
        Histograms with Laplace noise, 1 or more.
    attributes : int
        Histograms that there can be.
    """
    quiet = as_quiet(left, asked)
    return min(_MORE * quiet, attributes) if quiet > asked else 0


def as_quiet(left: RemainingBudget, histograms: int) -> int:
    """Return how many histograms of Gaussian noise have no more of it than so many of Laplace noise; 0 where none do.

    Notes
    -----
    A cell has the variance 2 (histograms / epsilon)**2 under Laplace noise, and histograms / (2 rho) under Gaussian.
    """
    if not left.delta:
        return 0
    rho = left.whole(GAUSSIAN) // left.squared
    found = 4 * histograms**2 * rho * _ONE // left.units**2
    return found if rho >= _MORE * found * LEAST_RATE else 0


def delta_may_pay(left: RemainingBudget, attributes: int) -> bool:
    """Return whether Gaussian noise is less were all of epsilon spent on histograms, and all attributes measured.

    A function of public facts alone: where it is not, no delta is spent, and none is promised.
    """
    return as_quiet(left, max(1, attributes)) > attributes
