# SPDX-License-Identifier: Apache-2.0
"""Parts of the calendar and the day, with their ends and names: day, month, quarter, year, decade, hour, part of day.

Every part of a level lies in one part of each coarser level. A name determines both ends: ``2021-03`` is March 2021,
``2021-Q1`` its quarter, ``2020s`` the years 2020 to 2029, ``2021-03-01T08`` an hour of a day, ``08:00-08:59`` an hour
of every day. Calendars are Gregorian throughout, before 1582 too (ISO 8601).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Any

import numpy as np

from anonkit.domains.coded_columns import IntArray
from anonkit.domains.named_parts import Point, place
from anonkit.errors import ParameterError


class CalendarKind(StrEnum):
    """The kind of a column's cells: a day, a moment, or a time of any day."""

    DATE = "date"
    DATETIME = "datetime"
    TIME = "time"


DAYS = ("day", "month", "quarter", "year", "decade")
LEVELS = {
    CalendarKind.DATE: DAYS,
    CalendarKind.DATETIME: ("hour", *DAYS),
    CalendarKind.TIME: ("hour", "part"),
}
"""Levels of each kind, finest first. No level of a moment is finer than an hour: it is nearly unique."""

_PART_HOURS = 6  # night, morning, afternoon, evening
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_EPOCH_MONTH = 1970 * 12


@dataclass(frozen=True, kw_only=True)
class CalendarParts:
    """The levels of generalization of a column of dates, moments or times of day.

    Raises
    ------
    ParameterError
        The levels are not some of `LEVELS`, finest first.
    """

    kind: CalendarKind
    levels: tuple[str, ...]
    """Some of `LEVELS`, the finest first."""

    def __post_init__(self) -> None:
        known = LEVELS[self.kind]
        if not self.levels or any(level not in known for level in self.levels):
            raise ParameterError(f"levels of a {self.kind} are some of {', '.join(known)}")
        if any(known.index(a) >= known.index(b) for a, b in pairwise(self.levels)):
            raise ParameterError(
                "levels are listed finest first, each once", f"levels = {list(known)}".replace("'", '"')
            )

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.levels)

    @property
    def exact(self) -> bool:
        """True when the finest level keeps all of a cell: the day of a date."""
        return self.kind is CalendarKind.DATE and self.levels[0] == "day"

    @property
    def shows_gaps(self) -> bool:
        """True: a gap between named parts is shown as an interval of days, moments or times."""
        return True

    @property
    def in_days(self) -> bool:
        """True when every level is a day or longer: then a moment is as good as its day."""
        return "hour" not in self.levels and self.kind is not CalendarKind.TIME

    def numbers(self, values: Sequence[Any], level: int) -> IntArray:
        """Return the number of the part that holds each value, consecutive along the calendar, shape (n_values,).

        Parameters
        ----------
        values : sequence of date, datetime or time
            No missing ones.
        level : int
            In [0, n_levels).
        """
        return part_numbers(np.array([place(value) for value in values], dtype=np.int64), self.levels[level])

    def part(self, value: Any, level: int) -> tuple[Point, Point | None, str]:
        """Return the first point of the part that holds a value, that of the next part, and the name of the part.

        The next part is None at the end of the day, and at the end of the year 9999, after which no date is known.
        """
        name = self.levels[level]
        if self.kind is CalendarKind.TIME:
            hours = 1 if name == "hour" else _PART_HOURS
            first = value.hour // hours * hours
            last = first + hours - 1
            following = time(last + 1) if last < 23 else None
            return time(first), following, f"{first:02}:00-{last:02}:59"
        if name == "hour":
            hour = value.replace(minute=0, second=0, microsecond=0)
            return hour, _later(hour, timedelta(hours=1)), hour.isoformat()[:13]
        day = value.date() if isinstance(value, datetime) else value
        low, high, text = _days(day, name)
        if isinstance(value, datetime):
            midnight = time(tzinfo=value.tzinfo)
            return datetime.combine(low, midnight), None if high is None else datetime.combine(high, midnight), text
        return low, high, text


def part_numbers(places: IntArray, level: str) -> IntArray:
    """Return the number of the part of each place, consecutive along the calendar, shape (n,).

    Parameters
    ----------
    places : ndarray of shape (n,)
        Microseconds since 1970, or since midnight for times of day.
    level : str
        One of `LEVELS`.
    """
    if level in ("hour", "part"):
        return np.asarray(places // (_HOUR if level == "hour" else _PART_HOURS * _HOUR), dtype=np.int64)
    days = places // _DAY
    if level == "day":
        return np.asarray(days, dtype=np.int64)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + _EPOCH_MONTH
    return np.asarray(months // _MONTHS[level], dtype=np.int64)


def first_places(numbers: IntArray, level: str) -> IntArray:
    """Return the place at which each part begins, the inverse of `part_numbers`; shape (n,).

    The first decade begins with the year 1.
    """
    if level in ("hour", "part"):
        return np.asarray(numbers * (_HOUR if level == "hour" else _PART_HOURS * _HOUR), dtype=np.int64)
    if level == "day":
        return np.asarray(numbers * _DAY, dtype=np.int64)
    months = np.maximum(numbers * _MONTHS[level], 12) - _EPOCH_MONTH
    return np.asarray(months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) * _DAY, dtype=np.int64)


def _later(moment: datetime, step: timedelta) -> datetime | None:
    try:
        return moment + step
    except OverflowError:
        return None


def _days(day: date, level: str) -> tuple[date, date | None, str]:
    if level == "day":
        return day, None if day == date.max else day + timedelta(days=1), day.isoformat()
    length = _MONTHS[level]
    first = (day.year * 12 + day.month - 1) // length * length
    texts = {
        "month": f"{day.year:04}-{day.month:02}",
        "quarter": f"{day.year:04}-Q{(day.month + 2) // 3}",
        "year": f"{day.year:04}",
        "decade": f"{day.year // 10 * 10:04}s",
    }
    return _month(max(first, 12)) or date.min, _month(first + length), texts[level]


def _month(months: int) -> date | None:
    year, month = divmod(months, 12)
    return date(year, month + 1, 1) if year <= date.max.year else None
