# SPDX-License-Identifier: Apache-2.0
"""Ordinary models of classes and numbers, trained on a released table and scored on rows not released.

Predicted classes are scored by accuracy and areas under the curve, predicted numbers by R² and mean absolute error,
with 95 % intervals over the rows of one test.

R² is the share of the truth's squared deviations from its mean that the prediction explains: 1 is perfect, predicting
the mean of the test rows is 0, and worse than that is below 0, without a bound. The mean absolute error is in the unit
of the target.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.documents import ReportPart, left_out
from anonkit.domains.coded_columns import FloatArray
from anonkit.domains.number_bins import UNKNOWN
from anonkit.errors import SourceError
from anonkit.utility.class_scores import area_under_curve, class_scores

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
        "random forest": (_forest_classifier(), ordinal),
        "boosted trees": (_boosted_classifier(), ordinal),
        "logistic regression": (_linear_classifier(), one_hot),
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


def _forest_classifier() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, min_samples_leaf=5, random_state=0)


def _boosted_classifier() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=60, random_state=0)


def _linear_classifier() -> Any:
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


NUMBER_MEASURES = ("r2", "mae")
"""`r2` is better the larger it is, `mae` the smaller."""
NumberScores: TypeAlias = dict[str, float]
"""A score by measure."""
_T_975 = 1.959963984540054  # of the normal law: tests of fewer than 30 rows are scored without an interval
_FEWEST_FOR_INTERVAL = 30


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
    if scores is None or truth.size < _FEWEST_FOR_INTERVAL:
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
            "random forest": (_forest_regressor(), ordinal),
            "boosted trees": (_boosted_regressor(), ordinal),
            "linear regression": (_linear_regressor(), one_hot),
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


def _forest_regressor() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(100, min_samples_leaf=5, max_features=1 / 3, random_state=0)


def _boosted_regressor() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=60, random_state=0)


def _linear_regressor() -> Any:
    from sklearn.linear_model import Ridge

    return Ridge()


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
        auc=_mean_area(truth, shares),
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


def _mean_area(truth: NDArray[np.int64], shares: FloatArray) -> float | None:
    """Return the area under the ROC curve, of the second class of two or the mean of each class against the rest."""
    classes = [1] if shares.shape[1] == 2 else range(shares.shape[1])
    areas = [
        area_under_curve(truth == class_, shares[:, class_])
        for class_ in classes
        if 0 < (truth == class_).sum() < truth.size
    ]
    return float(np.mean(areas)) if areas else None
