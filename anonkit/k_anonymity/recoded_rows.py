# SPDX-License-Identifier: Apache-2.0
"""Rows of a table recoded batch by batch, with the rules for rows that are left out or refused.

Rows of a source as their release shows them, those that were left out among them, for the owner's measures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.cell_values import cell_keys
from anonkit.domains.coded_columns import combine, is_ordered
from anonkit.errors import GuaranteeError, PolicyError
from anonkit.policy.column_declarations import Column, Missing, Outside
from anonkit.policy.declaration import Policy
from anonkit.policy.declared_cells import refuse_outside
from anonkit.policy.survey_weights import refuse_no_numbers
from anonkit.protocols import COUNT, Engine, Recodes, Source
from anonkit.published.recoding import Recoding, recoding_from_dict

if TYPE_CHECKING:
    from anonkit.k_anonymity.sensitive_rules import SensitiveRule


BoolArray = NDArray[np.bool_]

DROPPED, NOBODY = "dropped", "nobody"
"""Rows left out for a missing value, and rows without a unit."""
WEIGHTLESS = "weightless"
"""Rows whose weight is there, and no number above 0."""


class RowRecoding(Protocol):
    """The map from quasi-identifiers to released values: a published recoding, or one with its small classes merged."""

    def apply(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
        """Return the released quasi-identifier columns, and which rows are left out."""
        ...

    def types(self, schema: pa.Schema) -> dict[str, pa.DataType]:
        """Return the type of every released quasi-identifier."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class RecodeRows:
    """Batch function that recodes rows and leaves out those that cannot be released.

    The output is a function of the batch alone and not of its position or neighbours, so every engine, and every
    repeated task of a cluster, releases the same rows.

    Left out are rows that miss a needed cell, rows without a unit, rows that the recoding itself leaves out, and rows
    of a suppressed equivalence class.
    """

    recoding: RowRecoding
    schema: pa.Schema
    needed: Sequence[str]
    """Columns whose missing cells drop their row."""
    unit: str | None
    """Unit column; the schema may have it, as keys."""
    suppressed: pa.Table | None = None
    """Equivalence classes to leave out: the released quasi-identifiers of each."""
    people: pa.Array | None = None
    """Keys of people to leave out with all their rows."""
    originals: Mapping[str, str] = field(default_factory=dict)
    """Columns of the schema that show the original cells of a quasi-identifier: its name, by theirs."""

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows that are released, in the columns of the schema."""
        dropped = any_missing(batch, self.needed) | are_nobodys(batch, self.unit)
        if dropped.any():
            batch = batch.filter(pa.array(~dropped))
        recoded, left_out = self.recoding.apply(batch)
        arrays = [self._released(batch, recoded, name) for name in self.schema.names]
        if self.suppressed is not None:
            left_out = left_out | is_among(recoded, self.suppressed, batch.num_rows)
        if self.people is not None and self.unit is not None:
            keys = cell_keys(batch.column(self.unit))
            left_out = left_out | pc.is_in(keys, value_set=self.people).to_numpy(zero_copy_only=False)
        released = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        return released.filter(pa.array(~left_out)) if left_out.any() else released

    def _released(self, batch: pa.RecordBatch, recoded: Mapping[str, pa.Array], name: str) -> pa.Array:
        """Return the cells of a column as they are released; of the unit column, which is only counted, their keys."""
        if name == self.unit:
            return cell_keys(batch.column(name))
        if name in self.originals:
            return batch.column(self.originals[name])
        return recoded[name] if name in recoded else batch.column(name)


def with_original_cells(source: Source, recode: RecodeRows, pairs: Sequence[tuple[str, str]], engine: Engine) -> Source:
    """Return the rows that a function releases, with the original cells of some of their quasi-identifiers beside.

    Parameters
    ----------
    pairs : sequence of (str, str)
        A quasi-identifier, and the free name under which its original cells are shown.

    Privacy
    -------
    For sums over whole classes: none of it is released.
    """
    schema = recode.schema
    for name, given in pairs:
        schema = schema.append(pa.field(given, source.schema.field(name).type))
    originals = {given: name for name, given in pairs}
    return engine.map_batches(source, replace(recode, schema=schema, originals=originals), schema)


def any_missing(batch: pa.RecordBatch, names: Sequence[str]) -> BoolArray:
    """Return a mask of the rows that miss the cell of at least one of the columns, shape (n_rows,)."""
    missing = np.zeros(batch.num_rows, dtype=bool)
    for name in names:
        missing |= batch.column(name).is_null().to_numpy(zero_copy_only=False)
    return missing


def are_nobodys(batch: pa.RecordBatch, unit: str | None) -> BoolArray:
    """Return a mask of the rows that have no unit and count for nobody, shape (n_rows,); none without a unit column."""
    if unit is None:
        return np.zeros(batch.num_rows, dtype=bool)
    nobody: BoolArray = cell_keys(batch.column(unit)).is_null().to_numpy(zero_copy_only=False)
    return nobody


def is_among(columns: Mapping[str, pa.Array], classes: pa.Table, n_rows: int) -> BoolArray:
    """Return a mask of the rows in one of the classes; see `places_among`."""
    among: BoolArray = places_among(columns, classes, n_rows) >= 0
    return among


def places_among(columns: Mapping[str, pa.Array], classes: pa.Table, n_rows: int) -> NDArray[np.int64]:
    """Return the place of each row's class in a list of them, -1 where it is in none; missing is a value.

    Parameters
    ----------
    columns : mapping of column name to array of length n_rows
        Released quasi-identifiers.
    classes : Table
        The same columns, one row a class; a column `COUNT` is ignored.

    Returns
    -------
    int64 array, shape (n_rows,)
    """
    names = [name for name in classes.column_names if name != COUNT]
    mine: list[NDArray[np.int64]] = []
    theirs: list[NDArray[np.int64]] = []
    for name in names:
        values = classes.column(name).unique()
        for array, codes in ((columns[name], mine), (classes.column(name).combine_chunks(), theirs)):
            plain = array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array
            places = pc.fill_null(pc.index_in(plain, value_set=values), len(values))
            codes.append(places.to_numpy(zero_copy_only=False).astype(np.int64))
    both, n_found = combine(
        [np.concatenate(pair) for pair in zip(mine, theirs, strict=True)], n_rows + classes.num_rows
    )
    place = np.full(n_found, -1, np.int64)
    place[both[n_rows:]] = np.arange(classes.num_rows)
    return place[both[:n_rows]]


# --- rows that the policy leaves out or refuses ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReleasableRows:
    """The rows that may be released, and the requirements on their sensitive values."""

    needed: tuple[str, ...]
    """The quasi-identifiers whose missing cells drop their row."""
    rules: tuple[SensitiveRule, ...] = ()
    """Of each sensitive column."""


@dataclass(frozen=True, kw_only=True)
class UsableRows(ReleasableRows):
    """Numbers of releasable and of left-out rows of a table, before any equivalence class is counted.

    Every left-out row has exactly one reason: a row that misses a needed cell and a unit counts as `n_missing`.
    """

    n_source: int
    """Rows of the table."""
    n_missing: int
    """Rows left out because a quasi-identifier is missing whose declaration says `missing = "drop"`."""
    n_nobody: int
    """Rows left out because they have no unit: they belong to nobody who could be counted."""

    @property
    def n_usable(self) -> int:
        """Rows that stay."""
        return self.n_source - self.n_missing - self.n_nobody

    def refuse_none(self) -> None:
        """Refuse a table of which no row could stay, whatever its recoding.

        Raises
        ------
        GuaranteeError
        """
        if not self.n_usable:
            raise GuaranteeError("the table has no rows that could be released", "name a table that has some")


@dataclass(frozen=True, kw_only=True)
class CheckedColumn:
    """A column whose cells must lie in its declared domain: clamped and blanked ones are inside already."""

    name: str
    bounds: tuple[float, float] | None
    values: tuple[str, ...]
    """The declared categories; empty where bounds are declared."""

    def is_outside(self, array: pa.Array) -> BoolArray:
        """Return a mask of the cells outside the domain; where numbers are declared, every other cell is."""
        plain = array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array
        if self.bounds is not None and not is_ordered(plain.type):
            valid: BoolArray = plain.is_valid().to_numpy(zero_copy_only=False)
            return valid
        if self.bounds is not None:
            numbers = plain.cast(pa.float64(), safe=False)
            inside = pc.and_(pc.greater_equal(numbers, self.bounds[0]), pc.less_equal(numbers, self.bounds[1]))
        else:
            inside = pc.is_in(plain.cast(pa.string()), value_set=pa.array(self.values, pa.string()))
        within: BoolArray = pc.fill_null(pc.or_(inside, plain.is_null()), True).to_numpy(zero_copy_only=False)
        return ~within


@dataclass(frozen=True, kw_only=True)
class RowRules:
    """The policy's rules for rows: missing cells that drop a row or are refused, and declared domains."""

    needed: tuple[str, ...]
    """Quasi-identifiers whose missing cells drop their row."""
    forbidden: tuple[str, ...]
    """Quasi-identifiers in which nothing may be missing."""
    checked: tuple[CheckedColumn, ...]
    """Quasi-identifiers whose cells must lie in their declared domain."""
    weight: str | None = None
    """Column of the weights of a sample, whose cells must be above 0."""

    @classmethod
    def of(cls, policy: Policy) -> RowRules:
        """Take the quasi-identifiers of a policy."""
        needed, forbidden, checked = [], [], []
        for name in policy.quasi_identifiers:
            column, missing = policy.column(name), policy.missing_of(name)
            bounds, values = column.bounds, column.domain_values
            if missing is Missing.DROP:
                needed.append(name)
            elif missing is Missing.ERROR:
                forbidden.append(name)
            if column.outside is Outside.REFUSE and (values is not None or bounds is not None):
                checked.append(CheckedColumn(name=name, bounds=bounds, values=values or ()))
        weight = policy.weight
        if weight is not None and weight.name not in (*needed, *forbidden):
            (needed if weight.missing is Missing.DROP else forbidden).append(weight.name)
        return cls(
            needed=tuple(needed),
            forbidden=tuple(forbidden),
            checked=tuple(checked),
            weight=None if weight is None else weight.name,
        )


