# SPDX-License-Identifier: Apache-2.0
"""Differences between classes over the ordered cells of a number, as smooth as the noisy counts imply.

The difference of a class is taken for a Gaussian process over the cells, observed with the noise of the counts. Several
processes are candidates, independent cells among them, and each is weighed by how
likely it makes the counts. All of this is post-processing of noisy counts: no privacy loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from anonkit.domains.array_types import FloatArray

_ROUGH_REACHES = (0.1, 0.4, 1.5)
"""Parts of the range over which a difference that may jump keeps to about 1/e of itself."""
_SMOOTH_REACHES = (0.1, 0.3)
"""The same of a difference that has no jumps."""


def smoothed_differences(
    found: FloatArray, noise: FloatArray, unit: FloatArray, spreads: Sequence[float]
) -> FloatArray:
    """Return what is believed of differences that were found with noise.

    Parameters
    ----------
    found, noise, unit : float arrays, shape (groups, cells, n_classes)
        Differences between a class's shares and what is believed without these counts, the variances of their noise,
        and the shares that are believed: a difference is relative to them. Cells are in the order of the number.
    spreads : sequence of float
        Prior standard deviations of a relative difference, each as likely beforehand.

    Returns
    -------
    FloatArray
        Shape (groups, cells, n_classes): the mean over spreads and processes, weighed by likelihood.
    """
    deviation = np.sqrt(noise).transpose(0, 2, 1)
    observed = found.transpose(0, 2, 1) / deviation
    size = unit.transpose(0, 2, 1) / deviation
    means, likelihoods = [], []
    for kernel in _kernels(found.shape[1]):
        # one decomposition of the process, in units of the noise, serves all spreads
        values, vectors = np.linalg.eigh(size[..., :, np.newaxis] * kernel * size[..., np.newaxis, :])
        values = np.maximum(values, 0.0)
        turned = (observed[..., np.newaxis, :] @ vectors)[..., 0, :]
        for spread in spreads:
            variance = 1 + spread * spread * values
            likelihoods.append(-0.5 * float((np.log(variance) + turned * turned / variance).sum()))
            means.append((vectors @ (turned * (1 - 1 / variance))[..., np.newaxis])[..., 0])
    weights = np.exp(np.array(likelihoods) - max(likelihoods))
    mean = np.tensordot(weights / weights.sum(), np.array(means), axes=1) * deviation
    return np.asarray(mean.transpose(0, 2, 1))


@lru_cache(maxsize=16)
def _kernels(cells: int) -> tuple[FloatArray, ...]:
    """Return the correlations of cells under each process, shape (cells, cells)."""
    places = (np.arange(cells) + 0.5) / cells
    apart = np.abs(places[:, np.newaxis] - places)
    return (
        np.eye(cells),
        *(np.exp(-apart / reach) for reach in _ROUGH_REACHES),
        *(np.exp(-0.5 * (apart / reach) ** 2) for reach in _SMOOTH_REACHES),
    )
