# SPDX-License-Identifier: Apache-2.0
"""dp-nb: noisy tables for naive Bayes, with central differential privacy by a trusted owner."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from anonkit.budget_rules.model_queries import TABLE
from anonkit.budget_rules.tree_rule import gaussian_pays, table_weights
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import notes_on_bins, shown_classes
from anonkit.dp_trees.grower import refuse_other_totals
from anonkit.dp_trees.questions import CodedBatch
from anonkit.dp_trees.release.coded_rows import counted
from anonkit.dp_trees.release.declared_schema import bins_parameter, schema_of
from anonkit.dp_trees.release.private_searches import SpikeMethod
from anonkit.dp_trees.release.synthetic_rows import (
    PieceSampler,
    PlacedRows,
    RuledRows,
    check_rules,
    column_entries,
    shown_domains,
)
from anonkit.mechanisms.accounting import Accounting, gaussian_draws, rate_within, row_rho_units, shares, units_of
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.mechanisms.noisy_histograms import noisy_tables, rows_by_class, rows_of
from anonkit.parameters import check_integer
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import TARGET_BINS, conditions_of, public_domains
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.promises.noise_promises import CentralDP
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.published.column_means import notes_on_target
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE, NoisyTables, noise_variance
from anonkit.published.released_codes import PLACES_IN_A_CELL
from anonkit.published.statements.noise_statement import Draw
from anonkit.published.tree_model import Split, TreeSchema
from anonkit.randomness import Randomness

_ONE = 1 << RATE_BITS


@dataclass(frozen=True, kw_only=True)
class DPNB(SpikeMethod):
    """Count every class and every class with every value of every attribute, and publish the counts with noise.

    The counts are in the params, for a naive Bayes model of them; the table is rows drawn from them. Numbers are
    counted in equal bins of their public bounds.

    Privacy
    -------
    Central differential privacy with at most the epsilon given, delta 0: a row is in each table once, and the tables'
    shares of epsilon add up. With a delta, Gaussian noise is drawn where that is less noise by a public rule; the
    tables' shares of rho then add up, and come to (epsilon, delta).
    """

    name: ClassVar[str] = "dp-nb"
    paper: ClassVar[str] = (
        "Vaidya, Shafiq, Basu, Hong: Differentially private naive Bayes classification, WI 2013; the central sibling "
        "of Zhang & Tang 2007"
    )
    summary: ClassVar[str] = "differentially private counts for naive Bayes, and rows drawn from them"
    promise_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "kind": "central-dp",
            "statement": "Central differential privacy with at most the epsilon given, delta 0: adding or removing "
            "one row changes the probability of any result by at most a factor of e^epsilon (replacing one row, with "
            "adjacency replace; all rows of a unit, with a unit column). The tables of the classes and of each "
            "attribute share epsilon in proportion to the cube root of their numbers of columns. With a delta, where "
            "Gaussian noise is less noise: but for a probability of delta, which epsilon does not cover.",
        }
    )

    bins: int = bins_parameter(16)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("bins", self.bins, 2, 1024)

    @property
    def keeps_rules(self) -> bool:
        """True: every row keeps the public rules of the policy."""
        return True

    def check_rules(self, policy: Policy) -> None:
        """Refuse rules that leave no row possible in its cells."""
        check_rules(policy, self.bins * PLACES_IN_A_CELL, TARGET_BINS)

    def schema(self, policy: Policy) -> TreeSchema:
        """Return attributes and classes, from public domains alone."""
        return schema_of(
            public_domains(policy, target_required=True, ruled=True),
            self.bins,
            number=Split.MULTIWAY,
            category=Split.MULTIWAY,
        )

    def account(self, policy: Policy) -> Accounting:
        """Return every draw of the release, the classes first, before any data is seen."""
        self.check_unit(policy)
        left = self.after_spikes(policy)
        tables = left._account_of(left.schema(policy), policy)
        return replace(tables, draws=(*self.spike_draws(policy), *tables.draws))

    def _account_of(self, schema: TreeSchema, policy: Policy) -> Accounting:
        columns = [schema.target, *(attribute.name for attribute in schema.attributes)]
        purposes = ["rows per class", *(f"class x {name}" for name in columns[1:])]
        sizes = [1, *(attribute.codes for attribute in schema.attributes)]
        epsilon, found = self.epsilon_left(policy), policy.found_domains
        per_row = units_of(epsilon) // self.changed_rows
        delta = self.delta_left(policy)
        rho = row_rho_units(epsilon, delta, self.rows_per_unit, self.neighbours) if delta else 0
        in_rho = rho > 0 and gaussian_pays(sizes, Fraction(per_row, _ONE), Fraction(rho, _ONE))
        if in_rho:
            draws = gaussian_draws(purposes, table_weights(sizes, GAUSSIAN), rho)
        else:
            draws = tuple(
                Draw(name=purpose, query=TABLE, law=LAPLACE, rate=rate_within(units, 1))
                for purpose, units in zip(purposes, shares(per_row, table_weights(sizes)), strict=True)
            )
        return Accounting(
            draws=tuple(replace(draw, column=name) for draw, name in zip(draws, columns, strict=True)),
            searched=() if found is None else found.lines,
            claim=(float(self.epsilon), float(self.delta)) if in_rho or found is not None else None,
            rows_per_unit=self.rows_per_unit,
            adjacency=self.neighbours,
        )

    def rows_of_noise(self, policy: Policy) -> float:
        """Return the deviation of the number of rows estimated from all tables together."""
        if policy.found_domains is not None:  # of unknown sizes
            return super().rows_of_noise(policy)
        schema = self.schema(policy)
        account = self.after_spikes(policy)._account_of(schema, policy)
        law = account.draws[0].law
        sizes = [1, *(attribute.codes for attribute in schema.attributes)]
        precision = sum(
            1 / (noise_variance(draw.rate, law) * size) for draw, size in zip(account.draws, sizes, strict=True)
        )
        return math.sqrt(schema.n_classes / precision)

    def guarantee(self, policy: Policy) -> CentralDP | ApproximateDP:
        """State the promise: the composition of the planned draws, never above the given epsilon and delta."""
        self.check_rules(policy)
        account = self.account(policy)
        return self.promise(policy, account.epsilon) if account.claim is None else self.approximate_promise(policy)

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Count in one pass, add noise, and draw rows from the noisy counts."""
        progress("counting", 0.0)
        self.check_unit(policy)
        if self.searched_columns(policy):
            return self.released_after_search(source, policy, engine=engine, rng=rng, progress=progress)
        schema = self.schema(policy)
        accounting = self._account_of(schema, policy)
        keep = self.used_rows(source, policy, engine, rng)
        sizes = [schema.n_classes, *(schema.n_classes * attribute.codes for attribute in schema.attributes)]
        counts = counted(source, engine, schema, keep, partial(count, schema=schema), sum(sizes))
        by_class, *flat = np.split(counts, np.cumsum(sizes)[:-1])
        by_attribute = [table.reshape(schema.n_classes, -1) for table in flat]
        most, used = source.n_rows if keep is None else int(keep.sum()), int(by_class.sum())
        refuse_other_totals("rows per class", min(used, most), used)  # rows without a class are not used
        for table in by_attribute:
            refuse_other_totals("class x attribute", table.sum(axis=1), by_class)
        classes, *rest = (draw.rate for draw in accounting.draws)
        noisy = noisy_tables(
            (schema.target, schema.classes, by_class, classes),
            [
                (attribute.name, attribute.domain, counts, rate)
                for attribute, counts, rate in zip(schema.attributes, by_attribute, rest, strict=True)
            ],
            rng.child("noise"),
            accounting.draws[0].law,
        )
        return tables_draft(noisy, accounting, policy, engine, rng.child("rows"), self.method_entry)


