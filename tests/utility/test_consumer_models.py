"""Models of a release on held-out rows: a class that the release lost is no success."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from anonkit.utility.consumer_models import (
    best_of,
    name_of_best,
    scores_of_models,
    scores_of_shares,
    shares_of_models,
    weighted_rows,
)


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
