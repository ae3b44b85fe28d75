# SPDX-License-Identifier: Apache-2.0
"""The name of a source: a path, a pattern of paths, `-`, or an address, with the options for reading it.

The same strings and options mean the same on the command line, in recipes and in Python.
"""

from __future__ import annotations

import csv
import glob
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict
from urllib.parse import parse_qsl, unquote

from anonkit.bundle.signing import is_pattern
from anonkit.errors import ParameterError, SourceError, did_you_mean, option

STANDARD_INPUT = "-"

SUFFIXES: Mapping[str, str] = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "excel"),
    ".sav": "sav",
    ".zsav": "sav",
    ".por": "por",
    ".dta": "dta",
    ".sas7bdat": "sas7bdat",
    ".xpt": "xpt",
}
"""Format of a file by the end of its name."""

LAKES = ("delta", "iceberg")
FORMATS: tuple[str, ...] = (*dict.fromkeys(SUFFIXES.values()), *LAKES)
"""Formats by the name that `--format` takes."""
TEXT_FORMATS = ("csv", "tsv", "jsonl")

_OTHER_NAMES = {
    "ndjson": "jsonl",
    "json": "jsonl",
    "feather": "arrow",
    "ipc": "arrow",
    "zsav": "sav",
    **dict.fromkeys(("xlsx", "xlsm", "xlsb", "xls", "ods"), "excel"),
}
_OF_FILES = ("sqlite", "duckdb", *LAKES)  # schemes of sources on this machine
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://")


class ReadAs(TypedDict, total=False):
    """Options of a source, by the names that they have in Python, in recipes and on the command line."""

    query: str | None
    sheet: str | None
    format: str | None
    header_row: int | None
    header: bool | None
    names: str | Sequence[str] | None
    decimal: str | None
    delimiter: str | None
    skip_rows: int | None


@dataclass(frozen=True, kw_only=True, repr=False)
class SourceAddress(os.PathLike[str]):
    """A source as its owner names it; as a path it is the place that was given.

    Raises
    ------
    ParameterError
        A format is not known, or a row is below 1.

    Privacy
    -------
    The place of a database may have a password in it, and a query names people: neither is in its `repr`.
    """

    place: str
    """The given path, pattern, `-`, or address with user, password and parameters."""
    query: str | None = None
    """SQL to run instead of reading a table."""
    sheet: str | None = None
    """Sheet of a workbook."""
    format: str | None = None
    """One of `FORMATS`; None: the name says it."""
    header_row: int | None = None
    """Row of the sheet in which the columns have their names, from 1; None: the first one."""
    header: bool | None = None
    """True where the first line of a text, or the first row of a sheet, has the names of the columns; None: it is read,
    and refused where it looks like a record."""
    names: str | Sequence[str] | None = None
    """Names of the columns of a table without a header: a text with commas between them, or a sequence."""
    decimal: str | None = None
    """Decimal mark of the numbers in CSV and TSV, "." or ","; None: the policy's."""
    delimiter: str | None = None
    """Separator of the cells of CSV and TSV: one character, or `tab`; None: as the header says."""
    skip_rows: int | None = None
    """Lines of CSV and TSV, or rows of a sheet, above the header; None: they are found."""
    fetched: Path | None = None
    """A private copy of its bytes, where a module has fetched them for another one to read."""

    def __post_init__(self) -> None:
        if self.format is not None:
            named = self.format.lower().lstrip(".")
            named = _OTHER_NAMES.get(named, named)
            if named not in FORMATS:
                raise ParameterError(f"format ({self.format}) is not known", did_you_mean(named, FORMATS))
            object.__setattr__(self, "format", named)
        self._settle_header()
        if self.decimal not in (None, ".", ","):
            raise ParameterError("decimal must be a point or a comma", option("decimal", ","))
        self._settle_lines()
        row = self.header_row
        if row is not None and (isinstance(row, bool) or not isinstance(row, int) or row < 1):
            raise ParameterError("header_row must be an integer in [1, inf)", "rows are counted from 1, as sheets show")

    def _settle_header(self) -> None:
        """Read the names that were given; they are of a table without a header."""
        if self.header is not None and not isinstance(self.header, bool):
            raise ParameterError("header must be true or false", option("header", True))
        if self.names is None:
            return
        listed = next(csv.reader([self.names])) if isinstance(self.names, str) else list(self.names)
        if not listed or not all(isinstance(name, str) and name.strip() for name in listed):
            raise ParameterError("names must be texts, one for each column", option("names", "A,B"))
        if self.header or self.header_row is not None:
            raise ParameterError(
                "names are for a table whose first line is a row", f"leave {option('names')} out, or say no header"
            )
        object.__setattr__(self, "names", tuple(name.strip() for name in listed))
        object.__setattr__(self, "header", False)

    def _settle_lines(self) -> None:
        """Check the options for the lines of a text."""
        given = self.delimiter
        if given is not None:
            named = "\t" if given in ("tab", "\\t") else given
            if len(named) != 1 or named in '"\r\n' or not named.isascii():
                raise ParameterError("delimiter must be one ASCII character, or tab", option("delimiter", ";"))
            object.__setattr__(self, "delimiter", named)
        rows = self.skip_rows
        if rows is None:
            return
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
            raise ParameterError("skip_rows must be an integer in [0, inf)", "the number of lines above the header")
        if self.header_row is not None:
            raise ParameterError("skip_rows and header_row say the same", f"leave {option('header_row')} out")

    @property
    def first_row(self) -> int | None:
        """Row of a sheet that holds the names, from 1; None: the first one."""
        return self.header_row if self.skip_rows is None else self.skip_rows + 1

    @property
    def given_names(self) -> tuple[str, ...] | None:
        """The names that were given, one for each column."""
        return self.names if isinstance(self.names, tuple) else None

    @property
    def has_header(self) -> bool:
        """Return True if the first line or row is read as the names of the columns."""
        return self.header is not False

    @property
    def is_looked_at(self) -> bool:
        """Return True if the first line or row must not look like a record, since no option declares it."""
        return self.header is None and self.header_row is None

    def __fspath__(self) -> str:
        return self.place

    def __repr__(self) -> str:
        return f"<SourceAddress of {self.scheme or 'a path'}>"

    @property
    def scheme(self) -> str:
        """Scheme before `://`, in lower case; empty for a path, a pattern and standard input."""
        found = _SCHEME.match(self.place)
        return "" if found is None else found["scheme"].lower()

    @property
    def bare(self) -> str:
        """The place without its parameters; a path is as it was given."""
        return self.place if not self.scheme else self.place.partition("?")[0]

    @property
    def parameters(self) -> Mapping[str, str]:
        """Parameters after the `?` of an address, decoded; none of a path."""
        return dict(parse_qsl(self.place.partition("?")[2], keep_blank_values=True)) if self.scheme else {}

    @property
    def file_path(self) -> Path:
        """The file of an address such as `sqlite:///people.db?table=people`; the path itself where it is one."""
        if self.fetched is not None or not self.scheme:
            return self.fetched or Path(self.place)
        # three slashes and a relative path, four and an absolute one, as database addresses are commonly written
        return Path(unquote(self.bare.partition("://")[2].partition("/")[2]))

    @property
    def shown(self) -> str:
        """Name of the source in messages; the error takes out what an address may not show."""
        return "standard input" if self.is_standard_input else repr(self.place)

    @property
    def is_standard_input(self) -> bool:
        """Return True if rows come through a pipe."""
        return self.place == STANDARD_INPUT

    @property
    def is_pattern(self) -> bool:
        """Return True if it is a pattern of paths; a file of that very name goes first."""
        return not self.scheme and is_pattern(self.place)

    @property
    def named_format(self) -> str | None:
        """The format of the option, or the one that the name ends in; None where neither gives it."""
        return self.format or format_of_name(self.bare)

    def refuse(self, *options: str, of: str) -> None:
        """Refuse options that mean nothing for a kind of source.

        Parameters
        ----------
        *options : str
            Names of fields.
        of : str
            What kind it is, for the message.

        Raises
        ------
        ParameterError
            One of them was given.
        """
        given = next((name for name in options if getattr(self, name) is not None), None)
        if given is not None:
            raise ParameterError(f"{given} means nothing for {of}", f"leave {option(given)} out")


