# SPDX-License-Identifier: Apache-2.0
"""Scores of a classifier, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score

from anonkit.utility.class_scores import area_under_curve, class_scores

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=40)


@given(rows=ROWS.filter(lambda rows: len({is_positive for is_positive, _ in rows}) == 2))
def test_the_area_is_that_of_scikit_learn(rows: list[tuple[bool, int]]) -> None:
    """With ties, with few rows, and whatever the order of the rows."""
    positive, scores = np.array([row[0] for row in rows]), np.array([row[1] / 6 for row in rows])

    assert area_under_curve(positive, scores) == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)


@given(truth=st.lists(st.integers(0, 2), min_size=3, max_size=30), seed=st.integers(0, 1000))
def test_several_classes_are_scored_one_against_the_rest(truth: list[int], seed: int) -> None:
    """Weighted by the rows of each class that occurs; accuracies are those of scikit-learn."""
    labels = np.array([0, 1, *truth])
    shares = np.random.default_rng(seed).dirichlet(np.ones(3), labels.size)
    found = class_scores(shares, labels)

    seen, rows = np.unique(labels, return_counts=True)
    areas = [roc_auc_score(labels == chosen, shares[:, chosen]) for chosen in seen]
    assert found["auc"] == pytest.approx(np.average(areas, weights=rows), abs=1e-12)
    assert found["accuracy"] == pytest.approx(accuracy_score(labels, shares.argmax(axis=1)))
    guesses_of_seen = np.isin(shares.argmax(axis=1), seen)
    if guesses_of_seen.all():  # scikit-learn warns of a class that is guessed and never there
        assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(labels, shares.argmax(axis=1)))


def test_a_class_that_the_model_does_not_know_is_told_by_a_coin() -> None:
    """Its rows are all wrong, and its area is one half."""
    truth = np.array([0, 0, 1, 1, 2, 2])
    shares = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.2, 0.8], [0.5, 0.5], [0.4, 0.6]])
    found = class_scores(shares, truth)

    assert found["accuracy"] == pytest.approx(4 / 6)
    known = [roc_auc_score(truth == chosen, shares[:, chosen]) for chosen in (0, 1)]
    assert found["auc"] == pytest.approx(np.average([*known, 0.5], weights=[2, 2, 2]))
