"""Models of a release on held-out rows: a class that the release lost is no success."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from anonkit.checks.consumer_models import scores_of_models, scores_of_shares


def rows(labels: list[str], seed: int) -> pa.Table:
    """A number that tells the label."""
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
