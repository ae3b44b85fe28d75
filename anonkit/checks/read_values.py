# SPDX-License-Identifier: Apache-2.0
"""The definition of a value of a sensitive column, in SQL: strings folded, marks for a missing cell missing.

The different strings of a column are read and folded here; the table itself stays in DuckDB, which puts the folded
string in the place of each.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import pyarrow as pa

from anonkit.checks.table_scans import Lines
from anonkit.promises.no_values import NO_VALUES

_TEXTS = ("VARCHAR", "ENUM")


@dataclass(frozen=True, kw_only=True)
class ReadValues:
    """The definition of a value of a table's sensitive columns, and the share that one may have in a class."""

    columns: tuple[str, ...] = ()
    """The columns that are read so."""
    no_values: Sequence[str] = NO_VALUES
    """Folded strings that are none."""
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By column: declared categories, which are values whatever the list says."""
    widths: Mapping[str, float] = field(default_factory=dict)
    """By column: numbers no further apart are one value. Of others the width follows from the table itself."""
    tolerances: Mapping[str, float] = field(default_factory=dict)
    """By column: the share of its middle 90 % that a declared width is."""
    caps: Mapping[str, Sequence[Sequence[Any]]] = field(default_factory=dict)
    """By column with caps: pairs of a value and the largest share of a class that may hold it, as in `params.json`."""
    left_out: int | None = None
    """Rows that the caps were fixed on and the table has no more; None: the caps are those of another table."""

    @classmethod
    def from_params(cls, params: Mapping[str, Any], rows: Mapping[str, Any]) -> ReadValues:
        """Return the definition in the `params.json` of a release, and the `rows` of its report.

        Of a release of version 0.1, which defines no values, strings are read by the list of today.
        """
        sensitive = {entry["name"]: entry for entry in params["columns"] if entry.get("sensitive")}
        domains = {name: entry.get("domain", {}).get("categories", ()) for name, entry in sensitive.items()}
        return cls(
            no_values=tuple(params.get("no_values", NO_VALUES)),
            categories={name: tuple(values) for name, values in domains.items()},
            widths={name: float(entry["width"]) for name, entry in sensitive.items() if "width" in entry},
            tolerances={name: float(entry["tolerance"]) for name, entry in sensitive.items() if "tolerance" in entry},
            caps={name: entry["caps"] for name, entry in sensitive.items() if "caps" in entry},
            left_out=None if "earlier_method" in params else int(rows["suppressed"]),
        )

    def reading(self, columns: Sequence[str]) -> ReadValues:
        """Return the same of some more columns."""
        return replace(self, columns=tuple(dict.fromkeys((*self.columns, *columns))))

    def value_of(self, text: str, column: str) -> str | None:
        """Return the folded string, or None where it is no value of the column."""
        found = folding(text)
        return None if found in self.marks(column) else found

    def marks(self, column: str) -> frozenset[str]:
        """Return the folded strings that are no value of a column."""
        return _marks(tuple(self.no_values), tuple(self.categories.get(column, ())))


@lru_cache(maxsize=64)
def _marks(no_values: tuple[str, ...], categories: tuple[str, ...]) -> frozenset[str]:
    return frozenset(no_values) - {folding(text) for text in categories}


def folding(text: str) -> str:
    """Return the folded form of a string for comparison: NFKC, case folding, trimmed."""
    compatible = unicodedata.normalize("NFKC", text)
    return unicodedata.normalize("NFKC", compatible.casefold()).strip()


def read_lines(lines: Lines, columns: Collection[str], reading: ReadValues) -> Lines:
    """Return the lines with the counted values in place of the strings of some columns.

    Notes
    -----
    A column of numbers, dates or truth values stays as it is. The tables `spelled0`, `spelled1`, … of the connection
    have every string `cell` of a column beside its counted value, `counted`.
    """
    connection, source = lines.connection, lines.source
    for at, name in enumerate(dict.fromkeys(columns)):
        cells = lines.column(name)
        if not _is_text(connection, source, cells):
            continue
        spelled = connection.sql(f"SELECT DISTINCT {cells}::VARCHAR AS cell FROM {source}").fetchall()
        texts, marks = [text for (text,) in spelled if text is not None], reading.marks(name)
        folded = [folding(text) for text in texts]
        counted = [None if text in marks else text for text in folded]
        if counted == texts:
            continue
        listed = {"cell": pa.array(texts, pa.string()), "counted": pa.array(counted, pa.string())}
        connection.register(f"spelled{at}", pa.table(listed))
        source = (
            f"(SELECT t.* REPLACE (spelled.counted AS {cells}) FROM {source} AS t "
            f"LEFT JOIN spelled{at} AS spelled ON t.{cells}::VARCHAR = spelled.cell)"
        )
    return replace(lines, source=source)


def _is_text(connection: Any, source: str, cells: str) -> bool:
    (kind,) = connection.sql(f"SELECT {cells} FROM {source} LIMIT 0").types
    return str(kind).startswith(_TEXTS)
