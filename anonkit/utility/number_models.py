# SPDX-License-Identifier: Apache-2.0
"""Utility of a numeric target to a consumer: models of a released table, scored on rows that were not released."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.utility.consumer_models import FEWEST, features_of, model_features, threads_for, weighted_rows
from anonkit.utility.number_scores import number_scores, rounded_score, score_errors

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
