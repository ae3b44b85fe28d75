"""Importance strategies and the evidence they judge by.

Scores of out-of-bag rows, against the plain definitions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.domains.coded_columns import UNLABELLED, CodedColumn
from anonkit.errors import ParameterError
from anonkit.k_anonymity.search.greedy_selection import Feature, column_features, one_hot_features
from anonkit.k_anonymity.search.importance import (
    IMPORTANCE_STRATEGIES,
    ClassifyingForest,
    HammingDistance,
    LabelledRows,
    MutualInformation,
    PermutationImportance,
)
from anonkit.k_anonymity.search.out_of_sample_predictions import PUBLISHED, ForestSize
from tests.k_anonymity.search.coded_tables import coded, tables

N_ROWS = 60


def _table(seed: int = 0, n_rows: int = N_ROWS) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    rows = random.integers(0, 4, (n_rows, 3)).astype(np.float32)
    return rows, ((rows[:, 0] + (random.random(n_rows) < 0.2) * 2) % 4 >= 2).astype(np.int64)


def _grown(size: ForestSize, seed: int = 0) -> ClassifyingForest:
    return ClassifyingForest.grow(*_table(), size, seed)


def test_votes_come_only_from_trees_that_did_not_see_the_row() -> None:
    """Probabilities are the mean over the trees whose sampled rows, recomputed by scikit-learn, miss the row."""
    forest = _grown(ForestSize(trees=20))
    votes = [tree.predict_proba(forest.rows) for tree in forest.model.estimators_]
    drawn = [set(rows.tolist()) for rows in forest.model.estimators_samples_]
    for row, probabilities in enumerate(forest.class_probabilities()):
        voters = [vote[row] for vote, rows in zip(votes, drawn, strict=True) if row not in rows]
        assert probabilities == pytest.approx(np.mean(voters, axis=0))


def test_a_row_in_every_bag_gets_the_share_of_the_classes() -> None:
    """With one tree, the rows it drew have no voter."""
    forest = _grown(ForestSize(trees=1))
    drawn = ~forest.out_of_bag()[0]
    shares = np.bincount(forest.labels) / N_ROWS
    assert forest.class_probabilities()[drawn] == pytest.approx(np.tile(shares, (drawn.sum(), 1)))


def _expected_importance(forest: ClassifyingForest) -> np.ndarray:
    """Return the mean over trees of R_t - E[R_t^a]: a permuted value is any OOB row's, each as likely."""
    losses = []
    for tree, oob in zip(forest.model.estimators_, forest.out_of_bag(), strict=True):
        rows, labels = forest.rows[oob], forest.labels[oob]
        right = (tree.predict(rows) == labels).sum()
        loss = []
        for feature in range(rows.shape[1]):
            changed = np.repeat(rows, len(rows), axis=0)  # every row with every value
            changed[:, feature] = np.tile(rows[:, feature], len(rows))
            loss.append(right - (tree.predict(changed) == np.repeat(labels, len(rows))).sum() / len(rows))
        losses.append(loss)
    return np.mean(losses, axis=0)


@pytest.mark.quick_cases("size1")
@pytest.mark.parametrize("size", [PUBLISHED, ForestSize(oob_rows=8), ForestSize(bootstrap_rows=30)])
def test_importance_is_what_the_definition_expects(size: ForestSize) -> None:
    """The permutations, all OOB rows or a few of them, estimate without bias what trying every value gives."""
    forest = _grown(replace(size, trees=100))
    values, errors = forest.permutation_importance()
    assert np.abs(values - _expected_importance(forest)).max() < 4 * errors.max()
    assert values[0] > 2 * abs(values[1:]).max()


def test_importance_counts_the_rows_lost_by_one_permutation() -> None:
    """With one tree the value is an integral number of rows, and 0 for a feature it does not use."""
    rows, labels = _table()
    rows[:, 2] = 0
    forest = ClassifyingForest.grow(rows, labels, ForestSize(trees=1, bootstrap_rows=None, oob_rows=None), 0)
    values, errors = forest.permutation_importance()
    assert values.tolist() == np.rint(values).tolist()
    assert values[2] == 0
    assert errors.tolist() == [0, 0, 0]


def test_the_same_seed_gives_the_same_forest_and_another_seed_another() -> None:
    """Nothing depends on anything but rows and seed."""
    once, again, other = (_grown(ForestSize(trees=30), seed) for seed in (3, 3, 4))
    assert once.class_probabilities().tolist() == again.class_probabilities().tolist()
    assert once.permutation_importance()[0].tolist() == again.permutation_importance()[0].tolist()
    assert once.class_probabilities().tolist() != other.class_probabilities().tolist()


