"""One-line mutations of central methods: each is refused by the release itself, by validation, or by a named test.

A mutant that survives is a check that is missing. The text of a function is changed in one place and the function made
anew, wherever the package has it; everything is put back when the test ends.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from privacy import mutation

import anonkit
import anonkit.dp_trees.split_selection
from anonkit.checks.validation import validate
from anonkit.dp_trees.split_selection import ENTROPY, GINI, MAX_CLASS
from anonkit.errors import GuaranteeError, InternalError, ReleaseFormatError
from anonkit.mechanisms.accounting import sensitivity_of
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from tests.dp_trees import test_split_selection as scores
from tests.dp_trees.additive_model import test_combination as histograms
from tests.dp_trees.additive_model import test_pair_interaction as interaction
from tests.dp_trees.additive_model import test_pair_prequeries as dependence
from tests.dp_trees.additive_model import test_target_bins as bins
from tests.dp_trees.marginals import test_triple_choice as triples
from tests.mechanisms import test_exact_samplers as laplace
from tests.mechanisms import test_private_selection as selection

POLICY = Policy(
    columns={
        "who": Column(name="who", role=Role.UNIT),
        "age": Column(name="age", bounds=(0.0, 64.0)),
        "job": Column(name="job", categories=("clerk", "farmer", "miner", "nurse")),
        "ill": Column(name="ill", role=Role.TARGET, categories=("no", "yes")),
    }
)
OF_NUMBERS = Policy(
    columns={
        **POLICY.columns,
        "age": Column(name="age", role=Role.TARGET, bounds=(0.0, 64.0)),
        "ill": Column(name="ill", categories=("no", "yes")),
    }
)
"""The same columns with a number to predict."""
ASKED = tuple(f"asked {at}" for at in range(6))
OF_MANY = Policy(columns={**POLICY.columns, **{name: Column(name=name, categories=("no", "yes")) for name in ASKED}})
"""The same columns and six more: too many to learn weights from 600 rows, and rows enough for a calibration."""
OF_STEPS = Policy(columns={**POLICY.columns, "age": Column(name="age", bounds=(0.0, 64.0), step=1.0)})
"""The same columns, of which one is searched for spikes."""
CODED = tuple(f"code {at}" for at in range(20))
OF_CODES = Policy(
    columns={**POLICY.columns, **{name: Column(name=name, categories=tuple(map(str, range(8)))) for name in CODED}}
)
"""The same columns and twenty of eight values: splitting their tables by the target costs something."""
POLICIES = (POLICY, OF_NUMBERS, OF_MANY, OF_CODES, OF_STEPS)


GAUSSIAN_HISTOGRAMS: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-2, "adjacency": "replace"}
"""With which two histograms have less Gaussian noise than Laplace noise."""
CALIBRATED: dict[str, Any] = {"epsilon": 14.0, "n_rows": 300}
"""With which the rows of `OF_MANY` are calibrated: two a person, 7 times 300 is above 1,800, whatever a choice of a
pair costs, and below 35 x 8^2."""
READ: dict[str, Any] = {"epsilon": 40.0}
"""With which the rows of `OF_MANY` are read: weights might be learned, and attributes are independent of each other."""
LOOKED_FOR: dict[str, Any] = {"epsilon": 8.0, "n_rows": 5_000}
"""With which a triple of `OF_MANY` is looked for: no pair speaks of the target."""
COSTLY: dict[str, Any] = {"epsilon": 0.62, "n_rows": 2_000}
"""With which it is read whether the target says enough of the columns of `OF_CODES` for a split."""
DROWNED: dict[str, Any] = {"epsilon": 4.0, "n_rows": 300}
"""With which a choice among the pairs of `OF_MANY` would be wrong too often."""
AGGREGATES: dict[str, Any] = {
    "method": "dp-tables",
    "parameters": {"aggregate": ("job, ill", "mean(age) by ill", "sum(age) by job", "quantile(age, 0.25, 0.5)")},
}


def people() -> pa.Table:
    """600 rows of 150 people."""
    rng = np.random.default_rng(5)
    n = 600
    return pa.table(
        {
            "who": [f"p{at % 150}" for at in range(n)],
            "age": rng.integers(0, 64, n),
            "job": rng.choice(["clerk", "farmer", "miner", "nurse"], n),
            "ill": rng.choice(["no", "yes"], n),
        }
    )


def answered(table: pa.Table) -> pa.Table:
    """The same rows, answering other attributes too."""
    return _extended(table, ASKED, ["no", "yes"])


def coded(table: pa.Table) -> pa.Table:
    """The same rows with codes beside."""
    return _extended(table, CODED, [str(code) for code in range(8)])


def _extended(table: pa.Table, names: Sequence[str], values: Sequence[str]) -> pa.Table:
    rng = np.random.default_rng(6)
    for name in names:
        table = table.append_column(name, pa.array(rng.choice(values, table.num_rows)))
    return table


# --- mutants -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One line of the package, and the replacement."""

    where: str
    """Module and name, `module:Class.name` or `module:name`."""
    old: str
    new: str
    method: str = ""
    """The options of the release."""
    parameters: dict[str, Any] = field(default_factory=dict)
    policy: Policy = POLICY


def mutate(monkeypatch: pytest.MonkeyPatch, mutant: Mutant) -> None:
    """Put the mutant in place of the original, in every module of the package and of the tests that has it."""
    mutation.mutate(mutant, monkeypatch, inside=("anonkit", "tests"))


