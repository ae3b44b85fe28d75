# SPDX-License-Identifier: Apache-2.0
"""Parts of an ordered column with public names and ends: round ends, the interface of hierarchies, H3 cells.

Every point an interval may end at has a *roundness* that no table has a part in: 0 is the roundest number, then come
the multiples of 5, 2 and 1 times ever smaller powers of ten; the roundest dates begin a millennium, then a century, a
year, a half, a month, a day, an hour. Of points as round as each other the later comes first. All arithmetic is exact:
on integers, never on floats.

`NamedParts` is the interface of hierarchies whose parts are public. `dates_and_times` has those of the calendar. Cells
of the H3 grid are here: a cell is one of 122 base cells and a digit of 0 to 6 for each resolution down to its own. Read
as one number to the base 7, all cells of the finest resolution that have one ancestor are adjacent, so that a cell is
an interval of integers. No library is needed for this: it finds the cell of a place and the corners of a cell
(`anonkit.policy.places`).

Source: https://h3geo.org/docs/core-library/h3Indexing, H3 cell index.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import IntArray
from anonkit.errors import ParameterError

Point = int | float | Decimal | date | datetime | time
"""A place on an ordered column: a number, a date, a timestamp or a time of day."""

_SAFE, _SCALE = 10**15, 22  # decimals of fewer units, and of no more places, are distinguished by floats
_LARGEST = 2**63 - 1
_MICROSECOND = timedelta(microseconds=1)
_DAY = 86_400_000_000  # microseconds
_YEARS = (1000, 500, 200, 100, 50, 20, 10, 5, 2, 1)
_MONTHS = (6, 3, 1)
_DAYS = (10, 5, 2, 1)
_TIMES = tuple(
    seconds * 1_000_000 for seconds in (43_200, 21_600, 10_800, 3_600, 1_800, 600, 300, 60, 30, 10, 5, 2, 1)
) + tuple(factor * 10**power for power in range(5, -1, -1) for factor in (5, 2, 1))


@dataclass(frozen=True, eq=False)
class Gaps:
    """The roundest point in each gap between neighbouring values of a column."""

    roundness: NDArray[np.int64]
    """Rank of this gap's point among all points, shape (n_values - 1,): 0 for the roundest of all; -1 where
    no point that can be written lies between."""
    point: Callable[[int], Point]
    """Return the roundest point c of a gap, lower value < c <= higher value."""


def gaps_between(values: Sequence[Any]) -> Gaps:
    """Return the roundest point between every two neighbours.

    Parameters
    ----------
    values : sequence
        Distinct and ascending: integers, floats or decimals, or dates, or times of day, or timestamps; the latter all
        with or all without a time zone.

    Raises
    ------
    TypeError
        The values are of no such type, or a date is beside a number.
    """
    if not values:
        return Gaps(np.zeros(0, dtype=np.int64), _no_point)
    if all(isinstance(value, datetime) for value in values):
        return _gaps_of_times(values)
    if all(isinstance(value, date) and not isinstance(value, datetime) for value in values):
        return _gaps_of_dates(values)
    if all(isinstance(value, int | float | Decimal) for value in values):
        return _gaps_of_numbers(values)
    if all(isinstance(value, time) for value in values):
        return _gaps_of_day_times(values)
    raise TypeError("a date and a number have no point between them")


def roundest_between(low: Point, high: Point) -> Point:
    """Return the roundest point c with low < c <= high; `high` where none can be written."""
    gaps = gaps_between([low, high])
    return gaps.point(0) if gaps.roundness[0] >= 0 else high


def _no_point(at: int) -> Point:
    raise IndexError(at)


def _first_difference(divisions: Iterable[NDArray[Any]], n: int) -> NDArray[np.int64]:
    """Return for every two of n neighbours the first of these divisions of the line that separates them, or -1."""
    levels = np.full(max(n - 1, 0), -1, dtype=np.int64)
    for level, parts in enumerate(divisions):
        levels[(levels < 0) & (parts[1:] != parts[:-1])] = level
        if (levels >= 0).all():
            break
    return levels


# --- numbers -------------------------------------------------------------------------------------------------------


def _gaps_of_numbers(values: Sequence[int | float | Decimal]) -> Gaps:
    finite = [value for value in values if math.isfinite(value)]
    units, scale = units_of(finite)
    largest = max((abs(unit) for unit in units), default=0)
    steps = [factor * 10**power for power in range(len(str(largest)), -1, -1) for factor in (5, 2, 1)]
    if largest <= _LARGEST:
        steps = [step for step in steps if step <= _LARGEST]
    whole: NDArray[Any] = np.array(units, dtype=np.int64 if largest <= _LARGEST else object)
    levels = _first_difference(chain([whole >= 0], (whole // step for step in steps)), len(units))
    as_float = any(isinstance(value, float) for value in values)

    def point(at: int) -> Point:
        step = steps[int(levels[at]) - 1]
        unit = units[at + 1] // step * step if levels[at] > 0 else 0
        return number_of(unit, scale, 0.0 if as_float else finite[at + 1])

    if as_float and (largest >= _SAFE or scale > _SCALE):
        for at in np.flatnonzero(levels >= 0).tolist():  # digits that floats do not distinguish separate nothing
            if not finite[at] < point(at) <= finite[at + 1]:  # type: ignore[operator]
                levels[at] = -1
    return _with_infinities(values, levels, point)


def _with_infinities(
    values: Sequence[int | float | Decimal], levels: NDArray[np.int64], point: Callable[[int], Point]
) -> Gaps:
    """Put infinite values apart from all others, at the ends of the range of floats: this discloses no other."""
    low, high = values[0] == -math.inf, values[-1] == math.inf
    if len(values) < 2 or not (low or high):
        return Gaps(levels, point)
    end = float(np.finfo(np.float64).max)
    inner = levels if levels.size else np.zeros(0, dtype=np.int64)
    every = np.concatenate(([0] * low, inner, [0 if values[-2] < end else -1] * high)).astype(np.int64)
    every = every[: len(values) - 1]

    def outer(at: int) -> Point:
        if low and at == 0:
            return -end
        return end if high and at == len(values) - 2 else point(at - low)

    return Gaps(every, outer)


def units_of(values: Sequence[int | float | Decimal]) -> tuple[list[int], int]:
    """Return numbers as whole multiples of 10^-scale; a float is the shortest decimal that reads back as it."""
    if all(isinstance(value, int) for value in values):
        return [int(value) for value in values], 0
    if all(isinstance(value, float) for value in values):
        numbers = np.array(values, dtype=np.float64)
        for scale in range(7):
            with np.errstate(over="ignore"):  # too large to be counted in units
                shifted = np.rint(numbers * 10.0**scale)
            if (np.abs(shifted) < _SAFE).all() and (shifted / 10.0**scale == numbers).all():
                return [int(unit) for unit in shifted.tolist()], scale
    decimals = [exact(value).as_tuple() for value in values]
    scale = max(0, max((-int(value.exponent) for value in decimals), default=0))
    return [
        (-1 if value.sign else 1) * int("".join(map(str, value.digits))) * 10 ** (scale + int(value.exponent))
        for value in decimals
    ], scale


def exact(point: int | float | Decimal) -> Decimal:
    """Return a number as the decimal it is written as: a float as the shortest that reads back as it."""
    return point if isinstance(point, Decimal) else Decimal(repr(point) if isinstance(point, float) else point)


def number_of(unit: int, scale: int, beside: int | float | Decimal) -> int | float | Decimal:
    """Return a multiple of 10^-scale as a number of the type of `beside`, an integer where it can be."""
    if isinstance(beside, float):
        return float(f"{unit}e-{scale}")
    if isinstance(beside, int) and unit % 10**scale == 0:
        return int(unit // 10**scale)
    number = _decimal(unit, scale)
    return float(number) if exact(float(number)) == number else number


def _decimal(unit: int, scale: int) -> Decimal:
    return Decimal((int(unit < 0), tuple(map(int, str(abs(unit)))), -scale))


# --- dates and timestamps ------------------------------------------------------------------------------------------


def _calendar(days: NDArray[Any]) -> Iterator[NDArray[np.int64]]:
    """Divide days by years, months and parts of a month, the longest first."""
    year = days.astype("datetime64[Y]").astype(np.int64) + 1970
    month = days.astype("datetime64[M]").astype(np.int64) + 1970 * 12
    day = (days - days.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64) + 1
    yield from (year // n for n in _YEARS)
    yield from (month // n for n in _MONTHS)
    yield from (month * 32 + day // n for n in _DAYS)


_CALENDAR = len(_YEARS) + len(_MONTHS) + len(_DAYS)


def _round_day(day: date, level: int) -> date:
    """Return the first day of the part that a division of the calendar puts a day in."""
    if level < len(_YEARS):
        return date(day.year // _YEARS[level] * _YEARS[level], 1, 1)
    level -= len(_YEARS)
    if level < len(_MONTHS):
        return date(day.year, (day.month - 1) // _MONTHS[level] * _MONTHS[level] + 1, 1)
    step = _DAYS[level - len(_MONTHS)]
    return date(day.year, day.month, day.day // step * step)


def _gaps_of_dates(values: Sequence[date]) -> Gaps:
    levels = _first_difference(_calendar(np.array(values, dtype="datetime64[D]")), len(values))
    return Gaps(levels, lambda at: _round_day(values[at + 1], int(levels[at])))


def _gaps_of_times(values: Sequence[datetime]) -> Gaps:
    stamps = np.array([microseconds(value) for value in values], dtype=np.int64)
    days = (stamps // _DAY).astype("datetime64[D]")
    levels = _first_difference(chain(_calendar(days), (stamps // step for step in _TIMES)), len(values))
    zone = UTC if values[0].tzinfo is not None else None

    def point(at: int) -> datetime:
        level, stamp = int(levels[at]), int(stamps[at + 1])
        start = datetime(1970, 1, 1, tzinfo=zone)
        if level < _CALENDAR:
            day = _round_day((start + stamp * _MICROSECOND).date(), level)
            return datetime(day.year, day.month, day.day, tzinfo=zone)
        step = _TIMES[level - _CALENDAR]
        moment: datetime = start + (stamp // step * step) * _MICROSECOND
        return moment

    return Gaps(levels, point)


def _gaps_of_day_times(values: Sequence[time]) -> Gaps:
    stamps = np.array([place(value) for value in values], dtype=np.int64)
    levels = _first_difference((stamps // step for step in _TIMES), len(values))

    def point(at: int) -> time:
        step = _TIMES[int(levels[at])]
        return _day_time(int(stamps[at + 1]) // step * step)

    return Gaps(levels, point)


def _day_time(stamp: int) -> time:
    """Return the time of day so many microseconds after midnight."""
    return (datetime(1970, 1, 1) + stamp * _MICROSECOND).time()


def microseconds(moment: datetime) -> int:
    """Return the microseconds since 1970, in UTC where the moment has a time zone."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC if moment.tzinfo is not None else None)) // _MICROSECOND


