# SPDX-License-Identifier: Apache-2.0
"""Means and variances behind the answers of transformed randomized response, unbiased and as the paper prints them.

Zhang & Tang, Chinese Journal of Computers 30(8), 2007, §4. The multiplier a has mean Ā and variance S_a², the offset b
has mean 0 and variance S_b²; both are published. Everything here is post-processing and costs no privacy.
"""

from __future__ import annotations

import numpy as np

from anonkit.domains.array_types import FloatArray
from anonkit.estimators.moments import PowerSums, ScoreSums
from anonkit.published.channels.transformed_response import TransformedResponse


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
