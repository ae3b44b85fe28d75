# SPDX-License-Identifier: Apache-2.0
"""The rule by which values of a sensitive attribute are one, and the share that each may have in a class, as arrays.

Numbers no further apart than the width of their column are one value. Width and caps are fixed by the owner on the
whole table; whoever has the released one alone can still check whether the rule allows them, since the rows that were
left out are counted in the report.

The definition of a value of a sensitive column, in SQL: strings folded, marks for a missing cell missing.

The different strings of a column are read and folded here; the table itself stays in DuckDB, which puts the folded
string in the place of each.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.checks.people import Counts, ValueHolders
from anonkit.checks.table_scans import Lines
from anonkit.promises.anonymous_classes import EXEMPT_ABOVE
from anonkit.promises.no_values import CODE_WORDS, FEW_CODES, NO_VALUES, TOLERANCE

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
    def of_release(cls, params: Mapping[str, Any], rows: Mapping[str, Any]) -> ReadValues:
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


Numbers = NDArray[np.float64]

LEAST_CAP = 0.51
"""Cap of a value that is not listed: just above a half, by convention."""
_HEADER_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+\d*|\d+")
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class LookedAt:
    """The values of an attribute by what they are, ascending, a missing one last."""

    numbers: Numbers | None
    """Numbers, not-a-number for a missing one; None for strings, dates and truth values."""
    caps: Numbers | None
    """The cap of each, infinite where it is exempt; None: nothing is capped."""

    @classmethod
    def of(cls, cells: pa.ChunkedArray, column: str, reading: ReadValues) -> LookedAt:
        """Look at the different values of a column, in their order."""
        kind, numbers = cells.type, None
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            numbers = np.asarray(cells.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
        caps = None if column not in reading.caps else _caps(cells, numbers, reading.caps[column])
        return cls(numbers=numbers, caps=caps)


def is_named_like_codes(column: str) -> bool:
    """Return from the header whether integers are codes."""
    return not CODE_WORDS.isdisjoint(word.lower() for word in _HEADER_WORDS.findall(column))


def _caps(cells: pa.ChunkedArray, numbers: Numbers | None, listed: Sequence[Sequence[Any]]) -> Numbers:
    """Return the cap of each value, as `params.json` lists them."""
    pairs = [(value, np.inf if cap is None else float(cap)) for value, cap in listed]
    of_missing = next((cap for value, cap in pairs if value is None), LEAST_CAP)
    if numbers is not None:
        starts = [(float(value), cap) for value, cap in pairs if value is not None]
        steps = np.array([LEAST_CAP, *(cap for _, cap in starts)])
        caps = steps[np.searchsorted(np.array([start for start, _ in starts]), numbers, side="right")]
        return np.where(np.isnan(numbers), of_missing, caps)
    of_texts = {value: cap for value, cap in pairs if value is not None}
    texts = (
        cells
        if pa.types.is_string(cells.type)
        else pa.chunked_array([list(map(_text, cells.to_pylist()))], pa.string())
    )
    places = pc.index_in(texts, value_set=pa.array(list(of_texts), pa.string()))
    caps = np.array([*of_texts.values(), LEAST_CAP])[pc.fill_null(places, len(of_texts)).to_numpy()]
    return np.where(texts.is_null().to_numpy(), of_missing, caps)


def _text(value: Any) -> str | None:
    """Return the name in `params.json` of a value that is neither number nor string."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC)
    return None if value is None else value.isoformat() if hasattr(value, "isoformat") else str(value)


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedAs:
    """The values of an attribute as they count, by their codes."""

    ends: Counts | None = None
    """For each value the first code that is another value; None where only equal values are one."""
    caps: Numbers | None = None
    """Largest share of a class that may hold each value, infinite where it is exempt; None: nothing is capped."""
    strange: int = 0
    """Widths and caps that do not follow by the rule from the table and the rows that were left out."""

    @classmethod
    def of(
        cls,
        looked: LookedAt,
        column: str,
        reading: ReadValues,
        rows: Counts,
        everybody: int,
        *,
        whole: bool,
        people: tuple[ValueHolders, Counts] | None = None,
    ) -> CountedAs:
        """Return the definition of the values of a column.

        Parameters
        ----------
        rows : array, shape (n_values,)
            Rows with each value in the whole table.
        everybody : int
            Rows of the whole table, those without a value too.
        whole : bool
            Its type is one of integers.
        people : tuple, optional
            Who holds the values, where people are counted, and the people of each class.
        """
        ends, strange = None, 0
        if looked.numbers is not None:
            numbers = looked.numbers[~np.isnan(looked.numbers)]
            found = _Widths.of(numbers, rows[: numbers.size], column, reading, whole)
            width = reading.widths.get(column, found.width)
            strange = int(not found.allow(width))
            if width > 0:
                ends = np.searchsorted(numbers, numbers + width, side="right")
                ends = np.append(ends, np.arange(numbers.size, looked.numbers.size) + 1)
        elif reading.left_out is not None and reading.widths.get(column):  # strings are no numbers close to each other
            strange = 1
        if looked.caps is not None and reading.left_out is not None:
            low, high = _shares(ends, rows, everybody, reading.left_out, people)
            strange += int(((looked.caps < _cap(low)) | (looked.caps > _cap(high))).sum())
        return cls(ends=ends, caps=looked.caps, strange=strange)


