# SPDX-License-Identifier: Apache-2.0
"""The stacked tree model: shallow noisy trees, noisy class histograms of every attribute, and learned weights.

The histograms alone make a naive Bayes classifier, which sees every attribute and no interaction; the trees alone see
interactions of few attributes. Here both are features of one model, and a noisy Newton step says how much of each is
new. What is published are the noisy counts, the noisy sums of the step, and the scores that follow from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from anonkit.budget_rules.pair_rule import PairGrid
from anonkit.budget_rules.tree_rule import Rule, gaussian_histograms
from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import Grid
from anonkit.dp_trees.additive_model.combination import Combination, HistogramNoise, optimism_of
from anonkit.dp_trees.additive_model.pair_prequeries import PairFindings
from anonkit.dp_trees.additive_model.weighting import (
    CalibrationStep,
    NoisyCalibration,
    NoisyStep,
    WeightingStep,
    added_curvature,
    added_gradient,
    expected_curvature,
    row_calibrations,
)
from anonkit.dp_trees.grower import Watch, grow, refuse_other_totals
from anonkit.dp_trees.marginals.measurement_plan import RemainingBudget
from anonkit.dp_trees.microdata import AgreedCounts, LeafProductModel, rows_by_class, without_empty
from anonkit.dp_trees.plan import Choices, Disjoint, NoisyClassCounts, Plan
from anonkit.dp_trees.questions import CodedBatch, Counter
from anonkit.dp_trees.split_selection import JointSelection
from anonkit.mechanisms.accounting import Accounting, draw_units, rounded_up, shares, units_of
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.promises.guarantee import ADD_OR_REMOVE, changed_rows
from anonkit.published.column_means import Table
from anonkit.published.count_evidence import AdditiveScores, places_of, region_of_nodes
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE, MISSING_ABOVE, format_of, is_faint, noise_variance
from anonkit.published.one_thread import one_thread
from anonkit.published.statements.noise_statement import Draw
from anonkit.published.tree_model import FORMATS, PublishedForest, TreeSchema
from anonkit.randomness import Randomness

_PIECE = 1 << 14
_PIECE_CELLS = 1 << 22
"""Rows times features times classes that are worked on at once."""
_FEWEST_UNITS = 1 << 12
_CALIBRATION_ROWS = 3000
"""Rows drawn from the noisy counts that estimate the curvature of the calibration."""


@dataclass(frozen=True, kw_only=True)
class StackedPlan:
    """The plan of the stacked model: every draw, fixed before any row is read, given a public or noisy row count."""

    rule: Rule
    schema: TreeSchema
    trees: int
    epsilon: Fraction
    """For the unit of privacy, what was spent before taken off."""
    rows_per_unit: int = 1
    adjacency: str = ADD_OR_REMOVE
    rows: int = 0
    """The public or noisy number of rows that the rule has read."""
    counted: tuple[Draw, ...] = ()
    """Earlier draws: the number of rows, where it is not public; the histogram of a numeric target."""
    found: PairFindings = field(default_factory=PairFindings)
    """Results of the private pre-queries on pairs of attributes."""
    lead: PairGrid | None = None
    """The public splits of the first levels, where a pair was chosen."""
    delta: Fraction = Fraction(0)
    """For the unit of privacy, spent on the histograms; 0: their noise is Laplace noise."""
    states_noise: bool = False
    """True where a delta was given: the rule then says which noise the histograms have."""

    @property
    def row_units(self) -> int:
        """Privacy loss of one row allowed for the plan, in units of 2**-52 of epsilon."""
        return int(self.epsilon / changed_rows(self.rows_per_unit, self.adjacency) * (1 << 52))

    @cached_property
    def _units(self) -> list[int]:
        """Units for splits and counts, histograms, weights, calibration."""
        changes = changed_rows(self.rows_per_unit, self.adjacency)
        rule = self.rule
        parts = [rule.splits + rule.counts, rule.histograms, rule.weights, rule.slope]
        return shares(units_of(self.epsilon / changes), parts)

    @cached_property
    def trees_plan(self) -> Plan:
        """The plan of the trees."""
        depth, rule = self.rule.depth, self.rule
        # evenly: the first splits of an interaction inform least, and all others rest on them
        chosen = depth - rule.n_public_levels
        weights = (*[Fraction(0)] * rule.n_public_levels, *[rule.splits / max(chosen, 1)] * chosen, rule.counts)
        changes = changed_rows(self.rows_per_unit, self.adjacency)
        return Plan(
            choices=Choices(
                rows=Disjoint(trees=self.trees),
                levels=depth + 1,
                weights=weights,
                selection=JointSelection(),
                leaf=NoisyClassCounts(),
                align=True,
                lead=self.lead,
            ),
            schema=self.schema,
            epsilon=Fraction(self._units[0] * changes, 1 << 52),  # type: ignore[arg-type]
            rows_per_unit=self.rows_per_unit,
            adjacency=self.adjacency,
        )

    @property
    def histogram_loss(self) -> RemainingBudget:
        """Remaining budget for all histograms together."""
        return RemainingBudget(
            units=self._units[1], delta=self.delta, rows_per_unit=self.rows_per_unit, adjacency=self.adjacency
        )

    def with_delta(self, delta: Fraction) -> StackedPlan:
        """Return the plan with Gaussian noise on the histograms, where a delta makes that less; more are measured then.

        Parameters
        ----------
        delta : Fraction
            0 where none may be spent on histograms.
        """
        left, plan = replace(self.histogram_loss, delta=delta), replace(self, states_noise=True)
        rule_counts = gaussian_histograms(
            left.units, left.row_rho_units, max(1, self.rule.measured), len(self.schema.attributes)
        )
        return replace(plan, rule=self.rule.measuring(rule_counts), delta=delta) if rule_counts else plan

    @property
    def noise_law(self) -> str:
        """Law of the noise of the histograms."""
        return GAUSSIAN if self.delta else LAPLACE

    @cached_property
    def histogram_draw(self) -> Draw:
        """One line: each row is in one cell of the histogram of every attribute."""
        times = max(1, self.rule.measured)
        left, law = self.histogram_loss, self.noise_law
        return left.table(law, "histograms by class", left.whole(law), times)

    @property
    def count_scale(self) -> float:
        """Scale of the noise of the class counts of leaves, in rows."""
        plan = self.trees_plan
        return 2.0**52 / plan.leaf_draws(plan.levels - 1)[0].rate

    @property
    def weight_units(self) -> int:
        """Units of the Newton step; 0 when weights are not learned."""
        return self._units[2] if self.rule.weights else 0

    @property
    def slope_units(self) -> int:
        """Units of the calibration step; 0 where it is not made."""
        return self._units[3] if self.rule.slope else 0

    def for_classes(self, forest: PublishedForest) -> StackedPlan:
        """Return the plan for the noisy class counts of the first tree: fewer regions where a class is rare.

        What is drawn, at which rates, stays: a row is in one region, however many there are.
        """
        epsilon = self.epsilon / changed_rows(self.rows_per_unit, self.adjacency)
        counts = [int(count) for count in rows_by_class(forest.trees[0]).sum(axis=0)]
        attributes = max(1, len(self.schema.attributes))
        return replace(self, rule=self.rule.for_classes(counts, epsilon=epsilon, attributes=attributes))

    def stated_rule(self) -> dict[str, Any]:
        """Return the input and the outcome of the rule, for the params: a reader can recompute it."""
        return {
            "rows": self.rows,
            "depth": self.rule.depth,
            "regions": self.rule.region_depth,
            "asked": self.rule.measured,
            "bins": self.rule.cells,
            "weights": self.rule.weights > 0,
            "calibration": self.rule.slope > 0,
            **self.found.to_params(),
            **({"noise": self.noise_law} if self.states_noise else {}),
        }

    def accounting(self, step: NoisyStep | None, calibration: NoisyCalibration | None = None) -> Accounting:
        """Return the whole account: the histograms in rho, where they have Gaussian noise."""
        learned = () if step is None else step.step.draws
        learned = learned if calibration is None else (*learned, calibration.step.draw)
        trees = self.trees_plan.accounting
        first, histograms = (*self.counted, *self.found.draws), self.histogram_draw
        draws = (*first, *trees.draws, histograms, *learned)
        if not histograms.in_rho:
            return replace(trees, draws=draws)
        spent = sum(draw_units(draw) for draw in first) * changed_rows(self.rows_per_unit, self.adjacency)
        claim = (rounded_up(self.epsilon + Fraction(spent, 1 << 52)), rounded_up(self.delta))
        return replace(trees, draws=draws, claim=claim)


@dataclass(frozen=True, kw_only=True, eq=False)
class StackedForest(
    ParamsPart,
    keys=(
        "**forest",
        "format",
        "histograms=by_region",
        "scores=scores.stored",
        "weights?=step",
        "calibration?",
    ),
):
    """The learned model: everything in it is noisy and may be published."""

    plan: StackedPlan
    forest: PublishedForest
    histograms: tuple[IntArray, ...]
    """For each attribute the noisy counts, shape (n_regions, codes, n_classes); no codes where it was not measured."""
    regions: tuple[int, ...]
    step: NoisyStep | None
    calibration: NoisyCalibration | None
    scores: AdditiveScores
    world: LeafProductModel
    """Distribution that the noisy counts describe: rows are drawn from it."""

    @property
    def accounting(self) -> Accounting:
        """Every draw that was made."""
        return self.plan.accounting(self.step, self.calibration)

    @property
    def faint_missing(self) -> list[int]:
        """Numbers of the attributes whose count of missing does not exceed its noise, or was not measured."""
        draw = self.plan.histogram_draw
        variance = noise_variance(draw.rate, draw.law)
        return [
            at
            for at, (attribute, table) in enumerate(zip(self.plan.schema.attributes, self.histograms, strict=True))
            if attribute.domain.has_missing and is_faint([(table[:, -1:], variance)], MISSING_ABOVE)
        ]

    @property
    def totals(self) -> list[FloatArray]:
        """Rows by code of each number that was measured, in all regions and classes together; empty for the others."""
        draw, found = self.plan.histogram_draw, []
        variance = noise_variance(draw.rate, draw.law)
        for attribute, table in zip(self.plan.schema.attributes, self.histograms, strict=True):
            noisy = table.sum(axis=(0, 2)).astype(np.float64)
            if not isinstance(attribute.domain, Grid) or not noisy.size:
                found.append(np.zeros(0))
                continue
            noisy += (self.world.rows - noisy.sum()) / noisy.size  # the leaves know better how many rows there are
            cells = attribute.domain.cells
            deviation = math.sqrt(variance * table.shape[0] * table.shape[2])
            noisy[:cells] = without_empty(noisy[:cells], deviation)
            found.append(noisy)
        return found

    @property
    def tables_of_target(self) -> list[Table]:
        """Noisy tables of the target with one attribute each, and with the leaves of each tree, with their variance."""
        draw = self.plan.histogram_draw
        variance = noise_variance(draw.rate, draw.law)
        found: list[Table] = [
            (table.sum(axis=0).T, variance * table.shape[0]) for table in self.histograms if table.shape[1]
        ]
        rates = [one.rate for one in self.accounting.draws if one.ends_path]
        for tree in self.forest.trees:
            leaves = [node.leaf.counts for node in tree if node.leaf is not None and node.leaf.counts is not None]
            if len(leaves) > 1:
                found.append((np.array(leaves).T, noise_variance(min(rates))))
        return found

    @property
    def format(self) -> str:
        """Name and version of the params, by the law of the noise."""
        return format_of(self.plan.noise_law, FORMATS)

    @property
    def by_region(self) -> list[list[IntArray]]:
        """For each region the noisy counts of each attribute."""
        return [[table[region] for table in self.histograms] for region in range(len(self.regions))]


@one_thread()
def learn(plan: StackedPlan, counter: Counter, randomness: Randomness, watch: Watch | None = None) -> StackedForest:
    """Grow the trees, count the histograms, learn the weights: depth + 3 passes over the rows at most.

    Privacy
    -------
    The plan's account holds: trees by their own plan; histograms and sums are noised here at the planned rates before
    anything else looks at them.
    """
    forest = grow(plan.trees_plan, counter, randomness.child("trees"), watch)
    plan = plan.for_classes(forest)
    regions = regions_of(forest, plan.rule.region_depth)
    words = UniformStream(randomness.child("noise of evidence"))
    measured = chosen_attributes(len(plan.schema.attributes), plan.rule.measured, randomness.child("attributes asked"))
    sums = HistogramSums(forest=forest, regions=regions, measured=measured)
    exact = counter.sum_up(sums)
    for at, table in enumerate(sums.tables(exact)):
        if at in measured:
            refuse_other_totals("histograms", int(table.sum()), counter.n_rows)
    noise = HistogramNoise(draw=plan.histogram_draw)
    histograms = sums.tables(noise.added(exact, words))
    evidence = partial(_evidence, plan, forest, regions)
    world, combination = evidence(histograms)
    if plan.rule.calibrated:
        overlap = 0.0 if plan.weight_units >= _FEWEST_UNITS else 1 - plan.rule.attribute_weight
        optimism = None
        if overlap > 0:  # else the step corrects the intercepts by true rows
            again = UniformStream(randomness.child("noise of the noise"))
            optimism = overlap * optimism_of(evidence, histograms, noise, again)
        combination = combination.calibrated(world, randomness.child("rows of the world"), optimism, overlap)
    step = None
    if plan.weight_units >= _FEWEST_UNITS:
        planned = WeightingStep(units=plan.weight_units, bounds=combination.bounds, features=combination.size)
        step_sums = StepSums(combination=combination, step=planned)
        step = planned.noisy(*step_sums.tables(counter.sum_up(step_sums)), words)
        combination = combination.reweighted(step)
    calibration = None
    if plan.slope_units >= _FEWEST_UNITS:
        slope_sums = CalibrationSums(combination=combination)
        calibration = CalibrationStep(units=plan.slope_units).noisy(counter.sum_up(slope_sums), words)
        codes = world.draw(_CALIBRATION_ROWS, UniformStream(randomness.child("rows of the calibration"))).codes
        curvature = expected_curvature(combination.calibration_features(places_of(forest, codes), codes))
        combination = combination.sloped(*calibration.change(curvature, world.rows))
    return StackedForest(
        plan=plan,
        forest=forest,
        histograms=histograms,
        regions=regions,
        step=step,
        calibration=calibration,
        scores=combination.scores(),
        world=world,
    )


def _evidence(
    plan: StackedPlan, forest: PublishedForest, regions: tuple[int, ...], histograms: Sequence[IntArray]
) -> tuple[LeafProductModel, Combination]:
    """Return the population by noisy histograms, and the evidence made of them."""
    scale = HistogramNoise(draw=plan.histogram_draw).scale
    agreed = AgreedCounts.of(forest, regions, histograms, scale, plan.count_scale)
    return LeafProductModel.of(forest, regions, agreed), Combination.of(
        plan.rule, forest, regions, agreed, scale, plan.count_scale
    )


def chosen_attributes(attributes: int, number: int, randomness: Randomness) -> tuple[int, ...]:
    """Return the measured attributes, in order: a random choice without a look at the data, all where as many are."""
    if number >= attributes:
        return tuple(range(attributes))
    lots = UniformStream(randomness).take(attributes)
    return tuple(sorted(np.argsort(lots, kind="stable")[:number].tolist()))


def regions_of(forest: PublishedForest, depth: int) -> tuple[int, ...]:
    """Return the nodes of the first tree at a level, and its leaves above that level."""
    level, out = {0: 0}, []
    for number, node in enumerate(forest.trees[0]):
        for child in node.children:
            level[child] = level[number] + 1
        if level[number] == depth or (level[number] < depth and node.is_leaf):
            out.append(number)
    return tuple(out)


@dataclass(frozen=True, kw_only=True, eq=False)
class HistogramSums:
    """Exact counts of the codes of the measured attributes, by region and class: to be noised before anything else."""

    forest: PublishedForest
    regions: tuple[int, ...]
    measured: tuple[int, ...]
    """Numbers of the attributes that are counted; the others have no codes."""

    @property
    def _codes(self) -> list[int]:
        return [one.codes if at in self.measured else 0 for at, one in enumerate(self.forest.schema.attributes)]

    @property
    def _sizes(self) -> list[int]:
        return [len(self.regions) * codes * self.forest.schema.n_classes for codes in self._codes]

    @property
    def size(self) -> int:
        """Number of cells."""
        return sum(self._sizes)

    def count(self, batch: CodedBatch) -> IntArray:
        """Return the counts of a batch, attribute by attribute."""
        schema = self.forest.schema
        inside = region_of_nodes([node.children for node in self.forest.trees[0]], self.regions)
        region = inside[places_of(self.forest, batch.codes)[0]]
        histograms = [
            np.bincount((region * size + codes) * schema.n_classes + batch.labels, minlength=cells)
            for size, codes, cells in zip(self._codes, batch.codes, self._sizes, strict=True)
            if size
        ]
        return np.concatenate(histograms).astype(np.int64)

    def tables(self, cells: IntArray) -> tuple[IntArray, ...]:
        """Return the cells as one table an attribute, shape (n_regions, codes, n_classes)."""
        parts = np.split(cells, np.cumsum(self._sizes)[:-1])
        regions, classes = len(self.regions), self.forest.schema.n_classes
        return tuple(part.reshape(regions, codes, classes) for part, codes in zip(parts, self._codes, strict=True))


@dataclass(frozen=True, kw_only=True, eq=False)
class StepSums:
    """Exact gradient and curvature of a Newton step: to be noised before anything else."""

    combination: Combination
    step: WeightingStep

    @property
    def size(self) -> int:
        """Numbers of the gradient, then of the whole square of the curvature."""
        return self.step.features * (1 + self.step.features)

    def count(self, batch: CodedBatch) -> IntArray:
        """Return the sums of a batch."""
        total = np.zeros(self.size, dtype=np.int64)
        schema = self.combination.forest.schema
        rows = max(1, min(_PIECE, _PIECE_CELLS // (self.step.features * schema.n_classes)))
        for start in range(0, batch.n_rows, rows):
            part = slice(start, start + rows)
            codes = batch.codes[:, part]
            features = self.combination.features(places_of(self.combination.forest, codes), codes)
            total[: self.step.features] += added_gradient(features, batch.labels[part], self.step.bounds.gradient)
            total[self.step.features :] += added_curvature(features, self.step.bounds.curvature).reshape(-1)
        return total

    def tables(self, sums: IntArray) -> tuple[IntArray, IntArray]:
        """Return gradient and curvature."""
        size = self.step.features
        return sums[:size], sums[size:].reshape(size, size)


@dataclass(frozen=True, kw_only=True, eq=False)
class CalibrationSums:
    """Exact gradient of slope and intercepts: to be noised before anything else."""

    combination: Combination

    @property
    def size(self) -> int:
        """Numbers of the gradient."""
        return self.combination.size - len(self.combination.attributes)

    def count(self, batch: CodedBatch) -> IntArray:
        """Return the sums of a batch."""
        forest, total = self.combination.forest, np.zeros(self.size, dtype=np.int64)
        rows = max(1, min(_PIECE, _PIECE_CELLS // (self.combination.size * forest.schema.n_classes)))
        for start in range(0, batch.n_rows, rows):
            part = slice(start, start + rows)
            codes = batch.codes[:, part]
            features = self.combination.calibration_features(places_of(forest, codes), codes)
            total += row_calibrations(features, batch.labels[part]).sum(axis=1)
        return total
