# SPDX-License-Identifier: Apache-2.0
"""Scores of a prediction of numbers: R² and mean absolute error, with 95 % intervals over the rows of one test.

R² is the share of the truth's squared deviations from its mean that the prediction explains: 1 is perfect, predicting
the mean of the test rows is 0, and worse than that is below 0, without a bound. The mean absolute error is in the unit
of the target.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from anonkit.domains.array_types import FloatArray

NUMBER_MEASURES = ("r2", "mae")
"""`r2` is better the larger it is, `mae` the smaller."""
NumberScores: TypeAlias = dict[str, float]
"""A score by measure."""
_T_975 = 1.959963984540054  # of the normal law: tests of fewer than 30 rows are scored without an interval
_FEWEST = 30


def number_scores(predicted: FloatArray, truth: FloatArray) -> NumberScores | None:
    """Score a prediction of numbers.

    Parameters
    ----------
    predicted, truth : ndarray of shape (n_rows,)
        Finite numbers.

    Returns
    -------
    dict or None
        `r2`, in (-inf, 1], and `mae`, in [0, inf); None where the truth is one number, or there is no row: then nothing
        can be explained.
    """
    if truth.size == 0:
        return None
    spread = _squares(truth - truth.mean())
    if spread <= 0.0:
        return None
    errors = predicted - truth
    return {"r2": 1.0 - _squares(errors) / spread, "mae": math.fsum(np.abs(errors).tolist()) / truth.size}


def score_errors(predicted: FloatArray, truth: FloatArray) -> Mapping[str, tuple[float, float]]:
    """Return the 95 % interval of each score over the rows of one test, for a model that is given.

    The mean absolute error is a mean over rows; R² is one minus a ratio of two means, whose standard error is that of
    the linearized ratio (Cochran, Sampling Techniques, 1977, ch. 6). Both are normal for large tests.

    Parameters
    ----------
    predicted, truth : ndarray of shape (n_rows,)
        Finite numbers.

    Returns
    -------
    mapping of measure to (low, high)
        Nothing for fewer than 30 rows, or a truth of one number.
    """
    scores = number_scores(predicted, truth)
    if scores is None or truth.size < _FEWEST:
        return {}
    errors, deviations = predicted - truth, truth - truth.mean()
    scale = float((deviations**2).mean())
    residual = (errors**2 - (1.0 - scores["r2"]) * deviations**2) / scale
    half = {"r2": _half_width(residual), "mae": _half_width(np.abs(errors))}
    most, least = {"r2": 1.0, "mae": math.inf}, {"r2": -math.inf, "mae": 0.0}
    return {
        name: (max(scores[name] - half[name], least[name]), min(scores[name] + half[name], most[name]))
        for name in NUMBER_MEASURES
    }


def rounded_score(measure: str, score: float) -> float:
    """Return a score with four digits behind the point; of an error in a small unit, with five significant ones."""
    digits = (
        4
        if measure == "r2" or score == 0 or not math.isfinite(score)
        else max(4, 4 - math.floor(math.log10(abs(score))))
    )
    return round(score, digits)


def _half_width(values: FloatArray) -> float:
    return _T_975 * float(values.std(ddof=1)) / math.sqrt(values.size)


def _squares(values: FloatArray) -> float:
    return math.fsum((values**2).tolist())
