# SPDX-License-Identifier: Apache-2.0
"""Private searches before the release: domains of undeclared columns, and spikes of columns of integers.

**Domains** are found in the table itself, by methods that may be given a delta for it. The search comes before the
method states its promise. It returns a policy in which every column has a public domain, found by
`anonkit.mechanisms.noisy_histograms`, and is charged to the account of the release. So the claim has no condition. A
column in which nothing exceeds the noise is left out, as identifiers are.

**Spikes** are frequent values; equal bins describe a column of integers that has one badly. Where the policy names no
spikes, a share of epsilon looks for them among public candidates (`anonkit.budget_rules.spike_rule`); the rest of the
release is as if the policy had named those that were found, with what is left of epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Self, cast

import numpy as np
import pyarrow as pa

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
from anonkit.domains.cell_values import key_of_text, number_of_text
from anonkit.domains.coded_columns import BoolArray, CodedColumn, FloatArray, IntArray, category_value
from anonkit.domains.found_domains import FindingLine, FoundDomains
from anonkit.domains.number_bins import Grid
from anonkit.domains.public_rules import PublicRules
from anonkit.domains.rounding_grid import WholeValues, written_step
from anonkit.dp_trees.grower import refuse_other_totals
from anonkit.dp_trees.questions import CodedBatch
from anonkit.dp_trees.release.coded_rows import counted
from anonkit.dp_trees.release.declared_schema import CentralMethod
from anonkit.errors import PolicyError
from anonkit.mechanisms.accounting import Accounting, draw_units, rate_within, units_of
from anonkit.mechanisms.exact_samplers import UniformStream, noisy_counts
from anonkit.mechanisms.noisy_histograms import (
    THRESHOLDED,
    common_values,
    delta_of_threshold,
    found_bounds,
    is_numeric,
    threshold_within,
)
from anonkit.parameters import check_choice, check_number, parameter
from anonkit.policy.calendar_columns import FIRST_DAY, LAST_DAY, Calendar, calendar_of_type, days_of, within_days
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import NumericAttribute, public_assumptions, public_attribute
from anonkit.policy.target_task import Task, task_from_declaration
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.promises.guarantee import REPLACE
from anonkit.protocols import Draft, Engine, Method, Progress, Source
from anonkit.published.noisy_tables import LAPLACE, MarginalSchema
from anonkit.published.statements.noise_statement import Draw
from anonkit.published.tree_model import Attribute, Split
from anonkit.randomness import Randomness

PUBLIC_COLUMNS = ("That the table has these columns, with their names and their types, is public knowledge.",)
"""Conditions of a promise whose domains were found privately."""
FINDING_SHARE = Fraction(1, 4)
"""Share of epsilon for domains; of delta it is a half."""
_KIND_SHARE = Fraction(1, 8)
"""Part of the share of a column of strings: whether it holds numbers."""
_SEARCHED = (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.TARGET)


def undeclared_columns(policy: Policy) -> list[str]:
    """Return the columns that are released with noise and have no public domain."""
    return [
        name
        for name in policy.names(*_SEARCHED)
        if (column := policy.column(name)).categories is None
        and column.bounds is None
        and column.tree is None
        and not column.has_bins
    ]


class DomainSearch:
    """The search for domains in one table.

    Parameters
    ----------
    source : Source
        Its cells read one by one, none by what others hold.
    engine : Engine
    used : bool array, shape (n_rows,), optional
        Rows that are used; all when None.
    row_units : int
        What one row may lose in all columns together, in units of 2**-52 of epsilon.
    delta : Fraction
        For the unit of privacy, in all columns together.
    rows_per_unit : int
    replaced : bool
    words : UniformStream

    Privacy
    -------
    Which columns are searched, and whether a typed column holds numbers, is public: it follows from the policy and from
    the names and types of the columns. Every other look at a cell is a draw that is charged.
    """

    def __init__(
        self,
        source: Source,
        engine: Engine,
        used: BoolArray | None,
        *,
        row_units: int,
        delta: Fraction,
        rows_per_unit: int,
        replaced: bool,
        words: UniformStream,
    ) -> None:
        self._source, self._engine, self._used, self._words = source, engine, used, words
        self._row_units, self._delta = row_units, delta
        self._rows, self._replaced = rows_per_unit, replaced
        self._lines: list[FindingLine] = []

    def found(self, policy: Policy) -> Policy:
        """Return the policy with a domain for every column, and with the cost of the search.

        Every column is searched, whatever the others gave: what a search costs is public. Where nothing exceeds the
        noise in the target, or in any other column, or where what exceeds it contradicts what is declared of the column
        (such as categories of one that has a ladder of numbers), the result says that nothing can be released.
        """
        names = undeclared_columns(policy)
        columns, left_out = dict(policy.columns), []
        refusals: list[PolicyError] = []
        for name in names:
            column = policy.column(name)
            try:
                columns[name] = self._searched(column, policy, self._row_units // len(names), self._delta / len(names))
            except PolicyError as refusal:  # the draws were made, and it discloses their outcome
                refusals.append(refusal)
            if columns[name] is column:
                columns[name] = replace(column, role=Role.IDENTIFIER, sensitive=False)
                left_out.append(name)
        searched = replace(policy, columns=columns)
        found = FoundDomains(
            lines=tuple(self._lines),
            names=tuple(name for name in names if name not in left_out),
            left_out=tuple(left_out),
            undecided=_undecided(policy, searched, self._lines),
        )
        return replace(searched, found_domains=found.refused_by(refusals[0]) if refusals else found)

    def _searched(self, column: Column, policy: Policy, units: int, delta: Fraction) -> Column:
        """Return the column with a domain, or the very same when nothing exceeds the noise."""
        (coded,) = self._engine.encode(self._source, [column.name])
        values, rows = self._counted(coded)
        kind = self._source.schema.field(column.name).type
        is_target = column.role is Role.TARGET
        if is_target and task_from_declaration(column, policy.task) is Task.REGRESSION:
            return self._bounded(column, values, rows, units)
        calendar = None if is_target else calendar_of_type(column, kind)
        if calendar is not None:
            return self._dated(column, calendar, values, rows, units)
        if is_target or column.compares_texts or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
            return self._listed(column, values, rows, units, delta)
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return self._bounded(column, values, rows, units)
        rate = rate_within(int(units * _KIND_SHARE), 1)
        self._charge(f"kind of {column.name}", rate)
        texts = sum(own for value, own in zip(values, rows.tolist(), strict=True) if _number(value) is None)
        numbers = is_numeric(texts, rate, self._words)
        left = units - rate
        return self._bounded(column, values, rows, left) if numbers else self._listed(column, values, rows, left, delta)

    def _counted(self, coded: CodedColumn) -> tuple[list[object], IntArray]:
        """Return the values that are not missing, and the used rows of each."""
        codes = coded.codes if self._used is None else coded.codes[self._used]
        rows = np.bincount(codes, minlength=coded.size).astype(np.int64)
        present = coded.size - (coded.missing is not None)
        return list(coded.values[:present]), rows[:present]

    def _bounded(self, column: Column, values: Sequence[object], rows: IntArray, units: int) -> Column:
        read = [_number(value) for value in values]
        numbers = np.array([np.nan if number is None else number for number in read], dtype=np.float64)
        bounds = self._bounds(column, numbers, rows, units)
        return column if bounds is None else replace(column, bounds=bounds)

    def _dated(
        self, column: Column, calendar: Calendar, values: Sequence[object], rows: IntArray, units: int
    ) -> Column:
        """Return the column with bounds at the ends of parts of the calendar, by the same draws as of numbers."""
        days, read = days_of(values, calendar)
        bounds = self._bounds(column, np.where(read, days, np.nan), rows, units)
        if bounds is None:
            return column
        low, high = (min(max(bound, FIRST_DAY), LAST_DAY) for bound in bounds)
        return within_days(column, calendar, math.floor(low), math.ceil(high)) or column

    def _bounds(self, column: Column, numbers: FloatArray, rows: IntArray, units: int) -> tuple[float, float] | None:
        """Draw bounds of the numbers that are finite; None where nothing exceeds the noise."""
        first = rate_within(units // 2, 1)
        second = rate_within(units - first, 1)
        self._charge(f"sizes of {column.name}", first)
        self._charge(f"bounds of {column.name}", second)
        finite = np.isfinite(numbers)
        return found_bounds(numbers[finite], rows[finite], (first, second), self._words)

    def _listed(self, column: Column, values: Sequence[object], rows: IntArray, units: int, delta: Fraction) -> Column:
        rate = rate_within(units, 1)
        threshold = threshold_within(delta, rate, self._rows, replaced=self._replaced)
        spent = delta_of_threshold(threshold, rate, self._rows, replaced=self._replaced)
        self._charge(f"categories of {column.name}", rate, threshold, spent)
        labels = _labels(values, texts_alone=column.compares_texts)
        names = sorted(set(labels) - {""})
        place = {name: at for at, name in enumerate(names)}
        counts = np.zeros(len(names), dtype=np.int64)
        for label, own in zip(labels, rows.tolist(), strict=True):
            if label:
                counts[place[label]] += own
        common = [names[at] for at in common_values(counts, rate, threshold, self._words).tolist()]
        enough = len(common) >= (2 if column.role is Role.TARGET else 1)
        return replace(column, categories=tuple(common)) if enough else column

    def _charge(self, purpose: str, rate: int, threshold: int | None = None, delta: Fraction = Fraction(0)) -> None:
        mechanism = LAPLACE if threshold is None else THRESHOLDED
        self._lines.append(
            FindingLine(purpose=purpose, mechanism=mechanism, rate=rate, threshold=threshold, delta=delta)
        )


def _undecided(policy: Policy, searched: Policy, lines: Sequence[FindingLine]) -> str | None:
    """Return why nothing can be released, with the thresholds, which are public; None where something can."""
    thresholds = [line.threshold for line in lines if line.threshold is not None]
    needed = f": by epsilon and delta, a value needs about {max(thresholds):,} rows" if thresholds else ""
    if policy.target is not None and searched.target is None:
        return f"target {policy.target!r}: no two classes stand out from the noise{needed}"
    if not searched.names(Role.QUASI_IDENTIFIER, Role.SENSITIVE):
        which = "in no column does" if policy.target is None else "in no column but the target does"
        return f"{which} anything stand out from the noise{needed}"
    return None


def _labels(values: Sequence[object], *, texts_alone: bool) -> list[str]:
    """Return the category of each value: all spellings of one exact number are one, by its own spelling."""
    labels = [str(category_value(value, False)) for value in values]
    return labels if texts_alone else [key_of_text(label) or "" for label in labels]


def _number(value: object) -> float | None:
    """Return the number in a cell; a string of digits that begins with a zero, such as a postal code, is none."""
    text = str(value)
    plain = text.strip()
    if isinstance(value, str) and len(plain) > 1 and plain[0] == "0" and plain[1].isdigit():
        return None
    return number_of_text(text)


# --- methods that may be given a delta -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DeltaMethod(CentralMethod):
    """A method that may be given a delta, and spends it where that means less noise.

    Privacy
    -------
    With delta 0, the default, epsilon is pure, and nothing else happens than in a method without the parameter.
    """

    delta: float = parameter(
        default=0.0,
        range="[0, 0.01]",
        help="probability that epsilon does not cover, far below one in the number of rows; 0: none, pure epsilon",
        silent=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("delta", self.delta, 0, 0.01, hint="far below one in the number of rows, such as 1e-9; 0 for none")

    def with_found_domains(self, policy: Policy, source: Source, engine: Engine, rng: Randomness) -> Policy:
        """Return the policy with domains found in the table, for a part of epsilon and of delta; or as it was.

        Nothing is looked at without a delta, or where every column has a public domain. Where nothing can be released,
        `found_domains.undecided` says why.
        """
        if self.with_domains_to_find(policy) is policy:
            return policy
        search = DomainSearch(
            source,
            engine,
            self.used_rows(source, policy, engine, rng),
            row_units=units_of(Fraction(self.epsilon) * FINDING_SHARE / self.changed_rows),
            delta=Fraction(self.delta) / 2,
            rows_per_unit=self.rows_per_unit,
            replaced=self.neighbours == REPLACE,
            words=UniformStream(rng.child("domains")),
        )
        return search.found(policy)

    def with_domains_to_find(self, policy: Policy) -> Policy:
        """Return the policy with the columns whose domains would be found, without a look at any cell; or as it was."""
        undeclared = undeclared_columns(policy)
        if not self.delta or not undeclared:
            return policy
        self.check_unit(policy)
        self._refuse_rules_of(policy, undeclared)
        return replace(policy, found_domains=FoundDomains(names=tuple(undeclared), is_plan=True))

    def _refuse_rules_of(self, policy: Policy, undeclared: Collection[str]) -> None:
        """Refuse rules before the search, which is a draw: what it found would decide whether they fit.

        Raises
        ------
        PolicyError
            A rule names a column whose domain is searched; or see `check_rules`.
        """
        rules = policy.constraints if self.keeps_rules else PublicRules()
        named = [name for rule in rules.follows for name in (rule.of, rule.name)]
        named += [name for rule in rules.never for name in rule.values]
        for name in named:
            if name in undeclared:
                raise PolicyError(
                    f"policy: constraints: column {name!r} is in a rule: declare its categories or bounds",
                    "a domain that noise finds in the table may have none of the values of the rule",
                )
        self.check_rules(policy)

    def epsilon_left(self, policy: Policy) -> Fraction:
        """Return the epsilon, for the unit of privacy, that the search for domains leaves."""
        found = policy.found_domains
        spent = Fraction(0) if found is None else found.row_epsilon * self.changed_rows
        return Fraction(self.epsilon) - spent

    def delta_left(self, policy: Policy) -> Fraction:
        """Return the delta that the search for domains leaves: the other half."""
        return Fraction(self.delta) / (1 if policy.found_domains is None else 2)

    def without_search(self, policy: Policy) -> tuple[Self, Policy]:
        """Return the method with what is left of epsilon and delta, and the policy as if all domains were declared.

        For methods that plan and draw as ever with what is left, whether their own draws spend the delta or are pure;
        `charged` adds what the search cost.
        """
        whole = self.epsilon_left(policy)
        epsilon = float(whole)
        epsilon = epsilon if Fraction(epsilon) <= whole else math.nextafter(epsilon, 0)
        left = replace(self, epsilon=epsilon, delta=float(self.delta_left(policy)))
        return left, replace(policy, found_domains=None)

    def charged(self, draft: Draft, found: FoundDomains) -> Draft:
        """Return the draft of the method that `without_search` gave, with the search in its statement."""
        accounting = cast(Accounting, draft.statement)
        statement = accounting.after_search(found.lines, float(self.epsilon), float(self.delta))
        return replace(draft, published={**draft.published, **self.method_entry}, statement=statement)

    def approximate_promise(self, policy: Policy, *bounds: str) -> ApproximateDP:
        """Return the promise of the given epsilon and delta."""
        return ApproximateDP(
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            adjacency=self.neighbours,
            unit=policy.unit,
            rows_per_unit=self.rows_per_unit,
            assumptions=(
                *public_assumptions(policy),
                *bounds,
                *(() if policy.found_domains is None else PUBLIC_COLUMNS),
            ),
            conditional=policy.conditional_columns,
            identifiers_from_data=policy.identifiers_from_data,
        )


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
