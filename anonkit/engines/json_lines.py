# SPDX-License-Identifier: Apache-2.0
"""JSON Lines files: one object a line, in file order; texts stay texts, whatever they look like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.json as pajson

from anonkit.engines.canonical import canonical_array, canonical_type
from anonkit.engines.failures import shielded, shielded_iterator
from anonkit.engines.text_files import TextFile
from anonkit.engines.untyped import Untyped
from anonkit.errors import SourceError

_BLOCK = 8 << 20  # bytes parsed at a time
_LONGEST = 64 << 20  # bytes of the longest line
_ROW = re.compile(r" in row (\d+)$")
_CHANGE = re.compile(r"Column\(/([^/]*)\) changed from (\w+) to (\w+) in row \d+$")
_HINT = "one object a line, each key once, no lists or objects inside"


def open_json_lines(file: TextFile) -> Untyped:
    """Open a JSON Lines file: the columns are the keys of all its objects, in order of first sight.

    Raises
    ------
    SourceError
        The file is empty, not UTF-8, or damaged at its start.
    """
    head, whole = file.head(_BLOCK)
    if whole and not head.strip():
        raise SourceError(f"{file} is empty", "a table needs at least one line")
    return Untyped(names=(), open=lambda: _read(file), cells_of=_JsonCells)


@dataclass(frozen=True)
class _JsonCells:
    """Cells that brought their types: whole numbers widen to numbers, nothing else mixes."""

    name: str

    def fit(self, array: pa.Array, kind: pa.DataType | None) -> tuple[pa.DataType | None, pa.Array]:
        """Type some cells. See `anonkit.engines.untyped.Cells.fit`."""
        given = canonical_type(self.name, array.type)
        if kind is None or (pa.types.is_integer(kind) and pa.types.is_floating(given)):
            kind = given
        if kind != given and not (pa.types.is_floating(kind) and pa.types.is_integer(given)):
            raise SourceError(f"column {self.name!r} mixes types: {_type_name(kind)} and {_type_name(given)}", _HINT)
        return kind, canonical_array(self.name, array, kind)


def _type_name(kind: pa.DataType) -> str:
    return "string" if pa.types.is_string(kind) else "boolean" if pa.types.is_boolean(kind) else "number"


@dataclass(kw_only=True)
class _Reader:
    """What one pass over a file knows so far."""

    file: TextFile
    row: int = 0
    """Rows read before the block at hand."""
    texts: set[str] = field(default_factory=set)
    """Columns whose texts look like dates: the parser would turn them into timestamps."""

    def table(self, block: bytes) -> pa.Table:
        """Parse some lines."""
        table = shielded(lambda: self._parse(block), self._explain)
        dates = {column.name for column in table.schema if pa.types.is_timestamp(column.type)}
        if dates:
            self.texts |= dates
            table = shielded(lambda: self._parse(block), self._explain).select(table.column_names)
        self.row += table.num_rows
        return table

    def _parse(self, block: bytes) -> pa.Table:
        return pajson.read_json(
            pa.BufferReader(block),
            read_options=pajson.ReadOptions(block_size=len(block) + 1),
            parse_options=pajson.ParseOptions(explicit_schema=pa.schema([(name, pa.string()) for name in self.texts])),
        )

    def _explain(self, error: Exception) -> SourceError:
        message = str(error)
        row = _ROW.search(message)
        where = f"row {self.row + int(row[1]) + 1} of {self.file}" if row else str(self.file)
        change = _CHANGE.search(message)
        if change and change[1]:
            return SourceError(f"{where}: column {change[1]!r} changes from {change[2]} to {change[3]}", _HINT)
        return SourceError(f"{where} is not an object of plain values", _HINT)


def _read(file: TextFile) -> Iterator[pa.RecordBatch]:
    reader = _Reader(file=file)
    for block in shielded_iterator(_blocks(file), lambda _: file.unreadable()):
        yield from reader.table(block).to_batches()


def _blocks(file: TextFile) -> Iterator[bytes]:
    """Yield the bytes of the file in parts that end where a line ends."""
    rest = b""
    with file.open() as stream:
        while part := stream.read(_BLOCK):
            cut = part.rfind(b"\n") + 1
            block, rest = (rest + part[:cut], part[cut:]) if cut else (b"", rest + part)
            if len(rest) > _LONGEST:
                raise SourceError(f"{file} has a line longer than {_LONGEST >> 20} MiB", _HINT)
            if block.strip():
                yield block
    if rest.strip():
        yield rest
