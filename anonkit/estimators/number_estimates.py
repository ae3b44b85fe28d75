# SPDX-License-Identifier: Apache-2.0
"""Estimates about a randomized number: means and variances with their errors, and bounds on shares of bins.

Everything here is post-processing and costs no privacy.

**Means and variances**, class by class. Every mechanism for numbers offers functions of an answer whose means, given
the true value, are 1, x and x² (0 when it is missing). Sums of them, and of their products, are all that is needed:
they add up over batches. Those behind the answers of transformed randomized response are unbiased, or as the paper
prints them (Zhang & Tang, Chinese Journal of Computers 30(8), 2007, §4): the multiplier a has mean Ā and variance S_a²,
the offset b has mean 0 and variance S_b²; both are published.

**Worst-case bounds on a share** from band answers. A band blurs: no function of an answer of bearable variance has the
share of a bin as its mean, and an estimate smoothed instead is off by an amount that depends on the very distribution
that is unknown. But functions can be found whose mean lies above (below) the share whatever the distribution. The mean
of such a function, widened by its own standard error, is an end of an interval that needs no assumption on the
distribution: bias-aware inference (Donoho, Annals of Statistics 22(1), 1994; Armstrong and Kolesár, Econometrica 86(2),
2018) over the class of all distributions on the grid.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from math import comb
from typing import Self

import numpy as np

from anonkit.domains.coded_columns import Codes, FloatArray
from anonkit.domains.number_bins import Grid
from anonkit.estimators.consistent_counts import normal_quantile
from anonkit.published.channels.number_channels import BandResponse, TransformedResponse
from anonkit.published.channels.response_channel import Channel

N_POWERS = 5
N_SCORES = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class PowerSums:
    """Sums of 1, y, y², y³, y⁴ of published numbers about an origin, per published class; they add up over batches."""

    origin: float
    """Origin of the powers: any number near the bulk of the values."""
    sums: FloatArray
    """Shape (n_classes, 5)."""
    blanks: FloatArray
    """Answers without a number (missing), shape (n_classes,)."""

    @classmethod
    def of(cls, values: FloatArray, classes: Codes, n_classes: int, origin: float) -> Self:
        """Sum the powers of a batch; NaN counts as blank."""
        blank = np.isnan(values)
        present, groups = values[~blank] - origin, classes[~blank]
        sums = np.empty((n_classes, N_POWERS))
        power = np.ones_like(present)
        for exponent in range(N_POWERS):
            sums[:, exponent] = np.bincount(groups, weights=power, minlength=n_classes)
            power = power * present
        return cls(origin=origin, sums=sums, blanks=np.bincount(classes[blank], minlength=n_classes).astype(np.float64))

    def about(self, origin: float) -> PowerSums:
        """Return the same sums with powers measured from another origin."""
        shift = self.origin - origin
        powers = range(N_POWERS)
        # (y + shift)^high = Σ comb(high, low) shift^(high − low) y^low; comb is 0 for low > high
        mixing = np.array([[comb(high, low) * shift ** max(high - low, 0) for high in powers] for low in powers])
        return PowerSums(origin=origin, sums=self.sums @ mixing, blanks=self.blanks)

    def __add__(self, other: PowerSums) -> PowerSums:
        aligned = other if other.origin == self.origin else other.about(self.origin)
        return PowerSums(origin=self.origin, sums=self.sums + aligned.sums, blanks=self.blanks + aligned.blanks)


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreSums:
    """Sums of the four scores (in the class, present, value, value²) and of their products, per published class.

    Values are measured from an origin, so that no digits are lost when the mean is large against the spread.
    """

    origin: float
    totals: FloatArray
    """Shape (n_classes, 4)."""
    products: FloatArray
    """Shape (n_classes, 4, 4)."""
    rows: FloatArray
    """Answers summed over, shape (n_classes,)."""

    @classmethod
    def of_counts(cls, counts: FloatArray, channel: Channel, grid: Grid, segments: int = 1) -> Self:
        """Score the answers of a mechanism on a grid.

        Parameters
        ----------
        counts : array, shape (n_classes, n_answers)
            How often each answer was given in each published class. With several segments one row: the class is in
            the answer, and the result has one row per segment.
        channel, grid
            The mechanism and the grid of the true values.
        segments : int
            Number of classes hidden in the answer, else 1.
        """
        start, width = (1 - grid.cells) / 2 * grid.width, grid.width
        # from 1, 1, i, i² to 1, 1, v, v² for v = start + width · i
        rescale = np.diag([1.0, 1.0, width, width**2])
        rescale[2, 1], rescale[3, 1], rescale[3, 2] = start, start**2, 2 * start * width
        scores = channel.power_scores(grid.cells, segments) @ rescale.T
        products = scores[..., :, np.newaxis] * scores[..., np.newaxis, :]
        totals = np.tensordot(counts, scores, axes=(-1, 0))
        return cls(
            origin=(grid.lower + grid.upper) / 2,
            totals=totals.reshape(-1, N_SCORES),
            products=np.tensordot(counts, products, axes=(-1, 0)).reshape(-1, N_SCORES, N_SCORES),
            rows=np.repeat(counts.sum(axis=-1), segments),
        )

    def unmixed(self, label_inverse: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Return totals per true class, shape (n_classes, 4), and their covariances, shape (n_classes, 4, 4)."""
        inverse = np.eye(len(self.totals)) if label_inverse is None else label_inverse
        small_sample = self.rows / np.maximum(self.rows - 1, 1)
        return inverse.T @ self.totals, np.einsum("pc,p,pij->cij", inverse**2, small_sample, self.products)


