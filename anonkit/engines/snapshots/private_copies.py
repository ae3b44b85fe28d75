# SPDX-License-Identifier: Apache-2.0
"""Files of a private copy: made for their owner alone, and written in batches of typed rows or of strings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from anonkit.engines.reading.failures import shielded
from anonkit.engines.reading.file_tables import TEXTS, FileTable
from anonkit.errors import EngineError

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
    kept: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        kept.append(batch)
        rows += batch.num_rows
        if rows >= _GROUP_ROWS:
            yield pa.Table.from_batches(kept, schema)
            kept, rows = [], 0
    if kept:
        yield pa.Table.from_batches(kept, schema)


def _not_written(_: Exception) -> EngineError:
    return EngineError("a private copy of the source cannot be written", "TMPDIR names the folder of temporary files")
