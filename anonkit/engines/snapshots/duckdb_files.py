# SPDX-License-Identifier: Apache-2.0
"""Tables, views and queries of DuckDB files, opened for reading alone, in one transaction.

DuckDB's types are kept where Arrow has the same. Integers of 128 bits and more come as exact decimal strings, typed as
the cells of a text file are; UUIDs, intervals, bit strings, times with a zone and enums as DuckDB spells them. Bytes,
JSON, lists, structs, maps, unions and shapes are refused. Infinite days are missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.sql_names import in_quotes, own_names
from anonkit.engines.reading.failures import FOREIGN, shielded
from anonkit.engines.reading.parquet_tables import FileTable, check_names
from anonkit.engines.reading.sources import BATCH_ROWS
from anonkit.engines.snapshots.addresses import SourceAddress
from anonkit.engines.snapshots.postgresql_tables import refuse_parameters, select_statement
from anonkit.engines.snapshots.private_copies import written_copy
from anonkit.errors import ParameterError, SourceError
from anonkit.policy.declaration import Policy

_AS_IT_IS = "{0}"
_SPELLED = "CAST({0} AS VARCHAR)"
_FINITE = "CASE WHEN isfinite({0}) THEN {0} END"
_WRITTEN: Mapping[str, str] = {
    **dict.fromkeys(("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "VARCHAR", "FLOAT", "DOUBLE"), _AS_IT_IS),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "DECIMAL", "TIME"), _AS_IT_IS),
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"), _FINITE),
    **dict.fromkeys(("TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"), _FINITE),
    **dict.fromkeys(("UUID", "INTERVAL", "BIT", "TIME WITH TIME ZONE", "ENUM"), _SPELLED),
    '"NULL"': _SPELLED,
}
"""SQL of a column by its type; `{0}` is its name."""
_DIGITS = ("HUGEINT", "UHUGEINT", "BIGNUM", "VARINT")
_SETTINGS = {"enable_external_access": "false", "memory_limit": "1GB", "threads": "2"}
"""A query reads this file and no other, and installs nothing."""
_SESSION = "SET enable_progress_bar = false; SET lock_configuration = true"
"""In a notebook DuckDB shows how far a query is, on stdout; the query itself changes no setting."""
_BY_WORDS: Sequence[tuple[str, str, str | None]] = (
    ("set lock on file", "is locked by another program", "DuckDB lets one program write, or many read: close that one"),
    ("not a valid duckdb", "is no DuckDB database, or an encrypted one", None),
    ("cannot open file", "cannot be opened", "may you read the file?"),
    ("wal", "was not closed in order", "open it once with DuckDB, which then writes its log into the file"),
    ("version number", "was written by another version of DuckDB", "pip install -U duckdb"),
    ("file system operations are disabled", "holds a view or a query that reads other files", "load them into a table"),
    ("table with name", "has no such table", "schema.table, where it is not in the schema main"),
    ("catalog error", "does not know what the query names", None),
    ("referenced column", "has no column that the query names", None),
    ("parser error", "does not understand the query", "try it with DuckDB's own client"),
)


def live_table(address: SourceAddress, policy: Policy) -> DuckdbTable:
    """Return a table of a file; the file is not opened yet."""
    refuse_parameters(address, "table")
    return DuckdbTable(address=address, select=select_statement(address, folds=False))


@dataclass(frozen=True, kw_only=True, repr=False)
class DuckdbTable:
    """Rows of a DuckDB file; see `anonkit.engines.snapshots.dispatch.LiveTable`."""

    address: SourceAddress
    select: str
    """A SELECT statement."""

    def copy(self, folder: Path) -> FileTable:
        """Read all rows; while the file is open no other program can write to it.

        Raises
        ------
        SourceError
            The file cannot be read, another program holds it, or the statement is refused.
        ParameterError
            The query is more than one statement, or none that selects.
        """
        import duckdb

        foreign = (duckdb.Error, *FOREIGN)
        path, named = self.address.file_path, self.address.place
        if not shielded(path.is_file, self._refusal):
            raise SourceError(f"{str(path)!r} does not exist", "duckdb:///people.duckdb is in this folder")
        spilled = folder / "sorting"  # beside the file, where DuckDB would put them, rows of a query would be readable
        settings = {**_SETTINGS, "temp_directory": str(spilled)}
        connection = shielded(
            lambda: duckdb.connect(str(path), read_only=True, config=settings), self._refusal, foreign
        )
        with closing(connection):
            shielded(lambda: connection.execute(_SESSION), self._refusal, foreign)
            selected, texts = shielded(lambda: self._columns(connection, duckdb), self._refusal, foreign)
            own = ", ".join(own_names(list(selected)).values())
            listed = ", ".join(f"{how} AS {in_quotes(name)}" for name, how in selected.items())
            rows = f"SELECT {listed} FROM (\n{self.select}\n) AS rows({own})"
            reader = shielded(lambda: connection.sql(rows).to_arrow_reader(BATCH_ROWS), self._refusal, foreign)

            def batches() -> Iterator[pa.RecordBatch]:
                while (batch := shielded(lambda: next(reader, None), self._refusal, foreign)) is not None:
                    yield batch

            return written_copy(batches(), reader.schema, folder, named, texts)

    def _columns(self, connection: Any, duckdb: Any) -> tuple[dict[str, str], list[str]]:
        """Return the selection of each column of the owner's rows, and the strings without a type."""
        statements = connection.extract_statements(self.select)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise ParameterError("the query is not one SELECT statement", "a source is read, and nothing in it changed")
        rows = connection.sql(self.select)
        check_names(rows.columns)
        selected, texts = {}, []
        for (name, own), given in zip(own_names(rows.columns).items(), rows.types, strict=True):
            kind = str(given)
            base = "" if kind.endswith("]") else kind.partition("(")[0]
            how = _SPELLED if base in _DIGITS else _WRITTEN.get(base)
            if how is None:
                raise SourceError(
                    f"column {name!r} has a DuckDB type that no cell can have",
                    "leave it out, or spell it as text, by a query: SELECT name, other::VARCHAR FROM …",
                )
            if base in _DIGITS:
                texts.append(name)
            selected[name] = how.format(own)
        return selected, texts

    def _refusal(self, error: Exception) -> SourceError:
        words = str(error).lower()
        for part, what, hint in _BY_WORDS:
            if part in words:
                return SourceError(f"{self.address.shown} {what}", hint)
        return SourceError(f"{self.address.shown} does not answer the query", "try it with DuckDB's own client")
