"""Forests grown in our own threads: scikit-learn's forest, and no warning filter of the process is touched."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree._classes import CRITERIA_REG

from anonkit.utility import bagged_trees
from anonkit.utility.bagged_trees import grow_number_trees, grow_trees


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**31 - 1),
    rows=st.integers(12, 80),
    features=st.integers(1, 6),
    classes=st.integers(2, 4),
    leaf=st.sampled_from([1, 5]),
    bootstrap=st.none() | st.integers(1, 12),
)
def test_the_forest_is_that_of_scikit_learn(
    seed: int, rows: int, features: int, classes: int, leaf: int, bootstrap: int | None
) -> None:
    """Same rows, same seed: the same trees, the same samples, the same importances and votes."""
    from sklearn.ensemble import RandomForestClassifier

    draw = np.random.default_rng(seed)
    matrix = draw.integers(0, 5, (rows, features)).astype(np.float32)
    labels = np.concatenate([np.arange(classes), draw.integers(0, classes, rows - classes)])
    ours = grow_trees(matrix, labels, trees=5, seed=seed, bootstrap_rows=bootstrap, leaf=leaf)
    theirs = RandomForestClassifier(5, min_samples_leaf=leaf, max_samples=bootstrap, random_state=seed)
    theirs.fit(matrix, labels)

    for mine, its in zip(ours.estimators_, theirs.estimators_, strict=True):
        assert (mine.tree_.feature == its.tree_.feature).all()
        assert (mine.tree_.threshold == its.tree_.threshold).all()
    for mine, its in zip(ours.estimators_samples_, theirs.estimators_samples_, strict=True):
        assert (mine == its).all()
    assert ours.n_classes_ == theirs.n_classes_
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_)
    np.testing.assert_allclose(ours.predict_proba(matrix), theirs.predict_proba(matrix))


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**31 - 1),
    rows=st.integers(12, 80),
    features=st.integers(1, 6),
    leaf=st.sampled_from([1, 5]),
    bootstrap=st.none() | st.integers(1, 12),
)
def test_the_forest_of_a_number_is_that_of_scikit_learn(
    seed: int, rows: int, features: int, leaf: int, bootstrap: int | None
) -> None:
    """Same rows, same seed: the same trees, the same means, also where numbers are whole and repeat."""
    from sklearn.ensemble import RandomForestRegressor

    draw = np.random.default_rng(seed)
    matrix = draw.integers(0, 5, (rows, features)).astype(np.float32)
    numbers = np.rint(draw.normal(size=rows) * 3)
    ours = grow_number_trees(matrix, numbers, trees=5, seed=seed, bootstrap_rows=bootstrap, leaf=leaf)
    theirs = RandomForestRegressor(
        5, max_features=1 / 3, min_samples_leaf=leaf, max_samples=bootstrap, random_state=seed
    ).fit(matrix, numbers)

    for mine, its in zip(ours.estimators_, theirs.estimators_, strict=True):
        assert (mine.tree_.feature == its.tree_.feature).all()
        assert (mine.tree_.threshold == its.tree_.threshold).all()
        assert (mine.predict(matrix) == its.predict(matrix)).all()
    np.testing.assert_allclose(ours.predict_mean(matrix), theirs.predict(matrix))


@pytest.mark.parametrize(
    "changed",
    [
        {"DepthFirstTreeBuilder": None},
        {"DENSE_SPLITTERS": {"finest": None}},
        {"Tree": lambda features, classes, outputs, more: None},
        {"CRITERIA_REG": {"squared_error": CRITERIA_REG["absolute_error"]}},
    ],
    ids=["vanished", "renamed", "asking for more", "meaning something else"],
)
def test_another_scikit_learn_grows_the_same_forest(changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The builders of trees have no public name: if they are changed, `fit` grows the same trees."""
    draw = np.random.default_rng(3)
    matrix, labels = draw.integers(0, 9, (80, 4)).astype(np.float32), draw.integers(0, 3, 80)
    labels[labels == 1] = np.where(np.arange((labels == 1).sum()), 0, 1)  # a class that few samples have
    with monkeypatch.context() as patch:
        known = bagged_trees._builders()
        builders = SimpleNamespace(**{**vars(known), **changed})
        patch.setattr(bagged_trees, "_builders", lambda: builders)
        patch.setattr(bagged_trees, "_growth", bagged_trees._growth.__wrapped__)
        assert bagged_trees._growth() is bagged_trees._fitted
        slow = grow_trees(matrix, labels, trees=8, seed=7, bootstrap_rows=20)
    assert bagged_trees._growth() is bagged_trees._built
    quick = grow_trees(matrix, labels, trees=8, seed=7, bootstrap_rows=20)
    for mine, its in zip(quick.estimators_, slow.estimators_, strict=True):
        assert bagged_trees._are_alike(mine.tree_, its.tree_)
    assert (quick.predict_proba(matrix) == slow.predict_proba(matrix)).all()
    assert (quick.feature_importances_ == slow.feature_importances_).all()


def test_growing_leaves_the_warning_filters_alone() -> None:
    """The process has the very same list of filters, with the same entries, after ten forests grown in threads."""
    draw = np.random.default_rng(1)
    matrix, labels = draw.integers(0, 9, (300, 4)).astype(np.float32), draw.integers(0, 3, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before, entries = warnings.filters, list(warnings.filters)
        bagged_trees._growth.cache_clear()
        for seed in range(10):
            grow_trees(matrix, labels, trees=40, seed=seed).predict_proba(matrix)
            assert warnings.filters is before
            assert list(warnings.filters) == entries


def test_a_forest_grown_in_two_lots_is_the_forest_grown_at_once() -> None:
    """Tree number 3 is the same tree whatever was grown with it."""
    draw = np.random.default_rng(2)
    matrix, labels = draw.integers(0, 9, (80, 4)).astype(np.float32), draw.integers(0, 3, 80)
    whole = grow_trees(matrix, labels, trees=5, seed=7, bootstrap_rows=20)
    lots = grow_trees(matrix, labels, trees=2, seed=7, bootstrap_rows=20)
    lots = lots + grow_trees(matrix, labels, trees=3, seed=7, bootstrap_rows=20, first=2)
    assert (whole.predict_proba(matrix) == lots.predict_proba(matrix)).all()
    for mine, its in zip(whole.estimators_samples_, lots.estimators_samples_, strict=True):
        assert (mine == its).all()
