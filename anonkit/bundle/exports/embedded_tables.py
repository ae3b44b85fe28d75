# SPDX-License-Identifier: Apache-2.0
"""Tables in SQLite and DuckDB files: one transaction for the rows and the sidecars, other tables stay as they are."""

from __future__ import annotations

import os
import shutil
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.bundle.atomic import Staging, finish, reason_of
from anonkit.bundle.exports.export_files import (
    BATCH_ROWS,
    RULES,
    SIDECAR_TABLE,
    ExportedRows,
    Target,
    refuse_column_names,
)
from anonkit.bundle.exports.server_tables import DUCKDB, SQLITE, sql_type
from anonkit.bundle.release_place import BESIDE_SQLITE
from anonkit.bundle.sql_names import in_quotes
from anonkit.errors import EngineError, ParameterError, ReleaseFormatError

_OBJECTS = {
    what: f"SELECT {what}_name, schema_name FROM duckdb_{what}{'es' if what == 'index' else 's'}() "
    f"WHERE database_name = current_database(){'' if what in ('sequence', 'index') else ' AND NOT internal'}"
    for what in ("table", "view", "sequence", "function", "type", "index")
}
"""Statements that list what a file of DuckDB holds."""


class EmbeddedTable(ABC):
    """A table in the file of a database; a file that is not there yet is made aside and renamed into place."""

    escapes_formulas: ClassVar[bool] = False
    empty_is_missing: ClassVar[bool] = False
    typed_cells: ClassVar[bool] = False
    digits: ClassVar[int | None] = None
    types: ClassVar[Mapping[str, str]]

    def __init__(self, target: Target) -> None:
        assert target.path is not None  # noqa: S101 - targets of files have one
        self.target, self.path = target, target.path
        self._staging: Staging | None = None
        self._connection: Any = None
        self.remains = False

    @abstractmethod
    def connect(self, path: str, *, read_only: bool) -> Any:
        """Open a database."""

    @abstractmethod
    def tables(self) -> set[str]:
        """Return the names of tables and views in the target's schema."""

    @abstractmethod
    def insert(self, rows: ExportedRows) -> None:
        """Insert all rows."""

    @abstractmethod
    def columns(self) -> Sequence[tuple[str, str]]:
        """Return name and type of every column."""

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""

    companion_suffixes: ClassVar[tuple[str, ...]] = ()
    """Suffixes of the files that the database keeps beside its own."""
    keeps_what_is_dropped: ClassVar[bool] = False
    """True: cells of a dropped table stay in the file until something is written over them."""
    suffix: ClassVar[str] = ""
    """Clause after the columns of a new table."""

    def type_of(self, kind: pa.DataType) -> str:
        """Return the name of a column's type in this database."""
        return sql_type(kind, self.types)

    def exists(self) -> bool:
        """Return True if the table is there, or the one of its sidecars."""
        if self.path.parent.is_dir():
            finish(self.path.parent, self.path.name)
        if not self.path.exists():
            return False
        with self.saying_what_failed():
            self._connection = self.connect(str(self.path), read_only=True)
            found = self.tables()
        self.close()
        return any(self.has_table(found, self.target.table + more) for more in ("", SIDECAR_TABLE))

    def has_table(self, found: set[str], table: str) -> bool:
        """Return True if a table is among those found, by what the database takes for one name."""
        folded = RULES[self.target.form].folded
        return folded(table) in {folded(name) for name in found}

    def named(self, more: str = "") -> str:
        """Return the table as SQL spells it, or the one whose name goes on with `more`."""
        within = "" if self.target.schema is None else f"{in_quotes(self.target.schema)}."
        return within + in_quotes(self.target.table + more)

    def opened(self) -> Any:
        """Return the connection, to read what is there when nothing was written."""
        if self._connection is None:
            if not self.path.exists():
                raise ReleaseFormatError(f"{self.target.named!r} does not exist")
            self._connection = self.connect(str(self.path), read_only=True)
            if not self.has_table(self.tables(), self.target.table):
                raise ReleaseFormatError(f"{self.target.named!r} has no table {self.target.table!r}")
        return self._connection

    def write(self, rows: ExportedRows, sidecars: Mapping[str, bytes]) -> None:
        """Write the table, and one with its sidecars, in a transaction that is open until `commit`.

        Raises
        ------
        EngineError
            The file cannot be written.
        ParameterError
            The database cannot hold a value, or a name.
        """
        refuse_column_names(self.target.form, rows.schema.names)
        path = self.path
        if not path.exists() or self._has_only_an_export():
            self._staging = Staging(path.parent, path.name)
            path = self._staging.folder / path.name
        table, beside = self.named(), self.named(SIDECAR_TABLE)
        with self.saying_what_failed():
            self._connection = self.connect(str(path), read_only=False)
            self.erase_what_is_dropped()
            self._connection.execute("BEGIN")
            self.remains = self.keeps_what_is_dropped and self.has_table(self.tables(), self.target.table)
            self._connection.execute(f"DROP TABLE IF EXISTS {table}")
            self._connection.execute(f"DROP TABLE IF EXISTS {beside}")
            self._connection.execute(self.created((field.name, self.type_of(field.type)) for field in rows.schema))
            self.insert(rows)
            kind = self.types["string"]
            self._connection.execute(f"CREATE TABLE {beside} (name {kind}, content {kind}){self.suffix}")
            for name, content in sidecars.items():
                self._connection.execute(f"INSERT INTO {beside} VALUES (?, ?)", [name, content.decode()])

    def created(self, columns: Iterable[tuple[str, str]]) -> str:
        """Return the statement that makes the table, of columns by name and type."""
        listed = ", ".join(f"{in_quotes(name)} {kind}" for name, kind in columns)
        return f"CREATE TABLE {self.named()} ({listed}){self.suffix}"

    def _has_only_an_export(self) -> bool:
        """Return True if a file holds the two tables of an export alone: it is written anew then, no old cell stays.

        A link is none of ours to replace.
        """
        if self.path.is_symlink():
            return False
        with self.saying_what_failed():
            self._connection = self.connect(str(self.path), read_only=False)
            found = self.everything()
        self.close()
        own = {self.target.table, self.target.table + SIDECAR_TABLE}
        folded = RULES[self.target.form].folded
        return {folded(name) for name in found} <= {folded(name) for name in own}

    @abstractmethod
    def everything(self) -> set[str]:
        """Return the names of all tables, views, indexes and whatever else a file holds."""

    @abstractmethod
    def erase_what_is_dropped(self) -> None:
        """Let the database overwrite the cells of a table that is dropped, where it can."""

    def commit(self) -> None:
        """End the transaction, and put a new file in place; what the database keeps beside its file goes with the old.

        A file that is replaced keeps its permissions.
        """
        with self.saying_what_failed():
            self._connection.execute("COMMIT")
            self._connection.close()
            self._connection = None
        if self._staging is not None:
            if self.path.exists():
                shutil.copymode(self.path, self._staging.folder / self.path.name)
            self._staging.commit(
                [self.path.name], absent=[f"{self.path.name}{more}" for more in self.companion_suffixes]
            )

    def close(self) -> None:
        """Roll back what was not committed, and delete a file that was not put in place."""
        if self._connection is not None:
            with suppress(Exception):
                self._connection.execute("ROLLBACK")
            self._connection.close()
            self._connection = None
        if self._staging is not None:
            self._staging.discard()
            self._staging = None

    @contextmanager
    def saying_what_failed(self) -> Iterator[None]:
        """Name the file when its database fails, and nothing of what the database says: it may quote cells."""
        import duckdb

        try:
            yield
        except (sqlite3.Error, duckdb.Error) as error:
            raise EngineError(f"{self.target.named!r} failed as a database ({type(error).__name__})") from None
        except OSError as error:
            raise EngineError(f"cannot write {self.target.named!r}: {reason_of(error)}") from None


