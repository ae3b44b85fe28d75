# SPDX-License-Identifier: Apache-2.0
"""The data of a release: one Parquet file or a sharded dataset, read here or by workers of a cluster.

The files of a dataset are in the order of their names. What is counted, hashed or checked is one function of one file,
wherever it runs; sums of what the files gave are made here. So a folder of a billion rows costs this machine some
kilobytes a file.

Where the rows of a file are elsewhere an outline of it is here: its first and its last bytes, which are read as far as
its footer. Whoever looks for a row in it finds none, and fails: it is never taken for a table without rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, runtime_checkable

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from anonkit.report.document import FirstRows


Item = TypeVar("Item")
Found = TypeVar("Found")

Message: TypeAlias = tuple[int, bytes]
"""The number of a group, 0 or more, and the message to it."""
GroupStep: TypeAlias = Callable[[int, Sequence[bytes]], Iterable[Message]]
"""Makes messages of a group and of all that it was sent."""


class PartWorkers(Protocol):
    """Workers that see the files of a release under the names they have here, such as those of a Spark cluster."""

    @property
    def tasks(self) -> int:
        """Number of tasks, 1 or more, into which work on many files is divided well."""
        ...

    def each(self, function: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
        """Return the results of a function on every item, in order.

        Parameters
        ----------
        function : callable
            Picklable, as is what it returns; it may be called twice for an item, of which one answer counts.
        items : sequence
            Paths of files, or sequences of them; files that lie elsewhere may be named otherwise.

        Raises
        ------
        AnonkitError
            What the function raised; or a file is not seen by the workers.
        """
        ...

    def regrouped(
        self,
        deal: Callable[[Item], Iterable[Message]],
        steps: Sequence[GroupStep],
        items: Sequence[Item],
        groups: int,
    ) -> list[Message]:
        """Work on groups, wherever in the files lies what belongs together: workers hand it to each other.

        Parameters
        ----------
        deal : callable
            Makes messages of an item, for groups below `groups`. It is picklable, as the steps are; all may be called
            twice, of which one answer counts.
        steps : sequence of callable
            Each is called once for every group that was sent something, with the group and all that it was sent, in no
            order. What it makes is sent to the groups of the next step.
        items : sequence
            As for `each`.
        groups : int
            Number of groups, 1 or more.

        Returns
        -------
        list of (int, bytes)
            What the last step has made, in no order.

        Raises
        ------
        AnonkitError
            As for `each`.
        """
        ...


_WORKERS: ContextVar[PartWorkers | None] = ContextVar("part_workers", default=None)


@contextmanager
def read_by(workers: PartWorkers | None) -> Iterator[None]:
    """Let workers read the folders of data within the context; with None this machine reads them.

    Who reads is no matter of what is checked: it is in no signature on the way. Data in one file are read here.
    """
    before = _WORKERS.set(workers)
    try:
        yield
    finally:
        _WORKERS.reset(before)


@runtime_checkable
class HasWorkers(Protocol):
    """An object with workers that move and count rows, such as the engine of a cluster."""

    @property
    def workers(self) -> PartWorkers:
        """Those that read the files of a release."""
        ...

    def shared_folder(self) -> Path:
        """Return a new private folder that the workers see under the same name; it goes with the engine."""
        ...


@runtime_checkable
class BringsParts(Protocol):
    """Workers that alone have the rows of the files they read."""

    def bring(self, parts: Sequence[Path]) -> None:
        """Bring the rows of files to this machine; files that have them are left as they are."""
        ...


def bring_here(parts: Sequence[Path]) -> None:
    """Let this machine have the rows of files that it is about to read; nearly always it has them."""
    workers = _WORKERS.get()
    if isinstance(workers, BringsParts):
        workers.bring(parts)


def workers_of(engine: object) -> PartWorkers | None:
    """Return the workers of an engine; None for one that has none."""
    return engine.workers if isinstance(engine, HasWorkers) else None


def workers_for(parts: Sequence[Path]) -> PartWorkers | None:
    """Return the workers that read these files; None when it is this machine, which reads a single one in any case."""
    return _WORKERS.get() if len(parts) > 1 else None


def each_part(function: Callable[[Path], Found], parts: Sequence[Path]) -> list[Found]:
    """Return the results of a function on each file of some data, in order; see `PartWorkers.each`."""
    workers = workers_for(parts)
    return [function(part) for part in parts] if workers is None else workers.each(function, parts)


def all_dealt(deal: Callable[[Item], Iterable[Message]], item: Item) -> list[Message]:
    """Return all messages of an item at once, for who deletes its files then."""
    return list(deal(item))


def runs_of(parts: Sequence[Path], runs: int) -> list[tuple[Path, ...]]:
    """Divide files into at most so many runs of neighbours, nearly equal in number; none is empty."""
    n_runs = min(len(parts), runs)
    ends = [len(parts) * at // n_runs for at in range(n_runs + 1)]
    return [tuple(parts[start:end]) for start, end in pairwise(ends)]


SUFFIX = ".parquet"
_BATCH_CELLS = 1 << 22
"""Most cells of a batch: from 33 columns on it has fewer rows than readers ask for."""
_MOST_OPEN = 64
"""Files that are open at once, at most: systems allow a process 256 at least."""


FileState = tuple[Path, int, int, int]
"""A file in one state: its path, inode, size and time of change."""


@dataclass(frozen=True)
class _Known:
    """Files of a block of `opened_once`."""

    opened: dict[FileState, pa.OSFile] = field(default_factory=dict)
    """Files of data, for their hashes, footers and rows."""
    tables: dict[FileState, pq.ParquetFile] = field(default_factory=dict)
    digests: dict[FileState, str] = field(default_factory=dict)
    states: dict[Path, FileState] = field(default_factory=dict)
    """The last state of each file."""

    def state(self, path: Path) -> FileState:
        """Return the state of a file; the last one of a file that is gone."""
        try:
            found = path.stat()
        except OSError:
            if path not in self.states:
                raise
        else:
            self.states[path] = (path, found.st_ino, found.st_size, found.st_mtime_ns)
        return self.states[path]

    def file(self, path: Path) -> pa.OSFile | None:
        """Return an open file of data; None of another file, and where too many are open."""
        import pyarrow as pa

        state = self.state(path)
        if state not in self.opened:
            if path.suffix != SUFFIX or len(self.opened) == _MOST_OPEN:
                return None
            self.opened[state] = pa.OSFile(str(path))
        return self.opened[state]

    def table(self, path: Path) -> pq.ParquetFile | None:
        """Return an open file as a table; None where too many are open."""
        import pyarrow.parquet as pq

        file, state = self.file(path), self.state(path)
        if file is not None and state not in self.tables:
            self.tables[state] = pq.ParquetFile(file)
        return self.tables.get(state)


_KNOWN: ContextVar[_Known | None] = ContextVar("_KNOWN", default=None)
"""The files of this block of `opened_once`; None outside of any."""


@contextmanager
def opened_once() -> Iterator[None]:
    """Open each file once for its hash, footer and rows within this block; one that was replaced is opened again.

    The first 64 files stay open. Footers and rows of others are read anew each time.
    """
    if _KNOWN.get() is not None:  # a block within a block
        yield
        return
    known = _Known()
    before = _KNOWN.set(known)
    try:
        yield
    finally:
        _KNOWN.reset(before)
        for file in known.opened.values():
            file.close()


def state_of(path: Path) -> FileState:
    """Return the state of a file; within a block of `opened_once` the last one of a file that is gone.

    Whoever reads a release may have to finish an interrupted run first, which replaces files.
    """
    return (_KNOWN.get() or _Known()).state(path)


@contextmanager
def _opened(part: Path) -> Iterator[pq.ParquetFile]:
    """Open a file, or take that of this block of `opened_once`."""
    import pyarrow.parquet as pq

    known = _KNOWN.get()
    table = None if known is None else known.table(part)
    if table is not None:
        yield table
        return
    with pq.ParquetFile(part) as file:
        yield file


def footer(part: Path) -> pq.FileMetaData:
    """Return the footer of a Parquet file.

    Raises
    ------
    pyarrow.ArrowException, OSError
        It cannot be read; so do the other functions.
    """
    with _opened(part) as file:
        return file.metadata


def part_name(number: int) -> str:
    """Return the name of a file in a folder of data, numbered from 0."""
    return f"part-{number:05d}{SUFFIX}"


def is_data_folder(path: Path) -> bool:
    """Return True if a path is a folder of data: named as a Parquet file, with its first part in it."""
    return path.suffix == SUFFIX and (path / part_name(0)).is_file()


def parts_of(data: Path) -> list[Path]:
    """Return the files that hold the data: the file itself, or every Parquet file below the folder, by name.

    Raises
    ------
    FileNotFoundError
        A folder has none.
    """
    if not data.is_dir():
        return [data]
    parts = sorted(data.rglob(f"*{SUFFIX}"), key=lambda path: path.relative_to(data).as_posix())
    if not parts:
        raise FileNotFoundError(data)
    return parts


def whole_parts(data: Path) -> list[Path]:
    """Return the files that hold the data, to be read here: see `parts_of` and `bring_here`."""
    parts = parts_of(data)
    bring_here(parts)
    return parts


def data_paths(data: Path) -> str | list[str]:
    """Return the name of the data in the descriptor, seen from its folder: a file, or a folder's files in order."""
    if not data.is_dir():
        return data.name
    return [part.relative_to(data.parent).as_posix() for part in parts_of(data)]


