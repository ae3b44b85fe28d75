# SPDX-License-Identifier: Apache-2.0
"""Tables opened in DuckDB for the checks: row by row, or as combinations of cells with the number of their rows.

Where workers of a cluster read the files of a release (`anonkit.bundle.part_workers`), each of them opens its own files
here, in its own DuckDB, and hands out combinations; rows reach this machine only where there are as many combinations.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from anonkit.bundle.data_files import parts_of
from anonkit.bundle.part_workers import PartWorkers, bring_here, runs_of, workers_for
from anonkit.bundle.private_files import PrivateFolder
from anonkit.errors import EngineError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Table: TypeAlias = str | Path | pa.Table | Sequence[Path]
"""A file, a folder of Parquet files, some of these files, or a table in memory."""

_MEMORY = "1GB"
"""What DuckDB may hold before it spills, to a private folder."""
_SILENT = "SET enable_progress_bar = false"
"""In a notebook DuckDB shows how far a long query is, on stdout."""
_UNREMEMBERED = "SET enable_external_file_cache = false"
"""A file is read anew each time, as it stands then."""
_OPENING = threading.Lock()
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_WILD = re.compile(r"[*?\[]")
_PART = 1 << 20
_FEW = 1 << 16
"""Combinations of a worker that are worth their way, however many rows it has read."""
_SHARE = 4
"""Of more, so many rows a combination must there be: else the files themselves are as small as what is counted."""


@dataclass(frozen=True, kw_only=True)
class Lines:
    """What is counted: a relation of a DuckDB connection, each line of which stands for one row or for several."""

    connection: Any
    source: str
    """What stands in FROM."""
    weight: str | None = None
    """Column with the number of rows of a line; None: a line is a row."""

    def rows(self, where: str = "") -> str:
        """Return the SQL of how many rows the lines of a group are, or those of its lines for which something holds."""
        some = f" FILTER ({where})" if where else ""
        if self.weight is None:
            return f"(count(*){some})::BIGINT"
        return f"coalesce(sum({quoted(self.weight)}){some}, 0)::BIGINT"


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
    with scanned(table) as (connection, source):
        yield Lines(connection=connection, source=source)


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
            with scanned(table) as (connection, source):
                yield Lines(connection=connection, source=source)
            return
        counted = _counted(files, names, folder)
        if counted is None:
            yield files
            return
        with scanned(counted) as (connection, source):
            yield Lines(connection=connection, source=source, weight=_weight(names))


def _read_by_workers(table: Table, names: Sequence[str]) -> SpreadFiles | None:
    """Return the files that workers read for this machine; None where it reads them itself."""
    parts = parts_of(Path(table)) if isinstance(table, str | Path) and Path(table).is_dir() else []
    workers = workers_for(parts)
    if workers is None or any(part.parent != Path(str(table)) for part in parts):
        return None  # below the folder, the names of other folders may be columns
    if len({name.casefold() for name in names}) < len(names):
        return None  # SQL would take one for another
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
        A Parquet file: the columns, and the number of rows; None where there are hardly fewer combinations than rows.

    Raises
    ------
    EngineError
        They cannot be read, or lack a column.
    """
    keys = "".join(f"{quoted(name)}, " for name in columns)
    with closing(PrivateFolder()) as folder, scanned(parts, threads=1) as (connection, source):
        connection.execute(
            f"CREATE TEMP TABLE combinations AS SELECT {keys}count(*)::BIGINT AS {quoted(_weight(columns))} "
            f"FROM {source}{' GROUP BY ALL' if columns else ''}"
        )
        ((lines, rows),) = connection.execute(
            f"SELECT count(*), coalesce(sum({quoted(_weight(columns))}), 0) FROM combinations"
        ).fetchall()
        if lines > few and lines * _SHARE > rows:
            return None
        path = folder.path / "combinations.parquet"
        connection.execute(f"COPY combinations TO {_literal(path)} (FORMAT parquet, COMPRESSION zstd)")
        return path.read_bytes()


def _weight(columns: Sequence[str]) -> str:
    """Return a name for the number of rows that no column has."""
    return "n" * (1 + max((len(name) for name in columns), default=0))


