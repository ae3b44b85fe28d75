"""DiffPRFs without noise: the accuracy that the paper calls "without privacy"."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from papers.harness.experiment_tables import LearningTask
from papers.harness.plain_diffprfs import SCORES, BootstrapForest
from papers.harness.unprotected_models import PlainDiffPRFs
from sklearn.tree import DecisionTreeClassifier

from anonkit.errors import ParameterError
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy

N = 2_000


def rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A number of ten cells and three categories; the class is a cut of the number, or a value of the category."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, 10, N), rng.integers(0, 3, N)], axis=1)
    labels = (codes[:, 0] > 6) | (codes[:, 1] == 2)
    return codes, (labels ^ (rng.random(N) < 0.05)).astype(np.int64)


@pytest.mark.quick_cases("two-max-class", "values-information-gain")
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("branches", ["two", "values"])
def test_it_finds_the_rule(score: str, branches: str) -> None:
    """By either score and either reading of a category's children it is nearly as good as the rule."""
    (codes, labels), (test, truth) = rows(0), rows(1)
    forest = BootstrapForest(trees=25, depth=3, score=score, branches=branches, seed=0)
    shares = forest.fit(codes, np.array([10, 3]), np.array([True, False]), labels).predict_proba(test)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (shares.argmax(axis=1) == truth).mean() > 0.9


def test_a_single_cut_is_that_of_scikit_learn() -> None:
    """One attribute, one level: the entropy cut of the same bootstrap sample."""
    codes, labels = rows(0)
    forest = BootstrapForest(trees=1, depth=1, score="information-gain", branches="two", seed=4)
    forest.fit(codes[:, :1], np.array([10]), np.array([True]), labels)
    sample = np.random.default_rng(4).integers(0, N, N)
    tree = DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(codes[sample, :1], labels[sample])
    assert np.allclose(forest.predict_proba(codes[:, :1]), tree.predict_proba(codes[:, :1]))


def test_a_value_that_no_sample_had_is_predicted_by_the_node_above() -> None:
    """Its branch has no rows of its own."""
    codes, labels = np.array([[0], [1], [0], [2]]), np.array([0, 1, 0, 1])
    forest = BootstrapForest(trees=3, depth=1, score="max-class", branches="values", seed=1)
    shares = forest.fit(codes, np.array([4]), np.array([False]), labels).predict_proba(np.array([[3], [0]]))
    assert np.allclose(shares.sum(axis=1), 1)


def test_the_comparator_takes_numbers_and_categories() -> None:
    """It scores rows that it has not seen, promises nothing, and refuses scores that there are not."""
    (codes, labels), (test, truth) = rows(0), rows(1)
    columns = {
        "a": Column(name="a", bounds=(0.0, 9.0)),
        "b": Column(name="b", categories=("0", "1", "2")),
        "y": Column(name="y", categories=("0", "1"), role=Role.TARGET),
    }
    train, scored = (
        pa.table({"a": part[:, 0].astype(float), "b": part[:, 1].astype(str), "y": classes.astype(str)})
        for part, classes in ((codes, labels), (test, truth))
    )
    task = LearningTask(train=train, test=scored, policy=Policy(columns=columns), target="y")
    ((scores,), promise, epsilon) = PlainDiffPRFs(depth=3).samples(task, 1)
    assert scores["accuracy"] > 0.9
    assert (promise, epsilon) == ("none", None)
    with pytest.raises(ParameterError, match="score"):
        PlainDiffPRFs(score="oracle")