RULE = "anonkit.dp_trees.additive_model.stacked:StackedPlan."
FOUND = "anonkit.dp_trees.additive_model.pair_prequeries:PairFindings."
SENSITIVITY = "anonkit.mechanisms.accounting:"
TRIPLES = "anonkit.dp_trees.marginals.private_choices:"
SPIKES = "anonkit.dp_trees.release.private_searches:SpikeMethod."
PAIR_QUESTIONS = "anonkit.dp_trees.additive_model.pair_prequeries:PairQuestions."
REFUSED: dict[str, Mutant] = {
    # --- claims
    "half of the loss of a row is claimed": Mutant(
        where="anonkit.mechanisms.accounting:Accounting.epsilon",
        old="self.row_loss * changed", new="self.row_loss / 2 * changed", method="edprf"),
    "half of epsilon is claimed": Mutant(
        where="anonkit.dp_trees.release.declared_schema:CentralMethod._claim",
        old="self._row_units * self", new="self._row_units // 2 * self", method="dp-forest"),
    "a line states half of its rate": Mutant(
        where="anonkit.mechanisms.accounting:Accounting.lines", old="*self.draws)",
        new="*(__import__('dataclasses').replace(draw, rate=draw.rate // 2) for draw in self.draws))",
        method="dp-nb"),
    "one draw is left out of the account": Mutant(
        where="anonkit.mechanisms.accounting:Accounting.lines", old="*self.draws)", new="*self.draws[1:])",
        method="edprf"),
    "tables that each get a whole level cost one of them": Mutant(
        where="anonkit.dp_trees.split_selection:NoisyCounts.draws", old="times = max(1, terms.candidates - level)",
        new="times = 1", method="c45-arithmetic", parameters={"tables": "published"}),
    "the dearest path is the cheapest": Mutant(
        where="anonkit.mechanisms.accounting:most_expensive_path",
        old="everywhere + max(units", new="everywhere + min(units",
        method="c45-arithmetic"),
    "draws in no level are free": Mutant(
        where="anonkit.mechanisms.accounting:most_expensive_path", old="return everywhere + sum", new="return sum",
        method="dp-nb"),
    # --- sensitivities
    "Gini moves by 1": Mutant(
        where=SENSITIVITY + "sensitivity_of", old="return 2 * STEPS", new="return STEPS", method="edprf"),
    "what a forest saves moves as one pair does": Mutant(
        where=SENSITIVITY + "sensitivity_of", old="4 * pairs * STEPS", new="4 * STEPS",
        method="dp-marginals", parameters={"epsilon": 20.0}, policy=OF_NUMBERS),
    "what is read of a target moves by a row": Mutant(
        where=SENSITIVITY + "sensitivity_of", old="moved = 2", new="moved = 1",
        method="dp-marginals", parameters=COSTLY, policy=OF_CODES),
    "a choice of a triple is free": Mutant(
        where="anonkit.dp_trees.marginals.learned_marginals:LearnedMarginals.draws",
        old="else (self.triple.draw,)", new="else ()", method="dp-marginals", parameters=LOOKED_FOR, policy=OF_MANY),
    "a choice of a triple moves by a row": Mutant(
        where=SENSITIVITY + "sensitivity_of", old="STEPS + STEPS + _ROUNDING", new="STEPS + _ROUNDING // 2",
        method="dp-marginals", parameters=LOOKED_FOR, policy=OF_MANY),
    "what is read of the best pair moves by half a row": Mutant(
        where=SENSITIVITY + "sensitivity_of", old="of_best = STEPS", new="of_best = STEPS // 2", method="dp-marginals",
        parameters=LOOKED_FOR, policy=OF_MANY),
    "tables have twice what is left": Mutant(
        where="anonkit.dp_trees.marginals.measurement_plan:plan_of", old="shares(left.whole(law)",
        new="shares(2 * left.whole(law)", method="dp-marginals"),
    "what is paid for a triple is not taken off": Mutant(
        where=TRIPLES + "_spending", old="choice.left.after(units)", new="choice.left.after(0)", method="dp-marginals",
        parameters=LOOKED_FOR, policy=OF_MANY),
    "no triple is looked for where pairs speak little": Mutant(
        where=TRIPLES + "with_triple", old="if not rule.is_little", new="if rule.is_little", method="dp-marginals",
        parameters=LOOKED_FOR, policy=OF_MANY),
    "it is not told that no triple was chosen": Mutant(
        where="anonkit.methods.dp_marginals:_of_triple", old="if learned.triple is None:",
        new="if not learned.triples:", method="dp-marginals", parameters=LOOKED_FOR, policy=OF_MANY),
    "an entropy moves as in a table of one row": Mutant(
        where=SENSITIVITY + "steepest_entropy", old="math.log2(most_rows + 1)", new="0", method="diffp-id3",
        parameters={"score": "entropy"}),
    "a choice has twice its rate": Mutant(
        where="anonkit.dp_trees.split_selection:JointSelection.draws",
        old="rate = rate_within(units,", new="rate = 2 * rate_within(units,", method="edprf"),
    "rates are rounded up": Mutant(
        where="anonkit.mechanisms.accounting:rate_within", old="rate = units // sensitivity",
        new="rate = 3 * units // (2 * sensitivity)", method="dp-nb"),
    "halves of a mean move by one step": Mutant(
        where=SENSITIVITY + "sensitivity_of", old="return high - low", new="return 1", **AGGREGATES),
    "a sum moves by half of its bound": Mutant(
        where=SENSITIVITY + "sensitivity_of", old="max(abs(low), abs(high))", new="max(abs(low), abs(high)) // 2",
        **AGGREGATES),
    "each measurement has all of epsilon": Mutant(
        where="anonkit.dp_trees.aggregate_tables:AggregatePlan.draws",
        old="in zip(self.measurements, parts,", new="in zip(self.measurements, [units] * len(parts),", **AGGREGATES),
    "intervals of counts are half as wide": Mutant(
        where="anonkit.published.aggregates:_Counts.__call__", old="float(count - far), float(count + far)",
        new="float(count - far // 2), float(count + far // 2)", **AGGREGATES),
    "a quantile is the place behind": Mutant(
        where="anonkit.published.aggregates:_Points.__call__", old="np.argmax(ahead >= 0))",
        new="np.argmax(ahead >= 0)) + 1", **AGGREGATES),
    # --- composition
    "all histograms cost one": Mutant(
        where=RULE + "histogram_draw", old="times = max(1, self.rule.measured)", new="times = 1",
        method="dp-forest"),
    "all tables of a level cost one": Mutant(
        where="anonkit.dp_trees.split_selection:NoisyCounts.draws",
        old="times = terms.candidates * (2 if self.separate_totals else 1)", new="times = 1", method="pinq-id3"),
    "totals cost nothing": Mutant(
        where="anonkit.dp_trees.split_selection:NoisyCounts.draws",
        old="times = terms.candidates * (2 if self.separate_totals else 1)", new="times = terms.candidates",
        method="sulq-id3"),
    "cuts cost nothing": Mutant(
        where="anonkit.dp_trees.split_selection:CutThenAttribute._line", old="times=numbers + 1", new="times=1",
        method="diffp-c45"),
    "trees on the same rows cost one": Mutant(
        where="anonkit.dp_trees.plan:_times", old="if trees == 1:", new="if trees >= 1:", method="diffprf",
        parameters={"rows": "shared", "trees": 3}),
    "trees on the same rows get all": Mutant(
        where="anonkit.dp_trees.plan:Shared.path_units", old="units_of(epsilon) // self.trees",
        new="units_of(epsilon)",
        method="diffprf", parameters={"rows": "shared", "trees": 3}),
    "copies of a bootstrap cost nothing": Mutant(
        where="anonkit.mechanisms.accounting:copies_loss", old="* bootstrap.trees)", new="* 1)", method="diffprfs",
        parameters={"trees": 3}),
    "a bootstrap spends what it likes": Mutant(
        where="anonkit.dp_trees.plan:PoissonBootstrap.path_units", old="while self._loss(units) > epsilon:",
        new="units *= 2\n    while self._loss(units) > 4 * epsilon:", method="diffprfs", parameters={"trees": 3}),
    "the bootstrap is not told": Mutant(
        where="anonkit.mechanisms.accounting:Accounting.composition", old="bootstrap=self.bootstrap",
        new="bootstrap=None", method="diffprfs", parameters={"trees": 3}),
    "a leaf forgets what its path has spent": Mutant(
        where="anonkit.dp_trees.plan:Plan.leaf_units", old="self.path_units - above", new="self.path_units",
        method="edprf"),
    "a leaf gets what choices at the published rate have not cost": Mutant(
        where="anonkit.dp_trees.plan:Plan.leaf_units", old="self.choices.selection.slack * sum", new="sum",
        method="edprf", parameters={"rate": "published"}),
    "a label at the published rate has the full one": Mutant(
        where="anonkit.dp_trees.plan:LabelOnly.draws", old="rate_within(units, self.slack)",
        new="rate_within(units, 1)", method="edprf", parameters={"rate": "published", "leaf": "label"}),
    "cuts of a step cost nothing": Mutant(
        where="anonkit.dp_trees.taxonomy_specialization:SpecializationPlan.choices",
        old="self.numbers + 2 * self.steps",
        new="self.steps", method="diffgen", parameters={"steps": 2}),
    "cells get all of epsilon": Mutant(
        where="anonkit.dp_trees.taxonomy_specialization:SpecializationPlan.count",
        old="self.path_units - draw_units(self.choice)",
        new="self.path_units", method="dt-diff", parameters={"steps": 2}),
    "replaced rows cost once": Mutant(
        where="anonkit.promises.guarantee:changed_rows", old="(2 if adjacency == REPLACE else 1)", new="1",
        method="dp-nb",
        parameters={"adjacency": "replace"}),
    "a step of the weights is free": Mutant(
        where=RULE + "accounting", old="learned = () if step is None else step.step.draws",
        new="learned = ()", method="dp-forest", parameters={"epsilon": 40.0}),
    "a calibration is free": Mutant(
        where=RULE + "accounting", old="learned if calibration is None else (*learned, calibration.step.draw)",
        new="learned", method="dp-forest", parameters=CALIBRATED, policy=OF_MANY),
    "a calibration has twice its rate": Mutant(
        where="anonkit.dp_trees.additive_model.weighting:CalibrationStep.draw",
        old="self.units,", new="2 * self.units,", method="dp-forest", parameters=CALIBRATED,
        policy=OF_MANY),
    "a row of a calibration counts twice": Mutant(
        where="anonkit.dp_trees.additive_model.weighting:CalibrationStep.draw",
        old="self.units, CALIBRATION_BOUND", new="self.units, CALIBRATION_BOUND // 2", method="dp-forest",
        parameters=CALIBRATED, policy=OF_MANY),
    "regions follow from other rows of classes than are published": Mutant(
        where=RULE + "for_classes", old="[int(count) for count in", new="[int(count) // 1000 for count in",
        method="dp-forest", parameters={"epsilon": 40.0}),
    "all histograms cost one rho": Mutant(
        where=RULE + "histogram_draw", old="times = max(1, self.rule.measured)", new="times = 1",
        method="dp-forest", parameters=GAUSSIAN_HISTOGRAMS),
    "histograms have the rho of all of epsilon": Mutant(
        where=RULE + "histogram_loss", old="units=self._units[1]", new="units=sum(self._units)",
        method="dp-forest", parameters=GAUSSIAN_HISTOGRAMS),
    "replaced rows of a unit lose the rho of one": Mutant(
        where="anonkit.dp_trees.marginals.measurement_plan:RemainingBudget.squared",
        old="changed_squared(self.rows_per_unit", new="changed_squared(1",
        method="dp-forest", parameters=GAUSSIAN_HISTOGRAMS),
    "a delta that may be spent is not promised": Mutant(
        where="anonkit.dp_trees.release.stacked_trees:StackedMethod.guarantee",
        old="or self._delta_may_pay(schema)", new="", method="dp-forest", parameters=GAUSSIAN_HISTOGRAMS),
    "the number of rows is free": Mutant(
        where=RULE + "accounting", old="(*self.counted, *self.found.draws)", new="self.found.draws",
        method="dp-forest"),
    "a reading of attributes is free": Mutant(
        where=FOUND + "draws", old="(self.dependence, self.interaction)", new="(self.interaction,)", method="dp-forest",
        parameters=READ, policy=OF_MANY),
    "a choice of a pair is free": Mutant(
        where=FOUND + "draws", old="(self.dependence, self.interaction)", new="(self.dependence,)", method="dp-forest",
        parameters=READ, policy=OF_MANY),
    "a choice of a pair moves by a row": Mutant(
        where=SENSITIVITY + "sensitivity_of", old="            return 2\n", new="            return 1\n",
        method="dp-forest", parameters=READ, policy=OF_MANY),
    "a choice of a pair has twice its rate": Mutant(
        where=PAIR_QUESTIONS + "_chosen", old="self.interaction.draw(units)", new="self.interaction.draw(2 * units)",
        method="dp-forest", parameters=READ, policy=OF_MANY),
    "it is not told which pair was chosen": Mutant(
        where=RULE + "stated_rule", old="**self.found.to_params(),",
        new='**self.found.to_params(), "interaction": None,',
        method="dp-forest", parameters=READ, policy=OF_MANY),
    "a reading of attributes moves by a row": Mutant(
        where=SENSITIVITY + "sensitivity_of", old="math.ceil(2 * summed", new="math.ceil(summed",
        method="dp-forest", parameters=READ, policy=OF_MANY),
    "a reading of attributes has twice its rate": Mutant(
        where=PAIR_QUESTIONS + "measure", old="self.dependence.draw(reading)", new="self.dependence.draw(2 * reading)",
        method="dp-forest", parameters=READ, policy=OF_MANY),
    "what is asked of pairs is not taken off": Mutant(
        where="anonkit.dp_trees.release.stacked_trees:StackedMethod.plan", old="left -= found.units", new="left -= 0",
        method="dp-forest", parameters=READ, policy=OF_MANY),
    "weights are learned where nothing depends on anything": Mutant(
        where="anonkit.dp_trees.release.stacked_trees:StackedMethod.plan",
        old="not is_dependent(found.dependence.rows, rows)", new="is_dependent(found.dependence.rows, rows)",
        method="dp-forest", parameters=READ, policy=OF_MANY),
    "it is not told what was read": Mutant(
        where=RULE + "stated_rule", old="**self.found.to_params(),",
        new='**self.found.to_params(), "dependence": None,',
        method="dp-forest", parameters=READ, policy=OF_MANY),
    "the histogram of the target is free": Mutant(
        where="anonkit.dp_trees.release.stacked_trees:StackedMethod.plan",
        old="left = self._row_units - sum(draw_units(draw) for draw in draws)",
        new="left = self._row_units - (0 if counting is None else draw_units(counting))", method="dp-forest",
        policy=OF_NUMBERS),
    "no line tells of the histogram of the target": Mutant(
        where="anonkit.dp_trees.release.stacked_trees:StackedMethod.plan",
        old="counted=draws,", new="counted=draws[:1],",
        method="dp-forest", policy=OF_NUMBERS),
    "the histogram of the target has twice its rate": Mutant(
        where="anonkit.dp_trees.additive_model.target_bins:histogram_draw",
        old="int(row_units * TARGET_SHARE)", new="2 * int(row_units * TARGET_SHARE)", method="dp-forest",
        policy=OF_NUMBERS),
    "every row is counted twice in the histogram of the target": Mutant(
        where="anonkit.dp_trees.additive_model.target_bins:TargetCounts.__call__", old="cells = np.bincount(",
        new="cells = 2 * np.bincount(", method="dp-forest", policy=OF_NUMBERS),
    "bins of the target follow from its exact rows": Mutant(
        where="anonkit.dp_trees.release.stacked_trees:StackedMethod.plan", old="classes=numbers.classes)",
        new="classes=replace(numbers, counts=np.cumsum(numbers.counts)).classes)",
        method="dp-forest", policy=OF_NUMBERS),
    # --- the search for spikes
    "a search for spikes is free": Mutant(
        where=SPIKES + "_with_search", old="[one.draw for one in histograms]", new="[]",
        method="dp-marginals", policy=OF_STEPS),
    "nothing is taken off for a search": Mutant(
        where=SPIKES + "after_spikes", old="sum(draw_units(draw) for draw in draws)", new="0", method="dp-marginals",
        policy=OF_STEPS),
    "a search has twice its share": Mutant(
        where=SPIKES + "spike_draws", old="spike_units(self", new="2 * spike_units(self", method="dp-tree",
        policy=OF_STEPS),
    "a search of replaced rows costs once": Mutant(
        where=SPIKES + "after_spikes", old="* self.changed_rows, 1 << 52)", new="* self.rows_per_unit, 1 << 52)",
        method="dp-forest", policy=OF_STEPS, parameters={"adjacency": "replace"}),
    "every row is counted twice in a search": Mutant(
        where="anonkit.dp_trees.release.private_searches:candidate_counts",
        old="[np.bincount(", new="[2 * np.bincount(",
        method="dp-nb", policy=OF_STEPS),
    # --- counting
    "every row is counted twice in a table": Mutant(
        where="anonkit.methods.dp_nb:count",
        old="tables.append(np.bincount(cells", new="tables.append(2 * np.bincount(cells",
        method="dp-nb"),
    "classes are counted twice": Mutant(
        where="anonkit.methods.dp_nb:count", old="tables = [np.bincount(batch.labels, minlength=classes)]",
        new="tables = [2 * np.bincount(batch.labels, minlength=classes)]", method="dp-nb"),
    "every row is counted twice in a histogram": Mutant(
        where="anonkit.dp_trees.additive_model.stacked:HistogramSums.count", old="np.concatenate(histograms)",
        new="2 * np.concatenate(histograms)",
        method="dp-forest"),
    "every row is in two trees": Mutant(
        where="anonkit.dp_trees.plan:Disjoint.groups",
        old="yield answered_attribute(key, _TREE_STREAM, first_row, n_rows, self.trees), None",
        new="yield from [(answered_attribute(key, _TREE_STREAM, first_row, n_rows, self.trees), None)] * 2",
        method="edprf", parameters={"trees": 3}),
    "every row is in a tree twice": Mutant(
        where="anonkit.dp_trees.plan:Shared.groups", old="for tree in range(self.trees):",
        new="for tree in [*range(self.trees), 0]:", method="diffprf", parameters={"rows": "shared", "trees": 3}),
    "every row is in its node twice": Mutant(
        where="anonkit.dp_trees.questions:_add_keys", old="1 if weights is None",
        new="2 if weights is None", method="edprf"),
    "cells take every row twice": Mutant(
        where="anonkit.dp_trees.questions:Question.add", old="_add_keys(total, keys, weights)",
        new="_add_keys(total, keys, weights), _add_keys(total, keys, weights)",
        method="diffgen", parameters={"steps": 1}),
    # --- units
    "a unit has one row more": Mutant(
        where="anonkit.dp_trees.release.coded_rows:first_rows_of_units", old="rank < most", new="rank <= most",
        method="dp-nb"),
    "every second row is another unit": Mutant(
        where="anonkit.dp_trees.release.coded_rows:first_rows_of_units",
        old="np.arange(codes.size) - np.repeat(starts", new="np.arange(codes.size) // 2 - np.repeat(starts // 2",
        method="dp-nb"),
    "more rows a unit cost as one": Mutant(
        where="anonkit.promises.guarantee:changed_rows", old="return rows_per_unit * (", new="return 1 * (",
        method="dp-nb",
        parameters={"rows_per_unit": 3}),
    "the account forgets the rows of a unit": Mutant(
        where="anonkit.mechanisms.accounting:Accounting.composition", old="rows_per_unit=self.rows_per_unit",
        new="rows_per_unit=1", method="edprf", parameters={"rows_per_unit": 3}),
    # --- what is published
    "rows do not come from the noisy counts": Mutant(
        where="anonkit.dp_trees.microdata:consistent", old="total = max(float(counts.sum()), 0.0)",
        new="total = 3 * max(float(counts.sum()), 0.0)", method="edprf"),
    "domains are told in another order": Mutant(
        where="anonkit.documents:_written", old="= unstructure(value)",
        new="= sorted(value)[::-1] if entry.key == 'categories' else unstructure(value)", method="dp-nb"),
}  # fmt: skip


