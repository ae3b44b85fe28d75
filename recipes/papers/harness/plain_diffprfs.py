# SPDX-License-Identifier: Apache-2.0
"""The forest of Mu et al. 2016 without noise: bootstrap, the best cut of each number, the best of √F attributes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


def _information_gain(children: Floats) -> Floats:
    """Return minus the entropy left in the children, shape (...): the higher the better."""
    rows = children.sum(axis=-1, keepdims=True)
    shares = children / np.maximum(rows, 1)
    left = (rows[..., 0] * (shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=-1)).sum(axis=-1)
    return np.asarray(left / np.maximum(rows[..., 0].sum(axis=-1), 1))


def _max_class(children: Floats) -> Floats:
    """Return the rows of the commonest class of each child, added up, shape (...)."""
    return np.asarray(children.max(axis=-1).sum(axis=-1))


SCORES: dict[str, Callable[[Floats], Floats]] = {"information-gain": _information_gain, "max-class": _max_class}
"""Scores of a split from the class counts of its children, shape (..., children, classes)."""
BRANCHES = ("two", "values")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Node:
    shares: Floats
    """Of the classes among its rows, shape (n_classes,)."""
    attribute: int = -1
    """Split attribute; -1: a leaf."""
    child: Codes | None = None
    """Position of the child of each code of the attribute."""
    children: tuple[_Node, ...] = ()


class BootstrapForest:
    """Trees on bootstrap samples, each node split by the best of √F attributes drawn for it, nothing pruned.

    Parameters
    ----------
    trees, depth : int
        As in the paper.
    score : {"information-gain", "max-class"}
    branches : {"two", "values"}
        One value of a category against the rest, or a branch for each value; numbers are cut in two.
    seed : int

    Privacy
    -------
    None: it is learned from the rows as they are.
    """

    def __init__(self, *, trees: int, depth: int, score: str, branches: str, seed: int) -> None:
        self.trees, self.depth, self.score, self.branches, self.seed = trees, depth, score, branches, seed

    def fit(self, codes: Codes, sizes: Codes, are_numbers: NDArray[np.bool_], labels: Codes) -> BootstrapForest:
        """Grow the trees.

        Parameters
        ----------
        codes : int array, shape (n_rows, n_attributes)
            Categories by number from 0, and the cells of numbers in ascending order.
        sizes : int array, shape (n_attributes,)
            Codes that each attribute may have, in rows to predict too.
        are_numbers : bool array, shape (n_attributes,)
        labels : int array, shape (n_rows,)
        """
        self._codes, self._sizes, self._numbers, self._labels = codes, sizes, are_numbers, labels
        self._n_classes = int(labels.max()) + 1
        self._rng = np.random.default_rng(self.seed)
        n = labels.size
        self._roots = [self._grown(self._rng.integers(0, n, n), 0) for _ in range(self.trees)]
        return self

    def _grown(self, rows: Codes, level: int) -> _Node:
        counts = np.bincount(self._labels[rows], minlength=self._n_classes)
        leaf = _Node(shares=counts / max(1, rows.size))
        if level == self.depth or counts.max(initial=0) == rows.size:
            return leaf
        free = self._rng.choice(self._codes.shape[1], math.isqrt(self._codes.shape[1]), replace=False)
        splits = [(*self._best(rows, int(attribute)), int(attribute)) for attribute in free]
        _, child, attribute = max(splits, key=lambda split: split[0])
        places = child[self._codes[rows, attribute]]
        children = tuple(self._grown(rows[places == at], level + 1) for at in range(int(child.max()) + 1))
        return _Node(shares=leaf.shares, attribute=attribute, child=child, children=children)

    def _best(self, rows: Codes, attribute: int) -> tuple[float, Codes]:
        """Return the score of the best split of an attribute, and the child of each of its codes."""
        size, score = int(self._sizes[attribute]), SCORES[self.score]
        cells = self._codes[rows, attribute] * self._n_classes + self._labels[rows]
        table = np.bincount(cells, minlength=size * self._n_classes).reshape(size, self._n_classes).astype(np.float64)
        if not self._numbers[attribute] and self.branches == "values":
            return float(score(table)), np.arange(size)
        ones = table.cumsum(axis=0)[:-1] if self._numbers[attribute] else table
        if not len(ones):
            return -math.inf, np.zeros(size, dtype=np.int64)
        scores = score(np.stack([ones, table.sum(axis=0) - ones], axis=1))
        best, codes = int(np.argmax(scores)), np.arange(size)
        beyond = codes > best if self._numbers[attribute] else codes != best
        return float(scores[best]), beyond.astype(np.int64)

    def predict_proba(self, codes: Codes) -> Floats:
        """Return the mean over the trees of the shares in each row's leaf, shape (n_rows, n_classes)."""
        out = np.zeros((len(codes), self._n_classes))
        for root in self._roots:
            waiting = [(root, np.arange(len(codes)))]
            while waiting:
                node, rows = waiting.pop()
                if node.child is None:
                    out[rows] += node.shares / self.trees
                    continue
                places = node.child[codes[rows, node.attribute]]
                for at, child in enumerate(node.children):
                    here = rows[places == at]
                    # a branch that no row of the sample took says what the node above says
                    if child.shares.sum() == 0:
                        out[here] += node.shares / self.trees
                    else:
                        waiting.append((child, here))
        return out