def _cap(shares: Numbers) -> Numbers:
    """Return the cap of values that such shares of a table have, infinite where they are exempt."""
    caps = np.ceil(50 * (1 + shares) - _ROUNDING) / 100
    return np.where(shares > EXEMPT_ABOVE + _ROUNDING, np.inf, np.maximum(caps, LEAST_CAP))


def _shares(
    ends: Counts | None, rows: Counts, everybody: int, left_out: int, people: tuple[ValueHolders, Counts] | None
) -> tuple[Numbers, Numbers]:
    """Return the least and the largest share that each value can have had in the whole table.

    A person with several rows of a value is published as two, and the number of all people is published by class: both
    are taken as what makes the range wider.
    """
    if people is None:
        counts = _within(rows, ends)
        return counts / (everybody + left_out), np.minimum((counts + left_out) / (everybody + left_out), 1.0)
    holders, of_classes = people
    most, least = _within(holders.everywhere, ends), np.where(holders.everywhere > 2, holders.everywhere, 1)
    fewest = max(int(of_classes.max(initial=1)), holders.anybody - 1, 1)
    low = least / (int(of_classes.sum()) + left_out)
    return low, np.minimum((most + left_out) / fewest, 1.0)


def _within(counts: Counts, ends: Counts | None) -> Counts:
    """Return the holders of each value and of the values up to its end."""
    if ends is None:
        return counts
    sums = np.concatenate([[0], np.cumsum(counts)])
    return np.asarray(sums[ends] - sums[:-1])


@dataclass(frozen=True, kw_only=True)
class _Widths:
    """The widths that a column can have by the rule."""

    width: float
    """Of the table itself."""
    nothing: bool
    """The width may be 0: the column need not be measured."""
    low: float
    high: float
    """Of the whole table: it is within these, if it is not 0."""

    @classmethod
    def of(cls, numbers: Numbers, rows: Counts, column: str, reading: ReadValues, whole: bool) -> _Widths:
        tolerance = reading.tolerances.get(column, TOLERANCE)
        may_be = column in reading.tolerances or not (
            reading.categories.get(column) or (whole and is_named_like_codes(column))
        )
        must_be = may_be and (column in reading.tolerances or not whole or numbers.size > FEW_CODES)
        if not may_be or not numbers.size:
            return cls(width=0.0, nothing=True, low=0.0, high=0.0)
        left_out = 0 if reading.left_out is None else reading.left_out
        below, n = np.cumsum(rows), int(rows.sum())
        first, last = _quantile(numbers, below, n, left_out, 0.05), _quantile(numbers, below, n, left_out, 0.95)
        exact = [_quantile(numbers, below, n, 0, share)[0] for share in (0.05, 0.95)]
        elsewhere = reading.left_out is None and column in reading.widths
        return cls(
            width=_rounded(tolerance * (exact[1] - exact[0])) if must_be else 0.0,
            nothing=not must_be or elsewhere,
            low=0.0 if elsewhere else _rounded(tolerance * max(last[0] - first[1], 0.0)),
            high=np.inf if elsewhere else _rounded(tolerance * (last[1] - first[0])),
        )

    def allow(self, width: float) -> bool:
        """Return True if a width can be by the rule."""
        return (self.nothing and width == 0) or self.low <= width <= self.high


def _rounded(width: float) -> float:
    return float(f"{width:.1e}") if np.isfinite(width) else width


def _quantile(numbers: Numbers, below: Counts, n: int, left_out: int, share: float) -> tuple[float, float]:
    """Return the least and the largest number up to which a share of the whole table can lie.

    Parameters
    ----------
    numbers, below : array
        The different numbers, ascending, and the rows up to each.
    n, left_out : int
        Rows of the table with a number, and rows that were left out, with whatever number.
    """
    needed = share * (n + left_out) - _ROUNDING
    low = -np.inf if left_out and left_out >= needed else numbers[np.argmax(below + left_out >= needed)]
    high = numbers[np.argmax(below >= needed)] if below[-1] >= needed else np.inf
    return float(low), float(high)
