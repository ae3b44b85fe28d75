# SPDX-License-Identifier: Apache-2.0
"""Scores of a classifier from the share it gives every class: area under the ROC curve, and shares of right guesses.

95 % intervals of scores: of one model over the rows it is scored on, and of models of parts of the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

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


INTERVAL = "95% intervals: corrected resampled t (Nadeau and Bengio 2003)"
INTERVAL_OF_ROWS = (
    "95% intervals for this model over rows like those scored: AUC by DeLong et al. (1988), in log odds, with "
    "Student's t by the rows of the smallest class; accuracy by Wilson (1927); balanced accuracy by binomial variances"
)
BETTER, WORSE, NOTHING_SHOWN = "better", "worse", "no difference that these rows can show"
"""Meaning of a difference; the last where its interval includes 0."""
_DIGITS = 4
"""Decimals of a published score: a convention."""


def score_interval(
    scores: Sequence[float], test_per_train: float, *, least: float = 0.0, most: float = 1.0
) -> tuple[float, float]:
    """Return the 95 % interval of the mean of scores from several parts: the corrected resampled t interval.

    Scores of folds are not independent: their models are trained on mostly the same rows. The variance of the mean is
    therefore (1/J + n_test/n_train) s², where the naive one is s²/J.

    Parameters
    ----------
    scores : sequence of float
        Score of each part, two or more; for a comparison the difference of two models on the same part.
    test_per_train : float
        Rows of a part by rows the model was trained on, in (0, inf): 1/4 for five folds.
    least, most : float
        Least and largest value that the mean can have: 0 and 1 for a share, -1 and 1 for a difference of shares.

    Returns
    -------
    tuple of float
        Ends rounded outwards to four digits behind the point; of small numbers to five significant ones.

    References
    ----------
    Nadeau, Bengio: Inference for the Generalization Error. Machine Learning 52 (2003), 239-281.
    """
    from scipy.special import stdtrit

    values = np.asarray(scores, dtype=np.float64)
    spread = math.sqrt((1 / values.size + test_per_train) * values.var(ddof=1))
    half, middle = float(stdtrit(values.size - 1, 0.975)) * spread, float(values.mean())
    return rounded_outwards(middle - half, middle + half, least=least, most=most)


def rounded_outwards(low: float, high: float, *, least: float = 0.0, most: float = 1.0) -> tuple[float, float]:
    """Return the ends of an interval within limits, rounded outwards to four digits; of small numbers to five."""
    unit = 10 ** _digits(abs(low + high) / 2 if most > 1 else 1.0)
    return max(math.floor(low * unit + 1e-6) / unit, least), min(math.ceil(high * unit - 1e-6) / unit, most)


def class_score_intervals(shares: NDArray[np.float64], truth: NDArray[np.int64]) -> dict[str, tuple[float, float]]:
    """Return the 95 % interval of each of `class_scores` of a model that is given, over the rows it is scored on.

    The rows scored must have had no part in the model. The variance of the area under the curve is that of its
    influence function, which is DeLong's for two classes; of several, the weights of the classes vary with the rows
    too. The quantile is Student's, with the rows of the smallest class less one; the interval is one of the log odds.

    Parameters
    ----------
    shares : array, shape (n, n_classes)
        Probability of each class, row by row.
    truth : array, shape (n,)
        True class of each row, in [0, n_classes); two rows or more of every class that occurs, and two classes.

    Returns
    -------
    dict
        Ends by measure, in [0, 1], rounded outwards to four digits.

    References
    ----------
    DeLong, DeLong, Clarke-Pearson: Comparing the areas under two or more correlated receiver operating characteristic
    curves. Biometrics 44 (1988), 837-845.
    """
    from scipy.special import stdtrit

    scores, n = class_scores(shares, truth), truth.size
    seen, rows = np.unique(truth, return_counts=True)
    smallest = int(rows.min())
    quantile = float(stdtrit(smallest - 1, 0.975))
    influence = influence_on_area(shares, truth, seen)
    right = shares.argmax(axis=1) == truth
    # one right and one wrong guess more: a model that is always right in a few rows is not always right
    recalls = np.array([(right[truth == label].sum() + 1) / (size + 2) for label, size in zip(seen, rows, strict=True)])
    of_class = (rows / (rows - 1))[np.searchsorted(seen, truth)]  # a sample's variance, class by class
    deviation = math.sqrt(float((influence**2 * of_class).sum())) / n
    half = quantile * math.sqrt(float((recalls * (1 - recalls) / rows).sum())) / seen.size
    ends = {
        "auc": _interval_of_area(scores["auc"], quantile * deviation, smallest),
        "balanced_accuracy": (scores["balanced_accuracy"] - half, scores["balanced_accuracy"] + half),
        "accuracy": _interval_of_share(scores["accuracy"], n, float(stdtrit(n - 1, 0.975))),
    }
    return {name: rounded_outwards(*pair) for name, pair in ends.items()}


def _interval_of_share(share: float, n: int, quantile: float) -> tuple[float, float]:
    """Return Wilson's interval of a share of n."""
    weight = quantile**2 / n
    half = quantile * math.sqrt(share * (1 - share) / n + weight / (4 * n))
    return (share + weight / 2 - half) / (1 + weight), (share + weight / 2 + half) / (1 + weight)