def place(point: Point) -> int | float | Decimal:
    """Return the position of a point on one axis: a number as it is, dates and timestamps in microseconds since 1970.

    A time of day is in microseconds after midnight.
    """
    if isinstance(point, datetime):
        return microseconds(point)
    if isinstance(point, time):
        return ((point.hour * 60 + point.minute) * 60 + point.second) * 1_000_000 + point.microsecond
    return (point.toordinal() - 719_163) * _DAY if isinstance(point, date) else point


def successor(point: Point) -> Point:
    """Return the next point of its kind: what ends an interval that holds this point alone."""
    if isinstance(point, datetime):
        return point + _MICROSECOND
    if isinstance(point, time):
        return time.max if point == time.max else _day_time(int(place(point)) + 1)
    if isinstance(point, date):
        return point + timedelta(days=1)
    if isinstance(point, float):
        return math.nextafter(point, math.inf)
    if isinstance(point, Decimal):
        (unit,), scale = units_of([point])
        return _decimal(unit + 1, scale)
    return point + 1


# --- strings ---------------------------------------------------------------------------------------------------------


def point_text(point: Point) -> str:
    """Return a point as text: the shortest that reads back as the same point."""
    if isinstance(point, date | time):
        return point.isoformat()
    if isinstance(point, int):
        return str(point)
    if isinstance(point, Decimal):
        return _plain(point)
    return str(int(point)) + ".0" if point.is_integer() and abs(point) < 1e15 else repr(point)


