# SPDX-License-Identifier: Apache-2.0
"""The noise of the histograms by class: discrete Laplace, or discrete Gaussian where `histogram_rule` chooses it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from anonkit.domains.array_types import IntArray
from anonkit.mechanisms.accounting import AccountedDraw
from anonkit.mechanisms.approximate_accounting import GaussianDraw
from anonkit.mechanisms.discrete_gaussian import gaussian_counts
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts
from anonkit.published.exact_losses import RATE_BITS

_ONE = 1 << RATE_BITS


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
