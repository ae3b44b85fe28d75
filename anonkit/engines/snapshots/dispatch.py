# SPDX-License-Identifier: Apache-2.0
"""From a source to rows that stay: what must be copied is copied once, into a private folder of this command.

A file that the readers open in place is not copied. Everything else is read once: recount, fingerprint and
release then see the same rows, however often they read them.

A module of a kind of source has one function, `live_table(address, policy) -> LiveTable | FileTable`. It is found here
by the scheme of the address, or by the format of a file, and imported then.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol

from anonkit.bundle.header_lines import notes_on_names, refuse_record
from anonkit.bundle.private_files import PrivateFolder
from anonkit.engines.reading.delimited import DELIMITERS, TextFile, first_rows
from anonkit.engines.reading.failures import shielded
from anonkit.engines.reading.number_columns import columns_of_groups
from anonkit.engines.reading.parquet_tables import FileTable, data_files, kind_of_folder, refuse_lake_table
from anonkit.engines.reading.preambles import GivenLayout
from anonkit.engines.snapshots.addresses import (
    LAKES,
    TEXT_FORMATS,
    SourceAddress,
    address_of,
    compression_of_name,
    format_of_name,
)
from anonkit.errors import SourceError, option
from anonkit.policy.declaration import Policy
from anonkit.policy.side_files import POINT, UTF8, encoding_named
from anonkit.protocols import Engine, Source


class LiveTable(Protocol):
    """A source that is read once."""

    def copy(self, folder: Path) -> FileTable:
        """Read all rows into files of a private folder, in batches.

        Raises
        ------
        SourceError
            It cannot be read to its end; what was copied so far is deleted by whoever made the folder.
        MissingDependencyError
            A library is not installed.

        Privacy
        -------
        No message holds a cell, a password or a query.
        """
        ...


OF_SCHEME: Mapping[str, str] = {
    **dict.fromkeys(("postgresql", "postgres"), "postgresql_tables"),
    "sqlite": "sqlite_files",
    "duckdb": "duckdb_files",
    "delta": "lake_tables",
    "iceberg": "lake_tables",
    **dict.fromkeys(("s3", "gs", "gcs", "abfs", "abfss"), "object_stores"),
    **dict.fromkeys(("https", "http"), "web_files"),
}
"""Module of each scheme of an address. A scheme that is not here is left to the engine: Spark knows some places."""
OF_SPARK = ("gs", "s3", "abfs", "abfss")
"""Schemes of object stores that a cluster may know by its own connectors, with its own credentials."""
OF_FORMAT: Mapping[str, str] = {
    "excel": "spreadsheets",
    "arrow": "arrow_tables",
    **dict.fromkeys(("sav", "por", "dta", "sas7bdat", "xpt"), "statistics_files"),
    **dict.fromkeys(("lake", *LAKES), "lake_tables"),
}
"""Module of each format of a file that the readers do not open in place."""
_OWN_ENCODING = ("excel", "arrow", "parquet", *LAKES)
_MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
_STANDARD_INPUT = "private_copies"
_MANY_FILES = "many_files"


@dataclass(kw_only=True, eq=False, repr=False)
class Snapshot:
    """A source whose rows stay as they are, however often it is opened.

    Privacy
    -------
    The copy is in a folder of mode 0700, which goes when it is closed, with the process, or with the next run after
    a kill.
    """

    source: object
    """A path, an address, a `SourceAddress`, or a table in memory."""
    private: PrivateFolder
    """Folder of the copy, if one is needed; its maker closes it when the rows are no longer needed."""
    notes: tuple[str, ...] = field(default=(), init=False)
    """Notes for the owner on how it was read, once it was scanned; without a cell."""
    grouped: tuple[str, ...] = field(default=(), init=False)
    """Columns of a text file in which a point may separate thousands."""
    _copy: FileTable | None = field(default=None, init=False)
    _is_looked_at: bool = field(default=False, init=False)
    _before: Mapping[Path, tuple[int, int, int]] | None = field(default=None, init=False)
    """The files that are read, as they were before the first byte was."""

    def __repr__(self) -> str:
        return "<Snapshot>"

    def scan(self, engine: Engine, policy: Policy) -> Source:
        """Open the table with canonical values; the first call copies what must be copied.

        Parameters
        ----------
        engine : Engine
            Spark reads the places that it can name by itself.
        policy : Policy
            As for `Engine.scan`. Text files are copied in the encoding that the first one declares.

        Raises
        ------
        SourceError, ParameterError
            There is no such source, it cannot be read to its end, or an option means nothing for it.
        MissingDependencyError
            The library of this kind of source is not installed.
        """
        if self._before is None:
            self._before = self._files()
        written = replace(policy, decimal=self.decimal_of(policy))
        readable = self._readable(policy, of_spark=engine.name == "spark")
        self._look_at_names(readable, written)
        return engine.scan(readable, written)

    def decimal_of(self, policy: Policy) -> str:
        """Return the decimal mark of its numbers: that of its address, else of the policy."""
        mark = self.source.decimal if isinstance(self.source, SourceAddress) else None
        return policy.decimal if mark is None else mark

    def grouped_by(self, policy: Policy) -> tuple[str, ...] | None:
        """Return the columns in which a point may part thousands; None where numbers have a decimal comma."""
        return self.grouped if self.decimal_of(policy) == POINT else None

    def refuse_changed(self) -> None:
        """Refuse files that changed since they were first opened: what was read may be part old, part new.

        Raises
        ------
        SourceError
            A file has another size, another time of its last change or another inode, or files came or went.
        """
        if self._before and self._files() != self._before:
            named = address_of(self.source).shown  # type: ignore[arg-type]
            raise SourceError(f"{named} changed while it was read", "run the command again")

    def _files(self) -> Mapping[Path, tuple[int, int, int]]:
        """Return the regular files that are read, each with its size, its last change and its inode; nothing of others.

        A database is read in a transaction, and whoever copies from a store compares what is there.
        """
        if not isinstance(self.source, str | os.PathLike):
            return {}
        address = address_of(self.source)
        if address.scheme or address.is_standard_input or address.is_pattern:
            return {}
        return files_as_they_are(Path(address.place))

    def _look_at_names(self, readable: object, policy: Policy) -> None:
        """Refuse a table whose first line looks like a record where no option declares it; look once."""
        if self._is_looked_at or not isinstance(self.source, str | os.PathLike):
            return
        found = readable.cells_among_names if isinstance(readable, FileTable) else 0
        lines = look_at_header(readable, policy, is_declared=not address_of(self.source).is_looked_at)
        self.notes, self._is_looked_at = (*lines.notes, *notes_on_names(found + lines.cells_among_names)), True
        self.grouped = lines.grouped

    def _readable(self, policy: Policy, *, of_spark: bool) -> object:
        """Return the input of an engine: the copy, or the source itself where nothing was copied."""
        if self._copy is not None or not isinstance(self.source, str | os.PathLike):
            return self._copy or self.source
        address = address_of(self.source)
        refuse_pipes(address)
        if address.named_format not in ("csv", "tsv", None):
            address.refuse("decimal", of="a source that is neither CSV nor TSV")
        module = _module_of(address, of_spark=of_spark)
        found = _in_place(address) if module is None else _module(module, address, policy)
        if isinstance(found, str):
            return found
        if isinstance(found, FileTable):
            self._copy = found
        else:
            self._copy = found.copy(self.private.path)
            self.refuse_changed()
            self._before = {}  # the copy stays as it is
        return self._copy


def files_as_they_are(path: Path) -> Mapping[Path, tuple[int, int, int]]:
    """Return the regular files at a path, a folder's below it, each with its size, its last change and its inode."""
    found = {}
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        with suppress(OSError, ValueError):  # a name with a zero byte is refused by whoever opens it
            state = file.stat()
            if stat.S_ISREG(state.st_mode):
                found[file] = (state.st_size, state.st_mtime_ns, state.st_ino)
    return found


