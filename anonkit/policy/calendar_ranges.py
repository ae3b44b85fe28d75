# SPDX-License-Identifier: Apache-2.0
"""Bounds of dates and moments that were found in a table: the ends of parts of the calendar.

Bounds in days become parts of the calendar, which are the public bins of the column. Parts are as fine as the range
allows: days where it is short, else months, quarters, years or decades.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from anonkit.domains.calendar_cells import CalendarReader
from anonkit.domains.calendar_parts import CalendarKind, CalendarParts
from anonkit.domains.coded_columns import BoolArray, IntArray
from anonkit.policy.calendar_columns import MOST_BINS, Calendar

if TYPE_CHECKING:
    from anonkit.policy.column_declarations import Column

_DAY = 86_400_000_000  # microseconds
_EPOCH = date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = date.min.toordinal() - _EPOCH, date.max.toordinal() - _EPOCH
"""The first and the last day of the calendar, in days since 1970."""


def calendar_of_type(column: Column, kind: pa.DataType) -> Calendar | None:
    """Return the calendar of a column whose declaration or type says that it holds days or moments; None for others.

    Privacy
    -------
    No cell is looked at.
    """
    if column.compares_texts or column.domain_values is not None:
        return None
    if column.calendar is not None:
        return None if column.calendar.kind is CalendarKind.TIME else column.calendar
    where = f"column {column.name!r}"
    if pa.types.is_date(kind):
        return Calendar(kind=CalendarKind.DATE, where=where)
    return Calendar(kind=CalendarKind.DATETIME, where=where) if pa.types.is_timestamp(kind) else None


def calendar_of_texts(column: Column, values: Sequence[Any]) -> Calendar | None:
    """Return the calendar of a column of strings all of which are days in ISO 8601, or all of them moments."""
    if column.compares_texts or not values or not all(isinstance(value, str) for value in values):
        return None
    texts = pa.array(values, pa.string())
    moments, read = CalendarReader(kind=CalendarKind.DATETIME).places(texts)
    if not read.all():
        return None
    kind = CalendarKind.DATETIME if bool((moments % _DAY != 0).any()) else CalendarKind.DATE
    return Calendar(kind=kind, where=f"column {column.name!r}")


def days_of(values: Sequence[Any], calendar: Calendar) -> tuple[IntArray, BoolArray]:
    """Return the day of each value, since 1970, and which were read; both of shape (n_values,)."""
    places, read = calendar.reader.places(pa.array(values)) if values else (np.zeros(0, np.int64), np.zeros(0, bool))
    return places // _DAY, read


def within_days(column: Column, calendar: Calendar, first: int, last: int) -> Column | None:
    """Return the column with bounds that reach to the ends of the parts which two days are in; None for one part.

    Parameters
    ----------
    column : Column
    calendar : Calendar
        Without bounds.
    first, last : int
        In days since 1970; what lies outside the calendar counts as its ends.

    Privacy
    -------
    A function of the two days.
    """
    low, high = (date.fromordinal(min(max(day, FIRST_DAY), LAST_DAY) + _EPOCH) for day in (first, last))
    if not low < high:
        return None
    for levels in _coarser(calendar.levels):
        rough = replace(calendar, levels=levels, bounds=_limits(calendar.kind, low, high))
        level = next((one for one in rough.bin_levels if one != "hour"), "day")
        parts = CalendarParts(kind=CalendarKind.DATE, levels=(level,))
        begins, ends = parts.part(low, 0)[0], parts.part(high, 0)[1]
        until = ends - timedelta(days=1) if isinstance(ends, date) else date.max
        found = replace(rough, bounds=_limits(calendar.kind, begins, until))
        if found.n_bins <= MOST_BINS:
            return replace(column, calendar=found) if found.n_bins > 1 else None
    return None


def _coarser(levels: tuple[str, ...] | None) -> list[tuple[str, ...] | None]:
    """Return the levels, and what is left of them where their bins are too many; at last those of the range alone."""
    return [*(levels[at:] for at in range(len(levels or ()))), None] if levels is not None else [None]


def _limits(kind: CalendarKind, first: Any, last: date) -> tuple[Any, Any]:
    """Return two days as bounds of a column: of moments with the whole last day."""
    if kind is CalendarKind.DATE:
        return first, last
    return datetime.combine(first, time.min), datetime.combine(last, time.max)