def read_schema(data: Path) -> pa.Schema:
    """Return names, types and metadata of the data, from the first file.

    Raises
    ------
    pyarrow.ArrowException, OSError
        It cannot be read.
    """
    return footer(parts_of(data)[0]).schema.to_arrow_schema()


def read_rows(data: Path | bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """Return all rows, or some columns of them, in order; of one file also from its bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if isinstance(data, bytes):
        return pq.read_table(pa.BufferReader(data), columns=None if columns is None else list(columns))

    tables = [
        pq.read_table(part, columns=None if columns is None else list(columns), partitioning=None)
        for part in whole_parts(data)
    ]
    return (
        tables[0] if len(tables) == 1 else pa.concat_tables([table.replace_schema_metadata(None) for table in tables])
    )


def first_rows(data: Path | bytes, n_rows: int = 5, n_columns: int = 20) -> FirstRows | None:
    """Return the first rows and columns to look at; None where the data cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from anonkit.report.document import FirstRows

    try:
        with pq.ParquetFile(pa.BufferReader(data) if isinstance(data, bytes) else whole_parts(data)[0]) as file:
            names = file.schema_arrow.names
            batch = next(file.iter_batches(n_rows, columns=names[:n_columns]), None)
    except (OSError, pa.ArrowException):
        return None
    rows = [] if batch is None else zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return FirstRows(names=names[:n_columns], rows=list(rows), n_columns=len(names))


def iter_batches(
    data: Path, columns: Sequence[str] | None = None, *, batch_rows: int
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows, in order, in batches of at most so many, fewer of a wide table; one file is open at a time."""
    for part in whole_parts(data):
        with _opened(part) as file:
            n_columns = len(file.schema_arrow if columns is None else columns)
            yield from file.iter_batches(max(1, min(batch_rows, _BATCH_CELLS // max(n_columns, 1))), columns=columns)


def count_rows(data: Path) -> int:
    """Return the number of rows, from the footers."""
    return sum(int(footer(part).num_rows) for part in parts_of(data))


def digest(data: Path) -> str:
    """Return the SHA-256 of the data, in hexadecimal.

    That of a folder is the SHA-256 of the lines `HASH  NAME`, one a file in order: what `sha256sum *.parquet |
    sha256sum` prints in it.
    """
    if not data.is_dir():
        return file_digest(data)
    parts = parts_of(data)
    names = [part.relative_to(data).as_posix() for part in parts]
    return joint_digest(dict(zip(names, each_part(file_digest, parts), strict=True)))


def sha256(content: bytes | Path) -> str:
    """Return the SHA-256, in hexadecimal, of bytes, a file or a folder of data, see `digest`."""
    return hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else digest(content)


def joint_digest(parts: Mapping[str, str]) -> str:
    """Return the SHA-256 of a folder of data from those of its files by name; see `digest`."""
    lines = (f"{of_part}  {name}\n" for name, of_part in sorted(parts.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def digests_of(files: Mapping[str, Path]) -> dict[str, str]:
    """Return the SHA-256 of files by name; those that lie in a folder of data are read by whoever reads its parts."""
    parts = {name: path for name, path in files.items() if is_data_folder(path.parent)}
    read = dict(zip(parts, each_part(file_digest, list(parts.values())), strict=True))
    return {name: read[name] if name in read else file_digest(path) for name, path in files.items()}


def file_digest(path: Path) -> str:
    """Return the SHA-256 of one file, in hexadecimal."""
    known = _KNOWN.get()
    if known is None:
        return _digest_of(path, None)
    state = known.state(path)
    if state not in known.digests:
        known.digests[state] = _digest_of(path, known.file(path))
    return known.digests[state]


def _digest_of(path: Path, opened: pa.OSFile | None) -> str:
    """Return the SHA-256 of a file, read from its beginning where it is open already."""
    if opened is not None:
        opened.seek(0)
        return hashlib.file_digest(opened, "sha256").hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- files whose rows are elsewhere ----------------------------------------------------------------------------------


_HEAD = 4
_TAIL = 8
"""Bytes at the end of a Parquet file: the length of its footer, and four letters."""


@dataclass(frozen=True, kw_only=True)
class Outline:
    """Metadata of a file of rows that is elsewhere."""

    size: int
    sha256: str
    head: bytes
    footer: bytes

    def write(self, path: Path) -> None:
        """Write a file of this size that has no row."""
        with path.open("xb") as file:
            file.truncate(self.size)
            file.write(self.head)
            file.seek(self.size - len(self.footer))
            file.write(self.footer)


def outline_of(path: Path) -> Outline:
    """Return size, SHA-256 and the ends of a file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEAD)
        file.seek(max(size - _TAIL, 0))
        footer = int.from_bytes(file.read(_TAIL)[:4], "little") + _TAIL
        file.seek(max(size - footer, 0))
        return Outline(size=size, sha256=file_digest(path), head=head, footer=file.read())