@dataclass(frozen=True, kw_only=True, eq=False)
class MomentEstimate:
    """Estimated moments of the true values, per true class; arrays of shape (n_classes,)."""

    rows: FloatArray
    """Estimated number of rows; where it is not positive, the moments are undefined."""
    present: FloatArray
    """Share of rows that have a value; may leave [0, 1]."""
    mean: FloatArray
    variance: FloatArray
    """Unbiased to first order; may be negative where the noise drowns it."""
    present_error: FloatArray
    """Standard errors here and below: rows and noise both random."""
    mean_error: FloatArray
    variance_error: FloatArray

    def head(self, n_classes: int) -> MomentEstimate:
        """Return the estimate of the first classes only."""
        return MomentEstimate(**{field.name: getattr(self, field.name)[:n_classes] for field in fields(self)})


def estimate_moments(sums: ScoreSums, label_inverse: FloatArray | None = None) -> MomentEstimate:
    """Estimate mean and variance per true class as ratios of unbiased sums, errors by linearization.

    The square of an estimated mean is too large by its own variance; that is put right, which for TRR with clear
    labels gives exactly the unbiased form of eq. 3 of paper 004.

    Parameters
    ----------
    sums : ScoreSums
        Per published class.
    label_inverse : array, shape (n_published, n_true), optional
        Weight of a row of a published class in each true class, when labels are randomized.
    """
    totals, spread = sums.unmixed(label_inverse)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows, present = totals[:, 0], totals[:, 1]
        share, mean, second = present / rows, totals[:, 2] / present, totals[:, 3] / present
        zero, ones = np.zeros_like(rows), np.ones_like(rows)
        # how much one row moves each ratio, as coefficients of its four scores
        by_share = np.stack([-share, ones, zero, zero], axis=1) / rows[:, np.newaxis]
        by_mean = np.stack([zero, -mean, ones, zero], axis=1) / present[:, np.newaxis]
        by_second = np.stack([zero, -second, zero, ones], axis=1) / present[:, np.newaxis]
        by_variance = by_second - 2 * mean[:, np.newaxis] * by_mean
        errors = [np.maximum(np.einsum("ci,cij,cj->c", by, spread, by), 0) for by in (by_share, by_mean, by_variance)]
    return MomentEstimate(
        rows=rows,
        present=share,
        mean=sums.origin + mean,
        variance=second - mean**2 + errors[1],
        present_error=np.sqrt(errors[0]),
        mean_error=np.sqrt(errors[1]),
        variance_error=np.sqrt(errors[2]),
    )


def score_sums(response: TransformedResponse, powers: PowerSums) -> ScoreSums:
    """Return sums of unbiased scores (in the class, present, x', x'² with x' = x − centre) and of their products.

    With y' = y − centre, E[y'] = Ā x' and E[y'²] = (Ā² + S_a²) x'² + S_b²; a missing value that is shown is a
    value at the centre, so it adds nothing but S_b².
    """
    raw = _from_centre(response, powers)
    shown_present, shown_missing = response.presence_probabilities()
    slope, square = response.multiplier.mean, response.multiplier.mean**2 + response.multiplier.variance
    noise = response.scale**2 * response.offset.variance + response.step**2 / 12
    certainty = shown_present - shown_missing
    # coefficients of 1, y', y'² in the scores of a shown number
    scores = np.zeros((4, 3))
    scores[0, 0], scores[1, 0] = 1.0, (1 - shown_missing) / certainty
    scores[2, 1] = 1 / (slope * shown_present)
    scores[3] = -noise / (square * shown_present), 0.0, 1 / (square * shown_present)
    blank = np.array([1.0, -shown_missing / certainty, 0.0, 0.0])
    pairs = np.stack([raw.sums[:, row : row + 3] for row in range(3)], axis=1)
    return ScoreSums(
        origin=raw.origin,
        totals=raw.sums[:, :3] @ scores.T + raw.blanks[:, np.newaxis] * blank,
        products=scores @ pairs @ scores.T + raw.blanks[:, np.newaxis, np.newaxis] * np.outer(blank, blank),
        rows=raw.sums[:, 0] + raw.blanks,
    )


def published_moments(response: TransformedResponse, powers: PowerSums) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance per published class as the paper prints them (eqs. 2 and 3), nothing put right.

    The variance may be negative. It is biased by −S_a² Var(y) / (n Ā² (Ā² + S_a²)), whatever the paper states.
    """
    raw = _from_centre(response, powers)
    n, slope, spread = raw.sums[:, 0], response.multiplier.mean, response.multiplier.variance
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = raw.sums[:, 1] / n
        variance = (raw.sums[:, 2] - n * mean**2) / (n - 1)
        noise = spread * (mean / slope) ** 2 + response.scale**2 * response.offset.variance
        hidden = (variance - noise) / (slope**2 + spread)
    return raw.origin + mean / slope, hidden


def _from_centre(response: TransformedResponse, powers: PowerSums) -> PowerSums:
    """Measure powers from the centre; clear numbers from wherever they were summed, which loses no digits."""
    return powers if response.is_unperturbed else powers.about(response.centre)


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