HARMLESS: dict[str, Mutant] = {
    "Gaussian noise is drawn where Laplace noise is less": Mutant(
        where="anonkit.budget_rules.tree_rule:gaussian_histograms",
        old="return min(_MORE * quiet, attributes) if quiet > planned else 0", new="return attributes",
        method="dp-forest", parameters={**GAUSSIAN_HISTOGRAMS, "n_rows": 2}),
    "a pair is chosen wherever there is one": Mutant(
        where="anonkit.budget_rules.tree_rule:choice_share", old="return rounded if rounded <= _MOST_CHOICE",
        new="return min(rounded, _MOST_CHOICE) if pairs", method="dp-forest", parameters=DROWNED, policy=OF_MANY),
    "a value is a spike at half of the threshold": Mutant(
        where="anonkit.budget_rules.spike_rule:threshold_of", old="return max(by_chance,",
        new="return max(by_chance // 2,", method="dp-forest", policy=OF_STEPS),
    "columns have what pairs should": Mutant(
        where="anonkit.budget_rules.marginal_rule:stage_shares", old="columns / (columns + pairs), EDGE",
        new="pairs / (columns + pairs), EDGE", method="dp-marginals", parameters={"epsilon": 20.0}, policy=OF_NUMBERS),
    "a search takes a fifth of epsilon": Mutant(
        where="anonkit.budget_rules.spike_rule:spike_units", old="units * SPIKES_SHARE", new="5 * units * SPIKES_SHARE",
        method="dp-tree", policy=OF_STEPS),
    "a calibration is not taken from the counts": Mutant(
        where="anonkit.budget_rules.tree_rule:rule_for", old="else counts - slope", new="else counts",
        method="dp-forest", parameters=CALIBRATED, policy=OF_MANY),
    "trees are as deep as they may be": Mutant(
        where="anonkit.budget_rules.tree_rule:rule_for", old="depth = max(depth, ", new="depth = max(depth, 8, ",
        method="dp-forest"),
}  # fmt: skip
"""Mutants of the budget rules, which methods and checks share: other tables or another division, and a true account."""


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """The people."""
    return people().set_column(1, "age", people()["age"].cast("float64"))  # of integers there are few bins


