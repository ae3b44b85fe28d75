# SPDX-License-Identifier: Apache-2.0
"""Labels of the calendar and the clock, read once more: the range that each covers, against its cuts.

Made of the text of the label and of the strings of the cuts in `params.json` alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

Ends = tuple[str, str | None]
"""The first string that a label covers, and the first after it; None where there is none after it."""

_MIDNIGHT = "T00:00:00"
_DAYS_IN = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LAST_YEAR = 9999


def _first_of(year: int, month: int = 1) -> str | None:
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return None if year > _LAST_YEAR else f"{max(year, 1):04d}-{month:02d}-01"


def _length(year: int, month: int) -> int:
    leap = year % 400 == 0 or (year % 4 == 0 and year % 100 != 0)
    return 29 if leap and month == 2 else _DAYS_IN[month - 1]


def _between(low: str | None, high: str | None) -> Ends | None:
    return None if low is None else (low, high)


def _decade(year: int) -> Ends | None:
    return _between(_first_of(year), _first_of(year + 10))


def _year(year: int) -> Ends | None:
    return _between(_first_of(year), _first_of(year + 1)) if year else None


def _quarter(year: int, quarter: int) -> Ends | None:
    return _between(_first_of(year, 3 * quarter - 2), _first_of(year, 3 * quarter + 1)) if year else None


def _month(year: int, month: int) -> Ends | None:
    return _between(_first_of(year, month), _first_of(year, month + 1)) if year and 1 <= month <= 12 else None


def _day(year: int, month: int, day: int) -> Ends | None:
    if not (year and 1 <= month <= 12 and 1 <= day <= _length(year, month)):
        return None
    first = f"{year:04d}-{month:02d}-{day:02d}"
    return first, _first_of(year, month + 1) if day == _length(year, month) else f"{first[:8]}{day + 1:02d}"


def _hour(year: int, month: int, day: int, hour: int) -> Ends | None:
    whole = _day(year, month, day)
    if whole is None or hour > 23:
        return None
    first = f"{whole[0]}T{hour:02d}:00:00" if hour else whole[0]
    return first, whole[1] if hour == 23 else f"{whole[0]}T{hour + 1:02d}:00:00"


def _clock(first: int, last: int) -> Ends | None:
    return (f"{first:02d}:00:00", None if last == 23 else f"{last + 1:02d}:00:00")


def _clock_hour(first: int, last: int) -> Ends | None:
    return _clock(first, last) if first == last <= 23 else None


def _clock_part(first: int, last: int) -> Ends | None:
    return _clock(first, last) if first in (0, 6, 12, 18) and last == first + 5 else None


_FORMS: Sequence[tuple[str, str, str, Callable[..., Ends | None]]] = (
    ("days", "decade", r"([0-9]{3}0)s", _decade),
    ("days", "year", r"([0-9]{4})", _year),
    ("days", "quarter", r"([0-9]{4})-Q([1-4])", _quarter),
    ("days", "month", r"([0-9]{4})-([0-9]{2})", _month),
    ("days", "day", r"([0-9]{4})-([0-9]{2})-([0-9]{2})", _day),
    ("days", "hour", r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2})", _hour),
    ("clock", "hour", r"([0-9]{2}):00-([0-9]{2}):59", _clock_hour),
    ("clock", "part", r"([0-9]{2}):00-([0-9]{2}):59", _clock_part),
)


def covered(label: str, calendar: Mapping[str, Any]) -> Collection[Ends]:
    """Return the dates that a label may cover, by the levels of the params; none where it is none of their labels."""
    axis = "clock" if calendar["kind"] == "time" else "days"
    found = []
    for of_axis, level, form, ends_of in _FORMS:
        match = re.fullmatch(form, label, re.ASCII)
        if of_axis == axis and level in calendar["levels"] and match is not None:
            found.append(ends_of(*map(int, match.groups())))
    return [ends for ends in found if ends is not None]


def is_calendar_label(
    label: str | None, members: Sequence[int], cuts: Sequence[str], calendar: Mapping[str, Any]
) -> bool:
    """Return True if neighbouring parts between cuts are exactly what a label of the calendar says.

    Parameters
    ----------
    members : sequence of int
        The parts: part i lies between cut i - 1 and cut i.
    cuts : sequence of str
    calendar : mapping
        What the params state of the column.
    """
    if label is None:
        return False
    parts = sorted(members)
    if parts != list(range(parts[0], parts[-1] + 1)) or not parts[0] >= 1 or parts[-1] > len(cuts):
        return False
    plain = [cut.removesuffix(_MIDNIGHT) for cut in cuts]
    ends = plain[parts[0] - 1], plain[parts[-1]] if parts[-1] < len(cuts) else None
    return ends in covered(label, calendar)