def _interval_of_area(area: float, half: float, smallest: int) -> tuple[float, float]:
    """Return an interval that is symmetric in the log odds of an area; near 0 and 1 its estimate is skew.

    An area of 0 or 1 has no variance that could be seen: there the end is that of so many right guesses of as many.
    """
    least = 0.025 ** (1 / smallest)
    if not 0 < area < 1:
        return (least, 1.0) if area else (0.0, 1 - least)
    width = half / (area * (1 - area))
    odds = area / (1 - area)
    low, high = odds * math.exp(-min(width, 700.0)), odds * math.exp(min(width, 700.0))
    return low / (1 + low), high / (1 + high)


def influence_on_area(
    shares: NDArray[np.float64], truth: NDArray[np.int64], seen: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return n times what the area under the curve changes by each row, shape (n,)."""
    chosen = seen[-1:] if shares.shape[1] == 2 else seen
    influence, areas = np.zeros(truth.size), np.zeros(int(truth.max()) + 1)
    for label in chosen:
        positive = truth == label
        areas[label], share = area_under_curve(positive, shares[:, label]), positive.mean()
        weight = 1.0 if chosen.size == 1 else share
        own = np.where(positive, share, 1 - share)
        influence += weight * (_placements(positive, shares[:, label]) - areas[label]) / own
    if chosen.size > 1:
        influence += areas[truth] - areas[truth].mean()
    return influence


def _placements(positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the rows of the other kind that each row is on the right side of, ties half, shape (n,)."""
    values, place = np.unique(scores, return_inverse=True)
    of_kind = [np.bincount(place[kind], minlength=values.size) for kind in (~positive, positive)]
    below = [counts.cumsum() - counts / 2 for counts in of_kind]
    shares = np.where(positive, below[0][place] / of_kind[0].sum(), 1 - below[1][place] / of_kind[1].sum())
    return np.asarray(shares, dtype=np.float64)


def _digits(size: float) -> int:
    """Return the number of digits after the point for a number of this size."""
    return _DIGITS if size == 0 else max(_DIGITS, _DIGITS - math.floor(math.log10(size)))


def paired_difference(
    scores: Sequence[float],
    others: Sequence[float],
    test_per_train: float,
    *,
    bounded: bool = True,
    less_is_better: bool = False,
) -> dict[str, Any]:
    """Compare two models by their scores on the same parts of the same rows.

    Parameters
    ----------
    scores, others : sequence of float
        Scores of either model, part by part; shape (n_parts,) each.
    test_per_train : float
        As for `score_interval`.
    bounded : bool
        Whether scores are in [0, 1], so that their difference is in [-1, 1].
    less_is_better : bool
        Whether the scores are errors: then a lower one is better.

    Returns
    -------
    dict
        `value`: mean of `scores` minus mean of `others`; `ci`: its 95 % interval; `shows`: whether the first is
        `better` or `worse` than the second, or that the interval includes 0.
    """
    differences = [one - other for one, other in zip(scores, others, strict=True)]
    largest = 1.0 if bounded else math.inf
    low, high = score_interval(differences, test_per_train, least=-largest, most=largest)
    above, below = (WORSE, BETTER) if less_is_better else (BETTER, WORSE)
    shows = above if low > 0 else below if high < 0 else NOTHING_SHOWN
    value = float(np.mean(differences))
    return {"value": round(value, _DIGITS if bounded else _digits(abs(value))), "ci": [low, high], "shows": shows}
