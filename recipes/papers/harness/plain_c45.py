# SPDX-License-Identifier: Apache-2.0
"""A C4.5 tree without noise: one child a category, the best gain ratio, least rows; for accuracy without privacy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Node:
    shares: NDArray[np.float64]
    """Of the classes among its rows, shape (n_classes,)."""
    attribute: int = -1
    """Split attribute; -1: a leaf."""
    children: dict[int, _Node] = field(default_factory=dict)
    """By code; a code that no row had has none, and its rows stay here."""


class GainRatioTree:
    """C4.5 on categories, as Shang et al. 2019 describe it before they add noise: exact counts, nothing pruned.

    Parameters
    ----------
    depth : int, optional
        Most splits on a path; None: until no attribute is left.
    min_rows : int
        Rows of a node below which it is a leaf, 1 or more.

    Privacy
    -------
    None: it is learned from the rows as they are.
    """

    def __init__(self, *, depth: int | None = None, min_rows: int = 2) -> None:
        self.depth, self.min_rows = depth, min_rows

    def fit(self, codes: Codes, labels: Codes, n_classes: int) -> GainRatioTree:
        """Grow the tree.

        Parameters
        ----------
        codes : int array, shape (n_rows, n_attributes)
            Categories by number, from 0.
        labels : int array, shape (n_rows,)
        n_classes : int
        """
        self._n_classes = n_classes
        self._root = self._grown(codes, labels, tuple(range(codes.shape[1])))
        return self

    def predict_proba(self, codes: Codes) -> NDArray[np.float64]:
        """Return the shares of the classes in the leaf of each row, shape (n_rows, n_classes)."""
        return np.array([self._shares(row) for row in codes.tolist()]).reshape(-1, self._n_classes)

    def _grown(self, codes: Codes, labels: Codes, free: tuple[int, ...]) -> _Node:
        counts = np.bincount(labels, minlength=self._n_classes)
        node = _Node(shares=counts / max(1, labels.size))
        level = codes.shape[1] - len(free)
        if counts.max() == labels.size or labels.size < self.min_rows or not free or level == self.depth:
            return node
        ratios = [gain_ratio(codes[:, at], labels, self._n_classes) for at in free]
        best = free[int(np.argmax(ratios))]
        rest = tuple(at for at in free if at != best)
        children = {
            int(code): self._grown(codes[codes[:, best] == code], labels[codes[:, best] == code], rest)
            for code in np.unique(codes[:, best])
        }
        return _Node(shares=node.shares, attribute=best, children=children)

    def _shares(self, row: list[int]) -> NDArray[np.float64]:
        node = self._root
        while node.attribute >= 0 and row[node.attribute] in node.children:
            node = node.children[row[node.attribute]]
        return node.shares


def gain_ratio(codes: Codes, labels: Codes, n_classes: int) -> float:
    """Return information gain by the entropy of the attribute, in [0, 1]; 0 where that has none."""
    table = np.zeros((int(codes.max()) + 1, n_classes))
    np.add.at(table, (codes, labels), 1)
    of_attribute = _entropy(table.sum(axis=1))
    gain = _entropy(table.sum(axis=0)) + of_attribute - _entropy(table.ravel())
    return float(gain / of_attribute) if of_attribute > 0 else 0.0


def _entropy(counts: NDArray[np.float64]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
