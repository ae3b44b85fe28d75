# SPDX-License-Identifier: Apache-2.0
"""Cost-complexity pruning of a division into boxes: cuts that predict the target stay, cuts by chance go.

A division goes on as long as both sides keep the promise, far beyond what a forest can know. Here it is pruned by
cost-complexity (Breiman, Friedman, Olshen, Stone 1984, chapter 3): for every cost of a box there is the division that
keeps most of the guide's variance for its boxes, and the cost is chosen by rows that the forests have not learned from.
Of the divisions that are as good as the best one up to the error of their difference, the finest is taken: boxes are
merged where that makes the table predict better, never because little is known. Where the target cannot be predicted at
all, by the forests or by any division, nothing is put together: whoever asks other questions loses no column.

**What is compared.** In each fold a box predicts for a row the mean prediction of a forest without this fold for the
fold's rows of the box; a division is judged by the squared error of that. Against the whole box, a cut saves 2 C - S, C
being the sum over the two sides of the product of prediction and truth, S of the square of the prediction, both about
the whole box. By chance alone C has mean 0 and variance v S, with v the variance of what is true within boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.k_anonymity.search.box_growth import BoxNodes
from anonkit.k_anonymity.search.out_of_sample_predictions import FOLDS, GRID, Predicted

_COSTS = 2.0 ** (np.arange(-14, 21) / 2)
"""Costs of a box, in units of the variance of the truth: from next to nothing to more than any table bears."""
_SIGNIFICANT_ERRORS = 3.0
"""Standard errors by which predictions for unseen rows must agree with the truth, to be believed where they err by more
than the mean does. On tables with a target to predict, of 220 to 3,180 rows, it was 3.9 to 36; with one drawn at
random, at most 3.0."""

_APART = 1.0
"""Standard errors of their difference by which a coarser division must be better than a finer one.

Settled on other halvings of six tables: docs/methods/mondrian.md, "Measured".
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Cuts:
    """The effect of each cut of a division, in arrays of shape (n_nodes,); 0 at leaves."""

    explained: FloatArray
    """Guide's variance that it keeps, times rows."""
    right: FloatArray
    """Prediction times truth, about the mean of the whole box: C."""
    square: FloatArray
    """Squared prediction, about the mean of the whole box: S."""

    def saved(self, cuts: BoolArray) -> float:
        """Return the squared error that some of the cuts save."""
        return float((2.0 * self.right - self.square)[cuts].sum())


def with_a_cut_of(splits: BoxNodes, retained: BoolArray, number: int) -> BoolArray:
    """Return the cuts that stay with one by a column among them, the one that brings fewest others back.

    Parameters
    ----------
    retained : BoolArray
        Cuts that stay, shape (n_nodes,), as `supported_cuts` returns them.
    number : int
        The column; where the division has no cut by it, nothing comes back.
    """
    cuts = np.flatnonzero(splits.column == number)
    if not cuts.size or retained[cuts].any():
        return retained
    above = np.zeros(retained.size, dtype=np.int64)  # cuts above each node that would have to come back
    for node in range(1, retained.size):  # parents come before their children
        parent = splits.parent[node]
        above[node] = above[parent] + (not retained[parent])
    back, node = retained.copy(), int(cuts[np.argmin(above[cuts])])
    while node >= 0:
        back[node] = True
        node = int(splits.parent[node])
    rest = np.flatnonzero(back)
    while rest.size:  # of a division along a hierarchy all parts come back
        rest = splits.left[rest] + 1
        rest = rest[splits.amid[rest] & (splits.column[rest] >= 0)]
        back[rest] = True
    return back


def supported_cuts(splits: BoxNodes, node: IntArray, rows: FloatArray, predicted: Predicted) -> BoolArray:
    """Return a mask of the cuts of a division that stay.

    Parameters
    ----------
    splits : Splits
        The division.
    node : IntArray
        Leaf of each entry, shape (n_entries,).
    rows : FloatArray
        Rows of each entry that guided, shape (n_entries,).
    predicted : Predicted
        What guided the division.

    Returns
    -------
    BoolArray
        Shape (n_nodes,). No cut stays below one that goes. Of a division along a hierarchy all parts stay or none.

    Privacy
    -------
    What is left are boxes that the growth went through, each of which met every requirement when it was made.
    """
    inner = splits.column >= 0
    if not predicted.truth.shape[1]:
        return inner
    forests = _Forests.of(predicted)
    if forests.know_nothing:
        return inner
    variance = forests.variance
    generations = _generations(splits)
    cuts = _judged(splits, generations, node, rows, predicted)
    divisions = [inner, *(_cheapest(splits, generations, cuts.explained, cost * variance) for cost in _COSTS)]
    saved = [cuts.saved(division) for division in divisions]
    best = int(np.argmax(saved))
    for division, saving in zip(divisions[:best], saved[:best], strict=True):
        apart = float(cuts.square[division & ~divisions[best]].sum())
        if saved[best] - saving <= _APART * 2.0 * np.sqrt(variance * apart):
            return division
    return divisions[best] if divisions[best].any() else inner


