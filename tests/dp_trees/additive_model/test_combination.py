"""One model of leaves and attribute values: its tables, its features, its calibration.

The evidence of leaves beyond the attributes: an interaction if there is one, and nothing from noise alone.

Histograms under (epsilon, delta): which noise is drawn, that it costs no more, and that it is the noise planned.

The optimism of noisy counts about the rows that they describe.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import anonkit
from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.budget_rules.model_queries import TABLE
from anonkit.budget_rules.tree_rule import rule_for
from anonkit.checks.account_lines import epsilon_of
from anonkit.consumers.published_classifiers import Forest
from anonkit.dp_trees.additive_model.combination import (
    Combination,
    HistogramNoise,
    evidence_of_leaves,
    implied_shares,
    optimism_of,
    shrunk_shares,
)
from anonkit.dp_trees.additive_model.stacked import StackedForest, StackedPlan, learn
from anonkit.dp_trees.additive_model.weighting import FEATURE_UNIT
from anonkit.dp_trees.microdata import AgreedCounts, LeafProductModel
from anonkit.dp_trees.questions import BatchCounter, CodedBatch
from anonkit.mechanisms.accounting import Accounting
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE
from anonkit.published.count_evidence import normal, places_of, softmax
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE, noise_variance
from anonkit.published.statements.noise_statement import Draw
from anonkit.published.tree_model import LeafContent, Node, PublishedForest, Split
from anonkit.randomness import Randomness
from tests.dp_trees.additive_model.test_synthetic_population import FOREST, HISTOGRAMS
from tests.dp_trees.tables import attribute, schema_of

RATE = 2**52 // 4
"""A noise of scale 4 rows."""
NOISE = HistogramNoise(draw=Draw(name="histograms by class", query=TABLE, law="discrete-laplace", rate=RATE))


@dataclass(frozen=True)
class _Linear:
    """Shares and scores that are the counts themselves."""

    shares: tuple[NDArray[Any], ...]

    def tables(self) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
        return [], [2.0 * one for one in self.shares]


def _linear(tables: Sequence[NDArray[np.int64]]) -> Any:
    told = _Linear(tuple(table.astype(float) for table in tables))
    return told, told


def test_of_linear_scores_it_is_the_variance_of_the_noise() -> None:
    """Scores of twice the counts: twice the variance a cell for the own class, nothing for another."""
    ratio = math.exp(-RATE / 2**52)
    variance = 2 * ratio / (1 - ratio) ** 2
    cells = 5_000
    histograms = [np.zeros((1, cells, 2), dtype=np.int64), np.full((1, cells, 2), 1_000, dtype=np.int64)]
    found = optimism_of(_linear, histograms, NOISE, UniformStream(Randomness.seeded(1)))
    assert found / (2 * cells * 2 * variance) == pytest.approx(np.eye(2), abs=0.05)


def test_scores_that_do_not_depend_on_the_counts_have_none() -> None:
    """Nothing is taken from a score that knows nothing of the noise."""

    def deaf(tables: Sequence[NDArray[np.int64]]) -> Any:
        world, _ = _linear(tables)
        return world, _Linear((np.ones((1, 6, 2)),))

    found = optimism_of(deaf, [np.zeros((1, 6, 2), dtype=np.int64)], NOISE, UniformStream(Randomness.seeded(1)))
    assert (found == 0).all()


def _alike(n: int, seed: int) -> pa.Table:
    """Thirty numbers that say much the same of a class that one row in three has."""
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 1 / 3
    common = rng.normal(size=n) + 1.6 * labels
    columns = {f"n{at:02d}": np.clip(common + 0.7 * rng.normal(size=n), -4, 6) for at in range(30)}
    return pa.table({**columns, "y": np.where(labels, "b", "a")})


@pytest.mark.slow
def test_the_smaller_class_is_not_forgotten() -> None:
    """Few rows and many attributes: classes are predicted about as often as on the page, mean of six releases."""
    bounds = {f"n{at:02d}": Column(name=f"n{at:02d}", role=Role.QUASI_IDENTIFIER, bounds=(-4, 6)) for at in range(30)}
    policy = Policy(columns={**bounds, "y": Column(name="y", role=Role.TARGET, categories=("a", "b"))})
    test = _alike(2_000, 1)
    predicted = []
    for seed in range(6):
        made = anonkit.release(_alike(400, 0), method="dp-forest", epsilon=1.0, policy=policy, seed=seed, ledger=None)
        predicted.append(np.mean(Forest(made.params).fit().predict(test.drop_columns(["y"]).to_pandas()) == "b"))
    assert np.mean(predicted) > 0.21  # 0.19 without the correction; a third of the rows have it


ONE = 1 << 52


def plan_of(
    attributes: int, rows: int, epsilon: float, delta: float, *, unit: int = 1, adjacency: str = ADD_OR_REMOVE
) -> StackedPlan:
    """Return the plan of so many attributes of two values, by the rule."""
    changed = unit * (2 if adjacency == REPLACE else 1)
    schema = schema_of(*(attribute(f"a{at:03d}", 2, Split.ONE_VS_REST) for at in range(attributes)))
    rule = rule_for(epsilon=epsilon / changed, rows=rows, attributes=attributes, classes=2)
    plan = StackedPlan(
        rule=rule,
        schema=schema,
        trees=1,
        epsilon=Fraction(epsilon),
        rows_per_unit=unit,
        adjacency=adjacency,
        rows=rows,
    )
    return plan.with_delta(Fraction(delta))


def learned(plan: StackedPlan, codes: np.ndarray, labels: np.ndarray, seed: int) -> StackedForest:
    """Learn from a table in memory."""
    batch = CodedBatch(codes=codes, labels=labels, first_row=0)
    return learn(plan, BatchCounter(lambda: [batch]), Randomness.seeded(seed))


@settings(max_examples=20, deadline=None)
@given(
    epsilon=st.floats(0.05, 8),
    delta=st.floats(1e-10, 1e-2),
    adjacency=st.sampled_from([ADD_OR_REMOVE, REPLACE]),
    unit=st.integers(1, 3),
    rows=st.sampled_from([200_000, 10_000_000]),
)
def test_what_is_paid_in_epsilon_and_in_rho_comes_to_the_claim(
    epsilon: float, delta: float, adjacency: str, unit: int, rows: int
) -> None:
    """With weights, with a calibration, for every unit and both kinds of neighbours: no more, and hardly less."""
    plan = plan_of(60, rows, epsilon, delta, unit=unit, adjacency=adjacency)
    assume(plan.delta)
    account = plan.accounting(None)
    assert sum(draw.law == GAUSSIAN for draw in account.draws) == 1
    pure = Accounting(draws=tuple(draw for draw in account.draws if not draw.in_rho)).path_units
    pure += plan.weight_units + plan.slope_units
    changed = unit * (2 if adjacency == REPLACE else 1)
    total = Fraction(pure * changed, ONE) + epsilon_of(account.rho, Fraction(delta))
    assert 0.9999 * epsilon < total <= Fraction(epsilon)
    assert account.claim == (pytest.approx(epsilon), pytest.approx(delta))


def test_more_attributes_are_asked_where_these_have_less_noise() -> None:
    """Of few rows; the evidence of each weighs the less. Of many rows all are measured either way."""
    pure, quiet = (plan_of(40, 1_500, 1.0, delta) for delta in (0.0, 1e-6))
    assert (pure.noise_law, quiet.noise_law) == (LAPLACE, GAUSSIAN)
    assert 20 < pure.rule.measured < quiet.rule.measured <= 40
    assert quiet.rule.attribute_weight < pure.rule.attribute_weight
    assert quiet.histogram_draw.times == quiet.rule.measured
    assert (pure.stated_rule()["noise"], quiet.stated_rule()["noise"]) == (LAPLACE, GAUSSIAN)
    pure, quiet = (plan_of(40, 100_000, 1.0, delta) for delta in (0.0, 1e-6))
    assert replace(quiet.rule, attribute_weight=0) == replace(pure.rule, attribute_weight=0)
    assert quiet.rule.attribute_weight == pure.rule.attribute_weight


def test_few_attributes_have_laplace_noise_with_a_delta_too() -> None:
    """The account is the pure one."""
    plain, given_delta = (plan_of(5, 10_000, 1.0, delta) for delta in (0.0, 1e-9))
    assert given_delta.histogram_draw == plain.histogram_draw
    assert given_delta.accounting(None).claim is None


@pytest.mark.parametrize("rate", [1 << 44, 1 << 38])
def test_what_is_made_of_the_counts_is_told_the_variance_of_their_noise(rate: int) -> None:
    """Laplace noise of the stated scale has the variance of the Gaussian noise that is drawn."""
    noise = HistogramNoise(draw=Draw(name="h", query=TABLE, rate=rate, law=GAUSSIAN, in_rho=True))
    assert 2 * noise.scale**2 == pytest.approx(noise_variance(rate, GAUSSIAN), rel=1e-9)
    drawn = noise.added(np.zeros((50, 400), dtype=np.int64), UniformStream(Randomness.seeded(1)))
    assert drawn.shape == (50, 400)
    assert drawn.var() == pytest.approx(2 * noise.scale**2, rel=0.05)


def test_the_gaussian_noise_of_a_tiny_table_has_the_planned_law() -> None:
    """Thirty attributes: every published cell is its count plus discrete Gaussian noise, by enumeration."""
    plan = plan_of(30, 3, 30.0, 1e-2)
    plan = replace(plan, rule=plan.rule.measuring(30), delta=Fraction(1e-2))
    codes, labels = np.tile(np.array([[0, 0, 1]], dtype=np.uint8), (30, 1)), np.array([0, 1, 1])
    assert plan.histogram_draw.law == GAUSSIAN
    exact = np.array([[1, 1], [0, 1]])
    noise = np.concatenate(
        [table[0] - exact for seed in range(40) for table in learned(plan, codes, labels, seed).histograms]
    )
    rate = plan.histogram_draw.rate / ONE
    law = np.exp(-(np.arange(-60, 61) ** 2) * rate)
    for value in (-2, -1, 0, 1, 2):
        expected = float(law[60 + value] / law.sum())
        assert np.mean(noise == value) == pytest.approx(expected, abs=5 * math.sqrt(expected / noise.size))


@pytest.mark.slow
def test_an_audit_at_delta_stays_below_epsilon() -> None:
    """The only row of a table of thirty attributes, there or not: its cells show some of the claim, and no more."""
    epsilon, delta = 2.0, 1e-3
    plan = plan_of(30, 10_000, epsilon, delta)
    draw, counts = plan.histogram_draw, plan.trees_plan.leaf_draws(0)[0]
    assert draw.law == GAUSSIAN
    noise = HistogramNoise(draw=draw)

    def ratios(extra: int) -> np.ndarray:
        words = UniformStream(Randomness.seeded(extra))
        cells = noise.added(np.full((draw.times, 40_000), extra), words)
        leaf = HistogramNoise(draw=counts).added(np.full(40_000, extra), words)
        told = (cells.astype(np.float64) ** 2 - (cells - 1.0) ** 2).sum(axis=0) * draw.rate
        return np.round((told + (np.abs(leaf) - np.abs(leaf - 1.0)) * counts.rate) / ONE, 1)

    found = lower_bound(ratios(0), ratios(1), delta=delta)
    assert 0.4 * epsilon < found.lower_bound <= epsilon


def test_with_many_attributes_a_delta_buys_a_better_model() -> None:
    """Forty weak attributes of few rows: nearer to the class on fresh rows than without a delta."""
    draw = np.random.default_rng(3)

    def table(rows: int) -> tuple[np.ndarray, np.ndarray]:
        labels = draw.integers(0, 2, rows)
        return (draw.random((40, rows)) < 0.38 + 0.24 * labels).astype(np.uint8), labels

    (codes, labels), (fresh, truth) = table(1_500), table(3_000)

    def right(delta: float) -> float:
        found = [learned(plan_of(40, 1_500, 0.6, delta), codes, labels, seed) for seed in range(6)]
        scores = [one.scores.logarithms(places_of(one.forest, fresh), fresh) for one in found]
        return float(np.mean([(one.argmax(axis=1) == truth).mean() for one in scores]))

    assert right(1e-6) > right(0.0) + 0.02


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
