# SPDX-License-Identifier: Apache-2.0
"""Predicted classes and numbers against true ones: accuracy, areas under the curve, R², errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anonkit.documents import ReportPart, left_out
from anonkit.domains.coded_columns import FloatArray
from anonkit.domains.number_bins import UNKNOWN
from anonkit.errors import SourceError
from anonkit.utility.class_scores import area_under_curve
from anonkit.utility.number_models import number_scores, score_errors


@dataclass(frozen=True, kw_only=True)
class Scores(ReportPart):
    """The accuracy of a model that predicts the target of a table it has not seen."""

    n: int
    """Rows of the table."""
    accuracy: float
    """Share of the rows whose class was predicted."""
    balanced_accuracy: float
    """Mean over the classes that occur of the share that was predicted."""
    auc: float | None
    """Area under the ROC curve; with several classes the mean of one against the rest. None where one class occurs."""
    majority: float
    """Share of the commonest class: what needs no model."""
    confusion: tuple[tuple[int, ...], ...]
    """Rows of true class (row) and predicted class (column), in the order of the classes."""


@dataclass(frozen=True, kw_only=True)
class RegressionScores(ReportPart, keys=("n", "r2", "mae", "ci=intervals", "of_mean")):
    """The error of a model that predicts the numbers of a table it has not seen."""

    n: int
    """Rows of the table."""
    r2: float
    """Share of the squared deviations from the mean of these rows that is explained; below 0: worse than the mean."""
    mae: float
    """Mean absolute error, in the unit of the target."""
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict, metadata=left_out())
    """95 % intervals of `r2` and `mae` over the rows; none for fewer than 30."""
    mean_mae: float
    """Mean absolute error of the mean of these rows, whose R² is 0: what needs no model."""

    @property
    def of_mean(self) -> dict[str, float]:
        """The same scores of a guess that is always the mean."""
        return {"r2": 0.0, "mae": self.mean_mae}


def prediction_scores(truth: NDArray[np.int64], shares: FloatArray) -> Scores:
    """Return the scores of predicted classes.

    Parameters
    ----------
    truth : int array, shape (n,)
        True class of each row, in [0, n_classes), or `UNKNOWN`.
    shares : float array, shape (n, n_classes)
        Probability of every class.

    Raises
    ------
    SourceError
        There are no rows, or a label that is no class.
    """
    if (truth == UNKNOWN).any():
        count = int((truth == UNKNOWN).sum())
        raise SourceError(f"{count} of {truth.size} rows of the test table hold a label that is not among the classes")
    if truth.size == 0:
        raise SourceError("the test table has no rows")
    size, guessed = shares.shape[1], shares.argmax(axis=1)
    confusion = np.bincount(truth * size + guessed, minlength=size * size).reshape(size, size)
    rows = confusion.sum(axis=1)
    seen = rows > 0
    return Scores(
        n=int(truth.size),
        accuracy=float(np.trace(confusion) / truth.size),
        balanced_accuracy=float((np.diag(confusion)[seen] / rows[seen]).mean()),
        auc=_area(truth, shares),
        majority=float(rows.max() / truth.size),
        confusion=tuple(tuple(int(count) for count in row) for row in confusion),
    )


def regression_scores(predicted: FloatArray, truth: FloatArray) -> RegressionScores:
    """Return the scores of predicted numbers.

    Parameters
    ----------
    predicted, truth : float array, shape (n,)
        NaN where the truth is missing.

    Raises
    ------
    SourceError
        A number is missing, or they are all the same: there is nothing to explain.
    """
    lost = int(np.isnan(truth).sum())
    if lost:
        raise SourceError(f"{lost} of {truth.size} rows of the test table hold no number to compare with")
    scores = number_scores(predicted, truth)
    if scores is None:
        raise SourceError("the test table has no rows that differ in the target")
    return RegressionScores(
        n=int(truth.size),
        r2=scores["r2"],
        mae=scores["mae"],
        intervals=score_errors(predicted, truth),
        mean_mae=float(np.abs(truth - truth.mean()).mean()),
    )


def _area(truth: NDArray[np.int64], shares: FloatArray) -> float | None:
    """Return the area under the ROC curve, of the second class of two or the mean of each class against the rest."""
    classes = [1] if shares.shape[1] == 2 else range(shares.shape[1])
    areas = [
        area_under_curve(truth == class_, shares[:, class_])
        for class_ in classes
        if 0 < (truth == class_).sum() < truth.size
    ]
    return float(np.mean(areas)) if areas else None
