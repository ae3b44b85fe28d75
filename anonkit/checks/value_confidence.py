# SPDX-License-Identifier: Apache-2.0
"""Confidence of each value of a column within the classes: its largest share of a class, and that class's size.

Who is placed in a class of 66 ill and three well people is known to be ill at 95.7 %, whatever l is. So each value is
looked at by itself: its largest share of a class beside its share of the table, and the shares of its holders in
classes of which more than half, or more than nine tenths, have it. Rows without a value count in their class. Strings
are one value where they are alike when folded, and the commonest spelling is shown. Numbers and dates of more than
twenty values are in at most ten bands of about equal numbers of rows, whose ends are released values.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.checks.class_counts import has_order
from anonkit.checks.clear_parts import has_few
from anonkit.checks.counted_as import ReadValues
from anonkit.checks.people import Counts, HeldByPeople, ValueRows
from anonkit.checks.table_scans import Lines
from anonkit.documents import ReportPart

SHOWN = 20
"""Values of largest lift that are listed, besides all that more than half of a class have."""
BANDS = 10
_TEXT, _MISSING = "=", "?"
"""Prefix of the codes of strings, and the code of a missing cell that is a value: it comes last."""

Counted = tuple[Any, int, float, int, int]
"""Code of a value, its holders, its largest share of a class, its holders in classes of more than 1/2, and 9/10."""


@dataclass(frozen=True, kw_only=True)
class ValueConfidence(
    ReportPart,
    keys=("value", "base_rate", "highest_confidence", "lift", "share_above_half", "share_above_nine_tenths"),
):
    """The confidence of one value, or of a band of numbers, within the classes."""

    value: Any
    """The value of the table; [low, high] of a band; None for a missing cell that is a value."""
    holders: int
    records: int
    """Records that have it, and all of them; of people those with any value."""
    highest_confidence: float
    """Largest share of a class that has it."""
    above_half: int
    above_nine_tenths: int
    """Holders in classes of which more than so much has it."""
    in_classes: int
    """Holders in all classes: a person who has it in two classes is two."""

    @property
    def base_rate(self) -> float:
        """Share of all records that have it."""
        return self.holders / self.records

    @property
    def lift(self) -> float:
        """Ratio of the highest confidence to the base rate."""
        return lift(self.highest_confidence, self.holders, self.records)

    @property
    def share_above_half(self) -> float:
        """Share of its holders in classes of which more than half has it."""
        return self.above_half / self.in_classes

    @property
    def share_above_nine_tenths(self) -> float:
        """Share of its holders in classes of which more than nine tenths has it."""
        return self.above_nine_tenths / self.in_classes


@dataclass(frozen=True, kw_only=True)
class ColumnConfidence:
    """The confidence of a column's values within the classes."""

    values: tuple[ValueConfidence, ...]
    of_one_value: float
    """Share of the records in classes with one value, in [0, 1]."""


def lift(confidence: float, holders: int, records: int) -> float:
    """Return how many times as likely a class makes a value as the table."""
    return confidence * records / holders


def value_confidence(
    lines: Lines, quasi_identifiers: Sequence[str], name: str, reading: ReadValues, *, missing_is_value: bool
) -> ColumnConfidence:
    """Look at every value of a column in the classes.

    Parameters
    ----------
    lines : Lines
        The table, as `anonkit.checks.table_scans.combined` yields it.
    reading : ReadValues
        Definition of a value, and of equal strings.
    """
    coding = coding_of(lines, name, reading, missing_is_value=missing_is_value)
    cell = cell_of_kind(lines.column(name), _kind_of(lines, name))
    keys = [f"q{at}" for at in range(len(quasi_identifiers))]
    listed = "".join(f"{lines.column(one)} AS {key}, " for one, key in zip(quasi_identifiers, keys, strict=True))
    cells = f"SELECT {listed}{cell} AS cell, {lines.rows()} AS n FROM {lines.source} GROUP BY ALL"
    counted = coding.counted(lines.connection, f"({cells})", keys)
    return confidence_told(lines.connection.execute(coding.shown_query(counted)).fetchall(), coding)


def cell_of_kind(cell: str, kind: str) -> str:
    """Return the SQL of a cell: strings as such, and what is no number missing."""
    if kind in ("FLOAT", "DOUBLE"):
        return f"CASE WHEN isnan({cell}) THEN NULL ELSE {cell} END"
    return f"{cell}::VARCHAR" if is_text(kind) else cell


