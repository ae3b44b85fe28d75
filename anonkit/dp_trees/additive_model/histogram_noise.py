# SPDX-License-Identifier: Apache-2.0
"""The noise of the histograms by class: discrete Laplace, or discrete Gaussian where `histogram_rule` chooses it.

Optimism of scores computed on the same noisy counts they were fitted to: a covariance, estimated by extra noise.

Evidence is read off the same noisy counts that say how rows are spread, so a cell the noise has raised counts for its
class and is met more often, both at once. On true rows only one of the two happens. The difference is a covariance
(Efron 2004, "The estimation of prediction error"), and more noise of the same law shows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.dp_trees.additive_model.combination import Combination
from anonkit.dp_trees.additive_model.synthetic_population import LeafProductModel
from anonkit.mechanisms.discrete_gaussian import gaussian_counts
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.noisy_tables import GAUSSIAN
from anonkit.published.statements.draws import Draw

_ONE = 1 << RATE_BITS


@dataclass(frozen=True, kw_only=True)
class HistogramNoise:
    """Independent noise of one law for every cell of the histograms."""

    draw: Draw

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise of the same variance, in rows: what is made of the counts reads their variance."""
        if self.draw.law == GAUSSIAN:
            return math.sqrt(_ONE / self.draw.rate) / 2  # 2 scale**2 = sigma**2 = 1 / (2 rho)
        return float(_ONE) / self.draw.rate

    def added(self, counts: IntArray, words: UniformStream) -> IntArray:
        """Return counts with noise, same shape."""
        noised = gaussian_counts if self.draw.law == GAUSSIAN else noisy_counts
        return noised(counts, self.draw.rate, words)


_PAIRS = 8
"""Perturbations, each added and taken away; the intercepts no longer change with more."""


def optimism_of(
    described: Callable[[Sequence[IntArray]], tuple[LeafProductModel, Combination]],
    histograms: Sequence[IntArray],
    law: HistogramNoise,
    words: UniformStream,
) -> FloatArray:
    """Return by how much rows drawn from noisy histograms score better than true rows, on average.

    Parameters
    ----------
    described : callable
        Histograms to the world they describe and the evidence made of them; one region.
    histograms : sequence of int64 arrays, shapes (1, codes, n_classes)
    law : HistogramNoise
        Their noise.
    words : UniformStream

    Returns
    -------
    FloatArray
        What the score of each class has too much on rows of each class, shape (n_classes, n_classes), in nats.

    Privacy
    -------
    Made of published noisy counts and fresh noise: no privacy loss.
    """
    classes = histograms[0].shape[2]
    covariance = np.zeros((classes, classes))
    for _ in range(_PAIRS):
        noise = [law.added(np.zeros_like(table), words) for table in histograms]
        (high, more), (low, less) = (
            described([table + sign * variance for table, variance in zip(histograms, noise, strict=True)])
            for sign in (1, -1)
        )
        parts = zip(high.shares, low.shares, more.tables()[1], less.tables()[1], strict=True)
        for shares, shares_low, scores, scores_low in parts:
            # an antithetic pair: half of each difference is what noise of this law moves, their product its covariance
            covariance += (shares - shares_low)[0].T @ (scores - scores_low)[0] / (4 * _PAIRS)
    return covariance
