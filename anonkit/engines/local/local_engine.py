# SPDX-License-Identifier: Apache-2.0
"""The default engine: pyarrow moves batches, numpy counts what fits in memory, DuckDB the rest."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.bundle.private_files import PrivateFolder
from anonkit.domains.coded_columns import CodedColumn
from anonkit.engines.local.spilling_counts import (
    SpillingCounter,
    count_classes,
    count_combinations,
    people_of_combinations,
    small_combinations,
)
from anonkit.engines.reading.column_encoding import (
    CategoryColumns,
    CategoryNumbering,
    Encoded,
    coded,
    coded_column,
    encode,
)
from anonkit.engines.reading.declared_tables import listed_missing, listed_texts
from anonkit.engines.reading.number_columns import reading_forms
from anonkit.engines.reading.open_source import open_table
from anonkit.engines.reading.parquet_tables import check_names
from anonkit.engines.reading.sources import (
    GeneratedSplits,
    LocalSource,
    ParquetRows,
    drained,
    gather,
    grouped,
    mapped_source,
    spilled_rows,
    table_source,
)
from anonkit.engines.reading.text_cells import Kinds, Untyped, schema_of, type_table, typed_batches
from anonkit.engines.writing.parquet_files import write_folder, write_parquet
from anonkit.engines.writing.shuffling import row_words, shuffled
from anonkit.policy.declaration import Policy
from anonkit.protocols import SEARCH_ROWS, BatchCount, BatchMap, ClassSizes, DrawPiece
from anonkit.randomness import Randomness

_IN_MEMORY = 256 << 20  # bytes of a table that are kept in memory before it goes to the private folder
_CODES_IN_MEMORY = 16_000_000  # cells that are counted as codes in memory; more are counted by DuckDB
_SAMPLED_AT_ONCE = 1 << 22  # row numbers looked at together when a sample is drawn


class LocalEngine:
    """pyarrow, numpy and DuckDB on one machine.

    Parameters
    ----------
    memory_limit : str
        What DuckDB may use before it spills, such as "2GB". Apart from it the engine holds some hundred MB,
        and the codes that `encode` returns.
    search_rows : int
        Rows a method may hold while it searches; larger tables are searched on a keyed sample.

    Privacy
    -------
    Rows of tables that do not fit in memory are in a private folder until `close` (`PrivateFolder`).
    """

    name: ClassVar[str] = "local"

    def __init__(self, memory_limit: str = "2GB", search_rows: int = SEARCH_ROWS) -> None:
        self.search_rows = search_rows
        self._private = PrivateFolder()
        self._counter = SpillingCounter(memory_limit, self._private)

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close DuckDB and delete every private file; tables in such files cannot be read any more."""
        self._counter.close()
        self._private.close()

    def scan(self, data: object, policy: Policy) -> LocalSource:
        """Open a table with canonical values. See `anonkit.protocols.Engine.scan`.

        Text files are read once or twice, and their types found in all cells. Parquet is not read before its
        cells are needed, and then as often as they are. Tables in memory are copied.

        Raises
        ------
        SourceError
            The table cannot be read as one; names the column, the line or the row, never a cell.
        """
        table = open_table(data, policy)
        if isinstance(table, Untyped):
            source = self._typed(table, policy)
            source = source if table.knows_missing else self._without_listed(source, policy)
        else:
            source = table.source() if isinstance(table, ParquetRows) else self._stored(table.batches, table.schema)
            source = self._without_listed(source, policy)
        forms = reading_forms(source.schema, policy)
        return source if forms is None else self.map_batches(source, forms, forms.schema, same_rows=True)

    def _without_listed(self, source: LocalSource, policy: Policy) -> LocalSource:
        """Return a table that brought its types without the strings that a policy lists as missing."""
        if not listed_texts(policy):
            return source
        function = listed_missing(source.schema, policy, partial(self.add_up, source))
        return source if function is None else self.map_batches(source, function, function.schema, same_rows=True)

    def _typed(self, table: Untyped, policy: Policy) -> LocalSource:
        kinds: Kinds = {**dict.fromkeys(table.names), **table.kinds}
        while True:
            batches = table.open()
            head, complete = gather(batches, _IN_MEMORY)
            n_head = sum(batch.num_rows for batch in head)
            typed = type_table(head, table, kinds)
            check_names(list(kinds))
            if complete:
                return table_source(typed, coded(typed, policy) if policy.cell_by_cell else None)
            settled = dict(kinds)
            rest = typed_batches(batches, table, kinds, n_head)
            folder = self._new_folder()
            head = typed.to_batches()
            del typed  # from here on every batch is let go once it is on disk
            source = self._spilled(chain(drained(head), rest), schema_of(settled), folder)
            if kinds == settled:
                return source
            shutil.rmtree(folder)

    def _stored(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> LocalSource:
        """Keep a stream so that it can be read again: in memory while small, else in the private folder."""
        gathered, complete = gather(batches, _IN_MEMORY)
        if complete:
            return table_source(pa.Table.from_batches(gathered, schema))
        return self._spilled(chain(drained(gathered), batches), schema, self._new_folder())

    def _spilled(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema, folder: Path) -> LocalSource:
        """Write canonical rows into a private folder, categories as strings."""
        path = folder / "rows.parquet"
        categories = {column.name: CategoryNumbering() for column in schema if pa.types.is_dictionary(column.type)}
        stored = pa.schema([(c.name, pa.string() if c.name in categories else c.type) for c in schema])

        def as_texts() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for name, seen in categories.items():
                    seen.look(batch.column(name))
                yield batch.cast(stored)

        n_rows = write_parquet(grouped(as_texts(), stored, _IN_MEMORY // 4), stored, path, {})
        orders = {name: pa.array(seen.values, pa.string()) for name, seen in categories.items()}
        return spilled_rows(str(path), schema, n_rows, orders).source()

    def _new_folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._private.path))

    def hold(self, table: pa.Table) -> LocalSource:
        """Return a table that a method has made. See `anonkit.protocols.Engine.hold`."""
        return self.scan(table, Policy())

    def draw(self, piece: DrawPiece, sizes: Sequence[int], empty: pa.RecordBatch) -> LocalSource:
        """Return a table that is drawn when it is read. See `anonkit.protocols.Engine.draw`."""
        return GeneratedSplits(draw=piece, schema=empty.schema, sizes=sizes).source()

    def keep(self, source: LocalSource) -> LocalSource:
        """Apply functions once: in memory while small, else in the private folder. See `protocols.Engine.keep`."""
        return self._stored(source.batches(), source.schema)

    def encode(self, source: LocalSource, columns: Sequence[str]) -> list[CodedColumn]:
        """Return columns as codes. See `anonkit.protocols.Engine.encode`.

        Values are ascending, or in category order for dictionary columns; only those that occur are listed.

        Raises
        ------
        SourceError
            A column holds numbers, dates or times beyond Python's precision or range.
        """
        encoded = self._encoded(source, columns)
        kinds = [source.schema.field(name).type for name in columns]
        return [coded_column(name, kind, encoded[name]) for name, kind in zip(columns, kinds, strict=True)]

    def _encoded(self, source: LocalSource, columns: Sequence[str]) -> dict[str, Encoded]:
        names = list(dict.fromkeys(columns))
        if not names:
            return {}
        fields = [source.schema.field(name) for name in names]
        return dict(zip(names, encode(source.folded_batches(names), fields), strict=True))

    def count_sets(self, source: LocalSource, sets: Sequence[tuple[str, ...]]) -> list[pa.Table]:
        """Count combinations in one pass. See `anonkit.protocols.Engine.count_sets`.

        The rows of each table are sorted by its columns, missing last; its last column is the count. Categories
        come as strings. Combinations that no row has are not in it.
        """
        names = list(dict.fromkeys(name for columns in sets for name in columns))
        if self._fits(source, names):
            columns = self._encoded(source, names)
            n_rows = source.n_rows
            return [count_combinations(columns, column_set, n_rows) for column_set in sets]
        counted = iter(self._counter.count_sets(source, [column_set for column_set in sets if column_set]))
        return [
            next(counted) if column_set else count_combinations({}, column_set, source.n_rows) for column_set in sets
        ]

    def count_people(self, source: LocalSource, columns: Sequence[str], unit: str) -> pa.Table:
        """Count the distinct units of every combination; rows without one are one unit. See `count_sets`."""
        names = [*columns, unit]
        if self._fits(source, names):
            encoded = self._encoded(source, names)
            return people_of_combinations(encoded, columns, source.n_rows, encoded[unit].codes)
        return self._counter.count_people(source, columns, unit)

    def class_sizes(self, source: LocalSource, columns: Sequence[str], k: int, unit: str | None = None) -> ClassSizes:
        """Count equivalence classes. See `anonkit.protocols.Engine.class_sizes`.

        With a `unit` the size of a class is its number of distinct units; rows without one are one unit.
        """
        names = [*columns, *([] if unit is None else [unit])]
        if self._fits(source, names):
            encoded = self._encoded(source, names)
            units = None if unit is None else encoded[unit].codes
            return count_classes([encoded[name].codes for name in columns], source.n_rows, k, units)
        return self._counter.class_sizes(source, columns, k, unit)

    def small_classes(self, source: LocalSource, columns: Sequence[str], k: int, unit: str | None = None) -> pa.Table:
        """Return the classes below k, in the order of their values. See `anonkit.protocols.Engine.small_classes`."""
        names = [*columns, *([] if unit is None else [unit])]
        if self._fits(source, names):
            return small_combinations(self._encoded(source, names), columns, source.n_rows, k, unit)
        return self._counter.small_classes(source, columns, k, unit)

    def _fits(self, source: LocalSource, names: Sequence[str]) -> bool:
        return not names or source.at_most * len(names) <= _CODES_IN_MEMORY

    def map_batches(
        self, source: LocalSource, function: BatchMap, schema: pa.Schema, *, same_rows: bool = False
    ) -> LocalSource:
        """Apply a batch function lazily. See `anonkit.protocols.Engine.map_batches`.

        The function runs again each time the rows are read, so it must be a function of its arguments alone.
        """
        return mapped_source(source, function, schema, same_rows=same_rows)

    def add_up(self, source: LocalSource, function: BatchCount, columns: Sequence[str], size: int) -> NDArray[np.int64]:
        """Add up counts of batches. See `anonkit.protocols.Engine.add_up`."""
        total, row = np.zeros(size, dtype=np.int64), 0
        for batch in source.batches(columns, function=function):
            total += function(batch, row)
            row += batch.num_rows
        return total

    def sample(self, source: LocalSource, n: int, randomness: Randomness) -> LocalSource:
        """Draw rows by keyed row number, in source order. See `anonkit.protocols.Engine.sample`."""
        if n >= source.n_rows:
            return source
        rows = _lowest_words(randomness.key("sample"), source.n_rows, n)

        def keep(batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
            start, end = np.searchsorted(rows, [row, row + batch.num_rows])
            return batch.take(pa.array(rows[start:end] - row))

        return self._stored(mapped_source(source, keep, source.schema).batches(), source.schema)

    def write(
        self,
        source: LocalSource,
        path: Path,
        *,
        metadata: Mapping[str, str],
        randomness: Randomness | None,
        part_rows: int | None = None,
        first: str | None = None,
    ) -> int:
        """Write a Parquet file, or a folder of them. See `anonkit.protocols.Engine.write`.

        Categories that no row holds are left out. The files have no index and no metadata but the one given.

        Raises
        ------
        EngineError
            The data cannot be written; what was written is deleted then.

        Privacy
        -------
        With `randomness` the order of the rows is secret and the same on every engine. One `Randomness` writes
        one order: two files written with it can be joined row by row.
        """
        pieces = (
            self._in_order(source) if randomness is None else self._shuffled(source, randomness.key("shuffle"), first)
        )
        with closing(pieces):  # rows on disk go at once, also when writing fails
            if part_rows is None:
                return write_parquet(pieces, source.schema, path, metadata)
            return write_folder(pieces, source.schema, path, metadata, part_rows)

    def _in_order(self, source: LocalSource) -> Generator[pa.Table, None, None]:
        names = source.schema.names
        columns = CategoryColumns(source.schema, source.folded_schema)
        if columns:  # which categories occur is known after a pass only
            for _ in columns.numbered(source.folded_batches(names)):
                pass
        schema = columns.stored_schema
        batches = (batch.cast(schema) for batch in columns.numbered(source.folded_batches(names)))
        pieces = grouped(batches, schema, _IN_MEMORY // 4)
        yield from map(columns.restored, pieces)

    def _shuffled(self, source: LocalSource, key: bytes, first: str | None) -> Generator[pa.Table, None, None]:
        columns = CategoryColumns(source.schema)
        pieces = shuffled(
            columns.numbered(source.batches()),
            columns.stored_schema,
            key,
            at_most=source.at_most,
            in_memory=_IN_MEMORY,
            folder=self._new_folder,
            first=first,
        )
        with closing(pieces):
            yield from map(columns.restored, pieces)


def _lowest_words(key: bytes, n_rows: int, n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the numbers of the n rows with the lowest secret words, ascending, shape (n,)."""
    rows, words = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
    for first in range(0, n_rows, _SAMPLED_AT_ONCE):
        size = min(_SAMPLED_AT_ONCE, n_rows - first)
        rows = np.concatenate([rows, np.arange(first, first + size)])
        words = np.concatenate([words, row_words(key, first, size)])
        if rows.size > n:
            best = np.argpartition(words, n)[:n]
            rows, words = rows[best], words[best]
    return np.sort(rows)
