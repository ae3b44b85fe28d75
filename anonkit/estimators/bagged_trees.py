# SPDX-License-Identifier: Apache-2.0
"""Random forests of scikit-learn trees, grown in threads of our own.

scikit-learn's own threads reset Python's warning filters, which belong to the whole process: two threads that do so at
once can leave them empty, and from then on every warning of every library is shown, also to users who had them switched
off. Trees that are grown one by one never empty them, and what they set is undone when the forest stands.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_T = TypeVar("_T")

_PARTS = 16  # trees are worked on in this many parts on any machine, so sums round alike everywhere


@dataclass(frozen=True, kw_only=True, eq=False)
class BaggedTrees:
    """A random forest: trees, and the rows that each was grown on. Attributes are named as scikit-learn has them."""

    estimators_: Sequence[Any]
    """Fitted `sklearn.tree.DecisionTreeClassifier`, or `DecisionTreeRegressor`."""
    estimators_samples_: Sequence[NDArray[np.int32]]
    """Rows drawn for each tree."""
    n_classes_: int
    """0 for trees that predict a number."""

    def __add__(self, more: BaggedTrees) -> BaggedTrees:
        """Return the forest of both lots of trees."""
        return BaggedTrees(
            estimators_=[*self.estimators_, *more.estimators_],
            estimators_samples_=[*self.estimators_samples_, *more.estimators_samples_],
            n_classes_=self.n_classes_,
        )

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean decrease of impurity by feature, shape (n_features,), adding up to 1; zeros when no tree has a split."""
        importances = [tree.feature_importances_ for tree in self.estimators_ if tree.tree_.node_count > 1]
        if not importances:
            return np.zeros(self.estimators_[0].n_features_in_)
        mean: NDArray[np.float64] = np.mean(importances, axis=0, dtype=np.float64)
        return np.asarray(mean / mean.sum(), dtype=np.float64)

    def predict_proba(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the mean share of each class over the trees, shape (n_rows, n_classes)."""

        def votes(trees: Iterable[int]) -> NDArray[np.float64]:
            total = np.zeros((len(rows), self.n_classes_))
            for tree in trees:
                total += self.estimators_[tree].predict_proba(rows, check_input=False)
            return total

        return np.asarray(np.sum(self.in_threads(votes), axis=0) / len(self.estimators_), dtype=np.float64)

    def predict_mean(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the mean of the numbers that the trees predict, shape (n_rows,)."""

        def sums(trees: Iterable[int]) -> NDArray[np.float64]:
            total = np.zeros(len(rows))
            for tree in trees:
                total += self.estimators_[tree].predict(rows, check_input=False)
            return total

        return np.asarray(np.sum(self.in_threads(sums), axis=0) / len(self.estimators_), dtype=np.float64)

    def in_threads(self, work: Callable[[Iterable[int]], _T]) -> list[_T]:
        """Run work on the numbers of the trees, in parts; trees predict without holding the interpreter."""
        return _in_threads(work, len(self.estimators_))


def grow_trees(
    rows: NDArray[np.float32],
    labels: NDArray[np.int64],
    *,
    trees: int,
    seed: int,
    bootstrap_rows: int | None = None,
    leaf: int = 1,
    first: int = 0,
) -> BaggedTrees:
    """Grow a forest: Gini splits, bootstrap samples, √n_features candidates a node.

    The same rows in the same order give the same forest, whatever the number of cores: that of scikit-learn's
    `RandomForestClassifier(trees, min_samples_leaf=leaf, max_samples=bootstrap_rows, random_state=seed)`.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    labels : ndarray of shape (n_rows,)
        Class of each row, dense in [0, n_classes).
    trees : int
        In [1, inf).
    bootstrap_rows : int, optional
        Rows drawn for each tree, with replacement; as many as there are by default.
    leaf : int
        Fewest rows of a leaf, in [1, inf).
    first : int
        Number of the first tree, in [0, inf): a forest may be grown piece by piece.
    """
    from sklearn.tree import DecisionTreeClassifier

    def tree(state: int) -> Any:
        return DecisionTreeClassifier(max_features="sqrt", min_samples_leaf=leaf, random_state=state)

    return _grown(tree, rows, labels, int(labels.max()) + 1, range(first, first + trees), seed, bootstrap_rows)


def grow_number_trees(
    rows: NDArray[np.float32],
    numbers: NDArray[np.float64],
    *,
    trees: int,
    seed: int,
    bootstrap_rows: int | None = None,
    leaf: int = 5,
    first: int = 0,
) -> BaggedTrees:
    """Grow a forest that predicts a number: splits by squared error, bootstrap samples, a third of the features a node.

    The same rows in the same order give the same forest, whatever the number of cores: that of scikit-learn's
    `RandomForestRegressor(trees, min_samples_leaf=leaf, max_features=1 / 3, max_samples=bootstrap_rows,
    random_state=seed)`.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    numbers : ndarray of shape (n_rows,)
        Finite.
    trees, bootstrap_rows, leaf, first
        As for `grow_trees`.
    """
    from sklearn.tree import DecisionTreeRegressor

    def tree(state: int) -> Any:
        return DecisionTreeRegressor(max_features=1 / 3, min_samples_leaf=leaf, random_state=state)

    return _grown(tree, rows, numbers, 0, range(first, first + trees), seed, bootstrap_rows)


def _grown(
    tree_of: Callable[[int], Any],
    rows: NDArray[np.float32],
    target: NDArray[np.int64] | NDArray[np.float64],
    n_classes: int,
    trees: range,
    seed: int,
    bootstrap_rows: int | None,
) -> BaggedTrees:
    """Grow trees as scikit-learn's forests do, with its draws; `tree_of` makes one for a random state."""
    from sklearn.utils import check_random_state

    n_rows = target.size
    drawn = n_rows if bootstrap_rows is None else bootstrap_rows
    state = check_random_state(seed)
    seeds = [int(state.randint(np.iinfo(np.int32).max)) for _ in range(trees.stop)]
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    # a tree is shown the rows that were drawn for it and, with weight 0, one of each class, so that it knows them all
    example = np.unique(target, return_index=True)[1] if n_classes else np.empty(0, dtype=np.int64)

    def grown(numbers: Iterable[int]) -> list[tuple[Any, NDArray[np.int32]]]:
        grown_trees = []
        for number in numbers:
            tree_seed = seeds[trees.start + number]
            sample = check_random_state(tree_seed).randint(0, n_rows, drawn, dtype=np.int32)
            weights = np.bincount(sample, minlength=n_rows)
            shown = weights > 0
            shown[example] = True
            at = np.flatnonzero(shown)
            tree = tree_of(tree_seed)
            tree.fit(rows[at], target[at], sample_weight=weights[at].astype(np.float64), check_input=False)
            grown_trees.append((tree, sample))
        return grown_trees

    grown_trees = [grown_tree for part in _in_threads(grown, len(trees)) for grown_tree in part]
    return BaggedTrees(
        estimators_=[tree for tree, _ in grown_trees],
        estimators_samples_=[sample for _, sample in grown_trees],
        n_classes_=n_classes,
    )


def _in_threads(work: Callable[[Iterable[int]], _T], trees: int) -> list[_T]:
    parts = np.array_split(np.arange(trees), _PARTS)
    with warnings.catch_warnings(), ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda part: work(part.tolist()), parts))
