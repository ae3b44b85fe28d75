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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.checks.class_counts import ColumnValues, has_order
from anonkit.checks.class_relation import ClassMeasure, DealtClasses, TableOf
from anonkit.checks.clear_parts import has_few
from anonkit.checks.counted_as import ReadValues
from anonkit.checks.people import Counts, ValueHolders, ValueRows
from anonkit.checks.table_scans import Lines
from anonkit.documents import ReportPart

SHOWN = 20
"""Values of largest lift that are listed, besides all that more than half of a class have."""
BANDS = 10
"""Bands of equal numbers of rows into which a measured column is divided. Both are conventions."""


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
        return float(lift(self.highest_confidence, self.holders, self.records))

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


def lift(confidence: Any, holders: Any, records: int) -> Any:
    """Return the ratio of the share of a value in a class to that in the table."""
    return confidence * records / holders


# --- values as codes -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Coding:
    """The values of a column as codes that ascend as they do, the missing cell last where it is a value."""

    table: pa.Table
    """`cell` and `code` of each value, of strings also those that are none, without a code; or bands: `low`, `code`."""
    labels: tuple[Any, ...]
    """Label of each code: of strings the commonest spelling, and of equally common ones the first."""
    missing_is_value: bool
    are_texts: bool = False

    @property
    def are_bands(self) -> bool:
        """Return True if a code is a band."""
        return "low" in self.table.column_names

    def coded(self, connection: Any, cells: str) -> str:
        """Return the SQL of `cells` with the `code` of each cell."""
        missing = len(self.labels) - 1 if self.missing_is_value else "NULL"
        if self.are_bands:
            lows = self.table.column("low")
            connection.register("band_ends", pa.table({f"e{at}": lows.slice(at, 1) for at in range(len(lows))}))
            place = " + ".join(f"(cell >= e{at})::INT" for at in range(1, len(lows))) or "0"
            code = f"CASE WHEN cell IS NULL THEN {missing} ELSE {place} END AS code"
            return f"(SELECT c.*, {code} FROM {cells} AS c, band_ends)"
        connection.register("value_codes", self.table)
        code = f"coalesce(codes.code, {missing})::BIGINT AS code"
        return f"(SELECT c.*, {code} FROM {cells} AS c LEFT JOIN value_codes AS codes ON c.cell = codes.cell)"


def coding_of(lines: Lines, values: ColumnValues) -> Coding:
    """Return the coding of the values of a column: strings by their folding, few values by themselves, or bands."""
    name, reading, missing_is_value = values.column, values.reading, values.missing_is_value
    cell, kind = _cell_of(lines, name)
    counts = f"(SELECT {cell} AS cell, {lines.rows()} AS n FROM {lines.source} GROUP BY ALL)"
    if _is_text(kind):
        found = lines.connection.execute(f"SELECT cell, n FROM {counts} WHERE cell IS NOT NULL").fetchall()
        return _coding_of_texts(found, name, reading, missing_is_value=missing_is_value)
    if has_few(lines, name):
        table = lines.connection.sql(
            f"SELECT cell, row_number() OVER (ORDER BY cell) - 1 AS code FROM {counts} WHERE cell IS NOT NULL "
            "ORDER BY code"
        ).to_arrow_table()
        labels = [shown(value) for value in table.column("cell").to_pylist()]
    else:
        table = lines.connection.sql(_bands_query(counts)).to_arrow_table()
        ends = zip(*(table.column(name).to_pylist() for name in ("low", "high")), strict=True)
        labels = [[shown(low), shown(high)] for low, high in ends]
    return Coding(table=table, labels=_with_missing(labels, missing_is_value), missing_is_value=missing_is_value)


def _coding_of_texts(
    found: Sequence[tuple[str, int]], name: str, reading: ReadValues, *, missing_is_value: bool
) -> Coding:
    """Return the coding of strings and the rows of each."""
    spelled: dict[str, list[tuple[int, str]]] = {}
    folded = [(text, reading.value_of(text, name)) for text, _ in found]
    for (text, rows), (_, value) in zip(found, folded, strict=True):
        if value is not None:
            spelled.setdefault(value, []).append((-rows, text))
    codes = {value: code for code, value in enumerate(sorted(spelled))}
    table = {
        "cell": pa.array([text for text, _ in folded], pa.string()),
        "code": pa.array([None if value is None else codes[value] for _, value in folded], pa.int64()),
    }
    labels = _with_missing([min(spelled[value])[1] for value in codes], missing_is_value)
    return Coding(table=pa.table(table), labels=labels, missing_is_value=missing_is_value, are_texts=True)


