# SPDX-License-Identifier: Apache-2.0
"""The default tree methods: the plan by the public budget rule, the promise, the draft of the stacked model.

**The synthetic rows** have a class each from its probabilities, and keep the public rules. Rules are about what is
shown. So where there are some, the places of numbers within their cells are drawn first, and rows are changed by these;
a number to predict is drawn from what a rule leaves of its bin. However coarse the cells became, a rule forbids no more
than its text does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonkit.budget_rules.model_queries import TABLE
from anonkit.budget_rules.tree_rule import CELLS, ROWS_SHARE, Rule, delta_may_pay, is_dependent, rule_for
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import Categories, Grid, NumberBins, notes_on_bins
from anonkit.dp_trees.additive_model.pair_prequeries import PairFindings, PairQuestions
from anonkit.dp_trees.additive_model.stacked import StackedForest, StackedPlan, learn
from anonkit.dp_trees.additive_model.target_bins import (
    GRIDS,
    TargetCounts,
    TargetHistogram,
    bins_for,
    cells_for,
    histogram_draw,
)
from anonkit.dp_trees.grower import refuse_other_totals
from anonkit.dp_trees.marginals.measurement_plan import RemainingBudget
from anonkit.dp_trees.microdata import LeafProductModel, cells_of
from anonkit.dp_trees.release import declared_schema
from anonkit.dp_trees.release.coded_rows import counted, counter_of
from anonkit.dp_trees.release.declared_schema import CellMethod
from anonkit.dp_trees.release.private_searches import SpikeMethod
from anonkit.dp_trees.release.synthetic_rows import PieceSampler, RuledRows, check_rules, column_entries
from anonkit.dp_trees.release.tree_releases import generalized
from anonkit.dp_trees.split_selection import LARGEST_TABLE
from anonkit.mechanisms.accounting import Accounting, draw_units, rate_within
from anonkit.mechanisms.exact_samplers import UniformStream, noisy_counts
from anonkit.parameters import check_integer, parameter
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import PublicDomains, conditions_of, numeric_target, public_domains
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.promises.guarantee import Guarantee
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.published.column_means import means_of, notes_on_means, notes_on_target
from anonkit.published.count_evidence import AdditiveScores, places_of
from anonkit.published.noisy_tables import KEY, LAPLACE, MISSING_ABOVE
from anonkit.published.released_codes import (
    PLACES_IN_A_CELL,
    CodeRules,
    allowed_chances,
    cells_of_places,
    places_of_cells,
    shown_domain,
)
from anonkit.published.statements.noise_statement import Draw
from anonkit.published.tree_model import Attribute, PublishedForest, Split, TreeSchema
from anonkit.randomness import Randomness

_CHANCES_AT_ONCE = 1 << 22


@dataclass(frozen=True, kw_only=True, eq=False)
class StackedRows:
    """Draws synthetic rows from the noisy counts, with a class from the model's probabilities.

    Within a cell of the grid a number is drawn uniformly. All input is published, so the rows cost no privacy loss.
    """

    forest: PublishedForest
    scores: AdditiveScores
    world: LeafProductModel
    numbers: TargetHistogram | None = None
    """Of a numeric target: where in its bin a number is drawn."""
    code_rules: CodeRules | None = None
    """The public rules over what is shown; rows are changed before they get a class, and get one that they may have."""

    def __call__(self, numbers: IntArray, randomness: Randomness) -> list[IntArray]:
        """Return the labels and the codes of each attribute for so many rows of each leaf and class."""
        words = UniformStream(randomness)
        rows = self.world.rows_of(numbers, words)
        attributes = self.forest.schema.attributes
        if self.code_rules is not None and self.code_rules.masks:
            return self._ruled(rows.codes, rows.labels, words, self.code_rules)
        labels = self._labels(rows.codes, words)
        if self.numbers is not None:
            labels = self.numbers.cells_of(labels, words)
        return [labels, *(self._placed(one, own, words) for one, own in zip(attributes, rows.codes, strict=True))]

    @staticmethod
    def _placed(attribute: Attribute, codes: IntArray, words: UniformStream) -> IntArray:
        return places_of_cells(codes, attribute.domain, shown_domain(attribute.domain), words)

    def _ruled(self, codes: IntArray, classes: IntArray, words: UniformStream, code_rules: CodeRules) -> list[IntArray]:
        """Return labels and codes that keep the rules: numbers at their places first, then what rules change."""
        attributes = self.forest.schema.attributes
        shown = {one.name: self._placed(one, own, words) for one, own in zip(attributes, codes, strict=True)}
        shown = code_rules.repaired(shown, classes, words)
        cells = np.stack(
            [cells_of_places(one.domain, shown_domain(one.domain))[shown[one.name]] for one in attributes]
        ).astype(codes.dtype)
        if not code_rules.names_label:
            labels = self._labels(cells, words)
            labels = labels if self.numbers is None else self.numbers.cells_of(labels, words)
            return [labels, *shown.values()]
        size = self.forest.schema.n_classes if self.numbers is None else self.numbers.grid.size
        labels = np.empty(cells.shape[1], dtype=np.int64)
        for part in _parts(labels.size, size):
            forbidden = code_rules.forbidden({name: own[part] for name, own in shown.items()}, size)
            of_classes = forbidden if self.numbers is None else self.numbers.bins_without(forbidden)
            sampled = _sampled_classes(allowed_chances(self._chances(cells[:, part]), of_classes), words)
            labels[part] = sampled if self.numbers is None else self.numbers.cells_among(sampled, forbidden, words)
        return [labels, *shown.values()]

    def _chances(self, codes: IntArray) -> FloatArray:
        """Return the probabilities that the published scores give, shape (n_rows, n_classes)."""
        return self.scores.probabilities(places_of(self.forest, codes), codes)

    def _labels(self, codes: IntArray, words: UniformStream) -> IntArray:
        """Return a class for each row, drawn with the probabilities of the published scores."""
        n_rows = codes.shape[1]
        uniform, labels = words.fractions(n_rows) / (1 << 52), np.empty(n_rows, dtype=np.int64)
        for part in _parts(n_rows, self.forest.schema.n_classes):
            labels[part] = _at(self._chances(codes[:, part]), uniform[part])
        return labels


def _parts(n_rows: int, size: int) -> Iterator[slice]:
    """Yield parts of rows, so that rows times classes are never in memory."""
    rows = max(1, _CHANCES_AT_ONCE // size)
    for start in range(0, n_rows, rows):
        yield slice(start, start + rows)


def _sampled_classes(chances: FloatArray, words: UniformStream) -> IntArray:
    """Return a class of each row by its chances; never one that has none, shape (n_rows,)."""
    places = _at(chances, words.fractions(len(chances)) / (1 << 52))
    last = chances.shape[1] - 1 - np.argmax(chances[:, ::-1] > 0, axis=1)  # where rounding leaves the sum below 1
    return np.asarray(np.minimum(places, last), dtype=np.int64)


def _at(chances: FloatArray, uniform: FloatArray) -> IntArray:
    return np.asarray((np.cumsum(chances, axis=1)[:, :-1] <= uniform[:, np.newaxis]).sum(axis=1), dtype=np.int64)


def microdata_of(
    learned: StackedForest,
    policy: Policy,
    rng: Randomness,
    numbers: TargetHistogram | None = None,
    ruled: RuledRows | None = None,
) -> PieceSampler:
    """Return the function that draws the synthetic rows; post-processing, at no privacy loss."""
    schema, rng = learned.plan.schema, rng.child("released rows")
    ruled = shown_rules(policy, schema, numbers) if ruled is None else ruled
    world = learned.world if learned.step is not None else learned.world.blended()
    world = world.meeting(learned.totals).without_missing(learned.faint_missing)
    return PieceSampler(
        rows=StackedRows(
            forest=learned.forest, scores=learned.scores, world=world, numbers=numbers, code_rules=ruled.code_rules
        ),
        numbers=world.numbers(world.rows, UniformStream(rng)),
        domains=_shown(schema, numbers),
        policy=policy,
        randomness=rng,
        ruled=ruled.settled(),
    )


def shown_rules(policy: Policy, schema: TreeSchema, numbers: TargetHistogram | None) -> RuledRows:
    """Return the public rules over what is shown: places within cells, and the numbers of a target."""
    return RuledRows.of(policy, _shown(schema, numbers), schema.target, number_last=True)


def check_shown_rules(policy: Policy, cells: Sequence[int]) -> None:
    """Refuse rules that leave no row possible with one of so many cells, before anything is drawn.

    Raises
    ------
    PolicyError
        See `check_rules`.
    """
    for grid in GRIDS if numeric_target(policy) is not None else GRIDS[:1]:
        for own in cells:
            check_rules(policy, own * PLACES_IN_A_CELL, grid, number_last=True)


def _shown(schema: TreeSchema, numbers: TargetHistogram | None) -> Mapping[str, Categories | Grid]:
    """Return the domains of the columns as they are shown: cells of numbers have places, of integers each is one."""
    domains = {name: shown_domain(domain) for name, domain in schema.domains.items()}
    target = schema.classes if numbers is None else numbers.grid
    return {**domains, schema.target: target.grid if isinstance(target, NumberBins) else target}


@dataclass(frozen=True, kw_only=True)
class StackedMethod(CellMethod, SpikeMethod):
    """The parameters of `dp-forest` and `dp-tree`, and all they do.

    The number of rows decides how the budget is spent. Where it is public (`n_rows`), nothing is spent on it; else it
    is counted with noise, for a fiftieth of epsilon.

    A delta is spent where domains are found in the table, and on the histograms where Gaussian noise is less. It is
    promised as soon as that may be, by public facts: which noise is drawn is known only when the rows are counted.
    """

    promise_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "kind": "central-dp",
            "statement": "Central differential privacy, delta 0, with at most the epsilon given: adding or removing "
            "one row changes the probability of any result by at most a factor of e^epsilon (replacing one row, with "
            "adjacency replace; all rows of a unit, with a unit column). With a delta, where domains are found "
            "in the table, or where Gaussian noise may be less noise: but for a probability of delta, which epsilon "
            "does not cover.",
        }
    )

    n_rows: int = parameter(
        default=0,
        range=f"[0, {LARGEST_TABLE}]",
        help="about how many rows there are, if that is public; 0: count them with noise, from the budget",
    )
    depth: int = parameter(
        default=0, range="[0, 12]", help="levels of a tree, the leaves' included; 0: by the public rule"
    )
    bins: int = parameter(default=0, range="0 or [2, 1024]", help="equal bins of each number; 0: by the public rule")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("n_rows", self.n_rows, 0, LARGEST_TABLE)
        check_integer("depth", self.depth, 0, 12)
        if self.bins != 0:
            check_integer("bins", self.bins, 2, 1024)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return 1

    @property
    def keeps_rules(self) -> bool:
        """True where rows are drawn: each keeps the public rules of the policy."""
        return self.draws_rows

    def check_rules(self, policy: Policy) -> None:
        """Refuse rules by any number of cells that the budget rule may choose: which it will be follows from draws."""
        if self.keeps_rules:
            check_shown_rules(policy, (self.bins,) if self.bins else CELLS)

    def _public(self, policy: Policy) -> PublicDomains:
        """Return the domains of the columns that are counted: none that follows from others, where rows are drawn."""
        return public_domains(policy, target_required=True, ruled=self.keeps_rules)

    @property
    def _counting(self) -> Draw | None:
        """The draw of the number of rows, where it is not public."""
        if self.n_rows:
            return None
        rate = rate_within(int(self._row_units * ROWS_SHARE), 1)
        return Draw(name="number of rows", query=TABLE, law=LAPLACE, rate=rate)

    def guarantee(self, policy: Policy) -> Guarantee:
        """State the promise: epsilon, in whole units, whatever the rule divides it into."""
        schema = schema_of(self._public(policy), 2)
        self.check_rules(policy)
        self.check_unit(policy)
        if policy.found_domains is not None or self._delta_may_pay(schema):
            return self.approximate_promise(policy)
        return self.promise(policy, self._claim, *self._assumed_rows)

    def approximate_promise(self, policy: Policy, *bounds: str) -> ApproximateDP:
        """Return the promise of the given epsilon and delta."""
        return super().approximate_promise(policy, *self._assumed_rows, *bounds)

    def _delta_may_pay(self, schema: TreeSchema) -> bool:
        """Return True if histograms may have Gaussian noise, by epsilon, delta and the number of attributes alone."""
        left = RemainingBudget(
            units=self._row_units,
            delta=Fraction(self.delta),
            rows_per_unit=self.rows_per_unit,
            adjacency=self.neighbours,
        )
        return delta_may_pay(left.units, left.row_rho_units, len(schema.attributes))

    @property
    def _assumed_rows(self) -> tuple[str, ...]:
        return (f"That there are about {self.n_rows:,} rows is public knowledge.",) if self.n_rows else ()

    def plan(
        self,
        policy: Policy,
        rows: float,
        counting: Draw | None,
        numbers: TargetHistogram | None = None,
        found: PairFindings | None = None,
    ) -> StackedPlan:
        """Return every draw, given the noisy results so far: row count, histogram of a numeric target, pre-queries.

        Parameters
        ----------
        policy : Policy
        rows : float
            Public or noisy.
        counting : Draw, optional
            What the noisy number of rows cost.
        numbers : TargetHistogram, optional
            Of a numeric target.
        found : PairFindings, optional
            What was read and chosen of pairs of attributes.
        """
        domains = self._public(policy)
        draws = tuple(draw for draw in (counting, None if numbers is None else numbers.draw) if draw is not None)
        left = self._row_units - sum(draw_units(draw) for draw in draws)
        found = found or PairFindings()
        left -= found.units
        schema = schema_of(domains, 1) if numbers is None else replace(schema_of(domains, 1), classes=numbers.classes)
        follow = partial(
            rule_for,
            epsilon=left / (1 << 52),
            rows=rows,
            attributes=len(domains.attributes),
            classes=schema.n_classes,
            trees=self.n_trees,
            in_cells=self.as_ == "cells",
            independent=found.dependence is not None and not is_dependent(found.dependence.rows, rows),
        )
        rule = self._chosen(follow())
        schema = replace(schema_of(domains, rule.cells), classes=schema.classes)
        lead = found.grid(schema, left / (1 << 52) * max(rows, 1.0))
        if lead is not None:
            rule = self._chosen(follow(n_public_levels=len(lead.levels)))
        plan = StackedPlan(
            rule=rule,
            schema=schema,
            trees=self.n_trees,
            epsilon=Fraction(left * self.changed_rows, 1 << 52),
            rows_per_unit=self.rows_per_unit,
            adjacency=self.neighbours,
            rows=int(rows),
            counted=draws,
            found=found,
            lead=lead,
        )
        if not self.delta:
            return plan
        return plan.with_delta(Fraction(self.delta) if self._delta_may_pay(schema) else Fraction(0))

    def _chosen(self, rule: Rule) -> Rule:
        """Return the rule with what the owner chose."""
        return rule.with_choices(depth=self.depth - 1 if self.depth else None, cells=self.bins or None)

    def questions_of(self, plan: StackedPlan) -> PairQuestions:
        """Return the queries of the rule on pairs of attributes before the model is learned."""
        return PairQuestions.of(
            plan.rule,
            plan.schema,
            epsilon=plan.row_units / (1 << 52),
            rows=max(float(plan.rows), 1.0),
            trees=plan.trees,
            in_cells=self.as_ == "cells",
            is_free=not self.depth,
        )

    def _numbers(
        self,
        source: Source,
        policy: Policy,
        engine: Engine,
        rng: Randomness,
        keep: NDArray[np.bool_] | None,
        rows: float,
    ) -> TargetHistogram | None:
        """Return the noisy histogram of the target; None where it has classes."""
        target = numeric_target(policy)
        if target is None:
            return None
        epsilon = self._row_units / (1 << 52)
        grid, draw = target.grid(cells_for(epsilon, rows)), histogram_draw(self._row_units)
        schema = TreeSchema(attributes=(), target=target.name, classes=NumberBins.equal(grid))
        *cells, used = counted(source, engine, schema, keep, TargetCounts(schema=schema), grid.size + 1).tolist()
        refuse_other_totals("values of the target", sum(cells), used)
        noisy = noisy_counts(np.array(cells), draw.rate, UniformStream(rng.child("values of the target")))
        return TargetHistogram(grid=grid, counts=noisy, draw=draw, bins=bins_for(epsilon, rows))

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Count, learn, and draw rows or write cells from what is noisy."""
        progress("growing", 0.0)
        if policy.found_domains is not None:
            method, declared = self.without_search(policy)
            draft = method.release(source, declared, engine=engine, rng=rng, progress=progress)
            return self.charged(draft, policy.found_domains)
        if self.searched_columns(policy):
            return self.released_after_search(source, policy, engine=engine, rng=rng, progress=progress)
        keep = self.used_rows(source, policy, engine, rng)
        counting, rows = self._counting, float(self.n_rows)
        if counting is not None:
            exact = source.n_rows if keep is None else int(keep.sum())
            words = UniformStream(rng.child("number of rows"))
            rows = float(noisy_counts(np.array([exact]), counting.rate, words)[0])
        numbers = self._numbers(source, policy, engine, rng, keep, rows)
        plan = self.plan(policy, rows, counting, numbers)
        counter = counter_of(source, engine, plan.schema, keep)
        if (found := self.questions_of(plan).measure(counter, plan.row_units, rng)).units:
            coded, plan = plan.schema, self.plan(policy, rows, counting, numbers, found)
            counter = counter if plan.schema == coded else counter_of(source, engine, plan.schema, keep)
        n_public_levels, levels = (
            plan.rule.n_public_levels,
            plan.rule.depth + 3,
        )  # a grid that leads is grown without reading the rows
        learned = learn(
            plan,
            counter,
            rng,
            lambda level: progress("growing", (level - n_public_levels) / (levels - n_public_levels)),
        )
        claim = (float(self.epsilon), float(self.delta)) if self._delta_may_pay(plan.schema) else (self._claim, 0)
        statement = replace(learned.accounting, claim=claim)
        return stacked_draft(learned, statement, policy, engine, rng, self.as_, self.method_entry, numbers)


