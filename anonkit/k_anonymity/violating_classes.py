# SPDX-License-Identifier: Apache-2.0
"""Equivalence classes of a recoded table that violate the privacy model, counted by the engine that holds the rows.

Only counts reach this machine: the classes that are too small and, with l, t and the like required, how many rows
(people) of every class hold each sensitive value. The rule is that of `search.equivalence.suppressed_rows`: whole
classes go, all requirements are checked together, and again as long as more classes break one, since t-closeness
compares with the rows that stay.

People of a recoded table whose whole set of rows fewer than k people have: they are left out with all their rows.

Conditions on the values of sensitive columns in every equivalence class, from the rules of these columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, CodedColumn, IntArray, combine
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.k_anonymity.recoded_rows import RecodeRows, ReleasableRows, RowRecoding, is_among
from anonkit.k_anonymity.search.class_values import CountedPeople, at_most
from anonkit.k_anonymity.search.equivalence import (
    AlphaK,
    CapByValue,
    DistinctL,
    EntropyL,
    Partition,
    RecursiveCL,
    Requirement,
    TCloseness,
)
from anonkit.k_anonymity.search.shared_sets import SharedSets
from anonkit.k_anonymity.sensitive_rules import SensitiveRule, SensitiveValueMap
from anonkit.policy.declaration import Policy
from anonkit.protocols import COUNT, Engine, Source


@dataclass(frozen=True, kw_only=True)
class RarePeople:
    """The people who must go, and how many rows they have."""

    keys: pa.Array
    """Keys of their units (`anonkit.domains.cell_values`)."""
    n_rows: int


def rare_people(recoded: Source, engine: Engine, names: list[str], unit: str, k: int) -> RarePeople:
    """Count the whole sets of rows of a recoded table.

    Parameters
    ----------
    recoded : Source
        Released quasi-identifiers, and the keys of the unit; every row is somebody's.
    names : list of str
        The released quasi-identifiers.

    Notes
    -----
    One column of codes is in memory at a time, and two integers a row.
    """
    people = engine.encode(recoded, [unit])[0]
    classes = np.zeros(people.codes.size, dtype=np.int64)
    n_classes = 1 if classes.size else 0
    for name in names:
        classes, n_classes = combine([classes, engine.encode(recoded, [name])[0].codes], classes.size)
    units = people.codes.astype(np.int64)
    gone = SharedSets(k, units).gone(Partition(classes, n_classes))
    keys = [people.values[code] for code in np.unique(units[gone]).tolist()]
    return RarePeople(keys=pa.array(keys, pa.string()), n_rows=int(gone.sum()))


class Holders(TypedDict):
    """The holders of the values of a sensitive attribute, rows or people, in the form that requirements take."""

    missing: int | None
    units: NDArray[np.int64] | None
    counted: CountedPeople | None


def diversity_requirements(
    rules: Sequence[SensitiveRule],
    sensitive: Sequence[CodedColumn],
    *,
    units: IntArray | None = None,
    counted: Sequence[CountedPeople] | None = None,
) -> list[Requirement]:
    """Return the requirements on the sensitive values of every equivalence class.

    Parameters
    ----------
    rules, sensitive : sequence of SensitiveRule, sequence of CodedColumn
        Requirements on each column, and its values as they count.
    units : array, optional
        Person of each entry: then people hold values, not rows.
    counted : sequence of CountedPeople, optional
        People of each entry, for each column, where an entry is all rows of a class with one value.
    """
    out: list[Requirement] = []
    for at, (rule, column) in enumerate(zip(rules, sensitive, strict=True)):
        required, values, ends = rule.required, column.codes.astype(np.int64), rule.ends(column)
        missing = None if rule.missing_is_value else column.missing
        holders = Holders(missing=missing, units=units, counted=None if counted is None else counted[at])
        if required.l is not None:
            out.append(DistinctL(values, required.l, ends=ends, **holders))
        if required.entropy_l is not None:
            out.append(EntropyL(values, required.entropy_l, ends=ends, **holders))
        if required.recursive is not None:
            out.append(RecursiveCL(values, *required.recursive, ends=ends, **holders))
        if required.t is not None:
            out.append(TCloseness(values, required.t, column.ordered, **holders))
        if required.alpha is not None and required.alpha < 1:
            out.append(AlphaK(values, required.alpha, ends=ends, **holders))
        if rule.caps is not None:
            out.append(CapByValue(values, rule.caps.of(column), ends=ends, **holders))
    return out


@dataclass(frozen=True, kw_only=True)
class ViolatingClasses:
    """The equivalence classes of a recoded table that violate the privacy model and must be suppressed."""

    classes: pa.Table
    """Released quasi-identifiers of each class, and `COUNT`, its rows."""
    n_recoded: int
    """Rows that the recoding has a place for, in these classes or in others."""
    people: RarePeople | None = None
    """People to suppress, where k holds for whole sets of rows; no class violates it besides."""

    @property
    def n_rows(self) -> int:
        """Rows in the violating classes, or of the people who must go."""
        of_classes: int = sum(self.classes.column(COUNT).to_pylist())
        return of_classes + (0 if self.people is None else self.people.n_rows)


def violating_classes(
    model: AnonymityModel,
    source: Source,
    policy: Policy,
    engine: Engine,
    recoding: RowRecoding,
    releasable: ReleasableRows,
) -> ViolatingClasses:
    """Recode a table and find the classes that are too small, or not diverse enough.

    Parameters
    ----------
    releasable : ReleasableRows
        Which rows may be released, and the requirements on their sensitive values.
    """
    types, rules = recoding.types(source.schema), [rule for rule in releasable.rules if rule.bounds_something]
    names = [name for name in policy.quasi_identifiers if name in types]
    keys = (policy.unit, *(candidate.key for candidate in policy.candidates))
    watched = (*(rule.name for rule in rules), *keys)
    extra = [name for name in dict.fromkeys(watched) if name and name not in types]
    columns = [*names, *extra] or source.schema.names[:1]  # a batch without columns has no rows
    if policy.unit is not None:
        types = {**types, policy.unit: pa.string()}
    schema = pa.schema([(name, types.get(name) or source.schema.field(name).type) for name in columns])
    function = RecodeRows(recoding=recoding, schema=schema, needed=releasable.needed, unit=policy.unit)
    recoded = engine.map_batches(source, function, schema)
    if policy.unit is not None and policy.person_rows is not None and policy.person_rows.whole_set:
        people = rare_people(recoded, engine, names, policy.unit, model.k)
        nothing = pa.schema([*(schema.field(name) for name in names), (COUNT, pa.int64())]).empty_table()
        return ViolatingClasses(classes=nothing, n_recoded=recoded.n_rows, people=people)
    classes = _violating(model, recoded, policy, engine, names, rules)
    return ViolatingClasses(classes=classes, n_recoded=recoded.n_rows)


def _violating(
    model: AnonymityModel,
    recoded: Source,
    policy: Policy,
    engine: Engine,
    names: Sequence[str],
    rules: Sequence[SensitiveRule],
) -> pa.Table:
    """Return the violating classes of a recoded table: small ones, and those that are not diverse enough.

    Parameters
    ----------
    recoded : Source
        Released quasi-identifiers, sensitive columns, and the keys of the unit where people are counted.
    names : sequence of str
        The released quasi-identifiers.
    """
    small = engine.small_classes(recoded, names, model.k, policy.unit)
    if policy.candidates:
        keys = [candidate.key for candidate in policy.candidates]
        few = [engine.small_classes(recoded, names, model.k, key) for key in keys]
        small = _united([small, *few], names)
    if not rules or not names:
        return small
    read = SensitiveValueMap.of(rules, recoded.schema)
    counted = engine.map_batches(recoded, read, read.schema, same_rows=True)
    counts = [ViolatingValues.of(counted, policy, engine, names, rule) for rule in rules]
    removed = small.slice(0, 0)
    while True:
        tables = [counter.violating(policy, engine, removed) for counter in counts]
        worse = _united([small, removed, *tables], names)
        if worse.num_rows == removed.num_rows:
            return removed
        removed = worse


@dataclass(frozen=True, kw_only=True, eq=False)
class ViolatingValues:
    """The values of one sensitive column by class of a recoded table.

    A cell is a class together with one value of the sensitive column.
    """

    recoded: Source
    """Its sensitive cells as they count."""
    rule: SensitiveRule
    names: Sequence[str]
    """The released quasi-identifiers."""
    cells: pa.Table
    """Quasi-identifiers and sensitive value of every cell that occurs, and `COUNT`, its rows; n_cells rows."""
    partition: Partition
    """The classes, with cells as entries weighted by their rows."""
    column: CodedColumn
    """The sensitive value of each cell."""
    people: tuple[IntArray, IntArray, IntArray] | None
    """; None where rows are counted."""

    @classmethod
    def of(
        cls, recoded: Source, policy: Policy, engine: Engine, names: Sequence[str], rule: SensitiveRule
    ) -> ViolatingValues:
        """Count every cell once: the rounds that follow look at these counts."""
        keys = [*names, rule.name]
        (cells,) = engine.count_sets(recoded, [tuple(keys)])
        classes, n_classes = combine([coded_cells(cells, name).codes for name in names], cells.num_rows)
        column = coded_cells(cells, rule.name)
        people = None
        if policy.unit is not None:
            of_cells = engine.count_people(recoded, keys, policy.unit).column(COUNT).to_numpy()
            with_value = engine.count_people(_with_value(recoded, engine, column, rule), names, policy.unit)
            everybody = engine.count_people(recoded, names, policy.unit)
            people = (of_cells, _of_classes(cells, with_value, names), _of_classes(cells, everybody, names))
        return cls(
            recoded=recoded,
            rule=rule,
            names=names,
            cells=cells,
            partition=Partition(classes, n_classes, cells.column(COUNT).to_numpy()),
            column=column,
            people=people,
        )

    def violating(self, policy: Policy, engine: Engine, removed: pa.Table) -> pa.Table:
        """Return the classes that break a requirement on this column once some classes are removed."""
        remaining = ~self._are_in(removed)
        counted = None if self.people is None else [self._counted_people(self.people, policy, engine, removed)]
        requirements = diversity_requirements([self.rule], [self.column], counted=counted)
        broken = np.zeros(self.partition.n_classes, dtype=bool)
        for requirement in requirements:
            broken |= requirement.violated(self.partition, remaining)
        cells = self.cells.filter(pa.array(broken[self.partition.classes]))
        classes = cells.group_by(list(self.names), use_threads=False).aggregate([(COUNT, "sum")])
        return classes.rename_columns([*self.names, COUNT]).select(removed.column_names).cast(removed.schema)

    def _counted_people(
        self, of_classes: tuple[IntArray, IntArray, IntArray], policy: Policy, engine: Engine, removed: pa.Table
    ) -> CountedPeople:
        """Count the people of every value in the rows that stay; what is counted by class stays as it is."""
        unit, left = policy.unit or "", self.recoded
        if removed.num_rows:
            left = engine.map_batches(left, WithoutClasses(removed), left.schema)
        (rows_of,) = engine.count_sets(left, [(self.column.name,)])
        people_of = engine.count_people(left, [self.column.name], unit)
        holders = at_most(rows_of.column(COUNT).to_numpy(), people_of.column(COUNT).to_numpy())
        everywhere = np.zeros(self.column.size, dtype=np.int64)
        code_of = {value: code for code, value in enumerate(self.column.values)}
        everywhere[[code_of[value] for value in rows_of.column(self.column.name).to_pylist()]] = holders
        valued = _with_value(left, engine, self.column, self.rule)
        anybody = int(at_most(np.asarray(valued.n_rows), _total(engine.count_people(valued, (), unit))))
        return CountedPeople(*of_classes, everywhere, anybody)

    def _are_in(self, classes: pa.Table) -> BoolArray:
        if classes.num_rows == 0:
            return np.zeros(self.cells.num_rows, dtype=bool)
        columns = {name: self.cells.column(name).combine_chunks() for name in self.names}
        return is_among(columns, classes, self.cells.num_rows)


def _with_value(recoded: Source, engine: Engine, column: CodedColumn, rule: SensitiveRule) -> Source:
    """Return the rows that hold a value of a sensitive column; all of them where missing is a value too."""
    if column.missing is None or rule.missing_is_value:
        return recoded
    return engine.map_batches(recoded, WithValue(column.name), recoded.schema)


def _total(counted: pa.Table) -> IntArray:
    """Return the count of a table of one class, or of none."""
    return np.asarray(sum(counted.column(COUNT).to_pylist()), dtype=np.int64)


def _of_classes(cells: pa.Table, counted: pa.Table, names: Sequence[str]) -> IntArray:
    """Return the count of the class of every cell; 0 where the class is not counted."""
    both = pa.concat_tables([cells.select(list(names)), counted.select(list(names))])
    code, n_codes = combine([coded_cells(both, name).codes for name in names], both.num_rows)
    count_of = np.zeros(n_codes, dtype=np.int64)
    count_of[code[cells.num_rows :]] = counted.column(COUNT).to_numpy()
    return count_of[code[: cells.num_rows]]


def _united(tables: Sequence[pa.Table], names: Sequence[str]) -> pa.Table:
    """Return the classes of several tables, each once."""
    joined = pa.concat_tables(tables)
    merged = joined.group_by(list(names), use_threads=False).aggregate([(COUNT, "max")])
    return merged.rename_columns([*names, COUNT]).select(tables[0].column_names).cast(tables[0].schema)


def coded_cells(cells: pa.Table, name: str) -> CodedColumn:
    """Return a column of counted cells as codes that ascend with the value, missing last."""
    array = cells.column(name).combine_chunks()
    values = array.unique().drop_null()
    values = values.take(pc.sort_indices(values))
    codes = pc.fill_null(pc.index_in(array, value_set=values), len(values)).to_numpy(zero_copy_only=False)
    ordered = not (pa.types.is_string(array.type) or pa.types.is_boolean(array.type))
    listed = [*values.to_pylist(), *([None] if array.null_count else [])]
    return CodedColumn(name=name, codes=codes.astype(np.int32), values=listed, ordered=ordered)


@dataclass(frozen=True)
class WithValue:
    """Batch function that leaves out rows without a value in a column."""

    name: str

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows with one."""
        return batch.filter(batch.column(self.name).is_valid())


@dataclass(frozen=True, eq=False)
class WithoutClasses:
    """Batch function that leaves out the rows of some equivalence classes."""

    removed: pa.Table

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows of the others."""
        columns = {name: batch.column(name) for name in self.removed.column_names if name != COUNT}
        return batch.filter(pa.array(~is_among(columns, self.removed, batch.num_rows)))