def _plain(number: Decimal) -> str:
    text = format(number, "f")
    return (text.rstrip("0").rstrip(".") or "0") if "." in text else text


def point_from_text(text: str) -> Point:
    """Read a point back from its text: a decimal of more digits than floats distinguish stays one.

    Raises
    ------
    ValueError
        The text is no number, date, timestamp or time of day.
    """
    for parse in (int, _float_or_decimal, date.fromisoformat, datetime.fromisoformat, time.fromisoformat):
        try:
            return parse(text)
        except ValueError:
            continue
    raise ValueError("not a point")


def _float_or_decimal(text: str) -> float | Decimal:
    number = float(text)
    if not math.isfinite(number) or Decimal(repr(number)) == Decimal(text):
        return number
    return Decimal(text)


class NamedParts(Protocol):
    """Levels of an ordered column, finest first; every part of a level lies in one part of each coarser level."""

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        ...

    @property
    def exact(self) -> bool:
        """True when the finest level keeps all of a cell, so that cells may be released as they are."""
        ...

    @property
    def shows_gaps(self) -> bool:
        """True when what lies between named parts has a name of its own, by its ends; else it is `*`."""
        ...

    def numbers(self, values: Sequence[Any], level: int) -> IntArray:
        """Return the number of the part that holds each value, shape (n_values,)."""
        ...

    def part(self, value: Any, level: int) -> tuple[Point, Point | None, str]:
        """Return the first point of the part of a value, that of the next part if there is one, and the name."""
        ...