def _with_missing(labels: Sequence[Any], missing_is_value: bool) -> tuple[Any, ...]:
    return (*labels, None) if missing_is_value else tuple(labels)


def _cell_of(lines: Lines, name: str) -> tuple[str, str]:
    """Return the SQL of a cell, and its type: strings as such, and what is no number missing."""
    cell = lines.column(name)
    (kind,) = map(str, lines.connection.sql(f"SELECT {cell} FROM {lines.source} LIMIT 0").types)
    if kind in ("FLOAT", "DOUBLE"):
        return f"CASE WHEN isnan({cell}) THEN NULL ELSE {cell} END", kind
    return f"{cell}::VARCHAR" if _is_text(kind) else cell, kind


def _is_text(kind: str) -> bool:
    """Return True if a type is one of strings, not of numbers, dates or truth values."""
    return not has_order(kind) and kind != "BOOLEAN"


def _bands_query(counts: str) -> str:
    """Return the SQL of the bands: `code`, and the values `low` and `high` at its ends, from that of `cell` and `n`.

    A value is in the band of the share of rows with lesser values, so that none is in two.
    """
    return (
        "SELECT row_number() OVER (ORDER BY band) - 1 AS code, min(cell) AS low, max(cell) AS high FROM (SELECT cell, "
        f"(({BANDS} * (sum(n) OVER (ORDER BY cell) - n)) // (sum(n) OVER ()))::BIGINT AS band "
        f"FROM {counts} WHERE cell IS NOT NULL) GROUP BY band ORDER BY band"
    )


def shown(value: Any) -> Any:
    """Return a value as JSON has it: numbers and truth values as such, all else as strings."""
    if isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)


# --- shares of classes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class CodeShares:
    """The shares that values have of some classes."""

    codes: Counts
    """Ascending."""
    holders: Counts
    """Holders in all classes: a person who has the value in two classes is two."""
    highest: NDArray[np.float64]
    """Largest share of a class."""
    half: Counts
    nine: Counts
    """Holders in classes of which more than a half, or nine tenths, has the value."""
    alike: int
    """Records in classes of one value."""

    @classmethod
    def of(cls, classes: Counts, codes: Counts, counts: Counts, sizes: Counts) -> CodeShares:
        """Measure classes.

        Parameters
        ----------
        classes, codes, counts : array, shape (n_pairs,)
            Each pair of class and code once, with its holders.
        sizes : array, shape (n_classes,)
            Records of each class, those without a value too.
        """
        of_class, alike = sizes[classes], np.bincount(classes, minlength=sizes.size) == 1
        pairs = cls(
            codes=codes,
            holders=counts,
            highest=counts / of_class,
            half=np.where(2 * counts > of_class, counts, 0),
            nine=np.where(10 * counts > 9 * of_class, counts, 0),
            alike=int(sizes[alike].sum()),
        )
        return cls.joined([pairs])

    @classmethod
    def joined(cls, groups: Sequence[CodeShares]) -> CodeShares:
        """Return the shares that values have of the classes of all groups."""

        def together(name: str) -> NDArray[Any]:
            return np.concatenate([np.zeros(0, dtype=np.int64), *(getattr(each, name) for each in groups)])

        codes, at = np.unique(together("codes"), return_inverse=True)
        highest = np.zeros(codes.size)
        np.maximum.at(highest, at, together("highest"))
        holders, half, nine = (
            np.bincount(at, together(name), minlength=codes.size).astype(np.int64)
            for name in ("holders", "half", "nine")
        )
        alike = sum(each.alike for each in groups)
        return cls(codes=codes, holders=holders, highest=highest, half=half, nine=nine, alike=alike)

    def published(self, coding: Coding, holders: Counts, records: int, everybody: int) -> ColumnConfidence:
        """Return the published confidence of a column: bands ascending, other values by their lift, the largest first.

        Of strings those of largest lift, and all that more than half of a class have.

        Parameters
        ----------
        holders : array
            Holders of each code in the whole table.
        records, everybody : int
            Those with a value that shares of the table are of, and those of all classes.
        """
        order = np.lexsort((self.codes, -lift(self.highest, holders, records)))
        if coding.are_bands:
            order = np.arange(self.codes.size)
        if coding.are_texts:
            order = order[(np.arange(order.size) < SHOWN) | (self.half[order] > 0)]
        values = tuple(
            ValueConfidence(
                value=coding.labels[int(self.codes[at])],
                holders=int(holders[at]),
                records=records,
                highest_confidence=float(self.highest[at]),
                above_half=int(self.half[at]),
                above_nine_tenths=int(self.nine[at]),
                in_classes=int(self.holders[at]),
            )
            for at in order
        )
        return ColumnConfidence(values=values, of_one_value=self.alike / everybody if everybody else 0.0)


