# SPDX-License-Identifier: Apache-2.0
"""Tables opened in DuckDB for the checks: row by row, or as combinations of cells with the number of their rows.

SQL addresses columns by names of its own (`Lines.column`), since it takes `Age` and `age` for one.

Where workers of a cluster read the files of a release (`anonkit.bundle.data_files`), each of them opens its own files
here, in its own DuckDB, and hands out combinations; rows reach this machine only where there are as many combinations.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from anonkit.bundle.data_files import (
    SUFFIX,
    FileState,
    PartWorkers,
    count_rows,
    iter_batches,
    opened_once,
    parts_of,
    read_schema,
    runs_of,
    state_of,
    workers_for,
)
from anonkit.bundle.header_lines import refuse_record
from anonkit.bundle.private_files import PrivateFolder
from anonkit.bundle.sql_names import alike_names, in_quotes, own_names
from anonkit.checks.scanned_files import (
    IN_MEMORY,
    UNREADABLE,
    Files,
    exact_table,
    first_rows_of,
    is_text,
    literal,
    names_in,
    renamed,
    scan_of,
)
from anonkit.errors import EngineError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Table: TypeAlias = Files | pa.Table
"""A file, a folder of Parquet files, some of these files, or a table in memory."""

_MEMORY = "1GB"
"""Memory of DuckDB before it spills, to a private folder."""
_SILENT = "SET enable_progress_bar = false"
"""In a notebook DuckDB shows how far a long query is, on stdout."""
_UNREMEMBERED = "SET enable_external_file_cache = false"
"""A file is read anew each time, as it is then."""
_OPENING = threading.Lock()
_FEW = 1 << 16
"""Combinations of a worker that are worth their way, however many rows it has read."""
_SHARE = 4
"""Of more, so many rows a combination must there be: else the files themselves are as small as what is counted."""
_FIRST = 1 << 16
"""Rows at the head of a table that are looked at."""
_LONG = 1 << 12
"""Rows from which on a table is long."""
_MOST_CELLS = 1 << 23
"""Cells of a table that DuckDB copies, at most: of strings of 16 bytes they take a quarter of `_MEMORY`."""
_WEIGHT = "n"
"""The number of rows of a combination: columns are c0, c1, …"""


@dataclass(frozen=True, kw_only=True)
class Lines:
    """A relation of a DuckDB connection to count, in which each line is one row or several."""

    connection: Any
    source: str
    """FROM clause."""
    names: Mapping[str, str] = field(default_factory=dict)
    """SQL name of each column of the table."""
    weight: str | None = None
    """SQL name of the number of rows of a line; None: a line is a row."""

    def column(self, name: str) -> str:
        """Return the SQL expression of a column.

        Raises
        ------
        EngineError
            The table has no column of exactly this name.
        """
        if name not in self.names:
            raise _failed()
        return self.names[name]

    def rows(self, where: str = "") -> str:
        """Return the SQL of how many rows the lines of a group are, or those of its lines for which something holds."""
        some = f" FILTER ({where})" if where else ""
        if self.weight is None:
            return f"(count(*){some})::BIGINT"
        return f"coalesce(sum({self.weight}){some}, 0)::BIGINT"


@dataclass(frozen=True, kw_only=True)
class SpreadFiles:
    """Files that workers read, in which there are nearly as many combinations as rows."""

    workers: PartWorkers
    runs: Sequence[Sequence[Path]]
    """Those of each task."""


@contextmanager
def combined(table: Table, columns: Sequence[str]) -> Iterator[Lines]:
    """Open a table for what depends on combinations of some columns alone.

    Yields
    ------
    Lines
        The rows; or, where workers read the table and there are far fewer combinations than rows, the combinations,
        each once for every task at least.

    Raises
    ------
    EngineError
        It cannot be read or counted.
    """
    with few_combined(table, columns) as lines:
        if isinstance(lines, Lines):
            yield lines
            return
    with opened(table, columns) as lines:
        yield lines


@contextmanager
def few_combined(table: Table, columns: Sequence[str]) -> Iterator[Lines | SpreadFiles]:
    """Open a table as `combined` does, if not workers have found that there are hardly fewer combinations than rows.

    Raises
    ------
    EngineError
        It cannot be read or counted.
    """
    names = tuple(dict.fromkeys(columns))
    files = _read_by_workers(table, names)
    with closing(PrivateFolder()) as folder:
        if files is None:
            with _counted_copy(table, names) as lines:
                if lines is not None:
                    yield lines
                    return
            with opened(table, names) as lines:
                yield lines
            return
        counted = _counted(files, names, folder)
        if counted is None:
            yield files
            return
        with scanned(counted) as (connection, source):
            yield Lines(connection=connection, source=source, names=own_names(names), weight=_WEIGHT)


def counted_alike(lines: Lines, columns: Sequence[str]) -> Lines:
    """Return combinations of some columns with the number of their rows, where far fewer are expected than rows.

    A long table that many queries need is then read once. Its first rows show whether it pays.
    """
    names = tuple(dict.fromkeys(columns))
    if lines.weight is not None or not names:
        return lines
    connection, keys = lines.connection, ", ".join(map(lines.column, names))
    rows = partial(_number_of_rows, connection, lines.source)
    if not _has_few(connection, f"SELECT {keys} FROM {lines.source} LIMIT {_FIRST}", rows):
        return lines
    own = own_names(names)
    keys = ", ".join(f"{lines.column(name)} AS {short}" for name, short in own.items())
    connection.execute(
        f"CREATE TEMP TABLE alike AS SELECT {keys}, count(*)::BIGINT AS {_WEIGHT} FROM {lines.source} GROUP BY ALL"
    )
    return Lines(connection=connection, source="alike", names=own, weight=_WEIGHT)


def _has_few(connection: Any, first: str, rows: Callable[[], int]) -> bool:
    """Return True where by its first rows a long table has far fewer combinations than rows."""
    counted = f"SELECT *, count(*) AS n FROM ({first}) GROUP BY ALL"
    ((seen, different, once, twice),) = connection.execute(
        "SELECT coalesce(sum(n), 0)::BIGINT, count(*), count(*) FILTER (n = 1), count(*) FILTER (n = 2) "
        f"FROM ({counted})"
    ).fetchall()
    if seen < _LONG:
        return False
    all_rows, expected = rows(), float(different)
    if seen < all_rows:
        expected += once**2 / (2 * max(twice, 1))  # Chao (1984): at least so many, seen or not
    return expected * _SHARE <= all_rows


def _number_of_rows(connection: Any, source: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {source}").fetchall()[0][0])


@contextmanager
def _counted_copy(table: Table, columns: Sequence[str]) -> Iterator[Lines | None]:
    """Open the combinations of a file that is copied once, where they are few; None where they are not."""
    copies = _COPIES.get()
    if copies is None or not isinstance(table, str | Path):
        yield None
        return
    with _connected(None) as (connection, database):
        copied = copies.copy_of(Path(table), database, counted=True)
        names = {} if copied is None else _own(read_schema(Path(table)).names, columns)
        yield None if copied is None else Lines(connection=connection, source=copied, names=names, weight=_WEIGHT)


def _read_by_workers(table: Table, names: Sequence[str]) -> SpreadFiles | None:
    """Return the files that workers read for this machine; None where it reads them itself."""
    parts = parts_of(Path(table)) if isinstance(table, str | Path) and Path(table).is_dir() else []
    workers = workers_for(parts)
    if workers is None or any(part.parent != Path(str(table)) for part in parts):
        return None  # below the folder, the names of other folders may be columns
    return SpreadFiles(workers=workers, runs=runs_of(parts, workers.tasks))


def _counted(files: SpreadFiles, names: tuple[str, ...], folder: PrivateFolder) -> list[Path] | None:
    """Let workers count combinations; return files with them, None where one has found too many."""
    found = files.workers.each(partial(count_combinations, columns=names, few=_FEW), files.runs)
    if any(content is None for content in found):
        return None
    paths = [folder.path / f"counted-{at}.parquet" for at in range(len(found))]
    for path, content in zip(paths, found, strict=True):
        path.write_bytes(content or b"")
    return paths


def count_combinations(parts: Sequence[Path], columns: Sequence[str], few: int = _FEW) -> bytes | None:
    """Count the rows of every combination of some columns in some files; what one worker does.

    Parameters
    ----------
    few : int
        Combinations that are worth their way, however many rows there are.

    Returns
    -------
    bytes or None
        A Parquet file: the columns c0, c1, … in the order of their names here, and `n`, the number of rows; None where
        there are hardly fewer combinations than rows.

    Raises
    ------
    EngineError
        They cannot be read, or lack a column.
    """
    with closing(PrivateFolder()) as folder, opened(parts, columns, threads=1) as lines:
        connection = lines.connection
        keys = "".join(f"{lines.column(name)} AS {own}, " for name, own in own_names(columns).items())
        connection.execute(
            f"CREATE TEMP TABLE combinations AS SELECT {keys}count(*)::BIGINT AS {_WEIGHT} "
            f"FROM {lines.source}{' GROUP BY ALL' if columns else ''}"
        )
        ((found, rows),) = connection.execute(
            f"SELECT count(*), coalesce(sum({_WEIGHT}), 0) FROM combinations"
        ).fetchall()
        if found > few and found * _SHARE > rows:
            return None
        path = folder.path / "combinations.parquet"
        connection.execute(f"COPY combinations TO {literal(path)} (FORMAT parquet, COMPRESSION zstd)")
        return path.read_bytes()


@contextmanager
def opened(table: Table, columns: Sequence[str] | None = None, *, threads: int | None = None) -> Iterator[Lines]:
    """Open some columns of a table, each under a name of SQL's own.

    Parameters
    ----------
    table : Table
    columns : sequence of str, optional
        Those that are looked at; None: all.
    threads : int, optional
        As for `scanned`.

    Raises
    ------
    EngineError
        The table cannot be read, lacks a column, or has two of the same name.
    """
    if isinstance(table, pa.Table):
        names = _own(table.column_names, columns)
        selected = table.select(list(names) or table.column_names[:1])  # DuckDB takes no table without columns
        own = exact_table(selected).rename_columns(list(names.values()) or ["c0"])
        with scanned(own, threads=threads) as (connection, source):
            yield Lines(connection=connection, source=source, names=names)
        return
    with scanned(table, threads=threads) as (connection, source):
        lines = None
        with suppress(*UNREADABLE):
            there = names_in(connection, table, source)
            names = _own(there, columns)
            source = renamed(connection, table, source, there, names)
            lines = Lines(connection=connection, source=source, names=names)
        if lines is None:
            raise _failed()
        yield lines


def _own(there: Sequence[str], columns: Sequence[str] | None) -> dict[str, str]:
    """Return the SQL expressions of some columns of a table."""
    if len(set(there)) < len(there):
        raise EngineError("two columns of the table have the same name", "give every column its own name")
    if columns is not None and not set(columns) <= set(there):
        raise _failed()
    return {name: own for name, own in own_names(there).items() if columns is None or name in columns}


def _failed(error: Exception | None = None) -> EngineError:
    """Return the error for a count that failed; of the words of DuckDB, which may quote cells, its type alone."""
    if "OutOfMemory" in type(error).__name__:
        return EngineError(
            "recounting the table needs more memory, or room for temporary files, than there is",
            "close other programs, or let TMPDIR name a folder with more room",
        )
    return EngineError("recounting the table failed", "is every named column in it?")


@contextmanager
def read_once(table: str | Path | pa.Table) -> Iterator[str | Path | pa.Table]:
    """Give a file of CSV or TSV as private Parquet: DuckDB finds the types of all its cells anew for every question.

    Any other table is given as it is, and so is a file with names that are alike, which DuckDB would rename.

    Raises
    ------
    EngineError
        The file cannot be read.
    """
    if isinstance(table, pa.Table) or not is_text(Path(table)):
        yield table
        return
    with closing(PrivateFolder()) as folder:
        given: str | Path = table
        with opened(table) as lines:
            if not alike_names(list(lines.names)):
                given = folder.path / "rows.parquet"
                listed = ", ".join(f"{own} AS {in_quotes(name)}" for name, own in lines.names.items())
                lines.connection.execute(
                    f"COPY (SELECT {listed} FROM {lines.source}) TO {literal(given)} (FORMAT parquet, COMPRESSION zstd)"
                )
        yield given


@contextmanager
def scanned(table: Table, *, threads: int | None = None) -> Iterator[tuple[Any, str]]:
    """Open a table in DuckDB and yield the connection and the table's FROM clause, under the names of its columns.

    What the checks have made themselves is read so; of tables of others see `opened`.

    Parameters
    ----------
    threads : int, optional
        How many cores are used; None: all.

    Raises
    ------
    EngineError
        It cannot be read or counted.
    """
    with _connected(threads) as (connection, database):
        yield connection, _scan(connection, table, database)


@contextmanager
def _connected(threads: int | None) -> Iterator[tuple[DuckDBPyConnection, _Database]]:
    """Connect to the database of this process; what fails in it is reported without a cell.

    Raises
    ------
    EngineError
        Something failed.
    """
    import duckdb

    database = _Database.of(threads)
    connection = database.cursor()
    try:
        connection.execute(_SILENT)
        yield connection, database
    except duckdb.Error as error:
        error.args = ()  # it may quote cells, and stays in the context of ours
        database.forget()  # some failures leave a database that answers nothing any more
        raise _failed(error) from None
    finally:
        connection.close()
        database.forget_spilled()


_OPEN: dict[tuple[int, int | None], _Database] = {}
"""Of this process; one that was forked from another opens its own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Database:
    """A DuckDB without tables, open for as long as the process: opening one takes longer than most counts.

    Each scan has a connection of its own, which sees no table of another.
    """

    key: tuple[int, int | None]
    connection: DuckDBPyConnection
    private: PrivateFolder
    """Folder of spilled data."""

    @classmethod
    def of(cls, threads: int | None) -> _Database:
        """Return the database of this process that uses so many cores; None: all."""
        key = (os.getpid(), threads)
        with _OPENING:
            if key not in _OPEN:
                _OPEN[key] = cls._opened(key)
            return _OPEN[key]

    @classmethod
    def _opened(cls, key: tuple[int, int | None]) -> _Database:
        import duckdb

        private, (_, threads) = PrivateFolder(), key
        settings = {"memory_limit": _MEMORY, "temp_directory": str(private.path), "preserve_insertion_order": "false"}
        settings |= {} if threads is None else {"threads": str(threads)}
        connection = duckdb.connect(":memory:", config=settings)
        connection.execute(_UNREMEMBERED)
        return cls(key=key, connection=connection, private=private)

    def cursor(self) -> DuckDBPyConnection:
        """Return a connection of its own."""
        with _OPENING:
            return self.connection.cursor()

    def forget(self) -> None:
        """Let the next scan open another one; scans that are under way keep this one."""
        with _OPENING:
            if _OPEN.get(self.key) is self:
                del _OPEN[self.key]

    def forget_spilled(self) -> None:
        """Delete what was spilled: rows stay on no disk for longer than they are counted."""
        try:
            is_empty = len(os.listdir(self.private.path)) == 1  # the lock of the folder
        except OSError:  # somebody cleans up among temporary files
            is_empty = False
        if not is_empty:
            self.forget()