def test_permuted_rows_are_predicted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Block by block gives what all at once gives."""
    forest = _grown(ForestSize(trees=10))
    at_once = forest.permutation_importance()[0].tolist()
    monkeypatch.setattr("anonkit.k_anonymity.search.out_of_sample_predictions._CELLS", 9)
    assert forest.permutation_importance()[0].tolist() == at_once


def test_bootstrap_samples_have_the_size_asked_for() -> None:
    """`bootstrap_rows` caps the rows drawn for a tree; None draws as many as there are."""
    assert {len(drawn) for drawn in _grown(ForestSize(trees=3, bootstrap_rows=7)).model.estimators_samples_} == {7}
    assert {len(drawn) for drawn in _grown(ForestSize(trees=3, bootstrap_rows=None)).model.estimators_samples_} == {60}


@pytest.mark.parametrize("name", ["trees", "bootstrap_rows", "oob_rows", "rows"])
def test_sizes_must_be_positive(name: str) -> None:
    """A forest of nothing is refused by name."""
    with pytest.raises(ParameterError, match=name):
        ForestSize(**{name: 0})


SMALL = ForestSize(trees=10)
Features = Callable[[list[CodedColumn]], tuple[Feature, ...]]


def _planted(n_rows: int = 300) -> tuple[list[CodedColumn], np.ndarray]:
    """Return three columns, of which `b` determines the label and `c` half of it."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, n_rows)
    half = np.where(random.random(n_rows) < 0.5, labels, random.integers(0, 2, n_rows))
    columns = [
        coded("a", random.integers(0, 5, n_rows), size=5),
        coded("b", labels + 2 * random.integers(0, 2, n_rows), size=4),
        coded("c", half, size=2),
    ]
    return columns, labels


def _shuffled(columns: list[CodedColumn], rows: np.ndarray, order: list[int]) -> list[CodedColumn]:
    return [
        CodedColumn(name=c.name, codes=c.codes[rows], values=c.values, ordered=c.ordered)
        for c in (columns[at] for at in order)
    ]


@pytest.mark.parametrize("features", [column_features, one_hot_features])
@pytest.mark.parametrize("name", IMPORTANCE_STRATEGIES)
def test_no_result_depends_on_the_order_of_rows_and_columns(name: str, features: Features) -> None:
    """Shuffled rows and columns give the same importances and, row by row, the same probabilities."""
    columns, labels = _planted()
    random = np.random.default_rng(1)
    rows, order = random.permutation(labels.size), random.permutation(3).tolist()
    straight = LabelledRows(columns, labels, features(columns), size=SMALL)
    mixed_columns = _shuffled(columns, rows, order)
    mixed = LabelledRows(mixed_columns, labels[rows], features(mixed_columns), size=SMALL)
    strategy = IMPORTANCE_STRATEGIES[name]
    assert strategy.score(straight).features == strategy.score(mixed).features
    assert strategy.score(straight).values.tolist() == strategy.score(mixed).values.tolist()
    if features is column_features:
        keys = np.stack([column.codes for column in columns] + [labels])
        straight_sums = _sums_of_equal_rows(keys, straight.class_probabilities())
        assert straight_sums == pytest.approx(_sums_of_equal_rows(keys[:, rows], mixed.class_probabilities()))