FINEST = 15
_BASE_CELLS, _DIGITS, _UNUSED = 122, 7, 7
_MODE, _CELL = 59, 1  # four bits of the mode; 1 is a cell
_RESOLUTION, _BASE = 52, 45  # first bit of the resolution, and of the base cell


def code_of_index(index: int) -> int:
    """Return the number of a cell among the cells of its own resolution.

    Raises
    ------
    ValueError
        The index is no H3 cell.
    """
    resolution, base = resolution_of(index), (index >> _BASE) & 127
    if index >> 63 or (index >> _MODE) & 15 != _CELL or (index >> 56) & 7 or base >= _BASE_CELLS:
        raise ValueError("no cell")
    code = base
    for at in range(1, FINEST + 1):
        digit = (index >> (_BASE - 3 * at)) & 7
        if (digit == _UNUSED) is (at <= resolution):
            raise ValueError("no cell")
        code = code * _DIGITS + digit if at <= resolution else code
    return code


def resolution_of(index: int) -> int:
    """Return the resolution of a cell, 0 the coarsest."""
    return (index >> _RESOLUTION) & 15


def index_of_code(code: int, resolution: int) -> int:
    """Return the H3 index of a cell, the inverse of `code_of_index`."""
    index = (_CELL << _MODE) | (resolution << _RESOLUTION)
    for at in range(FINEST, 0, -1):
        digit = _UNUSED
        if at <= resolution:
            code, digit = divmod(code, _DIGITS)
        index |= digit << (_BASE - 3 * at)
    return index | (code << _BASE)


def cell_name(code: int, resolution: int) -> str:
    """Return the name of a cell as H3 writes it: 15 hexadecimal digits."""
    return f"{index_of_code(code, resolution):x}"


@dataclass(frozen=True, kw_only=True)
class GridParts:
    """The resolutions of generalization of places, by cells of the H3 grid.

    Raises
    ------
    ParameterError
        The resolutions are not integers from 15 to 0, the finest first.
    """

    resolutions: tuple[int, ...]
    """The finest first; values are numbers of cells of the finest."""

    def __post_init__(self) -> None:
        known = [resolution in range(FINEST + 1) for resolution in self.resolutions]
        if not known or not all(known) or list(self.resolutions) != sorted(set(self.resolutions), reverse=True):
            raise ParameterError("resolutions are whole numbers from 15 to 0, the finest first, each once")

    @property
    def n_levels(self) -> int:
        """Number of resolutions."""
        return len(self.resolutions)

    @property
    def exact(self) -> bool:
        """False: a cell is never released as its number."""
        return False

    @property
    def shows_gaps(self) -> bool:
        """False: an interval between cells in number is no place on the map, and is shown as `*`."""
        return False

    def width(self, level: int) -> int:
        """Return the number of cells of the finest resolution in a cell of a level."""
        return int(_DIGITS ** (self.resolutions[0] - self.resolutions[level]))

    def numbers(self, values: Sequence[Any], level: int) -> IntArray:
        """Return the number of the cell that holds each value, shape (n_values,)."""
        return np.asarray(np.array(values, dtype=np.int64) // self.width(level), dtype=np.int64)

    def part(self, value: Any, level: int) -> tuple[Point, Point | None, str]:
        """Return the first number of the cell that holds a value, that of the next cell, and the name of the cell."""
        width = self.width(level)
        code = int(value) // width
        return code * width, (code + 1) * width, cell_name(code, self.resolutions[level])
