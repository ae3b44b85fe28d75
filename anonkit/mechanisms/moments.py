# SPDX-License-Identifier: Apache-2.0
"""Means and variances of a hidden number from randomized answers, with standard errors, class by class.

Every mechanism for numbers offers three functions of an answer whose means are 1, x and x² of the true value (0
when it is missing). Sums of them, and of their products, are all that is kept: they add up over batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Self

import numpy as np
from numpy.typing import NDArray

from anonkit.mechanisms.channel import Channel, FloatArray
from anonkit.mechanisms.domains import Grid

N_POWERS = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class PowerSums:
    """Sums of 1, y, y², y³, y⁴ of published numbers about an origin, per published class; they add up over batches."""

    origin: float
    """Where powers are measured from: any number near the bulk of the values."""
    sums: FloatArray
    """Shape (n_classes, 5)."""
    blanks: FloatArray
    """Answers without a number (missing), shape (n_classes,)."""

    @classmethod
    def of(cls, values: FloatArray, classes: NDArray[np.integer], n_classes: int, origin: float) -> Self:  # type: ignore[type-arg]
        """Sum the powers of a batch; NaN counts as blank."""
        blank = np.isnan(values)
        shown, groups = values[~blank] - origin, classes[~blank]
        sums = np.empty((n_classes, N_POWERS))
        power = np.ones_like(shown)
        for exponent in range(N_POWERS):
            sums[:, exponent] = np.bincount(groups, weights=power, minlength=n_classes)
            power = power * shown
        return cls(
            origin=origin, sums=sums, blanks=np.bincount(classes[blank], minlength=n_classes).astype(np.float64)
        )

    def about(self, origin: float) -> PowerSums:
        """Return the same sums with powers measured from another origin."""
        shift = self.origin - origin
        mixing = np.array(
            [[comb(high, low) * shift ** (high - low) if low <= high else 0.0 for high in range(N_POWERS)] for low in range(N_POWERS)]
        )
        return PowerSums(origin=origin, sums=self.sums @ mixing, blanks=self.blanks)

    def __add__(self, other: PowerSums) -> PowerSums:
        aligned = other if other.origin == self.origin else other.about(self.origin)
        return PowerSums(origin=self.origin, sums=self.sums + aligned.sums, blanks=self.blanks + aligned.blanks)


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreSums:
    """Sums of the three scores (present, value, value²) and of their products, per published class.

    Values are measured from an origin, so that no digits are lost when the mean is large against the spread.
    """

    origin: float
    totals: FloatArray
    """Shape (n_classes, 3)."""
    products: FloatArray
    """Shape (n_classes, 3, 3)."""
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
        middle = (grid.cells - 1) / 2
        scores = _rescaled(channel.power_scores(grid.cells, segments), -middle * grid.width, grid.width)
        products = scores[..., :, np.newaxis] * scores[..., np.newaxis, :]
        totals = np.tensordot(counts, scores, axes=(-1, 0))
        return cls(
            origin=(grid.lower + grid.upper) / 2,
            totals=totals.reshape(-1, 3),
            products=np.tensordot(counts, products, axes=(-1, 0)).reshape(-1, 3, 3),
            rows=np.repeat(counts.sum(axis=-1), segments),
        )


def _rescaled(scores: FloatArray, start: float, width: float) -> FloatArray:
    """Turn scores of 1, i, i² into scores of 1, v, v² for v = start + width · i."""
    one, first, second = scores[..., 0], scores[..., 1], scores[..., 2]
    return np.stack(
        [one, start * one + width * first, start**2 * one + 2 * start * width * first + width**2 * second], axis=-1
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class MomentEstimate:
    """Estimated moments of the true values, per true class; arrays of shape (n_classes,)."""

    present: FloatArray
    """Estimated number of rows with a value; not positive when nothing can be said."""
    mean: FloatArray
    variance: FloatArray
    """Unbiased to first order; may be negative where the noise drowns it."""
    mean_error: FloatArray
    """Standard error of the mean, rows and noise both random."""
    variance_error: FloatArray
    """Standard error of the variance."""

    @property
    def identified(self) -> NDArray[np.bool_]:
        """True where there is a mean and a positive variance."""
        return np.asarray((self.present > 0) & np.isfinite(self.mean) & (self.variance > 0))


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
    inverse = np.eye(len(sums.totals)) if label_inverse is None else label_inverse
    totals = inverse.T @ sums.totals
    with np.errstate(divide="ignore", invalid="ignore"):
        present = totals[:, 0]
        mean, second = totals[:, 1] / present, totals[:, 2] / present
        by_mean = np.stack([-mean, np.ones_like(mean), np.zeros_like(mean)], axis=1)
        by_second = np.stack([-second, np.zeros_like(mean), np.ones_like(mean)], axis=1)
        by_variance = by_second - 2 * mean[:, np.newaxis] * by_mean
        small_sample = sums.rows / np.maximum(sums.rows - 1, 1)
        spread = np.einsum("pc,p,pij->cij", inverse**2, small_sample, sums.products)
        mean_variance = np.einsum("ci,cij,cj->c", by_mean, spread, by_mean) / present**2
        variance_variance = np.einsum("ci,cij,cj->c", by_variance, spread, by_variance) / present**2
        return MomentEstimate(
            present=present,
            mean=sums.origin + mean,
            variance=second - mean**2 + mean_variance,
            mean_error=np.sqrt(np.maximum(mean_variance, 0)),
            variance_error=np.sqrt(np.maximum(variance_variance, 0)),
        )
