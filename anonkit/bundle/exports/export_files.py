# SPDX-License-Identifier: Apache-2.0
"""An exported file with its sidecars beside it: written aside, read back there, and renamed into place together.

The protocol of an exported form: written, read back cell by cell, then put in place or taken back.

The target of an export: a file by its suffix, or a table of a database by its address.

Names of tables and columns that a database cannot hold, refused before anything of it is touched.

A database that is not checked first answers late and in its own way: PostgreSQL cuts a long name without a word, SQLite
and DuckDB take two names that differ in capitals alone for one.
"""

from __future__ import annotations

import hashlib
import json
import string
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol
from urllib.parse import parse_qsl, quote, unquote, urlencode
from zipfile import BadZipFile

import pyarrow as pa

from anonkit.bundle.atomic import Staging, finish, reason_of
from anonkit.bundle.sql_names import table_parts
from anonkit.errors import EngineError, ParameterError, ReleaseFormatError
from anonkit.redaction import is_address, redacted
from anonkit.report.descriptors import MEDIA_TYPES

BATCH_ROWS = 1 << 15
"""Rows in memory at a time."""


class ExportedRows(Protocol):
    """The rows of a release."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types; categories are strings."""
        ...

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def categories(self) -> Mapping[str, Sequence[str]]:
        """Strings of columns that have a list of them, in its order."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield them, in order, from the first on at each call."""
        ...


class ExportedForm(Protocol):
    """A release in another form, at one place."""

    escapes_formulas: ClassVar[bool]
    """True: a string that a spreadsheet would take for a formula has an apostrophe in front."""
    empty_is_missing: ClassVar[bool]
    """True: an empty string is no cell."""
    typed_cells: ClassVar[bool]
    """True: cells are read as strings after a letter for their type, s, n or b."""
    digits: ClassVar[int | None]
    """Significant digits of a number that are kept; None: all of them."""

    remains: bool
    """True: cells of what was replaced may stay in the file of a database."""

    def exists(self) -> bool:
        """Return True if the target exists."""
        ...

    def write(self, rows: ExportedRows, sidecars: Mapping[str, bytes]) -> None:
        """Write rows and sidecars aside, or within a transaction."""
        ...

    def columns(self) -> Sequence[tuple[str, str]]:
        """Return name and type of every column, as they are read back; the type is empty where a form has none."""
        ...

    def type_of(self, kind: pa.DataType) -> str:
        """Return the type that a column of the release has in this form."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as they are read back, their cells as the form has them or as its strings."""
        ...

    def commit(self) -> None:
        """Put what was written in place."""
        ...

    def close(self) -> None:
        """Take back what was not put in place."""
        ...


class CopyForm(ExportedForm, Protocol):
    """A form in which the data may be among the files of a release, as one file without sidecars of its own."""

    def refuse_unheld(self, names: Sequence[str], texts: Mapping[str, Sequence[str]]) -> None:
        """Refuse columns that the form cannot hold, before there are rows.

        Parameters
        ----------
        names : sequence of str
            All columns.
        texts : mapping
            Strings that a column may have, by its name, as far as they are declared.

        Raises
        ------
        ParameterError
        """
        ...

    def refuse_size(self, n_rows: int) -> None:
        """Refuse more rows than the form can hold.

        Raises
        ------
        ParameterError
        """
        ...

    def write_table(self, rows: ExportedRows, path: Path) -> None:
        """Write the rows into a file that is not there yet."""
        ...


_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_ELSEWHERE = "rename it in the source and release anew, or export to a file"


@dataclass(frozen=True, kw_only=True)
class NameRules:
    """Rules of a database for names."""

    called: str
    most_bytes: int | None = None
    """Of a name in UTF-8; None: no limit that a name of a release reaches."""
    most_columns: int | None = None
    is_case_sensitive: bool = False
    """False: names that differ in capitals of A to Z alone are one name."""
    own_columns: frozenset[str] = frozenset()
    """Columns that every table has already."""
    own_tables: str | None = None
    """Prefix of the names of its own tables."""
    schemas: frozenset[str] | None = None
    """The only schemas there are; None: any."""

    def folded(self, name: str) -> str:
        """Return the name by which two names are compared."""
        return name if self.is_case_sensitive else name.translate(_LOWER)


RULES: Mapping[str, NameRules] = {
    "postgresql": NameRules(
        called="PostgreSQL",
        most_bytes=63,
        most_columns=1600,
        is_case_sensitive=True,
        own_columns=frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}),
    ),
    "sqlite": NameRules(called="SQLite", most_columns=2000, own_tables="sqlite_", schemas=frozenset({"main"})),
    "duckdb": NameRules(called="DuckDB"),
}
"""By the form of a target. PostgreSQL 17, appendix K and section 5.6; SQLite, "Limits In SQLite"."""


