"""Sums of a Newton step: bounded to the last unit, however rows are batched; a step that finds the weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.dp_trees.additive_model.weighting import (
    FEATURE_UNIT,
    PROBABILITY_UNIT,
    Bounds,
    Features,
    WeightingStep,
    added_curvature,
    added_gradient,
    probabilities,
)
from anonkit.mechanisms.accounting import draw_units, sensitivity_of
from anonkit.mechanisms.exact_samplers import UniformStream, noisy_counts
from anonkit.randomness import Randomness


def _features(n: int, classes: int, size: int, seed: int, scale: float = 2.0) -> tuple[Features, np.ndarray]:
    draw = np.random.default_rng(seed)
    values = np.rint(draw.normal(size=(size, classes, n)) * scale * FEATURE_UNIT).astype(np.int64)
    scores = np.rint(draw.normal(size=(classes, n)) * 2 * FEATURE_UNIT).astype(np.int64)
    return Features(values=values, scores=scores), draw.integers(0, classes, n)


def _rows(features: Features, labels: np.ndarray, part: slice) -> tuple[Features, np.ndarray]:
    return Features(values=features.values[:, :, part], scores=features.scores[:, part]), labels[part]


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 6), st.integers(0, 400_000), st.floats(0.1, 60))
def test_one_row_changes_the_sums_by_no_more_than_the_bound(
    seed: int, classes: int, size: int, bound: int, scale: float
) -> None:
    """The absolute sum of a row's part, over the gradient and over the triangle of the curvature."""
    features, labels = _features(1, classes, size, seed, scale)
    assert np.abs(added_gradient(features, labels, bound)).sum() <= bound
    assert np.abs(added_curvature(features, bound)[np.triu_indices(size)]).sum() <= bound


@given(st.integers(0, 10_000), st.integers(1, 29))
def test_the_sums_do_not_depend_on_the_batches(seed: int, cut: int) -> None:
    """Rows are added up exactly: a row that goes moves no other row's part."""
    features, labels = _features(30, 3, 4, seed)
    parts = [_rows(features, labels, part) for part in (slice(0, cut), slice(cut, 30))]
    assert (sum(added_gradient(*one, 20_000) for one in parts) == added_gradient(features, labels, 20_000)).all()
    whole = added_curvature(features, 2_000_000)
    assert (sum(added_curvature(one, 2_000_000) for one, _ in parts) == whole).all()


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_probabilities_are_whole_and_complete(seed: int, classes: int) -> None:
    """They sum to 256, and are near the softmax."""
    scores = _features(20, classes, 1, seed)[0].scores
    shares = probabilities(scores)
    lifted = np.exp(scores / FEATURE_UNIT - scores.max(axis=0) / FEATURE_UNIT)
    assert (shares.sum(axis=0) == PROBABILITY_UNIT).all()
    assert (shares >= 0).all()
    assert np.abs(shares / PROBABILITY_UNIT - lifted / lifted.sum(axis=0)).max() < (classes + 1) / PROBABILITY_UNIT


def test_a_step_with_little_noise_finds_the_weights() -> None:
    """Half of the evidence of a feature is new, all of another's, none of a third's."""
    draw = np.random.default_rng(1)
    evidence = draw.normal(size=(3, 40_000))
    odds = 0.5 * evidence[0] + 1.0 * evidence[1]
    labels = (draw.random(40_000) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    values = np.rint(np.stack([-evidence / 2, evidence / 2], axis=1) * FEATURE_UNIT).astype(np.int64)
    features = Features(values=values, scores=np.rint(values.sum(axis=0) * 0.6).astype(np.int64))
    step = WeightingStep(units=1 << 52, bounds=Bounds.of(np.full(3, 2.0)), features=3)
    sums = added_gradient(features, labels, step.bounds.gradient), added_curvature(features, step.bounds.curvature)
    noisy = step.noisy(*sums, UniformStream(Randomness.seeded(1)))
    assert 0.6 + noisy.change(np.full(3, 0.5)) == pytest.approx([0.5, 1.0, 0.0], abs=0.12)


def test_the_account_of_a_step_stays_within_its_units() -> None:
    """Rates are rounded down."""
    step = WeightingStep(units=12_345_678_901_234, bounds=Bounds(gradient=70_001, curvature=900_007), features=5)
    assert 0.99 * step.units < sum(draw_units(draw) for draw in step.draws) <= step.units


def test_an_audit_finds_most_of_what_a_step_spends_and_no_more() -> None:
    """Sums with and without a row at its bounds: epsilon is shown to be above 0.7 of the claim, never above it."""
    step = WeightingStep(units=1 << 52, bounds=Bounds(gradient=1000, curvature=10**6), features=1)
    words = UniformStream(Randomness.seeded(7))

    def seen(*sums: int) -> np.ndarray:
        drawn = [
            noisy_counts(np.full(20_000, one), draw.rate, words) >= sensitivity_of(draw.query)
            for one, draw in zip(sums, step.draws, strict=True)
        ]
        return drawn[0] * 2 + drawn[1]

    found = lower_bound(seen(1000, 10**6), seen(0, 0))
    assert 0.7 < found.lower_bound <= 1.0
