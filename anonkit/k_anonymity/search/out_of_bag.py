# SPDX-License-Identifier: Apache-2.0
"""Out-of-bag predictions of a forest, and the number of trees that they need.

A row is out of bag (OOB) for the trees whose bootstrap sample misses it (Breiman 2001), so the predictions of those
trees for it did not use its own label. Two things are read off: the mean prediction for every row, which guides a
search, and the permutation importance of every feature, which weighs its columns.

**When to stop.** A forest that may stop grows in batches of 50 trees. It is settled when a batch has moved the mean
predictions by a mean square of at most 1 / 1000 of the variance of the target, and the ranking by at most 2 %: the
differences in importance between features whose order it reversed, as a share of all such differences, so that
features that matter equally little may change places. Both are free of units and of the number of classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.errors import ParameterError
from anonkit.utility.bagged_trees import BaggedTrees

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
