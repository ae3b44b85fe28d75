# SPDX-License-Identifier: Apache-2.0
"""A table with its cells as the policy declares them: categories by their declared names, numbers within their bounds.

A function of each cell and the declaration, whatever file or engine the table comes from. k-anonymous methods read
tables so. Methods of differential privacy code cells by the same rule themselves (`anonkit.domains.domain_codes`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.cell_keys import NO_CATEGORY, category_codes, cell_keys, cell_numbers, cell_texts
from anonkit.domains.domain_codes import refuse_kinds
from anonkit.errors import PolicyError
from anonkit.policy.declaration import Column, Missing, Outside, Policy, Role


def settling(schema: pa.Schema, policy: Policy) -> SettleCells | None:
    """Return what settles the cells of batches with these columns; None where nothing is to be settled.

    Raises
    ------
    PolicyError
        A column with bounds holds truth values, dates or times, by its own type.
    """
    columns = tuple(policy.column(field.name) for field in schema if _is_settled(field, policy))
    if not columns:
        return None
    refuse_kinds(schema, [column.name for column in columns if column.bounds is not None])
    kinds = {column.name: _settled_kind(column, schema.field(column.name).type) for column in columns}
    return SettleCells(
        columns=tuple(_with_missing(column, policy) for column in columns),
        schema=pa.schema([field.with_type(kinds.get(field.name, field.type)) for field in schema]),
    )


def _is_settled(field: pa.Field, policy: Policy) -> bool:
    """Tell whether cells may change; numbers and dates that are released as they are have one spelling each."""
    column = policy.column(field.name)
    if policy.cell_by_cell:
        return column.bounds is not None and column.outside is Outside.MISSING
    if column.domain_values is not None and column.role not in (Role.QUASI_IDENTIFIER, Role.UNIT):
        return bool(pa.types.is_string(field.type) or pa.types.is_dictionary(field.type))
    return column.is_read_by_cell


def _with_missing(column: Column, policy: Policy) -> Column:
    """Return a column with the policy's own `missing = "first"`, where it has a domain."""
    first = policy.missing_of(column.name) is Missing.FIRST and column.role is not Role.UNIT
    return Column(
        name=column.name,
        role=column.role,
        type=column.type,
        categories=column.domain_values,
        bounds=column.bounds,
        missing=Missing.FIRST if first else None,
        outside=column.outside,
    )


def _settled_kind(column: Column, kind: pa.DataType) -> pa.DataType:
    if column.role is Role.UNIT:
        return pa.string()
    if column.bounds is None:
        return kind if pa.types.is_dictionary(kind) else pa.string()
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if column.outside is Outside.REFUSE or (plain and _fits(kind, column.bounds)):
        return kind
    return pa.float64()


def _fits(kind: pa.DataType, bounds: tuple[float, float]) -> bool:
    """Tell whether bounds hold a value of an integer type."""
    return pa.types.is_floating(kind) or _whole_bounds(kind, bounds)[0] <= _whole_bounds(kind, bounds)[1]


def _whole_bounds(kind: pa.DataType, bounds: tuple[float, float]) -> tuple[int, int]:
    signed = pa.types.is_signed_integer(kind)
    least = -(1 << (kind.bit_width - 1)) if signed else 0
    most = (1 << (kind.bit_width - signed)) - 1
    low = least if bounds[0] == -math.inf else max(math.ceil(bounds[0]), least)
    high = most if bounds[1] == math.inf else min(math.floor(bounds[1]), most)
    return low, high


