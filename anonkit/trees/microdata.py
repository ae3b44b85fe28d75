# SPDX-License-Identifier: Apache-2.0
"""Rows drawn from noisy cells: a table in the schema of the source that costs no further privacy loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.mechanisms.discrete_laplace import Words
from anonkit.randomness import Randomness
from anonkit.trees.cells import Cells

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnRows:
    """Rows as codes of the public domains."""

    codes: IntArray
    """Shape (n_attributes, n_rows)."""
    labels: IntArray
    """Shape (n_rows,)."""


def draw_rows(cells: Cells, share: float, randomness: Randomness) -> DrawnRows:
    """Draw the rows that the cells stand for.

    Parameters
    ----------
    cells : Cells
    share : float
        Share of the rows of a cell that is drawn: 1 / trees where every tree stands for the whole table.
    randomness : Randomness

    Returns
    -------
    DrawnRows
        As many rows as the noisy counts of a tree say in sum; the values of a cell's codes are equally likely.

    Privacy
    -------
    Post-processing of published cells: no privacy loss.
    """
    words = Words(randomness)
    counts = cells.counts()
    weights = np.zeros_like(counts)
    for tree in np.unique(cells.tree):
        of_tree = cells.tree == tree
        weights[of_tree] = consistent(counts[of_tree]) * share
    reachable = np.all([allowed.any(axis=1) for allowed in cells.allowed], axis=0)
    weights[~reachable] = 0.0
    numbers = rounded(weights.reshape(-1), words)
    cell = np.repeat(np.arange(numbers.size), numbers)
    leaves, labels = np.divmod(cell, counts.shape[1])
    codes = np.empty((len(cells.allowed), leaves.size), dtype=np.int64)
    for at, allowed in enumerate(cells.allowed):
        codes[at] = _uniform(allowed, leaves, words)
    return DrawnRows(codes=codes, labels=labels)


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


def rounded(weights: FloatArray, words: Words) -> IntArray:
    """Return whole numbers near weights, with the same mean and, up to one, the same sum (systematic sampling)."""
    offset = float(words.fractions(1)[0]) / (1 << 52)
    ends = np.floor(np.cumsum(weights) + offset).astype(np.int64)
    return np.diff(ends, prepend=0)


def _uniform(allowed: NDArray[np.bool_], leaves: IntArray, words: Words) -> IntArray:
    """Return for each row an allowed code of its leaf, all equally likely, shape (n_rows,)."""
    order = np.argsort(~allowed, axis=1, kind="stable")
    sizes = allowed.sum(axis=1, dtype=np.int64)
    if not leaves.size:
        return np.zeros(0, dtype=np.int64)
    return np.asarray(order[leaves, words.below(sizes[leaves])], dtype=np.int64)
