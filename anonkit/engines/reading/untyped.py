# SPDX-License-Identifier: Apache-2.0
"""Tables whose column types must be inferred from cells: in one pass if they are small or their first rows suffice.

A table that fits in memory is read once and typed at the end. A larger one is typed as its first part suggests;
when a later cell does not fit, the rest is read for the types alone, and the table once more with what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from anonkit.errors import SourceError

Kinds = dict[str, pa.DataType | None]
"""The type of every column so far; None while all its cells were missing."""


class NotOfType(Exception):  # noqa: N818 - it never leaves the engine
    """A cell does not fit the type its column must have; knows the cell's position, not the cell."""

    def __init__(self, position: int, wanted: str) -> None:
        super().__init__(wanted)
        self.position = position
        self.wanted = wanted


class UntypedCells(Protocol):
    """The typing of the cells of one untyped column. The type of a column only ever widens."""

    def fit(self, array: pa.Array, kind: pa.DataType | None) -> tuple[pa.DataType | None, pa.Array]:
        """Return the narrowest type from `kind` on that these cells fit, and the typed cells.

        Cells without a type, because all were missing, come as missing strings.

        Raises
        ------
        NotOfType
            A cell fits no type this column may have.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Untyped:
    """A table in a file, whose columns have no types yet."""

    names: Sequence[str]
    """The columns known beforehand, in order."""
    open: Callable[[], Iterator[pa.RecordBatch]]
    """Reads the file from the start; a batch may lack columns (their cells are missing) or bring new ones."""
    cells_of: Callable[[str], UntypedCells]
    """Typing of the cells of a column."""
    kinds: Mapping[str, pa.DataType] = field(default_factory=dict)
    """Canonical types of the columns that brought one; no cell changes it."""
    knows_missing: bool = False
    """True when what the policy lists as missing comes as missing."""


def schema_of(kinds: Kinds) -> pa.Schema:
    """Return the schema of typed batches; columns without any value are string columns."""
    return pa.schema([(name, kind or pa.string()) for name, kind in kinds.items()])


def type_table(batches: list[pa.RecordBatch], table: Untyped, kinds: Kinds) -> pa.Table:
    """Type batches in memory, widening `kinds` as needed; the list is emptied."""
    _meet(batches, kinds)
    untyped = {name: [_column(batch, name) for batch in batches] for name in kinds}
    batches.clear()
    columns = []
    for name in kinds:
        kinds[name], chunks = _type_column(name, untyped.pop(name), table.cells_of(name), kinds[name])
        columns.append(pa.chunked_array(chunks, kinds[name] or pa.string()))
    return pa.Table.from_arrays(columns, schema=schema_of(kinds))


def _type_column(
    name: str, chunks: Sequence[pa.Array], cells: UntypedCells, kind: pa.DataType | None
) -> tuple[pa.DataType | None, list[pa.Array]]:
    while True:
        typed = []
        row = 0
        for chunk in chunks:
            kind, array = fit_column(name, cells, chunk, kind, row)
            typed.append(array)
            row += len(chunk)
        if all(array.type == (kind or pa.string()) for array in typed):
            return kind, typed


def typed_batches(
    batches: Iterator[pa.RecordBatch], table: Untyped, kinds: Kinds, first_row: int
) -> Iterator[pa.RecordBatch]:
    """Yield typed batches as long as the cells fit; read on to the end when one does not, widening `kinds`."""
    settled = dict(kinds)
    schema = schema_of(settled)
    row = first_row
    for batch in batches:
        _meet([batch], kinds)
        arrays = []
        for name in kinds:
            kinds[name], array = fit_column(name, table.cells_of(name), _column(batch, name), kinds[name], row)
            arrays.append(array)
        row += batch.num_rows
        if kinds == settled:
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _meet(batches: Sequence[pa.RecordBatch], kinds: Kinds) -> None:
    for batch in batches:
        for name in batch.schema.names:
            kinds.setdefault(name, None)


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    at = batch.schema.get_field_index(name)
    return batch.column(at) if at >= 0 else pa.nulls(batch.num_rows)


def fit_column(
    name: str, cells: UntypedCells, array: pa.Array, kind: pa.DataType | None, row: int
) -> tuple[pa.DataType | None, pa.Array]:
    """Type the cells of a column from row number `row` on; see `Cells.fit`.

    Raises
    ------
    SourceError
        A cell fits no type the column may have.
    """
    if array.null_count == len(array):
        return kind, pa.nulls(len(array), kind or pa.string())
    try:
        return cells.fit(array, kind)
    except NotOfType as misfit:
        position, wider = misfit.position, misfit.wanted
    raise SourceError(
        f"column {name!r}: the cell in row {row + position + 1} is not of type {wider}",
        'correct it, list its text in missing_values, or declare type = "string"',
    )
