# SPDX-License-Identifier: Apache-2.0
"""Parquet files of a release: one file, or a dataset of parts, written by this machine or by tasks.

A file is written batch by batch, and deleted again when anything fails. A part is written under another name and then
renamed, so that a task that runs twice leaves one file.

Tasks shuffle rows by dealing them into partitions by the first bits of their random words, and sort each. Rows travel
as Arrow messages, many rows in one: the layer between the tasks moves and sorts a few thousand messages, not every row.

New key-value metadata leave the row groups of a file as they are: only its footer is written again.
"""

from __future__ import annotations

import base64
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from anonkit.bundle.data_files import file_digest, part_name
from anonkit.engines.reading.failures import FOREIGN, Explain, shielded
from anonkit.engines.reading.sources import (
    BATCH_ROWS,
    FOLDED,
    Numbered,
    TableSplits,
    folded,
    gather,
    grouped,
    repeating,
    spill_is_gone,
)
from anonkit.engines.writing.part_tasks import MappedRows, in_our_words, split_numbers, words_of
from anonkit.engines.writing.shuffling import marked_first, sorted_by, spill_failed
from anonkit.errors import EngineError

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
                gathered, complete = gather(worded, _AT_ONCE)
                if gathered:
                    yield from self._divided(pa.Table.from_batches(gathered))

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


_TYPES_KEY = "ARROW:schema"  # where Arrow looks for the types that Parquet itself lacks


def write_parquet(pieces: Iterable[pa.Table], schema: pa.Schema, path: Path, metadata: Mapping[str, str]) -> int:
    """Write the pieces of a table, at least one, each into row groups of its own; return the number of rows.

    Raises
    ------
    EngineError
        The file cannot be written.
    """
    file: _File | None = None
    try:
        for piece in pieces:
            file = file or _File(path, schema, metadata, piece)
            file.write(piece)
        assert file is not None  # noqa: S101 - there is at least one piece
        file.close()
    except BaseException:
        if file is not None:
            file.discard()
        raise
    return file.n_rows


class _File:
    """A Parquet file being written.

    Folded columns of strings are read back as strings: the types in the file's metadata are those of `schema`.
    """

    def __init__(self, path: Path, schema: pa.Schema, metadata: Mapping[str, str], first: pa.Table) -> None:
        self._path = path
        self._failed = cannot_write(path)
        self._repeating = repeating(first)
        handed = schema
        for at, column in enumerate(first.columns):
            if at in self._repeating or pa.types.is_dictionary(column.type):
                handed = handed.set(at, schema.field(at).with_type(FOLDED if at in self._repeating else column.type))
        types = schema.with_metadata(dict(metadata)).serialize().to_pybytes()
        self._metadata = {**metadata, _TYPES_KEY: base64.b64encode(types)}
        self._writer: Any = shielded(
            lambda: pq.ParquetWriter(
                path,
                handed,
                compression="zstd",
                version="2.6",
                store_schema=False,
                write_statistics=[field.name for field in handed if not pa.types.is_dictionary(field.type)],
            ),
            self._failed,
        )
        self.n_rows = 0

    def write(self, piece: pa.Table) -> None:
        """Append some rows."""
        if piece.num_rows:
            shielded(lambda: self._writer.write_table(folded(piece, self._repeating)), self._failed)
        self.n_rows += piece.num_rows

    def close(self) -> None:
        """Complete the file."""
        shielded(lambda: self._writer.add_key_value_metadata(self._metadata), self._failed)
        shielded(self._writer.close, self._failed)

    def discard(self) -> None:
        """Delete what was written."""
        with suppress(*FOREIGN):
            self._writer.close()
        self._path.unlink(missing_ok=True)


