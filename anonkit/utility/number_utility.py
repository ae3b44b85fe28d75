# SPDX-License-Identifier: Apache-2.0
"""Utility of a table to a consumer who predicts a number: the counterpart of `utility` for classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.utility.bagged_trees import grow_number_trees
from anonkit.utility.class_scores import INTERVAL_OF_ROWS, paired_difference, rounded_outwards, score_interval
from anonkit.utility.class_utility import (
    BOOTSTRAP_ROWS,
    FEWEST,
    FEWEST_SCORED,
    FOLDS,
    LEAF,
    MODEL,
    PROTOCOL,
    TEST_PER_TRAIN,
    TREES,
    Mask,
    Matrix,
    RowsAsReleased,
    TrainTestView,
    matrix_of,
    protocol_for_all_rows,
)
from anonkit.utility.consumer_models import NUMBER_MEASURES, number_scores, numbers_of, rounded_score, score_errors
from anonkit.utility.learning_process import learned

_Numbers = NDArray[np.float64]
_Scores = dict[str, list[float]]
"""Scores by measure, fold by fold."""
_Figures = dict[str, Any]
"""Figures of the models, with intervals."""
_PROTOCOL = PROTOCOL.replace(
    INTERVAL_OF_ROWS, "95% intervals for this model over rows like those scored: normal, of means over rows"
)
_LEAST, _MOST = {"r2": -math.inf, "mae": 0.0}, {"r2": 1.0, "mae": math.inf}


def number_utility(table: pa.Table, features: Sequence[str], target: str, scored_rows: int) -> dict[str, Any] | None:
    """Score on the first rows of a table how well a model of the others predicts the target, a number.

    Parameters
    ----------
    table : pyarrow.Table
        `scored_rows` and at most `SAMPLE` more are wise. Rows in which the target is no number are left out.
    features : sequence of str
        Columns the model sees: the quasi-identifiers.
    target : str
    scored_rows : int
        How many of the first rows are scored; the model does not see them.

    Returns
    -------
    dict or None
        `r2`, in (-inf, 1], and `mae`, in the unit of the target, `ci` with the 95 % interval of each, `of_mean` with
        those of always guessing the mean of the rows learned from, `model` and `protocol`; None where it would mean
        nothing: fewer than 300 rows to score or 100 to learn from, a target that is one number in the rows scored, no
        feature.

    Privacy
    -------
    A function of the table alone: public for a release, the owner's for a source.
    """
    numbers = numbers_of(table.column(target))
    known = np.isfinite(numbers)
    scored = (np.arange(numbers.size) < scored_rows)[known]
    found = learned(_scored, table.select([*features]).filter(pa.array(known)), numbers[known], scored)
    return None if found is None else {"model": MODEL, "protocol": _PROTOCOL, **found}


def _scored(features: pa.Table, numbers: _Numbers, scored: Mask) -> _Figures | None:
    """Return the figures of a model of some rows on the others, with intervals; see `number_utility`."""
    n_scored = int(scored.sum())
    if n_scored < FEWEST_SCORED or scored.size - n_scored < FEWEST or not features.num_columns:
        return None
    every, truth = np.ones(scored.size, dtype=bool), numbers[scored]
    matrix = matrix_of(TrainTestView(table=features, learned=every, placed=every))
    predicted = _predicted(matrix, numbers, ~scored, scored, every[scored])
    scores, of_mean = number_scores(predicted, truth), number_scores(np.full(n_scored, numbers[~scored].mean()), truth)
    if scores is None or of_mean is None:
        return None
    ends = {
        name: list(rounded_outwards(low, high, least=_LEAST[name], most=_MOST[name]))
        for name, (low, high) in score_errors(predicted, truth).items()
    }
    of_mean = {name: rounded_score(name, score) for name, score in of_mean.items()}
    return {**{name: rounded_score(name, score) for name, score in scores.items()}, "ci": ends, "of_mean": of_mean}


def number_for_all_rows(
    source: pa.Table,
    features: Sequence[str],
    target: str,
    as_released: RowsAsReleased,
    people: NDArray[np.int64] | None = None,
    *,
    unseen: Mask | None = None,
    maybe_seen: bool = False,
) -> dict[str, Any] | None:
    """Compare what a source and its release teach a model about the number in all rows of the source.

    Parameters
    ----------
    source, features, target, as_released, people, unseen, maybe_seen
        As for `anonkit.utility.class_utility.prediction_for_all_rows`; the target is a number.

    Returns
    -------
    dict or None
        `rows`, `rows_scored`, `rows_left_out`, `of_mean`, and `from_source`, `from_release` with figures as
        `number_utility` gives them, and `difference`, the second minus the first with its 95 % interval; with `model`
        and `protocol`. None where `number_utility` would return it, but for a release without any feature.

    Privacy
    -------
    Computed from the source: the owner's.
    """
    numbers = numbers_of(source.column(target))
    known = np.isfinite(numbers)
    source, recoded = source.filter(pa.array(known)), as_released.table
    if recoded.num_columns:  # a table without columns has no rows to filter
        recoded = recoded.filter(pa.array(known))
    scored = np.ones(source.num_rows, dtype=bool) if unseen is None else unseen[known]
    released, every = as_released.released[known], np.ones(source.num_rows, dtype=bool)
    views = [
        TrainTestView(table=source.select(list(features)), learned=every, placed=every),
        TrainTestView(table=recoded, learned=released, placed=as_released.placed[known]),
    ]
    found = learned(_measured, numbers[known], views, None if people is None else people[known], scored)
    if found is None:
        return None
    (of_source, of_release), difference, of_mean = found
    return {
        "target": target,
        "model": MODEL,
        "protocol": protocol_for_all_rows(only_unseen=unseen is not None, maybe_seen=maybe_seen).replace(
            "the shares of the classes", "the mean of the target"
        ),
        "rows": source.num_rows,
        "rows_scored": int(scored.sum()),
        "rows_left_out": int((~released).sum()),
        "of_mean": of_mean,
        "from_source": of_source,
        "from_release": of_release,
        "difference": difference,
    }


def _means(scores: _Scores) -> dict[str, float]:
    return {name: rounded_score(name, float(np.mean(scores[name]))) for name in NUMBER_MEASURES}


def _differences(scores: _Scores, others: _Scores, test_per_train: float) -> _Figures:
    return {
        name: paired_difference(scores[name], others[name], test_per_train, bounded=False, less_is_better=name == "mae")
        for name in NUMBER_MEASURES
    }


def _figures(scores: _Scores, test_per_train: float) -> _Figures:
    ends = {
        name: list(score_interval(scores[name], test_per_train, least=_LEAST[name], most=_MOST[name]))
        for name in NUMBER_MEASURES
    }
    return {**_means(scores), "ci": ends}


def _measured(
    numbers: _Numbers, views: Sequence[TrainTestView], people: NDArray[np.int64] | None, scored: Mask
) -> tuple[list[_Figures], _Figures, dict[str, float]] | None:
    """Return the figures of each view, the last minus the first, and those of the mean; None where they mean nothing.

    Intervals are worked out where the models are, which have imported what that takes.
    """
    if numbers.size < FEWEST or not views[0].table.num_columns:
        return None
    # the same folds whatever the order of the rows, and those of the first view whatever the others are
    seen = [(matrix_of(view), view.learned, view.placed) for view in views]
    keys = [column for matrix, learned, placed in reversed(seen) for column in (*matrix.T, learned, placed)]
    order = np.lexsort((*keys, scored, numbers))
    numbers, scored = numbers[order], scored[order]
    seen = [(matrix[order], learned[order], placed[order]) for matrix, learned, placed in seen]
    folds = _folds(numbers.size, None if people is None else people[order])
    scores: list[_Scores] = [{name: [] for name in NUMBER_MEASURES} for _ in (*views, None)]
    for fold in range(FOLDS):
        test, others = (folds == fold) & scored, folds != fold
        predicted = [
            _predicted(matrix, numbers, others & learned, test, placed[test]) for matrix, learned, placed in seen
        ]
        predicted.append(np.full(int(test.sum()), numbers[others].mean()))
        for guesses, found in zip(predicted, scores, strict=True):
            of_fold = number_scores(guesses, numbers[test])
            if of_fold is None:
                return None
            for name, score in of_fold.items():
                found[name].append(score)
    *of_views, of_mean = scores
    ratio = TEST_PER_TRAIN * float(scored.mean())
    differences = _differences(of_views[-1], of_views[0], ratio)
    return [_figures(each, ratio) for each in of_views], differences, _means(of_mean)


def _folds(n_rows: int, people: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the fold of every row, numbers spread evenly; all rows of a person are in one."""
    of_row = np.arange(n_rows) if people is None else np.unique(people, return_inverse=True)[1]
    n_kinds = int(of_row.max()) + 1
    random = np.random.default_rng(0)  # the folds: nothing private depends on them
    blocks = -(-n_kinds // FOLDS)
    folds = np.concatenate([random.permutation(FOLDS) for _ in range(blocks)])[:n_kinds]
    if people is not None:  # people in the order of their first row, which is that of its number
        _, first = np.unique(of_row, return_index=True)
        place = np.empty(n_kinds, dtype=np.int64)
        place[np.argsort(first, kind="stable")] = np.arange(n_kinds)
        folds = folds[place]
    return np.asarray(folds[of_row])


def _predicted(matrix: Matrix, numbers: _Numbers, train: Mask, test: Mask, placed: Mask) -> _Numbers:
    """Return the prediction of a model of some rows for each test row; their mean where it has none.

    Parameters
    ----------
    matrix, numbers, train, test
        All rows, shape (n_rows, n_features) and (n_rows,).
    placed : ndarray of shape (n_test,)
        Test rows that the model can predict.
    """
    mean = numbers[train].mean() if train.any() else numbers[~test].mean()
    guesses = np.full(placed.size, mean)
    if train.any() and matrix.shape[1] and placed.any():
        sample, taught = min(int(train.sum()), BOOTSTRAP_ROWS), numbers[train]
        forest = grow_number_trees(matrix[train], taught, trees=TREES, seed=0, bootstrap_rows=sample, leaf=LEAF)
        guesses[placed] = forest.predict_mean(matrix[test][placed])
    return guesses
