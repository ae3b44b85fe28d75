# SPDX-License-Identifier: Apache-2.0
"""A random forest that predicts a number from codes, and its out-of-bag estimates: means and permutation importance.

The counterpart of `random_forest` for a numeric target: squared error replaces wrong guesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.k_anonymity.search.out_of_bag import ForestSize, Matrix, OutOfBagForest, TreeTarget, grown
from anonkit.utility.bagged_trees import BaggedTrees, grow_number_trees


@dataclass(frozen=True, kw_only=True, eq=False)
class _Numbers(TreeTarget):
    """The number of each row: how wrong a tree is about it is its squared error, in units of the variance of all."""

    truth: FloatArray

    @property
    def prior(self) -> FloatArray:
        """The mean of all."""
        return np.array([self.truth.mean()])

    @property
    def variance(self) -> float:
        """Of the numbers."""
        return float(self.truth.var())

    def grow(self, rows: Matrix, size: ForestSize, trees: int, first: int, seed: int) -> BaggedTrees:
        """Grow trees by squared error, with a third of the features as candidates a node."""
        drawn = size.drawn(self.truth.size)
        return grow_number_trees(rows, self.truth, trees=trees, seed=seed, bootstrap_rows=drawn, first=first)

    def predicted(self, tree: Any, rows: Matrix) -> FloatArray:
        """Return the means of the leaves of rows."""
        return np.asarray(tree.tree_.predict(rows))

    def errors(self, tree: Any, leaves: IntArray, rows: IntArray) -> FloatArray:
        """Return the squared errors of rows, in units of the variance of all."""
        unit = max(self.variance, np.finfo(np.float64).tiny)
        return np.asarray((tree.tree_.value[leaves, 0, 0] - self.truth[rows]) ** 2 / unit)


@dataclass(frozen=True, kw_only=True, eq=False)
class RegressionForest(OutOfBagForest):
    """A forest of regression trees on integer codes, with the rows it was grown on."""

    numbers: FloatArray
    """Target of each training row, in [0, 1], shape (n_rows,)."""

    @classmethod
    def grow(cls, rows: Matrix, numbers: FloatArray, size: ForestSize, seed: int) -> RegressionForest:
        """Grow the forest; the same rows in the same order give the same one, whatever the number of cores."""
        model, told = grown(_Numbers(truth=numbers), rows, size, seed)
        return cls(model=model, told=told, rows=rows, numbers=numbers, size=size, seed=seed)

    def means(self) -> FloatArray:
        """Return the mean prediction of the trees for which each row is out of bag, shape (n_rows,).

        Rows that are in every bag get the mean of all.
        """
        return self.told.means(_Numbers(truth=self.numbers).prior)[:, 0]
