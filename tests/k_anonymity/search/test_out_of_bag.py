"""When a forest has trees enough, and what permuting a feature costs a tree, against the plain definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.k_anonymity.search import out_of_bag
from anonkit.k_anonymity.search.importance import ClassifyingForest, RegressionForest
from anonkit.k_anonymity.search.out_of_bag import ForestSize


def _table(seed: int, n_rows: int = 400, noise: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    rows = random.integers(0, 6, (n_rows, 4)).astype(np.float32)
    return rows, ((rows[:, 0] + rows[:, 1] > 5) ^ (random.random(n_rows) < noise)).astype(np.int64)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31 - 1), st.booleans(), st.sampled_from([None, 40]))
def test_rows_whose_route_does_not_ask_are_not_predicted_anew(seed: int, of_number: bool, oob_rows: int | None) -> None:
    """A tree loses by a permuted feature exactly what predicting every row again says it loses."""
    rows, labels = _table(seed, 120)
    size = ForestSize(trees=3, oob_rows=oob_rows)
    numbers = labels + rows[:, 2] / 10.0
    forest = (
        RegressionForest.grow(rows, numbers, size, seed)
        if of_number
        else ClassifyingForest.grow(rows, labels, size, seed)
    )
    for number, tree in enumerate(forest.model.estimators_):
        oob = np.flatnonzero(forest.out_of_bag()[number])
        draw = np.random.default_rng((seed, number))
        take = oob.size if oob_rows is None else min(oob_rows, oob.size)
        chosen = np.sort(draw.permutation(oob)[:take])
        splits = tree.tree_.feature

        def wrong(cells: np.ndarray, tree: object = tree, chosen: np.ndarray = chosen) -> float:
            predicted = tree.predict(cells)  # type: ignore[attr-defined]
            if of_number:
                return float(((predicted - numbers[chosen]) ** 2).sum() / numbers.var())
            return float((predicted != labels[chosen]).sum())

        expected = np.zeros(rows.shape[1])
        for feature in np.unique(splits[splits >= 0]).tolist():
            permuted = rows[chosen]
            permuted[:, feature] = draw.permutation(permuted[:, feature])
            expected[feature] = (wrong(permuted) - wrong(rows[chosen])) * oob.size / take
        np.testing.assert_allclose(forest.votes.losses[number], expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("of_number", [False, True])
def test_a_forest_stops_when_it_is_settled_and_is_the_beginning_of_the_whole_one(of_number: bool) -> None:
    """Fewer trees than allowed, an integral number of batches, each of them as it is in the forest that goes on."""
    rows, labels = _table(1)
    target = labels.astype(np.float64) if of_number else labels
    grow = RegressionForest.grow if of_number else ClassifyingForest.grow
    size = ForestSize(trees=600)
    stopped, whole = grow(rows, target, size, 5), grow(rows, target, replace(size, until_settled=False), 5)  # type: ignore[operator]
    assert 100 <= stopped.n_trees < 600
    assert stopped.n_trees % 50 == 0
    assert whole.n_trees == 600
    assert stopped.votes.losses.tolist() == whole.votes.losses[: stopped.n_trees].tolist()


@pytest.mark.slow
def test_what_a_settled_forest_tells_is_what_all_trees_tell() -> None:
    """Probabilities within a few hundredths of those of the whole forest, and the order of what matters the same."""
    rows, labels = _table(2)
    size = ForestSize(trees=1000)
    stopped, whole = (
        ClassifyingForest.grow(rows, labels, size, 0),
        ClassifyingForest.grow(rows, labels, replace(size, until_settled=False), 0),
    )
    change = stopped.class_probabilities() - whole.class_probabilities()
    assert (change**2).sum(axis=1).mean() < 0.01 * 0.5  # of the variance of two even classes
    ours, theirs = stopped.permutation_importance()[0], whole.permutation_importance()[0]
    assert set(np.argsort(-ours)[:2].tolist()) == set(np.argsort(-theirs)[:2].tolist()) == {0, 1}


def test_a_forest_on_noise_settles_too() -> None:
    """The bound is a share of the variance of the target, not of its explained part."""
    random = np.random.default_rng(3)
    rows, labels = random.integers(0, 6, (400, 4)).astype(np.float32), random.integers(0, 2, 400)
    assert ClassifyingForest.grow(rows, labels, replace(ForestSize(), trees=1000), 0).n_trees < 1000


def test_a_rule_that_is_never_met_grows_all_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds, the last batch being smaller where it has to be."""
    monkeypatch.setattr(out_of_bag, "_MOVED", 0.0)
    rows, labels = _table(4, 100)
    assert ClassifyingForest.grow(rows, labels, ForestSize(trees=120), 0).n_trees == 120


def test_half_of_a_small_table_is_drawn() -> None:
    """So that a row of it is out of bag for more than half of the trees."""
    rows, labels = _table(5, 100)
    forest = ClassifyingForest.grow(rows, labels, ForestSize(trees=2), 0)
    assert {drawn.size for drawn in forest.model.estimators_samples_} == {50}
