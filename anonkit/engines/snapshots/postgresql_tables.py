# SPDX-License-Identifier: Apache-2.0
"""Tables, views and queries of a PostgreSQL server, read by ADBC in one read-only transaction.

The server's types are kept where Arrow has the same: truth values, integers, floats, strings, dates, times, timestamps
(with a zone: in UTC). `numeric`, `money` and `oid` come as exact decimal strings, typed as the cells of a text file
are, so that two numbers of 20 digits stay two; enums, UUIDs, network addresses, intervals and bit strings as the server
spells them. Bytes, JSON, XML, arrays, composites, ranges and shapes are refused. What SQL has and a cell has not is
missing: `NaN`, infinite days, the time 24:00.

Classes of failures of a server that gives no rows: its own words quote cells and queries.

Queries of a database: all rows of one table or view, or one SELECT statement of the owner.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote

import pyarrow as pa

from anonkit.bundle.liveness import when_started
from anonkit.bundle.sql_names import in_quotes, table_parts
from anonkit.engines.reading.failures import FOREIGN, shielded
from anonkit.engines.reading.parquet_tables import FileTable, check_names
from anonkit.engines.snapshots.addresses import SourceAddress
from anonkit.engines.snapshots.private_copies import written_copy
from anonkit.errors import MissingDependencyError, ParameterError, SourceError, option
from anonkit.policy.declaration import Policy


class Phase(Enum):
    """The step at which a server failed."""

    CONNECTING = "connecting"
    ASKING = "asking"
    READING = "reading"


_CREDENTIALS = "a password comes from PGPASSWORD, from ~/.pgpass or from the address: is it that of this user?"
_QUERY = "try the statement with the database's own client: what it says is not repeated here, since it may quote cells"
_AGAIN = "nothing was written; run the command again"

_BY_STATE: Sequence[tuple[str, str, str]] = (
    (r"28...", "refuses the user or the password", _CREDENTIALS),
    (r"3D000", "has no database of this name", "it comes after the host: postgresql://owner@host/NAME"),
    (r"42P01|3F000", "has no such table", "schema.table, as the search path of the user does not hold every schema"),
    (r"42703", "has no column that the query names", _QUERY),
    (r"42501", "does not allow this user to read it", "its owner grants SELECT on the table, and USAGE on its schema"),
    (r"0A000", "takes the query for more than a SELECT statement", _QUERY),
    (r"25006", "may only be read, and the query changes something", "one SELECT statement"),
    (r"42601", "does not take the query for one SELECT statement", _QUERY),
    (r"57014", "ended the query after its time limit, or its administrator did", "statement_timeout is its setting"),
    (r"40...|55P03", "let others go first", _AGAIN),
    (r"53300", "has no connection left", _AGAIN),
    (r"08...|57P0.", "was lost before the last row", _AGAIN),
    (r"22...|23...", "failed on what the query computes", _QUERY),
    (r"42...", "does not understand the query", _QUERY),
)
"""SQLSTATE (ISO/IEC 9075; PostgreSQL, appendix A), the message for it, and the hint."""
_BY_WORDS: Sequence[tuple[str, str, str]] = (
    (r"could not translate host name|name or service not known", "cannot be reached: no such host", "spelled so?"),
    (r"connection refused|no such file|network is unreachable|no route|timeout expired|timed out",
     "cannot be reached", "does it run, and does it answer on this host and port?"),
    (r"certificate|ssl|tls", "does not agree on an encrypted connection", "sslmode and sslrootcert are of the address"),
    (r"password|authentication|no pg_hba|role .* does not exist|not permitted to log in", *_BY_STATE[0][1:]),
    (r"database .* does not exist", *_BY_STATE[1][1:]),
    (r"too many (clients|connections)|remaining connection slots", "has no connection left", _AGAIN),
    (r"starting up|shutting down|recovery mode", "is not ready", _AGAIN),
    (r"invalid .*(value|option|parameter|uri|port)|missing .* in connection", "has an address that is not well-formed",
     "postgresql://owner@host/db?table=people"),
    (r"read-only transaction", *_BY_STATE[5][1:]),
    (r"server closed|terminating connection|connection .*(lost|reset|closed|not open)|unexpected(ly)? eof|broken pipe",
     "was lost before the last row", _AGAIN),
)  # fmt: skip
_UNKNOWN = {
    Phase.CONNECTING: ("cannot be reached", "try it with the database's own client"),
    Phase.ASKING: ("does not answer the query", _QUERY),
    Phase.READING: ("ended before the last row", _QUERY),
}


def refusal_of_server(shown: str, error: Exception, phase: Phase) -> SourceError:
    """Return the message for an error of a server.

    Parameters
    ----------
    shown : str
        What messages call the source.
    error : Exception
        Of the driver. Its words are looked at, and never kept.
    phase : Phase

    Privacy
    -------
    A server quotes cells ("invalid input syntax for type integer: ..."), the query, and what it was sent as a password.
    """
    state = getattr(error, "sqlstate", None) or ""
    words = str(error).lower()
    for pattern, what, hint in _BY_STATE:
        if re.fullmatch(pattern, state):
            return SourceError(f"{shown} {what}", hint)
    if not state:
        for pattern, what, hint in _BY_WORDS:
            if re.search(pattern, words):
                return SourceError(f"{shown} {what}", hint)
    what, hint = _UNKNOWN[phase]
    return SourceError(f"{shown} {what}{f' (SQLSTATE {state})' if re.fullmatch('[0-9A-Z]{5}', state) else ''}", hint)


_TABLE, _SCHEMA = "table", "schema"
_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*(?P<word>[A-Za-z]*)", re.DOTALL)
_SELECTS = ("select", "with", "values", "table", "from")
_HOW = f"{option('query', 'SELECT …')} or ?table=NAME, one of them"


def select_statement(address: SourceAddress, *, folds: bool) -> str:
    """Return the SELECT statement, without a semicolon, for an address and its options.

    Parameters
    ----------
    address : SourceAddress
    folds : bool
        True where the database writes a name without quotes in lower case: ``?table=People`` is ``people`` then, as it
        is in the owner's SQL, and ``?table="People"`` is not.

    Raises
    ------
    ParameterError
        Neither a table nor a query is given, or both are; a name is not well-formed; the query does not begin as a
        SELECT statement does. That it is one statement, and changes nothing, is for the database itself to enforce.
    """
    address.refuse("sheet", "header_row", "header", "names", "delimiter", "skip_rows", "format", of="a database")
    names = [value for key, value in _parameters(address) if key == _TABLE]
    if len(names) + (address.query is not None) != 1:
        raise ParameterError(f"{address.shown} names {'no table' if not names else 'more than one table'}", _HOW)
    if address.query is None:
        schemas = [value for key, value in _parameters(address) if key == _SCHEMA]
        parts = table_parts(names[0], schemas[-1] if schemas else None, folds=folds)
        return f"SELECT * FROM {'.'.join(map(in_quotes, parts))}"
    first = _FIRST_WORD.match(address.query)
    if first is None or first["word"].lower() not in _SELECTS:
        raise ParameterError("the query is no SELECT statement", "a source is read, and nothing in it is changed")
    return address.query.strip().rstrip(";").rstrip()


def without_table(address: SourceAddress) -> str:
    """Return an address with all its parameters but those of the table: the one for the database's driver."""
    others = [(key, value) for key, value in _parameters(address) if key not in (_TABLE, _SCHEMA)]
    return address.bare + "".join(
        f"{'&' if at else '?'}{quote(key, safe='')}={quote(value, safe='')}" for at, (key, value) in enumerate(others)
    )


def refuse_parameters(address: SourceAddress, *known: str) -> None:
    """Refuse parameters of an address that mean nothing; the message names an unknown one, and no value.

    Raises
    ------
    ParameterError
        There is one.
    """
    for key, _ in _parameters(address):
        if key not in known:
            raise ParameterError(
                f"{address.shown} has a parameter that is not known ({key})", f"known: {', '.join(known) or 'none'}"
            )


def _parameters(address: SourceAddress) -> list[tuple[str, str]]:
    return parse_qsl(address.place.partition("?")[2], keep_blank_values=True)


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
    return PostgresqlTable(address=address, select=select_statement(address, folds=True))


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
