"""R² and mean absolute error, and their intervals: against scikit-learn, and against many tests of one model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.utility.number_models import number_scores, rounded_score, score_errors

NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=50))
def test_scores_are_those_of_scikit_learn(rows: list[tuple[float, float]]) -> None:
    """R² and the mean absolute error are scikit-learn's, wherever the truth has two numbers."""
    from sklearn.metrics import mean_absolute_error, r2_score

    predicted, truth = (np.array(column) for column in zip(*rows, strict=True))
    scores = number_scores(predicted, truth)

    if scores is None:
        assert np.ptp(truth) < 1e-6
    else:
        assert scores["r2"] == pytest.approx(r2_score(truth, predicted), rel=1e-6, abs=1e-6)
        assert scores["mae"] == pytest.approx(mean_absolute_error(truth, predicted), rel=1e-9)


def test_one_number_explains_nothing() -> None:
    """If the truth does not vary, or has no row, there is no R², and no score."""
    assert number_scores(np.arange(3.0), np.ones(3)) is None
    assert number_scores(np.empty(0), np.empty(0)) is None
    assert score_errors(np.arange(40.0), np.ones(40)) == {}
    assert score_errors(np.arange(20.0), np.arange(20.0)) == {}


def test_the_mean_explains_nothing_and_the_truth_everything() -> None:
    """Predicting the mean of the rows is R² 0, predicting the truth is R² 1 and no error."""
    truth = np.random.default_rng(0).normal(size=100)

    assert number_scores(np.full(100, truth.mean()), truth) == {
        "r2": pytest.approx(0.0, abs=1e-12),
        "mae": pytest.approx(np.abs(truth - truth.mean()).mean()),
    }
    assert number_scores(truth, truth) == {"r2": 1.0, "mae": 0.0}


def test_intervals_hold_the_scores_of_the_whole_population() -> None:
    """Of 400 tests of one model, about 95 % have the model's scores in a large population in their intervals."""
    random = np.random.default_rng(3)
    cause = random.normal(size=400_000)
    truth = 2.0 * cause + random.standard_t(8, size=cause.size)
    population = number_scores(1.7 * cause, truth)
    assert population is not None
    held = dict.fromkeys(population, 0)
    for _ in range(400):
        rows = random.integers(0, cause.size, 300)
        for name, (low, high) in score_errors(1.7 * cause[rows], truth[rows]).items():
            held[name] += low <= population[name] <= high

    assert all(0.91 <= count / 400 <= 0.98 for count in held.values()), held


def test_scores_are_told_with_enough_digits() -> None:
    """Four digits behind the point, and five significant ones of errors in a small unit."""
    assert rounded_score("r2", 0.000123456) == 0.0001
    assert [rounded_score("mae", value) for value in (12345.678912, 0.123456, 0.000123456, 0.0)] == [
        12345.6789,
        0.12346,
        0.00012346,
        0.0,
    ]
