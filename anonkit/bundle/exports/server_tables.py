# SPDX-License-Identifier: Apache-2.0
"""A table on a PostgreSQL server: rows and sidecars arrive by COPY in one transaction, or not at all.

Types of columns in a release, and what they are called in each database.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv

from anonkit.bundle.exports.export_files import SIDECAR_TABLE, ExportedRows, Target, refuse_column_names
from anonkit.errors import EngineError, MissingDependencyError, ParameterError, ReleaseFormatError

DUCKDB: Mapping[str, str] = {
    "string": "VARCHAR", "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER",
    "int64": "BIGINT", "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT",
    "float": "FLOAT", "double": "DOUBLE", "date32[day]": "DATE", "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE", "time64[us]": "TIME", "decimal": "DECIMAL({},{})",
}  # fmt: skip
SQLITE: Mapping[str, str] = {
    "string": "TEXT", "float": "REAL", "double": "REAL", "date32[day]": "TEXT", "timestamp": "TEXT",
    "timestamptz": "TEXT", "time64[us]": "TEXT", "decimal": "TEXT",
    **dict.fromkeys(("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), "INTEGER"),
}  # fmt: skip
POSTGRESQL: Mapping[str, str] = {
    "string": "text", "bool": "boolean", "int8": "smallint", "int16": "smallint", "int32": "integer",
    "int64": "bigint", "uint8": "smallint", "uint16": "integer", "uint32": "bigint", "uint64": "numeric(20,0)",
    "float": "real", "double": "double precision", "date32[day]": "date",
    "timestamp": "timestamp without time zone", "timestamptz": "timestamp with time zone",
    "time64[us]": "time without time zone", "decimal": "numeric({},{})",
}  # fmt: skip


def sql_type(kind: pa.DataType, types: Mapping[str, str]) -> str:
    """Return the name of a type in a database."""
    if pa.types.is_timestamp(kind):
        return types["timestamp" if kind.tz is None else "timestamptz"]
    if pa.types.is_decimal(kind):
        return types["decimal"].format(kind.precision, kind.scale)
    return types[str(kind)]


def exported_type(name: str, kind: pa.DataType) -> pa.DataType:
    """Return the type a column is exported as: strings for categories, days for dates, microseconds for times.

    Raises
    ------
    ParameterError
        No form but Parquet has such a type.
    """
    if pa.types.is_dictionary(kind):
        return exported_type(name, kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_string(kind):
        return pa.string()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_time(kind):
        return pa.time64("us")
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_null(kind):
        return pa.string()
    if str(kind) in DUCKDB or pa.types.is_decimal(kind):
        return kind
    raise ParameterError(f"column {name!r} is of type {kind}, which only the Parquet file can hold")


_PATIENCE = {
    "connect_timeout": "15",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
    "application_name": "anonkit",
}
"""Defaults of libpq where the address sets none: a server that is gone is noticed within about a minute."""
_TIMES = "timestamp with time zone"


class ServerTable:
    """A table on a server; what libpq knows from its environment and its files (PGPASSWORD, .pgpass) holds here."""

    escapes_formulas: ClassVar[bool] = False
    empty_is_missing: ClassVar[bool] = False
    typed_cells: ClassVar[bool] = False
    digits: ClassVar[int | None] = None

    def __init__(self, target: Target) -> None:
        self.target = target
        self._driver = _driver()
        self._open: Any = None
        self.remains = False
        self._columns: list[tuple[str, str]] | None = None

    def exists(self) -> bool:
        """Return True if the table is there, or the one of its sidecars."""
        with self._saying_what_failed():
            found = self._connection.execute(
                "SELECT to_regclass(%s) IS NOT NULL OR to_regclass(%s) IS NOT NULL",
                [self._name().as_string(None), self._name(SIDECAR_TABLE).as_string(None)],
            ).fetchone()
            return bool(found[0])

    def write(self, rows: ExportedRows, sidecars: Mapping[str, bytes]) -> None:
        """Write the table, and one with its sidecars, in the transaction of this connection.

        Raises
        ------
        EngineError
            The server refuses, or is gone.
        ParameterError
            It cannot hold a name or a text.
        """
        refuse_column_names(self.target.form, rows.schema.names)
        sql = self._driver.sql
        listed = sql.SQL(", ").join(
            sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(self.type_of(field.type)))
            for field in rows.schema
        )
        with self._saying_what_failed():
            for name in (self._name(), self._name(SIDECAR_TABLE)):
                self._connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(name))
            self._connection.execute(sql.SQL("CREATE TABLE {} ({})").format(self._name(), listed))
            cursor = self._connection.cursor()
            statement = sql.SQL("COPY {} FROM STDIN (FORMAT csv)").format(self._name())
            with cursor.copy(statement) as copy:
                for batch in rows.batches():
                    copy.write(_as_csv(batch))
            beside = self._name(SIDECAR_TABLE)
            self._connection.execute(sql.SQL("CREATE TABLE {} (name text, content text)").format(beside))
            for name, content in sidecars.items():
                self._connection.execute(
                    sql.SQL("INSERT INTO {} VALUES (%s, %s)").format(beside), [name, content.decode()]
                )

    def type_of(self, kind: pa.DataType) -> str:
        """Return the name of a column's type in this database."""
        return sql_type(kind, POSTGRESQL)

    def columns(self) -> Sequence[tuple[str, str]]:
        """Return name and type of every column."""
        if self._columns is None:
            with self._saying_what_failed():
                name = self._name().as_string(None)
                found = self._connection.execute("SELECT to_regclass(%s)", [name]).fetchone()
                if found[0] is None:
                    raise ReleaseFormatError(f"{self.target.named!r} has no table {self.target.table!r}")
                rows = self._connection.execute(
                    "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                    "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
                    [name],
                )
                self._columns = [(str(column), str(kind)) for column, kind in rows]
        return self._columns

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the cells as strings, times in UTC."""
        sql = self._driver.sql
        listed = sql.SQL(", ").join(
            sql.SQL("({} AT TIME ZONE 'UTC')::text || 'Z'" if kind == _TIMES else "{}::text").format(
                sql.Identifier(name)
            )
            for name, kind in self.columns()
        )
        statement = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT csv)").format(listed, self._name())
        names = [str(at) for at in range(len(self.columns()))]
        with self._saying_what_failed(), self._connection.cursor().copy(statement) as copy:
            stream = _ServerBytes(copy)
            try:
                reader = pc_csv.open_csv(
                    pa.PythonFile(stream, mode="r"),
                    read_options=pc_csv.ReadOptions(column_names=names, block_size=1 << 22, use_threads=False),
                    parse_options=pc_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(names) != 1),
                    convert_options=pc_csv.ConvertOptions(
                        column_types=dict.fromkeys(names, pa.string()),
                        null_values=[""],
                        strings_can_be_null=True,
                        quoted_strings_can_be_null=False,
                    ),
                )
                yield from reader
            except pa.ArrowInvalid:
                if stream.sent:  # no row at all is no error
                    raise EngineError(f"{self.target.named!r} sent rows that cannot be read") from None

    def commit(self) -> None:
        """End the transaction."""
        with self._saying_what_failed():
            self._connection.commit()

    def close(self) -> None:
        """End the session, and with it what was not committed.

        No word is sent for it: while rows arrive, a session waits for their end before it hears a ROLLBACK.
        """
        if self._open is not None:
            self._open.close()
            self._open = None

    @property
    def _connection(self) -> Any:
        if self._open is None:
            try:
                given = self._driver.conninfo.conninfo_to_dict(self.target.address)
            except self._driver.Error:
                raise ParameterError(
                    f"{self.target.named!r} is no address of a database",
                    "postgresql://user@host/database?table=released",
                ) from None
            settings = {**_PATIENCE, **{key: str(value) for key, value in given.items()}}
            self._open = self._driver.connect(**settings, prepare_threshold=None)
            self._open.execute("SET DateStyle = 'ISO'; SET extra_float_digits = 1; SET client_encoding = 'UTF8'")
        return self._open

    def _name(self, more: str = "") -> Any:
        parts = [*([] if self.target.schema is None else [self.target.schema]), self.target.table + more]
        return self._driver.sql.Identifier(*parts)

    @contextmanager
    def _saying_what_failed(self) -> Iterator[None]:
        """Name the server and the kind of failure, and nothing of what it says: that may quote cells or secrets."""
        try:
            yield
        except self._driver.Error as error:
            what = "is not to be reached, or refused" if self._open is None else "failed"
            kind = error.sqlstate or type(error).__name__
            raise EngineError(
                f"{self.target.named!r} {what} ({kind})", "nothing was changed: no transaction was ended"
            ) from None


class _ServerBytes(io.RawIOBase):
    """Bytes that a server sends, as a file to read from."""

    def __init__(self, copy: Any) -> None:
        self._copy, self._rest, self.sent = copy, b"", False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        pieces, length = [self._rest], len(self._rest)
        while size < 0 or length < size:
            piece = self._copy.read()
            if not piece:
                break
            pieces.append(bytes(piece))
            length += len(piece)
            self.sent = True
        whole = b"".join(pieces)
        self._rest = b"" if size < 0 else whole[size:]
        return whole if size < 0 else whole[:size]


def _as_csv(batch: pa.RecordBatch) -> bytes:
    for field, cells in zip(batch.schema, batch.columns, strict=True):
        if pa.types.is_string(field.type) and pc.any(pc.match_substring(cells, "\0")).as_py():
            raise ParameterError(
                f"column {field.name!r} has texts with U+0000, which PostgreSQL cannot hold", "export to a file instead"
            )
    buffer = io.BytesIO()
    pc_csv.write_csv(batch, buffer, pc_csv.WriteOptions(include_header=False, quoting_style="needed"))
    return buffer.getvalue()


def _driver() -> ModuleType:
    try:
        import psycopg
        import psycopg.conninfo
        import psycopg.sql
    except ImportError:
        raise MissingDependencyError.of_extra("psycopg, which tables on a server need,", "postgres") from None
    driver: ModuleType = psycopg
    return driver
