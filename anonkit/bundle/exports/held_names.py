# SPDX-License-Identifier: Apache-2.0
"""Names of tables and columns that a database cannot hold, refused before anything of it is touched.

A database that is not checked first answers late and in its own way: PostgreSQL cuts a long name without a word, SQLite
and DuckDB take two names that differ in capitals alone for one.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anonkit.errors import ParameterError

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_ELSEWHERE = "rename it in the source and release anew, or export to a file"


@dataclass(frozen=True, kw_only=True)
class NameRules:
    """Rules of a database for names."""

    called: str
    most_bytes: int | None = None
    """Of a name in UTF-8; None: no limit that a name of a release reaches."""
    most_columns: int | None = None
    tells_capitals: bool = False
    """False: names that differ in capitals of A to Z alone are one name."""
    own_columns: frozenset[str] = frozenset()
    """Columns that every table has already."""
    own_tables: str | None = None
    """Prefix of the names of its own tables."""
    schemas: frozenset[str] | None = None
    """The only schemas there are; None: any."""

    def folded(self, name: str) -> str:
        """Return the name by which two names are compared."""
        return name if self.tells_capitals else name.translate(_LOWER)


RULES: Mapping[str, NameRules] = {
    "postgresql": NameRules(
        called="PostgreSQL",
        most_bytes=63,
        most_columns=1600,
        tells_capitals=True,
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
