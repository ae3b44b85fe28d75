# SPDX-License-Identifier: Apache-2.0
"""A release as a sharded Parquet dataset: written by this machine, or one shard a task by executors."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.bundle.data_files import part_name
from anonkit.engines.reading.batches import grouped
from anonkit.engines.reading.failures import shielded
from anonkit.engines.reading.splits import Numbered, TableSplits
from anonkit.engines.writing.ordered_parts import WRITTEN
from anonkit.engines.writing.parquet_writer import cannot_write, write_parquet
from anonkit.engines.writing.row_maps import MappedRows, in_our_words, split_numbers

_AT_ONCE = 64 << 20  # bytes of a row group


def write_folder(
    pieces: Iterable[pa.Table], schema: pa.Schema, folder: Path, metadata: Mapping[str, str], rows_each: int
) -> int:
    """Write the pieces of a table, at least one, into files of `rows_each` rows; return the number of rows.

    Raises
    ------
    EngineError
        A file cannot be written; the folder is deleted then.
    """
    n_rows = 0
    shielded(folder.mkdir, cannot_write(folder))  # before the clean-up below: a file that is there already is not ours
    try:
        for number, part in enumerate(_parted(pieces, rows_each)):
            n_rows += write_parquet(part, schema, folder / part_name(number), metadata)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return n_rows


def _parted(pieces: Iterable[pa.Table], rows_each: int) -> Iterator[Iterator[pa.Table]]:
    """Yield the pieces of each part; a part must be read to its end before the next."""
    rest = (piece for at, piece in enumerate(pieces) if piece.num_rows or not at)
    left: pa.Table | None = next(rest)

    def part() -> Iterator[pa.Table]:
        nonlocal left
        room = rows_each
        while left is not None and room > 0:
            now = left.slice(0, room)
            room -= now.num_rows
            left = left.slice(now.num_rows) if now.num_rows < left.num_rows else next(rest, None)
            yield now

    while left is not None:
        yield part()


@dataclass(frozen=True, kw_only=True, eq=False)
class JoinedSplits:
    """Pieces that follow each other, some of them taken as one."""

    splits: TableSplits
    each: int

    @property
    def n_splits(self) -> int:
        """Number of joined pieces."""
        return -(-self.splits.n_splits // self.each)

    def read(self, split: int, columns: Sequence[str] | None = None) -> Iterator[Numbered]:
        """Yield the rows of a joined piece."""
        for inner in range(split * self.each, min((split + 1) * self.each, self.splits.n_splits)):
            yield from self.splits.read(inner, columns)


@dataclass(frozen=True, kw_only=True)
class CountCategories:
    """Counts the rows of each category of some columns, one after the other: a function of a batch alone."""

    sizes: Mapping[str, int]
    """Categories of each column."""

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        """Return the counts of all columns, shape (sum of sizes,)."""
        counts = [
            np.bincount(batch.column(name).indices.drop_null().to_numpy(), minlength=size)
            for name, size in self.sizes.items()
        ]
        return np.concatenate(counts).astype(np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class WriteFiles:
    """Writes the rows of each piece as a Parquet file, under another name first; categories are those that occur."""

    rows: MappedRows
    schema: pa.Schema
    used: Mapping[str, NDArray[np.bool_]]
    """True for each category of a dictionary column that occurs anywhere in the table."""
    metadata: Mapping[str, str]
    folder: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the pieces; see `in_our_words`."""
        return in_our_words(self._written(batches))

    def _written(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for split in split_numbers(batches):
            target, aside = Path(self.folder) / part_name(split), Path(self.folder) / f".{uuid.uuid4().hex}"
            rows = (self._narrowed(batch) for batch, _ in self.rows.read(split))
            pieces = grouped(rows, self._stored, _AT_ONCE)
            try:
                n_rows = write_parquet(pieces, self.schema, aside, self.metadata)
                shielded(partial(os.replace, aside, target), cannot_write(target))
            finally:
                aside.unlink(missing_ok=True)
            numbers = [pa.array([split], pa.int32()), pa.array([n_rows], pa.int64())]
            yield pa.RecordBatch.from_arrays(numbers, schema=WRITTEN)

    @property
    def _stored(self) -> pa.Schema:
        kinds = {
            name: pa.dictionary(pa.int32(), pa.string(), ordered=self.schema.field(name).type.ordered)
            for name in self.used
        }
        return pa.schema([field.with_type(kinds.get(field.name, field.type)) for field in self.schema])

    def _narrowed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows without the categories that occur nowhere."""
        arrays = batch.columns
        for at, field in enumerate(self.schema):
            if field.name in self.used:
                used, column = self.used[field.name], arrays[at]
                places = pa.array(np.cumsum(used) - 1, pa.int32()).take(column.indices)
                categories = column.dictionary.filter(pa.array(used)).cast(pa.string())
                arrays[at] = pa.DictionaryArray.from_arrays(places, categories, ordered=field.type.ordered)
        return pa.RecordBatch.from_arrays(arrays, schema=self._stored)
