# SPDX-License-Identifier: Apache-2.0
"""Utility of a numeric target to a consumer: models of a released table, scored on rows that were not released.

Scores of a prediction of numbers: R² and mean absolute error, with 95 % intervals over the rows of one test.

R² is the share of the truth's squared deviations from its mean that the prediction explains: 1 is perfect, predicting
the mean of the test rows is 0, and worse than that is below 0, without a bound. The mean absolute error is in the unit
of the target.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.coded_columns import FloatArray
from anonkit.utility.consumer_models import FEWEST, features_of, model_features, threads_for, weighted_rows

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


MEAN = "the mean"
"""Baseline beside the models: the mean of the released targets, predicted for every row."""


def scores_of_number_models(train: pa.Table, test: pa.Table, target: str) -> dict[str, dict[str, Any]]:
    """Train three kinds of models to predict a number, and score them beside its mean.

    Parameters
    ----------
    train : Table
        Released rows.
    test : Table
        Test rows with the same columns, recoded like the released ones.
    target : str
        The number; rows of either table in which it is none are left out.

    Returns
    -------
    dict
        `r2`, `mae` and `ci` with the 95 % interval of both over the test rows, of each model and of the mean; empty
        for few rows, and where the test rows have one number alone.
    """
    predicted, truth = numbers_of_models(train, test, target)
    return {name: scored(guesses, truth) for name, guesses in predicted.items()}


def numbers_of_models(
    train: pa.Table, test: pa.Table, target: str, weight: str | None = None
) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.float64]]:
    """Train three kinds of models, and return their number, and the mean, for every test row.

    Parameters
    ----------
    train, test, target
        As for `scores_of_number_models`.
    weight : str, optional
        Column of the weights of a sample: never a feature. Models, and the mean, weigh training rows by it, and leave
        out rows without a weight; test rows count alike.

    Returns
    -------
    dict of array, shape (n,)
        By the name of the model; empty where nothing can be learned or scored.
    array, shape (n,)
        The true numbers.
    """
    train, weights = weighted_rows(with_numbers(train, target)[0], weight)
    train, learned = with_numbers(train, target)
    test, truth = with_numbers(test, target)
    features = features_of(train, test, target, weight)
    if train.num_rows < FEWEST or number_scores(truth, truth) is None:
        return {}, truth
    predicted = {MEAN: np.full(truth.size, np.average(learned, weights=weights))}
    if features:
        ordinal, one_hot = model_features(train, test, features)
        models = {
            "random forest": (_forest(), ordinal),
            "boosted trees": (_boosted(), ordinal),
            "linear regression": (_linear(), one_hot),
        }
        with threads_for(learned.size + truth.size):
            for name, (model, matrix) in models.items():
                fitted = model.fit(matrix[: learned.size], learned, sample_weight=weights)
                predicted[name] = fitted.predict(matrix[learned.size :])
    return predicted, truth


def scored(predicted: NDArray[np.float64], truth: NDArray[np.float64]) -> dict[str, Any]:
    """Return the scores of a prediction with their intervals, rounded; empty where the truth is one number."""
    scores = number_scores(predicted, truth)
    if scores is None:
        return {}
    intervals = score_errors(predicted, truth)
    ends = {name: [rounded_score(name, end) for end in interval] for name, interval in intervals.items()}
    return {**{name: rounded_score(name, score) for name, score in scores.items()}, **({"ci": ends} if ends else {})}


def with_numbers(table: pa.Table, target: str) -> tuple[pa.Table, NDArray[np.float64]]:
    """Return the rows in which the target is a finite number, and these numbers; dates count in days."""
    numbers = numbers_of(table.column(target))
    known = np.isfinite(numbers)
    return table.filter(pa.array(known)), numbers[known]


def numbers_of(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return the cells of a column as numbers, shape (n_rows,): dates in days, NaN for what is none."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_temporal(kind) and not pa.types.is_time(kind) and not pa.types.is_duration(kind):
        days = pc.cast(column.cast(pa.timestamp("us")), pa.int64())
        return np.asarray(pc.fill_null(days.cast(pa.float64(), safe=False), np.nan)) / 86_400e6
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan))
    values = pc.dictionary_encode(column.cast(kind).combine_chunks())
    known = np.array([_number(value) for value in values.dictionary.to_pylist()] + [np.nan])
    return np.asarray(known[pc.fill_null(values.indices, len(known) - 1).to_numpy(zero_copy_only=False)])


def _number(value: object) -> float:
    """Return the number that a string spells in digits; words such as `nan` and `inf` spell none."""
    text = str(value).strip()
    try:
        return float(text) if isinstance(value, str) and text[-1:].isascii() and any(map(str.isdigit, text)) else np.nan
    except ValueError:
        return np.nan


def _forest() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(100, min_samples_leaf=5, max_features=1 / 3, random_state=0)


def _boosted() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=60, random_state=0)


def _linear() -> Any:
    from sklearn.linear_model import Ridge

    return Ridge()
