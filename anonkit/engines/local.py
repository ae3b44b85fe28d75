# SPDX-License-Identifier: Apache-2.0
"""The default engine: pyarrow moves batches, DuckDB counts and sorts under a memory cap with spill to disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from anonkit.engines.canonical import TypeGuess, canonical_array, canonical_type, parse_texts
from anonkit.engines.encoding import encode_column
from anonkit.engines.private_files import PrivateFolder
from anonkit.engines.reading import Reading, open_table
from anonkit.errors import EngineError, SourceError
from anonkit.mechanisms.coding import CodedColumn
from anonkit.policy import ColumnType, Policy
from anonkit.protocols import BatchMap, ClassSizes
from anonkit.randomness import Randomness, keystream

_IN_MEMORY = 512 << 20  # bytes of a table kept in memory before it goes to the private folder
_SORT_KEY = "__anonkit_order"
_GROUP_KEY = "__anonkit_set"


def quote(name: str) -> str:
    """Quote a column name for SQL."""
    return '"' + name.replace('"', '""') + '"'


class LocalSource:
    """A table of the local engine: batches that can be read again and again."""

    def __init__(
        self,
        schema: pa.Schema,
        n_rows: int,
        read: Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]],
        parquet: str | None = None,
    ) -> None:
        self._schema = schema
        self._n_rows = n_rows
        self._read = read
        self.parquet = parquet
        """Path of a Parquet file whose stored values are canonical already, for SQL to read directly."""

    def __repr__(self) -> str:
        return f"<LocalSource {len(self._schema)} columns>"

    @property
    def schema(self) -> pa.Schema:
        """Names and types, in table order."""
        return self._schema

    @property
    def n_rows(self) -> int:
        """Rows; after a map that drops rows, an upper bound."""
        return self._n_rows

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read all rows in source order, or some columns of them."""
        return self._read(columns)


