# SPDX-License-Identifier: Apache-2.0
"""A random forest that predicts a number from codes, and its out-of-bag estimates: means and permutation importance.

The counterpart of `random_forest` for a numeric target: squared error stands in the place of wrong guesses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.estimators.bagged_trees import BaggedTrees, grow_number_trees
from anonkit.k_anonymity.search.random_forest import ForestSize, Matrix, blocks_of, missed_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class RegressionForest:
    """A forest of regression trees on integer codes, with the rows it was grown on."""

    model: BaggedTrees
    rows: Matrix
    """Features of the training rows, shape (n_rows, n_features)."""
    numbers: FloatArray
    """Target of each training row, in [0, 1], shape (n_rows,)."""
    size: ForestSize
    seed: int

    @classmethod
    def grow(cls, rows: Matrix, numbers: FloatArray, size: ForestSize, seed: int) -> RegressionForest:
        """Grow the forest; the same rows in the same order give the same one, whatever the number of cores."""
        drawn = None if size.bootstrap_rows is None else min(size.bootstrap_rows, numbers.size)
        model = grow_number_trees(rows, numbers, trees=size.trees, seed=seed, bootstrap_rows=drawn)
        return cls(model=model, rows=rows, numbers=numbers, size=size, seed=seed)

    def means(self) -> FloatArray:
        """Return the mean prediction of the trees for which each row is out of bag, shape (n_rows,).

        Rows that are in every bag get the mean of all.
        """

        def sums(trees: Iterable[int]) -> tuple[FloatArray, FloatArray]:
            total, voters = np.zeros(self.numbers.size), np.zeros(self.numbers.size)
            for tree in trees:
                oob = missed_rows(self.model, tree, self.numbers.size)
                total[oob] += self.model.estimators_[tree].predict(self.rows[oob], check_input=False)
                voters[oob] += 1
            return total, voters

        parts = self.model.in_threads(sums)
        total = np.sum([part[0] for part in parts], axis=0)
        voters = np.sum([part[1] for part in parts], axis=0)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(voters > 0, total / voters, self.numbers.mean()))

    def permutation_importance(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean and standard error over trees of L_t^a - L_t, each of shape (n_features,).

        L_t is the sum of the squared errors of tree t over its OOB rows, in units of the variance of the target, L_t^a
        the same after feature a has been permuted among them. As in `random_forest`, a part of the rows may stand for
        all of them.
        """

        def losses(trees: Iterable[int]) -> list[FloatArray]:
            return [self._losses(tree) for tree in trees]

        loss = np.array([row for part in self.model.in_threads(losses) for row in part])
        loss /= max(float(self.numbers.var()), np.finfo(np.float64).tiny)
        return loss.mean(axis=0), loss.std(axis=0, ddof=min(1, len(loss) - 1)) / np.sqrt(len(loss))

    def _losses(self, tree: int) -> FloatArray:
        """Return L_t^a - L_t of one tree for every feature a, shape (n_features,)."""
        estimator, n_features = self.model.estimators_[tree], self.rows.shape[1]
        oob = missed_rows(self.model, tree, self.numbers.size)
        draw = np.random.default_rng((self.seed, tree))  # a statistical estimate: nothing private hangs on it
        take = oob.size if self.size.oob_rows is None else min(self.size.oob_rows, oob.size)
        loss = np.zeros(n_features)
        if take == 0:
            return loss
        chosen: IntArray = np.sort(draw.permutation(oob)[:take])
        rows, numbers = self.rows[chosen], self.numbers[chosen]
        errors = (estimator.predict(rows, check_input=False) - numbers) ** 2
        splits = estimator.tree_.feature
        for feature in np.unique(splits[splits >= 0]).tolist():
            values = draw.permutation(rows[:, feature])
            for changed in blocks_of(np.flatnonzero(values != rows[:, feature]), n_features):
                permuted = rows[changed]
                permuted[:, feature] = values[changed]
                worse = (estimator.predict(permuted, check_input=False) - numbers[changed]) ** 2
                loss[feature] += worse.sum() - errors[changed].sum()
        return loss * (oob.size / take)