def count(batch: CodedBatch, schema: TreeSchema) -> IntArray:
    """Count rows per class, then per class and code of each attribute; one table after the other, flat."""
    classes = schema.n_classes
    tables = [np.bincount(batch.labels, minlength=classes)]
    for attribute, codes in zip(schema.attributes, batch.codes, strict=True):
        cells = batch.labels.astype(np.int64) * attribute.codes + codes
        tables.append(np.bincount(cells, minlength=classes * attribute.codes))
    return np.concatenate(tables).astype(np.int64)


@dataclass(frozen=True)
class ClassRows:
    """Draws rows of classes; see `anonkit.dp_trees.release.synthetic_rows`."""

    tables: NoisyTables

    def __call__(self, numbers: IntArray, randomness: Randomness) -> list[IntArray]:
        """Return the labels and the codes of each attribute."""
        table = rows_of(self.tables, numbers, randomness)
        return [table.labels, *table.codes]


def tables_draft(
    noisy: NoisyTables,
    accounting: Accounting,
    policy: Policy,
    engine: Engine,
    randomness: Randomness,
    method_entry: Mapping[str, Any],
) -> Draft:
    """Return the draft of noisy tables: rows drawn from them, the counts as params. No true count is in it."""
    domains = {noisy.target: shown_classes(noisy.classes)} | {table.name: table.domain for table in noisy.tables}
    shown = shown_domains(domains, noisy.target)
    ruled = RuledRows.of(policy, shown, noisy.target)
    rows = PieceSampler(
        rows=PlacedRows(rows=ClassRows(noisy), counted=domains, shown=shown),
        numbers=rows_by_class(noisy, UniformStream(randomness)),
        domains=shown,
        policy=policy,
        randomness=randomness,
        ruled=ruled,
    )
    published = {
        **method_entry,
        **noisy.to_params(),
        "columns": rows.described(),
        **ruled.to_params(),
        **({"conditions": list(conditions_of(policy))} if policy.is_conditional else {}),
    }
    sizes = {noisy.target: noisy.classes.size} | {table.name: table.domain.size for table in noisy.tables}
    return Draft(
        data=rows.source(engine),
        published=published,
        statement=accounting,
        columns=column_entries(policy, {**sizes, **ruled.sizes}, [*sizes, *ruled.sizes]),
        notes=(
            *notes_on_bins(noisy.target, noisy.classes),
            *ruled.notes,
            *notes_on_target(noisy.target, [(table.counts, table.variance) for table in noisy.tables]),
        ),
    )
