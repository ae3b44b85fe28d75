# SPDX-License-Identifier: Apache-2.0
"""Numbers with noise put back into cells: iterative reconstruction of their distribution (Agrawal & Srikant 2000)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import Grid
from anonkit.errors import ParameterError
from anonkit.estimators.consistent_counts import expectation_maximization
from anonkit.published.channels.transformed_response import TransformedResponse

_REACH = 4
"""Standard deviations of the noise beyond the grid that have cells of their own; one draw in 16,000 lies farther out."""


def corrected_cells(noisy: FloatArray, groups: IntArray, noise: TransformedResponse, grid: Grid) -> IntArray:
    """Deal the noisy numbers of each group, in order, to the cells of its reconstructed distribution.

    Parameters
    ----------
    noisy : array, shape (n,)
        Published numbers, none missing.
    groups : array of int, shape (n,)
        Rows that have a distribution in common: a class, or all.
    noise : TransformedResponse
    grid : Grid
        Cells of the true values.

    Returns
    -------
    array of int, shape (n,)
    """
    out = np.empty(len(noisy), dtype=np.int64)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        shares = number_shares(noisy[rows], noise, grid)
        ends = np.rint(np.cumsum(shares) * len(rows))
        out[rows[np.argsort(noisy[rows], kind="stable")]] = np.searchsorted(ends, np.arange(len(rows)), side="right")
    return np.minimum(out, grid.cells - 1)


def number_shares(noisy: FloatArray, noise: TransformedResponse, grid: Grid) -> FloatArray:
    """Estimate the distribution of the true numbers over a grid by iterative Bayesian reconstruction.

    The paper adds noise of one deviation to every number. A multiplier makes the deviation grow with the distance from
    the centre; the likelihood of an answer is then that of a normal with the moments of each cell's middle.

    Parameters
    ----------
    noisy : array, shape (n,)
        Published numbers.
    noise : TransformedResponse
    grid : Grid
        Cells of the true values.

    Returns
    -------
    array, shape (grid.cells,)
        Shares, adding up to 1.

    Raises
    ------
    ParameterError
        The answer to a number is neither normal nor uniform.
    """
    multiplied = noise.multiplier.variance > 0
    if multiplied and "uniform" in (noise.multiplier.shape, noise.offset.shape):
        raise ParameterError("numbers that are multiplied must have normal noise", "a constant multiplier")
    middles = grid.midpoints()
    means, variances = noise.answer_moments(middles, np.zeros_like(middles))
    deviations = np.sqrt(variances)
    ends = (means - _REACH * deviations).min(), (means + _REACH * deviations).max()
    margin = int(np.ceil(max(grid.lower - ends[0], ends[1] - grid.upper, 0.0) / grid.width))
    wide = grid.widened(2 * margin + 1)
    counts = np.bincount(wide.encode(noisy), minlength=wide.cells).astype(np.float64)
    if not deviations.all():
        return np.asarray(counts / max(counts.sum(), 1.0))
    away = (wide.edges() - means[:, np.newaxis]) / deviations[:, np.newaxis]
    below = _distribution(noise.offset.shape)(away)
    below[:, 0], below[:, -1] = 0.0, 1.0  # what falls outside is counted in the outermost cells
    matrix = np.diff(below, axis=1)
    start = np.full(grid.cells, 1 / grid.cells)
    return expectation_maximization(counts, lambda x: x @ matrix, lambda r: r @ matrix.T, start, tolerance=1e-3)


def _distribution(shape: Literal["normal", "uniform"]) -> Callable[[FloatArray], FloatArray]:
    """Return the distribution function of the noise in units of its standard deviation."""
    from scipy.special import ndtr

    half = np.sqrt(3.0)
    return ndtr if shape == "normal" else lambda z: np.clip((z + half) / (2 * half), 0.0, 1.0)
