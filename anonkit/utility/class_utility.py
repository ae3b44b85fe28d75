# SPDX-License-Identifier: Apache-2.0
"""Utility of a table to a consumer's model of its target, a class: scored on its first rows, or beside its source.

Error of a release in the joint distribution of every two columns: mean total variation of the 2-way marginals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.utility.bagged_trees import grow_trees
from anonkit.utility.class_scores import (
    INTERVAL,
    INTERVAL_OF_ROWS,
    MEASURES,
    class_score_intervals,
    class_scores,
    paired_difference,
    score_interval,
)
from anonkit.utility.learning_process import learned

SAMPLE = 10_000
"""Rows scored, at most, and rows learned from, at most: a bound on time."""
CLASSES = 20
"""Classes of a target, at most: a convention."""
FEWEST = 100
"""Rows below which a score means nothing: a convention."""
FEWEST_SCORED = 300
"""Rows below which nothing is scored on the first rows of a table: a convention, 60 of them are scored."""
FOLDS, TREES, LEAF = 5, 30, 5
"""Of the cross-validation, of a forest, and rows of a leaf at least: conventions."""
BOOTSTRAP_ROWS = 2_048
"""Rows drawn for each tree, with replacement, at most.

Trees of more rows score alike: docs/methods/mondrian.md, "What trees of 2,048 drawn rows lose".
"""
TEST_PER_TRAIN = 1 / (FOLDS - 1)
"""Test rows by rows learned from."""
MODEL = "random forest"
_FOREST = (
    f"a random forest ({TREES} trees, each of {BOOTSTRAP_ROWS:,} drawn rows at most, at least {LEAF} rows a leaf), "
    "quasi-identifiers alone, coded as integers"
)
PROTOCOL = (
    f"trained on the rows of this table behind those scored, {SAMPLE:,} at most, and scored on its first rows, as many "
    "as scored_rows says, whose target no search for the recoding has seen; rows without a target left out; "
    f"{_FOREST}; {INTERVAL_OF_ROWS}"
)
PROTOCOL_FOR_ALL_ROWS = (
    f"{FOLDS}-fold cross-validation: the same folds of the same rows of the source, {SAMPLE:,} at most, once with "
    "models trained on their true cells and once with models trained on those that were released; both predict "
    "the rows held out, rows that were left out among them: as the recoding would show them, or by the shares of the "
    f"classes where it has no place for them; {_FOREST}; {INTERVAL}"
)
ONLY_UNSEEN = "; scored are only rows whose target the search for the recoding did not see"
MAYBE_SEEN = (
    "; the search for the recoding may have seen the target of the rows scored, so that the release may do worse for "
    "other rows"
)

Matrix = NDArray[np.float32]
_Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]
_Scores = dict[str, list[float]]
"""Scores by measure, fold by fold."""
_Figures = dict[str, Any]
"""Figures of the models, with intervals; worked out where the models are, which have imported what that takes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RowsAsReleased:
    """Rows of a source as their release shows them, those that were left out among them."""

    table: pa.Table
    """Released quasi-identifiers of every row, aligned with the source."""
    released: Mask
    """Rows of the release, shape (n_rows,)."""
    placed: Mask
    """Rows that the recoding has a place for, shape (n_rows,)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainTestView:
    """One view of the rows: the rows that a model learns from, and those that it predicts."""

    table: pa.Table
    """The features."""
    learned: Mask
    """Rows a model may learn from."""
    placed: Mask
    """Rows it can predict; others are given the shares of the classes it has learned from."""


def predictive_utility(
    table: pa.Table, features: Sequence[str], target: str, scored_rows: int
) -> dict[str, Any] | None:
    """Score on the first rows of a table how well a model of the others predicts the target from the features.

    Parameters
    ----------
    table : pyarrow.Table
        `scored_rows` and at most `SAMPLE` more are wise. Rows without a target are left out.
    features : sequence of str
        Columns the model sees: the quasi-identifiers.
    target : str
        A column of 2 to 20 classes.
    scored_rows : int
        How many of the first rows are scored; the model does not see them.

    Returns
    -------
    dict or None
        `auc` (one class against the rest, weighted), `balanced_accuracy`, `accuracy`, `majority` (the accuracy of
        always guessing the class that is commonest in the rows learned from), each a float in [0, 1], `ci` with the
        95 % interval of the first three, `model` and `protocol`; None where it would mean nothing: fewer than 300 rows
        to score or 100 to learn from, a class with fewer than five of either, one class, a numeric target of many
        values, no feature.

    Privacy
    -------
    A function of the table alone: public for a release, the owner's for a source.
    """
    known = pc.is_valid(table.column(target))
    scored = (np.arange(table.num_rows) < scored_rows)[known.to_numpy()]
    table = table.filter(known)
    found = learned(_scored, table.select([*features]), table.column(target), scored)
    return None if found is None else {"model": MODEL, "protocol": PROTOCOL, **found}


def _scored(features: pa.Table, target: pa.ChunkedArray, scored: Mask) -> _Figures | None:
    """Return the figures of a model of some rows on the others, with intervals; see `predictive_utility`."""
    n_scored = int(scored.sum())
    if n_scored < FEWEST_SCORED or scored.size - n_scored < FEWEST or not features.num_columns:
        return None
    labels, sizes = codes_of(target)
    if not 2 <= sizes.size <= CLASSES:
        return None
    taught = np.bincount(labels[~scored], minlength=sizes.size)
    if min(taught.min(), np.bincount(labels[scored], minlength=sizes.size).min()) < FOLDS:
        return None
    every = np.ones(scored.size, dtype=bool)
    matrix = matrix_of(TrainTestView(table=features, learned=every, placed=every))
    truth, shares = labels[scored], _shares(matrix, labels, ~scored, scored, every[scored])
    return {
        **{name: round(score, 4) for name, score in class_scores(shares, truth).items()},
        "ci": {name: list(ends) for name, ends in class_score_intervals(shares, truth).items()},
        "majority": round(float((truth == taught.argmax()).mean()), 4),
    }


def prediction_for_all_rows(
    source: pa.Table,
    features: Sequence[str],
    target: str,
    as_released: RowsAsReleased,
    people: NDArray[np.int64] | None = None,
    *,
    unseen: Mask | None = None,
    maybe_seen: bool = False,
) -> dict[str, Any] | None:
    """Compare what a source and its release teach a model about all rows of the source.

    Parameters
    ----------
    source : pyarrow.Table
        True cells. Rows without a target are left out.
    features : sequence of str
        The quasi-identifiers of the source.
    target : str
        A column of 2 to 20 classes.
    as_released : RowsAsReleased
        The same rows as released.
    people : ndarray of shape (n_rows,), optional
        Number of the person of each row: nobody is in two folds.
    unseen : ndarray of bool, shape (n_rows,), optional
        The only rows that are scored: those whose target the search for the recoding did not see.
    maybe_seen : bool
        Whether that search may have seen the target of rows that are scored; the protocol says so then.

    Returns
    -------
    dict or None
        `rows`, `rows_scored`, `rows_left_out`, `majority`, and `from_source`, `from_release` with figures as
        `predictive_utility` gives them, and `difference`, the second minus the first with its 95 % interval; with
        `model` and `protocol`. None where `predictive_utility` would return it, but for a release without any feature.

    Privacy
    -------
    Computed from the source: the owner's.
    """
    known = pc.is_valid(source.column(target)).to_numpy(zero_copy_only=False)
    source, recoded = source.filter(pa.array(known)), as_released.table
    if recoded.num_columns:  # a table without columns has no rows to filter
        recoded = recoded.filter(pa.array(known))
    people = None if people is None else people[known]
    scored = np.ones(source.num_rows, dtype=bool) if unseen is None else unseen[known]
    released, every = as_released.released[known], np.ones(source.num_rows, dtype=bool)
    views = [
        TrainTestView(table=source.select(list(features)), learned=every, placed=every),
        TrainTestView(table=recoded, learned=released, placed=as_released.placed[known]),
    ]
    found = learned(_measured, source, target, views, people, scored)
    if found is None:
        return None
    (of_source, of_release), difference, majority = found
    return {
        "target": target,
        "model": MODEL,
        "protocol": protocol_for_all_rows(only_unseen=unseen is not None, maybe_seen=maybe_seen),
        "rows": source.num_rows,
        "rows_scored": int(scored.sum()),
        "rows_left_out": int((~released).sum()),
        "majority": majority,
        "from_source": of_source,
        "from_release": of_release,
        "difference": difference,
    }


def protocol_for_all_rows(*, only_unseen: bool, maybe_seen: bool) -> str:
    """Return the protocol of comparing source and release, with the scored rows that the search has seen."""
    return PROTOCOL_FOR_ALL_ROWS + (ONLY_UNSEEN if only_unseen else MAYBE_SEEN if maybe_seen else "")


def _measured(
    table: pa.Table, target: str, views: Sequence[TrainTestView], people: NDArray[np.int64] | None, scored: Mask
) -> tuple[list[_Figures], _Figures, float] | None:
    """Return the figures of each view, the last minus the first, and the share of the commonest class.

    None where a score would mean nothing: few rows, no feature in the first view, not 2 to 20 classes, a class that
    fewer than five rows (people) hold, or a fold of one class alone.
    """
    if table.num_rows < FEWEST or not views[0].table.num_columns:
        return None
    labels, sizes = codes_of(table.column(target))
    units = sizes if people is None else np.array([np.unique(people[labels == at]).size for at in range(sizes.size)])
    if not 2 <= sizes.size <= CLASSES or units.min() < FOLDS:
        return None
    scores = _cross_validated(labels, views, people, scored)
    majority = round(float(sizes.max() / sizes.sum()), 4)
    if scores is None:
        return None
    ratio = TEST_PER_TRAIN * float(scored.mean())
    differences = {name: paired_difference(scores[-1][name], scores[0][name], ratio) for name in MEASURES}
    return [_figures(each, ratio) for each in scores], differences, majority


def matrix_of(view: TrainTestView) -> Matrix:
    """Return the features as codes, shape (n_rows, n_features); a view may have none."""
    columns = [codes_of(column)[0] for column in view.table.columns]
    return np.column_stack([np.empty((view.learned.size, 0)), *columns]).astype(np.float32)


def _figures(scores: _Scores, test_per_train: float) -> _Figures:
    means = {name: round(float(np.mean(scores[name])), 4) for name in MEASURES}
    return {**means, "ci": {name: list(score_interval(scores[name], test_per_train)) for name in MEASURES}}


def _cross_validated(
    labels: _Labels, views: Sequence[TrainTestView], people: NDArray[np.int64] | None, scored: Mask
) -> list[_Scores] | None:
    """Return the scores of each view, fold by fold; None where a fold holds one class alone."""
    # the same folds whatever the order of the rows, and those of the first view whatever the others are
    seen = [(matrix_of(view), view.learned, view.placed) for view in views]
    keys = [column for matrix, learned, placed in reversed(seen) for column in (*matrix.T, learned, placed)]
    order = np.lexsort((*keys, scored, labels))
    labels, scored = labels[order], scored[order]
    seen = [(matrix[order], learned[order], placed[order]) for matrix, learned, placed in seen]
    folds = _folds(labels, None if people is None else people[order])
    scores: list[_Scores] = [{name: [] for name in MEASURES} for _ in views]
    for fold in range(FOLDS):
        test = (folds == fold) & scored
        if np.unique(labels[test]).size < 2:
            return None
        for (matrix, taught, placed), found in zip(seen, scores, strict=True):
            shares = _shares(matrix, labels, (folds != fold) & taught, test, placed[test])
            for name, score in class_scores(shares, labels[test]).items():
                found[name].append(score)
    return scores


def _folds(labels: _Labels, people: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the fold of every row: classes are spread evenly, and all rows of a person are in one."""
    from sklearn.model_selection import StratifiedKFold

    if people is None:
        of_row, kinds = np.arange(labels.size), labels
    else:
        _, first, of_row = np.unique(people, return_index=True, return_inverse=True)
        kinds = labels[first]
    folds = np.empty(kinds.size, dtype=np.int64)
    for fold, (_, test) in enumerate(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(kinds, kinds)):
        folds[test] = fold
    return folds[of_row]