@dataclass(frozen=True, kw_only=True, eq=False)
class SettleCells:
    """Settles the cells of a batch: a function of the batch alone, cell by cell."""

    columns: tuple[Column, ...]
    """Columns that are settled; those with categories or a tree list the values as categories."""
    schema: pa.Schema

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows with settled cells."""
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
        for column in self.columns:
            arrays[column.name] = _settled(column, arrays[column.name], self.schema.field(column.name).type)
        return pa.RecordBatch.from_arrays([arrays[name] for name in self.schema.names], schema=self.schema)


def _settled(column: Column, array: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.role is Role.UNIT:
        return cell_keys(array)
    if column.bounds is not None:
        return _number(column, column.bounds, array, kind)
    if pa.types.is_dictionary(kind):
        return _dictionary(column, array, kind)
    return _category(column, array)


def _number(column: Column, bounds: tuple[float, float], array: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.outside is not Outside.REFUSE:
        if pa.types.is_integer(kind):
            low, high = (pa.scalar(bound, kind) for bound in _whole_bounds(kind, bounds))
        else:
            low, high = (pa.scalar(bound, kind) for bound in bounds)
            array = array if array.type == kind else pc.if_else(pc.is_nan(floats := _floats(array)), None, floats)
        if column.outside is Outside.MISSING:
            inside = pc.and_(pc.greater_equal(array, low), pc.less_equal(array, high))
            array = pc.if_else(inside, array, None)
        else:
            array = pc.min_element_wise(pc.max_element_wise(array, low, skip_nulls=False), high, skip_nulls=False)
    return pc.fill_null(array, pa.scalar(bounds[0], kind)) if column.missing is Missing.FIRST else array


def _floats(array: pa.Array) -> pa.Array:
    return pa.array(cell_numbers(array))


def _category(column: Column, array: pa.Array) -> pa.StringArray:
    values = column.categories or ()
    codes = category_codes(array, values, texts_alone=column.compares_texts)
    texts = pa.array(values, pa.string()).take(pa.array(codes, mask=codes == NO_CATEGORY))
    if texts.null_count and column.outside is not Outside.MISSING:
        texts = pc.coalesce(texts, cell_texts(array))  # what is outside stays to be refused
    return pc.fill_null(texts, values[0]) if column.missing is Missing.FIRST else texts


def _dictionary(column: Column, array: pa.DictionaryArray, kind: pa.DataType) -> pa.DictionaryArray:
    """Return a dictionary in its own order under the declared names."""
    texts = _category(column, array.dictionary)
    first = column.missing is Missing.FIRST
    if texts.equals(array.dictionary) and not (first and array.null_count):
        return array
    names = texts.unique().drop_null()
    if first and array.null_count:
        names = pa.concat_arrays([names, pa.array([(column.categories or ("",))[0]])]).unique()
    places = pc.index_in(texts.take(array.indices), value_set=names)
    if first:
        places = pc.fill_null(places, pc.index_in(pa.scalar((column.categories or ("",))[0]), value_set=names))
    return pa.DictionaryArray.from_arrays(places.cast(kind.index_type), names, ordered=kind.ordered)


@dataclass(frozen=True, kw_only=True)
class CountCells:
    """Counts the missing cells and those outside the declared domain: a function of the batch alone."""

    columns: tuple[Column, ...]

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        """Return both counts of each column, shape (2 * n_columns,)."""
        return np.array([n for column in self.columns for n in _counts(column, batch.column(column.name))], np.int64)


def _counts(column: Column, array: pa.Array) -> tuple[int, int]:
    missing = int(array.null_count)
    if pa.types.is_floating(array.type):
        missing = int(pc.sum(array.is_null(nan_is_null=True)).as_py() or 0)
    if column.role is Role.UNIT:
        return int(cell_keys(array).null_count), 0
    if column.bounds is not None:
        low, high = column.bounds
        numbers = cell_numbers(array)
        return missing, len(array) - missing - int(((numbers >= low) & (numbers <= high)).sum())
    codes = category_codes(array, column.domain_values or (), texts_alone=column.compares_texts)
    return missing, int((codes == NO_CATEGORY).sum()) - missing


def refuse_outside(column: Column, count: int) -> None:
    """Refuse cells outside a declared domain, where that is what is declared.

    Raises
    ------
    PolicyError
        There are some.
    """
    if count and not (column.bounds is not None and column.outside is not Outside.REFUSE):
        rule = "bounds" if column.bounds is not None else "tree" if column.categories is None else "categories"
        raise PolicyError(
            f"column {column.name!r} has {count} cells outside its declared {rule}",
            'correct the policy or the table, or say outside = "missing"',
        )
