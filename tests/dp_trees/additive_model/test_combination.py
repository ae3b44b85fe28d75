"""One model of leaves and attribute values: its tables, its features, its calibration."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.budget_rules.forest_rule import rule_for
from anonkit.dp_trees.additive_model.combination import Combination
from anonkit.dp_trees.additive_model.consistency import AgreedCounts
from anonkit.dp_trees.additive_model.synthetic_population import LeafProductModel
from anonkit.dp_trees.additive_model.weighting import FEATURE_UNIT
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.published.additive_scores import places_of, softmax
from anonkit.randomness import Randomness
from tests.dp_trees.additive_model.test_synthetic_population import FOREST, HISTOGRAMS

CODES = np.array([[0, 1, 2, 2], [0, 1, 2, 3]])
RULE = rule_for(epsilon=1.0, rows=1200, attributes=2, classes=2)


def _combination(regions: tuple[int, ...] = (0,)) -> Combination:
    histograms = [np.repeat(one, len(regions), axis=0) for one in HISTOGRAMS]
    agreed = AgreedCounts.of(FOREST, regions, histograms, 10.0, 10.0)
    return Combination.of(RULE, FOREST, regions, agreed, 10.0, 10.0)


@pytest.mark.parametrize("regions", [(0,), (1, 2)])
def test_features_and_weights_make_the_scores(regions: tuple[int, ...]) -> None:
    """The whole-number features, weighted, are the published scores up to rounding and what all classes share."""
    combination = _combination(regions)
    places = places_of(FOREST, CODES)
    features = combination.features(places, CODES)
    scores = combination.scores().logarithms(places, CODES)
    assert features.values.shape == (combination.size, 2, 4)
    assert pytest.approx(scores, abs=4 / FEATURE_UNIT) == features.scores.T / FEATURE_UNIT


def test_evidence_points_where_the_counts_do() -> None:
    """Code 2 of `a` is nearly all of the second class, code 1 of the first."""
    places = places_of(FOREST, CODES)
    chances = softmax(_combination().scores().logarithms(places, CODES))[:, 1]
    assert chances[1] < 0.3
    assert chances[2] > 0.7


def test_calibration_predicts_classes_as_often_as_the_world_has_them() -> None:
    """Mean probabilities over drawn rows are the shares of the noisy counts."""
    world = LeafProductModel.of(FOREST, (0,), AgreedCounts.of(FOREST, (0,), HISTOGRAMS, 10.0, 10.0))
    found = _combination().calibrated(world, Randomness.seeded(1))
    rows = world.draw(5000, UniformStream(Randomness.seeded(2)))
    chances = softmax(found.scores().logarithms(places_of(FOREST, rows.codes), rows.codes))
    assert chances[:, 1].mean() == pytest.approx(rows.labels.mean(), abs=0.03)


def test_bounds_follow_the_published_ranges() -> None:
    """More evidence, larger bounds; both are whole and positive."""
    bounds = _combination().bounds
    assert bounds.gradient > 0
    assert bounds.curvature > bounds.gradient
