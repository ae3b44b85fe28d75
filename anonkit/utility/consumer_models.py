# SPDX-License-Identifier: Apache-2.0
"""Utility to a consumer: ordinary models trained on a released table and scored on rows that were not released."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.utility.class_scores import class_scores

MODELS = ("random forest", "boosted trees", "logistic regression")
FEWEST = 20
"""Released rows below which no model is trained: a convention."""
_MANY = 100_000
"""Rows from which boosted trees gain by more threads what they lose by waiting for each other."""
_MOST_COLUMNS = 4000
"""Columns of the one-hot table the linear model gets: a bound on memory; values beyond the commonest share one."""


def scores_of_models(train: pa.Table, test: pa.Table, target: str) -> dict[str, dict[str, float]]:
    """Train three kinds of models and score them.

    Parameters
    ----------
    train : Table
        Released rows.
    test : Table
        Test rows with the same columns, recoded like the released ones. A label that no released row has counts
        as one that no model guesses.
    target : str
        The class label.

    Returns
    -------
    dict
        `auc`, `balanced_accuracy` and `accuracy` of each model; empty when a class is too small to be learned,
        or the test rows have one class alone.
    """
    shares, truth = shares_of_models(train, test, target)
    return {name: scores_of_shares(given, truth) for name, given in shares.items()}


def shares_of_models(
    train: pa.Table, test: pa.Table, target: str, weight: str | None = None
) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.int64]]:
    """Train three kinds of models, and return their share of each class in every test row.

    Parameters
    ----------
    train, test, target
        As for `scores_of_models`.
    weight : str, optional
        Column of the weights of a sample: never a feature. Models weigh training rows by it, and leave out rows
        without a weight; test rows count alike.

    Returns
    -------
    dict of array, shape (n, n_classes)
        By the name of the model; empty where nothing can be learned or scored.
    array, shape (n,)
        True class of each row; one from n_classes on is a class that no released row has.
    """
    train, weights = weighted_rows(train, weight)
    features = features_of(train, test, target, weight)
    labels, known = _labels(train, test, target)
    cut = train.num_rows
    if not features or known < 2 or np.bincount(labels[:cut]).min() < 2 or cut < FEWEST:
        return {}, labels[cut:]
    if np.unique(labels[cut:]).size < 2:
        return {}, labels[cut:]
    ordinal, one_hot = model_features(train, test, features)
    from sklearn.exceptions import ConvergenceWarning

    models = {
        "random forest": (_forest(), ordinal),
        "boosted trees": (_boosted(), ordinal),
        "logistic regression": (_linear(), one_hot),
    }
    with warnings.catch_warnings(), threads_for(len(labels)):
        # a linear model that has not converged is scored unchanged: the score shows its worth
        warnings.simplefilter("ignore", ConvergenceWarning)
        shares = {
            name: model.fit(matrix[:cut], labels[:cut], sample_weight=weights).predict_proba(matrix[cut:])
            for name, (model, matrix) in models.items()
        }
    return shares, labels[cut:]


def features_of(train: pa.Table, test: pa.Table, target: str, weight: str | None) -> list[str]:
    """Return the columns of both tables but the target and the weights of the sample."""
    return [name for name in train.column_names if name not in (target, weight) and name in test.column_names]


def weighted_rows(train: pa.Table, weight: str | None) -> tuple[pa.Table, NDArray[np.float64] | None]:
    """Return the rows that have a weight, and their weights; all rows and None where no column has any.

    Weights are numbers above 0, shape (n_rows,).
    """
    if weight is None or weight not in train.column_names:
        return train, None
    weights = pc.fill_null(train.column(weight).cast(pa.float64(), safe=False), np.nan).to_numpy()
    known = np.isfinite(weights) & (weights > 0)
    return train.filter(pa.array(known)), weights[known]


@contextmanager
def threads_for(n_rows: int) -> Iterator[None]:
    """Let models of few rows work in one thread: on busy cores the threads of boosted trees wait for each other.

    Parameters
    ----------
    n_rows : int
        Rows that models learn from or predict.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(limits=1 if n_rows < _MANY else None, user_api="openmp"):
        yield


def _labels(train: pa.Table, test: pa.Table, target: str) -> tuple[NDArray[np.int64], int]:
    """Return the classes of all rows, and how many of them the released rows have; the others come after these."""
    texts = [_texts(train.column(target)), _texts(test.column(target))]
    classes = sorted(set(texts[0]))
    place = {text: at for at, text in enumerate([*classes, *sorted(set(texts[1]) - set(classes))])}
    return np.array([place[text] for label in texts for text in label], dtype=np.int64), len(classes)


def _texts(column: pa.ChunkedArray) -> list[str]:
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    return [str(value) for value in plain.to_pylist()]


def model_features(
    train: pa.Table, test: pa.Table, names: Sequence[str]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the features of released and then test rows: as codes and scaled numbers, and one-hot."""
    ordinal, parts = [], []
    for name in names:
        kind = train.column(name).type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            numbers = np.concatenate(
                [pc.fill_null(t.column(name).cast(pa.float64()), np.nan).to_numpy() for t in (train, test)]
            )
            seen = numbers[: train.num_rows][~np.isnan(numbers[: train.num_rows])]
            middle, spread = (float(seen.mean()), float(seen.std()) or 1.0) if seen.size else (0.0, 1.0)
            scaled = np.nan_to_num((numbers - middle) / spread).astype(np.float32)
            ordinal.append(scaled)
            parts.append(scaled[:, np.newaxis])
            continue
        texts = _texts(train.column(name)) + _texts(test.column(name))
        values, counts = np.unique(texts[: train.num_rows], return_counts=True)
        place = {text: at for at, text in enumerate(values.tolist())}
        codes = np.array([place.get(text, -1) for text in texts])
        ordinal.append(codes.astype(np.float32))
        common = np.argsort(-counts)[: _MOST_COLUMNS // max(len(names), 1)]
        parts.append((codes[:, np.newaxis] == common[np.newaxis, :]).astype(np.float32))
    return np.column_stack(ordinal), np.hstack(parts)


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, min_samples_leaf=5, random_state=0)


def _boosted() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=60, random_state=0)


def _linear() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=300)


def scores_of_shares(shares: NDArray[np.float64], truth: NDArray[np.int64]) -> dict[str, float]:
    """Score a model by the share it gives every class: `class_scores`, each rounded to four digits."""
    return {name: round(score, 4) for name, score in class_scores(shares, truth).items()}


def best_of(scores: Mapping[str, Mapping[str, Any]], measure: str = "auc") -> float | None:
    """Return the best model's score by a measure of which more is better; None where no model has one."""
    return max((score[measure] for score in scores.values() if measure in score), default=None)


def name_of_best(scores: Mapping[str, Mapping[str, Any]], measure: str = "auc") -> str | None:
    """Return the name of the best model; None where no model has a score."""
    scored = [name for name in scores if measure in scores[name]]
    return max(scored, key=lambda name: scores[name][measure], default=None)
