"""One model of leaves and attribute values: its tables, its features, its calibration.

The evidence of leaves beyond the attributes: an interaction if there is one, and nothing from noise alone.
"""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.budget_rules.forest_rule import rule_for
from anonkit.dp_trees.additive_model.combination import Combination, evidence_of_leaves, implied_shares, shrunk_shares
from anonkit.dp_trees.additive_model.synthetic_population import AgreedCounts, LeafProductModel
from anonkit.dp_trees.additive_model.weighting import FEATURE_UNIT
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.published.additive_scores import places_of, softmax
from anonkit.published.count_evidence import normal
from anonkit.published.tree_attributes import Split
from anonkit.published.tree_model import LeafContent, Node, PublishedForest
from anonkit.randomness import Randomness
from tests.dp_trees.additive_model.test_synthetic_population import FOREST, HISTOGRAMS
from tests.dp_trees.tables import attribute, schema_of

SCHEMA = schema_of(attribute("a", 2, Split.ONE_VS_REST), attribute("b", 2, Split.ONE_VS_REST))
EVEN = [normal(np.full((1, 2, 2), 0.5), np.full((1, 2), 0.5))] * 2


def _forest() -> PublishedForest:
    """A tree of both attributes: four leaves, one for each pair of values."""
    leaf = Node(leaf=LeafContent(counts=(0, 0)))
    nodes = (
        Node(attribute=0, at=0, children=(1, 2)),
        Node(attribute=1, at=0, children=(3, 4)),
        Node(attribute=1, at=0, children=(5, 6)),
        *[leaf] * 4,
    )
    return PublishedForest(schema=SCHEMA, trees=(nodes,), rows_per_tree={"kind": "disjoint", "trees": 1})


def _evidence(counts: list[list[float]], scale: float) -> np.ndarray:
    own = np.zeros((7, 2))
    own[3:] = counts
    return evidence_of_leaves(_forest(), [0], [own], EVEN, scale)[0]


def test_an_interaction_that_no_attribute_shows_is_seen() -> None:
    """The class is whether the two values differ: the attributes say nothing, the leaves all of it."""
    found = _evidence([[900, 100], [100, 900], [100, 900], [900, 100]], 5.0)
    assert (found[3:, 1] > found[3:, 0]).tolist() == [False, True, True, False]
    assert np.abs(found[4, 1] - found[4, 0]) == pytest.approx(np.log(9), abs=0.2)
    assert not found[:3].any()


def test_what_the_attributes_have_said_is_not_said_again() -> None:
    """Leaves whose counts are those that the attributes imply have no evidence."""
    assert np.abs(_evidence([[500, 500]] * 4, 5.0)).max() < 1e-6


def test_noise_alone_leaves_the_attributes_evidence_as_it_is() -> None:
    """Differences of the size of the noise are taken for it: little is left of the evidence they would be."""
    draw, kept, whole = np.random.default_rng(1), [], []
    for _ in range(200):
        noise = draw.laplace(0, 100.0, (4, 2))
        raw = np.log(np.maximum(500 + noise, 20) / 500)
        kept.append(np.abs(_evidence((500 + noise).tolist(), 100.0)[3:]).mean())
        whole.append(np.abs(raw - raw.mean(axis=1, keepdims=True)).mean())
    assert np.mean(kept) < 0.3 * np.mean(whole)


def test_implied_shares_are_products_within_a_region() -> None:
    """Each leaf has the product of its attributes' shares; over the leaves of a region a class sums to 1."""
    shares = [normal(np.array([[[0.9, 0.2], [0.1, 0.8]]]), np.array([[0.5, 0.5]])), EVEN[0]]
    boxes = np.array([[True, False], [True, False], [False, True], [False, True]])
    other = np.array([[True, False], [False, True]] * 2)
    found = implied_shares(shares, [boxes, other], np.zeros(4, dtype=np.int64), 1, 2)
    assert found == pytest.approx(np.array([[0.45, 0.1], [0.45, 0.1], [0.05, 0.4], [0.05, 0.4]]))


def test_shares_stay_positive_where_counts_are_negative() -> None:
    """A count below 0 leaves a small share of the implied one."""
    found = shrunk_shares(np.array([[-400.0, 900.0]]), np.array([[0.5, 0.5]]), np.full((1, 2), 500.0), 1.0)
    assert (found > 0).all()
    assert found[0, 0] < 0.05


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