def is_text(kind: str) -> bool:
    """Return True if a type is one of strings, not of numbers, dates or truth values."""
    return not has_order(kind) and kind != "BOOLEAN"


def _kind_of(lines: Lines, name: str) -> str:
    (kind,) = lines.connection.sql(f"SELECT {lines.column(name)} FROM {lines.source} LIMIT 0").types
    return str(kind)


# --- values as codes -----------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Coding:
    """The values of a column as codes that ascend as they do, the missing cell last where it is a value."""

    missing_is_value: bool
    reading: ReadValues | None = None
    """Of strings: the definition of a value; their codes are made as they are met."""
    column: str = ""
    table: pa.Table | None = None
    """`cell` and `code` of each of few values; or the ends `low` and `code` of bands."""
    labels: dict[Any, Any] = field(default_factory=dict)
    """Label of each code."""
    spellings: dict[str, dict[str, int]] = field(default_factory=dict)
    """Of each code of strings: number of rows of each spelling."""
    told_labels: Mapping[Any, Any] | None = None
    """Label of each code, where others have looked at the spellings."""

    @property
    def are_bands(self) -> bool:
        """Return True if a code is a band."""
        return self.table is not None and "low" in self.table.column_names

    @property
    def missing(self) -> str:
        """SQL of the code of a missing cell."""
        if not self.missing_is_value:
            return "NULL"
        return f"'{_MISSING}'" if self.table is None else str(self.table.num_rows)

    def label(self, code: Any) -> Any:
        """Return the label of a code: of strings the commonest spelling, and of equally common ones the first."""
        if self.told_labels is not None:
            return self.told_labels[code]
        if code == _MISSING or (self.table is not None and code == self.table.num_rows):
            return None
        if self.table is not None:
            return self.labels[code]
        spelled = self.spellings[code]
        return min(spelled, key=lambda text: (-spelled[text], text))

    def counted(self, connection: Any, cells: str, keys: Sequence[str]) -> str:
        """Return the SQL of what is counted of every code, from that of `keys`, `cell` and `n`.

        Code, holders, largest share of a class, holders in classes of more than a half and nine tenths; and, in each
        line, all `records` and those in classes of one value, `alike`.
        """
        listed = "".join(f"{key}, " for key in keys)
        within = f"PARTITION BY {', '.join(keys)}" if keys else ""
        return (
            f"WITH coded AS (SELECT {listed}code, sum(n)::BIGINT AS n FROM {self.coded(connection, cells)} "
            "WHERE n > 0 GROUP BY ALL), "
            f"placed AS (SELECT code, n, (sum(n) OVER ({within}))::BIGINT AS size, "
            f"count(code) OVER ({within}) AS held FROM coded), "
            "of_codes AS (SELECT code, sum(n)::BIGINT AS holders, max(n / size::DOUBLE) AS highest, "
            "coalesce(sum(n) FILTER (2 * n > size), 0)::BIGINT AS half, "
            "coalesce(sum(n) FILTER (10 * n > 9 * size), 0)::BIGINT AS nine, "
            "coalesce(sum(n) FILTER (held = 1), 0)::BIGINT AS uniform FROM placed GROUP BY code) "
            "SELECT code, holders, highest, half, nine, (sum(holders) OVER ())::BIGINT AS records, "
            "(sum(uniform) OVER ())::BIGINT AS alike FROM of_codes"
        )

    def shown_query(self, counted: str) -> str:
        """Return the SQL of the published lines of `counted`, and of the one without a code; see `chosen`."""
        if self.table is not None:
            return counted
        order = "code IS NULL, highest * records / holders DESC, code"
        place = f"row_number() OVER (ORDER BY {order})"
        return f"SELECT * FROM ({counted}) QUALIFY code IS NULL OR half > 0 OR {place} <= {SHOWN}"

    def chosen(self, found: Sequence[Sequence[Any]], records: int) -> list[Sequence[Any]]:
        """Return the published lines in their order: bands ascending, other values by their lift.

        Of strings those of largest lift, and all that more than half of a class have.
        """
        ordered = sorted(found, key=lambda line: (0.0 if self.are_bands else -lift(line[2], line[1], records), line[0]))
        return [line for at, line in enumerate(ordered) if self.table is not None or at < SHOWN or line[3]]

    def coded(self, connection: Any, cells: str) -> str:
        """Return the SQL of `cells` with the `code` of each cell."""
        codes = self._spelled(connection, cells) if self.table is None else self.table
        connection.register("value_codes", codes)
        if self.are_bands:
            lows = self.table.column("low")  # type: ignore[union-attr]
            connection.register("band_ends", pa.table({f"e{at}": lows.slice(at, 1) for at in range(len(lows))}))
            place = " + ".join(f"(cell >= e{at})::INT" for at in range(1, len(lows))) or "0"
            code = f"CASE WHEN cell IS NULL THEN {self.missing} ELSE {place} END AS code"
            return f"(SELECT c.*, {code} FROM {cells} AS c, band_ends)"
        code = f"CASE WHEN c.cell IS NULL OR codes.code IS NULL THEN {self.missing} ELSE codes.code END AS code"
        return f"(SELECT c.*, {code} FROM {cells} AS c LEFT JOIN value_codes AS codes ON c.cell = codes.cell)"

    def _spelled(self, connection: Any, cells: str) -> pa.Table:
        assert self.reading is not None  # noqa: S101 - texts have one
        found = connection.execute(
            f"SELECT cell, sum(n)::BIGINT FROM {cells} WHERE cell IS NOT NULL GROUP BY cell"
        ).fetchall()
        codes: dict[str, str | None] = {}
        for text, rows in found:
            folded = self.reading.value_of(text, self.column)
            codes[text] = None if folded is None else _TEXT + folded
            if folded is not None:
                spelled = self.spellings.setdefault(_TEXT + folded, {})
                spelled[text] = spelled.get(text, 0) + rows
        return pa.table({"cell": pa.array(codes, pa.string()), "code": pa.array(codes.values(), pa.string())})