def _sums_of_equal_rows(keys: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return the mean probabilities of rows that are alike: those may change places."""
    _, inverse = np.unique(keys, axis=1, return_inverse=True)
    return np.array([probabilities[inverse.reshape(-1) == at].mean(axis=0) for at in range(inverse.max() + 1)])


@pytest.mark.parametrize("name", ["rf-oob", "rf-gini", "mutual-info"])
def test_a_planted_feature_comes_first(name: str) -> None:
    """The column that determines the label is judged most important, the column of noise least.

    `hamdist` counts pairs that differ, and prefers many values.
    """
    columns, labels = _planted()
    ranking = IMPORTANCE_STRATEGIES[name].score(LabelledRows(columns, labels, size=ForestSize(trees=50))).ranking
    assert [feature.column for feature in ranking] == ["b", "c", "a"]


@pytest.mark.parametrize("name", IMPORTANCE_STRATEGIES)
def test_unlabelled_rows_guide_nothing(name: str) -> None:
    """Rows without a label change no importance, and have no probabilities."""
    columns, labels = _planted()
    masked = np.where(np.arange(labels.size) % 3 == 0, UNLABELLED, labels)
    kept = np.flatnonzero(masked != UNLABELLED)
    all_rows = LabelledRows(columns, masked, size=SMALL)
    labelled = LabelledRows(_shuffled(columns, kept, [0, 1, 2]), labels[kept], size=SMALL)
    strategy = IMPORTANCE_STRATEGIES[name]
    assert strategy.score(all_rows).values.tolist() == strategy.score(labelled).values.tolist()
    probabilities = all_rows.class_probabilities()
    assert np.isnan(probabilities[masked == UNLABELLED]).all()
    assert probabilities[kept].tolist() == labelled.class_probabilities().tolist()


@pytest.mark.parametrize("labels", [np.zeros(4, np.int64), np.full(4, UNLABELLED), np.zeros(0, np.int64)])
@pytest.mark.parametrize("name", IMPORTANCE_STRATEGIES)
def test_without_two_classes_there_is_nothing_to_judge(name: str, labels: np.ndarray) -> None:
    """One class, no label, no row: all importances are 0 and there are no probabilities."""
    evidence = LabelledRows([coded("a", [0, 1, 2, 3][: labels.size], size=4)], labels)
    assert IMPORTANCE_STRATEGIES[name].score(evidence).values.tolist() == [0.0]
    assert evidence.class_probabilities().shape == (labels.size, 0)


LABELLED = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=25)


@given(LABELLED)
def test_hamming_distance_counts_pairs(rows: list[tuple[int, int]]) -> None:
    """The share of pairs of different classes that differ, less that of pairs of one class on request."""
    labels, codes = np.array([label for label, _ in rows]), [code for _, code in rows]
    evidence = LabelledRows([coded("a", codes, size=4)], labels)
    if not evidence.is_informative:
        return
    apart = [a[1] != b[1] for a, b in combinations(rows, 2) if a[0] != b[0]]
    within = [a[1] != b[1] for a in rows for b in rows if a[0] == b[0]]
    between = HammingDistance().score(evidence).values[0]
    assert between == pytest.approx(np.mean(apart))
    assert HammingDistance(subtract_within=True).score(evidence).values[0] == pytest.approx(between - np.mean(within))


@given(LABELLED)
def test_mutual_information_is_the_textbook_sum_less_its_bias(rows: list[tuple[int, int]]) -> None:
    """Sum over pairs of p log(p / (p p)), less (values - 1)(classes - 1) / 2n."""
    labels, codes = np.array([label for label, _ in rows]), np.array([code for _, code in rows])
    evidence = LabelledRows([coded("a", codes, size=4)], labels)
    if not evidence.is_informative:
        return
    total = 0.0
    for label, code in set(rows):
        joint = rows.count((label, code)) / len(rows)
        total += joint * np.log(joint / ((labels == label).mean() * (codes == code).mean()))
    bias = (len(set(labels.tolist())) - 1) * (len(set(codes.tolist())) - 1) / (2 * len(rows))
    assert MutualInformation().score(evidence).values[0] == pytest.approx(total - bias)


def test_one_bit_is_permuted_alone_and_a_column_with_all_its_bits() -> None:
    """One-hot features are 0/1 columns of the forest; columns are one feature each, whatever their values."""
    columns, labels = _planted()
    by_column = LabelledRows(columns, labels, size=SMALL)
    by_bit = LabelledRows(columns, labels, one_hot_features(columns), size=SMALL)
    assert by_column.matrix.shape == (300, 3)
    assert by_bit.matrix.shape == (300, 5 + 4 + 2)
    assert set(np.unique(by_bit.matrix).tolist()) == {0.0, 1.0}
    for at, feature in enumerate(by_bit.features):
        column = next(column for column in columns if column.name == feature.column)
        expected = (column.codes == feature.code)[by_bit.rows]
        assert by_bit.matrix[:, at].astype(bool).tolist() == expected.tolist()


def test_a_column_is_as_important_as_its_best_bit() -> None:
    """The importance of a column is the largest of its one-hot importances."""
    columns, labels = _planted()
    importance = PermutationImportance().score(LabelledRows(columns, labels, one_hot_features(columns), size=SMALL))
    for column in columns:
        bits = [v for f, v in zip(importance.features, importance.values, strict=True) if f.column == column.name]
        assert importance.by_column[column.name] == max(bits)


def test_equals_are_ranked_by_name_and_code() -> None:
    """Ties do not depend on the order of the columns."""
    columns = [coded("b", [0, 0], size=1), coded("a", [0, 0], size=1)]
    importance = PermutationImportance().score(LabelledRows(columns, np.array([0, 1]), size=SMALL))
    assert importance.ranking == (Feature(column="a"), Feature(column="b"))


@settings(max_examples=20)
@given(tables(max_rows=30), st.integers(1, 10))
def test_a_sample_of_rows_is_spread_over_the_sorted_table(table: list[CodedColumn], limit: int) -> None:
    """At most `rows` labelled rows are used, in canonical order, none twice."""
    n_rows = table[0].codes.size
    evidence = LabelledRows(table, np.zeros(n_rows, np.int64), size=ForestSize(rows=limit))
    assert evidence.rows.size == min(limit, n_rows)
    assert len(set(evidence.rows.tolist())) == evidence.rows.size
    keys = [tuple(int(column.codes[row]) for column in evidence.columns) for row in evidence.rows.tolist()]
    assert keys == sorted(keys)


def test_very_many_features_are_judged_by_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The matrix of the forest is bounded, unless all rows are requested."""
    monkeypatch.setattr("anonkit.k_anonymity.search.importance._CELLS", 30)
    columns, labels = _planted()
    assert LabelledRows(columns, labels).rows.size == 10
    assert LabelledRows(columns, labels, size=ForestSize(rows=None)).rows.size == 300
