# SPDX-License-Identifier: Apache-2.0
"""Files of a private copy: made for their owner alone, and written in batches of typed rows or of strings.

Rows of a database or a lake as a private copy: with the types that they bring, and no type that a cell has not.

Standard input: the bytes that come through a pipe, copied as they are and read as a file of their format.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from anonkit.engines.reading.column_encoding import canonical_schema
from anonkit.engines.reading.failures import shielded
from anonkit.engines.reading.parquet_tables import TEXTS, FileTable, check_names
from anonkit.engines.snapshots.addresses import LAKES, SourceAddress
from anonkit.engines.snapshots.dispatch import of_fetched
from anonkit.errors import EngineError, ParameterError, SourceError, option
from anonkit.policy.declaration import Policy

_GROUP_ROWS = 1 << 18  # rows of a row group, which is in memory while it is written


def new_file(folder: Path, name: str) -> Path:
    """Make an empty file in a private folder that nobody else may read.

    Raises
    ------
    EngineError
        It cannot be made.
    """
    path = folder / name
    shielded(lambda: path.touch(mode=0o600), _not_written)
    return path


def typed_copy(
    folder: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], named: str, texts: Collection[str] = ()
) -> FileTable:
    """Write rows with the types that their source gave them.

    Parameters
    ----------
    folder : Path
        Of the snapshot.
    schema : pyarrow.Schema
        Names and types of every batch.
    batches : iterable of pyarrow.RecordBatch
        Errors of the source must be `AnonkitError` already: any other is taken for one of the disk.
    named : str
        What the owner called the source.
    texts : collection of str
        Columns of strings without a type of their own: they are typed as the cells of a CSV file are.

    Raises
    ------
    EngineError
        They cannot be written.
    """
    copy = _copy(folder, schema, batches, named, TEXTS if texts else "parquet")
    return replace(copy, texts=frozenset(texts)) if texts else copy


def text_copy(folder: Path, names: list[str], batches: Iterable[pa.RecordBatch], named: str) -> FileTable:
    """Write cells as strings, to be typed as those of a CSV file are; parameters and errors as of `typed_copy`."""
    return _copy(folder, pa.schema([(name, pa.string()) for name in names]), batches, named, TEXTS)


def _copy(folder: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], named: str, kind: str) -> FileTable:
    path = new_file(folder, "rows.parquet")
    shielded(lambda: _write(path, schema, batches), _not_written)
    return FileTable(paths=[path], format=kind, named=named)


def _write(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as writer:
        for table in _gathered(iter(batches), schema):
            writer.write_table(table, row_group_size=_GROUP_ROWS)


def _gathered(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the same rows in tables of about so many as a row group has."""
    pending: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        pending.append(batch)
        rows += batch.num_rows
        if rows >= _GROUP_ROWS:
            yield pa.Table.from_batches(pending, schema)
            pending, rows = [], 0
    if pending:
        yield pa.Table.from_batches(pending, schema)


def _not_written(_: Exception) -> EngineError:
    return EngineError("a private copy of the source cannot be written", "TMPDIR names the folder of temporary files")


def written_copy(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, folder: Path, named: str, texts: Collection[str] = ()
) -> FileTable:
    """Write the rows of a source; return the table that readers open.

    Cells are as the source gave them: what is canonical the readers decide by the policy.

    Parameters
    ----------
    batches : iterator of pyarrow.RecordBatch
        Errors of the source are `AnonkitError` already.
    schema : pyarrow.Schema
        Their names and types, in table order.
    folder : Path
        A private folder.
    named : str
        What the owner called the source.
    texts : collection of str
        Columns of strings without a type of their own: they are typed as the cells of a text file are.

    Raises
    ------
    SourceError
        The columns cannot be distinguished by name, or one is of a type that is none of a cell.
    EngineError
        The copy cannot be written.
    """
    check_names(schema.names)
    canonical_schema(schema)
    stored = pa.schema([(field.name, _stored_type(field.type)) for field in schema])
    return typed_copy(folder, stored, (batch.cast(stored) for batch in batches), named, texts)


def _stored_type(given: pa.DataType) -> pa.DataType:
    """Return the type in the copy: one type of strings, and categories as strings."""
    if pa.types.is_dictionary(given):
        return _stored_type(given.value_type)
    return pa.string() if pa.types.is_large_string(given) or pa.types.is_string_view(given) else given


_PART = 1 << 20  # bytes copied at a time


def live_table(address: SourceAddress, policy: Policy) -> StandardInput:
    """Return the table that comes through the pipe.

    Raises
    ------
    ParameterError
        No format was named, or one that is no stream of bytes.
    SourceError
        There is no pipe.
    """
    if address.format is None:
        raise ParameterError("standard input has no name that says its format", option("format", "csv"))
    if address.format in LAKES:
        raise ParameterError(f"a table of format {address.format} is a folder", "give its path")
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise SourceError("nothing comes through standard input", "pipe a table into it, or name a file")
    return StandardInput(address, policy)


@dataclass(frozen=True)
class StandardInput:
    """A pipe, which can be read once."""

    address: SourceAddress
    policy: Policy

    def copy(self, folder: Path) -> FileTable:
        """Copy all bytes. See `anonkit.engines.snapshots.dispatch.LiveTable`."""
        path = shielded(lambda: self._fetch(folder), lambda _: SourceError("standard input cannot be read to its end"))
        return of_fetched(self.address, path, self.policy)

    def _fetch(self, folder: Path) -> Path:
        path = new_file(folder, "input")
        stream = sys.stdin.buffer
        with path.open("wb") as file:
            while part := stream.read(_PART):
                file.write(part)
        return path