def coding_of(lines: Lines, name: str, reading: ReadValues, *, missing_is_value: bool) -> Coding:
    """Return the coding of the values of a column: strings by their folding, few values by themselves, or bands."""
    kind = _kind_of(lines, name)
    if is_text(kind):
        return Coding(reading=reading, column=name, missing_is_value=missing_is_value)
    cell, source = cell_of_kind(lines.column(name), kind), lines.source
    if has_few(lines, name):
        found = f"SELECT DISTINCT {cell} AS cell FROM {source} ORDER BY cell"
        return coding_of_few(lines.connection.sql(found).to_arrow_table(), missing_is_value=missing_is_value)
    counts = f"SELECT {cell} AS cell, {lines.rows()} AS n FROM {source} GROUP BY ALL"
    return coding_of_bands(
        lines.connection.sql(bands_query(f"({counts})")).to_arrow_table(), missing_is_value=missing_is_value
    )


def coding_of_few(cells: pa.Table, *, missing_is_value: bool) -> Coding:
    """Return the codes of different values, ascending; a missing one among them is none."""
    values = cells.column("cell").drop_null().combine_chunks()
    table = pa.table({"cell": values, "code": pa.array(range(len(values)), pa.int64())})
    labels = {code: shown(value) for code, value in enumerate(values.to_pylist())}
    return Coding(table=table, labels=labels, missing_is_value=missing_is_value)


def bands_query(counts: str, before: int = 0, of: int | None = None) -> str:
    """Return the SQL of the bands: `band`, and the values `low` and `high` at its ends, from that of `cell` and `n`.

    A value is in the band of the share of rows with lesser values, so that none is in two.

    Parameters
    ----------
    before : int
        Rows with values less than all of these.
    of : int, optional
        Rows of all values; None: of these.
    """
    rows = "(sum(n) OVER ())" if of is None else str(of)
    return (
        f"SELECT band, min(cell) AS low, max(cell) AS high FROM (SELECT cell, "
        f"(({BANDS} * ({before} + sum(n) OVER (ORDER BY cell) - n)) // {rows})::BIGINT AS band "
        f"FROM {counts} WHERE cell IS NOT NULL) GROUP BY band ORDER BY band"
    )


def coding_of_bands(ends: pa.Table, *, missing_is_value: bool) -> Coding:
    """Return the codes of bands, from their ends, ascending."""
    low, high = (ends.column(name).combine_chunks() for name in ("low", "high"))
    table = pa.table({"low": low, "code": pa.array(range(len(low)), pa.int64())})
    labels = {at: [shown(low[at].as_py()), shown(high[at].as_py())] for at in range(len(low))}
    return Coding(table=table, labels=labels, missing_is_value=missing_is_value)


def shown(value: Any) -> Any:
    """Return a value as JSON has it: numbers and truth values as such, all else as strings."""
    if isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)


