# SPDX-License-Identifier: Apache-2.0
"""Round numbers and dates: the ends of intervals that are published instead of cell values."""

from __future__ import annotations

import math
from datetime import date, datetime
from fractions import Fraction

Point = int | float | date | datetime
"""A place on an ordered column: a number, a date or a timestamp."""


def roundest_between(low: Point, high: Point) -> Point:
    """Return the roundest point c with low < c <= high.

    For numbers, a multiple of the largest 1, 2 or 5 times a power of ten that has one there; for dates, the first
    day of a year, else of a month, else the day itself.
    """
    if isinstance(low, date) and isinstance(high, date):
        return _roundest_date(low, high)
    if isinstance(low, date) or isinstance(high, date):
        raise TypeError("a date and a number have no point between them")
    return _roundest_number(low, high)


def _roundest_number(low: int | float, high: int | float) -> int | float:
    if math.isinf(low) and math.isinf(high):
        return 0.0
    if math.isinf(low):
        low = high - max(1.0, abs(high))
    if math.isinf(high):
        high = low + max(1.0, abs(low))
    a, b = Fraction(low), Fraction(high)  # exact: a float comparison must not move a row across the cut
    exponent = math.floor(math.log10(max(float(abs(a)), float(abs(b)), float(b - a), 1e-300))) + 1
    integers = isinstance(low, int) and isinstance(high, int)
    for power in range(exponent, exponent - 25, -1):
        if integers and power < 0:
            break
        for factor in (5, 2, 1):
            step = factor * Fraction(10) ** power
            candidate = (b // step) * step
            if candidate > a:
                rounded = int(candidate) if candidate.denominator == 1 and integers else float(candidate)
                if a < Fraction(rounded) <= b:
                    return rounded
    return high


def _roundest_date(low: date, high: date) -> date:
    for candidate in (_floor(high, month=1), _floor(high, month=high.month)):
        if low < candidate <= high:
            return candidate
    if isinstance(low, datetime) and isinstance(high, datetime):
        for unit in (
            {"hour": 0, "minute": 0, "second": 0, "microsecond": 0},
            {"minute": 0, "second": 0, "microsecond": 0},
        ):
            candidate = high.replace(**unit)  # type: ignore[arg-type]
            if low < candidate:
                return candidate
    return high


def _floor(point: date, month: int) -> date:
    if isinstance(point, datetime):
        return point.replace(month=month, day=1, hour=0, minute=0, second=0, microsecond=0)
    return point.replace(month=month, day=1)


def place(point: Point) -> float:
    """Return where a number, a date or a timestamp stands on one axis; days for the latter two."""
    if isinstance(point, datetime):
        return (point.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() / 86400
    return float(point.toordinal() - 719163) if isinstance(point, date) else float(point)


def point_text(point: Point) -> str:
    """Return a point as text: the shortest that reads back as the same point."""
    if isinstance(point, date):
        return point.isoformat()
    if isinstance(point, int):
        return str(point)
    return str(int(point)) + ".0" if point.is_integer() and abs(point) < 1e15 else repr(point)


def point_from_text(text: str) -> Point:
    """Read a point back from its text.

    Raises
    ------
    ValueError
        The text is no number, date or timestamp.
    """
    for parse in (int, float, date.fromisoformat, datetime.fromisoformat):
        try:
            return parse(text)
        except ValueError:
            continue
    raise ValueError("not a point")
