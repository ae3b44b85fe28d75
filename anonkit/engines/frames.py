# SPDX-License-Identifier: Apache-2.0
"""Tables in memory: pandas, Polars, Arrow, and anything else with the Arrow PyCapsule interface."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from anonkit.engines.batches import sliced
from anonkit.engines.canonical import canonical_batches, canonical_schema
from anonkit.engines.failures import shielded, shielded_iterator
from anonkit.engines.names import check_names
from anonkit.errors import SourceError


@dataclass(frozen=True, kw_only=True)
class CanonicalStream:
    """Canonical batches that can be read once."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


def open_frame(data: Any) -> CanonicalStream:
    """Open a table in memory.

    Raises
    ------
    SourceError
        It is no table, its columns have no names, or a column is of no one type.
    """
    reader = _pandas_table(data).to_reader() if _is_pandas(data) else _arrow_reader(data)
    check_names(reader.schema.names)
    schema = canonical_schema(reader.schema)
    batches = sliced(shielded_iterator(reader, _broken))
    return CanonicalStream(schema=schema, batches=canonical_batches(batches, schema))


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns")


def _pandas_table(data: Any) -> pa.Table:
    """Convert column by column, to know which one fails; the index is not a column."""
    names = list(data.columns)
    check_names(names)
    return pa.table([_pandas_column(name, data.iloc[:, at]) for at, name in enumerate(names)], names=names)


def _pandas_column(name: str, column: Any) -> pa.Array | pa.ChunkedArray:
    def explain(error: Exception) -> SourceError:
        return SourceError(f"column {name!r} mixes types, or is of one Arrow does not know", "give it one plain type")

    return shielded(lambda: pa.array(column, from_pandas=True), explain)


def _arrow_reader(data: Any) -> pa.RecordBatchReader:
    if isinstance(data, pa.Table):  # one dictionary for all chunks, so that the categories have one order
        return shielded(lambda: data.unify_dictionaries().to_reader(), _broken)
    if hasattr(data, "__arrow_c_stream__"):
        return shielded(lambda: pa.RecordBatchReader.from_stream(data), _broken)
    if hasattr(data, "__arrow_c_array__"):
        return shielded(lambda: pa.Table.from_batches([pa.record_batch(data)]).to_reader(), _broken)
    raise SourceError(
        f"a {type(data).__name__} is not a table", "give a path, a data frame, or anything with the Arrow interface"
    )


def _broken(error: Exception) -> SourceError:
    return SourceError("the table cannot be read through the Arrow interface", "convert it to a pyarrow.Table first")