def schema_of(domains: PublicDomains, cells: int) -> TreeSchema:
    """Return the attributes and classes, from public domains alone, numbers on a grid of so many cells."""
    return declared_schema.schema_of(domains, cells, number=Split.CUT, category=Split.ONE_VS_REST)


def stacked_draft(
    learned: StackedForest,
    statement: Accounting,
    policy: Policy,
    engine: Engine,
    rng: Randomness,
    form: str,
    method_entry: Mapping[str, Any],
    numbers: TargetHistogram | None = None,
) -> Draft:
    """Return the draft of a learned model: synthetic rows or cells, params and statement.

    Parameters
    ----------
    learned : StackedForest
        The noisy model.
    statement : Accounting
        Every draw that was made for it, and the promised epsilon and delta.
    policy : Policy
    engine : Engine
        Holds or draws the rows.
    rng : Randomness
        Key of the release; the rows are drawn from a child of it.
    form : {"microdata", "cells"}
        Synthetic rows, or the leaves as generalized cells with noisy counts.
    method_entry : mapping
        Public facts about the method for the params.
    numbers : TargetHistogram, optional
        The noisy histogram of a numeric target, whose bins are the classes of the model.

    Privacy
    -------
    Post-processing: nothing in the draft depends on a count of the source but through its noisy value.
    """
    ruled = shown_rules(policy, learned.plan.schema, numbers) if form == "microdata" else None
    if ruled is not None:
        rows = microdata_of(learned, policy, rng, numbers, ruled)
        data, columns = rows.source(engine), rows.described()
    else:
        table, columns = generalized(cells_of(learned.forest), policy)
        data = engine.hold(table)
    rule = learned.plan.rule
    published = {**method_entry, "rule": learned.plan.stated_rule(), **learned.to_params(), "columns": columns}
    if ruled is not None:
        published[KEY] = MISSING_ABOVE
        published |= ruled.to_params()
    if numbers is not None:
        published["target"] = {**published["target"], "histogram": numbers.to_params()}
    if policy.is_conditional:
        published["conditions"] = list(conditions_of(policy))
    means = {} if ruled is None else means_of({**published, **statement.to_params()})
    return Draft(
        data=data,
        published=published,
        statement=statement,
        columns=column_entries(
            policy, {**learned.plan.schema.sizes, **({} if ruled is None else ruled.sizes)}, data.schema.names, means
        ),
        notes=(
            *notes_on_bins(learned.plan.schema.target, learned.plan.schema.classes),
            *(() if ruled is None else ruled.notes),
            *(() if ruled is None else notes_on_target(learned.plan.schema.target, learned.tables_of_target)),
            *notes_on_means(means),
        ),
        details={
            "forest": {
                "trees": len(learned.forest.trees),
                "nodes": sum(len(tree) for tree in learned.forest.trees),
                "depth": rule.depth,
                "regions": len(learned.regions),
                "bins": rule.cells,
                "weights_learned": learned.step is not None,
            },
        },
    )
