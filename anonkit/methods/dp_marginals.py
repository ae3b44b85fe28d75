# SPDX-License-Identifier: Apache-2.0
"""dp-marginals: rows for any purpose, by noisy tables of columns and pairs, with central differential privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from anonkit.budget_rules.marginal_choice_rule import delta_may_pay
from anonkit.budget_rules.marginal_rule import ROWS_SHARE, splits_tables
from anonkit.budget_rules.model_queries import TABLE
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import NumberBins
from anonkit.dp_trees.marginals.learned_marginals import LearnedMarginals, learn
from anonkit.dp_trees.marginals.measurement_plan import ColumnLayout, RemainingBudget, candidate_pairs, fits_in_memory
from anonkit.dp_trees.release.coded_rows import counter_of
from anonkit.dp_trees.release.declared_schema import bins_parameter
from anonkit.dp_trees.release.private_searches import SpikeMethod
from anonkit.dp_trees.release.synthetic_rows import (
    PieceSampler,
    PlacedRows,
    RuledRows,
    check_rules,
    column_entries,
    shown_domains,
)
from anonkit.mechanisms.accounting import Accounting, draw_units, rate_within
from anonkit.mechanisms.exact_samplers import UniformStream, noisy_counts
from anonkit.parameters import check_integer, parameter
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.public_domains import NumericAttribute, conditions_of, numeric_target, public_domains
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.promises.noise_promises import CentralDP
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.published.column_means import Table, means_of, notes_on_means, notes_on_target
from anonkit.published.noisy_tables import LAPLACE, MarginalSchema
from anonkit.published.product_mixtures import ProductMixtures, codes_of_rows, rows_of_components
from anonkit.published.released_codes import PLACES_IN_A_CELL
from anonkit.published.statements.noise_statement import Draw
from anonkit.published.tree_model import Attribute, Split
from anonkit.randomness import Randomness

_MOST_ROWS = 1 << 36


@dataclass(frozen=True, kw_only=True)
class DPMarginals(SpikeMethod):
    """Measure every column and the pairs that depend most on each other, and draw rows that agree with all of it.

    A public rule divides epsilon between the tables of the columns, the private choice of pairs (a forest, then one by
    one those of which the tables before say least), and their tables. A mixture of products is fitted to all pairs at
    once; rows are drawn from it. A target with few classes splits every table; without one, or with many, all columns
    are alike.

    Privacy
    -------
    Central differential privacy with at most the epsilon given, delta 0: a row is in each table once, and what is drawn
    adds up. With a delta, Gaussian noise is drawn where less of it is expected; the shares of rho then add up, and come
    to (epsilon, delta). Domains that are found in the table have their own part of both, and the rest is as if the
    others had been given.
    """

    name: ClassVar[str] = "dp-marginals"
    paper: ClassVar[str] = (
        "after McKenna, Miklau, Sheldon: Winning the NIST contest, JPC 2021 (select, measure, generate), with the "
        "mixtures of Liu, Vietri, Wu: Iterative methods for private synthetic data, NeurIPS 2021"
    )
    summary: ClassVar[str] = "differentially private rows for any purpose: all pairs of columns, not one target"
    target_use: ClassVar[TargetUse] = TargetUse.AS_DECLARED
    promise_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "kind": "central-dp",
            "statement": "Central differential privacy, delta 0, with at most the epsilon given: adding or removing "
            "one row changes the probability of any result by at most a factor of e^epsilon (replacing one row, with "
            "adjacency replace; all rows of a unit, with a unit column). With a delta, where Gaussian noise is "
            "less noise, or where domains are found in the table: but for a probability of delta, which epsilon does "
            "not cover.",
        }
    )

    n_rows: int = parameter(
        default=0,
        range=f"[0, {_MOST_ROWS}]",
        help="about how many rows there are, if that is public; 0: count them with noise, from the budget",
    )
    bins: int = bins_parameter(16)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("n_rows", self.n_rows, 0, _MOST_ROWS)
        check_integer("bins", self.bins, 2, 1024)

    @property
    def _counting(self) -> Draw | None:
        """The draw of the number of rows, where it is not public."""
        if self.n_rows:
            return None
        rate = rate_within(int(self._row_units * ROWS_SHARE), 1)
        return Draw(name="number of rows", query=TABLE, law=LAPLACE, rate=rate)

    @property
    def keeps_rules(self) -> bool:
        """True: every row keeps the public rules of the policy."""
        return True

    def check_rules(self, policy: Policy) -> None:
        """Refuse rules that leave no row possible in its cells."""
        check_rules(policy, self.bins * PLACES_IN_A_CELL, self.bins)

    def schema(self, policy: Policy) -> MarginalSchema:
        """Return the columns, from public domains alone; a target that is a number has as many bins as others."""
        domains, number = public_domains(policy, ruled=True), numeric_target(policy)
        classes = None if domains.target is None else domains.target.domain
        return MarginalSchema(
            attributes=tuple(
                Attribute(
                    name=declared.name,
                    domain=declared.grid(self.bins) if isinstance(declared, NumericAttribute) else declared.domain,
                    split=Split.MULTIWAY,
                )
                for declared in domains.attributes
            ),
            target=policy.target,
            classes=classes if number is None else NumberBins.equal(number.grid(self.bins)),
        )

    def guarantee(self, policy: Policy) -> CentralDP | ApproximateDP:
        """State the promise: epsilon, in whole units, whatever the rule divides it into, and a delta that may pay.

        Which noise is drawn is known when the rows are counted: a promise that waits for it would be no promise. Where
        domains were found in the table, the thresholds have spent a part of delta in any case.
        """
        self.check_rules(policy)
        self.check_unit(policy)
        if policy.found_domains is not None or self.left(policy).delta:
            return self.approximate_promise(policy)
        return self.promise(policy, self._claim, *self._assumed_rows)

    def approximate_promise(self, policy: Policy, *bounds: str) -> ApproximateDP:
        """Return the promise of the given epsilon and delta."""
        return super().approximate_promise(policy, *self._assumed_rows, *bounds)

    @property
    def _assumed_rows(self) -> tuple[str, ...]:
        return (f"That there are about {self.n_rows:,} rows is public knowledge.",) if self.n_rows else ()

    def finest_view(self, policy: Policy) -> ColumnLayout:
        """Return the view in which rows are counted: split by the target, where it has few classes."""
        schema = self.schema(policy)
        splits = schema.classes is not None and not isinstance(schema.classes, NumberBins)
        split = ColumnLayout(schema=schema, anchored=splits and splits_tables(schema.n_classes))
        return split if fits_in_memory(split) else ColumnLayout(schema=schema, anchored=False)

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Count, choose, add noise, fit, and draw rows from what is noisy."""
        progress("counting", 0.0)
        if policy.found_domains is not None:
            left_over, declared = self.without_search(policy)
            draft = left_over.release(source, declared, engine=engine, rng=rng, progress=progress)
            return self.charged(draft, policy.found_domains)
        self.check_unit(policy)
        if self.searched_columns(policy):
            return self.released_after_search(source, policy, engine=engine, rng=rng, progress=progress)
        keep = self.used_rows(source, policy, engine, rng)
        counting, rows = self._counting, float(self.n_rows)
        if counting is not None:
            exact = source.n_rows if keep is None else int(keep.sum())
            words = UniformStream(rng.child("number of rows"))
            rows = float(noisy_counts(np.array([exact]), counting.rate, words)[0])
        layout = self.finest_view(policy)
        counts = () if counting is None else (counting,)
        left = self.left(policy, sum(draw_units(draw) for draw in counts))
        counter = counter_of(source, engine, layout.schema, keep)
        learned = learn(layout, counter, rows, left, self._row_units, rng.child("tables"))
        accounting = Accounting(
            draws=(*counts, *learned.draws),
            claim=(float(self.epsilon), float(self.delta)) if left.delta else (self._claim, 0),
            rows_per_unit=self.rows_per_unit,
            adjacency=self.neighbours,
        )
        counted = {} if counting is None else {"rows": {"count": int(rows), "rate": counting.rate}}
        return marginals_draft(learned, accounting, policy, engine, rng.child("rows"), {**self.method_entry, **counted})

    def left(self, policy: Policy, spent: int = 0) -> RemainingBudget:
        """Return the remaining budget of readings, tables and choices, when a row has lost so many units.

        There is a delta in it only where that may pay, by public facts: what one row may lose in all, and the columns.
        """
        whole = RemainingBudget(
            units=self._row_units,
            delta=Fraction(self.delta),
            rows_per_unit=self.rows_per_unit,
            adjacency=self.neighbours,
        )
        layout = ColumnLayout(schema=self.schema(policy), anchored=False)
        pays = bool(self.delta) and delta_may_pay(layout.sizes, candidate_pairs(layout), whole.amounts)
        return replace(whole, delta=whole.delta if pays else Fraction(0)).after(spent)


