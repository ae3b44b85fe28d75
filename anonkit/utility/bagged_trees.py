# SPDX-License-Identifier: Apache-2.0
"""Random forests of scikit-learn trees, grown in threads of our own.

scikit-learn's own threads reset Python's warning filters, which belong to the whole process: two threads that do so at
once can leave them empty, and from then on every warning of every library is shown, also to users who had them switched
off. Trees that are grown one by one never empty them, and what they set is undone when the forest is complete.

Nine tenths of what `DecisionTreeClassifier.fit` does with a few hundred rows is to look at its arguments: the same ones
for every tree. Trees are therefore built by the classes that `fit` builds them with. Those are no public names of
scikit-learn, so a process first grows two small trees in both ways, and takes `fit` where they differ in anything.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_T = TypeVar("_T")

_Rows = NDArray[np.float32]
_Target = NDArray[np.int64] | NDArray[np.float64]

_PARTS = 16  # trees are worked on in this many parts on any machine, so sums round alike everywhere
_FEW = 1_000  # rows from which threads gain by working beside each other more than they cost: a convention


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
                total += self.estimators_[tree].tree_.predict(rows)
            return total

        return np.asarray(np.sum(self.by_parts(votes, len(rows)), axis=0) / len(self.estimators_), dtype=np.float64)

    def predict_mean(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the mean of the numbers that the trees predict, shape (n_rows,)."""

        def sums(trees: Iterable[int]) -> NDArray[np.float64]:
            total = np.zeros(len(rows))
            for tree in trees:
                total += self.estimators_[tree].tree_.predict(rows)[:, 0]
            return total

        return np.asarray(np.sum(self.by_parts(sums, len(rows)), axis=0) / len(self.estimators_), dtype=np.float64)

    def by_parts(self, work: Callable[[Iterable[int]], _T], n_rows: int) -> list[_T]:
        """Run work on so many rows on the numbers of the trees, in parts; trees do not hold the interpreter."""
        return _by_parts(work, len(self.estimators_), n_rows)


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
    kind = _Kind(n_classes=int(labels.max()) + 1, leaf=leaf)
    return _grown(kind, rows, labels, range(first, first + trees), seed, bootstrap_rows)


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
    return _grown(_Kind(leaf=leaf), rows, numbers, range(first, first + trees), seed, bootstrap_rows)


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """The task of one tree of a forest, and its smallest leaf."""

    n_classes: int = 0
    """0 for a number."""
    leaf: int
    """Fewest rows of a leaf."""

    def unfitted(self, state: int) -> Any:
        """Return scikit-learn's estimator, with Gini splits or those by squared error."""
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        if self.n_classes:
            return DecisionTreeClassifier(max_features="sqrt", min_samples_leaf=self.leaf, random_state=state)
        return DecisionTreeRegressor(max_features=1 / 3, min_samples_leaf=self.leaf, random_state=state)

    def candidates(self, n_features: int) -> int:
        """Return the number of features from which a node chooses."""
        return max(1, int(np.sqrt(n_features) if self.n_classes else n_features / 3))


_Grow = Callable[[_Kind, _Rows, _Target, NDArray[np.float64], int, np.random.RandomState], Any]
"""Grows a tree from rows, their target and weights, by a seed; the generator is there to be seeded."""


def _fitted(
    kind: _Kind, rows: _Rows, target: _Target, weights: NDArray[np.float64], seed: int, state: np.random.RandomState
) -> Any:
    """Grow a tree as scikit-learn's users do."""
    # a tree is shown with weight 0 one row more of each class, so that it knows them all
    taught = np.concatenate([target, np.arange(kind.n_classes)])
    shown = np.concatenate([rows, np.zeros((kind.n_classes, rows.shape[1]), dtype=np.float32)])
    counted = np.concatenate([weights, np.zeros(kind.n_classes)])
    return kind.unfitted(seed).fit(shown, taught, sample_weight=counted, check_input=False)


def _builders() -> Any:
    """Return the module that has the classes which `fit` builds trees with."""
    from sklearn.tree import _classes

    return _classes


