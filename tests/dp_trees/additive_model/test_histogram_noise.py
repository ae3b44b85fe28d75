"""Histograms under (epsilon, delta): which noise is drawn, that it costs no more, and that it is the noise planned.

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
from anonkit.budget_rules.forest_rule import rule_for
from anonkit.budget_rules.model_queries import TABLE
from anonkit.checks.account_lines import epsilon_of
from anonkit.consumers.forest import Forest
from anonkit.dp_trees.additive_model.histogram_noise import HistogramNoise, optimism_of
from anonkit.dp_trees.additive_model.stacked import StackedForest, StackedPlan, learn
from anonkit.dp_trees.questions import BatchCounter, CodedBatch
from anonkit.mechanisms.accounting import Accounting
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE
from anonkit.published.additive_scores import places_of
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE, noise_variance
from anonkit.published.statements.draws import Draw
from anonkit.published.tree_attributes import Split
from anonkit.randomness import Randomness
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