@dataclass(frozen=True, kw_only=True)
class CodingOfValues:
    """Finds the coding of the values of a column, and, where people are counted, the code of each value."""

    values: ColumnValues
    by_people: bool

    @property
    def column(self) -> str:
        """Column that it looks at."""
        return self.values.column

    def __call__(self, lines: Lines, table_of: TableOf) -> ListedValues:
        """Find them."""
        coding, codes = coding_of(lines, self.values), np.zeros(0, dtype=np.int64)
        if self.by_people:
            lines.connection.register("cells_of_values", table_of(self.values))
            found = lines.connection.execute(
                f"SELECT coalesce(min(code), -1) AS code FROM {coding.coded(lines.connection, 'cells_of_values')} "
                "GROUP BY value ORDER BY value"
            )
            codes = np.asarray(found.fetchnumpy()["code"], dtype=np.int64)
        return ListedValues(coding=coding, codes=codes)


@dataclass(frozen=True, kw_only=True)
class ConfidenceOfClasses(ClassMeasure):
    """Measures the confidence of the values of a column in some classes, by rows."""

    name: str
    coding: Coding

    @property
    def columns(self) -> tuple[str, ...]:
        """Column that it looks at."""
        return (self.name,)

    def __call__(self, classes: DealtClasses) -> CodeShares:
        """Measure it."""
        lines = classes.lines
        cell, _ = _cell_of(lines, self.name)
        cells = f"(SELECT class, {cell} AS cell, {lines.rows()} AS n FROM {lines.source} GROUP BY ALL)"
        found = lines.connection.execute(
            f"SELECT class, code, sum(n)::BIGINT AS n FROM {self.coding.coded(lines.connection, cells)} "
            "WHERE code IS NOT NULL GROUP BY class, code"
        ).fetchnumpy()
        own, codes, counts = (np.asarray(found[name], dtype=np.int64) for name in ("class", "code", "n"))
        return CodeShares.of(own, codes, counts, classes.rows)

    def published(self, found: Sequence[CodeShares], records: int) -> ColumnConfidence:
        """Return the published confidence, from the shares of all groups, for a table of so many rows."""
        shares = CodeShares.joined(found)
        return shares.published(self.coding, shares.holders, records, records)


# --- people --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class ListedValues:
    """The values of a column that are looked at one by one, in people."""

    coding: Coding
    codes: Counts
    """Code of each value, -1 for what does not count."""

    def confidence(self, own: ValueRows, everybody: Counts, holders_of_values: ValueHolders) -> ColumnConfidence:
        """Look at every value in the classes, by its published number of people.

        People of a band are at most those of its numbers together.

        Parameters
        ----------
        own : ValueRows
            The values of every class.
        everybody : array, shape (n_classes,)
            People of each class.
        """
        n_codes, coded, records = len(self.coding.labels), self.codes[own.values], max(holders_of_values.anybody, 1)
        some, known = coded >= 0, self.codes >= 0
        pairs, at = np.unique(own.classes[some] * n_codes + coded[some], return_inverse=True)
        classes, codes = pairs // max(n_codes, 1), pairs % max(n_codes, 1)
        people = np.bincount(at, holders_of_values.values[some], minlength=pairs.size).astype(np.int64)
        shares = CodeShares.of(classes, codes, np.minimum(people, everybody[classes]), everybody)
        holders = np.bincount(self.codes[known], holders_of_values.everywhere[known], minlength=n_codes).astype(
            np.int64
        )
        holders = np.minimum(holders[shares.codes], records)
        return shares.published(self.coding, holders, records, int(everybody.sum()))
