# SPDX-License-Identifier: Apache-2.0
"""Cross-validated utility of a table to a consumer's model; anybody can repeat it, since only the table is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.estimators.bagged_trees import grow_trees

SAMPLE = 10_000
"""Rows used, at most."""
_FEWEST = 100  # rows below which a score says nothing
_FOLDS, _TREES, _LEAF, _CLASSES = 5, 50, 5, 20
PROTOCOL = (
    f"{_FOLDS}-fold cross-validation of a random forest ({_TREES} trees, at least {_LEAF} rows a leaf) on at most "
    f"{SAMPLE:,} rows, cells coded as integers"
)


def predictive_utility(table: pa.Table, features: Sequence[str], target: str) -> dict[str, Any] | None:
    """Score how well the features of a table predict its target.

    Parameters
    ----------
    table : pyarrow.Table
        At most `SAMPLE` rows are wise. Rows without a target are left out.
    features : sequence of str
        Columns the model sees.
    target : str
        A column of 2 to 20 classes.

    Returns
    -------
    dict or None
        `auc` (one class against the rest, weighted), `balanced_accuracy`, `accuracy`, `majority`, each a float in
        [0, 1], with `model` and `protocol`; None where it would say nothing: fewer than 100 rows, a class with
        fewer than five, one class, a numeric target of many values, no feature.

    Privacy
    -------
    A function of the table alone: public for a release, the owner's for a source.
    """
    table = table.filter(pc.is_valid(table.column(target)))
    if table.num_rows < _FEWEST or not features:
        return None
    labels, sizes = _codes(table.column(target))
    if not 2 <= sizes.size <= _CLASSES or sizes.min() < _FOLDS:
        return None
    matrix = np.column_stack([_codes(table.column(name))[0] for name in features]).astype(np.float32)
    return {"model": "random forest", "protocol": PROTOCOL, **_scores(matrix, labels, sizes)}


def _scores(matrix: NDArray[np.float32], labels: NDArray[np.int64], sizes: NDArray[np.int64]) -> dict[str, float]:
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    order = np.lexsort((*matrix.T, labels))  # the same score whatever the order of the rows
    matrix, labels = matrix[order], labels[order]
    probabilities = np.empty((labels.size, sizes.size))
    for train, test in StratifiedKFold(_FOLDS, shuffle=True, random_state=0).split(matrix, labels):
        forest = grow_trees(matrix[train], labels[train], trees=_TREES, seed=0, leaf=_LEAF)
        probabilities[test] = forest.predict_proba(matrix[test])
    guessed = probabilities.argmax(axis=1)
    if sizes.size == 2:
        auc = roc_auc_score(labels, probabilities[:, 1])
    else:
        auc = roc_auc_score(labels, probabilities, multi_class="ovr", average="weighted")
    return {
        "auc": round(float(auc), 4),
        "balanced_accuracy": round(mean_recall(labels, guessed), 4),
        "accuracy": round(float((labels == guessed).mean()), 4),
        "majority": round(float(sizes.max() / sizes.sum()), 4),
    }


def mean_recall(truth: NDArray[np.int64], guessed: NDArray[np.int64]) -> float:
    """Return the balanced accuracy: the share of right guesses in each class that occurs, averaged, in [0, 1]."""
    right = truth == guessed
    rows = np.bincount(truth)
    seen = rows > 0
    return float((np.bincount(truth, weights=right)[seen] / rows[seen]).mean())


def _codes(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return codes in ascending order of the value, missing last, and how often each occurs."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    encoded = pc.dictionary_encode(plain.combine_chunks())
    rank = np.argsort(pc.sort_indices(encoded.dictionary).to_numpy())
    codes = np.append(rank, rank.size)[pc.fill_null(encoded.indices, rank.size).to_numpy()]
    return codes.astype(np.int64), np.bincount(codes)
