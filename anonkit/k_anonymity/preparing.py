# SPDX-License-Identifier: Apache-2.0
"""The quasi-identifiers of a table as integer codes, with their hierarchies, before a search for a recoding.

What the policy declares of a column is read here, once: whatever comes after looks at codes, and at the hierarchy that
is beside them.

The target as the guide of a search: as classes, of which there are few, or as a number.

A search keeps a share of every class for every row, so that their number decides on its memory. Of many classes the
commonest are distinguished and the others guide as one; of more than a thousand, most have too few rows to learn from
and the table is refused. A number costs one figure a row, however many different ones there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.coded_columns import (
    UNLABELLED,
    BoolArray,
    CodedColumn,
    FloatArray,
    IntArray,
    commonest,
    folded_column,
)
from anonkit.errors import GuaranteeError, PolicyError, SourceError, option
from anonkit.k_anonymity.declared_detail import Hierarchy
from anonkit.k_anonymity.privacy_model import AnonymityModel, candidate_requirements
from anonkit.k_anonymity.recoded_rows import RecodeRows, RowRules
from anonkit.k_anonymity.search.equivalence import AtLeastK, Requirement
from anonkit.k_anonymity.search.hierarchy_levels import Ladder, automatic_ladder, full_detail
from anonkit.k_anonymity.search.shared_sets import SharedSets
from anonkit.k_anonymity.sensitive_rules import SensitiveRule
from anonkit.k_anonymity.supported_parts import Holders, cut_parts, pool_rare
from anonkit.k_anonymity.violating_classes import diversity_requirements
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy
from anonkit.policy.survey_weights import ShownWeights
from anonkit.policy.target_task import Task, as_numbers, task_from_values
from anonkit.protocols import Engine, Source
from anonkit.published.recoding import GlobalRecoding, UnchangedAxis
from anonkit.report.blocks import JsonObject

CLASSES_APART = 32
"""Classes that a search distinguishes, the rarest of more being one of them."""
MOST_CLASSES = 1000
"""Classes that may guide a search at all."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GuidingTarget:
    """The form of the target that a search learns from; nothing of it is released."""

    task: Task | None
    """None where there is no target."""
    labels: IntArray
    """Class of each row, of a number its quarter, shape (n_rows,); UNLABELLED where there is none."""
    numbers: FloatArray | None
    """The target as a number, shape (n_rows,), NaN where it is none; None where it is classes."""
    notes: tuple[str, ...] = ()
    """Notes that a release may contain."""
    owner: JsonObject | None = None
    """Exact figures of the source, for the owner alone."""

    @classmethod
    def none(cls, n_rows: int) -> GuidingTarget:
        """Return that of a table without a target."""
        return cls(task=None, labels=np.full(n_rows, UNLABELLED, dtype=np.int64), numbers=None)


def guiding_target(
    target: CodedColumn,
    declared: Column,
    task: Task | None,
    *,
    guides: bool = True,
    hidden: BoolArray | None = None,
) -> GuidingTarget:
    """Return the target of a table as a search is guided by it.

    Parameters
    ----------
    target : CodedColumn
        Shape (n_rows,).
    declared : Column
        What the policy declares of it.
    task : Task, optional
        As declared; else it is found from the values.
    guides : bool
        Whether the search looks at it at all.
    hidden : ndarray of shape (n_rows,), optional
        Rows whose labels the search must not see: they are as if they were missing, but for the task.

    Raises
    ------
    PolicyError
        It has more than a thousand classes that shall guide, or is to be a number and no cell of it is one.
    """
    found = task_from_values(declared, task, target.values, ordered=target.ordered)
    notes = () if found.reason is None else (found.reason,)
    codes = target.codes.astype(np.int64)
    if found.task is Task.REGRESSION:
        return _as_number(target, codes, notes, hidden)
    labels = codes if target.missing is None else np.where(codes == target.missing, UNLABELLED, codes)
    labels = labels if hidden is None else np.where(hidden, UNLABELLED, labels)
    there = labels != UNLABELLED
    n_classes = np.unique(labels[there]).size
    if not guides or n_classes <= CLASSES_APART:
        return GuidingTarget(task=found.task, labels=labels, numbers=None, notes=notes)
    if n_classes > MOST_CLASSES:
        raise PolicyError(
            f"the target {target.name!r} has more than {MOST_CLASSES:,} classes, most too rare to learn from",
            f"{option('task', 'regression')} if it is a number; else group its values, name another target, or take "
            f"{option('no_target', True)}",
        )
    labels = labels.copy()
    labels[there] = commonest(labels[there], CLASSES_APART)[0]
    note = f"The target {target.name!r} has more than {CLASSES_APART} classes: the rarest guided the search as one."
    return GuidingTarget(task=found.task, labels=labels, numbers=None, notes=(*notes, note))