def address_of(source: str | os.PathLike[str]) -> SourceAddress:
    """Return a place as an address, whether options were given for it or not."""
    return source if isinstance(source, SourceAddress) else SourceAddress(place=os.fspath(source))


def source_at(source: object, *, in_folder: Path | None = None, **how: Any) -> object:
    """Return a source with the options for how it is read; a table in memory has none.

    Parameters
    ----------
    source : path, address or table
    in_folder : Path, optional
        What a relative path is relative to, instead of the working folder.
    **how
        `query`, `sheet`, `format`, `header_row`, `header`, `names`, `decimal`, `delimiter`,
        `skip_rows`; those that are None are not given.

    Raises
    ------
    ParameterError
        An option is out of its range, or the source is a table in memory.
    """
    given = {name: value for name, value in how.items() if value is not None}
    if not isinstance(source, str | os.PathLike):
        if given:
            raise ParameterError(f"{next(iter(given))} means nothing for a table in memory", "leave it out")
        return source
    if not given and in_folder is None:
        return source
    address = address_of(source)
    if in_folder is not None and not address.is_standard_input:
        address = replace(address, place=_within(in_folder, address))
    return replace(address, **given)


def _within(folder: Path, address: SourceAddress) -> str:
    """Return a place whose path, if it is relative, begins in a folder."""
    if not address.scheme:
        return str(folder / address.place)
    if address.scheme not in _OF_FILES or address.file_path.is_absolute():
        return address.place
    mark = "?" if "?" in address.place else ""
    return f"{address.scheme}:///{folder / address.file_path}{mark}{address.place.partition('?')[2]}"


def files_of(source: object) -> list[Path]:
    """Return the files and folders of this machine that a source is read from, and the pattern that finds them.

    A table in memory has none.
    """
    if not isinstance(source, str | os.PathLike):
        return []
    address = address_of(source)
    if address.is_pattern:
        return [*files_found(address.place), Path(address.place)]
    on_this_machine = not address.scheme or address.scheme in _OF_FILES
    return [address.file_path] if on_this_machine and not address.is_standard_input else []


def files_found(pattern: str) -> list[Path]:
    """Return the files that a pattern of paths finds, in the order of their names."""
    return sorted(path for path in map(Path, glob.glob(pattern, recursive=True)) if path.is_file())


def refuse_absent(source: str) -> None:
    """Refuse a path under which there is nothing; addresses, patterns and standard input are looked at later.

    Raises
    ------
    SourceError
        There is nothing.
    """
    address = SourceAddress(place=source)
    if not (address.scheme or address.is_standard_input or address.is_pattern or os.path.exists(source)):
        raise SourceError(f"{source!r} does not exist")


def format_of_name(name: str) -> str | None:
    """Return the format that a file's name ends in, compressed or not; None where it ends in none."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    packed = bool(suffixes) and suffixes[-1] in _COMPRESSIONS
    kind = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
    return SUFFIXES.get(kind)


def compression_of_name(name: str) -> str | None:
    """Return the compression of a file by its name; None where it is not."""
    return _COMPRESSIONS.get(Path(name).suffix.lower())
