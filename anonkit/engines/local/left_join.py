# SPDX-License-Identifier: Apache-2.0
"""The left join of two tables in private files: DuckDB does it under a memory limit and spills to the private folder.

Every row of the first table stays, once for each row of the second that has its key, or once with missing cells. A
missing key joins nothing. Rows come in the order of the first table, then of the second, on every engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anonkit.documents import ReportPart, named
from anonkit.domains.cell_values import join_keys
from anonkit.engines.reading.sources import carrier_type, from_carrier, grouped, to_carrier
from anonkit.engines.writing.parquet_files import write_parquet
from anonkit.errors import EngineError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_KEY = "k"  # in a private file; its other columns are c0, c1, … since SQL does not distinguish `a` from `A`
_MEMORY = "1GB"
_PIECE = 64 << 20  # bytes of joined rows that are written at a time


@dataclass(frozen=True, eq=False)
class KeyedRows:
    """Batch function that gives a table the form in which it is joined: each row's key, and columns as carriers."""

    key: Sequence[str]
    """Columns that make up the key."""
    names: Sequence[str]
    """Columns that are joined, in order."""
    schema: pa.Schema

    @classmethod
    def of(cls, schema: pa.Schema, key: Sequence[str], names: Sequence[str]) -> KeyedRows:
        """Carry some columns of a table by its key."""
        fields = [(f"c{at}", carrier_type(schema.field(name).type)) for at, name in enumerate(names)]
        return cls(key=tuple(key), names=tuple(names), schema=pa.schema([(_KEY, pa.string()), *fields]))

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows in the form to be joined."""
        keys = join_keys([batch.column(name) for name in self.key])
        columns = [to_carrier(batch.column(name)) for name in self.names]
        return pa.RecordBatch.from_arrays([keys, *columns], schema=self.schema)


@dataclass(frozen=True, kw_only=True)
class JoinCounts(ReportPart):
    """Counts of matched, unmatched and repeated keys of two tables.

    Privacy
    -------
    Exact counts of the source: for the owner, and for a refusal where no differential privacy is promised.
    """

    first_rows: int = field(metadata=named("people"))
    first_without_key: int = field(metadata=named("people_without_a_key"))
    repeated_keys: int = field(metadata=named("people_with_the_key_of_another"))
    """Rows of the first table whose key an earlier row has."""
    first_alone: int = field(metadata=named("people_without_rows"))
    """Rows of the first table that no row of the second belongs to, those without a key among them."""
    second_rows: int = field(metadata=named("rows"))
    second_without_key: int = field(metadata=named("rows_without_a_key"))
    orphans: int = field(metadata=named("rows_of_nobody"))
    """Rows of the second table whose key no row of the first has."""


@dataclass(frozen=True, eq=False)
class LeftJoin:
    """Two tables in private Parquet files, in the form of `KeyedRows`.

    Parameters
    ----------
    first, second : Path
        The files.
    folder : Path
        Private folder for what does not fit into memory.
    """

    first: Path
    second: Path
    folder: Path

    def counts(self) -> JoinCounts:
        """Count matched, unmatched and repeated keys.

        Raises
        ------
        EngineError
            The disk is full.
        """
        first, second = _rows(self.first), _rows(self.second)
        sql = (
            f"SELECT (SELECT count(*) FROM {first}), (SELECT count(*) FROM {first} WHERE k IS NULL), "
            f"(SELECT count(k) - count(DISTINCT k) FROM {first}), "
            f"(SELECT count(*) FROM {first} AS a ANTI JOIN {second} AS b ON a.k = b.k), "
            f"(SELECT count(*) FROM {second}), (SELECT count(*) FROM {second} WHERE k IS NULL), "
            f"(SELECT count(*) FROM {second} AS b ANTI JOIN {first} AS a ON a.k = b.k WHERE b.k IS NOT NULL)"
        )
        with closing(self._connected()) as connection:
            found = _answer(lambda: connection.execute(sql).fetchall()[0])
        return JoinCounts(
            first_rows=found[0],
            first_without_key=found[1],
            repeated_keys=found[2],
            first_alone=found[3],
            second_rows=found[4],
            second_without_key=found[5],
            orphans=found[6],
        )

    def write(self, path: Path, schema: pa.Schema, n_first: int, *, since_first: Sequence[int] = ()) -> int:
        """Write the joined rows as Parquet; return their number.

        Parameters
        ----------
        schema : pyarrow.Schema
            Names and canonical types of the result: the key, the columns of the first table, those of the second.
        n_first : int
            Columns of the first table.
        since_first : sequence of int
            Columns of the second table, by place, that hold numbers and are written as what is added to the smallest
            number that rows of the same key have in any of them.

        Raises
        ------
        EngineError
            The disk is full.
        """
        columns = [f"a.c{at}" for at in range(n_first)]
        least = ", ".join(f"min(b.c{at}) OVER same" for at in since_first)
        columns += [
            f"b.c{at} - least({least})" if at in since_first else f"b.c{at}" for at in range(len(schema) - 1 - n_first)
        ]
        sql = (
            f"SELECT {', '.join(['a.k', *columns])} FROM {_rows(self.first)} AS a LEFT JOIN {_rows(self.second)} AS b "
            "ON a.k = b.k WINDOW same AS (PARTITION BY a.k) ORDER BY a.file_row_number, b.file_row_number NULLS FIRST"
        )
        with closing(self._connected()) as connection:
            reader = _answer(lambda: pa.RecordBatchReader.from_stream(connection.sql(sql)))
            return write_parquet(grouped(_canonical(reader, schema), schema, _PIECE), schema, path, {})

    def _connected(self) -> DuckDBPyConnection:
        import duckdb

        connection = duckdb.connect(
            ":memory:",
            config={
                "memory_limit": _MEMORY,
                "temp_directory": str(self.folder),
                "preserve_insertion_order": False,
                "autoload_known_extensions": False,
                "autoinstall_known_extensions": False,
            },
        )
        connection.execute("SET enable_progress_bar = false")  # in a notebook it would be shown on stdout
        return connection


def _rows(path: Path) -> str:
    literal = "'" + str(path).replace("'", "''") + "'"
    return f"read_parquet({literal}, file_row_number = true, hive_partitioning = false)"


def _canonical(reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield joined rows in their canonical types."""
    batches = iter(reader)
    while True:
        batch = _answer(lambda: next(batches, None))
        if batch is None:
            return
        arrays = [
            from_carrier(array.cast(carrier_type(field.type)), field.type)
            for array, field in zip(batch.columns, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _answer(question: Any) -> Any:
    """Return the answer of DuckDB; its own messages may hold cells."""
    import duckdb

    try:
        return question()
    except (duckdb.Error, pa.ArrowException, OSError):
        hint = "is there room for temporary files? TMPDIR names their folder"
        raise EngineError("joining the tables failed", hint) from None
