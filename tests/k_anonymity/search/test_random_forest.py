"""Scores of out-of-bag rows, against the plain definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from anonkit.errors import ParameterError
from anonkit.k_anonymity.search.out_of_bag import PUBLISHED, ForestSize
from anonkit.k_anonymity.search.random_forest import ClassifyingForest

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
    monkeypatch.setattr("anonkit.k_anonymity.search.out_of_bag._CELLS", 9)
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
