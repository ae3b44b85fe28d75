# SPDX-License-Identifier: Apache-2.0
"""Predictions of rows by forests that have not learned from them, out of bag or out of fold.

**Out of bag.** A row is out of bag (OOB) for the trees whose bootstrap sample misses it (Breiman 2001), so the
predictions of those trees for it did not use its own label. Two things are read off: the mean prediction for every row,
which guides a search, and the permutation importance of every feature, which weighs its columns. A forest that may stop
grows in batches of 50 trees. It is settled when a batch has moved the mean predictions by a mean square of at most
1 / 1000 of the variance of the target, and the ranking by at most 2 %: the differences in importance between features
whose order it reversed, as a share of all such differences, so that features that matter equally little may change
places. Both are free of units and of the number of classes.

**Out of fold.** A boosted forest predicts each part of the rows from the others, the guide of a local recoding: class
probabilities, or a number.
"""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import UNLABELLED, BoolArray, CodedColumn, FloatArray, IntArray, combine, commonest
from anonkit.errors import ParameterError
from anonkit.randomness import Randomness
from anonkit.utility.bagged_trees import BaggedTrees
from anonkit.utility.learning_process import learned

Matrix = NDArray[np.float32]

_CELLS = 4_000_000  # cells of permuted rows predicted at once
_BITS = 63  # features that a word of a route can hold
_BATCH = 50  # trees between two checks of their predictions
_MOVED = 1e-3  # mean square change of the predictions that a settled forest may show, per variance of the target
_REVERSED = 0.02  # share of the differences in importance that a batch may reverse


