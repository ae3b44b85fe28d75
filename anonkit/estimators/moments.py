# SPDX-License-Identifier: Apache-2.0
"""Means and variances of a randomized numeric attribute, with standard errors, class by class.

Every mechanism for numbers offers functions of an answer whose means, given the true value, are 1, x and x² (0 when
it is missing). Sums of them, and of their products, are all that is kept: they add up over batches.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import comb
from typing import Self

import numpy as np

from anonkit.domains.array_types import Codes, FloatArray
from anonkit.domains.attribute_domains import Grid
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