@contextmanager
def snapshot(source: object) -> Iterator[Snapshot]:
    """Yield a source whose copy, if there is one, is deleted in the end. See `Snapshot`."""
    with closing(PrivateFolder()) as private:
        yield Snapshot(source=source, private=private)


def _module(name: str, address: SourceAddress, policy: Policy) -> LiveTable | FileTable:
    """Return the table that a module finds at an address."""
    if encoding_named(policy.encoding) != UTF8 and address.named_format in _OWN_ENCODING:
        raise SourceError(
            f"{address.shown} says its own encoding", "leave the encoding out: it is for text and statistics files"
        )
    table: LiveTable | FileTable = import_module(f"{__package__}.{name}").live_table(address, policy)
    return table


def _in_place(address: SourceAddress) -> str | FileTable:
    """Return the path or the files that the engine opens in place."""
    address.refuse("query", "sheet", "header_row", of="a file of text or Parquet")
    path = Path(address.place)
    if address.named_format not in DELIMITERS:
        address.refuse("header", "names", "skip_rows", of="a source that is neither CSV, TSV nor a workbook")
        address.refuse("delimiter", of="a source that is neither CSV nor TSV")
    is_named = address.format is None or address.named_format == format_of_name(address.place)
    if is_named and address.has_header and address.delimiter is None and address.skip_rows is None:
        return address.place
    if not shielded(path.exists, lambda _: SourceError(f"{address.place!r} cannot be examined")):
        raise SourceError(f"{address.place!r} does not exist")
    if path.is_dir():
        return address.place
    refuse_lake_table(path)
    compression = compression_of_name(address.place)
    return FileTable(
        paths=[path],
        format=address.named_format or "csv",
        named=address.place,
        compression=compression,
        has_header=address.has_header,
        names=address.given_names,
        delimiter=address.delimiter,
        skip_rows=address.skip_rows,
    )


