# SPDX-License-Identifier: Apache-2.0
"""Synthetic rows drawn from noisy cells, in the schema of the source, at no further privacy loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.dp_trees.leaf_cells import LeafCells
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.randomness import Randomness


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnRows:
    """Synthetic rows as codes of the public domains."""

    codes: IntArray
    """Shape (n_attributes, n_rows)."""
    labels: IntArray
    """Shape (n_rows,)."""


def rows_by_cell(cells: LeafCells, share: float, words: UniformStream) -> IntArray:
    """Return the number of rows to draw of each leaf and class, one after another, shape (n_leaves * n_classes,).

    Parameters
    ----------
    cells : Cells
    share : float
        Share of the rows of a cell that is drawn: 1 / trees where every tree represents the whole table.
    words : UniformStream

    Returns
    -------
    int64 array
        As many rows as the noisy counts of a tree say in sum.

    Privacy
    -------
    Post-processing of published cells: no privacy loss.
    """
    counts = cells.counts()
    weights = np.zeros_like(counts)
    for tree in np.unique(cells.tree):
        of_tree = cells.tree == tree
        weights[of_tree] = consistent(counts[of_tree]) * share
    reachable = np.all([allowed.any(axis=1) for allowed in cells.allowed], axis=0)
    weights[~reachable] = 0.0
    return rounded(weights.reshape(-1), words)


@dataclass(frozen=True, kw_only=True, eq=False)
class UniformRows:
    """Draws synthetic rows uniformly within each cell."""

    allowed: tuple[NDArray[np.bool_], ...]
    """For each attribute which codes lead to each leaf, shape (n_leaves, codes)."""
    n_classes: int

    def __call__(self, numbers: IntArray, randomness: Randomness) -> list[IntArray]:
        """Return the labels and the codes of each attribute for so many rows of each leaf and class."""
        words = UniformStream(randomness)
        leaves, labels = np.divmod(np.repeat(np.arange(numbers.size), numbers), self.n_classes)
        return [labels, *(_uniform(allowed, leaves, words) for allowed in self.allowed)]


def consistent(counts: FloatArray) -> FloatArray:
    """Return the nearest counts that are not negative and have the sum of the noisy ones (or 0), same shape.

    Clipping alone would add rows: with many empty cells the noise that is cut off below is kept above. Taking the same
    amount from every count and clipping then keeps the sum, which the noise leaves unbiased.
    """
    total = max(float(counts.sum()), 0.0)
    flat = np.sort(counts.reshape(-1))[::-1]
    surplus = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    last = int(np.flatnonzero(flat > surplus)[-1]) if bool((flat > surplus).any()) else 0
    return np.asarray(np.maximum(counts - surplus[last], 0.0)) if total > 0 else np.zeros_like(counts)


def rounded(weights: FloatArray, words: UniformStream) -> IntArray:
    """Return integers near weights, with the same mean and, up to one, the same sum (systematic sampling)."""
    offset = float(words.fractions(1)[0]) / (1 << 52)
    ends = np.floor(np.cumsum(weights) + offset).astype(np.int64)
    return np.diff(ends, prepend=0)


def _uniform(allowed: NDArray[np.bool_], leaves: IntArray, words: UniformStream) -> IntArray:
    """Return for each row an allowed code of its leaf, all equally likely, shape (n_rows,)."""
    order = np.argsort(~allowed, axis=1, kind="stable")
    sizes = allowed.sum(axis=1, dtype=np.int64)
    if not leaves.size:
        return np.zeros(0, dtype=np.int64)
    return np.asarray(order[leaves, words.below(sizes[leaves])], dtype=np.int64)
