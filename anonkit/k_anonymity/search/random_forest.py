# SPDX-License-Identifier: Apache-2.0
"""A random forest on codes and its out-of-bag estimates: class probabilities and permutation importance.

The trees are scikit-learn's; their predictions of rows they have not seen, and the number of trees needed, are in
`out_of_bag`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.k_anonymity.search.out_of_bag import ForestSize, Matrix, OutOfBagForest, TreeTarget, grown
from anonkit.utility.bagged_trees import BaggedTrees, grow_trees


@dataclass(frozen=True, kw_only=True, eq=False)
class _Classes(TreeTarget):
    """The class of each row, dense in [0, n_classes): a tree is wrong about a row or right."""

    truth: IntArray

    @property
    def prior(self) -> FloatArray:
        """The share of each class."""
        return np.bincount(self.truth) / self.truth.size

    @property
    def variance(self) -> float:
        """Of all classes together."""
        return float(1.0 - (self.prior**2).sum())

    def grow(self, rows: Matrix, size: ForestSize, trees: int, first: int, seed: int) -> BaggedTrees:
        """Grow trees by Gini splits, with √n_features candidates a node."""
        drawn = size.drawn(self.truth.size)
        return grow_trees(rows, self.truth, trees=trees, seed=seed, bootstrap_rows=drawn, leaf=size.leaf, first=first)

    def predicted(self, tree: Any, rows: Matrix) -> FloatArray:
        """Return the shares of the classes in the leaves of rows."""
        return np.asarray(tree.tree_.predict(rows))

    def errors(self, tree: Any, leaves: IntArray, rows: IntArray) -> FloatArray:
        """Return 1 for rows that are not of the commonest class of their leaf, 0 for the others."""
        commonest = tree.tree_.value[:, 0, :].argmax(axis=1)
        return np.asarray(commonest[leaves] != self.truth[rows], dtype=np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassifyingForest(OutOfBagForest):
    """A random forest that classifies."""

    labels: IntArray
    """Class of each training row, shape (n_rows,), dense in [0, n_classes)."""

    @classmethod
    def grow(cls, rows: Matrix, labels: IntArray, size: ForestSize, seed: int) -> ClassifyingForest:
        """Grow the forest: Gini splits, bootstrap samples, √n_features candidates a node.

        The same rows in the same order give the same forest, whatever the number of cores.
        """
        model, told = grown(_Classes(truth=labels), rows, size, seed)
        return cls(model=model, told=told, rows=rows, labels=labels, size=size, seed=seed)

    def class_probabilities(self) -> FloatArray:
        """Return the mean vote of the trees for which each row is out of bag, shape (n_rows, n_classes).

        Rows that are in every bag get the share of the classes.
        """
        return self.told.means(_Classes(truth=self.labels).prior)
