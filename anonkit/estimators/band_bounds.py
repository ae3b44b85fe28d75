# SPDX-License-Identifier: Apache-2.0
"""Worst-case bounds on a share from band answers: functions of an answer whose mean lies above or below it.

A band blurs: no function of an answer of bearable variance has the share of a bin as its mean, and an estimate
smoothed instead is off by an amount that depends on the very distribution that is unknown. But functions can be
found whose mean lies above (below) the share whatever the distribution. The mean of such a function, widened by its
own standard error, is an end of an interval that needs no assumption on the distribution: bias-aware inference
(Donoho, Annals of Statistics 22(1), 1994; Armstrong and Kolesár, Econometrica 86(2), 2018) over the class of all
distributions on the grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from anonkit.domains.coded_columns import FloatArray
from anonkit.estimators.consistent_counts import normal_quantile
from anonkit.published.channels.band_response import BandResponse

LARGEST_SEARCHED = 128
"""Positions up to which bounds are searched for; on a finer grid a single bin has none."""

_STEPS = 5  # of the search for the balance of bias and noise, which settles in three
_RIDGE = 1e-9  # keeps the noise of a constant function of the answer above 0, as a share


@dataclass(frozen=True, kw_only=True, eq=False)
class BoundingFunctions:
    """Functions of a truthful answer, per set of positions; arrays of shape (answers of a segment, n_sets)."""

    upper: FloatArray
    """Their mean over the band of a position is at least 1 inside the set and at least 0 outside."""
    lower: FloatArray
    """Their mean over the band of a position is at most 1 inside the set and at most 0 outside."""


@lru_cache(maxsize=64)
def bounding_functions(channel: BandResponse, bins: int, n_classes: int, rows: int, level: float) -> BoundingFunctions:
    """Return the functions whose bounds are expected to be narrowest, for equal bins and for missing.

    What is expected rests on the mechanism and the number of answers alone (equal classes, equal positions), so that
    the choice depends on no answer and the bounds hold for every distribution.

    Parameters
    ----------
    channel : BandResponse
        One segment of it is looked at.
    bins : int
        Equal bins of the grid, a divisor of `positions`; missing is one more set where the channel has it.
    n_classes : int
        Classes among which the answers divide.
    rows : int
        Number of answers, of all classes, about.
    level : float
        Confidence of the interval, in (0, 1).
    """
    kernel = _kernel(channel)
    sets = np.kron(np.eye(bins), np.ones((channel.positions // bins, 1)))
    if channel.has_missing:
        sets = np.block([[sets, np.zeros((len(sets), 1))], [np.zeros((1, bins)), np.ones((1, 1))]])
    truth, share = channel.truth_probability, 1 / n_classes
    blind = channel.blind_probabilities.reshape(channel.segments, -1).mean(axis=0)
    positions = np.full(len(kernel), share / len(kernel))
    answers = truth * positions @ kernel + (1 - truth) * share * blind / blind.sum()
    if channel.positions > LARGEST_SEARCHED:
        return BoundingFunctions(
            upper=np.ones((len(answers), sets.shape[1])), lower=np.zeros((len(answers), sets.shape[1]))
        )
    reach = normal_quantile(level) / truth / np.sqrt(rows)
    search = _BoundSearch(kernel, positions, answers, reach)
    upper = np.stack([search.above(indicator) for indicator in sets.T], axis=1)
    lower = -np.stack([search.above(-indicator) for indicator in sets.T], axis=1)
    return BoundingFunctions(upper=upper, lower=lower)


def _kernel(channel: BandResponse) -> FloatArray:
    """Return the law of a truthful answer under each position of a segment; missing has one answer of its own."""
    kernel = np.zeros((channel.positions + channel.has_missing, channel.places + channel.has_missing))
    for position in range(channel.positions):
        kernel[position, position : position + channel.band] = 1 / channel.band
    if channel.has_missing:
        kernel[-1, -1] = 1.0
    return kernel


class _BoundSearch:
    """The narrowest bound that holds everywhere: least mean + reach · standard deviation, under mean ≥ indicator.

    For one weight of the variance this is a quadratic programme, whose dual is a least-squares problem in numbers that
    are not negative; the weight that belongs to the standard deviation follows from the solution.
    """

    def __init__(self, kernel: FloatArray, positions: FloatArray, answers: FloatArray, reach: float) -> None:
        self.kernel, self.positions, self.reach = kernel, positions, reach
        self.noise = np.diag(answers * (1 + _RIDGE)) - np.outer(answers, answers)
        self.response = np.linalg.solve(self.noise, kernel.T)
        self.factor = np.linalg.cholesky(kernel @ self.response)

    def above(self, indicator: FloatArray) -> FloatArray:
        """Return a function whose mean under every position is at least the indicator."""
        from scipy.optimize import nnls

        best = np.full(self.kernel.shape[1], max(float(indicator.max()), 0.0))  # a constant bounds everything
        least, weight = self._width(best), self.reach
        pull = np.linalg.solve(self.factor, indicator)
        for _ in range(_STEPS):
            dual, _ = nnls(self.factor.T, self.factor.T @ self.positions + weight * pull)
            bound = self.response @ (dual - self.positions) / weight
            bound = bound + max(float((indicator - self.kernel @ bound).max()), 0.0)  # what rounding left below
            width = self._width(bound)
            if width < least:
                best, least = bound, width
            weight = self.reach / max(float(np.sqrt(max(bound @ self.noise @ bound, 0.0))), 1e-6)
        return best

    def _width(self, function: FloatArray) -> float:
        deviation = np.sqrt(max(float(function @ self.noise @ function), 0.0))
        return float(self.positions @ (self.kernel @ function) + self.reach * deviation)
