# SPDX-License-Identifier: Apache-2.0
"""Dates, moments and times of day: parts of the calendar with their names, and cells by a declared format.

Every part of a level (day, month, quarter, year, decade, hour, part of day) lies in one part of each coarser level. A
name determines both ends: ``2021-03`` is March 2021, ``2021-Q1`` its quarter, ``2020s`` the years 2020 to 2029,
``2021-03-01T08`` an hour of a day, ``08:00-08:59`` an hour of every day. Calendars are Gregorian throughout, before
1582 too (ISO 8601).

Each cell is read independently of all others. Without a format a text is read as ISO 8601 and in no other way:
03/04/2021 is two days, and no rule decides which. What is not of the format, or is no day of the calendar (31 April,
29 February 2021), is not read. Of several formats a text is read by those that fit it, where they agree. A year of two
digits, where a format has one, is one from 1969 to 2068, as POSIX has it. A moment with an offset or a time zone is
taken in the declared zone, else in UTC; one without is taken unchanged. What is finer than a microsecond is cut off.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.cell_values import cell_texts
from anonkit.domains.coded_columns import BoolArray, IntArray
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


_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAY, _HOUR, _MINUTE, _SECOND = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999  # 0001-01-01 to 9999-12-31, in microseconds
_FIRST_SHORT = 69  # a year of two digits from here on is one of the 1900s, any other one of the 2000s (POSIX strptime)
_DIGITS = {
    "Y": (4, 4),
    "y": (2, 2),
    "m": (1, 2),
    "d": (1, 2),
    "H": (1, 2),
    "I": (1, 2),
    "M": (2, 2),
    "S": (2, 2),
    "f": (1, 9),
}
_WORDS = {
    "b": "|".join(name[:3] for name in _MONTH_NAMES),
    "B": "|".join(_MONTH_NAMES),
    "p": "am|pm",
    "z": "z|[+-][0-9]{2}:?[0-9]{2}",
}
_SECONDS = r"(?::(?P<S>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
_CLOCK = rf"(?P<H>[0-9]{{2}}):(?P<M>[0-9]{{2}}){_SECONDS}"
_ISO_DAY = r"(?P<Y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})"
_ISO_MOMENT = rf"{_ISO_DAY}(?:[t ]{_CLOCK} ?(?P<z>z|[+-][0-9]{{2}}:?[0-9]{{2}})?)?"
_ISO = {CalendarKind.DATE: _ISO_MOMENT, CalendarKind.DATETIME: _ISO_MOMENT, CalendarKind.TIME: _CLOCK}
_FORMAT_HINT = 'format = "%d.%m.%Y", or "%m/%d/%Y %I:%M %p"; without one, ISO 8601 is read'


def settled_type(kind: CalendarKind) -> pa.DataType:
    """Return the type of cells that were read."""
    return {CalendarKind.DATE: pa.date32(), CalendarKind.DATETIME: pa.timestamp("us")}.get(kind, pa.time64("us"))


@dataclass(frozen=True, kw_only=True)
class CalendarReader:
    """Reads the cells of a column as dates, moments or times of day.

    Raises
    ------
    ParameterError
        A format has a directive that is not known, or lacks what is needed; or there is no format in a list.
    """

    kind: CalendarKind
    format: str | tuple[str, ...] | None = None
    """Directives of `strftime`: `%Y %y %m %b %B %d %H %I %p %M %S %f %z`; one string or several, None for ISO 8601."""
    zone: str | None = None
    """Name of a time zone in which moments with an offset are taken; UTC when None."""
    _pattern: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.format, tuple):
            if not self.format:
                raise ParameterError("format lists none", _FORMAT_HINT)
            object.__setattr__(self, "_pattern", "")
            _ = self._each
            return
        pattern = _ISO[self.kind] if self.format is None else _pattern_of(self.format, self.kind)
        object.__setattr__(self, "_pattern", rf"(?i)^(?:{pattern})$")

    @cached_property
    def _each(self) -> tuple[CalendarReader, ...]:
        """A reader for each of several formats."""
        formats = self.format if isinstance(self.format, tuple) else ()
        return tuple(CalendarReader(kind=self.kind, format=each, zone=self.zone) for each in formats)

    @cached_property
    def _named(self) -> frozenset[str]:
        return frozenset(re.compile(self._pattern).groupindex)

    def looks_right(self, text: str) -> bool:
        """Return True if a text has the form; it may still be no day of the calendar."""
        return any(each.looks_right(text) for each in self._each) or bool(
            self._pattern and re.match(self._pattern, text.strip())
        )

    def takes(self, kind: pa.DataType) -> bool:
        """Return True if cells of a type can be read at all; no cell is looked at.

        Numbers are read by a declared format alone (20210304 by `%Y%m%d`).
        """
        if isinstance(kind, pa.DictionaryType):
            kind = kind.value_type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if pa.types.is_string(kind) or (number and self.format is not None):
            return True
        if self.kind is CalendarKind.TIME:
            return bool(pa.types.is_time(kind) or pa.types.is_timestamp(kind))
        return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))

    def places(self, array: pa.Array) -> tuple[IntArray, BoolArray]:
        """Return the position of each cell on its axis, and which cells were read; both of shape (n_cells,).

        Places are microseconds since 1970, since midnight for a time of day; 0 where nothing was read.

        Privacy
        -------
        A function of the cell and the declaration.
        """
        if isinstance(array, pa.DictionaryArray):
            places, read = self.places(array.dictionary)
            at = pc.fill_null(array.indices, len(places)).to_numpy(zero_copy_only=False)
            return np.append(places, 0)[at], np.append(read, False)[at]
        kind = array.type
        if pa.types.is_timestamp(kind):
            moments, read = self._local(array)
        elif pa.types.is_date(kind):
            days = array.cast(pa.date32()).cast(pa.int32())
            moments, read = _numbers(days) * _DAY, _valid(array)
        elif pa.types.is_time(kind):
            moments, read = _numbers(array.cast(pa.time64("us"), safe=False).cast(pa.int64())), _valid(array)
        else:
            distinct = pc.dictionary_encode(array if pa.types.is_string(kind) else cell_texts(array))
            moments, read = self._of_texts(distinct.dictionary)
            at = pc.fill_null(distinct.indices, len(moments)).to_numpy(zero_copy_only=False)
            moments, read = np.append(moments, 0)[at], np.append(read, False)[at]
        if self.kind is CalendarKind.TIME:
            moments = moments % _DAY
        else:
            read = read & (moments >= _FIRST) & (moments <= _LAST)
            moments = moments // _DAY * _DAY if self.kind is CalendarKind.DATE else moments
        return np.where(read, moments, 0), read

    def _local(self, array: pa.Array) -> tuple[IntArray, BoolArray]:
        """Return typed moments as the clock of the declared zone shows them."""
        per = {"s": (_SECOND, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 1000)}[array.type.unit]
        moments = _numbers(array.cast(pa.int64()))
        read = _valid(array)
        if per[0] > 1:
            near = (moments >= _FIRST // per[0]) & (moments <= _LAST // per[0])
            moments, read = np.where(near, moments, 0) * per[0], read & near
        moments = moments // per[1]
        return (moments, read) if array.type.tz is None else (self._in_zone(moments, read), read)

    def _in_zone(self, moments: IntArray, read: BoolArray) -> IntArray:
        """Return the local time of the declared zone at moments in UTC."""
        if self.zone is None:
            return moments
        near = read & (moments >= _FIRST + _DAY) & (moments <= _LAST - _DAY)
        instants = pa.array(np.where(near, moments, 0)).cast(pa.timestamp("us", self.zone))
        shown = _numbers(pc.local_timestamp(instants).cast(pa.int64()))
        return np.where(near, shown, moments)

    def _of_texts(self, texts: pa.StringArray) -> tuple[IntArray, BoolArray]:
        if self._each:
            return self._agreed(texts)
        found = pc.extract_regex(pc.utf8_trim_whitespace(texts), self._pattern)
        read = _valid(found)

        def text(name: str) -> pa.Array:
            return pc.fill_null(found.field(name), "") if name in self._named else pa.repeat("", len(found))

        def number(name: str, otherwise: int = 0) -> IntArray:
            digits = text(name)
            return _numbers(pc.if_else(pc.equal(digits, ""), str(otherwise), digits).cast(pa.int64()))

        hour, day_ok = number("H"), np.ones(len(found), dtype=bool)
        if "I" in self._named:
            hour = number("I", 12)
            day_ok &= (hour >= 1) & (hour <= 12)
            afternoon = pc.equal(pc.ascii_lower(text("p")), "pm").to_numpy(zero_copy_only=False)
            hour = hour % 12 + 12 * afternoon
        minute, second = number("M"), number("S")
        day_ok &= (hour <= 23) & (minute <= 59) & (second <= 59)  # a leap second is no second of the day here
        offset, with_offset, offset_ok = _offsets(text("z"))
        day_ok &= offset_ok
        fraction = _numbers(pc.utf8_slice_codeunits(pc.utf8_rpad(text("f"), 6, "0"), 0, 6).cast(pa.int64()))
        moments = hour * _HOUR + minute * _MINUTE + second * _SECOND + fraction
        if self.kind is not CalendarKind.TIME:
            year, day = number("Y", 1), number("d", 1)
            if "y" in self._named:
                year = number("y")
                year = year + np.where(year >= _FIRST_SHORT, 1900, 2000)
            month = number("m", 1) if "m" in self._named else _month_numbers(text("b" if "b" in self._named else "B"))
            day_ok &= (year >= 1) & (month >= 1) & (month <= 12)
            months = np.where(day_ok, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
            first = months.astype("datetime64[D]").astype(np.int64)
            length = (months + 1).astype("datetime64[D]").astype(np.int64) - first
            day_ok &= (day >= 1) & (day <= length)
            moments = moments + (first + day - 1) * _DAY
            moments = np.where(with_offset, self._in_zone(moments - offset, read & day_ok), moments)
        return moments, read & day_ok

    def _agreed(self, texts: pa.StringArray) -> tuple[IntArray, BoolArray]:
        """Return the reading on which all formats that fit a string agree; none where they differ."""
        moments, read = np.zeros(len(texts), np.int64), np.zeros(len(texts), dtype=bool)
        differ = np.zeros(len(texts), dtype=bool)
        for each in self._each:
            others, fits = each._of_texts(texts)
            differ |= read & fits & (others != moments)
            moments, read = np.where(fits, others, moments), read | fits
        return moments, read & ~differ


def _numbers(array: pa.Array) -> IntArray:
    filled = pc.fill_null(array, 0) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


def _valid(array: pa.Array) -> BoolArray:
    valid: BoolArray = array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _month_numbers(names: pa.Array) -> IntArray:
    short = pc.utf8_slice_codeunits(pc.ascii_lower(names), 0, 3)
    at = pc.index_in(short, value_set=pa.array([name[:3] for name in _MONTH_NAMES]))
    return _numbers(pc.fill_null(at, 0)) + 1


def _offsets(texts: pa.Array) -> tuple[IntArray, BoolArray, BoolArray]:
    """Return offsets from UTC in microseconds, where one is given, and where it is less than a day."""
    plain = pc.replace_substring(pc.ascii_lower(texts), ":", "")
    given: NDArray[np.bool_] = pc.not_equal(plain, "").to_numpy(zero_copy_only=False)
    zulu = pc.or_(pc.equal(plain, "z"), pc.equal(plain, ""))
    digits = pc.if_else(zulu, "+0000", plain)
    hours = _numbers(pc.utf8_slice_codeunits(digits, 1, 3).cast(pa.int64()))
    minutes = _numbers(pc.utf8_slice_codeunits(digits, 3, 5).cast(pa.int64()))
    sign = np.where(pc.starts_with(digits, "-").to_numpy(zero_copy_only=False), -1, 1)
    return sign * (hours * _HOUR + minutes * _MINUTE), given, (hours <= 23) & (minutes <= 59)


def _pattern_of(text: str, kind: CalendarKind) -> str:
    """Return the regular expression of a format."""
    pieces = re.findall(r"%.|%$|[^%]+", text, re.DOTALL)
    names = [piece[1:] for piece in pieces if piece.startswith("%") and piece != "%%"]
    for name in names:
        if name not in _DIGITS and name not in _WORDS:
            raise ParameterError(f"format has the directive {'%' + name!r}, which is not known", _FORMAT_HINT)
    if len(set(names)) != len(names):
        raise ParameterError("format has a directive twice", _FORMAT_HINT)
    _refuse_incomplete(frozenset(names), kind)
    pattern = ""
    for at, piece in enumerate(pieces):
        name = piece[1:]
        if not piece.startswith("%") or piece == "%%":
            pattern += re.escape("%" if piece == "%%" else piece)
            continue
        if name in _WORDS:
            pattern += f"(?P<{name}>{_WORDS[name]})"
            continue
        least, most = _DIGITS[name]
        beside = [pieces[other] for other in (at - 1, at + 1) if 0 <= other < len(pieces)]
        joined = any((other[0] == "%" and other[1:] in _DIGITS) or other[-1:].isdigit() for other in beside)
        pattern += f"(?P<{name}>[0-9]{{{most if joined and name != 'f' else least},{most}}})"
    return pattern


def _refuse_incomplete(names: frozenset[str], kind: CalendarKind) -> None:
    months = names & {"m", "b", "B"}
    years = names & {"Y", "y"}
    if kind is not CalendarKind.TIME and not ("d" in names and len(years) == len(months) == 1):
        raise ParameterError(f"format of a {kind} needs one of %Y, %y, one of %m, %b, %B, and %d", _FORMAT_HINT)
    clock = names & {"H", "I"}
    if (clock or kind is CalendarKind.TIME) and len(clock) != 1:
        raise ParameterError("format needs one of %H and %I", _FORMAT_HINT)
    if ("I" in names) is not ("p" in names):
        raise ParameterError("format needs %I and %p together: 03:00 is two times without", _FORMAT_HINT)
