# SPDX-License-Identifier: Apache-2.0
"""The shuffle of rows by tasks: dealt into partitions by the first bits of their random words, then sorted.

Rows travel as Arrow messages, many rows in one: the layer between the tasks moves and sorts a few thousand messages,
not every row. A part is written under another name and then renamed, so that a task that runs twice leaves one file.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.engines.reading.batches import BATCH_ROWS, gather
from anonkit.engines.reading.failures import shielded
from anonkit.engines.reading.sources import spill_is_gone
from anonkit.engines.writing.row_maps import MappedRows, in_our_words, split_numbers, words_of
from anonkit.engines.writing.shuffling import marked_first, sorted_by, spill_failed

DEALT = pa.schema([("part", pa.int32()), ("rows", pa.binary())])
"""Schema of the deals of a task: the number of a part, and an Arrow message with rows of it."""
WRITTEN = pa.schema([("part", pa.int32()), ("n", pa.int64())])
"""Schema of the result of a task that writes: the number of a file, and its rows."""

_WORD = ""  # no column of a table has an empty name
_AT_ONCE = 64 << 20  # bytes that are dealt together
_IN_A_MESSAGE = 1 << 16  # rows


@dataclass(frozen=True)
class StoredRows:
    """The form of canonical rows in messages and private files: categories as their numbers, in the smallest type."""

    schema: pa.Schema
    categories: Mapping[str, pa.Array]

    @property
    def stored(self) -> pa.Schema:
        """Names and types as they are stored."""
        return pa.schema([(f.name, self._number(f.name) if f.name in self.categories else f.type) for f in self.schema])

    def _number(self, name: str) -> pa.DataType:
        return pa.int8() if len(self.categories[name]) < 128 else pa.int32()

    def store(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows as they are stored."""
        arrays = batch.columns
        for at, name in enumerate(self.schema.names):
            if name in self.categories:
                numbers = pc.index_in(arrays[at].dictionary, self.categories[name]).take(arrays[at].indices)
                arrays[at] = numbers.cast(self._number(name))
        return pa.RecordBatch.from_arrays(arrays, schema=self.stored)

    def restore(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows as they were."""
        arrays = batch.columns
        for at, column in enumerate(self.schema):
            categories = self.categories.get(column.name)
            if categories is not None:
                numbers = arrays[at].cast(pa.int32())
                arrays[at] = pa.DictionaryArray.from_arrays(numbers, categories, ordered=column.type.ordered)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def part_of(words: NDArray[np.uint64], bits: int) -> NDArray[np.int64]:
    """Return the number of the part each word belongs to: its first bits."""
    return np.zeros(words.size, dtype=np.int64) if bits == 0 else (words >> np.uint64(64 - bits)).astype(np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Deal:
    """Deals the rows of pieces into parts, each row with its secret word."""

    rows: MappedRows
    form: StoredRows
    key: bytes = field(repr=False)
    bits: int
    """There are 2**bits parts."""
    first: str | None = None
    """Column of truth values: the rows it marks come before all others."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Deal the pieces; see `in_our_words`."""
        return in_our_words(self._dealt(batches))

    def _dealt(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for split in split_numbers(batches):
            worded, complete = self._worded(split), False
            while not complete:
                kept, complete = gather(worded, _AT_ONCE)
                if kept:
                    yield from self._divided(pa.Table.from_batches(kept))

    def _worded(self, split: int) -> Iterator[pa.RecordBatch]:
        for batch, rows in self.rows.read(split):
            stored = self.form.store(batch)
            words = words_of(self.key, rows)
            words = words if self.first is None else marked_first(words, stored.column(self.first))
            yield stored.append_column(pa.field(_WORD, pa.uint64()), pa.array(words))

    def _divided(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield messages, a few parts at a time."""
        part = part_of(table.column(_WORD).to_numpy(), self.bits)
        dealt = table.take(pa.array(np.argsort(part, kind="stable"))).combine_chunks()
        ends = np.cumsum(np.bincount(part, minlength=1 << self.bits)).tolist()
        for number, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            for first in range(start, end, _IN_A_MESSAGE):
                (rows,) = dealt.slice(first, min(_IN_A_MESSAGE, end - first)).to_batches()
                message = rows.serialize().to_pybytes()
                yield pa.RecordBatch.from_arrays([pa.array([number], pa.int32()), pa.array([message])], schema=DEALT)


@dataclass(frozen=True, kw_only=True)
class Sort:
    """Puts the rows of each part in the order of their words and writes them; messages of a part come together."""

    form: StoredRows
    folder: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the parts; see `in_our_words`."""
        return in_our_words(self._written(batches))

    def _written(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keyed = self.form.stored.append(pa.field(_WORD, pa.uint64()))
        messages = (pair for batch in batches for pair in zip(*(column for column in batch.columns), strict=True))
        for number, dealt in groupby(messages, lambda pair: pair[0].as_py()):
            rows = [pa.ipc.read_record_batch(pa.ipc.read_message(piece.as_buffer()), keyed) for _, piece in dealt]
            table = pa.Table.from_batches(rows, keyed)
            words = table.column(_WORD).to_numpy()
            ordered = sorted_by(table.drop_columns([_WORD]), words)
            yield write_part(self.folder, number, self.form.stored, ordered.to_batches(max_chunksize=BATCH_ROWS))


@dataclass(frozen=True, kw_only=True)
class Store:
    """Writes the rows of each piece as they are."""

    rows: MappedRows
    form: StoredRows
    folder: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the pieces; see `in_our_words`."""
        return in_our_words(self._written(batches))

    def _written(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for split in split_numbers(batches):
            stored = (self.form.store(batch) for batch, _ in self.rows.read(split))
            yield write_part(self.folder, split, self.form.stored, stored)


def part_path(folder: str | Path, number: int) -> Path:
    """Return the file of a part."""
    return Path(folder) / f"{number}.arrow"


def write_part(folder: str, number: int, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """Write a part at once; return its number and its rows.

    Raises
    ------
    EngineError
        It cannot be written.
    """
    # a speculative copy of a task may write at the same time: each has a file of its own, and the last rename wins
    aside = Path(folder) / f".{uuid.uuid4().hex}"
    n_rows = 0
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    try:
        sink = shielded(lambda: pa.ipc.new_file(str(aside), schema, options=options), spill_failed)
        with sink:
            for batch in batches:
                shielded(partial(sink.write_batch, batch), spill_failed)
                n_rows += batch.num_rows
        shielded(lambda: os.replace(aside, part_path(folder, number)), spill_failed)
    finally:
        aside.unlink(missing_ok=True)
    return pa.RecordBatch.from_arrays([pa.array([number], pa.int32()), pa.array([n_rows], pa.int64())], schema=WRITTEN)


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredSplits:
    """Parts that tasks have written, as pieces of a table; see `Splits`."""

    folder: str
    form: StoredRows
    sizes: Sequence[int]
    """Rows of each part."""

    @property
    def schema(self) -> pa.Schema:
        """Names and canonical types."""
        return self.form.schema

    @property
    def n_splits(self) -> int:
        """Number of parts."""
        return len(self.sizes)

    def read(self, split: int, columns: Sequence[str] | None = None) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield the rows of a part."""
        row = sum(self.sizes[:split])
        if not self.sizes[split]:
            return
        with shielded(lambda: pa.ipc.open_file(str(part_path(self.folder, split))), spill_is_gone) as file:
            for at in range(file.num_record_batches):
                batch = self.form.restore(shielded(partial(file.get_batch, at), spill_is_gone))
                yield batch if columns is None else batch.select(list(columns)), row
                row += batch.num_rows