def refuse_text_without_header(readable: object, policy: Policy | None = None) -> int:
    """Refuse a CSV or TSV file whose first line looks like a record; return how many of its names look like cells.

    Parameters
    ----------
    readable : object
        What an engine reads; anything else than such a file is let pass.
    policy : Policy, optional
        What is declared, and whether cells may decide.

    Raises
    ------
    ChoiceError
        It looks so.
    SourceError
        The file is empty, not UTF-8, or its first line is not well-formed.
    """
    return look_at_header(readable, policy or Policy()).cells_among_names


class FirstLines(NamedTuple):
    """Findings in the first part of a CSV or TSV file; empty for anything else."""

    cells_among_names: int = 0
    """Number of its names that look like cells."""
    notes: tuple[str, ...] = ()
    """Notes for the owner."""
    grouped: tuple[str, ...] = ()
    """Columns in which a point may part thousands."""


def look_at_header(readable: object, policy: Policy, *, is_declared: bool = False) -> FirstLines:
    """Return the findings in the first part of a CSV or TSV file.

    Parameters
    ----------
    is_declared : bool
        True when the owner declares what its first line is: then no name looks like a cell.

    Raises
    ------
    ChoiceError, SourceError
        As `refuse_text_without_header`.
    """
    text = _delimited_text(readable, policy)
    if text is None:
        return FirstLines()
    names, columns, notes = first_rows(*text)
    grouped = columns_of_groups(names, columns, policy)
    if is_declared:
        return FirstLines(0, notes, grouped)
    declared = frozenset(policy.columns)
    found = refuse_record(names, columns, shown=str(text[0]), cell_by_cell=policy.cell_by_cell, declared=declared)
    return FirstLines(found, notes, grouped)


