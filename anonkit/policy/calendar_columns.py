# SPDX-License-Identifier: Apache-2.0
"""Columns of dates, moments and times of day: format, zone, levels and bounds, declared or found in a table.

Bounds that were found are days, which become parts of the calendar: the public bins of the column (`within_days`).
Parts are as fine as the range allows: days where it is short, else months, quarters, years or decades.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from anonkit.documents import ParamsPart, left_out
from anonkit.domains.coded_columns import BoolArray, IntArray
from anonkit.domains.dates_and_times import (
    LEVELS,
    CalendarKind,
    CalendarParts,
    CalendarReader,
    first_places,
    part_numbers,
)
from anonkit.domains.named_parts import place
from anonkit.errors import ParameterError, PolicyError
from anonkit.policy.side_files import optional_text, texts

if TYPE_CHECKING:
    from anonkit.policy.column_declarations import Column


KEYS = ("format", "zone", "levels")
"""Keys of a column that only a column of dates, moments or times may have."""

_MOST_AUTOMATIC = 64
MOST_BINS = 2000
"""Public bins of a column at most."""

Moment = date | datetime | time


@dataclass(frozen=True, kw_only=True)
class PublicBins:
    """The public parts of a declared range: what differential privacy takes for the categories of the column."""

    paths: tuple[tuple[str, ...], ...]
    """One a bin, in order: from its name to the name of its coarsest part."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the bins, in order."""
        return tuple(path[0] for path in self.paths)

    @property
    def tree(self) -> tuple[tuple[str, ...], ...]:
        """The hierarchy of the bins; empty where there is one level."""
        return self.paths if len(self.paths[0]) > 1 else ()


@dataclass(frozen=True, kw_only=True)
class StatedCalendar(ParamsPart):
    """A column's dates, moments or times as the params have them."""

    kind: CalendarKind
    levels: tuple[str, ...]
    format: Any = field(default=None, metadata=left_out())
    """A form, or a list of forms."""
    zone: str | None = field(default=None, metadata=left_out())
    bounds: tuple[str, str] | None = field(default=None, metadata=left_out())


@dataclass(frozen=True, kw_only=True)
class Calendar:
    """The declaration of a column of dates, moments or times of day.

    Raises
    ------
    PolicyError
        The format cannot be read by, the zone is not known, the levels are none of the kind, or the bounds are no two
        ascending points of it.
    """

    kind: CalendarKind
    format: str | tuple[str, ...] | None = None
    """Format or formats of its strings; None for ISO 8601."""
    zone: str | None = None
    """The time zone in which moments with an offset are taken; UTC when None."""
    levels: tuple[str, ...] | None = None
    """The levels of generalization, finest first; None for all of them."""
    bounds: tuple[Moment, Moment] | None = None
    """Public bounds, inclusive."""
    where: str = field(default="", repr=False, compare=False)
    """The column in messages."""

    def __post_init__(self) -> None:
        try:
            _ = (self.reader, self.parts)
        except ParameterError as error:
            raise PolicyError(f"{self.where}: {error.message}", error.hint) from None
        if self.zone is not None:
            _check_zone(self.where, self.kind, self.zone)
        if self.bounds is not None and not place(self.bounds[0]) < place(self.bounds[1]):
            raise PolicyError(f"{self.where}: bounds must be [first, last] with first < last")

    @cached_property
    def reader(self) -> CalendarReader:
        """Reader of a cell."""
        return CalendarReader(kind=self.kind, format=self.format, zone=self.zone)

    @cached_property
    def parts(self) -> CalendarParts:
        """The levels at which a k-anonymous release may show it."""
        return CalendarParts(kind=self.kind, levels=LEVELS[self.kind] if self.levels is None else self.levels)

    @property
    def is_plain(self) -> bool:
        """True when nothing is declared but that it holds dates."""
        declared = (self.format, self.zone, self.levels, self.bounds)
        return self.kind is CalendarKind.DATE and all(value is None for value in declared)

    @property
    def limits(self) -> tuple[Moment, Moment] | None:
        """The public bounds: those declared, or all hours of a day."""
        if self.bounds is None and self.kind is CalendarKind.TIME:
            return time.min, time.max
        return self.bounds

    @cached_property
    def bins(self) -> PublicBins | None:
        """The public bins between the bounds, at the finest declared level; None without bounds.

        Where no levels are declared, the finest level of at most 64 bins, else the coarsest: a function of the bounds
        alone.

        Raises
        ------
        PolicyError
            There are more than 2000.
        """
        limits = self.limits
        if limits is None:
            return None
        names = self.bin_levels
        first, last = self._bin_range
        if last - first >= MOST_BINS:
            raise PolicyError(
                f"{self.where}: its bounds hold more than {MOST_BINS} public bins of a {names[0]}",
                f'coarser levels: levels = ["{LEVELS[self.kind][-1]}"]',
            )
        parts = CalendarParts(kind=self.kind, levels=names)
        point: Any = limits[0]
        paths: list[tuple[str, ...]] = []
        for _ in range(last - first + 1):
            _, following, _ = parts.part(point, 0)
            paths.append(tuple(parts.part(point, level)[2] for level in range(parts.n_levels)))
            point = following
        return PublicBins(paths=tuple(paths))

    @cached_property
    def bin_levels(self) -> tuple[str, ...]:
        """The levels of the public bins, finest first."""
        known = LEVELS[self.kind]
        if self.levels is not None or self.limits is None:
            return self.levels or known
        for at, level in enumerate(known):
            first, last = self._numbers_of_limits(level)
            if last - first < _MOST_AUTOMATIC:
                return known[at:]
        return known[-1:]

    @property
    def n_bins(self) -> int:
        """Number of parts of the finest level of the bins that the bounds hold."""
        first, last = self._bin_range
        return last - first + 1

    @property
    def _bin_range(self) -> tuple[int, int]:
        return self._numbers_of_limits(self.bin_levels[0])

    def _numbers_of_limits(self, level: str) -> tuple[int, int]:
        limits = self.limits or (time.min, time.max)
        ends = part_numbers(np.array([place(limit) for limit in limits], dtype=np.int64), level)
        return int(ends[0]), int(ends[1])

    def inside(self, places: IntArray) -> BoolArray:
        """Return a mask of the positions within the declared bounds, shape (n,)."""
        if self.bounds is None:
            return np.ones(places.size, dtype=bool)
        low, high = self._ends
        inside: BoolArray = (places >= low) & (places <= high)
        return inside

    def clamped(self, places: IntArray) -> IntArray:
        """Return places with those beyond a declared bound at the bound, shape (n,)."""
        return places if self.bounds is None else np.clip(places, *self._ends)

    @property
    def lowest(self) -> int:
        """The place of the lower bound; 0 without one."""
        return 0 if self.limits is None else int(place(self.limits[0]))

    @property
    def _ends(self) -> tuple[int, int]:
        low, high = (int(place(bound)) for bound in self.bounds or (time.min, time.max))
        return low, high

    def bin_of(self, places: IntArray) -> IntArray:
        """Return the public bin of each place, that of the nearest bound beyond them; shape (n,)."""
        first, last = self._bin_range
        return np.clip(part_numbers(places, self.bin_levels[0]), first, last) - first

    def beginnings(self, places: IntArray) -> IntArray:
        """Return the begin of the finest part of each place, shape (n,): nothing finer is ever looked at."""
        level = self.parts.levels[0]
        return first_places(part_numbers(places, level), level)

    @property
    def stated(self) -> StatedCalendar:
        """The declaration as the params have it."""
        return self._with(self.parts.levels)

    @property
    def stated_bins(self) -> StatedCalendar:
        """The declaration with the levels of its public bins."""
        return self._with(self.bin_levels)

    def _with(self, levels: tuple[str, ...]) -> StatedCalendar:
        bounds = None if self.bounds is None else (self.bounds[0].isoformat(), self.bounds[1].isoformat())
        return StatedCalendar(kind=self.kind, levels=levels, format=self.format, zone=self.zone, bounds=bounds)

    @classmethod
    def of(cls, stated: StatedCalendar, where: str) -> Calendar:
        """Return the declaration that the params state.

        Raises
        ------
        PolicyError
            It is none.
        """
        return cls(
            kind=stated.kind,
            format=tuple(stated.format) if isinstance(stated.format, list) else stated.format,
            zone=stated.zone,
            levels=stated.levels,
            bounds=None if stated.bounds is None else declared_bounds(where, stated.kind, list(stated.bounds)),
            where=where,
        )


