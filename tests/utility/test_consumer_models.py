"""Models of a release on held-out rows: a class that the release lost is no success.

R² and mean absolute error, and their intervals: against scikit-learn, and against many tests of one model.

Scores of predictions, on tables small enough to work out by hand, and against scikit-learn.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import r2_score, roc_auc_score
from threadpoolctl import threadpool_limits

from anonkit.domains.number_bins import UNKNOWN
from anonkit.errors import SourceError
from anonkit.utility.consumer_models import (
    best_of,
    name_of_best,
    number_scores,
    prediction_scores,
    regression_scores,
    rounded_score,
    score_errors,
    scores_of_models,
    scores_of_shares,
    shares_of_models,
    weighted_rows,
)

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


TRUTH = np.array([0, 0, 0, 1, 1, 2])
SHARES = np.array(
    [[0.8, 0.1, 0.1], [0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.8, 0.1], [0.5, 0.4, 0.1], [0.3, 0.3, 0.4]]
)


def test_scores_of_classes_are_those_worked_out_by_hand() -> None:
    """Four of six are right; two thirds, a half and all of the classes."""
    scores = prediction_scores(TRUTH, SHARES)
    assert scores.confusion == ((2, 1, 0), (1, 1, 0), (0, 0, 1))
    assert scores.accuracy == pytest.approx(4 / 6)
    assert scores.balanced_accuracy == pytest.approx((2 / 3 + 1 / 2 + 1) / 3)
    assert scores.majority == 0.5
    assert scores.auc == pytest.approx(np.mean([roc_auc_score(at == TRUTH, SHARES[:, at]) for at in range(3)]))


def test_two_classes_have_one_area_and_one_class_none() -> None:
    """That of the second against the first."""
    truth, share = np.array([0, 1, 1, 0]), np.array([0.2, 0.7, 0.4, 0.5])
    shares = np.stack([1 - share, share], axis=1)
    assert prediction_scores(truth, shares).auc == pytest.approx(roc_auc_score(truth, share))
    assert prediction_scores(np.ones(4, dtype=np.int64), shares).auc is None


def test_rows_that_cannot_be_scored_are_counted() -> None:
    """Their number, and no label."""
    with pytest.raises(SourceError, match="1 of 2 rows"):
        prediction_scores(np.array([0, UNKNOWN]), np.full((2, 2), 0.5))
    with pytest.raises(SourceError, match="no rows"):
        prediction_scores(np.array([], dtype=np.int64), np.empty((0, 2)))


def test_scores_of_numbers_have_the_mean_beside_them() -> None:
    """R² is scikit-learn's, the error a mean of absolute ones, with intervals from thirty rows on."""
    rng = np.random.default_rng(0)
    truth = rng.normal(10, 3, 200)
    predicted = truth + rng.normal(0, 1, 200)
    scores = regression_scores(predicted, truth)
    assert scores.r2 == pytest.approx(r2_score(truth, predicted))
    assert scores.mae == pytest.approx(np.abs(truth - predicted).mean())
    assert scores.mean_mae == pytest.approx(np.abs(truth - truth.mean()).mean())
    assert scores.of_mean == {"r2": 0.0, "mae": scores.mean_mae}
    low, high = scores.intervals["r2"]
    assert low < scores.r2 < high
    assert regression_scores(predicted[:29], truth[:29]).intervals == {}


def test_numbers_that_cannot_be_scored_are_refused() -> None:
    """A missing one, or nothing that differs."""
    with pytest.raises(SourceError, match="1 of 2 rows"):
        regression_scores(np.zeros(2), np.array([1.0, np.nan]))
    with pytest.raises(SourceError, match="differ"):
        regression_scores(np.zeros(3), np.ones(3))


def rows(labels: list[str], seed: int) -> pa.Table:
    """A number that determines the label."""
    noise = np.random.default_rng(seed).random(len(labels))
    return pa.table({"x": noise / 2 + np.array([ord(one) for one in labels]), "y": labels})


def test_a_label_that_no_released_row_has_is_never_guessed() -> None:
    """Half of the held-out rows are of a class that was lost: half of the guesses are wrong, and no class is right."""
    train, test = rows(list("bc") * 30, 1), rows(list("aabc") * 25, 2)
    for name, one in scores_of_models(train, test, "y").items():
        assert one["accuracy"] == pytest.approx(0.5, abs=0.03), name
        assert one["balanced_accuracy"] == pytest.approx(2 / 3, abs=0.03)
        assert one["auc"] < 0.76
    known = scores_of_models(train, rows(list("bc") * 50, 2), "y")
    assert {one["accuracy"] for one in known.values()} == {1.0}


def test_a_class_without_a_share_is_told_from_others_by_a_coin() -> None:
    """Two of four rows are of class 2, which the model does not have; the others are guessed right."""
    shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.5, 0.5]])
    assert scores_of_shares(shares, np.array([0, 1, 2, 2])) == {
        "auc": 0.75,
        "balanced_accuracy": 0.6667,
        "accuracy": 0.5,
    }


def test_numbers_and_words_are_learned_alike() -> None:
    """Released numbers, missing ones among them, and words that held-out rows alone have."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    tables = [
        pa.table({"x": pa.array(np.where(np.arange(300) % 7 == at, np.nan, x), from_pandas=True), "w": words,
                  "empty": pa.array([None] * 300, pa.float64()), "y": np.where(x > 0, "yes", "no")})
        for at, words in ((0, ["a", "b"] * 150), (1, ["a", "new"] * 150))
    ]  # fmt: skip
    with threadpool_limits(1):  # more threads than free cores are many times slower
        found = scores_of_models(*tables, "y")
    assert set(found) == {"random forest", "boosted trees", "logistic regression"}
    assert best_of(found) == max(one["auc"] for one in found.values()) > 0.9
    assert found[name_of_best(found) or ""]["auc"] == best_of(found)


@pytest.mark.parametrize(
    ("train", "test"),
    [
        (["a", "b"] * 5, ["a", "b"] * 50),
        (["a"] * 99 + ["b"], ["a", "b"] * 50),
        (["a"] * 100, ["a", "b"] * 50),
        (["a", "b"] * 50, ["a"] * 100),
    ],
)
def test_what_cannot_be_learned_or_tested_has_no_score(train: list[str], test: list[str]) -> None:
    """Ten rows, a class of one, one class alone, one class held out; nor is there a best of no models."""
    made = [pa.table({"x": np.arange(len(labels)), "y": labels}) for labels in (train, test)]
    assert scores_of_models(*made, "y") == {}
    assert best_of({}) is None
    assert name_of_best({}) is None


def test_weights_of_a_sample_are_no_feature() -> None:
    """A column that gives the label away is none as the weight; rows without a weight are left out."""
    train = pa.table({"x": [1.0, 2.0] * 30, "w": [1.0, 9.0] * 30, "y": ["a", "a", "b", "b"] * 15})
    one_sided = train.set_column(1, "w", pa.array([1.0 if label == "a" else 9.0 for label in train["y"].to_pylist()]))
    shares, _ = shares_of_models(one_sided, one_sided, "y", "w")
    assert all(np.abs(given[:, 1] - 0.9).max() < 0.1 for given in shares.values())
    some, weights = weighted_rows(train.set_column(1, "w", pa.array([None, 0.0, 2.0] * 20)), "w")
    assert some.num_rows == 20
    assert weights is not None
    assert weights.tolist() == [2.0] * 20
    assert weighted_rows(train, "gone") == (train, None)
