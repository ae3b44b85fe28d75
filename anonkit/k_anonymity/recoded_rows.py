# SPDX-License-Identifier: Apache-2.0
"""Rows of a table on their way through a recoding, batch by batch: what is left out of them, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.cell_keys import cell_keys
from anonkit.domains.coded_columns import combine
from anonkit.errors import PolicyError
from anonkit.k_anonymity.recoded_draft import released_cells
from anonkit.k_anonymity.unit_keys import refuse_nobody
from anonkit.policy.declaration import Column, Missing, Policy
from anonkit.policy.declared_cells import refuse_outside
from anonkit.protocols import Engine, Source
from anonkit.published.recoding import Recoding

BoolArray = NDArray[np.bool_]

DROPPED, UNKNOWN, NOBODY = "dropped", "unknown", "nobody"
"""Rows left out for a missing value, rows with a value the recoding says nothing about, and rows without a unit."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RecodeRows:
    """Recodes a batch, and leaves out rows that cannot be released: a function of the batch alone."""

    recoding: Recoding
    schema: pa.Schema
    needed: Sequence[str]
    """Columns whose missing cells drop their row."""
    unit: str | None
    """Column that says whose a row is; the schema may have it, as keys."""
    gone: pa.Table | None = None
    """Classes to leave out: the released quasi-identifiers of each."""

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows that are released, in the columns of the schema."""
        batch = batch.filter(pa.array(~(any_missing(batch, self.needed) | are_nobodys(batch, self.unit))))
        recoded, left_out = self.recoding.apply(batch)
        arrays = [released_cells(batch, recoded, name, self.unit) for name in self.schema.names]
        if self.gone is not None:
            left_out = left_out | is_among(recoded, self.gone, batch.num_rows)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema).filter(pa.array(~left_out))


def any_missing(batch: pa.RecordBatch, names: Sequence[str]) -> BoolArray:
    """Tell which rows have no value in one of some columns, shape (n_rows,)."""
    missing = np.zeros(batch.num_rows, dtype=bool)
    for name in names:
        missing |= batch.column(name).is_null().to_numpy(zero_copy_only=False)
    return missing


def are_nobodys(batch: pa.RecordBatch, unit: str | None) -> BoolArray:
    """Tell which rows belong to nobody who could be counted, shape (n_rows,); none do where rows are counted."""
    if unit is None:
        return np.zeros(batch.num_rows, dtype=bool)
    nobody: BoolArray = cell_keys(batch.column(unit)).is_null().to_numpy(zero_copy_only=False)
    return nobody


def is_among(columns: Mapping[str, pa.Array], classes: pa.Table, n_rows: int) -> BoolArray:
    """Tell which rows are in one of the classes, missing being a value."""
    names = [name for name in classes.column_names if name != "count"]
    mine: list[NDArray[np.int64]] = []
    theirs: list[NDArray[np.int64]] = []
    for name in names:
        values = classes.column(name).unique()
        for array, codes in ((columns[name], mine), (classes.column(name).combine_chunks(), theirs)):
            plain = array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array
            places = pc.fill_null(pc.index_in(plain, value_set=values), len(values))
            codes.append(places.to_numpy(zero_copy_only=False).astype(np.int64))
    both, _ = combine([np.concatenate(pair) for pair in zip(mine, theirs, strict=True)], n_rows + classes.num_rows)
    return np.isin(both[:n_rows], both[n_rows:])


@dataclass(frozen=True, kw_only=True, eq=False)
class FlagRows:
    """Tells for each row what is wrong with it."""

    schema: pa.Schema
    recoding: Recoding
    needed: Sequence[str]
    unit: str | None
    checked: Sequence[Column]
    forbidden: Sequence[str]
    """Columns in which nothing may be missing."""

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return one truth value a row and rule."""
        dropped = any_missing(batch, self.needed)
        nobody = are_nobodys(batch, self.unit) & ~dropped
        flags: dict[str, BoolArray] = {
            DROPPED: dropped,
            UNKNOWN: self.recoding.apply(batch)[1] & ~dropped & ~nobody,
            NOBODY: nobody,
        }
        for at, column in enumerate(self.checked):
            flags[f"outside {at}"] = _is_outside(batch.column(column.name), column)
        for at, name in enumerate(self.forbidden):
            flags[f"missing {at}"] = any_missing(batch, [name])
        return pa.RecordBatch.from_arrays([pa.array(flags[name]) for name in self.schema.names], schema=self.schema)


def _is_outside(array: pa.Array, column: Column) -> BoolArray:
    plain = array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array
    if column.bounds is not None:
        numbers = plain.cast(pa.float64(), safe=False)
        inside = pc.and_(pc.greater_equal(numbers, column.bounds[0]), pc.less_equal(numbers, column.bounds[1]))
    else:
        domain = column.domain_values or ()
        inside = pc.is_in(plain.cast(pa.string()), value_set=pa.array(domain, pa.string()))
    within: BoolArray = pc.fill_null(pc.or_(inside, plain.is_null()), True).to_numpy(zero_copy_only=False)
    return ~within


def needed_columns(policy: Policy) -> list[str]:
    """Return the quasi-identifiers whose missing cells drop their row."""
    return [name for name in policy.quasi_identifiers if policy.missing_of(name) is Missing.DROP]


def count_flags(source: Source, policy: Policy, engine: Engine, recoding: Recoding) -> dict[str, int]:
    """Count on all rows what the search has checked on its own; refuse what the policy refuses."""
    columns = [policy.column(name) for name in policy.quasi_identifiers]
    checked = [c for c in columns if c.categories is not None or c.tree is not None or c.bounds is not None]
    forbidden = [c.name for c in columns if policy.missing_of(c.name) is Missing.ERROR]
    names = [DROPPED, UNKNOWN, *([NOBODY] if policy.unit else [])]
    names += [f"outside {at}" for at in range(len(checked))] + [f"missing {at}" for at in range(len(forbidden))]
    schema = pa.schema([(name, pa.bool_()) for name in names])
    function = FlagRows(
        schema=schema,
        recoding=recoding,
        needed=needed_columns(policy),
        unit=policy.unit,
        checked=checked,
        forbidden=forbidden,
    )
    counted = engine.count_sets(engine.map_batches(source, function, schema), [(name,) for name in names])
    flags = {
        name: sum(row["count"] for row in table.to_pylist() if row[name])
        for name, table in zip(names, counted, strict=True)
    }
    _refuse_flagged(flags, policy, checked, forbidden)
    return flags


def _refuse_flagged(
    flags: Mapping[str, int], policy: Policy, checked: Sequence[Column], forbidden: Sequence[str]
) -> None:
    for at, column in enumerate(checked):
        refuse_outside(column, flags[f"outside {at}"])
    for at, name in enumerate(forbidden):
        if flags[f"missing {at}"]:
            raise PolicyError(
                f"column {name!r} has {flags[f'missing {at}']} missing values", 'missing = "category" or "drop"'
            )
    refuse_nobody(policy, flags.get(NOBODY, 0))