class LocalEngine:
    """DuckDB and pyarrow on one machine.

    Parameters
    ----------
    memory_limit : str
        What DuckDB may use before it spills, such as "2GB".
    """

    name: ClassVar[str] = "local"

    def __init__(self, memory_limit: str = "2GB") -> None:
        self._memory_limit = memory_limit
        self._private = PrivateFolder()
        self._duckdb: Any = None
        self._files = 0

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close DuckDB and delete every private file."""
        if self._duckdb is not None:
            self._duckdb.close()
            self._duckdb = None
        self._private.close()

    # --- scan ----------------------------------------------------------------------------------------------

    def scan(self, data: Any, policy: Policy) -> LocalSource:
        """Open a table with canonical values. See `anonkit.protocols.Engine.scan`."""
        reading = open_table(data, policy.missing_values)
        if reading.untyped:
            return self._scan_texts(reading, policy)
        schema = pa.schema([(field.name, canonical_type(field.name, field.type)) for field in reading.schema])
        if reading.parquet is not None and schema == reading.schema and _stored_canonically(schema):
            return self._from_parquet(Path(reading.parquet), schema)
        return self._store(_canonical_batches(reading.batches, schema), schema)

    def _scan_texts(self, reading: Reading, policy: Policy) -> LocalSource:
        declared = {name: _declared_type(policy, name) for name in reading.schema.names}
        guesses = {name: TypeGuess() for name, kind in declared.items() if kind is None}

        def watch() -> Iterator[pa.RecordBatch]:
            for batch in reading.batches:
                for name, guess in guesses.items():
                    guess.look(batch.column(name))
                yield batch

        texts = self._store(watch(), reading.schema)
        kinds = {name: kind or guesses[name].type for name, kind in declared.items()}
        schema = pa.schema([(name, _arrow_type(kind)) for name, kind in kinds.items()])
        typed = self.map_batches(texts, partial(_parse_batch, kinds=kinds), schema)
        if texts.parquet is None:  # small: parse once, so that a bad cell is found now and not half way
            return self._store(typed.batches(), schema)
        for _ in typed.batches():
            pass
        return typed

    def _store(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> LocalSource:
        """Keep a stream so that it can be read again: in memory while small, else in the private folder."""
        kept: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            kept.append(batch)
            size += batch.nbytes
            if size > _IN_MEMORY:
                path = self._new_file()
                with pq.ParquetWriter(path, schema, compression="zstd") as writer:
                    for each in chain(kept, batches):
                        writer.write_batch(each)
                return self._from_parquet(path, schema)
        table = pa.Table.from_batches(kept, schema=schema)

        def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
            part = table if columns is None else table.select(list(columns))
            yield from part.to_batches(max_chunksize=1 << 17)

        return LocalSource(schema, table.num_rows, read)

    def _from_parquet(self, path: Path, schema: pa.Schema) -> LocalSource:
        def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
            names = schema.names if columns is None else list(columns)
            wanted = pa.schema([schema.field(name) for name in names])
            yield from _canonical_batches(pq.ParquetFile(path).iter_batches(1 << 17, columns=names), wanted)

        return LocalSource(schema, pq.ParquetFile(path).metadata.num_rows, read, str(path))

    def _new_file(self) -> Path:
        self._files += 1
        return self._private.path / f"{self._files}.parquet"

    # --- counting ------------------------------------------------------------------------------------------

    def encode(self, source: LocalSource, columns: Sequence[str]) -> list[CodedColumn]:
        """Return columns as codes. See `anonkit.protocols.Engine.encode`."""
        return [
            encode_column(name, (batch.column(0) for batch in source.batches([name])), source.schema.field(name).type)
            for name in columns
        ]

    def count_sets(self, source: LocalSource, sets: Sequence[tuple[str, ...]]) -> list[pa.Table]:
        """Count combinations in one pass. See `anonkit.protocols.Engine.count_sets`."""
        names = sorted({name for columns in sets for name in columns})
        grouped = ", ".join(f"({', '.join(map(quote, columns))})" for columns in sets)
        listed = ", ".join(map(quote, names))
        sql = (
            f"SELECT {listed}, GROUPING_ID({listed}) AS {_GROUP_KEY}, count(*) AS count "
            f"FROM {{source}} GROUP BY GROUPING SETS ({grouped})"
        )
        counted = self._query(sql, source, names)
        out = []
        for columns in sets:
            group = sum(1 << (len(names) - 1 - at) for at, name in enumerate(names) if name not in columns)
            rows = counted.filter(pc.equal(counted.column(_GROUP_KEY), group))
            out.append(rows.select([*columns, "count"]))
        return out

    def class_sizes(self, source: LocalSource, columns: Sequence[str], k: int, unit: str | None = None) -> ClassSizes:
        """Count equivalence classes. See `anonkit.protocols.Engine.class_sizes`."""
        listed = ", ".join(map(quote, columns))
        people = "n" if unit is None else f"count(DISTINCT {quote(unit)})"
        inner = f"SELECT count(*) AS n{'' if unit is None else f', {people} AS people'} FROM {{source}}"
        sizes = self._query(
            f"SELECT size, count(*)::BIGINT AS classes, sum(n)::BIGINT AS members FROM "
            f"(SELECT n, {'n' if unit is None else 'people'} AS size FROM "
            f"({inner}{f' GROUP BY {listed}' if listed else ''}) WHERE n > 0) GROUP BY size ORDER BY size",
            source,
            [*columns, *([unit] if unit else [])],
        )
        size, classes, rows = (sizes.column(i).to_pylist() for i in range(3))
        return ClassSizes(
            rows=sum(rows),
            classes=sum(classes),
            smallest=size[0] if size else 0,
            rows_below_k=sum(n for s, n in zip(size, rows, strict=True) if s < k),
            histogram=tuple(zip(size, classes, strict=True)),
        )

    def _query(self, sql: str, source: LocalSource, columns: Sequence[str]) -> pa.Table:
        import duckdb

        connection = self._connection()
        if source.parquet is not None:
            relation = "read_parquet('" + source.parquet.replace("'", "''") + "')"
        else:
            wanted = pa.schema([source.schema.field(name) for name in columns])
            reader = pa.RecordBatchReader.from_batches(wanted, source.batches(columns)) if columns else None
            relation = "anonkit_source"
            connection.register(relation, reader if reader is not None else _row_counter(source))
        try:
            return pa.RecordBatchReader.from_stream(connection.sql(sql.replace("FROM {source}", f"FROM {relation}"))).read_all()
        except (duckdb.Error, pa.ArrowException):
            raise EngineError("counting rows failed", "is there room for DuckDB's temporary files?") from None
        finally:
            if source.parquet is None:
                connection.unregister(relation)

    def _connection(self) -> Any:
        if self._duckdb is None:
            import duckdb

            self._duckdb = duckdb.connect(
                ":memory:",
                config={
                    "memory_limit": self._memory_limit,
                    "temp_directory": str(self._private.path),
                    "threads": os.cpu_count() or 1,
                    "preserve_insertion_order": False,
                },
            )
        return self._duckdb

    # --- mapping and writing -------------------------------------------------------------------------------

    def map_batches(self, source: LocalSource, function: BatchMap, schema: pa.Schema) -> LocalSource:
        """Apply a batch function lazily. See `anonkit.protocols.Engine.map_batches`."""

        def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
            row = 0
            for batch in source.batches():
                out = function(batch, row)
                row += batch.num_rows
                yield out if columns is None else out.select(list(columns))

        return LocalSource(schema, source.n_rows, read)

    def sample(self, source: LocalSource, n: int, randomness: Randomness) -> LocalSource:
        """Draw rows by keyed row number. See `anonkit.protocols.Engine.sample`."""
        if n >= source.n_rows:
            return source
        words = row_words(randomness.key("sample"), 0, source.n_rows)
        chosen = np.zeros(source.n_rows, dtype=bool)
        chosen[np.argpartition(words, n)[:n]] = True

        def keep(batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
            return batch.filter(pa.array(chosen[row : row + batch.num_rows]))

        return self._store(self.map_batches(source, keep, source.schema).batches(), source.schema)

    def write(
        self, source: LocalSource, path: Path, *, metadata: Mapping[str, str], randomness: Randomness | None
    ) -> int:
        """Write one Parquet file, shuffled. See `anonkit.protocols.Engine.write`."""
        schema = source.schema.with_metadata(dict(metadata))
        kept: list[pa.RecordBatch] = []
        size = 0
        batches = source.batches()
        for batch in batches:
            kept.append(batch)
            size += batch.nbytes
            if size > _IN_MEMORY:
                return self._write_sorted(chain(kept, batches), path, schema, randomness)
        table = pa.Table.from_batches(kept, schema=source.schema)
        if randomness is not None:
            table = table.take(pa.array(np.argsort(row_words(randomness.key("shuffle"), 0, table.num_rows), kind="stable")))
        with _parquet_writer(path, schema) as writer:
            writer.write_table(table.unify_dictionaries().replace_schema_metadata(schema.metadata))
        return int(table.num_rows)

    def _write_sorted(
        self, batches: Iterator[pa.RecordBatch], path: Path, schema: pa.Schema, randomness: Randomness | None
    ) -> int:
        if randomness is None:
            return _write_stream(batches, path, schema)
        keyed = pa.schema([*schema, pa.field(_SORT_KEY, pa.uint64())])
        spool = self._new_file()
        _write_stream(_with_order(batches, randomness.key("shuffle"), keyed), spool, keyed)
        stored = LocalSource(keyed, 0, lambda _: iter(()), str(spool))
        listed = ", ".join(map(quote, schema.names))
        connection = self._connection()
        relation = connection.sql(
            f"SELECT {listed} FROM read_parquet('{stored.parquet}') ORDER BY {_SORT_KEY}"
        )
        rows = _write_stream(_cast_batches(pa.RecordBatchReader.from_stream(relation), schema), path, schema)
        spool.unlink()
        return rows


def row_words(key: bytes, first_row: int, n: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return one secret word a row, a function of the key and the row number alone, shape (n,)."""
    skip = first_row % 2  # two words a cipher block
    stream = keystream(key, 0, (first_row - skip) * 8, (n + skip) * 8)
    return np.frombuffer(stream, dtype="<u8")[skip:].astype(np.uint64, copy=False)


