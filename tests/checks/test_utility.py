"""What a table is worth to a forest: a score where one can be told, and none elsewhere."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from anonkit.checks.utility import predictive_utility

RNG = np.random.default_rng(0)
NUMBERS = RNG.integers(0, 10, 400)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_target_that_follows_from_a_feature_is_predicted(classes: int) -> None:
    """Nearly always right, whatever the order of the rows."""
    table = pa.table({"x": NUMBERS, "y": [f"c{value % classes}" for value in NUMBERS]})
    found = predictive_utility(table, ["x"], "y")
    assert found is not None
    assert min(found["auc"], found["accuracy"], found["balanced_accuracy"]) > 0.95
    assert found == predictive_utility(table.take(RNG.permutation(400)), ["x"], "y")


@pytest.mark.parametrize(
    "target",
    [
        ["a"] * 400,
        ["a"] * 398 + ["b"] * 2,
        [str(at) for at in range(400)],
        ["a", "b"] * 20 + [None] * 360,
    ],
)
def test_where_a_score_says_nothing_there_is_none(target: list[str | None]) -> None:
    """One class, a class of two rows, a class a row, too few rows with a target."""
    assert predictive_utility(pa.table({"x": NUMBERS, "y": target}), ["x"], "y") is None
    assert predictive_utility(pa.table({"y": ["a", "b"] * 200}), [], "y") is None
