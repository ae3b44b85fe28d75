# SPDX-License-Identifier: Apache-2.0
"""A random forest on codes and its out-of-bag estimates: class probabilities and permutation importance.

The forest is scikit-learn's. A row is out of bag (OOB) for the trees whose bootstrap sample misses it
(Breiman 2001), so whatever those trees say of it did not use its own label.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.errors import ParameterError
from anonkit.estimators.bagged_trees import BaggedTrees, grow_trees

Matrix = NDArray[np.float32]

_CELLS = 4_000_000  # cells of permuted rows predicted at once


@dataclass(frozen=True, kw_only=True)
class ForestSize:
    """How large a forest is grown, and on how many rows its importances rest.

    The defaults estimate what the full forest estimates from fewer rows; `PUBLISHED` uses them all.
    """

    trees: int = 1000
    """Number of trees, in [1, inf)."""
    bootstrap_rows: int | None = 4096
    """Rows drawn, with replacement, for each tree; None draws as many as there are."""
    oob_rows: int | None = 2048
    """OOB rows of each tree in which features are permuted; None takes all."""
    rows: int | None = 100_000
    """Labelled rows that are used at all, evenly spread over the sorted table; None takes all."""

    def __post_init__(self) -> None:
        for name in ("trees", "bootstrap_rows", "oob_rows", "rows"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ParameterError(f"{name} ({value}) must be in [1, inf)")


PUBLISHED = ForestSize(bootstrap_rows=None, oob_rows=None, rows=None)
"""Full bootstrap samples and all OOB rows, as in the paper."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Forest:
    """A random forest of fully grown trees on integer codes, with the rows it was grown on.

    Kept together because out-of-bag estimates need both: a tree predicts only the rows that its bootstrap sample left
    out.
    """

    model: BaggedTrees
    rows: Matrix
    """Features of the training rows, shape (n_rows, n_features)."""
    labels: IntArray
    """Class of each training row, shape (n_rows,), dense in [0, n_classes)."""
    size: ForestSize
    seed: int

    @classmethod
    def grow(cls, rows: Matrix, labels: IntArray, size: ForestSize, seed: int) -> Forest:
        """Grow the forest: Gini splits, bootstrap samples, √n_features candidates a node.

        The same rows in the same order give the same forest, whatever the number of cores.
        """
        drawn = None if size.bootstrap_rows is None else min(size.bootstrap_rows, labels.size)
        model = grow_trees(rows, labels, trees=size.trees, seed=seed, bootstrap_rows=drawn)
        return cls(model=model, rows=rows, labels=labels, size=size, seed=seed)

    def out_of_bag(self) -> list[NDArray[np.bool_]]:
        """Tell for every tree which rows its bootstrap sample missed."""
        masks = []
        for tree in range(len(self.model.estimators_)):
            missed = np.zeros(self.labels.size, dtype=bool)
            missed[missed_rows(self.model, tree, self.labels.size)] = True
            masks.append(missed)
        return masks

    def class_probabilities(self) -> FloatArray:
        """Return the mean vote of the trees for which each row is out of bag, shape (n_rows, n_classes).

        Rows that are in every bag get the share of the classes.
        """
        n_classes = self.model.n_classes_

        def votes(trees: Iterable[int]) -> tuple[FloatArray, FloatArray]:
            total, voters = np.zeros((self.labels.size, n_classes)), np.zeros(self.labels.size)
            for tree in trees:
                oob = missed_rows(self.model, tree, self.labels.size)
                total[oob] += self.model.estimators_[tree].predict_proba(self.rows[oob], check_input=False)
                voters[oob] += 1
            return total, voters

        parts = self.model.in_threads(votes)
        total = np.sum([part[0] for part in parts], axis=0)
        voters = np.sum([part[1] for part in parts], axis=0)
        prior = np.bincount(self.labels, minlength=n_classes) / max(self.labels.size, 1)
        with np.errstate(invalid="ignore"):
            return np.where(voters[:, None] > 0, total / voters[:, None], prior)

    def permutation_importance(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean and standard error over trees of R_t - R_t^a, each of shape (n_features,).

        R_t is the number of OOB rows that tree t classifies correctly, R_t^a the same after feature a has been
        permuted among them (Breiman 2001; eq. 3 of paper 001). With `oob_rows` set, the rows are a random part of
        the tree's OOB rows and the count is scaled up to all of them, which leaves its expectation as it was.
        """

        def losses(trees: Iterable[int]) -> list[FloatArray]:
            return [self._losses(tree, missed_rows(self.model, tree, self.labels.size)) for tree in trees]

        loss = np.array([row for part in self.model.in_threads(losses) for row in part])
        return loss.mean(axis=0), loss.std(axis=0, ddof=min(1, len(loss) - 1)) / np.sqrt(len(loss))

    def _losses(self, tree: int, oob: IntArray) -> FloatArray:
        """Return R_t - R_t^a of one tree for every feature a, shape (n_features,)."""
        estimator, n_features = self.model.estimators_[tree], self.rows.shape[1]
        draw = np.random.default_rng((self.seed, tree))  # a statistical estimate: nothing private hangs on it
        take = oob.size if self.size.oob_rows is None else min(self.size.oob_rows, oob.size)
        if take == 0:
            return np.zeros(n_features)
        chosen = np.sort(draw.permutation(oob)[:take])
        rows, labels = self.rows[chosen], self.labels[chosen]
        right = _predicted(estimator, rows) == labels
        splits = estimator.tree_.feature
        loss = np.zeros(n_features)
        for feature in np.unique(splits[splits >= 0]).tolist():
            values = draw.permutation(rows[:, feature])
            for changed in blocks_of(np.flatnonzero(values != rows[:, feature]), n_features):
                permuted = rows[changed]
                permuted[:, feature] = values[changed]
                loss[feature] += right[changed].sum() - (_predicted(estimator, permuted) == labels[changed]).sum()
        return loss * (oob.size / take)


def _predicted(estimator: Any, rows: Matrix) -> IntArray:
    return np.asarray(estimator.predict_proba(rows, check_input=False).argmax(axis=1), dtype=np.int64)


def missed_rows(model: BaggedTrees, tree: int, n_rows: int) -> IntArray:
    """Return the rows that the bootstrap sample of a tree missed, ascending."""
    missed = np.ones(n_rows, dtype=bool)
    missed[model.estimators_samples_[tree]] = False
    return np.flatnonzero(missed)


def blocks_of(rows: IntArray, n_features: int) -> list[IntArray]:
    """Divide rows into blocks of a bounded number of cells each."""
    return np.array_split(rows, max(1, -(-rows.size * n_features // _CELLS)))
