# SPDX-License-Identifier: Apache-2.0
"""The score of a model with what each test row contributes to it, so that two models are compared row by row.

Two models that are scored on the same rows err on the same difficult ones. So the interval of their difference is
narrower than that of either score, and a choice between them rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.utility.class_scores import class_scores
from anonkit.utility.consumer_models import scores_of_shares
from anonkit.utility.score_intervals import influence_on_area

_DIGITS = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class RowShares:
    """A score, and n times what it moves by each row."""

    value: float
    """Area under the curve in [0, 1], or R² in (-inf, 1]."""
    influence: NDArray[np.float64]
    """Shape (n,), with a sum near 0."""
    freedom: int
    """Degrees of freedom of its variance: those of the smallest class, or of all rows."""

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the 95 % interval of the score."""
        return _interval(self.value, self.influence, self.freedom)

    def less(self, other: RowShares) -> tuple[float, tuple[float, float]] | None:
        """Return this score less another one, and its 95 % interval; None where the rows are not the same."""
        if self.influence.size != other.influence.size:
            return None
        difference, freedom = self.value - other.value, min(self.freedom, other.freedom)
        return difference, _interval(difference, self.influence - other.influence, freedom)


@dataclass(frozen=True, kw_only=True)
class MeasuredModel:
    """The scores of a model on test rows, and what each row contributes to the one that models are compared by."""

    scores: Mapping[str, Any]
    """By measure, with 95 % intervals under `ci`."""
    by_row: RowShares

    @classmethod
    def of_classes(cls, shares: NDArray[np.float64], truth: NDArray[np.int64]) -> MeasuredModel:
        """Measure a classifier by the share it gives every class, as `of_classes` takes them."""
        by_row = of_classes(shares, truth)
        ends = [round(end, _DIGITS) for end in by_row.interval]
        return cls(scores={**scores_of_shares(shares, truth), "ci": {"auc": ends}}, by_row=by_row)


def of_classes(shares: NDArray[np.float64], truth: NDArray[np.int64]) -> RowShares:
    """Return the area under the curve of a classifier, row by row.

    Parameters
    ----------
    shares : array, shape (n, n_classes)
        Probability of each class.
    truth : array, shape (n,)
        True class of each row; one from n_classes on is a class that the model does not know.

    References
    ----------
    DeLong, DeLong, Clarke-Pearson: Comparing the areas under two or more correlated receiver operating characteristic
    curves. Biometrics 44 (1988), 837-845.
    """
    value = class_scores(shares, truth)["auc"]
    unknown = max(int(truth.max()) + 1 - shares.shape[1], 0)
    padded = np.hstack([shares, np.zeros((len(shares), unknown))])
    seen, rows = np.unique(truth, return_counts=True)
    of_class = np.sqrt(rows / np.maximum(rows - 1, 1))[np.searchsorted(seen, truth)]  # a sample's variance, by class
    influence = influence_on_area(padded, truth, seen) * of_class
    return RowShares(value=value, influence=influence, freedom=max(int(rows.min()) - 1, 1))


def of_numbers(predicted: NDArray[np.float64], truth: NDArray[np.float64]) -> RowShares:
    """Return R² of a prediction, row by row, by the delta method for a ratio of two means.

    Parameters
    ----------
    predicted, truth : array, shape (n,)
        Finite numbers; the truth has two different ones or more.
    """
    error, spread = (predicted - truth) ** 2, (truth - truth.mean()) ** 2
    ratio = error.mean() / spread.mean()
    influence = -(error - ratio * spread) / spread.mean()
    return RowShares(value=float(1 - ratio), influence=influence, freedom=max(truth.size - 1, 1))


def _interval(value: float, influence: NDArray[np.float64], freedom: int) -> tuple[float, float]:
    from scipy.special import stdtrit

    half = float(stdtrit(freedom, 0.975)) * math.sqrt(float((influence**2).sum())) / influence.size
    return value - half, value + half