def cannot_write(path: Path) -> Explain:
    """Return a function that makes an error of ours of one that came while writing a file."""

    def explained(error: Exception) -> EngineError:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "the disk may be full"
        return EngineError(f"cannot write {str(path)!r}: {reason}")

    return explained


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
        free = rows_each
        while left is not None and free > 0:
            now = left.slice(0, free)
            free -= now.num_rows
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
        for at, column_type in enumerate(self.schema):
            if column_type.name in self.used:
                used, column = self.used[column_type.name], arrays[at]
                places = pa.array(np.cumsum(used) - 1, pa.int32()).take(column.indices)
                categories = column.dictionary.filter(pa.array(used)).cast(pa.string())
                arrays[at] = pa.DictionaryArray.from_arrays(places, categories, ordered=column_type.type.ordered)
        return pa.RecordBatch.from_arrays(arrays, schema=self._stored)


_TYPES_KEY_OF_FOOTER = b"ARROW:schema"  # where Arrow looks for the types that Parquet itself lacks
_TAIL = 8  # a Parquet file ends in the length of its footer, 4 bytes, and 4 letters
_HEAD = 4


def relabelled(source: Path, path: Path, metadata: Mapping[str, str]) -> int:
    """Copy a Parquet file of an engine and give it metadata; return the number of rows.

    Encoding and compressing the rows a second time would take as long as writing them did.

    Raises
    ------
    EngineError
        The file cannot be read or written; the copy is deleted then.
    """
    try:
        rows, footer, start = shielded(lambda: _footer(source, metadata), _failed)
        shielded(lambda: _copy(source, path, start, footer), _failed)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return rows


@dataclass(frozen=True, kw_only=True)
class RelabelInto:
    """Copies files into a folder with metadata, each under another name first: a task may run twice."""

    folder: Path
    metadata: Mapping[str, str]

    def __call__(self, part: Path) -> tuple[int, str]:
        """Return the number of rows of the copy, and the SHA-256 of its file; see `relabelled`."""
        target, aside = self.folder / part.name, self.folder / f".{uuid.uuid4().hex}"
        try:
            n_rows = relabelled(part, aside, self.metadata)
            shielded(partial(os.replace, aside, target), _failed)
        finally:
            aside.unlink(missing_ok=True)
        return n_rows, shielded(partial(file_digest, target), _failed)


def _footer(source: Path, metadata: Mapping[str, str]) -> tuple[int, bytes, int]:
    """Return the number of rows, the new footer with its tail, and where the old one begins."""
    with pq.ParquetFile(source) as file:
        old, plain = file.metadata, file.schema.to_arrow_schema().remove_metadata()
    labels: dict[Any, Any] = dict(metadata)
    types = (old.metadata or {}).get(_TYPES_KEY_OF_FOOTER)
    if types is not None:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(types)))
        labels[_TYPES_KEY_OF_FOOTER] = base64.b64encode(schema.with_metadata(dict(metadata)).serialize().to_pybytes())
    empty, written = pa.BufferOutputStream(), pa.BufferOutputStream()
    with pq.ParquetWriter(empty, plain, compression="zstd", version="2.6", store_schema=False) as writer:
        writer.add_key_value_metadata(labels)
    new = pq.read_metadata(pa.BufferReader(empty.getvalue()))
    new.append_row_groups(old)
    new.write_metadata_file(written)
    with source.open("rb") as raw:
        size = raw.seek(-_TAIL, 2) + _TAIL
        length = int.from_bytes(raw.read(4), "little")
    return new.num_rows, written.getvalue().to_pybytes()[_HEAD:], size - _TAIL - length


def _copy(source: Path, path: Path, n_bytes: int, footer: bytes) -> None:
    """Copy the first bytes of a file and append a footer."""
    with source.open("rb") as raw, path.open("wb") as copy:
        shutil.copyfileobj(raw, copy, 1 << 20)
        copy.truncate(n_bytes)
        copy.seek(n_bytes)
        copy.write(footer)


def _failed(error: Exception) -> EngineError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else "the disk may be full"
    return EngineError(f"cannot copy the checked rows to their place: {reason}")