def refuse_table_name(form: str, parts: Sequence[str], beside: str) -> None:
    """Refuse a table that a database cannot have.

    Parameters
    ----------
    form : str
        One of `RULES`.
    parts : sequence of str
        Schema, if one is named, and table.
    beside : str
        Name of the table of sidecars.

    Raises
    ------
    ParameterError
        A name is empty, too long, holds U+0000, or is the database's own.
    """
    rules = RULES[form]
    for name in (*parts, beside):
        fault = _fault(rules, name)
        if fault is not None:
            raise ParameterError(f"table {name!r} {fault}", "?table=released")
    if rules.own_tables is not None and rules.folded(parts[-1]).startswith(rules.own_tables):
        raise ParameterError(f"table {parts[-1]!r} is a name that {rules.called} keeps to itself", "?table=released")
    strange = rules.schemas is not None and len(parts) > 1 and rules.folded(parts[0]) not in rules.schemas
    if len(parts) > 2 or strange:
        raise ParameterError(
            f"table {'.'.join(parts)!r} is in no schema that {rules.called} writes to", f"?table={parts[-1]}"
        )


def refuse_column_names(form: str, names: Sequence[str]) -> None:
    """Refuse columns that a database cannot have.

    Parameters
    ----------
    form : str
        One of `RULES`.
    names : sequence of str
        All columns.

    Raises
    ------
    ParameterError
        A name is empty, too long, holds U+0000, is the database's own, or is to it the same as another one; or they are
        too many.
    """
    rules = RULES[form]
    if rules.most_columns is not None and len(names) > rules.most_columns:
        raise ParameterError(
            f"the release has {len(names)} columns, a table of {rules.called} holds {rules.most_columns}",
            "export to a file instead",
        )
    first: dict[str, str] = {}
    for name in names:
        fault = _fault(rules, name)
        if fault is None and name in rules.own_columns:
            fault = f"has the name of one that every table of {rules.called} has already"
        other = first.setdefault(rules.folded(name), name)
        if fault is None and other != name:
            fault = f"is to {rules.called} the same name as {other!r}: it does not tell capitals"
        if fault is not None:
            raise ParameterError(f"column {name!r} {fault}", _ELSEWHERE)


def _fault(rules: NameRules, name: str) -> str | None:
    """Return the fault of a name by itself; None where it has none."""
    if not name:
        return f"has no name, which {rules.called} needs"
    if "\0" in name:
        return f"has U+0000 in its name, which {rules.called} cannot hold"
    size = len(name.encode())
    if rules.most_bytes is not None and size > rules.most_bytes:
        return f"has a name of {size} bytes, {rules.called} holds {rules.most_bytes}"
    return None


