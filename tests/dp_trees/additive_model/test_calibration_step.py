"""The calibration step: a row adds no more than its bound, a cut moves nothing, nor does noise that drowns it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.dp_trees.additive_model.weighting import (
    CALIBRATION_BOUND,
    FEATURE_UNIT,
    LARGEST_SLOPE,
    LEAST_SLOPE,
    PROBABILITY_UNIT,
    CalibrationStep,
    Features,
    NoisyCalibration,
    expected_curvature,
    probabilities,
    row_calibrations,
)
from anonkit.mechanisms.accounting import draw_units
from anonkit.mechanisms.exact_samplers import UniformStream, noisy_counts
from anonkit.randomness import Randomness

UNIT = FEATURE_UNIT * PROBABILITY_UNIT


def _features(evidence: np.ndarray) -> Features:
    """All evidence of rows as one feature, shape (n_classes, n_rows), and the intercepts; no class is usual."""
    classes, rows = evidence.shape
    whole = np.rint(evidence * FEATURE_UNIT).astype(np.int64)
    intercepts = np.array([[-0.5, 0.5]]) if classes == 2 else np.eye(classes)
    fixed = np.repeat((intercepts * FEATURE_UNIT).astype(np.int64)[:, :, np.newaxis], rows, axis=2)
    return Features(values=np.concatenate([whole[np.newaxis], fixed]), scores=whole)


def _rows(slope: float, n: int, seed: int, move: float = 0.0) -> tuple[Features, np.ndarray]:
    """Two classes whose logarithms of odds are so many times what the evidence says, and a little more."""
    draw = np.random.default_rng(seed)
    said = draw.normal(size=n)
    labels = (draw.random(n) < 1 / (1 + np.exp(-slope * said - move))).astype(np.int64)
    return _features(np.stack([-said / 2, said / 2])), labels


def _found(slope: float, units: int, *, n: int = 20_000, seed: int = 1, move: float = 0.0) -> tuple[float, np.ndarray]:
    """The result of a step of so many units on such rows."""
    features, labels = _rows(slope, n, seed, move)
    noisy = CalibrationStep(units=units).noisy(
        row_calibrations(features, labels).sum(axis=1), UniformStream(Randomness.seeded(seed))
    )
    return noisy.change(expected_curvature(features), n)


@given(st.integers(0, 10_000), st.integers(1, 6), st.floats(0.01, 300))
def test_one_row_changes_the_gradient_by_no_more_than_the_bound(seed: int, classes: int, scale: float) -> None:
    """The absolute sum over slope and intercepts, for each class that the row could have."""
    evidence = np.random.default_rng(seed).normal(size=(classes, 1)) * scale
    for label in range(classes):
        added = row_calibrations(_features(evidence), np.array([label]))
        assert np.abs(added).sum() <= CALIBRATION_BOUND


def test_no_row_of_a_small_model_adds_more_than_the_bound() -> None:
    """Evidence in eighths up to four for two classes, each class, by enumeration: the bound is kept, and reached."""
    steps = np.arange(-32, 33) / 8
    evidence = np.array(list(itertools.product(steps, steps))).T
    sums = [
        np.abs(row_calibrations(_features(evidence), np.full(evidence.shape[1], label))).sum(axis=0) for label in (0, 1)
    ]
    assert CALIBRATION_BOUND - 2 <= max(map(np.max, sums)) <= CALIBRATION_BOUND


@given(st.integers(0, 10_000), st.integers(2, 5), st.floats(0.1, 30))
def test_a_cut_row_pulls_neither_way(seed: int, classes: int, scale: float) -> None:
    """Were its class drawn by the model, a row would add 0 on average, however far it is cut; but for rounding."""
    evidence = np.random.default_rng(seed).normal(size=(classes, 1)) * scale
    features = _features(evidence)
    each = [row_calibrations(features, np.array([label]))[:, 0] for label in range(classes)]
    mean = probabilities(features.scores)[:, 0] @ np.array(each) / PROBABILITY_UNIT
    assert np.abs(mean).max() <= 1


@given(st.integers(0, 10_000), st.integers(1, 29))
def test_the_gradient_does_not_depend_on_the_batches(seed: int, cut: int) -> None:
    """Rows are added up exactly: a row that goes moves no other row's part."""
    features, labels = _rows(1.0, 30, seed)
    whole = row_calibrations(features, labels)
    parts = [
        row_calibrations(
            Features(values=features.values[:, :, part], scores=features.scores[:, part]), labels[part]
        ).sum(axis=1)
        for part in (slice(0, cut), slice(cut, 30))
    ]
    assert (sum(parts) == whole.sum(axis=1)).all()


@pytest.mark.parametrize("slope", [0.9, 1.0, 1.6])
def test_a_step_with_little_noise_goes_towards_the_slope(slope: float) -> None:
    """Most of the way where the model is too sure or not sure enough, and nowhere where it is right."""
    found, intercepts = _found(slope, 1 << 52)
    assert abs(found - slope) < 0.05 + 0.35 * abs(slope - 1)
    assert np.abs(intercepts).max() < 0.1


def test_a_class_that_is_met_more_often_gets_a_larger_intercept() -> None:
    """As far as the prior lets it go."""
    assert 0.1 < _found(1.0, 1 << 52, move=0.3)[1][0] < 0.35


def test_a_gradient_lost_in_its_noise_changes_nothing() -> None:
    """A millionth of epsilon: slope and intercepts stay where they were."""
    for seed in range(20):
        slope, intercepts = _found(3.0, 1 << 32, n=500, seed=seed)
        assert slope == pytest.approx(1.0, abs=0.01)
        assert np.abs(intercepts).max() < 0.01


def test_slopes_stay_within_their_limits() -> None:
    """Evidence is never taken for much less than it says, nor for many times as much."""
    step = CalibrationStep(units=1 << 60)
    for sign, limit in ((-1, LEAST_SLOPE), (1, LARGEST_SLOPE)):
        noisy = NoisyCalibration(step=step, gradient=np.array([sign * 10**9, 0]))
        assert noisy.change(np.eye(2), 1000.0)[0] == limit


def test_the_account_of_the_step_stays_within_its_units() -> None:
    """The rate is rounded down."""
    step = CalibrationStep(units=12_345_678_901_234)
    assert 0.99 * step.units < draw_units(step.draw) <= step.units


def test_an_audit_finds_most_of_what_the_step_spends_and_no_more() -> None:
    """Sums with and without a row at its bound: epsilon is shown to be above 0.7 of the claim, never above it."""
    draw, words = CalibrationStep(units=1 << 52).draw, UniformStream(Randomness.seeded(7))
    features = _features(np.array([[-8.0], [8.0]]))
    surprise = int(np.abs(row_calibrations(features, np.array([0]))[0, 0]))
    assert 0.9 * CALIBRATION_BOUND < surprise <= CALIBRATION_BOUND

    def seen(exact: int) -> np.ndarray:
        return noisy_counts(np.full(20_000, exact), draw.rate, words) >= surprise

    found = lower_bound(seen(surprise), seen(0))
    assert 0.7 < found.lower_bound <= 1.0