# --- people --------------------------------------------------------------------------------------------------


def people_confidence(
    lines: Lines,
    name: str,
    reading: ReadValues,
    cells: pa.ChunkedArray,
    own: ValueRows,
    everybody: Counts,
    held: HeldByPeople,
    *,
    missing_is_value: bool,
) -> ColumnConfidence:
    """Look at every value of a column in the classes, by its published number of people.

    People of a band are at most those of its numbers together.

    Parameters
    ----------
    lines : Lines
        The table, or its different cells with the rows of each.
    cells : array, shape (n_values,)
        Cells of each value, in the order of the values.
    own : ValueRows
        The values of every class.
    everybody : array, shape (n_classes,)
        People of each class.
    """
    coding = coding_of(lines, name, reading, missing_is_value=missing_is_value)
    of_value = _codes_of_values(lines, name, coding, cells)
    codes = sorted({code for code in of_value if code is not None})
    places = {code: at for at, code in enumerate(codes)}
    place = np.array([places.get(code, -1) for code in of_value], dtype=np.int64)
    coded = place[own.values]
    n_codes, some = len(codes), coded >= 0
    pairs, at = np.unique(own.classes[some] * n_codes + coded[some], return_inverse=True)
    classes, values = pairs // max(n_codes, 1), pairs % max(n_codes, 1)
    sizes = everybody[classes]
    people = np.minimum(np.bincount(at, held.values[some], minlength=pairs.size).astype(np.int64), sizes)
    records = max(held.anybody, 1)
    known = place >= 0
    holders = np.bincount(place[known], held.everywhere[known], minlength=n_codes).astype(np.int64)
    holders = np.minimum(holders, records)
    highest = np.zeros(n_codes)
    np.maximum.at(highest, values, people / sizes)
    half, nine, everywhere = (
        np.bincount(values, np.where(counted, people, 0), minlength=n_codes).astype(np.int64)
        for counted in (2 * people > sizes, 10 * people > 9 * sizes, sizes > 0)
    )
    alike = int(everybody[np.bincount(classes, minlength=everybody.size) == 1].sum())
    figures = (holders.tolist(), highest.tolist(), half.tolist(), nine.tolist(), everywhere.tolist())
    found = [(code, *told, 0, 0, in_classes) for code, *told, in_classes in zip(codes, *figures, strict=True)]
    values_told = tuple(told_of(line, coding, records) for line in coding.chosen(found, records))
    return ColumnConfidence(values=values_told, of_one_value=alike / max(int(everybody.sum()), 1))


def _codes_of_values(lines: Lines, name: str, coding: Coding, cells: pa.ChunkedArray) -> list[Any]:
    """Return the code of each value, None for what does not count; spellings of strings are looked up."""
    connection = lines.connection
    if coding.table is None:
        text = f"{lines.column(name)}::VARCHAR"
        coding.coded(connection, f"(SELECT {text} AS cell, {lines.rows()} AS n FROM {lines.source} GROUP BY ALL)")
    numbers = np.arange(len(cells))
    connection.register("cells_of_values", pa.table({"cell": cells, "place": numbers, "n": np.ones_like(numbers)}))
    coded = replace(coding, spellings={}).coded(connection, "cells_of_values")
    return [code for (code,) in connection.execute(f"SELECT code FROM {coded} ORDER BY place").fetchall()]


# --- published lines ------------------------------------------------------------------------------------------


def confidence_told(found: Iterable[tuple[Any, ...]], coding: Coding) -> ColumnConfidence:
    """Return the published confidence of a column: bands ascending, other values by their lift, the largest first."""
    lines: list[Sequence[Any]] = list(found)
    records, alike = (lines[0][5], lines[0][6]) if lines else (0, 0)
    lines = coding.chosen([line for line in lines if line[0] is not None], records)
    values = tuple(told_of(line, coding, records) for line in lines)
    return ColumnConfidence(values=values, of_one_value=alike / records if records else 0.0)


def told_of(line: Sequence[Any], coding: Coding, records: int) -> ValueConfidence:
    """Return the published confidence of one code; of people where its holders in all classes come after all else."""
    code, holders, highest, half, nine, *rest = line
    return ValueConfidence(
        value=coding.label(code),
        holders=holders,
        records=records,
        highest_confidence=highest,
        above_half=half,
        above_nine_tenths=nine,
        in_classes=rest[2] if len(rest) > 2 else holders,
    )
