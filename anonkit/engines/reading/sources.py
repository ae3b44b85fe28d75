# SPDX-License-Identifier: Apache-2.0
"""Tables that can be read repeatedly, whole or by split: in memory, in Parquet files, or mapped from others.

Streams of record batches have a bound on the rows in memory at a time. Carrier types are the few Arrow types in which
columns travel through an engine that lacks some of them. String columns with few distinct values are dictionary encoded
on the way, which takes a fraction of the memory and of the time.

A split is read by one task, with the code of the local engine: there is one meaning of every cell, and the same row
numbers in every engine. It is known by its number; what it holds depends on nothing but the files (or, for rows that
are drawn, on a key).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from anonkit.engines.reading.column_encoding import canonical_batches
from anonkit.engines.reading.failures import shielded, shielded_iterator
from anonkit.errors import EngineError, SourceError
from anonkit.protocols import BatchCount, BatchMap, DrawPiece

BATCH_ROWS = 1 << 17


def sliced(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of at most `BATCH_ROWS`."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS)


def gather(batches: Iterator[pa.RecordBatch], n_bytes: int) -> tuple[list[pa.RecordBatch], bool]:
    """Take batches until they hold more than so many bytes; return them, and whether the stream has ended."""
    gathered = []
    size = 0
    for batch in batches:
        gathered.append(batch)
        size += batch.nbytes
        if size > n_bytes:
            return gathered, False
    return gathered, True


def grouped(batches: Iterator[pa.RecordBatch], schema: pa.Schema, n_bytes: int) -> Iterator[pa.Table]:
    """Yield the same rows in tables of about so many bytes, one at least."""
    complete = False
    while not complete:
        gathered, complete = gather(batches, n_bytes)
        yield pa.Table.from_batches(gathered, schema)


def drained(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a list, each removed from the list first so that its memory can be freed."""
    batches.reverse()
    while batches:
        yield batches.pop()


_WIDER = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0)}


def carrier_type(kind: pa.DataType) -> pa.DataType:
    """Return the type in which a canonical column travels: equal values stay equal, and nothing is rounded."""
    return pa.string() if pa.types.is_dictionary(kind) else _WIDER.get(kind, counted_type(kind))


def counted_type(kind: pa.DataType) -> pa.DataType:
    """Return the integer type in which dates, times and durations are counted; any other type as it is."""
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.int32()
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind) or pa.types.is_duration(kind):
        return pa.int64()
    return kind


def carrier_schema(schema: pa.Schema) -> pa.Schema:
    """Return a canonical schema with carriers for types."""
    return pa.schema([(field.name, carrier_type(field.type)) for field in schema])


def to_carrier(array: pa.Array) -> pa.Array:
    """Return a canonical column as its carrier."""
    carrier = carrier_type(array.type)
    if array.type == carrier:
        return array
    if isinstance(array, pa.DictionaryArray):
        return array.dictionary_decode()
    if pa.types.is_unsigned_integer(array.type):
        return array.cast(carrier)
    return array.view(carrier)