def _number_of(policy: Policy) -> int:
    return next(at for at, known in enumerate(POLICIES) if known is policy)


SMALL = ("edprf", "diffprfs", "diffprf", "c45-arithmetic", "sulq-id3", "pinq-id3", "diffp-c45", "diffp-id3")
"""Methods whose trees are kept shallow."""


def release_of(table: pa.Table, mutant: Mutant, output: Path) -> None:
    """Release with a mutant's method and parameters, and validate."""
    given = {
        "epsilon": 2.0,
        "rows_per_unit": 2,
        **({"depth": 2} if mutant.method in SMALL else {}),
        **mutant.parameters,
    }
    rows = answered(table) if mutant.policy is OF_MANY else coded(table) if mutant.policy is OF_CODES else table
    anonkit.release(rows, method=mutant.method, policy=mutant.policy, output=output, ledger=None, **given)
    broken = [check.name for check in validate(output).checks if not check.passed]
    if broken:
        raise GuaranteeError(f"refused by validation: {broken}")


@pytest.mark.parametrize("name", REFUSED)
def test_a_mutant_is_refused_by_the_release_or_by_validation(
    name: str, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release with one line changed is not written, or does not validate."""
    with monkeypatch.context() as patch:
        mutate(patch, REFUSED[name])
        with pytest.raises((GuaranteeError, InternalError, ReleaseFormatError)) as error:
            release_of(table, REFUSED[name], tmp_path / "out.parquet")
    if isinstance(error.value, InternalError):  # a check found the draft damaged; a crash elsewhere is no refusal
        assert "anonkit.checks." in error.value.message
    print(f"MUTANT|{name}|{error.value.message}")


@pytest.mark.quick_cases("kind[0-9]", "kind3?")
@pytest.mark.parametrize(
    "kind",
    sorted(
        {
            (one.method, tuple(one.parameters.items()), _number_of(one.policy))
            for one in (*REFUSED.values(), *HARMLESS.values())
        }
    ),
)
def test_the_same_releases_without_a_mutant_are_made(
    kind: tuple[str, tuple[tuple[str, Any], ...], int], table: pa.Table, tmp_path: Path
) -> None:
    """So that it is the mutation that is refused."""
    mutant = Mutant(where="", old="", new="", method=kind[0], parameters=dict(kind[1]), policy=POLICIES[kind[2]])
    release_of(table, mutant, tmp_path / "o.parquet")


@pytest.mark.parametrize("name", HARMLESS)
def test_a_mutant_of_a_budget_rule_costs_no_more_than_was_asked(
    name: str, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another rule makes another release, whose lines, added up here once more, come to epsilon at most."""
    mutant, accounts = HARMLESS[name], []
    for at, changed in enumerate((False, True)):
        with monkeypatch.context() as patch:
            if changed:
                mutate(patch, mutant)
            output = tmp_path / str(at) / "out.parquet"
            release_of(table, mutant, output)
        accounts.append(json.loads((output.parent / "out.params.json").read_text())["accounting"])
    assert accounts[0] != accounts[1] or "spike" in name
    asked, sides = mutant.parameters.get("epsilon", 2.0), 2 if "adjacency" in mutant.parameters else 1
    for lines in accounts:
        pure = [line for line in lines if "rho" not in line]
        ends = {line["level"] for line in pure if line["ends_path"]} or {None}
        paid = max(sum(line["rate"] * line["sensitivity"] * line["times"] for line in pure if pays(line, end))
                   for end in ends)  # fmt: skip
        assert paid * 2 * sides <= asked * 2**52


def pays(line: dict[str, Any], end: int | None) -> bool:
    """True where a row whose path ends at a level pays for a line."""
    return (
        bool(line["level"] == end) if line["ends_path"] else line["level"] is None or end is None or line["level"] < end
    )


# --- noise -------------------------------------------------------------------------------------------------------


def each_epsilon() -> None:
    """The exact law of the noise."""
    for epsilon in (0.5, 1.0):
        laplace.test_the_noise_has_the_law_of_the_formula(epsilon)


def chooses(choose: Callable[..., Any], law: Callable[..., Any]) -> Callable[[], None]:
    """The exact law of a choice."""

    def test() -> None:
        name = choose.__name__
        selection.test_the_sampler_has_the_law([3, 1, 0, 3], getattr(selection, name), law)

    return test


def sensitivities() -> None:
    """Every width, by brute force over all small tables, of up to ten times the rows it is planned for."""
    for score, made_by in ((GINI, "_gini"), (ENTROPY, "_entropy"), (MAX_CLASS, "_max_class")):
        now = replace(score, of=getattr(anonkit.dp_trees.split_selection, made_by))
        for max_rows in (7, 81):
            moved = scores.changes(now, scores.all_tables(2, 40), max_rows)
            assert moved.max() - moved.min() <= sensitivity_of(now.query(2, max_rows))


def people_are_capped() -> None:
    """At an epsilon of 40 the noise is next to nothing: 150 people with two rows each are some 300 rows."""
    release = anonkit.release(people(), method="dp-nb", policy=POLICY, epsilon=40.0, rows_per_unit=2, ledger=None)
    assert abs(sum(release.params["class_counts"]) - 300) < 30


NOISE: dict[str, tuple[Mutant, Callable[[], None]]] = {
    "noise of half the scale": (
        Mutant(where="anonkit.mechanisms.exact_samplers:discrete_laplace",
               old="geometric(n - filled + 8, rate, words)",
               new="geometric(n - filled + 8, 2 * rate, words)"), each_epsilon),
    "noise of one tail": (
        Mutant(where="anonkit.mechanisms.exact_samplers:discrete_laplace", old="np.where(negative, -size, size)",
               new="np.where(negative, size, size)"), each_epsilon),
    "noise with its tail cut": (
        Mutant(where="anonkit.mechanisms.exact_samplers:discrete_laplace",
               old="np.where(negative, -size, size)[accepted]",
               new="np.clip(np.where(negative, -size, size), -2, 2)[accepted]"), each_epsilon),
    "noise with a bias": (
        Mutant(where="anonkit.mechanisms.exact_samplers:discrete_laplace", old="= values\n", new="= values + 1\n"),
        each_epsilon),
    "Laplace noise at the rate of Gaussian noise": (
        Mutant(where="anonkit.dp_trees.additive_model.combination:HistogramNoise.added",
               old="gaussian_counts if", new="noisy_counts if"),
        lambda: histograms.test_what_is_made_of_the_counts_is_told_the_variance_of_their_noise(1 << 44)),
    "Gaussian noise is taken for Laplace noise of its rate": (
        Mutant(where="anonkit.dp_trees.additive_model.combination:HistogramNoise.scale",
               old="if self.draw.law == GAUSSIAN:", new="if False:"),
        lambda: histograms.test_what_is_made_of_the_counts_is_told_the_variance_of_their_noise(1 << 44)),
    "a zero of either sign": (
        Mutant(where="anonkit.mechanisms.exact_samplers:discrete_laplace", old="~(negative & (size == 0))",
               new="size >= 0"), each_epsilon),
    "one noise for all counts": (
        Mutant(where="anonkit.mechanisms.exact_samplers:noisy_counts", old="noise.reshape(counts.shape)",
               new="noise[0]"), laplace.test_counts_keep_their_shape_and_are_right_on_average),
    "counts are scaled by two": (
        Mutant(where="anonkit.mechanisms.exact_samplers:noisy_counts", old="counts + noise",
               new="2 * counts + noise"),
        laplace.test_counts_keep_their_shape_and_are_right_on_average),
    "nobody's rows are limited": (
        Mutant(where="anonkit.dp_trees.release.declared_schema:CentralMethod.used_rows", old="if policy.unit is None:",
               new="if True:"), people_are_capped),
    "coins without a fraction": (
        Mutant(where="anonkit.mechanisms.exact_samplers:_coins",
               old="alive = np.flatnonzero(_exp_fraction(fraction, words))", new="alive = np.arange(fraction.size)"),
        chooses(selection.permute_and_flip, selection.law_of_permute_and_flip)),
    "permute-and-flip at twice the rate": (
        Mutant(where="anonkit.mechanisms.exact_samplers:permute_and_flip", old="bernoulli_exp(gap, rate, words)",
               new="bernoulli_exp(gap, 2 * rate, words)"),
        chooses(selection.permute_and_flip, selection.law_of_permute_and_flip)),
    "the first head is taken": (
        Mutant(where="anonkit.mechanisms.exact_samplers:_uniform_member",
               old="words.below(heads.sum(axis=1, dtype=np.int64))",
               new="np.zeros(len(heads), dtype=np.int64)"),
        chooses(selection.permute_and_flip, selection.law_of_permute_and_flip)),
    "the exponential mechanism at twice the rate": (
        Mutant(where="anonkit.mechanisms.exact_samplers:exponential_mechanism", old="proposed], rate, words)",
               new="proposed], 2 * rate, words)"),
        chooses(selection.exponential_mechanism, selection.law_of_exponential)),
    "the exponential mechanism keeps what it proposes": (
        Mutant(where="anonkit.mechanisms.exact_samplers:exponential_mechanism",
               old="bernoulli_exp(gap[left[:, np.newaxis], proposed], rate, words)",
               new="bernoulli_exp(0 * gap[left[:, np.newaxis], proposed], rate, words)"),
        chooses(selection.exponential_mechanism, selection.law_of_exponential)),
    "weights are forgotten": (
        Mutant(where="anonkit.mechanisms.exact_samplers:exponential_mechanism",
               old="1 if weights is None else weights, 0",
               new="1, 0"), selection.test_weighted_candidates_are_drawn_by_weight_and_score),
    "an entropy is steeper beyond its rows": (
        Mutant(where="anonkit.dp_trees.split_selection:_entropy",
               old="steepest_entropy(max_rows)", new="steepest_entropy(max_rows * 9)"), sensitivities),
    "an entropy is not capped": (
        Mutant(where="anonkit.dp_trees.split_selection:_entropy", old="slope * beyond", new="8 * slope * beyond"),
        sensitivities),
    "the histogram of a target has no noise": (
        Mutant(where="anonkit.dp_trees.release.stacked_trees:StackedMethod._numbers",
               old=("noisy = noisy_counts(np.array(cells), draw.rate, UniformStream(rng.child("
                    "\"values of the target\")))"),
               new="noisy = np.array(cells)"), bins.test_the_histogram_of_a_release_has_the_noise_of_its_rate),
    "numbers are drawn in the lower half of their bins": (
        Mutant(where="anonkit.dp_trees.additive_model.target_bins:TargetHistogram.cells_of",
               old="share = words.fractions(labels.size) / (1 << 52)",
               new="share = words.fractions(labels.size) / (1 << 53)"),
        bins.test_numbers_are_drawn_by_the_rows_of_the_histogram),
    "a dependence within classes is read with twice its size": (
        Mutant(where="anonkit.dp_trees.additive_model.pair_prequeries:DependenceWithinClasses.distance",
               old="(tables[pair]) / 2", new="(tables[pair])"),
        dependence.test_no_small_table_moves_the_distance_by_two_rows),
    "all pairs are summed": (
        Mutant(where="anonkit.dp_trees.additive_model.pair_prequeries:DependenceWithinClasses.distance",
               old="largest[: self._summed]", new="largest"),
        dependence.test_one_row_moves_what_is_read_of_nine_attributes_by_less_than_four),
    "sparser pairs are left out than the rule says": (
        Mutant(where="anonkit.budget_rules.pair_rule:PairRule.pairs", old="<= self.rows",
               new="<= self.rows / 2"), dependence.test_pairs_with_few_rows_for_each_cell_are_left_out),
    "what both attributes get right counts twice": (
        Mutant(where="anonkit.dp_trees.additive_model.pair_prequeries:PairInteraction.gains",
               old="int(table.max(axis=0).sum())", new="2 * int(table.max(axis=0).sum())"),
        interaction.test_no_small_table_moves_a_gain_by_more_than_a_row_and_some_move_two_of_them_apart),
    "what attributes get right is added up": (
        Mutant(where="anonkit.dp_trees.additive_model.pair_prequeries:PairInteraction.gains", old="alone = max(",
               new="alone = sum("),
        interaction.test_no_small_table_moves_a_gain_by_more_than_a_row_and_some_move_two_of_them_apart),
    "a pair is chosen without noise": (
        Mutant(where="anonkit.dp_trees.additive_model.pair_prequeries:PairInteraction.choose", old="draw.rate, words",
               new="1 << 60, words"),
        interaction.test_an_audit_of_the_choice_stays_below_its_price_and_finds_some_of_it),
    "a relation of a triple counts twice": (
        Mutant(where=TRIPLES + "relation", old="least_error(table) / 2", new="least_error(table)"),
        triples.test_no_small_table_moves_a_score_by_more_than_a_row_and_a_step),
    "a triple is chosen without noise": (
        Mutant(where=TRIPLES + "chosen_triple", old="draw.rate, words", new="1 << 60, words"),
        triples.test_an_audit_of_the_choice_stays_below_its_price_and_finds_some_of_it),
    "Gini counts a child twice": (
        Mutant(
            where="anonkit.dp_trees.split_selection:_gini",
            old="-steps.sum(axis=-1)", new="-2 * steps.sum(axis=-1)",
        ),
        sensitivities),
}  # fmt: skip


def holders(what: Any) -> list[tuple[str, str]]:
    """Return the names by which modules of the package and of the tests hold a thing."""
    modules = [(key, one) for key, one in sys.modules.items() if key.startswith(("anonkit.", "tests."))]
    return [(key, known) for key, one in modules for known, value in list(vars(one).items()) if value is what]


@pytest.mark.slow_cases(
    "what attributes get right is added up",
    "what both attributes get right counts twice",
    "a pair is chosen without noise",
    "a triple is chosen without noise",
)
@pytest.mark.parametrize("name", NOISE)
def test_a_mutant_of_noise_is_refused_by_the_test_of_its_law(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The named test fails with one line changed; then every name represents what it did, and nothing is remembered."""
    mutant, test = NOISE[name]
    original = mutation.place_of(mutant.where)[-1]
    places = holders(original)
    with monkeypatch.context() as patch:
        mutate(patch, mutant)
        assert mutation.place_of(mutant.where)[-1] is not original
        with pytest.raises(AssertionError):
            test()
    mutation.forget()
    assert mutation.place_of(mutant.where)[-1] is original
    assert holders(original) == places


def test_every_mutant_is_listed_by_the_promise_that_it_breaks_or_by_why_it_breaks_none() -> None:
    """Those that must be refused once each; those that break no promise with an argument and an outcome."""
    page = (Path(__file__).parent / "mutants.md").read_text(encoding="utf-8")
    must, none = (part.splitlines() for part in page.split("## Break no promise"))
    listed = [line[2:] for line in must if line.startswith("* ")]
    rows = [line.strip("| ").split(" | ") for line in none if line.startswith("| ")][2:]
    harmless = {name: outcome for name, _, outcome in rows}
    assert sorted([*listed, *harmless]) == sorted([*REFUSED, *NOISE, *HARMLESS])
    assert {name for name, outcome in harmless.items() if outcome == "validates"} == set(HARMLESS)
    assert all(len(why) > 20 for _, why, _ in rows)
    assert len(listed) >= 102  # it never gets shorter


def is_of_the_gate(test: Callable[[], None]) -> bool:
    """Return whether the gate runs a test in its own module, with the arguments that it has here: none."""
    marks = [mark.name for mark in getattr(test, "pytestmark", [])]
    return test.__module__ != __name__ and test.__name__.startswith("test_") and not {"slow", "parametrize"} & {*marks}


@pytest.mark.slow_cases("a pair is chosen without noise", "a triple is chosen without noise")
@pytest.mark.parametrize("name", [name for name, (_, test) in NOISE.items() if not is_of_the_gate(test)])
def test_what_refuses_a_mutant_of_noise_passes_as_the_code_stands(name: str) -> None:
    """Those that are only here, or with other arguments; the gate runs the others in their modules."""
    NOISE[name][1]()