@atexit.register
def _close_databases() -> None:
    """Close the databases of this process as it ends: DuckDB lists on stderr what is open then.

    Those that a fork copied belong to the process that opened them, with its threads.
    """
    for key in [key for key in _OPEN if key[0] == os.getpid()]:
        del _OPEN[key]


def _scan(connection: DuckDBPyConnection, table: Table, database: _Database) -> str:
    """Return the FROM clause of a table."""
    if isinstance(table, pa.Table):
        connection.register(IN_MEMORY, table)
        return IN_MEMORY
    copies = _COPIES.get()
    copied = None if copies is None or not isinstance(table, str | Path) else copies.copy_of(Path(table), database)
    return copied or scan_of(connection, table)


_COPIES: ContextVar[_Copies | None] = ContextVar("_COPIES", default=None)
"""Copies of this block of `copied_once`; None outside of any."""
_NUMBERS = count()
"""Numbers in the names of copies: a database has those of all threads."""


@contextmanager
def copied_once() -> Iterator[None]:
    """Let DuckDB read each Parquet file once within this block, however many questions are about its rows.

    Rows are copied into DuckDB's own memory at the first question about a file, and all questions are then about one
    state of it. A file of more than `_MOST_CELLS` is read anew for each: of its copy too much would be spilled. So is
    one that workers read, or whose columns have names that DuckDB takes for one.
    """
    if _COPIES.get() is not None:  # a block within a block
        yield
        return
    copies = _Copies()
    before = _COPIES.set(copies)
    try:
        with opened_once():
            yield
    finally:
        _COPIES.reset(before)
        copies.forget()