def from_carrier(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a column in its canonical type; categories stay strings."""
    if array.type == kind or pa.types.is_dictionary(kind):
        return array
    if pa.types.is_unsigned_integer(kind):
        return array.cast(kind)
    return array.view(kind)


FOLDED = pa.dictionary(pa.int32(), pa.string())
"""Type of a text column while it is moved as a dictionary."""

_LOOK = 1 << 13  # cells that show whether a column repeats itself


def repeating(table: pa.Table) -> list[int]:
    """Return the indices of the text columns whose first cells hold each string twice on average, or are folded."""
    return [at for at, column in enumerate(table.columns) if column.type == FOLDED or _repeats(column)]


def _repeats(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_string(column.type):
        return False
    start = column.slice(0, _LOOK)
    return len(start.unique()) <= len(start) // 2


def folded(table: pa.Table, places: Iterable[int]) -> pa.Table:
    """Return the table with the text columns at these indices as dictionaries, one for all chunks of a column."""
    for at in places:
        column = table.column(at)
        column = column.unify_dictionaries() if column.type == FOLDED else pc.dictionary_encode(column)
        table = table.set_column(at, table.field(at).with_type(FOLDED), column)
    return table


_MOST_THREADS = 4  # that work on batches at a time: every batch under way takes memory


class LocalSource:
    """A table of the local engine: canonical batches that can be read again and again.

    Parameters
    ----------
    schema : pyarrow.Schema
        Names and types, in table order.
    read : callable
        Returns the batches of some columns, or of all when given None, from the first row on.
    at_most : int
        A bound on the number of rows.
    n_rows : int, optional
        The number of rows when it is known; it is counted at its first use otherwise.
    parquet : ParquetRows, optional
        The files of the rows, for SQL to read directly.
    read_coded : callable, optional
        As `read`, but strings of declared columns may come as numbers, or as indices into a dictionary that lists
        others too (`column_encoding`).
    """

    def __init__(
        self,
        schema: pa.Schema,
        read: Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]],
        *,
        at_most: int,
        n_rows: int | None = None,
        parquet: ParquetRows | None = None,
        read_coded: Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]] | None = None,
    ) -> None:
        self._schema = schema
        self._read = read
        self._read_coded = read if read_coded is None else read_coded
        self._n_rows = n_rows
        self.at_most = at_most
        self.parquet = parquet

    def __repr__(self) -> str:
        return f"<LocalSource of {len(self._schema)} columns>"

    @property
    def schema(self) -> pa.Schema:
        """Names and types, in table order."""
        return self._schema

    @property
    def n_rows(self) -> int:
        """Number of rows. After a map it takes a pass over the table, unless one was made already."""
        if self._n_rows is None:
            for _ in self.batches(self._schema.names[:1]):
                pass
        return self._n_rows or 0

    def batches(
        self, columns: Sequence[str] | None = None, *, function: BatchMap | BatchCount | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Read all rows in source order, or some columns of them.

        Parameters
        ----------
        columns : sequence of str, optional
        function : callable, optional
            Function that takes the batches: where it takes codes, strings of declared columns may come coded.
        """
        n_rows = 0
        for batch in (self._read_coded if getattr(function, "takes_codes", False) else self._read)(columns):
            n_rows += batch.num_rows
            yield batch
        self._n_rows = n_rows

    @property
    def folded_schema(self) -> pa.Schema:
        """Names and types as `folded_batches` returns them."""
        return self._schema if self.parquet is None else self.parquet.folded_schema

    def folded_batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns, the strings folded where that is less work."""
        return self.batches(columns) if self.parquet is None else self.parquet.folded_batches(columns)


def table_source(table: pa.Table, coded: pa.Table | None = None) -> LocalSource:
    """Return a source over canonical rows in memory; functions that take codes get the rows of `coded`, if given."""

    def read_of(table_read: pa.Table) -> Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]]:
        def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
            part = table_read if columns is None else table_read.select(list(columns))
            yield from part.to_batches(max_chunksize=BATCH_ROWS)

        return read

    n_rows, also = table.num_rows, None if coded is None else read_of(coded)
    return LocalSource(table.schema, read_of(table), at_most=n_rows, n_rows=n_rows, read_coded=also)


def mapped_source(
    source: LocalSource, function: BatchMap, schema: pa.Schema, *, same_rows: bool = False
) -> LocalSource:
    """Return the rows a batch function makes of another source's, computed whenever they are read.

    Parameters
    ----------
    same_rows : bool
        True when the function returns a row for every row: how many there are is known without reading them.
    """

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        for out in _mapped(function, source.batches(function=function)):
            if not out.schema.equals(schema):
                raise EngineError("a batch function returned other columns or types than it declared")
            yield out if columns is None else out.select(list(columns))

    return LocalSource(schema, read, at_most=source.at_most, n_rows=source.n_rows if same_rows else None)


def _mapped(function: BatchMap, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Apply a batch function in the order of the rows, to several batches at a time where Arrow may use threads."""
    row = 0
    threads = min(pa.cpu_count(), _MOST_THREADS)
    if threads == 1:
        for batch in batches:
            yield function(batch, row)
            row += batch.num_rows
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    waiting: deque[Future[pa.RecordBatch]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for batch in batches:
                waiting.append(pool.submit(function, batch, row))
                row += batch.num_rows
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # nobody reads on, or a batch failed: the rest is not begun
            for future in waiting:
                future.cancel()


@dataclass(frozen=True, kw_only=True)
class ParquetPart:
    """One file of a table."""

    path: str
    names: frozenset[str]
    """The columns of the file."""
    n_rows: int
    constants: Mapping[str, pa.Scalar] = field(default_factory=dict)
    """Cells from the names of the file's folders: column and value."""
    named: str | None = None
    """Name in messages of a private copy of something else."""

    @property
    def explain(self) -> Callable[[Exception], SourceError]:
        """The explanation of a failure to read the file."""
        return not_parquet_table(self.named or repr(self.path))


@dataclass(frozen=True, kw_only=True, eq=False)
class ParquetRows:
    """A table in one or more Parquet files, in the order of the files."""

    parts: Sequence[ParquetPart]
    schema: pa.Schema
    """Names and canonical types."""
    stored_types: Mapping[str, pa.DataType]
    """Types of the files, of the columns that have the same type in all of them."""
    categories: Mapping[str, pa.Array] = field(default_factory=dict)
    """Categories in order, for dictionary columns that were spilled as plain strings."""
    spilled: bool = False
    """True for a private file of the engine, false for a file of the user."""
    cell_by_cell: bool = False
    """True where no cell may be refused for what it holds (`Policy.cell_by_cell`)."""

    def source(self) -> LocalSource:
        """Return the table as a source; a cell that is not what its type states is found when it is read."""
        n_rows = sum(part.n_rows for part in self.parts)
        return LocalSource(self.schema, self.batches, at_most=n_rows, n_rows=n_rows, parquet=self)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read all files from the first row on."""
        projected = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        for part in self.parts:
            yield from self._part_batches(part, projected)

    def folded_batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns, strings as the dictionaries in which most files hold them anyway."""
        projected = pa.schema([self.folded_schema.field(name) for name in columns])
        for part in self.parts:
            yield from self._part_batches(part, projected)

    @property
    def folded_schema(self) -> pa.Schema:
        """Names and types of all columns as `folded_batches` returns them."""
        return pa.schema([f.with_type(FOLDED) if pa.types.is_string(f.type) else f for f in self.schema])

    def range_batches(
        self, part: ParquetPart, wanted: pa.Schema, start: int, stop: int
    ) -> tuple[int, Iterator[pa.RecordBatch]]:
        """Return the rows of the row groups that begin in [start, stop), after the number of the first one."""
        explain = spill_is_gone if self.spilled else part.explain
        footer = shielded(lambda: pq.read_metadata(part.path), explain)
        firsts = [0, *accumulate(footer.row_group(at).num_rows for at in range(footer.num_row_groups))][:-1]
        groups = [at for at, first in enumerate(firsts) if start <= first < stop]
        return (firsts[groups[0]] if groups else 0), self._part_batches(part, wanted, groups)

    def _part_batches(
        self, part: ParquetPart, projected: pa.Schema, groups: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        stored = [name for name in projected.names if name in part.names]
        explain = spill_is_gone if self.spilled else part.explain
        dictionaries = [name for name in stored if pa.types.is_dictionary(projected.field(name).type)]
        file = shielded(lambda: pq.ParquetFile(part.path, read_dictionary=dictionaries), explain)
        with file:
            batches = shielded_iterator(file.iter_batches(BATCH_ROWS, row_groups=groups, columns=stored), explain)
            completed = (self._completed(batch, part, projected) for batch in batches)
            yield from canonical_batches(completed, projected, safe=not self.cell_by_cell)

    def _completed(self, batch: pa.RecordBatch, part: ParquetPart, projected: pa.Schema) -> pa.RecordBatch:
        """Put columns into the wanted order, with those that are not in the file."""
        arrays = []
        for column in projected:
            if column.name not in part.names:
                constant = part.constants.get(column.name, pa.scalar(None, column.type))
                arrays.append(pa.repeat(constant, batch.num_rows))
                continue
            array = batch.column(column.name)
            categories = self.categories.get(column.name)
            if categories is not None:
                array = in_categories(array, categories, ordered=column.type.ordered)
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, names=projected.names)


def restored(batch: pa.RecordBatch, schema: pa.Schema, categories: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Return columns, which may be carriers, in the types of a schema, and categories in their common order."""
    arrays = [
        in_categories(array, categories[column.name], ordered=column.type.ordered)
        if column.name in categories
        else from_carrier(array, column.type)
        for array, column in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def in_categories(array: pa.Array, categories: pa.Array, *, ordered: bool) -> pa.DictionaryArray:
    """Return strings, or categories in another order, as these categories."""
    if isinstance(array, pa.DictionaryArray):
        indices = pc.index_in(array.dictionary, categories).take(array.indices)
    else:
        indices = pc.index_in(array, categories)
    return pa.DictionaryArray.from_arrays(indices, categories, ordered=ordered)


def spilled_rows(path: str, schema: pa.Schema, n_rows: int, categories: Mapping[str, pa.Array]) -> ParquetRows:
    """Return canonical rows that an engine wrote into its private folder, dictionaries as plain strings."""
    part = ParquetPart(path=path, names=frozenset(schema.names), n_rows=n_rows)
    stored = {column.name: column.type for column in schema}
    return ParquetRows(parts=[part], schema=schema, stored_types=stored, categories=categories, spilled=True)


def spill_is_gone(error: Exception) -> EngineError:
    """Return the error for a private file that cannot be read."""
    return EngineError("the engine's private files cannot be read", "was the engine closed before its table was used?")


def not_parquet_table(shown: str) -> Callable[[Exception], SourceError]:
    """Return the explanation of a failure to read a Parquet file, under its name in messages."""
    return lambda _: SourceError(f"{shown} is not a readable Parquet table", "was it copied to its end?")


SPLIT_ROWS = 1 << 18
"""Rows of a task: little to do again when one is lost, enough to be worth starting it."""

Numbered = tuple[pa.RecordBatch, int]
"""A batch, and the number of its first row."""


class TableSplits(Protocol):
    """A table in pieces, numbered from 0; it can be pickled."""

    @property
    def n_splits(self) -> int:
        """Number of pieces."""
        ...

    def read(self, split: int, columns: Sequence[str] | None = None) -> Iterator[Numbered]:
        """Yield the rows of a piece, or some columns of them, in canonical form."""
        ...


@dataclass(frozen=True)
class Range:
    """Rows of one file: all row groups that begin in [start, stop)."""

    part: int
    start: int
    stop: int


@dataclass(frozen=True, kw_only=True, eq=False)
class ParquetSplits:
    """Files in their order, rows in the order of their file."""

    files: ParquetRows
    schema: pa.Schema
    """Names and canonical types; the files may hold c0, c1, … as carriers for them."""
    first_rows: Sequence[int]
    """Number of the first row of each file."""
    splits: Sequence[Sequence[Range]]
    categories: Mapping[str, pa.Array] = field(default_factory=dict)
    """The common categories of dictionary columns, in order; without them each batch has those of its file."""

    @classmethod
    def of(cls, files: ParquetRows, schema: pa.Schema, rows: int) -> ParquetSplits:
        """Divide files into pieces of about so many rows: parts of large ones, several small ones together."""
        splits: list[list[Range]] = []
        left = 0
        for number, part in enumerate(files.parts):
            for start in range(0, part.n_rows, rows):
                stop = min(start + rows, part.n_rows)
                if stop - start > left:
                    splits.append([])
                    left = rows
                splits[-1].append(Range(part=number, start=start, stop=stop))
                left -= stop - start
        first_rows = [0, *accumulate(part.n_rows for part in files.parts)][:-1]
        return cls(files=files, schema=schema, first_rows=first_rows, splits=splits)

    def by_file(self) -> ParquetSplits:
        """Return the same rows in pieces that are a file each."""
        whole = [[Range(part=number, start=0, stop=part.n_rows)] for number, part in enumerate(self.files.parts)]
        return replace(self, splits=whole)

    @property
    def n_splits(self) -> int:
        """Number of pieces."""
        return len(self.splits)

    def read(self, split: int, columns: Sequence[str] | None = None) -> Iterator[Numbered]:
        """Yield the rows of a piece.

        Raises
        ------
        EngineError
            The file is not there.
        """
        names = self.schema.names if columns is None else list(columns)
        projected = pa.schema([self.schema.field(name) for name in names])
        stored = [self.files.schema.field(self.schema.get_field_index(name)) for name in names]
        for row_group in self.splits[split]:
            part = self.files.parts[row_group.part]
            if not Path(part.path).exists():
                raise EngineError("an executor does not see the files of the table", "does every node have the folder?")
            row, batches = self.files.range_batches(part, pa.schema(stored), row_group.start, row_group.stop)
            row += self.first_rows[row_group.part]
            for batch in batches:
                yield restored(batch, projected, self.categories), row
                row += batch.num_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneratedSplits:
    """Rows that are made, not read: a piece is drawn whenever it is needed, and is the same each time."""

    draw: DrawPiece
    schema: pa.Schema
    sizes: Sequence[int]
    """Rows of each piece."""

    @property
    def n_splits(self) -> int:
        """Number of pieces."""
        return len(self.sizes)

    def read(self, split: int, columns: Sequence[str] | None = None) -> Iterator[Numbered]:
        """Yield the rows of a piece.

        Raises
        ------
        EngineError
            The function returned other columns or another number of rows than it declared.
        """
        rows = self.draw(split)
        if not rows.schema.equals(self.schema) or rows.num_rows != self.sizes[split]:
            raise EngineError("a function drew other columns or rows than it declared")
        row = sum(self.sizes[:split])
        for batch in sliced(canonical_batches([rows], self.schema)):
            yield batch if columns is None else batch.select(list(columns)), row
            row += batch.num_rows

    def source(self) -> LocalSource:
        """Return the rows as this machine draws them."""
        n_rows = sum(self.sizes)
        return LocalSource(self.schema, all_of(self), at_most=n_rows, n_rows=n_rows)


def all_of(splits: TableSplits) -> Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]]:
    """Return a reader of all pieces, one after another."""

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        for split in range(splits.n_splits):
            for batch, _ in splits.read(split, columns):
                yield batch

    return read
