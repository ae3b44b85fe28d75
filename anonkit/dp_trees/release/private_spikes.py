# SPDX-License-Identifier: Apache-2.0
"""Spikes found privately before all else: their columns, their cost, and the release with what is left of epsilon.

A column of integers in which a value is frequent is known badly by equal bins. Where the policy names no spikes,
a share of epsilon looks for them among public candidates (`anonkit.budget_rules.spike_rule`); the rest of the release
is as if the policy had named those that were found, with what is left of epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Self, cast

import numpy as np

from anonkit.budget_rules.model_queries import TABLE
from anonkit.budget_rules.spike_rule import (
    FEWEST_VALUES,
    candidates_of,
    found_among,
    spacing_of,
    spike_units,
    threshold_of,
)
from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import Grid
from anonkit.domains.public_rules import PublicRules
from anonkit.domains.rounding_grid import WholeValues, written_step
from anonkit.dp_trees.grower import refuse_other_totals
from anonkit.dp_trees.questions import CodedBatch
from anonkit.dp_trees.release.coded_rows import counted
from anonkit.dp_trees.release.private_domains import DeltaMethod
from anonkit.mechanisms.accounting import Accounting, draw_units, rate_within
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts
from anonkit.parameters import check_choice, parameter
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import NumericAttribute, public_attribute
from anonkit.protocols import Draft, Engine, Method, Progress, Source
from anonkit.published.marginal_tables import MarginalSchema
from anonkit.published.noisy_tables import LAPLACE
from anonkit.published.statements.draws import Draw
from anonkit.published.tree_attributes import Attribute, Split
from anonkit.randomness import Randomness

SEARCHES = ("private", "declared")


@dataclass(frozen=True, kw_only=True)
class SpikeHistogram(ParamsPart, keys=("name", "every", "counts", "rate=draw.rate", "threshold")):
    """The noisy counts of the candidates of one column, and what follows from them."""

    name: str
    values: WholeValues
    counts: IntArray
    """Of the candidates in ascending order, and of all other cells as the last."""
    draw: Draw

    @property
    def every(self) -> int | float:
        """Distance of neighbouring candidates, as the params have it."""
        return written_step(spacing_of(self.values.low, self.values.high) * self.values.step)

    @property
    def threshold(self) -> int:
        """Least noisy count of a spike."""
        return threshold_of(self.counts.tolist(), self.draw.rate)

    @property
    def found(self) -> tuple[float, ...]:
        """The spikes, in the unit of the column."""
        places = found_among(_candidates(self.values), self.counts.tolist(), self.threshold)
        return tuple(self.values.number(place) for place in places)


@dataclass(frozen=True, kw_only=True)
class SpikeMethod(DeltaMethod):
    """A method that looks for spikes where the policy names none.

    Privacy
    -------
    Which columns are searched, their candidates and the cost follow from the policy and the parameters. A row is in
    one cell of the histogram of each column, so their rates add up. With a delta nothing is searched.
    """

    spikes: str = parameter(
        default="private",
        range="one of these",
        help="look for frequent values of integer columns, for a 25th of epsilon, or use those of the policy alone",
        choices=SEARCHES,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("spikes", self.spikes, SEARCHES)

    @property
    def searches_spikes(self) -> bool:
        """True where columns may be searched, by the parameters alone."""
        return self.spikes == "private" and not self.delta and self.draws_rows

    def searched_columns(self, policy: Policy) -> tuple[NumericAttribute, ...]:
        """Return the columns that are searched: public, and none once the search is done.

        None is in a rule: what noise finds would decide what a rule can say.
        """
        if not self.searches_spikes or policy.found_domains is not None:
            return ()
        ruled = _in_rules(policy.constraints) if self.keeps_rules else set()
        names = [name for name in sorted(policy.names(Role.QUASI_IDENTIFIER, Role.SENSITIVE)) if name not in ruled]
        columns = [policy.column(name) for name in names]
        attributes = [public_attribute(column, policy.missing) for column in columns if self._may_have_spikes(column)]
        return tuple(column for column in attributes if isinstance(column, NumericAttribute))

    def _may_have_spikes(self, column: Column) -> bool:
        """Return True if a column has more numbers than cells, and no spikes that the policy names."""
        if column.spikes or not (column.step or column.is_whole_by_type or column.type is ColumnType.INTEGER):
            return False
        values = column.whole_values
        return values is not None and values.size > max(FEWEST_VALUES, getattr(self, "bins", 0))

    def spike_draws(self, policy: Policy) -> tuple[Draw, ...]:
        """Return the line of each histogram, before any data is seen."""
        columns = self.searched_columns(policy)
        return tuple(
            Draw(
                name=f"spikes of {column.name}",
                query=TABLE,
                law=LAPLACE,
                rate=rate_within(spike_units(self._row_units, len(columns)), 1),
            )
            for column in columns
        )

    def after_spikes(self, policy: Policy) -> Self:
        """Return the method with what is left of epsilon, that looks for no spikes; public."""
        draws = self.spike_draws(policy)
        if not draws:
            return self
        whole = Fraction(self.epsilon) - Fraction(sum(draw_units(draw) for draw in draws) * self.changed_rows, 1 << 52)
        epsilon = float(whole)
        epsilon = epsilon if Fraction(epsilon) <= whole else math.nextafter(epsilon, 0)
        return replace(self, epsilon=epsilon, spikes="declared")

    def released_after_search(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress
    ) -> Draft:
        """Look for spikes, and release with what is left of epsilon as if the policy had named them."""
        columns, draws = self.searched_columns(policy), self.spike_draws(policy)
        keep = self.used_rows(source, policy, engine, rng)
        count = partial(candidate_counts, sizes=tuple(_size(column) for column in columns))
        schema = MarginalSchema(attributes=tuple(map(_finest, columns)), target=None, classes=None)
        exact = counted(source, engine, schema, keep, count, sum(count.keywords["sizes"]))
        words, histograms = UniformStream(rng.child("spikes")), []
        for column, draw, cells in zip(columns, draws, _divided(exact, columns), strict=True):
            refuse_other_totals("candidates", cells.sum(), source.n_rows if keep is None else int(keep.sum()))
            values = column.values
            assert values is not None  # noqa: S101 - of a searched column
            noisy = noisy_histogram(_folded(cells, values), draw.rate, words)
            histograms.append(SpikeHistogram(name=column.name, values=values, counts=noisy, draw=draw))
        named = {one.name: replace(policy.columns[one.name], spikes=one.found) for one in histograms if one.found}
        declared = replace(policy, columns={**policy.columns, **named})
        left = cast(Method, self.after_spikes(policy))
        draft = left.release(source, declared, engine=engine, rng=rng, progress=progress)
        return self._with_search(draft, policy, histograms)

    def _with_search(self, draft: Draft, policy: Policy, histograms: Sequence[SpikeHistogram]) -> Draft:
        """Return the draft with the search in its statement and its notes."""
        accounting, promised = cast(Accounting, draft.statement), cast(Method, self).guarantee(policy)
        epsilon = float(promised.to_dict()["parameters"]["epsilon"])
        published = {**draft.published, **self.method_entry, "spikes": [one.to_params() for one in histograms]}
        notes = tuple(_note(one) for one in histograms if one.found)
        return replace(
            draft,
            published=published,
            statement=accounting.after_search([one.draw for one in histograms], epsilon, 0),
            notes=(*draft.notes, *notes),
        )


def candidate_counts(batch: CodedBatch, sizes: Sequence[int]) -> IntArray:
    """Count the rows of each cell of each column, one column after the other, flat."""
    counts = [np.bincount(codes, minlength=size) for codes, size in zip(batch.codes, sizes, strict=True)]
    return np.concatenate(counts).astype(np.int64)


def noisy_histogram(counts: IntArray, rate: int, words: UniformStream) -> IntArray:
    """Return the counts of the candidates, and of all other cells together as the last, with noise.

    Privacy
    -------
    A row is in one of the cells: it loses the rate.
    """
    return noisy_counts(counts, rate, words)


def _candidates(values: WholeValues) -> tuple[int, ...]:
    return candidates_of(values.low, values.high)


def _finest(column: NumericAttribute) -> Attribute:
    """Return the column with each candidate as a cell of its own, and the numbers between two of them as another."""
    return Attribute(name=column.name, domain=_grid(column), split=Split.MULTIWAY)


def _grid(column: NumericAttribute) -> Grid:
    assert column.values is not None  # noqa: S101 - of a searched column
    values = replace(column.values, spikes=_candidates(column.values))
    return Grid.over(column.bounds, 1, has_missing=column.has_missing, values=values)


def _size(column: NumericAttribute) -> int:
    return _grid(column).size


def _divided(counts: IntArray, columns: Sequence[NumericAttribute]) -> list[IntArray]:
    return np.split(counts, np.cumsum([_size(column) for column in columns])[:-1])


def _folded(cells: IntArray, values: WholeValues) -> IntArray:
    """Return the counts of the candidates, and those of all other cells together as the last."""
    candidates = _candidates(values)
    grid = Grid.over(values.bounds, 1, has_missing=False, values=replace(values, spikes=candidates))
    own = cells[grid.encode(np.array([values.number(place) for place in candidates]))]
    return np.append(own, cells.sum() - own.sum())


def _in_rules(rules: PublicRules) -> set[str]:
    """Return the columns that a rule names."""
    names = {name for rule in rules.follows for name in (rule.of, rule.name)}
    return names | {name for rule in rules.never for name in rule.values}


def _note(found: SpikeHistogram) -> str:
    values = ", ".join(f"{value:.15g}" for value in found.found)
    return f"Values of {found.name} that noisy counts found to be frequent have cells of their own: {values}."