@dataclass(frozen=True, kw_only=True)
class _Copies:
    """Tables in DuckDB, by the state of the file of which they are, and whether they are combinations of all its cells.

    What depends on combinations alone is counted in these: there may be a hundred times as many rows.
    """

    tables: dict[tuple[FileState, bool], tuple[_Database, str]] = field(default_factory=dict)
    many: set[FileState] = field(default_factory=set)
    """Files that have hardly fewer combinations than rows."""

    def copy_of(self, path: Path, database: _Database, *, counted: bool = False) -> str | None:
        """Return the name of the copy of a file in a database; None where it has to be read otherwise."""
        state = state_of(path)
        of, name = self.tables.get((state, counted), (None, ""))
        if of is database:
            return name
        if database.key[1] is not None or not _is_worth_a_copy(path) or (counted and state in self.many):
            return None
        name = f"copy_{next(_NUMBERS)}"
        with closing(database.cursor()) as connection:
            connection.execute(_SILENT)
            if counted and not _file_has_few(connection, path):
                self.many.add(state)
                return None
            own = own_names(read_schema(path).names).items()
            cells = ", ".join(f"{in_quotes(column)} AS {short}" for column, short in own)
            what = f"{cells}, count(*)::BIGINT AS {_WEIGHT}" if counted else "*"
            grouped = " GROUP BY ALL" if counted else ""
            connection.execute(f"CREATE TABLE {name} AS SELECT {what} FROM {scan_of(connection, path)}{grouped}")
        self.tables[state, counted] = (database, name)
        return name

    def forget(self) -> None:
        """Drop the copies; those in a database that has failed are gone with it."""
        import duckdb

        for database, name in self.tables.values():
            with closing(database.cursor()) as connection, suppress(duckdb.Error):
                connection.execute(f"DROP TABLE IF EXISTS {name}")