def count_usable_rows(source: Source, policy: Policy, engine: Engine) -> UsableRows:
    """Count the rows that may be released, in one pass of the engine over the whole table.

    Nothing is counted where the policy neither leaves rows out nor refuses any.

    Raises
    ------
    PolicyError
        A quasi-identifier has missing values where the policy allows none, or cells outside its declared domain; rows
        without a unit are declared an error.
    """
    rules = RowRules.of(policy)
    names = [*([DROPPED] if rules.needed else []), *([NOBODY] if policy.unit else [])]
    names += [f"outside {at}" for at in range(len(rules.checked))]
    names += [f"missing {at}" for at in range(len(rules.forbidden))]
    if rules.weight is not None:
        refuse_no_numbers(source.schema, rules.weight)
        names.append(WEIGHTLESS)
    if not names:
        return UsableRows(n_source=source.n_rows, n_missing=0, n_nobody=0, needed=rules.needed)
    schema = pa.schema([(name, pa.bool_()) for name in names])
    flag = FlagRows(schema=schema, rules=rules, unit=policy.unit)
    counted = engine.count_sets(engine.map_batches(source, flag, schema, same_rows=True), [(name,) for name in names])
    flagged = {
        name: sum(row[COUNT] for row in table.to_pylist() if row[name])
        for name, table in zip(names, counted, strict=True)
    }
    for at, column in enumerate(rules.checked):
        if n_outside := flagged[f"outside {at}"]:
            _refuse_cells(policy.column(column.name), source.schema, n_outside)
    for at, name in enumerate(rules.forbidden):
        if n_missing := flagged[f"missing {at}"]:
            hint = 'missing = "drop"' if name == rules.weight else 'missing = "category" or "drop"'
            raise PolicyError(f"column {name!r} has {n_missing} missing values", hint)
    if n_weightless := flagged.get(WEIGHTLESS, 0):
        raise PolicyError(
            f"column {rules.weight!r} has {n_weightless} cells that are no weights: a weight is a number above 0",
            "correct the table, or leave such rows out of it before",
        )
    n_nobody = flagged.get(NOBODY, 0)
    if n_nobody and policy.unit is not None and policy.column(policy.unit).missing is Missing.ERROR:
        raise PolicyError(
            f"unit column {policy.unit!r} is missing in {n_nobody} rows", "every row must belong to a person"
        )
    return UsableRows(n_source=source.n_rows, n_missing=flagged.get(DROPPED, 0), n_nobody=n_nobody, needed=rules.needed)


