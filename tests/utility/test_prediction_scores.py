"""Scores of predictions, on tables small enough to work out by hand, and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import r2_score, roc_auc_score

from anonkit.domains.number_bins import UNKNOWN
from anonkit.errors import SourceError
from anonkit.utility.prediction_scores import prediction_scores, regression_scores

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
