# SPDX-License-Identifier: Apache-2.0
"""Tables, views and queries of SQLite files: every cell as a text, since each cell has a type of its own there.

A column of a SQLite table has no type, whatever its declaration: `n/a` occurs in an INTEGER column like any other
cell. Drivers that type a column by its first rows lose such cells, or fail on them. Here every cell is written as a
text file would have it, and read by the rule of text files: 17 as "17", 0.1 as "0.1" with all its digits, bytes as the
literal x'00FF'. NULL is missing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa

from anonkit.engines.reading.failures import FOREIGN, shielded
from anonkit.engines.reading.parquet_tables import FileTable, check_names
from anonkit.engines.snapshots.addresses import SourceAddress
from anonkit.engines.snapshots.postgresql_tables import refuse_parameters, select_statement
from anonkit.engines.snapshots.private_copies import written_copy
from anonkit.errors import SourceError
from anonkit.policy.declaration import Policy

_ROWS = 1 << 14  # fetched at a time
_HEADER = 100  # bytes
_MAGIC = b"SQLite format 3\0"
_LARGEST_PAGE = 1 << 16  # bytes, for which the header has 1
_PATIENCE = 15.0  # seconds for a writer to finish
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
_FOREIGN = (sqlite3.Error, sqlite3.Warning, *FOREIGN)
_BY_WORDS: Sequence[tuple[str, str, str | None]] = (
    ("no such table", "has no such table", "names are those in the file, views too"),
    ("no such column", "has no column that the query names", None),
    ("locked", "is locked by a program that writes to it", "try again when it has ended"),
    ("busy", "is locked by a program that writes to it", "try again when it has ended"),
    ("unable to open", "cannot be opened", "may you read the file, and its -wal and -shm beside it?"),
    ("not a database", "is no SQLite database, or an encrypted one", None),
    ("image is malformed", "is a damaged SQLite database", "PRAGMA integrity_check tells more"),
    ("disk i/o", "cannot be read to its end", None),
    ("not authorized", "may only be read, and the query does something else", "one SELECT statement"),
    ("one statement", "takes one SELECT statement, and the query has more", None),
    ("prohibited", "may only be read, and the query does something else", "one SELECT statement"),
)


def live_table(address: SourceAddress, policy: Policy) -> SqliteTable:
    """Return a table of a file; the file is not opened yet."""
    refuse_parameters(address, "table")
    return SqliteTable(address=address, select=select_statement(address, folds=False))


@dataclass(frozen=True, kw_only=True, repr=False)
class SqliteTable:
    """Rows of a SQLite file; see `anonkit.engines.snapshots.dispatch.LiveTable`."""

    address: SourceAddress
    select: str
    """A SELECT statement."""

    def copy(self, folder: Path) -> FileTable:
        """Read all rows of one state of the file: one statement is one read transaction, with a WAL or without.

        Raises
        ------
        SourceError
            The file cannot be read, is locked by a writer, or the statement is refused.
        """
        path, named = self.address.file_path, self.address.place
        if not shielded(path.is_file, self._refusal):
            raise SourceError(
                f"{str(path)!r} does not exist", "sqlite:///people.db is in this folder, sqlite:////… not"
            )
        if shielded(lambda: _is_cut(path), self._refusal):
            raise SourceError(f"{self.address.shown} is a damaged SQLite database", "was it copied to its end?")
        place = f"file:{quote(str(path.absolute()))}?mode=ro"
        connection = shielded(
            lambda: sqlite3.connect(place, uri=True, timeout=_PATIENCE, isolation_level=None), self._refusal, _FOREIGN
        )
        with closing(connection):
            connection.text_factory = _text
            connection.set_authorizer(_reading_alone)
            cursor = shielded(lambda: connection.execute(self.select), self._refusal, _FOREIGN)
            names = [column[0] for column in cursor.description or ()]
            check_names(names)
            schema = pa.schema([(name, pa.string()) for name in names])
            return written_copy(self._batches(cursor, schema), schema, folder, named, names)

    def _batches(self, cursor: sqlite3.Cursor, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pylist([], schema)  # a table without rows has columns
        while rows := shielded(lambda: cursor.fetchmany(_ROWS), self._refusal, _FOREIGN):
            arrays = [_texts(cells) for cells in zip(*rows, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _refusal(self, error: Exception) -> SourceError:
        words = str(error).lower()
        for part, what, hint in _BY_WORDS:
            if part in words:
                return SourceError(f"{self.address.shown} {what}", hint)
        return SourceError(f"{self.address.shown} does not answer the query", "try it with the program sqlite3")


def _is_cut(path: Path) -> bool:
    """Return True if a file ends within its last page, of which SQLite reads what is not there as nothing.

    The header has the size of a page and their number (SQLite, "Database File Format", 1.3); a log beside the file
    changes neither.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER)
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    return header.startswith(_MAGIC) and path.stat().st_size < (_LARGEST_PAGE if page == 1 else page) * pages


def _reading_alone(action: int, *_: object) -> int:
    """Allow what a SELECT statement does; see SQLite, "Compile-Time Authorization Callbacks"."""
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")  # a cell that is no UTF-8 must not decide about all others


def _texts(cells: Sequence[object]) -> pa.Array:
    """Return cells as strings, each by itself; columns of one type take a short way to the same."""
    kinds = set(map(type, cells)) - {type(None)}
    if kinds <= {str}:
        return pa.array(cells, pa.string())
    if kinds == {int}:
        return pa.array(cells, pa.int64()).cast(pa.string())
    return pa.array([_cell_text(cell) for cell in cells], pa.string())


def _cell_text(cell: object) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    return f"x'{cell.hex().upper()}'" if isinstance(cell, bytes) else repr(cell)
