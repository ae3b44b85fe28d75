# SPDX-License-Identifier: Apache-2.0
"""The target of an export: a file by its suffix, or a table of a database by its address."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode

from anonkit.bundle.exports.held_names import refuse_table_name
from anonkit.bundle.sql_names import table_parts
from anonkit.errors import ParameterError
from anonkit.redaction import is_address, redacted

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