def _as_number(target: CodedColumn, codes: IntArray, notes: tuple[str, ...], hidden: BoolArray | None) -> GuidingTarget:
    """Return a target that is a number; cells that are none guide nothing."""
    numbers = as_numbers(target.values)[codes]
    known = ~np.isnan(numbers)
    if not known.any():
        raise PolicyError(
            f"no cell of the target {target.name!r} is a number", f"{option('task', 'classification')}, or another one"
        )
    n_missing = 0 if target.missing is None else int((codes == target.missing).sum())
    n_strange = int((~known).sum()) - n_missing
    if hidden is not None:
        numbers = np.where(hidden, np.nan, numbers)
        known = known & ~hidden
    labels = np.full(codes.size, UNLABELLED, dtype=np.int64)
    if known.any():
        present = np.sort(numbers[known])
        borders = np.unique(present[[present.size // 4, present.size // 2, 3 * present.size // 4]])
        labels[known] = np.searchsorted(borders, numbers[known], side="right")
    owner: JsonObject | None = None
    if n_strange:
        note = (
            f"{n_strange:,} of {codes.size:,} cells of the target {target.name!r} are no numbers: their rows are "
            "released and guided nothing."
        )
        owner = {"cells_that_are_no_numbers": n_strange, "note": note}
    return GuidingTarget(task=Task.REGRESSION, labels=labels, numbers=numbers, notes=notes, owner=owner)


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """Coding of columns without a declared hierarchy, as a search needs it."""

    pool: bool = True
    """Merge the values of a categorical column that fewer than k rows (people) hold."""
    cut: bool = True
    """Merge the values of an ordered column into parts between cuts that may be published."""
    bins: int | None = None
    """Merge these parts further, into about so many bins of equal width, in [2, inf)."""
    guided: bool = True
    """True where the search uses the target."""
    exact_numbers: bool = False
    """Leave numbers without a declared hierarchy as they are: the search publishes means of them alone."""
    calendar: bool = True
    """Generalize dates, moments and times by parts of the calendar; else only where the policy declares which."""

    def hierarchy(self, column: CodedColumn, declared: Column) -> Hierarchy | None:
        """Return the levels of a column, None where the search is free.

        Raises
        ------
        PolicyError
            See `Hierarchy.of`.
        """
        calendar = declared.calendar
        free = calendar is not None and calendar.levels is None and declared.generalize and not self.calendar
        return None if free else Hierarchy.of(column, declared)


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """The input of a search: quasi-identifiers of the releasable rows as codes, and the conditions on classes.

    Columns, labels and units are aligned row by row. A search reads nothing else: it sees no cell values.
    """

    columns: list[CodedColumn]
    """Each of shape (n_rows,)."""
    hierarchies: Mapping[str, Hierarchy]
    """Declared levels of detail of a column by its name; a column that is not in it may be divided freely."""
    labels: NDArray[np.int64]
    """Class of each row, of a numeric target its quarter, shape (n_rows,); UNLABELLED where it is missing."""
    numbers: FloatArray | None = None
    """A numeric target, shape (n_rows,), NaN where it is missing; None where the target is classes."""
    hidden: BoolArray | None = None
    """Rows on which the release is scored, shape (n_rows,): nothing may be fitted to what is foretold of them either;
    None where every row may guide."""
    task: Task | None = None
    """Task of consumers on the target; None without one."""
    jointly: bool = False
    """True where the policy declares that nothing is predicted: detail is kept for all columns jointly then."""
    owner: JsonObject | None = None
    """Exact figures of the target, for the owner alone."""
    holders: Holders
    """The person of each row, or the value of each candidate for it, -1 for nobody; empty where every row is one."""
    k: int
    """Rows (people) that every class needs."""
    requirements: list[Requirement]
    """Requirements on every equivalence class, k first."""
    notes: tuple[str, ...]
    """Notes for the owner on the table."""
    kept_columns: frozenset[str] = frozenset()
    """Columns of which at least two parts must be released."""
    detail_weights: Mapping[str, float] = field(default_factory=dict)
    """Worth of the detail of a column, above 0; 1 of one that is not in it."""
    rows: Source | None = None
    """The releasable rows themselves, in the same order, for a method that publishes means of their numbers."""
    steps: Mapping[str, float] = field(default_factory=dict)
    """Declared step of a column of numbers."""
    bears_boxes: bool = True
    """False where a column is of use cell by cell alone: rounded weights, with which nobody can weigh in ranges."""

    @property
    def n_rows(self) -> int:
        """Rows that may be released."""
        return int(self.labels.size)

    def full_domain_levels(self) -> dict[str, Ladder]:
        """Return the levels of every column above the last of which it is dropped.

        They are the declared ones; of an ordered column without any, halvings of its parts; else full detail alone.
        """
        levels: dict[str, Ladder] = {}
        for column in self.columns:
            if column.name in self.hierarchies:
                levels[column.name] = self.hierarchies[column.name].ladder
            else:
                levels[column.name] = automatic_ladder(column) if column.ordered else full_detail(column)
        return levels


def prepare(
    source: Source,
    policy: Policy,
    engine: Engine,
    model: AnonymityModel,
    preparation: Preparation,
    rules: Sequence[SensitiveRule],
    held_out: str | None = None,
) -> Prepared:
    """Code the quasi-identifiers of a table and turn the model into requirements.

    Parameters
    ----------
    rules : sequence of SensitiveRule
        Requirements on the values of each sensitive column.
    held_out : str, optional
        Column of truth values that marks the rows whose labels the search does not see.

    Raises
    ------
    PolicyError
        No column is a quasi-identifier, or a column has a hierarchy of bin widths and no numbers.
    GuaranteeError
        There are fewer than k rows (people): k cannot be reached.
    SourceError
        A quasi-identifier or the target has times of day finer than microseconds.
    """
    names = policy.quasi_identifiers
    if not names:
        raise PolicyError("no column is a quasi-identifier", "k-anonymity protects the columns an attacker may know")
    usable = _usable_rows(source, policy, engine, held_out)
    coded = engine.encode(usable, names)
    _refuse_uncut(coded)
    units = None if policy.unit is None else engine.encode(usable, [policy.unit])[0].codes.astype(np.int64)
    _refuse_few(model.k, coded[0].codes.size, units)
    candidates = [engine.encode(usable, [candidate.key])[0] for candidate in policy.candidates]
    for name, column in zip(policy.candidates, candidates, strict=True):
        _refuse_few_values(model.k, name.name, column)
    holders = [*([] if units is None else [units]), *map(_values_of, candidates)]
    target = None if policy.target is None else engine.encode(usable, [policy.target])[0]
    _refuse_uncut([] if target is None else [target])
    hidden = None if held_out is None else _marked(engine.encode(usable, [held_out])[0])
    guide = (
        GuidingTarget.none(coded[0].codes.size)
        if target is None
        else guiding_target(
            target,
            policy.column(target.name),
            policy.task,
            guides=preparation.guided,
            hidden=hidden,
        )
    )
    declared = [policy.column(column.name) for column in coded]
    levels = [preparation.hierarchy(*pair) for pair in zip(coded, declared, strict=True)]
    columns = [
        _free_codes(column, declaration, preparation, model.k, holders) if hierarchy is None else column
        for column, declaration, hierarchy in zip(coded, declared, levels, strict=True)
    ]
    return Prepared(
        columns=columns,
        hierarchies={hierarchy.column.name: hierarchy for hierarchy in levels if hierarchy is not None},
        labels=guide.labels,
        numbers=guide.numbers,
        hidden=hidden,
        task=guide.task,
        jointly=policy.without_target,
        owner=guide.owner,
        holders=holders,
        k=model.k,
        requirements=[
            *_requirements(usable, policy, engine, model, units, rules),
            *candidate_requirements(model.k, candidates),
        ],
        notes=(*_blank_notes(columns), *guide.notes),
        kept_columns=frozenset(policy.kept) & frozenset(names),
        detail_weights=policy.detail_weights,
        rows=usable if preparation.exact_numbers else None,
        steps={own.name: own.step for own in declared if own.step is not None},
        bears_boxes=policy.weight is None or policy.weight.weights is not ShownWeights.ROUNDED,
    )


def _marked(column: CodedColumn) -> BoolArray:
    """Return a mask of the rows that a column of truth values marks, shape (n_rows,)."""
    return np.asarray(np.array([value == "true" for value in column.values], dtype=bool)[column.codes])


def _usable_rows(source: Source, policy: Policy, engine: Engine, held_out: str | None) -> Source:
    """Return the rows that no missing value drops and, with a unit column, somebody's; the unit as its keys.

    No row is left out because a candidate for the person may be missing.
    """
    needed = RowRules.of(policy).needed
    if not needed and policy.unit is None:
        return source
    keys = [candidate.key for candidate in policy.candidates]
    names = dict.fromkeys((*policy.quasi_identifiers, *policy.sensitive, policy.target, policy.unit, *keys, held_out))
    schema = pa.schema(
        [(name, pa.string() if name == policy.unit else source.schema.field(name).type) for name in names if name]
    )
    as_it_is = GlobalRecoding(columns=tuple(UnchangedAxis(name=name) for name in policy.quasi_identifiers))
    usable = RecodeRows(recoding=as_it_is, schema=schema, needed=needed, unit=policy.unit)
    return engine.keep(engine.map_batches(source, usable, schema))


def _free_codes(
    column: CodedColumn, declared: Column, preparation: Preparation, k: int, holders: Holders
) -> CodedColumn:
    """Return the codes that a search may distinguish in a column without a hierarchy."""
    if preparation.exact_numbers and is_of_numbers(column):
        return column
    if column.ordered and preparation.cut:
        return cut_parts(column, k, holders, bins=preparation.bins, bounds=declared.bounds)
    if not column.ordered and preparation.pool and declared.categories is None:
        return pool_rare(column, k, holders)
    return column


def is_of_numbers(column: CodedColumn) -> bool:
    """Return True if the values of a column are numbers, one at least."""
    first = next((value for value in column.values if value is not None), None)
    return column.ordered and isinstance(first, int | float | Decimal)


def _values_of(candidate: CodedColumn) -> NDArray[np.int64]:
    """Return the value of each row, -1 where it has none, shape (n_rows,)."""
    codes = candidate.codes.astype(np.int64)
    return codes if candidate.missing is None else np.where(codes == candidate.missing, -1, codes)


def _refuse_uncut(columns: Sequence[CodedColumn]) -> None:
    """Refuse times of day that are counted as strings, since no point lies between two of them."""
    for column in columns:
        if column.ordered and any(isinstance(value, str) for value in column.values):
            raise SourceError(f"column {column.name!r} has times of day finer than microseconds", "round them")


def _refuse_few(k: int, n_rows: int, units: NDArray[np.int64] | None) -> None:
    people = n_rows if units is None else len(np.unique(units))
    if people < k:
        who = "rows" if units is None else "people"
        raise GuaranteeError(
            f"k ({k}) cannot be reached: the table has {people or 'no'} {who}",
            f"k is at most {people} here" if people else "name a table that has some",
        )


def _refuse_few_values(k: int, name: str, candidate: CodedColumn) -> None:
    values = candidate.size - (candidate.missing is not None)
    if values < k:
        raise GuaranteeError(f"column {name!r} has {values or 'no'} different values, and k is {k}", "a smaller k")


def _requirements(
    source: Source,
    policy: Policy,
    engine: Engine,
    model: AnonymityModel,
    units: NDArray[np.int64] | None,
    rules: Sequence[SensitiveRule],
) -> list[Requirement]:
    """Return the requirements on every equivalence class, k first."""
    at_least_k = AtLeastK(model.k, units)
    if policy.person_rows is not None and policy.person_rows.whole_set and units is not None:
        return [at_least_k, SharedSets(model.k, units)]
    rules = [rule for rule in rules if rule.bounds_something]
    if not rules:
        return [at_least_k]
    sensitive = engine.encode(source, [rule.name for rule in rules])
    counted = [folded_column(column, rule.no_values) for column, rule in zip(sensitive, rules, strict=True)]
    return [at_least_k, *diversity_requirements(rules, counted, units=units)]


def _blank_notes(columns: Sequence[CodedColumn]) -> tuple[str, ...]:
    """Name the columns in which values differ by blanks at the ends of a string alone."""
    padded = [c.name for c in columns if any(isinstance(value, str) and value != value.strip() for value in c.values)]
    return tuple(
        f"Column {name!r} has cells that begin or end with blanks; ' a' and 'a' are different values."
        for name in padded
    )