class SqliteExport(EmbeddedTable):
    """A strict table of SQLite: truth values are 0 and 1, dates and times are strings as in ISO 8601."""

    types: ClassVar[Mapping[str, str]] = SQLITE
    companion_suffixes: ClassVar[tuple[str, ...]] = BESIDE_SQLITE
    suffix: ClassVar[str] = " STRICT"

    def connect(self, path: str, *, read_only: bool) -> sqlite3.Connection:
        """Open the file; transactions begin where they are begun."""
        uri = f"{Path(path).resolve().as_uri()}?mode={'ro' if read_only else 'rwc'}"
        return sqlite3.connect(uri, uri=True, isolation_level=None)

    def tables(self) -> set[str]:
        """Return the names of tables and views."""
        return {row[0] for row in self._connection.execute("SELECT name FROM sqlite_master")}

    def everything(self) -> set[str]:
        """Return the names of all that a file holds; whoever is writing into it is waited for."""
        self._connection.execute("BEGIN EXCLUSIVE")
        return self.tables()

    def erase_what_is_dropped(self) -> None:
        """Ask for it: whether SQLite does it by itself depends on how it was built."""
        self._connection.execute("PRAGMA secure_delete = ON")

    def commit(self) -> None:
        """End the transaction; the log of writes, where a file has one, is emptied."""
        with self.saying_what_failed():
            self._connection.execute("COMMIT")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.execute("BEGIN")
        super().commit()

    def insert(self, rows: ExportedRows) -> None:
        """Insert all rows, batch by batch."""
        marks = ", ".join("?" for _ in rows.schema)
        for batch in rows.batches():
            columns = [_as_sqlite(cells, batch.schema.names[at]).to_pylist() for at, cells in enumerate(batch.columns)]
            self._connection.executemany(f"INSERT INTO {self.named()} VALUES ({marks})", zip(*columns, strict=True))

    def columns(self) -> Sequence[tuple[str, str]]:
        """Return name and declared type of every column."""
        with self.saying_what_failed():
            rows = self.opened().execute(f"PRAGMA table_info({self.named()})")
            return [(name, kind) for _, name, kind, *_ in rows]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows; a column whose cells are not of one type becomes strings that no release has."""
        with self.saying_what_failed():
            cursor = self.opened().execute(f"SELECT * FROM {self.named()}")
            names = [str(at) for at in range(len(cursor.description))]
            while rows := cursor.fetchmany(BATCH_ROWS):
                yield pa.RecordBatch.from_arrays([_as_array(cells) for cells in zip(*rows, strict=True)], names=names)


class SqliteCopy(SqliteExport):
    """The rows of a release as the only table of an SQLite file, `released`, among the release's files.

    The file comes from others when it is read: it is opened as one that nobody changes, so that nothing is made beside
    it, and nothing of it is evaluated but the rows of the one plain table that anonkit makes.
    """

    def refuse_unheld(self, names: Sequence[str], texts: Mapping[str, Sequence[str]]) -> None:
        """Refuse columns that SQLite cannot hold; it holds any string."""
        refuse_column_names(self.target.form, names)

    def refuse_size(self, n_rows: int) -> None:
        """Refuse nothing: SQLite holds any number of rows."""

    def connect(self, path: str, *, read_only: bool) -> sqlite3.Connection:
        """Open the file; one that is read is taken for one that stays as it is."""
        if not read_only:
            return super().connect(path, read_only=False)
        return sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)

    def write_table(self, rows: ExportedRows, path: Path) -> None:
        """Write the rows into a file that is not there yet."""
        self.refuse_unheld(rows.schema.names, {})
        with self.saying_what_failed():
            self._connection = self.connect(str(path), read_only=False)
            self._connection.execute("BEGIN")
            self._connection.execute(self.created((field.name, self.type_of(field.type)) for field in rows.schema))
            self.insert(rows)
            self._connection.execute("COMMIT")
        self.close()

    def opened(self) -> Any:
        """Return the connection to a file that holds this table, as anonkit makes it, and nothing else.

        Raises
        ------
        ReleaseFormatError
            It holds something else, or files are beside it that SQLite would read with it.
        """
        if self._connection is not None:
            return self._connection
        beside = any(os.path.lexists(f"{self.path}{more}") for more in self.companion_suffixes)
        if beside or not self.path.is_file():
            raise ReleaseFormatError(f"{self.target.named!r} is not one file of SQLite")
        try:
            connection = self._connection = self.connect(str(self.path), read_only=True)
            entries = connection.execute("SELECT type, name, sql FROM sqlite_master LIMIT 2").fetchall()
            [(kind, name, statement)] = entries
            plain = (kind, name) == ("table", self.target.table) and statement.startswith("CREATE TABLE ")
            columns = connection.execute(f"PRAGMA table_info({self.named()})").fetchall() if plain else ()
            if not columns or statement != self.created((column[1], column[2]) for column in columns):
                raise ValueError
        except (sqlite3.Error, ValueError, AttributeError):
            self.close()
            raise ReleaseFormatError(f"{self.target.named!r} is not one plain table of SQLite") from None
        return self._connection


def _as_sqlite(cells: pa.Array, name: str) -> pa.Array:
    """Return cells as SQLite holds them."""
    kind = cells.type
    if pa.types.is_boolean(kind):
        return cells.cast(pa.int8())
    if pa.types.is_uint64(kind):
        try:
            return cells.cast(pa.int64())
        except pa.ArrowInvalid:
            raise ParameterError(
                f"column {name!r} has whole numbers of 2⁶³ or more, which SQLite cannot hold"
            ) from None
    if pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        return cells.cast(pa.string())
    return cells


def _as_array(cells: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if cell is None else f"{type(cell).__name__}\x00{cell}" for cell in cells], pa.string())


class DuckdbExport(EmbeddedTable):
    """A table of DuckDB."""

    companion_suffixes: ClassVar[tuple[str, ...]] = (".wal",)
    keeps_what_is_dropped: ClassVar[bool] = True
    types: ClassVar[Mapping[str, str]] = DUCKDB

    def connect(self, path: str, *, read_only: bool) -> Any:
        """Open the file, with a limit on its memory."""
        import duckdb

        connection = duckdb.connect(path, read_only=read_only, config={"memory_limit": "1GB", "threads": 2})
        connection.execute("SET enable_progress_bar = false")  # in a notebook it would be shown on stdout
        return connection

    def tables(self) -> set[str]:
        """Return the names of tables and views in the target's schema."""
        rows = self._connection.execute(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_catalog = current_database() AND lower(table_schema) = lower(?)",
            [self.target.schema or "main"],
        )
        return {row[0] for row in rows.fetchall()}

    def everything(self) -> set[str]:
        """Return the names of all that a file holds; a table of another schema goes with its schema's name."""
        found = {
            row[0] if row[1] == "main" else f"{row[1]}.{row[0]}"
            for what in ("table", "view", "sequence", "function", "type", "index")
            for row in self._connection.execute(_OBJECTS[what]).fetchall()
        }
        schemas = self._connection.execute(
            "SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database() AND NOT internal"
        ).fetchall()
        return found | {f"{name}." for (name,) in schemas if name != "main"}

    def erase_what_is_dropped(self) -> None:
        """Do nothing: DuckDB writes over free blocks when it needs them."""

    def insert(self, rows: ExportedRows) -> None:
        """Insert all rows from a stream of batches."""
        import duckdb

        failed: list[Exception] = []
        reader = pa.RecordBatchReader.from_batches(rows.schema, _noting(rows.batches(), failed))
        self._connection.register("anonkit_released_rows", reader)
        try:
            self._connection.execute(f"INSERT INTO {self.named()} SELECT * FROM anonkit_released_rows")
        except duckdb.Error:
            raise (failed or [duckdb.Error()])[0] from None
        self._connection.unregister("anonkit_released_rows")

    def columns(self) -> Sequence[tuple[str, str]]:
        """Return name and type of every column."""
        with self.saying_what_failed():
            rows = self.opened().execute(f"DESCRIBE {self.named()}").fetchall()
            return [(row[0], row[1]) for row in rows]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as a stream."""
        with self.saying_what_failed():
            result = self.opened().sql(f"SELECT * FROM {self.named()}")
            for batch in result.to_arrow_reader(BATCH_ROWS):
                yield pa.RecordBatch.from_arrays(
                    [pc.cast(cells, pa.string()) if pa.types.is_large_string(cells.type) else cells for cells in batch],
                    names=batch.schema.names,
                )


def _noting(batches: Iterator[pa.RecordBatch], failed: list[Exception]) -> Iterator[pa.RecordBatch]:
    """Yield batches, and keep what ends them: DuckDB turns it into an error of its own."""
    try:
        yield from batches
    except Exception as error:
        failed.append(error)
        raise