def _shares(matrix: Matrix, labels: _Labels, train: Mask, test: Mask, placed: Mask) -> NDArray[np.float64]:
    """Return the share of each class that a model of some rows gives to each test row.

    Parameters
    ----------
    matrix, labels, train, test
        All rows, shape (n_rows, n_features) and (n_rows,).
    placed : ndarray of shape (n_test,)
        Test rows that the model can predict.
    """
    known, dense, sizes = np.unique(labels[train], return_inverse=True, return_counts=True)
    shares = np.zeros((placed.size, int(labels.max()) + 1))
    shares[:, known] = sizes / max(dense.size, 1)
    if known.size > 1 and matrix.shape[1] and placed.any():
        sample = min(dense.size, BOOTSTRAP_ROWS)
        forest = grow_trees(matrix[train], dense, trees=TREES, seed=0, bootstrap_rows=sample, leaf=LEAF)
        shares[np.ix_(placed, known)] = forest.predict_proba(matrix[test][placed])
    return shares


def codes_of(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return codes in ascending order of the value, missing last, and how often each occurs."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    encoded = pc.dictionary_encode(plain.combine_chunks())
    rank = np.argsort(pc.sort_indices(encoded.dictionary).to_numpy())
    codes = np.append(rank, rank.size)[pc.fill_null(encoded.indices, rank.size).to_numpy()]
    return codes.astype(np.int64), np.bincount(codes)


_BINS = 20
"""Parts of a number, and categories, of a pair of columns: a convention."""
HOW = (
    f"every two columns, numbers in {_BINS} parts of about as many rows, the rarest categories beyond {_BINS} as one; "
    "a released cell is spread evenly over the parts that it stands for; total variation of the two tables, in [0, 1]"
)


def pair_marginals(source: pa.Table, shown: pa.Table, released: NDArray[np.bool_]) -> dict[str, Any] | None:
    """Compare the joint distribution of every two columns in a source and in its release.

    Parameters
    ----------
    source : Table
        True cells of the quasi-identifiers.
    shown : Table
        The same rows as their release shows them; a column that is not released is not in it, and may be anything.
    released : ndarray of shape (n_rows,)
        Rows that are in the release.

    Returns
    -------
    dict or None
        `pairs`, `mean_total_variation`, `worst` and `worst_pair`, and `how`; None for fewer than two columns that have
        two values, or without a released row.

    Privacy
    -------
    Computed from the source: the owner's.
    """
    bins = {name: _bins(source.column(name)) for name in source.column_names}
    names = [name for name, codes in bins.items() if codes.size and codes.max() > 0]
    if len(names) < 2 or not released.any():
        return None
    labels = {name: _labels(shown, name, released.size) for name in names}
    spread = {name: _spread(labels[name], bins[name]) for name in names}
    found = {}
    for pair in combinations(names, 2):
        (one, other), (left, right) = (bins[name] for name in pair), (labels[name][released] for name in pair)
        true = _joint(one, other, one.max() + 1, other.max() + 1)
        shapes = (len(spread[pair[0]]), len(spread[pair[1]]))
        joint = spread[pair[0]].T @ _joint(left, right, *shapes) @ spread[pair[1]]
        found[pair] = float(np.abs(true - joint).sum() / 2)
    worst = max(found, key=lambda pair: found[pair])
    return {
        "pairs": len(found),
        "mean_total_variation": round(float(np.mean(list(found.values()))), 4),
        "worst": round(found[worst], 4),
        "worst_pair": list(worst),
        "how": HOW,
    }


def _bins(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the part of each cell, shape (n_rows,), dense from 0; missing is the last."""
    codes, sizes = codes_of(column)
    if sizes.size <= _BINS:
        return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.int64)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        place = np.empty(sizes.size, dtype=np.int64)
        place[np.argsort(-sizes, kind="stable")] = np.arange(sizes.size)
        return np.asarray(np.minimum(place, _BINS - 1)[codes])
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.unique((_BINS * before // codes.size)[codes], return_inverse=True)[1], dtype=np.int64)


def _labels(shown: pa.Table, name: str, n_rows: int) -> NDArray[np.int64]:
    """Return the released cell of each row as a code; one for all rows where the column is not released."""
    return codes_of(shown.column(name))[0] if name in shown.column_names else np.zeros(n_rows, dtype=np.int64)


def _spread(labels: NDArray[np.int64], bins: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distribution of a released cell over the parts that occur under it, shape (n_labels, n_bins)."""
    there = _joint(labels, bins, int(labels.max()) + 1, int(bins.max()) + 1) > 0
    return np.asarray(there / np.maximum(there.sum(axis=1, keepdims=True), 1))


def _joint(left: NDArray[np.int64], right: NDArray[np.int64], height: int, width: int) -> NDArray[np.float64]:
    counts = np.bincount(left * width + right, minlength=height * width)
    return np.asarray(counts.reshape(height, width) / left.size, dtype=np.float64)