def _delimited_text(readable: object, policy: Policy) -> tuple[TextFile, str, GivenLayout] | None:
    """Return the file of a CSV or TSV table with a header, its format and its declared layout; else None."""
    if isinstance(readable, FileTable):
        if readable.format not in DELIMITERS or not readable.has_header:
            return None
        encoding = encoding_named(readable.encoding or policy.encoding)
        file = TextFile(str(readable.path), readable.compression, encoding, readable.shown)
        return file, readable.format, readable.layout(policy)
    if not isinstance(readable, str | os.PathLike):
        return None
    path = Path(readable)
    kind = format_of_name(path.name)
    if kind not in DELIMITERS or not path.is_file():
        return None
    file = TextFile(str(path), compression_of_name(path.name), encoding_named(policy.encoding))
    return file, str(kind), GivenLayout(declared=frozenset(policy.columns), by_shape=policy.cell_by_cell)


def of_fetched(address: SourceAddress, path: Path, policy: Policy) -> FileTable:
    """Return a table whose bytes were fetched into a private folder: as it is there, or copied once more.

    Parameters
    ----------
    address : SourceAddress
        What it was fetched from; its `named_format` says how the bytes are read.
    path : Path
        Where they are, in a folder of their own.

    Raises
    ------
    SourceError
        Nothing says its format.
    """
    kind = address.named_format
    if kind is None:
        raise SourceError(f"nothing says the format of {address.shown}", option("format", "csv"))
    if kind in OF_FORMAT:
        table = _module(OF_FORMAT[kind], replace(address, fetched=path), policy)
        return table if isinstance(table, FileTable) else table.copy(path.parent)
    address.refuse("query", "sheet", "header_row", of="a file of text or Parquet")
    if kind not in DELIMITERS:
        address.refuse("header", "names", "skip_rows", of="a source that is neither CSV, TSV nor a workbook")
        address.refuse("delimiter", of="a source that is neither CSV nor TSV")
    packed = _compression_of(path) if kind in TEXT_FORMATS else None
    return FileTable(
        paths=[path],
        format=kind,
        named=address.place,
        compression=packed,
        has_header=address.has_header,
        names=address.given_names,
        delimiter=address.delimiter,
        skip_rows=address.skip_rows,
    )


def _compression_of(path: Path) -> str | None:
    """Return the compression of a text by its first bytes, which no string begins with; None where it is not."""
    with path.open("rb") as file:
        start = file.read(4)
    return next((name for name, magic in _MAGIC.items() if start.startswith(magic)), None)


def refuse_pipes(address: SourceAddress) -> None:
    """Refuse a path that names a pipe or a device: it is opened more than once, and may wait for a writer for ever.

    Raises
    ------
    SourceError
        It does.
    """
    if address.scheme or address.is_standard_input or address.is_pattern:
        return
    try:
        mode = os.stat(address.place).st_mode
    except (OSError, ValueError):  # whoever opens it says so
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise SourceError(
            f"{address.shown} is a pipe or a device, and no file",
            f"`-` with {option('format', 'csv')} reads standard input",
        )


def is_read_in_place(address: SourceAddress) -> bool:
    """Return True if the engine of this machine opens a source in place."""
    return _module_of(address, of_spark=False) is None


def _module_of(address: SourceAddress, *, of_spark: bool) -> str | None:
    """Return the module that copies a source; None where the engine opens it."""
    if address.scheme:
        return None if of_spark and address.scheme in OF_SPARK else OF_SCHEME.get(address.scheme)
    if address.is_standard_input:
        return _STANDARD_INPUT
    if address.is_pattern:
        return _MANY_FILES
    path = Path(address.place)
    if path.is_dir():
        if address.format in LAKES or kind_of_folder(path.resolve()) is not None:
            return OF_FORMAT.get(address.format or "lake")
        return _MANY_FILES if address.format in TEXT_FORMATS or _is_text_folder(address) else None
    return OF_FORMAT.get(address.named_format or "")


def _is_text_folder(address: SourceAddress) -> bool:
    """Return True if a folder without a declared format holds text files."""
    kinds = {format_of_name(path.name) for path in data_files(Path(address.place))}
    return address.format is None and "parquet" not in kinds and not kinds.isdisjoint(TEXT_FORMATS)