@dataclass(frozen=True, kw_only=True)
class _Forests:
    """The predictive power of the forests for rows that they have not seen."""

    right: float
    """Sum over rows of the prediction, about the mean of the fold, times the truth."""
    square: float
    """Sum over rows of the square of the prediction, about the mean of the fold."""
    variance: float
    """Variance of the truth along the prediction: by chance alone `right` has mean 0 and variance times `square`."""

    @classmethod
    def of(cls, predicted_rows: Predicted) -> _Forests:
        """Compare the predictions of the forests of all folds with the truth."""
        n_guides = predicted_rows.truth.shape[1]
        right, square = np.zeros(n_guides), np.zeros(n_guides)
        for fold in np.unique(predicted_rows.fold).tolist():
            predicted, true = (
                values[predicted_rows.fold == fold] / GRID
                for values in (predicted_rows.predictions, predicted_rows.truth)
            )
            predicted = predicted - predicted.mean(axis=0)
            right += (predicted * true).sum(axis=0)
            square += (predicted**2).sum(axis=0)
        along = float(((predicted_rows.truth / GRID).var(axis=0) * square).sum() / max(float(square.sum()), 1e-300))
        # of several classes a row has one: what is true of one guide goes against the others
        return cls(
            right=float(right.sum()),
            square=float(square.sum()),
            variance=along * (n_guides / (n_guides - 1) if n_guides > 1 else 1.0),
        )

    @property
    def know_nothing(self) -> bool:
        """Return True if what they say goes with the truth by chance alone, and is further off than the mean is."""
        error = np.sqrt(self.variance * self.square)  # half the standard error of what is saved against the mean
        return bool(self.right < _SIGNIFICANT_ERRORS * error and 2.0 * self.right - self.square < -2.0 * error)


def _generations(splits: BoxNodes) -> list[IntArray]:
    """Return the nodes that are cut, the root first, then its children, then theirs."""
    generations, here = [], np.zeros(1, dtype=np.int64)
    while (here := here[splits.column[here] >= 0]).size:
        generations.append(here)
        here = np.concatenate([splits.left[here], splits.left[here] + 1])
    return generations


def _judged(
    splits: BoxNodes, generations: list[IntArray], node: IntArray, rows: FloatArray, predicted: Predicted
) -> _Cuts:
    """Sum up what each cut does, guide by guide."""
    n_nodes = splits.column.size
    key = node[predicted.entry] * FOLDS + predicted.fold
    seen = _upwards(splits, generations, np.bincount(key, minlength=n_nodes * FOLDS).reshape(-1, FOLDS))
    sizes = _upwards(splits, generations, np.bincount(node, rows, minlength=n_nodes))
    explained, right, square = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    for at in range(predicted.truth.shape[1]):
        guide = _upwards(splits, generations, np.bincount(node, predicted.sums[:, at], minlength=n_nodes)) / GRID
        expected, true = (
            _upwards(splits, generations, np.bincount(key, values[:, at], minlength=n_nodes * FOLDS).reshape(-1, FOLDS))
            / GRID
            for values in (predicted.predictions, predicted.truth)
        )
        explained += guide**2 / np.maximum(sizes, 1.0)
        right += (expected * true / np.maximum(seen, 1.0)).sum(axis=1)
        square += (expected**2 / np.maximum(seen, 1.0)).sum(axis=1)
    return _Cuts(explained=_between(splits, explained), right=_between(splits, right), square=_between(splits, square))


def _upwards(splits: BoxNodes, generations: list[IntArray], leaves: NDArray[Any]) -> FloatArray:
    """Add what the leaves hold to all nodes above them."""
    sums = leaves.astype(np.float64)
    for nodes in reversed(generations):
        sums[nodes] = sums[splits.left[nodes]] + sums[splits.left[nodes] + 1]
    return sums


def _between(splits: BoxNodes, squares: FloatArray) -> FloatArray:
    """Return by how much the two sides of each cut have more than the whole, shape (n_nodes,)."""
    nodes = np.flatnonzero(splits.column >= 0)
    gained = np.zeros(squares.size)
    left = splits.left[nodes]
    gained[nodes] = squares[left] + squares[left + 1] - squares[nodes]
    return gained


def _cheapest(splits: BoxNodes, generations: list[IntArray], explained: FloatArray, cost: float) -> BoolArray:
    """Return the cuts of the division that keeps most after paying for each of its boxes, shape (n_nodes,)."""
    worth, stays = np.zeros(explained.size), np.zeros(explained.size, dtype=bool)
    for nodes in reversed(generations):
        left = splits.left[nodes]
        gain = explained[nodes] - cost + worth[left] + worth[left + 1]
        stays[nodes] = (gain > 0) | splits.amid[nodes]
        worth[nodes] = np.where(stays[nodes], gain, 0.0)
    for nodes in generations:
        left = splits.left[nodes]
        stays[left] &= stays[nodes]
        stays[left + 1] &= stays[nodes]
    return stays