@contextmanager
def scanned(table: Table, *, threads: int | None = None) -> Iterator[tuple[Any, str]]:
    """Open a table in DuckDB and yield the connection and what stands in FROM for it.

    Parameters
    ----------
    threads : int, optional
        How many cores are used; None: all.

    Raises
    ------
    EngineError
        It cannot be read or counted.
    """
    import duckdb

    database = _Database.of(threads)
    connection = database.cursor()
    try:
        connection.execute(_SILENT)
        yield connection, _scan(connection, table)
    except duckdb.Error:
        database.forget()  # some failures leave a database that answers nothing any more
        raise EngineError("recounting the table failed", "is every named column in it?") from None
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
    """Where it spills."""

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


def _scan(connection: DuckDBPyConnection, table: Table) -> str:
    """Return what stands in FROM for a table; text files are read with DuckDB's own reader, all rows looked at."""
    if isinstance(table, pa.Table):
        connection.register("anonkit_table", table)
        return "anonkit_table"
    if not isinstance(table, str | Path):
        return _parquet(connection, table, partitioned=False)
    path = Path(table)
    if path.is_dir():
        parts = sorted(path.rglob("*.parquet"))
        bring_here(parts)
        return _parquet(connection, parts, partitioned=True)
    suffixes = {suffix.lower() for suffix in path.suffixes}
    compression = _COMPRESSIONS.get(path.suffix.lower())
    if compression is not None and path.is_file():
        stat = path.stat()
        if not _is_whole(str(path), compression, (stat.st_size, stat.st_mtime_ns)):
            raise EngineError(f"{str(path)!r} is not a whole {compression} file", "was it copied to its end?")
    if suffixes & {".csv", ".tsv", ".tab", ".txt"}:
        return f"read_csv({_literal(path)}, header = true, sample_size = -1)"
    if suffixes & {".json", ".jsonl", ".ndjson"}:
        return f"read_json({_literal(path)}, format = 'newline_delimited', sample_size = -1)"
    return _parquet(connection, [path], partitioned=False)


def _parquet(connection: DuckDBPyConnection, parts: Sequence[str | Path], *, partitioned: bool) -> str:
    """Return what stands in FROM for Parquet files."""
    if any("\\" in (whole := os.path.abspath(part)) and _WILD.search(whole) for part in parts):
        import pyarrow.dataset

        # DuckDB spells no such name: in a pattern, which brackets make of it, a backslash parts folders
        files = pyarrow.dataset.dataset([os.path.abspath(part) for part in parts], format="parquet")
        connection.register("anonkit_table", files)
        return "anonkit_table"
    return f"read_parquet([{', '.join(map(_literal, parts))}], hive_partitioning = {str(partitioned).lower()})"


@lru_cache(maxsize=16)
def _is_whole(path: str, compression: str, state: tuple[int, int]) -> bool:
    """Tell whether a compressed file ends where it should; read once for each state (size and time) it is in.

    DuckDB before 2.0 takes one that was cut for the rows before the cut, whose classes may be large enough where those
    of all rows are not.
    """
    try:
        with pa.input_stream(path, compression=compression) as stream:
            while stream.read(_PART):
                pass
    except OSError:
        return False
    return True


def _literal(path: str | Path) -> str:
    """Return a path as DuckDB takes it: this file, whatever a pattern or a home folder of that spelling would be."""
    whole = os.path.abspath(path)
    return "'" + _WILD.sub(r"[\g<0>]", whole).replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Return a column's name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'


def columns_of(table: str | Path | pa.Table) -> list[str]:
    """Return the column names of a table as `measure` sees them.

    Raises
    ------
    EngineError
        It cannot be read.
    """
    import duckdb

    with closing(_Database.of(None).cursor()) as connection:
        try:
            connection.execute(_SILENT)
            return [str(name) for name in connection.sql(f"SELECT * FROM {_scan(connection, table)} LIMIT 0").columns]
        except duckdb.Error:
            raise EngineError(
                "the table cannot be read", "CSV, TSV, JSON Lines or Parquet, by the name of the file"
            ) from None