def _with_order(batches: Iterator[pa.RecordBatch], key: bytes, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    row = 0
    for batch in batches:
        words = pa.array(row_words(key, row, batch.num_rows))
        row += batch.num_rows
        yield pa.RecordBatch.from_arrays([*batch.columns, words], schema=schema)


def _parquet_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, schema, compression="zstd", version="2.6")


def _write_stream(batches: Iterator[pa.RecordBatch], path: Path, schema: pa.Schema) -> int:
    rows = 0
    with _parquet_writer(path, schema) as writer:
        for batch in batches:
            writer.write_batch(batch.replace_schema_metadata(schema.metadata))
            rows += batch.num_rows
    return rows


def _cast_batches(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_arrays(
            [batch.column(i).cast(field.type) for i, field in enumerate(schema)], schema=schema
        )


def _canonical_batches(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        try:
            arrays = [canonical_array(batch.column(i), field.type) for i, field in enumerate(schema)]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise SourceError("a column of the table holds values its type does not allow") from None
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _stored_canonically(schema: pa.Schema) -> bool:
    """True when SQL over the file itself counts as anonkit does: no floats, whose NaN and -0.0 need care."""
    return not any(pa.types.is_floating(field.type) or pa.types.is_dictionary(field.type) for field in schema)


def _declared_type(policy: Policy, name: str) -> ColumnType | None:
    column = policy.column(name)
    if column.type is not None:
        return column.type
    if column.bounds is not None or column.ladder is not None:
        return ColumnType.NUMBER
    if column.categories is not None or column.tree is not None:
        return ColumnType.STRING
    return None


def _arrow_type(kind: ColumnType) -> pa.DataType:
    from anonkit.engines.canonical import ARROW_TYPES

    return ARROW_TYPES[kind]


def _parse_batch(batch: pa.RecordBatch, row: int, *, kinds: Mapping[str, ColumnType]) -> pa.RecordBatch:
    arrays = [parse_texts(name, batch.column(i), kinds[name]) for i, name in enumerate(batch.schema.names)]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _row_counter(source: LocalSource) -> pa.Table:
    """A table with one constant column and the source's rows: what is counted when no column is asked for."""
    rows = sum(batch.num_rows for batch in source.batches([source.schema.names[0]]))
    return pa.table({"row": pa.array(np.zeros(rows, dtype=np.int8))})