@dataclass(frozen=True, kw_only=True)
class ForestSize:
    """The size of a forest, and the number of rows for its importances.

    The defaults estimate what the full forest estimates from fewer rows and trees; `PUBLISHED` uses them all.
    """

    trees: int = 1000
    """Number of trees, the most where the forest may stop; in [1, inf)."""
    bootstrap_rows: int | None = 4096
    """Rows drawn, with replacement, for each tree, at most half of those there are; None draws as many as there are."""
    oob_rows: int | None = 2048
    """OOB rows of each tree in which features are permuted; None takes all."""
    rows: int | None = 100_000
    """Labelled rows that are used at all, evenly spread over the sorted table; None takes all."""
    leaf: int = 3
    """Fewest rows of a leaf of a tree that classifies, in [1, inf)."""
    until_settled: bool = True
    """True where growing ends when more trees would hardly change the predictions."""

    def __post_init__(self) -> None:
        for name in ("trees", "bootstrap_rows", "oob_rows", "rows", "leaf"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ParameterError(f"{name} ({value}) must be in [1, inf)")

    def bootstrap_size(self, n_rows: int) -> int | None:
        """Return the rows drawn for a tree of a table; None for as many as there are."""
        return None if self.bootstrap_rows is None else min(self.bootstrap_rows, max(n_rows // 2, 1))


PUBLISHED = ForestSize(bootstrap_rows=None, oob_rows=None, rows=None, leaf=1, until_settled=False)
"""Full bootstrap samples, all OOB rows and all trees, as in the paper."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OutOfBagVotes:
    """Out-of-bag predictions and losses of some trees."""

    totals: FloatArray
    """Sum of the predictions for each row over the trees for which it is out of bag, shape (n_rows, n_outputs)."""
    voters: FloatArray
    """Number of these trees, shape (n_rows,)."""
    losses: FloatArray
    """Loss of each tree when a feature is permuted, shape (n_trees, n_features)."""

    def __add__(self, more: OutOfBagVotes) -> OutOfBagVotes:
        """Return the evidence of both lots of trees."""
        return OutOfBagVotes(
            totals=self.totals + more.totals,
            voters=self.voters + more.voters,
            losses=np.concatenate([self.losses, more.losses]),
        )

    def means(self, otherwise: FloatArray) -> FloatArray:
        """Return the mean prediction for each row; `otherwise`, shape (n_outputs,), for rows that are in every bag."""
        known = self.voters > 0
        return np.where(known[:, None], self.totals / np.maximum(self.voters, 1.0)[:, None], otherwise)


@dataclass(frozen=True, kw_only=True, eq=False)
class OutOfBagForest(ABC):
    """A forest on integer codes with the rows it was grown on, and its out-of-bag predictions.

    Kept together because out-of-bag estimates need both: a tree predicts only the rows that its bootstrap sample left
    out.
    """

    rows: Matrix
    """Features of the training rows, shape (n_rows, n_features)."""
    size: ForestSize
    seed: int
    model: BaggedTrees
    votes: OutOfBagVotes

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.model.estimators_)

    def out_of_bag(self) -> list[BoolArray]:
        """Return for every tree which rows its bootstrap sample missed."""
        masks = []
        for tree in range(self.n_trees):
            missed = np.zeros(len(self.rows), dtype=bool)
            missed[_missed_rows(self.model, tree, len(self.rows))] = True
            masks.append(missed)
        return masks

    def permutation_importance(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean over trees of what permuting a feature loses, and its standard error: (n_features,) each."""
        losses = self.votes.losses
        return losses.mean(axis=0), losses.std(axis=0, ddof=min(1, len(losses) - 1)) / np.sqrt(len(losses))


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeTarget(ABC):
    """The target of trees: classes, or a number."""

    truth: NDArray[Any]
    """Of every row, shape (n_rows,)."""

    @property
    @abstractmethod
    def prior(self) -> FloatArray:
        """Prediction for a row without its features, shape (n_outputs,)."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Mean square of what is true of a row less the prior."""

    @abstractmethod
    def grow(self, rows: Matrix, size: ForestSize, trees: int, first: int, seed: int) -> BaggedTrees:
        """Grow trees number `first` and following."""

    @abstractmethod
    def predicted(self, tree: Any, rows: Matrix) -> FloatArray:
        """Return the predictions of a tree for rows, shape (n_rows, n_outputs)."""

    @abstractmethod
    def errors(self, tree: Any, leaves: IntArray, rows: IntArray) -> FloatArray:
        """Return the error of a tree on rows that are in these leaves, shape (n_rows,)."""


def grown(target: TreeTarget, rows: Matrix, size: ForestSize, seed: int) -> tuple[BaggedTrees, OutOfBagVotes]:
    """Grow a forest, until it is settled where it may stop; the same whatever the number of cores."""
    step = min(_BATCH, size.trees) if size.until_settled else size.trees
    model = target.grow(rows, size, step, 0, seed)
    votes = _votes_of(target, rows, size, model, 0, seed)
    while (n_trees := len(model.estimators_)) < size.trees:
        more = target.grow(rows, size, min(_BATCH, size.trees - n_trees), n_trees, seed)
        before, votes = votes, votes + _votes_of(target, rows, size, more, n_trees, seed)
        model = model + more
        if _is_settled(target, before, votes):
            break
    return model, votes


def _is_settled(target: TreeTarget, before: OutOfBagVotes, after: OutOfBagVotes) -> bool:
    """Return True if a batch of trees has hardly changed anything; see the head of this module."""
    change = after.means(target.prior) - before.means(target.prior)
    moved = float((change**2).sum(axis=1).mean())
    old, new = before.losses.mean(axis=0), after.losses.mean(axis=0)
    by_old, by_new = old[:, None] - old[None, :], new[:, None] - new[None, :]
    turned = np.abs(by_new[by_old * by_new < 0]).sum()
    return bool(moved <= _MOVED * target.variance and turned <= _REVERSED * np.abs(by_new).sum())


def _votes_of(
    target: TreeTarget, rows: Matrix, size: ForestSize, model: BaggedTrees, first: int, seed: int
) -> OutOfBagVotes:
    """Return the votes of trees, the first of which has the number `first`, on the rows that they have not seen."""
    n_rows, n_outputs = len(rows), target.prior.size

    def vote(trees: Iterable[int]) -> OutOfBagVotes:
        totals, voters, losses = np.zeros((n_rows, n_outputs)), np.zeros(n_rows), []
        for tree in trees:
            oob = _missed_rows(model, tree, n_rows)
            totals[oob] += target.predicted(model.estimators_[tree], rows[oob])
            voters[oob] += 1
            losses.append(_losses(target, rows, size, model.estimators_[tree], oob, (seed, first + tree)))
        return OutOfBagVotes(totals=totals, voters=voters, losses=np.array(losses).reshape(-1, rows.shape[1]))

    parts = model.by_parts(vote, n_rows)
    return OutOfBagVotes(
        totals=np.sum([part.totals for part in parts], axis=0),
        voters=np.sum([part.voters for part in parts], axis=0),
        losses=np.concatenate([part.losses for part in parts]),
    )


def _losses(
    target: TreeTarget, rows: Matrix, size: ForestSize, tree: Any, oob: IntArray, seed: tuple[int, int]
) -> FloatArray:
    """Return the increase in error of one tree with each feature permuted among its OOB rows, shape (n_features,).

    With `oob_rows` set, the rows are a random part of the OOB rows and the sum is scaled up to all of them, which
    leaves its expectation as it was. A row is sent down the tree again only where its value has changed and its route
    asks for it: elsewhere it ends in the leaf that it was in.
    """
    draw = np.random.default_rng(seed)  # a statistical estimate: nothing private hangs on it
    n_features = rows.shape[1]
    take = oob.size if size.oob_rows is None else min(size.oob_rows, oob.size)
    if take == 0:
        return np.zeros(n_features)
    chosen: IntArray = np.sort(draw.permutation(oob)[:take])
    mine = rows[chosen]
    splits = tree.tree_.feature
    used, loss = np.unique(splits[splits >= 0]), np.zeros(n_features)
    if not used.size:
        return loss
    leaves, tested = _routes(tree.tree_, mine)
    columns = np.ascontiguousarray(mine.T)[used]
    permuted = np.stack([column.take(draw.permutation(column.size)) for column in columns])
    which, row = np.nonzero((permuted != columns) & tested[used])
    feature_of, value = used[which], permuted[which, row]
    before = target.errors(tree, leaves, chosen)
    for block in np.array_split(np.arange(row.size), max(1, -(-row.size * n_features // _CELLS))):
        moved = mine[row[block]]
        moved[np.arange(block.size), feature_of[block]] = value[block]
        after = target.errors(tree, tree.tree_.apply(moved), chosen[row[block]])
        loss += np.bincount(feature_of[block], after - before[row[block]], minlength=n_features)
    return loss * (oob.size / take)


def _routes(tree: Any, rows: Matrix) -> tuple[IntArray, BoolArray]:
    """Return the leaf of each row, and which features decide on its way there, shape (n_features, n_rows)."""
    routes = tree.decision_path(rows)
    tested = np.empty(rows.shape[::-1], dtype=bool)
    for first in range(0, len(tested), _BITS):
        feature = tree.feature - first
        bits = np.where((feature >= 0) & (feature < _BITS), np.int64(1) << np.clip(feature, 0, _BITS - 1), 0)
        words = np.bitwise_or.reduceat(bits[routes.indices], routes.indptr[:-1])
        part = tested[first : first + _BITS]
        part[:] = words >> np.arange(len(part))[:, None] & 1
    return routes.indices[routes.indptr[1:] - 1], tested


def _missed_rows(model: BaggedTrees, tree: int, n_rows: int) -> IntArray:
    """Return the rows that the bootstrap sample of a tree missed, ascending."""
    missed = np.ones(n_rows, dtype=bool)
    missed[model.estimators_samples_[tree]] = False
    return np.flatnonzero(missed)


GRID = 2.0**20
"""Predictions are integers in units of 1 / GRID, so that no sum of them depends on the order of the rows."""

FOLDS = 5
"""Parts of the rows that are predicted in turn, by forests that have learned from the others; at most."""
_MANY = 20_000  # rows with a class from which on fewer folds and rounds guide as well (figures: docs of `mondrian`)
_FOLDS_OF_MANY = 3
_FEW = 5_000  # rows learned from, from which on forests grow beside each other: with fewer, threads wait
_ROWS = 200_000  # labelled rows that are learned from; more hardly help (figures: docs of `mondrian`)
# chosen among three settings on Adult, those of many rows on four other tables: docs/methods/mondrian.md, "Measured"
_ROUNDS, _STEP, _TREES = 70, 0.15, 560  # as good as 100 rounds of 0.1; trees are those of all classes
_ROUNDS_OF_MANY, _STEP_OF_MANY, _TREES_OF_MANY = 50, 0.2, 400
_ROUNDS_IN_BRIEF, _STEP_IN_BRIEF, _TREES_IN_BRIEF = 15, 0.4, 120
_CLASSES = 32  # the rarest classes beyond these are predicted as one
_CATEGORIES = 255  # the limit of histogram boosting; the rarest categories beyond it are learned as one


@dataclass(frozen=True, kw_only=True, eq=False)
class _Fold:
    """The entries that a forest learns from, with multiplicity, and those that it predicts."""

    learned: IntArray
    targets: Any
    """Of each entry that it learns from."""
    queried: IntArray
    many: bool
    """True where rows are so many that fewer rounds do."""
    brief: bool
    """True where few rounds of large steps must do."""

    def boosting(self, seed: int, n_classes: int = 1) -> dict[str, Any]:
        """Return the parameters of a boosted forest: few rows bear few rounds, and many need no more than some."""
        most, step, trees = (_ROUNDS_OF_MANY, _STEP_OF_MANY, _TREES_OF_MANY) if self.many else (_ROUNDS, _STEP, _TREES)
        if self.brief:
            most, step, trees = _ROUNDS_IN_BRIEF, _STEP_IN_BRIEF, _TREES_IN_BRIEF
            return {**_settings(seed), "max_iter": max(4, min(most, trees // n_classes)), "learning_rate": step}
        rounds = max(18, min(most, trees // n_classes, self.targets.size // 14))
        return {**_settings(seed), "max_iter": rounds, "learning_rate": step}


@dataclass(frozen=True, kw_only=True, eq=False)
class Predicted:
    """The forests' predictions for every row, and the truth for the rows that they learned from in turn.

    All numbers are integers in units of 1 / `GRID`, so that no sum of them depends on the order of the rows. There is
    no guide where there is nothing to predict.
    """

    sums: FloatArray
    """Sum of the predictions of the rows of each entry, shape (n_entries, n_guides)."""
    entry: IntArray
    """Entry of each row with a target, in no particular order; shape (n_learners,)."""
    fold: IntArray
    """Fold of each of these rows, in [0, `FOLDS`); shape (n_learners,)."""
    predictions: FloatArray
    """Predictions of each of these rows by the forest without its fold, shape (n_learners, n_guides)."""
    truth: FloatArray
    """Truth of each of these rows, shape (n_learners, n_guides)."""

    @classmethod
    def nothing(cls, n_entries: int) -> Predicted:
        """Return the predictions without a target: none."""
        none, number = np.empty(0, dtype=np.int64), np.empty((0, 0))
        return cls(sums=np.empty((n_entries, 0)), entry=none, fold=none, predictions=number, truth=number)


_FitPredict = Callable[[FloatArray, _Fold, list[bool]], FloatArray]
"""Learns from entries of features and their targets, and predicts the others; shape (n_queried, n_guides)."""


def soft_labels(
    columns: Sequence[CodedColumn], entry: IntArray, labels: IntArray, seed: int, *, brief: bool = False
) -> Predicted:
    """Sum the class probabilities of the rows of each entry.

    Every labelled row is in one of five folds, of three where 20,000 rows or more are labelled, and gets its
    probabilities from a gradient boosted forest (Friedman 2001) that learned from the others; an unlabelled row gets
    the mean of the forests. No row's probabilities come from its own label.

    Parameters
    ----------
    columns : sequence of CodedColumn
        The features of the entries, shape (n_entries,) each, in an order that does not depend on that in the table.
    entry : IntArray
        The entry of each row, shape (n_rows,).
    labels : IntArray
        The class of each row, or `UNLABELLED`; shape (n_rows,).
    seed : int
        Chooses the folds and the forests.
    brief : bool
        Three folds and few rounds of large steps: a guide for a tenth of the time.

    Returns
    -------
    FloatArray
        Shape (n_entries, n_guides), integers in units of 1 / `GRID`. Two classes need one guide; without two
        classes there is nothing to predict, and no guide.
    """
    labelled = np.flatnonzero(labels != UNLABELLED)
    classes, n_classes = commonest(labels[labelled], _CLASSES)
    if n_classes < 2:
        return Predicted.nothing(columns[0].codes.size)

    predict = partial(_shares, n_classes=n_classes, seed=seed)
    truth = np.eye(n_classes)[classes][:, 1 if n_classes == 2 else 0 :]
    many = labelled.size >= _MANY
    return _out_of_fold(columns, entry, labelled, (classes, truth), predict, seed, many=many, brief=brief)


def soft_numbers(
    columns: Sequence[CodedColumn], entry: IntArray, numbers: FloatArray, seed: int, *, brief: bool = False
) -> Predicted:
    """Sum the predictions of a numeric target for the rows of each entry, as `soft_labels` does for classes.

    Parameters
    ----------
    columns, entry, seed, brief
        As for `soft_labels`.
    numbers : FloatArray
        The target of each row, NaN where it must not guide; shape (n_rows,).

    Returns
    -------
    FloatArray
        Shape (n_entries, 1), integers: 0 is the smallest target and `GRID` the largest. Without two different targets
        there is nothing to predict, and the shape is (n_entries, 0).
    """
    known = np.flatnonzero(~np.isnan(numbers))
    low, high = numbers[known].min(initial=np.inf), numbers[known].max(initial=-np.inf)
    if not low < high:
        return Predicted.nothing(columns[0].codes.size)

    targets = (numbers[known] - low) / (high - low)
    predict = partial(_means, seed=seed)
    return _out_of_fold(columns, entry, known, (targets, targets[:, None]), predict, seed, brief=brief)


def _out_of_fold(
    columns: Sequence[CodedColumn],
    entry: IntArray,
    known: IntArray,
    targets: tuple[Any, FloatArray],
    fit_predict: _FitPredict,
    seed: int,
    *,
    many: bool = False,
    brief: bool = False,
) -> Predicted:
    """Return predictions for every row by forests that did not learn from it.

    Parameters
    ----------
    known : IntArray
        Rows that have a target.
    targets : (ndarray of shape (n_known,), ndarray of shape (n_known, n_guides))
        What the forests learn, and the same as the numbers in [0, 1] that they predict.
    many, brief : bool
        Whether fewer folds and rounds do, and whether the fewest must.
    """
    n_entries = columns[0].codes.size
    features = np.stack([_feature(column) for column in columns], axis=1)
    categorical = [not column.ordered for column in columns]
    cell, _ = combine([column.codes for column in columns], n_entries)
    sorted_rows = np.lexsort((targets[0], cell[entry[known]]))  # rows that are alike may change places
    learners = sorted_rows[Randomness.seeded(seed).permutation(known.size)[:_ROWS]]
    where, learned_from, truth = entry[known[learners]], targets[0][learners], np.rint(GRID * targets[1][learners])
    n_folds = min(_FOLDS_OF_MANY if many or brief else FOLDS, learners.size)
    fold = np.arange(learners.size) % n_folds
    unseen = np.bincount(entry, minlength=n_entries) - np.bincount(where, minlength=n_entries)

    folds, rows_queried = [], []
    for number in range(n_folds):
        seen = fold != number
        rows = np.bincount(where[~seen], minlength=n_entries) + unseen / n_folds
        queried = np.flatnonzero(rows)
        folds.append(_Fold(learned=where[seen], targets=learned_from[seen], queried=queried, many=many, brief=brief))
        rows_queried.append(rows[folds[-1].queried, None])
    total, out_of_fold = np.zeros((n_entries, truth.shape[1])), np.empty(truth.shape)
    parts = learned(_each_fold, fit_predict, features, folds, categorical)
    for number, (one, rows, predicted) in enumerate(zip(folds, rows_queried, parts, strict=True)):
        # in turn, so that they round alike on any machine
        predicted = predicted[:, -truth.shape[1] :]
        total[one.queried] += rows * predicted
        out_of_fold[fold == number] = np.rint(GRID * predicted[np.searchsorted(one.queried, where[fold == number])])
    return Predicted(sums=np.rint(GRID * total), entry=where, fold=fold, predictions=out_of_fold, truth=truth)


def _each_fold(
    predict: _FitPredict, features: FloatArray, folds: Sequence[_Fold], categorical: list[bool]
) -> list[FloatArray]:
    """Return predictions for the entries of each fold, folds in parallel."""
    if max(fold.learned.size for fold in folds) < _FEW:
        with warnings.catch_warnings():
            return [predict(features, fold, categorical) for fold in folds]
    with warnings.catch_warnings(), ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda fold: predict(features, fold, categorical), folds))


def _feature(column: CodedColumn) -> FloatArray:
    if not column.ordered:
        return commonest(column.codes.astype(np.int64), _CATEGORIES)[0].astype(np.float64)
    return np.where(column.codes == (column.size if column.missing is None else column.missing), np.nan, column.codes)


def _shares(features: FloatArray, fold: _Fold, categorical: list[bool], *, n_classes: int, seed: int) -> FloatArray:
    """Learn from entries of `features`, return the class probabilities of the others: (n_queried, n_classes)."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    classes = fold.targets
    present = np.unique(classes)
    probabilities = np.zeros((fold.queried.size, n_classes))
    if present.size < 2:
        probabilities[:, present] = 1.0
        return probabilities
    telling = _telling(features, fold.learned)
    if telling.size == 0:
        probabilities[:, present] = np.bincount(np.searchsorted(present, classes)) / classes.size
        return probabilities
    features, categorical = features[:, telling], [categorical[at] for at in telling.tolist()]
    forest = HistGradientBoostingClassifier(categorical_features=categorical, **fold.boosting(seed, present.size))
    with _one_thread():
        forest.fit(features[fold.learned], classes)
        probabilities[:, present] = forest.predict_proba(features[fold.queried])
    return probabilities


def _means(features: FloatArray, fold: _Fold, categorical: list[bool], *, seed: int) -> FloatArray:
    """Learn from entries of `features`, return the predicted number of the others; shape (n_queried, 1)."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    truth, telling = fold.targets, _telling(features, fold.learned)
    if telling.size == 0 or truth.size < 2:
        return np.full((fold.queried.size, 1), truth.mean())
    features, categorical = features[:, telling], [categorical[at] for at in telling.tolist()]
    forest = HistGradientBoostingRegressor(categorical_features=categorical, **fold.boosting(seed))
    with _one_thread():
        forest.fit(features[fold.learned], truth)
        return np.clip(np.asarray(forest.predict(features[fold.queried]), dtype=np.float64), 0.0, 1.0)[:, None]


@cache
def _thread_pools() -> Any:
    """Look for the libraries that have threads, once and after forests were imported: a look takes milliseconds."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def _one_thread() -> AbstractContextManager[Any]:
    """Let a forest use one thread: on busy cores more are up to 50 times slower."""
    limited: AbstractContextManager[Any] = _thread_pools().limit(limits=1, user_api="openmp")
    return limited


def _telling(features: FloatArray, rows: IntArray) -> IntArray:
    """Return the columns that can teach something: not those missing in all rows."""
    return np.flatnonzero(~np.isnan(features[rows]).all(axis=0))


def _settings(seed: int) -> dict[str, Any]:
    return {
        "max_leaf_nodes": 15,
        "min_samples_leaf": 5,
        "l2_regularization": 5.0,
        "max_features": 0.5,
        "early_stopping": False,
        "random_state": seed,
    }
