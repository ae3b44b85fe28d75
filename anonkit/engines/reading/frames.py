# SPDX-License-Identifier: Apache-2.0
"""Tables in memory: pandas, Polars, Arrow, and anything else with the Arrow PyCapsule interface."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from anonkit.domains.cell_keys import cell_texts
from anonkit.domains.exact_decimals import exact_decimal
from anonkit.engines.reading.batches import sliced
from anonkit.engines.reading.canonical import canonical_batches, canonical_schema
from anonkit.engines.reading.failures import shielded, shielded_iterator
from anonkit.engines.reading.names import check_names
from anonkit.errors import SourceError
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy

_NOT_OF_ARROW = ("period", "interval", "complex")
"""Types that pandas finds where all cells are of one; with any other cell they are objects, which can be read."""
_ANY = (Exception,)
"""Errors of objects in a column, and of streams of other libraries."""
_BEYOND_ALL = "1e999"
"""An infinite number as a string that is read as one."""


@dataclass(frozen=True, kw_only=True)
class CanonicalStream:
    """Canonical batches that can be read once."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


def open_frame(data: Any, policy: Policy) -> CanonicalStream:
    """Open a table in memory.

    A column of Python objects in pandas has no type. Where its cells mean what they say by themselves, they come as
    strings; otherwise they must all be of one type.

    Raises
    ------
    SourceError
        It is no table, its columns have no names, or a column is of no one type.
    """
    reader = _pandas_table(data, policy).to_reader() if _is_pandas(data) else _arrow_reader(data)
    check_names(reader.schema.names)
    schema = canonical_schema(reader.schema)
    batches = sliced(shielded_iterator(reader, _broken))
    return CanonicalStream(schema=schema, batches=canonical_batches(batches, schema, safe=not policy.cell_by_cell))


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns")


def _pandas_table(data: Any, policy: Policy) -> pa.Table:
    """Convert column by column, to know which one fails; the index is not a column."""
    names = list(data.columns)
    check_names(names)
    return pa.table(
        [_pandas_column(policy.column(name), data.iloc[:, at], policy) for at, name in enumerate(names)], names=names
    )


def _pandas_column(declared: Column, column: Any, policy: Policy) -> pa.Array | pa.ChunkedArray:
    def explain(error: Exception) -> SourceError:
        return SourceError(
            f"column {declared.name!r} mixes types, or is of one Arrow does not know", "give it one plain type"
        )

    dtype = column.dtype.name
    if policy.cell_by_cell:
        guessed = dtype == "bool" or dtype.startswith(("datetime64", "timedelta64"))
        if dtype == "object" or (guessed and declared.bounds is not None) or dtype.startswith(_NOT_OF_ARROW):
            return shielded(lambda: _texts_of(column, declared), explain, _ANY)
        if dtype == "category":
            return shielded(lambda: _folded_texts_of(column, declared), explain, _ANY)
    elif dtype == "object" and declared.is_read_by_cell and declared.bounds is None:
        return shielded(lambda: _texts_of(column, declared), explain, _ANY)
    try:
        return shielded(lambda: pa.array(column, from_pandas=True), explain, _ANY)
    except SourceError:
        if not (policy.cell_by_cell or declared.is_read_by_cell) or dtype not in ("object", "category"):
            raise
    return shielded(lambda: _texts_of(column, declared), explain, _ANY)


def _texts_of(cells: Iterable[Any], declared: Column) -> pa.StringArray:
    """Return the strings of Python objects, each by itself: as if it were in a column of its own type."""
    return pa.array([_object_text(cell, declared.bounds is not None) for cell in cells], pa.string())


def _folded_texts_of(column: Any, declared: Column) -> pa.DictionaryArray:
    """Return a column of categories with their strings: one more category may have changed the type of all."""
    codes = column.cat.codes.to_numpy()
    places = pa.array(codes.astype("int32"), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(places, _texts_of(column.cat.categories, declared))


def _object_text(cell: Any, is_number: bool) -> str | None:
    """Return the text of a Python object; what pandas takes for missing is missing."""
    kind = type(cell).__name__
    if kind.startswith("complex") and cell.imag == 0:  # a number of a column in which another cell is complex
        return _object_text(float(cell.real), is_number)
    if cell is None or kind in ("NAType", "NaTType") or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, str):
        text = cell
    elif kind in ("bool", "bool_"):
        text = str(cell).lower()
    elif kind == "Interval":  # its ends are floats where another cell is missing
        ends = f"{_object_text(cell.left, is_number)}, {_object_text(cell.right, is_number)}"
        text = f"{'[' if cell.closed_left else '('}{ends}{']' if cell.closed_right else ')'}"
    elif isinstance(cell, datetime.datetime | datetime.time | datetime.timedelta):
        text = str(cell_texts(pa.array([cell], from_pandas=True))[0])
    elif is_number and isinstance(cell, float) and math.isinf(cell):
        text = _BEYOND_ALL if cell > 0 else f"-{_BEYOND_ALL}"
    else:
        text = exact_decimal(str(cell)) or str(cell)
    return text.encode("utf-8", "replace").decode()  # halves of surrogate pairs are no characters


def _arrow_reader(data: Any) -> pa.RecordBatchReader:
    if isinstance(data, pa.Table):  # one dictionary for all chunks, so that the categories have one order
        return shielded(lambda: data.unify_dictionaries().to_reader(), _broken)
    if hasattr(data, "__arrow_c_stream__"):
        return shielded(lambda: pa.RecordBatchReader.from_stream(data), _broken, _ANY)
    if hasattr(data, "__arrow_c_array__"):
        return shielded(lambda: pa.Table.from_batches([pa.record_batch(data)]).to_reader(), _broken, _ANY)
    raise SourceError(
        f"a {type(data).__name__} is not a table", "give a path, a data frame, or anything with the Arrow interface"
    )


def _broken(error: Exception) -> SourceError:
    return SourceError("the table cannot be read through the Arrow interface", "convert it to a pyarrow.Table first")
