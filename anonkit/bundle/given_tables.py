# SPDX-License-Identifier: Apache-2.0
"""Tables that a caller hands over, as Arrow tables; what cannot be one is refused without a word of its cells.

What Arrow, other libraries and the objects in a column raise may quote cells, so that no error of theirs is passed on,
and none stays in `__context__`: ours is raised after the `except` block.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from anonkit.errors import ParameterError, SourceError

_PLAIN = "give every column one plain type"


def arrow_table(data: Any) -> pa.Table:
    """Return a table of pandas, Polars, Arrow, or another library that hands out streams of Arrow.

    Raises
    ------
    SourceError
        A column mixes types, or holds what is no cell; the stream breaks off.
    ParameterError
        It is no table.
    """
    if isinstance(data, pa.Table):
        table = data
    elif isinstance(data, pa.RecordBatch):
        table = pa.table(data)
    elif hasattr(data, "__arrow_c_stream__"):
        table = _streamed(data)
    else:
        raise ParameterError(f"a {type(data).__name__} is not a table")
    fault = _fault(table)
    if fault is not None:
        raise SourceError(fault, _PLAIN)
    return table


def _streamed(data: Any) -> pa.Table:
    try:
        return pa.table(pa.RecordBatchReader.from_stream(data))
    except Exception:  # objects and libraries raise whatever they like
        mixed = _mixed_column(data) if hasattr(data, "iloc") else None
    if mixed is None:
        raise SourceError("the table cannot be read", _PLAIN)
    raise SourceError(f"column {mixed!r} mixes types, or is of one Arrow does not know", _PLAIN)


def _mixed_column(frame: Any) -> str | None:
    """Return the name of the first column of pandas that makes no array."""
    for at, name in enumerate(frame.columns):
        try:
            pa.array(frame.iloc[:, at], from_pandas=True)
        except Exception:
            return name if isinstance(name, str) else None
    return None


def _fault(table: pa.Table) -> str | None:
    """Return what keeps an Arrow table from being counted: strings that are no UTF-8."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowException:
            return f"column {name!r} holds cells that are not of its type"
    return None
