# SPDX-License-Identifier: Apache-2.0
"""Noisy counts of the bins of a number, smoothed over neighbouring bins as far as that is expected to pay.

The noise is known, so that what smoothing costs and saves can be estimated from the noisy counts alone (after Stein
1981): wave by wave, what is left of its square beyond the noise would be lost with it. Where neighbours differ by more
than noise, nothing is smoothed. Post-processing of noisy counts, at no privacy loss.
"""

from __future__ import annotations

import numpy as np

from anonkit.domains.array_types import FloatArray

_STRENGTHS = tuple(10.0**power for power in np.arange(-1.0, 4.5, 0.5))
"""Weights of the squares of second differences; without any nothing is smoothed."""


def smoothed(counts: FloatArray, variance: float) -> tuple[FloatArray, FloatArray]:
    """Return smoothed counts, and the variance of the noise that is left in each bin.

    Parameters
    ----------
    counts : float array, shape (classes, bins)
        Noisy counts of neighbouring bins, all classes smoothed alike; their sums are kept.
    variance : float
        Of the noise of a count.
    """
    classes, bins = counts.shape
    waves = np.arange(bins)
    basis = np.cos(np.pi * np.outer(waves + 0.5, waves) / bins) * np.sqrt(np.where(waves == 0, 1, 2) / bins)
    found, noise = counts @ basis, classes * variance
    told = np.maximum((found**2).sum(axis=0) - noise, 0.0)
    differences = (2 - 2 * np.cos(np.pi * waves / bins)) ** 2
    kept = np.stack([np.ones(bins), *(1 / (1 + strength * differences) for strength in _STRENGTHS)])
    best = kept[int(((1 - kept) ** 2 @ told + noise * (kept**2).sum(axis=1)).argmin())]
    return (found * best) @ basis.T, variance * (basis**2 @ best**2)