FILES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".xlsx": "xlsx",
    ".sav": "sav",
    ".dta": "dta",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""Form by suffix; a feather file is an Arrow IPC file."""
_EMBEDDED = ("sqlite", "duckdb")
_BY_SUFFIX = {**FILES, **{f".{form}": form for form in _EMBEDDED}}
"""The file of a database by its own name is the address of its table `released`."""
_SERVERS = ("postgresql", "postgres")
_KNOWN = (
    "out.csv, out.xlsx, out.sav, out.dta, out.arrow, out.sqlite, out.duckdb, sqlite:///f.db?table=t, "
    "duckdb:///f.duckdb?table=t, postgresql://user@host/db?table=t"
)
_TABLE = "released"
SIDECAR_TABLE = "_anonkit"
"""Suffix of a table's name in that of the table beside it, which holds the sidecars."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A place for a release in another form.

    Privacy
    -------
    The address may hold a password; neither `repr` nor `str` shows it.
    """

    form: str
    """"csv", "tsv", "xlsx", "sav", "dta", "arrow", "sqlite", "duckdb" or "postgresql"."""
    path: Path | None = None
    """The file, or the file of the database."""
    address: str = ""
    """Of a server, without the parameters that are about the table."""
    table: str = _TABLE
    schema: str | None = None
    """Of the table, where one is named."""
    named: str = ""
    """As it was given, without secrets."""

    def __repr__(self) -> str:
        return f"Target({self.named!r})"

    def __str__(self) -> str:
        return self.named

    @property
    def is_file(self) -> bool:
        """True when the target is one file of its own, sidecars beside it."""
        return self.form in FILES.values()

    @classmethod
    def of(cls, given: str | Path) -> Target:
        """Read a target.

        Raises
        ------
        ParameterError
            It is no form that is known.
        """
        text = str(given)
        named = redacted(text)
        if not is_address(text):
            path = Path(text)
            if path.suffix.lower() not in _BY_SUFFIX or not path.stem:
                raise ParameterError(f"{named!r} is no form that a release is exported to", f"known: {_KNOWN}")
            return cls(form=_BY_SUFFIX[path.suffix.lower()], path=path, named=named)
        scheme, _, rest = text.partition("://")
        scheme = scheme.lower()
        place, _, query = rest.partition("?")
        parameters = dict(parse_qsl(query, keep_blank_values=True))
        spelled, schema = parameters.pop("table", _TABLE), parameters.pop("schema", None)
        known = scheme in _SERVERS or (scheme in _EMBEDDED and place.startswith("/") and len(place) > 1)
        if not known or (scheme in _EMBEDDED and (parameters or schema is not None)):
            raise ParameterError(f"{named!r} is no form that a release is exported to", f"known: {_KNOWN}")
        form = "postgresql" if scheme in _SERVERS else scheme
        *above, table = table_parts(spelled, schema, folds=form == "postgresql")
        if table.endswith(SIDECAR_TABLE):
            raise ParameterError(f"table {table!r} is no name for the released rows", "?table=released")
        refuse_table_name(form, [*above, table], table + SIDECAR_TABLE)
        within = None if form == "sqlite" else next(iter(above), None)
        if scheme in _EMBEDDED:
            return cls(form=form, path=Path(unquote(place[1:])), table=table, schema=within, named=named)
        rest = f"?{urlencode(parameters, quote_via=quote)}" if parameters else ""
        return cls(form=form, address=f"postgresql://{place}{rest}", table=table, schema=within, named=named)


DESCRIPTOR = "datapackage.json"
"""The sidecar that describes the exported file, with the hash of each file."""


class ExportFile(ABC):
    """One file of its own; a subclass writes and reads its rows."""

    escapes_formulas: ClassVar[bool] = False
    empty_is_missing: ClassVar[bool] = False
    typed_cells: ClassVar[bool] = False
    digits: ClassVar[int | None] = None

    def __init__(self, target: Target) -> None:
        assert target.path is not None  # noqa: S101 - targets of files have one
        self.target, self.path = target, target.path
        self._staging: Staging | None = None
        self.remains = False
        self._names: list[str] = []

    @property
    def readable(self) -> Path:
        """The file that is read: the one written aside, else the one in place."""
        return self.path if self._staging is None else self._staging.folder / self.path.name

    def refuse_unheld(self, names: Sequence[str], texts: Mapping[str, Sequence[str]]) -> None:  # noqa: B027
        """Refuse nothing: the form holds any columns."""

    def refuse_size(self, n_rows: int) -> None:  # noqa: B027
        """Refuse nothing: the form holds any number of rows."""

    @abstractmethod
    def write_table(self, rows: ExportedRows, path: Path) -> None:
        """Write the rows into a file."""

    def exists(self) -> bool:
        """Return True if the file is there; what a killed process had finished is put in place first."""
        if self.path.parent.is_dir():
            finish(self.path.parent, self.path.name)
        return self.path.exists()

    def write(self, rows: ExportedRows, sidecars: Mapping[str, bytes]) -> None:
        """Write the file and its sidecars into a hidden folder beside its place.

        Raises
        ------
        EngineError
            The folder cannot be written to.
        """
        self._staging = Staging(self.path.parent, self.path.name)
        try:
            self.write_table(rows, self.readable)
            for name, content in self._described(sidecars).items():
                (self._staging.folder / name).write_bytes(content)
                self._names.append(name)
        except OSError as error:
            raise EngineError(f"cannot write {str(self.path)!r}: {reason_of(error)}") from None

    def _described(self, sidecars: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the sidecars by name, the descriptor with this file in the place of the release's data file."""
        prefix = f"{self.path.name}."
        files = {f"{prefix}{name}": content for name, content in sidecars.items() if name != DESCRIPTOR}
        document = json.loads(sidecars[DESCRIPTOR])
        data = next(resource for resource in document["resources"] if resource["name"] == "data")
        with self.readable.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        form = self.target.form
        data |= {"path": self.path.name, "format": form, "mediatype": MEDIA_TYPES[form], "hash": f"sha256:{digest}"}
        described = [data]
        for resource in document["resources"]:
            content = files.get(f"{prefix}{resource['name']}.json")
            if content is not None:
                named = {"path": f"{prefix}{resource['name']}.json"}
                described.append({**resource, **named, "hash": f"sha256:{hashlib.sha256(content).hexdigest()}"})
        document["resources"] = described
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        return {**files, f"{prefix}{DESCRIPTOR}": text.encode()}

    @contextmanager
    def refusing_unreadable(self) -> Iterator[None]:
        """Refuse a file that cannot be read, without a word of its content.

        Raises
        ------
        ReleaseFormatError
            It is no file of its form, or damaged.
        """
        try:
            yield
        except (pa.ArrowException, BadZipFile, OSError, KeyError, ValueError, SyntaxError):
            raise ReleaseFormatError(f"{str(self.path)!r} cannot be read as {self.target.form}") from None

    def commit(self) -> None:
        """Rename the file and its sidecars into place."""
        assert self._staging is not None  # noqa: S101 - it was written
        self._staging.commit([self.path.name, *self._names])

    def close(self) -> None:
        """Delete what was not put in place."""
        if self._staging is not None:
            self._staging.discard()
            self._staging = None
