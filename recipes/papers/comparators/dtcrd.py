# SPDX-License-Identifier: Apache-2.0
"""DTCRD: a decision tree over numbers with additive noise (Agrawal & Srikant, SIGMOD 2000), a comparator of paper 004.

The distribution of each number is reconstructed from the noisy one, the noisy values are put in order and dealt out to
the intervals of the reconstructed distribution, and a tree of cuts is grown on the intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import Grid
from anonkit.errors import ParameterError
from anonkit.estimators.consistent_counts import expectation_maximization
from anonkit.published.channels.transformed_response import TransformedResponse
from papers.comparators.decision_tree import StoppingRule, grow, leaf_shares
from papers.comparators.record_flip import RecordFlip


class AdditiveNoiseDecisionTree(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A tree on numbers published as x + b.

    Parameters
    ----------
    noise : sequence of TransformedResponse
        What was done to each column: additive noise, that is a constant multiplier of 1.
    grids : sequence of Grid
        Public bounds of each column, cut into the intervals the distribution is reconstructed on.
    by_class : bool
        Reconstruct within each class (ByClass), else once for all rows (Global).
    max_depth, min_rows
        When to stop growing.

    Privacy
    -------
    Additive noise of this kind has no finite ε; see `anonkit.mechanisms.transformed_response`. For comparison only.
    """

    def __init__(
        self,
        noise: Sequence[TransformedResponse],
        grids: Sequence[Grid],
        *,
        by_class: bool = True,
        max_depth: int = 6,
        min_rows: float = 20.0,
    ) -> None:
        self.noise = noise
        self.grids = grids
        self.by_class = by_class
        self.max_depth = max_depth
        self.min_rows = min_rows

    def fit(self, X: FloatArray, y: NDArray[Any]) -> Self:
        """Learn from noisy numbers, shape (n, n_columns), and clear labels, shape (n,)."""
        noisy = np.asarray(X, dtype=np.float64)
        if not len(self.noise) == len(self.grids) == noisy.shape[1]:
            raise ParameterError("noise and grids must have one entry per column")
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        groups = codes if self.by_class else np.zeros_like(codes)
        cells = [
            _corrected(noisy[:, column], groups, noise, grid)
            for column, (noise, grid) in enumerate(zip(self.noise, self.grids, strict=True))
        ]
        growth = StoppingRule(max_depth=self.max_depth, min_rows=self.min_rows)
        self.tree_ = grow(self._cuts(cells), codes, len(self.classes_), RecordFlip(p_truth=1.0), growth)
        return self

    def _cuts(self, cells: Sequence[IntArray]) -> NDArray[np.bool_]:
        """Turn interval numbers into one boolean attribute per cut: whether the value is beyond it."""
        pairs = zip(cells, self.grids, strict=True)
        return np.hstack([column[:, np.newaxis] >= np.arange(1, grid.cells) for column, grid in pairs])

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return the shares of the classes in the leaf of each row of true numbers, shape (n, n_classes)."""
        check_is_fitted(self)
        values = np.asarray(X, dtype=np.float64)
        cells = [grid.encode(values[:, column]).astype(np.int64) for column, grid in enumerate(self.grids)]
        return leaf_shares(self.tree_, self._cuts(cells))

    def predict(self, X: FloatArray) -> NDArray[Any]:
        """Return the commonest class in the leaf of each row of true numbers, shape (n,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def _corrected(noisy: FloatArray, groups: IntArray, noise: TransformedResponse, grid: Grid) -> IntArray:
    """Deal the noisy values of each group, in order, to the intervals of its reconstructed distribution."""
    out = np.empty(len(noisy), dtype=np.int64)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        shares = reconstruct(noisy[rows], noise, grid)
        ends = np.rint(np.cumsum(shares) * len(rows))
        out[rows[np.argsort(noisy[rows], kind="stable")]] = np.searchsorted(ends, np.arange(len(rows)), side="right")
    return np.minimum(out, grid.cells - 1)


def reconstruct(noisy: FloatArray, noise: TransformedResponse, grid: Grid) -> FloatArray:
    """Estimate the distribution of the true values over the grid by iterative Bayesian reconstruction.

    Parameters
    ----------
    noisy : array, shape (n,)
        Published numbers.
    noise : TransformedResponse
        Additive noise.
    grid : Grid
        Intervals of the true values.

    Returns
    -------
    array, shape (grid.cells,)
        Shares, adding up to 1.
    """
    if noise.multiplier.variance != 0 or noise.multiplier.mean != 1:
        raise ParameterError("the noise of a column must be additive: a constant multiplier of 1")
    deviation = noise.scale * float(np.sqrt(noise.offset.variance))
    margin = int(np.ceil(4 * deviation / grid.width))
    wide = grid.widened(2 * margin + 1)
    counts = np.bincount(wide.encode(noisy), minlength=wide.cells).astype(np.float64)
    if deviation == 0:
        return np.asarray(counts / max(counts.sum(), 1.0))
    below = _distribution(noise.offset.shape)((wide.edges() - grid.midpoints()[:, np.newaxis]) / deviation)
    below[:, 0], below[:, -1] = 0.0, 1.0  # what falls outside is counted in the outermost intervals
    matrix = np.diff(below, axis=1)
    start = np.full(grid.cells, 1 / grid.cells)
    return expectation_maximization(counts, lambda x: x @ matrix, lambda r: r @ matrix.T, start, tolerance=1e-3)


def _distribution(shape: Literal["normal", "uniform"]) -> Callable[[FloatArray], FloatArray]:
    """Return the distribution function of the noise in units of its standard deviation."""
    from scipy.special import ndtr

    half = np.sqrt(3.0)
    return ndtr if shape == "normal" else lambda z: np.clip((z + half) / (2 * half), 0.0, 1.0)
