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
        know: it never guesses it, and separates it from others no better than a coin.

    Returns
    -------
    dict
        `auc`, `balanced_accuracy`, `accuracy`, each in [0, 1]. With several classes `auc` is the mean of each
        against the rest, weighted by its rows, over the classes that occur.
    """
    guessed = shares.argmax(axis=1)
    unknown = max(int(truth.max()) + 1 - shares.shape[1], 0)
    shares = np.hstack([shares, np.zeros((len(shares), unknown))])
    seen, rows = np.unique(truth, return_counts=True)
    if shares.shape[1] == 2:
        auc = area_under_curve(truth == 1, shares[:, 1])
    else:
        areas = [area_under_curve(truth == chosen, shares[:, chosen]) for chosen in seen]
        auc = float(np.average(areas, weights=rows))
    return {
        "auc": auc,
        "balanced_accuracy": mean_recall(truth, guessed),
        "accuracy": float((truth == guessed).mean()),
    }


def area_under_curve(positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """Return the area under the ROC curve: how often a positive has the higher score of two, ties counting half.

    Mann and Whitney's statistic, from the ranks: a call of scikit-learn's takes some milliseconds whatever it is of,
    and a release makes dozens.

    Parameters
    ----------
    positive : array of bool, shape (n,)
        One row is positive, and one is not, or more.
    scores : array, shape (n,)

    Returns
    -------
    float
        In [0, 1].
    """
    _, place, ties = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = ties.cumsum() - (ties - 1) / 2
    n_positive = int(positive.sum())
    above = ranks[place][positive].sum() - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * (positive.size - n_positive)))


def mean_recall(truth: NDArray[np.int64], guessed: NDArray[np.int64]) -> float:
    """Return the balanced accuracy: the share of right guesses in each class that occurs, averaged, in [0, 1]."""
    right = truth == guessed
    rows = np.bincount(truth)
    seen = rows > 0
    return float((np.bincount(truth, weights=right)[seen] / rows[seen]).mean())