def _built(
    kind: _Kind, rows: _Rows, target: _Target, weights: NDArray[np.float64], seed: int, state: np.random.RandomState
) -> Any:
    """Grow the same tree by what `fit` calls once it has looked at its arguments."""
    trees = _builders()
    state.seed(seed)
    n_rows, n_features = rows.shape
    sizes = np.array([kind.n_classes or 1], dtype=np.intp)
    criterion = (
        trees.CRITERIA_CLF["gini"](1, sizes) if kind.n_classes else trees.CRITERIA_REG["squared_error"](1, n_rows)
    )
    splitter = trees.DENSE_SPLITTERS["best"](criterion, kind.candidates(n_features), kind.leaf, 0.0, state, None)
    grown = trees.Tree(n_features, sizes, 1)
    builder = trees.DepthFirstTreeBuilder(splitter, max(2, 2 * kind.leaf), kind.leaf, 0.0, np.iinfo(np.int32).max, 0.0)
    builder.build(grown, rows, np.ascontiguousarray(target[:, None], dtype=np.float64), weights, None)
    tree = kind.unfitted(seed)
    tree.tree_, tree.n_features_in_, tree.n_outputs_ = grown, n_features, 1
    if kind.n_classes:
        tree.n_classes_, tree.classes_ = kind.n_classes, np.arange(kind.n_classes)
    return tree


@cache
def _growth() -> _Grow:
    """Return the quick way to grow a tree if it can be gone with this scikit-learn, else the public one."""
    draw, state = np.random.default_rng(1), np.random.RandomState()  # a made-up table
    rows, weights = draw.integers(0, 4, (40, 6)).astype(np.float32), draw.integers(1, 3, 40).astype(np.float64)
    for kind in (_Kind(n_classes=3, leaf=2), _Kind(leaf=2)):
        target = draw.integers(0, 3, 40) if kind.n_classes else draw.random(40)
        with warnings.catch_warnings():
            expected = _fitted(kind, rows, target, weights, 5, state)
        try:
            tree = _built(kind, rows, target, weights, 5, state)
        except (AttributeError, KeyError, TypeError, ValueError):  # other names, other arguments
            return _fitted
        if not _are_alike(tree.tree_, expected.tree_):
            return _fitted
    return _built


def _are_alike(tree: Any, other: Any) -> bool:
    """Return True if two trees have the same splits and leaves."""
    parts = ("feature", "threshold", "children_left", "children_right", "value", "impurity", "weighted_n_node_samples")
    return all(np.array_equal(getattr(tree, part), getattr(other, part)) for part in parts)


def _grown(
    kind: _Kind, rows: _Rows, target: _Target, trees: range, seed: int, bootstrap_rows: int | None
) -> BaggedTrees:
    """Grow trees as scikit-learn's forests do, with its draws."""
    n_rows = target.size
    sample_size = n_rows if bootstrap_rows is None else bootstrap_rows
    first_state = np.random.RandomState(seed)
    seeds = [int(first_state.randint(np.iinfo(np.int32).max)) for _ in range(trees.stop)]
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    grow = _growth()

    def grown(numbers: Iterable[int]) -> list[tuple[Any, NDArray[np.int32]]]:
        grown_trees, state = [], _state_of_this_thread()
        for number in numbers:
            tree_seed = seeds[trees.start + number]
            state.seed(tree_seed)
            sample = state.randint(0, n_rows, sample_size, dtype=np.int32)
            weights = np.bincount(sample, minlength=n_rows)
            at = np.flatnonzero(weights)
            tree = grow(kind, rows[at], target[at], weights[at].astype(np.float64), tree_seed, state)
            grown_trees.append((tree, sample))
        return grown_trees

    grown_trees = [grown_tree for part in _by_parts(grown, len(trees), sample_size) for grown_tree in part]
    return BaggedTrees(
        estimators_=[tree for tree, _ in grown_trees],
        estimators_samples_=[sample for _, sample in grown_trees],
        n_classes_=kind.n_classes,
    )


_own = threading.local()


def _state_of_this_thread() -> np.random.RandomState:
    """Return a generator that is seeded before each use: to make one takes as long as to grow a small tree."""
    if not hasattr(_own, "state"):
        _own.state = np.random.RandomState(0)
    return _own.state  # type: ignore[no-any-return]


def _by_parts(work: Callable[[Iterable[int]], _T], trees: int, n_rows: int) -> list[_T]:
    parts = np.array_split(np.arange(trees), _PARTS)
    if n_rows < _FEW:
        with warnings.catch_warnings():
            return [work(part.tolist()) for part in parts]
    with warnings.catch_warnings(), ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda part: work(part.tolist()), parts))