def tables_of_target(learned: LearnedMarginals) -> list[Table]:
    """Return the noisy tables of the target with one to three other columns, class by code, with their variance."""
    target = learned.mixtures.schema.target
    triples: list[Table] = [(table.counts, table.variance) for table in learned.triples]
    if learned.mixtures.anchored:
        alone = [(table.counts, table.variance) for table in learned.one_ways]
        pairs = ((pair.counts.reshape(len(pair.counts), -1), pair.variance) for pair in learned.pairs)
        return [*alone, *pairs, *triples]
    of_target = [pair for pair in learned.pairs if target in pair.names]
    two = [(pair.counts[0] if pair.names[0] == target else pair.counts[0].T, pair.variance) for pair in of_target]
    return [*two, *triples]


def _of_triple(learned: LearnedMarginals) -> dict[str, Any]:
    """Return the choice of a triple with its table; nothing where none was looked for."""
    if learned.triple is None:
        return {}
    block = learned.triple.to_params()
    if learned.triples:
        block["table"] = learned.triples[0].to_params()
    return {"triple": block}


def marginals_draft(
    learned: LearnedMarginals,
    accounting: Accounting,
    policy: Policy,
    engine: Engine,
    randomness: Randomness,
    method_entry: Mapping[str, Any],
) -> Draft:
    """Return the draft: rows drawn from the mixture, tables and mixture as params. No true count is in it."""
    mixtures = learned.mixtures
    schema = mixtures.schema
    shown = shown_domains(schema.domains, schema.target)
    ruled = RuledRows.of(policy, shown, schema.target)
    rows = PieceSampler(
        rows=PlacedRows(rows=MixtureRows(mixtures), counted=schema.domains, shown=shown),
        numbers=rows_of_components(mixtures, UniformStream(randomness)),
        domains=shown,
        policy=policy,
        randomness=randomness,
        ruled=ruled,
    )
    published = {
        **method_entry,
        **mixtures.to_params(),
        "readings": [reading.to_params() for reading in learned.choice.readings],
        "tables": [table.to_params() for table in learned.one_ways],
        "pairs": [table.to_params() for table in learned.pairs],
        **_of_triple(learned),
        "columns": rows.described(),
        **ruled.to_params(),
        **({"conditions": list(conditions_of(policy))} if policy.is_conditional else {}),
    }
    means = means_of(published)
    return Draft(
        data=rows.source(engine),
        published=published,
        statement=accounting,
        columns=column_entries(policy, {**schema.sizes, **ruled.sizes}, [*schema.domains, *ruled.sizes], means),
        notes=(
            *ruled.notes,
            *notes_on_target(schema.target, tables_of_target(learned)),
            *notes_on_means(means),
        ),
        details={
            "marginals": {
                "columns": len(learned.one_ways),
                "pairs": len(learned.pairs),
                "anchored": mixtures.anchored,
                "components": sum(own.weights.size for own in mixtures.classes),
                **({"triple": list(learned.triples[0].names)} if learned.triples else {}),
            },
        },
    )


@dataclass(frozen=True, eq=False)
class MixtureRows:
    """Rows of a published mixture, sampled with secret words; see `anonkit.dp_trees.release.synthetic_rows`.

    Cells are the components of all classes, class by class.
    """

    mixtures: ProductMixtures

    def __call__(self, numbers: IntArray, randomness: Randomness) -> list[IntArray]:
        """Return the codes of each released column, the target first where there is one."""
        return codes_of_rows(self.mixtures, numbers, UniformStream(randomness))
