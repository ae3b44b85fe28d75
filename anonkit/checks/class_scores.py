# SPDX-License-Identifier: Apache-2.0
"""Scores of a classifier from the share it gives every class: area under the ROC curve, and shares of right guesses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MEASURES = ("auc", "balanced_accuracy", "accuracy")


def class_scores(shares: NDArray[np.float64], truth: NDArray[np.int64]) -> dict[str, float]:
    """Score a classifier by the share it gives every class.

    Parameters
    ----------
    shares : array, shape (n, n_classes)
        Probability of each class, row by row.
    truth : array, shape (n,)
        True class of each row; two classes occur, or more. One from n_classes on is a class that the model does not
        know: it never guesses it, and tells it from others no better than a coin.

    Returns
    -------
    dict
        `auc`, `balanced_accuracy`, `accuracy`, each in [0, 1]. With several classes `auc` is the mean of each
        against the rest, weighted by its rows, over the classes that occur.
    """
    from sklearn.metrics import roc_auc_score

    guessed = shares.argmax(axis=1)
    unknown = max(int(truth.max()) + 1 - shares.shape[1], 0)
    shares = np.hstack([shares, np.zeros((len(shares), unknown))])
    seen, rows = np.unique(truth, return_counts=True)
    if shares.shape[1] == 2:
        auc = roc_auc_score(truth, shares[:, 1])
    else:
        auc = np.average([roc_auc_score(truth == chosen, shares[:, chosen]) for chosen in seen], weights=rows)
    return {
        "auc": float(auc),
        "balanced_accuracy": mean_recall(truth, guessed),
        "accuracy": float((truth == guessed).mean()),
    }


def mean_recall(truth: NDArray[np.int64], guessed: NDArray[np.int64]) -> float:
    """Return the balanced accuracy: the share of right guesses in each class that occurs, averaged, in [0, 1]."""
    right = truth == guessed
    rows = np.bincount(truth)
    seen = rows > 0
    return float((np.bincount(truth, weights=right)[seen] / rows[seen]).mean())