def declared_calendar(where: str, kind: CalendarKind, spec: Mapping[str, Any]) -> Calendar:
    """Return the declaration of a column's dates, moments or times.

    Raises
    ------
    PolicyError
        See `Calendar`.
    """
    return Calendar(
        kind=kind,
        format=tuple(texts(where, "format", spec["format"]))
        if isinstance(spec.get("format"), list)
        else optional_text(where, "format", spec),
        zone=optional_text(where, "zone", spec),
        levels=tuple(texts(where, "levels", spec["levels"])) if "levels" in spec else None,
        bounds=declared_bounds(where, kind, spec["bounds"]) if "bounds" in spec else None,
        where=where,
    )


def declared_bounds(where: str, kind: CalendarKind, raw: object) -> tuple[Moment, Moment]:
    """Return declared bounds: two dates, moments or times of TOML, or strings of them in ISO 8601.

    The last of two dates bounds a column of moments with the whole day.

    Raises
    ------
    PolicyError
        They are none.
    """
    if not isinstance(raw, list) or len(raw) != 2:
        raise PolicyError(f"{where}: bounds must be [first, last]")
    first, last = (_point(where, kind, bound, end=at == 1) for at, bound in enumerate(raw))
    return first, last


def _point(where: str, kind: CalendarKind, raw: object, *, end: bool) -> Moment:
    try:
        if kind is CalendarKind.TIME:
            clock = raw if isinstance(raw, time) else time.fromisoformat(raw if isinstance(raw, str) else "")
            if clock.tzinfo is None:
                return clock
        plain: Any = date.fromisoformat(raw) if isinstance(raw, str) and len(raw) == 10 else raw
        plain = datetime.fromisoformat(plain) if isinstance(plain, str) else plain
    except ValueError:
        plain = None
    if isinstance(plain, datetime) and kind is CalendarKind.DATETIME and plain.tzinfo is None:
        return plain
    if isinstance(plain, date) and not isinstance(plain, datetime):
        return plain if kind is CalendarKind.DATE else datetime.combine(plain, time.max if end else time.min)
    example = '["08:00", "18:00"]' if kind is CalendarKind.TIME else '["2020-01-01", "2024-12-31"]'
    raise PolicyError(f"{where}: bounds of a {kind} are two of them, without an offset", f"bounds = {example}")


def _check_zone(where: str, kind: CalendarKind, zone: str) -> None:
    from zoneinfo import ZoneInfo

    if kind is CalendarKind.TIME:
        raise PolicyError(f"{where}: a time of day without its day has no time zone", "leave zone out")
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):  # not found; no name of a zone; a folder of zones
        raise PolicyError(f"{where}: zone is not a time zone that is known here", 'zone = "Europe/Berlin"') from None


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
