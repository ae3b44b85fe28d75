# SPDX-License-Identifier: Apache-2.0
"""Out-of-fold class probabilities of a boosted forest, the guide of a local recoding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.domains.coded_columns import UNLABELLED, CodedColumn, combine, densify
from anonkit.randomness import Randomness

GRID = 2.0**20
"""Probabilities are integers in units of 1 / GRID, so that no sum of them depends on the order of the rows."""

_FOLDS = 5
_ROWS = 300_000  # labelled rows that are learned from; more no longer change the boxes
_TREES = 800
_CLASSES = 32  # the rarest classes beyond these are told together
_CATEGORIES = 255  # the limit of histogram boosting; the rarest categories beyond it are learned as one


def soft_labels(columns: Sequence[CodedColumn], entry: IntArray, labels: IntArray, seed: int) -> FloatArray:
    """Sum the class probabilities of the rows of each entry.

    Every labelled row is in one of five folds and gets its probabilities from a gradient boosted forest (Friedman
    2001) that learned from the other four; an unlabelled row gets the mean of the five forests. No row's
    probabilities come from its own label.

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

    Returns
    -------
    FloatArray
        Shape (n_entries, n_guides), integers in units of 1 / `GRID`. Two classes need one guide; without two
        classes there is nothing to tell, and no guide.
    """
    n_entries = columns[0].codes.size
    labelled = np.flatnonzero(labels != UNLABELLED)
    classes, n_classes = _frequent(labels[labelled], _CLASSES)
    if n_classes < 2:
        return np.empty((n_entries, 0))
    features = np.stack([_feature(column) for column in columns], axis=1)
    categorical = [not column.ordered for column in columns]
    cell, _ = combine([column.codes for column in columns], n_entries)
    sorted_rows = np.lexsort((classes, cell[entry[labelled]]))  # rows that are alike may change places
    learners = sorted_rows[Randomness.seeded(seed).permutation(labelled.size)[:_ROWS]]
    where, classes = entry[labelled[learners]], classes[learners]
    n_folds = min(_FOLDS, learners.size)
    fold = np.arange(learners.size) % n_folds
    unseen = np.bincount(entry, minlength=n_entries) - np.bincount(where, minlength=n_entries)
    total = np.zeros((n_entries, n_classes))
    for number in range(n_folds):
        learned, held = fold != number, np.bincount(where[fold == number], minlength=n_entries)
        probabilities = _told(features, where[learned], classes[learned], n_classes, categorical, seed)
        total += (held + unseen / n_folds)[:, None] * probabilities
    return np.rint(GRID * (total[:, 1:] if n_classes == 2 else total))


def _frequent(codes: IntArray, limit: int) -> tuple[IntArray, int]:
    """Renumber codes as 0..m-1 with m at most `limit`, the rarest as one; return them and m."""
    dense, m = densify(codes)
    if m <= limit:
        return dense, m
    place = np.empty(m, dtype=np.int64)
    place[np.argsort(-np.bincount(dense), kind="stable")] = np.arange(m)
    return np.minimum(place, limit - 1)[dense], limit


def _feature(column: CodedColumn) -> FloatArray:
    if not column.ordered:
        return _frequent(column.codes.astype(np.int64), _CATEGORIES)[0].astype(np.float64)
    return np.where(column.codes == (column.size if column.missing is None else column.missing), np.nan, column.codes)


def _told(
    features: FloatArray, rows: IntArray, classes: IntArray, n_classes: int, categorical: list[bool], seed: int
) -> FloatArray:
    """Learn from the given rows of `features`, return the class probabilities of all; shape (n_entries, n_classes)."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    present = np.unique(classes)
    probabilities = np.zeros((features.shape[0], n_classes))
    if present.size < 2:
        probabilities[:, present] = 1.0
        return probabilities
    telling = np.flatnonzero(~np.isnan(features[rows]).all(axis=0))  # a column missing in all rows teaches nothing
    if telling.size == 0:
        probabilities[:, present] = np.bincount(np.searchsorted(present, classes)) / classes.size
        return probabilities
    features, categorical = features[:, telling], [categorical[at] for at in telling.tolist()]
    forest = HistGradientBoostingClassifier(
        learning_rate=0.1,
        max_iter=max(25, min(100, _TREES // present.size, classes.size // 10)),  # few rows bear few rounds
        max_leaf_nodes=15,
        min_samples_leaf=5,
        l2_regularization=5.0,
        max_features=0.5,
        categorical_features=categorical,
        early_stopping=False,
        random_state=seed,
    )
    with threadpool_limits(limits=1, user_api="openmp"):  # on busy cores more threads are up to 50 times slower
        probabilities[:, present] = forest.fit(features[rows], classes).predict_proba(features)
    return probabilities
