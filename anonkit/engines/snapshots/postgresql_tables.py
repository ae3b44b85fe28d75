# SPDX-License-Identifier: Apache-2.0
"""Tables, views and queries of a PostgreSQL server, read by ADBC in one read-only transaction.

The server's types are kept where Arrow has the same: truth values, integers, floats, strings, dates, times, timestamps
(with a zone: in UTC). `numeric`, `money` and `oid` come as exact decimal strings, typed as the cells of a text file
are, so that two numbers of 20 digits stay two; enums, UUIDs, network addresses, intervals and bit strings as the server
spells them. Bytes, JSON, XML, arrays, composites, ranges and shapes are refused. What SQL has and a cell has not is
missing: `NaN`, infinite days, the time 24:00.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from anonkit.bundle.sql_names import in_quotes
from anonkit.bundle.starting_servers import when_started
from anonkit.engines.reading.failures import FOREIGN, shielded
from anonkit.engines.reading.file_tables import FileTable
from anonkit.engines.reading.names import check_names
from anonkit.engines.snapshots.addresses import SourceAddress
from anonkit.engines.snapshots.row_copies import written_copy
from anonkit.engines.snapshots.sql_failures import Phase, refusal_of_server
from anonkit.engines.snapshots.sql_rows import asked_rows, without_table
from anonkit.errors import MissingDependencyError, SourceError
from anonkit.policy.declaration import Policy

_T = TypeVar("_T")

_PATIENCE = {
    "connect_timeout": "15",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
    "application_name": "anonkit",
}
"""Defaults of libpq where the address sets none: a server that is gone is noticed within about a minute."""
_SESSION = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    "SET LOCAL TIME ZONE 'UTC'",
    "SET LOCAL DateStyle = 'ISO'",
    "SET LOCAL IntervalStyle = 'iso_8601'",
)
_BATCH_BYTES = str(8 << 20)
_TYPE = b"POSTGRESQL:type"
"""Metadata key of the server's name of a type: Arrow's type alone takes an amount of money for an integer."""

_AS_IT_IS = "{0}"
_SPELLED = "{0}::text"
_FINITE = "CASE WHEN isfinite({0}) THEN {0} END"
_WRITTEN: Mapping[str, str] = {
    **dict.fromkeys(("bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "name"), _AS_IT_IS),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), _FINITE),
    "time": "CASE WHEN {0} < '24:00' THEN {0} END",
    **dict.fromkeys(("bpchar", "char", "citext", "uuid", "inet", "cidr", "macaddr", "macaddr8"), _SPELLED),
    **dict.fromkeys(("interval", "timetz", "bit", "varbit"), _SPELLED),
}
"""SQL of a column by its type on the server; `{0}` is its name."""
_DIGITS: Mapping[str, str] = {
    "numeric": "NULLIF({0}, 'NaN')::text",
    "money": "{0}::numeric::text",
    "oid": _SPELLED,
}
"""The same of types whose values are exact decimal strings."""
_MANY = re.compile(r"^_|range$|^unnamed")


def live_table(address: SourceAddress, policy: Policy) -> PostgresqlTable:
    """Return a table of a server; no request is sent yet."""
    return PostgresqlTable(address=address, select=asked_rows(address, folds=True))


@dataclass(frozen=True, kw_only=True, repr=False)
class PostgresqlTable:
    """Rows of a server; see `anonkit.engines.snapshots.dispatch.LiveTable`."""

    address: SourceAddress
    select: str
    """A SELECT statement."""

    def copy(self, folder: Path) -> FileTable:
        """Read all rows of one transaction: what others write meanwhile is not seen.

        Raises
        ------
        SourceError
            The server cannot be reached, refuses, or is lost before the last row; a column is of a refused type.
        MissingDependencyError
            The driver is not installed.
        """
        adbc, dbapi = _driver()
        foreign = (adbc.Error, *FOREIGN)
        named = self.address.place

        def shield(action: Callable[[], _T], phase: Phase) -> _T:
            return shielded(action, lambda error: refusal_of_server(self.address.shown, error, phase), foreign)

        uri = _with_patience(without_table(self.address))
        connection = shield(
            lambda: when_started(lambda: dbapi.connect(uri, autocommit=False), foreign), Phase.CONNECTING
        )
        try:
            cursor = shield(lambda: _begun(connection), Phase.CONNECTING)
            given = shield(lambda: cursor.adbc_execute_schema(self.select), Phase.ASKING)
            check_names(given.names)
            columns, texts = _columns(given)
            rows = f"SELECT {columns} FROM (\n{self.select}\n) AS rows"
            shield(lambda: cursor.execute(rows), Phase.ASKING)
            reader = shield(cursor.fetch_record_batch, Phase.ASKING)

            def batches() -> Iterator[pa.RecordBatch]:
                while (batch := shield(lambda: next(reader, None), Phase.READING)) is not None:
                    yield batch

            return written_copy(batches(), reader.schema, folder, named, texts)
        finally:
            with suppress(*foreign):  # a connection that was lost cannot be closed in order
                connection.close()


def _driver() -> tuple[Any, Any]:
    try:
        import adbc_driver_manager
        import adbc_driver_postgresql.dbapi
    except ImportError:
        raise MissingDependencyError.of_extra("the driver of PostgreSQL", "postgres") from None
    return adbc_driver_manager, adbc_driver_postgresql.dbapi


def _with_patience(uri: str) -> str:
    mark = "&" if "?" in uri else "?"
    missing = [f"{key}={value}" for key, value in _PATIENCE.items() if f"{key}=" not in uri.partition("?")[2]]
    return uri + mark + "&".join(missing) if missing else uri


def _begun(connection: Any) -> Any:
    """Return a cursor in a transaction that sees one state of the database and changes nothing."""
    cursor = connection.cursor()
    for statement in _SESSION:
        cursor.execute(statement)
    cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": _BATCH_BYTES})
    return cursor


def _columns(given: pa.Schema) -> tuple[str, list[str]]:
    """Return the selection of the owner's rows, and which columns are strings without a type."""
    selected, texts = [], []
    for field in given:
        kind = (field.metadata or {}).get(_TYPE, b"").decode()
        # an enum comes as a string under its own name
        known = _AS_IT_IS if pa.types.is_string(field.type) and kind not in (*_WRITTEN, "xml") else None
        how = _DIGITS.get(kind) or _WRITTEN.get(kind) or known
        if how is None or (known and _MANY.search(kind)):
            raise SourceError(
                f"column {field.name!r} has a PostgreSQL type that no cell can have",
                "leave it out, or spell it as text, by a query: SELECT name, other::text FROM …",
            )
        if kind in _DIGITS:
            texts.append(field.name)
        selected.append(f"{how.format(in_quotes(field.name))} AS {in_quotes(field.name)}")
    return ", ".join(selected), texts