def _refuse_cells(column: Column, schema: pa.Schema, n_outside: int) -> None:
    if column.bounds is not None and not is_ordered(schema.field(column.name).type):
        raise PolicyError(
            f"column {column.name!r} has bounds but its cells are not numbers", "declare categories instead"
        )
    refuse_outside(column, n_outside)


@dataclass(frozen=True, kw_only=True, eq=False)
class FlagRows:
    """Batch function that marks the rows each rule applies to: one boolean column per rule, for the engine to count."""

    schema: pa.Schema
    rules: RowRules
    unit: str | None

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return one truth value a row and rule."""
        dropped = any_missing(batch, self.rules.needed)
        flags: dict[str, BoolArray] = {DROPPED: dropped, NOBODY: are_nobodys(batch, self.unit) & ~dropped}
        for at, column in enumerate(self.rules.checked):
            flags[f"outside {at}"] = column.is_outside(batch.column(column.name))
        for at, name in enumerate(self.rules.forbidden):
            flags[f"missing {at}"] = any_missing(batch, [name])
        if self.rules.weight is not None:
            weights = batch.column(self.rules.weight).cast(pa.float64(), safe=False)
            is_weight = pc.and_(pc.greater(weights, 0.0), pc.is_finite(weights))
            flags[WEIGHTLESS] = ~pc.fill_null(is_weight, True).to_numpy(zero_copy_only=False)
        return pa.RecordBatch.from_arrays([pa.array(flags[name]) for name in self.schema.names], schema=self.schema)


@dataclass(frozen=True, kw_only=True, eq=False)
class RecodedSample:
    """Rows of a source, recoded, whether or not they were released."""

    table: pa.Table
    """Their released quasi-identifiers, one row a row of the source."""
    released: BoolArray
    """Rows of the release, shape (n_rows,)."""
    placed: BoolArray
    """Rows that the recoding has a place for, shape (n_rows,)."""


def as_published(recoding: Mapping[str, Any]) -> Recoding:
    """Return the recoding of `params.json`, for a table of which nothing else is known."""
    return recoding_from_dict(recoding)


def released_names(recoding: Mapping[str, Any]) -> list[str]:
    """Return the quasi-identifiers that a recoding, in its form in `params.json`, shows."""
    return [column["name"] for column in recoding["columns" if recoding["kind"] == "global" else "axes"]]


def recoded_sample(
    rows: pa.Table, policy: Policy, applied: Recodes, classes: pa.Table, shown: Sequence[str]
) -> RecodedSample:
    """Recode rows of a source, and find which of them were released.

    Equivalence classes are released whole or not at all, so a row was released where its class is in the release.

    Parameters
    ----------
    rows : Table
        Quasi-identifiers of the source, and the unit column where the policy has one.
    applied : Recodes
        The recoding as it was applied, columns that turned out to have one value among its own: rows may have been
        left out for another value in them.
    classes : Table
        The equivalence classes of the release, one row each, in the columns of the recoding.
    shown : sequence of str
        The columns that consumers see.

    Privacy
    -------
    Discloses which rows were suppressed: for the owner's measures alone.
    """
    batch = pa.RecordBatch.from_arrays(
        [rows.column(name).combine_chunks() for name in rows.column_names], names=rows.column_names
    )
    recoded, unknown = applied.apply(batch)
    placed = ~(unknown | any_missing(batch, RowRules.of(policy).needed))
    released = placed & ~are_nobodys(batch, policy.unit)
    if names := [name for name in classes.column_names if name in recoded]:
        kinds = [_plain(recoded[name].type) for name in names]
        known = pa.table({name: classes.column(name).cast(kind) for name, kind in zip(names, kinds, strict=True)})
        released &= is_among(recoded, known, batch.num_rows)
    return RecodedSample(table=pa.table({name: recoded[name] for name in shown}), released=released, placed=placed)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def people_of(rows: pa.Table, unit: str | None) -> NDArray[np.int64] | None:
    """Return the number of the person of each row, shape (n_rows,); rows of nobody are apart. None without a unit."""
    if unit is None:
        return None
    keys = pc.dictionary_encode(cell_keys(rows.column(unit).combine_chunks()))
    codes = pc.fill_null(keys.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.where(codes < 0, len(keys.dictionary) + np.arange(codes.size), codes)


def has_classes(kind: pa.DataType) -> bool:
    """Return True if a column has classes by its type alone: strings or truth values."""
    return not is_ordered(_plain(kind))


def is_categorical(column: pa.ChunkedArray, most: int) -> bool:
    """Return True if a column has classes: strings or truth values, or at most so many numbers or dates."""
    return has_classes(column.type) or pc.count_distinct(column).as_py() <= most