def _file_has_few(connection: DuckDBPyConnection, path: Path) -> bool:
    """Return True where by its first rows a file has far fewer combinations of all its cells than rows."""
    import duckdb

    with closing(iter_batches(path, batch_rows=_FIRST)) as batches, suppress(pa.ArrowException, OSError, duckdb.Error):
        first = next(batches, None)
        if first is None:
            return False
        connection.register(IN_MEMORY, first.rename_columns(list(own_names(first.schema.names).values())))
        return _has_few(connection, f"FROM {IN_MEMORY}", partial(count_rows, path))
    return False  # whoever reads it next says why it cannot be read


def _is_worth_a_copy(path: Path) -> bool:
    """Return True if a path is a file, or a folder of files, of Parquet that DuckDB can copy column by column."""
    if path.suffix != SUFFIX:
        return False
    try:
        names, rows = read_schema(path).names, count_rows(path)
    except (pa.ArrowException, OSError):  # whoever reads it next says why it cannot be read
        return False
    return len(names) * rows <= _MOST_CELLS and not alike_names(names)


def refuse_first_record(table: object) -> None:
    """Refuse a file of text whose first line looks like a record: the names of its columns would be cells.

    Raises
    ------
    ChoiceError
        It looks so. See `anonkit.bundle.header_lines`.
    """
    import duckdb

    with closing(_Database.of(None).cursor()) as connection:
        try:
            connection.execute(_SILENT)
            rows = first_rows_of(connection, table)
        except duckdb.Error:
            return  # whoever reads it next says why it cannot be read
    if rows:
        columns = [pa.array(cells, pa.string()) for cells in zip(*rows[1:], strict=True)]
        refuse_record(
            [name or "" for name in rows[0]],
            columns or [pa.array([], pa.string())] * len(rows[0]),
            shown=repr(str(table)),
            hint="read it into a table with names of its own, and validate that",
        )


def columns_of(table: str | Path | pa.Table) -> list[str]:
    """Return the column names of a table as `measure` sees them.

    Raises
    ------
    EngineError
        It cannot be read.
    """
    import duckdb

    if isinstance(table, pa.Table):
        return list(table.column_names)
    with closing(_Database.of(None).cursor()) as connection, suppress(duckdb.Error, *UNREADABLE):
        connection.execute(_SILENT)
        return names_in(connection, table, scan_of(connection, table))
    raise EngineError("the table cannot be read", "CSV, TSV, JSON Lines or Parquet, by the name of the file")
