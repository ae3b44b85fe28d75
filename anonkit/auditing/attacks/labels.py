# SPDX-License-Identifier: Apache-2.0
"""The original values that a released cell may generalize: parsed intervals, sets and masks, not compared as strings.

Numbers and times are compared exactly: beyond 2^53 a float would put an integer into the wrong interval.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.grid_cells import code_of_index, resolution_of

MASK, OTHER, MISSING, NOT = "*", "other", "missing", "not "

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_CLOCK = r"\d\d:\d\d:\d\d(?:\.\d+)?"
_POINT = rf"(?:{_CLOCK}|{_NUMBER}|\d{{4}}-\d\d-\d\d(?:[ T][\d:.]+(?:[+-]\d\d:\d\d)?)?)"
_INTERVAL = re.compile(rf"^([\[(\]])\s*({_POINT})\s*[,;]\s*({_POINT})\s*([\])\[])$")
_HALF = re.compile(rf"^(<=|>=|<|>)\s*({_POINT})$")
_RANGE = re.compile(rf"^({_NUMBER})\s*(?:-|–|to|\.\.)\s*({_NUMBER})$")
_FROM = re.compile(rf"^({_NUMBER})\+$")
_SET = re.compile(r"^\{(.*)\}$")
_PREFIX = re.compile(r"^([^*]+)(\*+)$")
_CALENDAR = (
    (re.compile(r"^(\d{3}0)s$"), 120),
    (re.compile(r"^(\d{4})$"), 12),
    (re.compile(r"^(\d{4})-Q([1-4])$"), 3),
    (re.compile(r"^(\d{4})-(\d\d)$"), 1),
)
"""Decade, year, quarter and month, with their length in months."""
_DAY_OR_HOUR = re.compile(r"^(\d{4}-\d\d-\d\d)(?:T(\d\d))?$")
_HOURS = re.compile(r"^(\d\d):00-(\d\d):59$")
_CELL = re.compile(r"^8[0-9a-f]{14}$")
_ENDLESS = Fraction(10) ** 400  # position of infinite numbers

Mask = NDArray[np.bool_]


def compatible(labels: Sequence[Any], values: Sequence[Any]) -> Mask:
    """Return a mask of the values that each label may generalize, shape (n_labels, n_values).

    Parameters
    ----------
    labels : sequence
        Distinct released cells: the value itself, `*`, `[20, 30)`, `< 20`, `20-29`, `a|b`, `{a, b}`, `not a|b`,
        `123**`, of dates and times `2021-03`, `2021-Q1`, `2021`, `2020s`, `2021-03-01T08` and `08:00-08:59`, a cell of
        the H3 grid whose descendants are the values, `other` (whatever no other label names), `missing`; None is a
        missing cell. Where a value is called `other` or `missing`, the pool and missing cells are `other (2)` and
        `missing (2)`.
    values : sequence
        Distinct original values; None is a missing one.
    """
    atoms = {atom for label in labels if isinstance(label, str) for atom in _atoms(label)}
    pool = _numbered(OTHER, atoms)
    column = _Values(values, pool, _numbered(MISSING, atoms))
    out = np.array([column.of_label(label) for label in labels], dtype=bool).reshape(len(labels), len(values))
    named = np.zeros(len(values), dtype=bool)
    for label in labels:
        if isinstance(label, str):
            named |= column.named(label)
    rest = ~named & ~column.absent
    for at, label in enumerate(labels):
        # of a value that nothing names it is not known whether it is in the pool: both labels may cover it
        if isinstance(label, str) and pool in _atoms(label) and not label.startswith(NOT):
            out[at] |= rest
    return out


def _numbered(name: str, atoms: set[str]) -> str:
    """Return the name of a pool among these names: `other`, or `other (2)` where that is a value's."""
    number = 1
    while f"{name} ({number + 1})" in atoms:
        number += 1
    return name if number == 1 else f"{name} ({number})"


def _atoms(label: str) -> list[str]:
    body = label.removeprefix(NOT)
    inside = _SET.match(body)
    return [part.strip() for part in inside[1].split(",")] if inside else body.split("|")


class _Values:
    """The distinct values of a column, as strings and, where they are numbers or dates, on a line."""

    def __init__(self, values: Sequence[Any], pool: str, missing: str) -> None:
        self._pool, self._missing = pool, missing
        self.absent = np.array([_is_missing(value) for value in values], dtype=bool)
        self._texts = [None if _is_missing(value) else text_of(value) for value in values]
        self._kinds = {type(value) for value in values if not _is_missing(value)}
        self._ordered, self._by_place, self._place_of = _ordered(values, self._kinds)
        self._cells = [_cell(text) for text in self._texts]
        self._at = {text: at for at, text in enumerate(self._texts) if text is not None}

    def of_label(self, label: object) -> Mask:
        """Return the values that a label may generalize, `other` apart."""
        if _is_missing(label):
            return self.absent.copy()
        if not isinstance(label, str):
            return self._exact(text_of(label))
        if label == MASK:
            return np.ones(self.absent.size, dtype=bool)
        whole = self._exact(label)
        if whole.any():
            return whole
        matches = np.zeros(self.absent.size, dtype=bool)
        for atom in _atoms(label):
            matches |= self._of_atom(atom)
        return ~matches if label.startswith(NOT) else matches

    def named(self, label: str) -> Mask:
        """Return the values that a label names, whether it includes or excludes them."""
        matches = np.zeros(self.absent.size, dtype=bool)
        for atom in _atoms(label):
            matches |= self._exact(atom)
        return matches

    def _exact(self, text: str) -> Mask:
        out = np.zeros(self.absent.size, dtype=bool)
        if text in self._at:
            out[self._at[text]] = True
        return out

    def _of_atom(self, atom: str) -> Mask:
        if atom == self._missing:
            return self.absent.copy()
        exact = self._exact(atom)
        if exact.any() or atom == self._pool:
            return exact
        return self._of_interval(atom) | self._of_prefix(atom) | self._of_part(atom) | self._of_cell(atom)

    def _of_part(self, atom: str) -> Mask:
        """Return the values in a part of the calendar or of the day; a year is one among dates alone."""
        out = np.zeros(self.absent.size, dtype=bool)
        ends = None
        if self._kinds == {time}:
            match = _HOURS.match(atom)
            ends = None if match is None else (_hours(int(match[1])), _hours(int(match[2]) + 1))
        elif self._kinds and self._kinds <= {date, datetime}:
            ends = _calendar_ends(atom)
        if ends is not None:
            out[self._by_place[self._below(ends[0], False) : self._below(ends[1], False)]] = True
        return out

    def _of_cell(self, atom: str) -> Mask:
        """Return the values that are cells below a cell."""
        above = _cell(atom)
        if above is None:
            return np.zeros(self.absent.size, dtype=bool)
        resolution, code = above
        fits = [
            cell is not None and cell[0] >= resolution and cell[1] // 7 ** (cell[0] - resolution) == code
            for cell in self._cells
        ]
        return np.array(fits, dtype=bool)

    def _of_interval(self, atom: str) -> Mask:
        first, last = 0, 0
        if match := _INTERVAL.match(atom):
            first = self._below(_point(match[2]), match[1] != "[")
            last = self._below(_point(match[3]), match[4] == "]")
        elif match := _HALF.match(atom):
            border = self._below(_point(match[2]), match[1] in ("<=", ">"))
            first, last = (0, border) if match[1] in ("<", "<=") else (border, len(self._ordered))
        elif match := _RANGE.match(atom):
            first, last = self._below(Fraction(match[1]), False), self._below(Fraction(match[2]), True)
        elif match := _FROM.match(atom):
            first, last = self._below(Fraction(match[1]), False), len(self._ordered)
        out = np.zeros(self.absent.size, dtype=bool)
        out[self._by_place[first:last]] = True
        return out

    def _below(self, point: Fraction, with_equal: bool) -> int:
        """Count the values below a point, or not above it."""
        return (bisect_right if with_equal else bisect_left)(self._ordered, point, key=self._place_of)

    def _of_prefix(self, atom: str) -> Mask:
        match = _PREFIX.match(atom)
        if not match:
            return np.zeros(self.absent.size, dtype=bool)
        fits = [t is not None and len(t) == len(atom) and t.startswith(match[1]) for t in self._texts]
        return np.array(fits, dtype=bool)


def text_of(value: object) -> str:
    """Return a value as it is written: integers without a point, dates in ISO form."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float | np.floating) and value != value)


def _place(value: object) -> Fraction | None:
    """Return the position of a value on its axis, a float as the shortest decimal that reads back as it."""
    if _is_missing(value):
        return None
    if isinstance(value, date):
        return _moment(value)
    if isinstance(value, time):
        return _clock(value)
    try:
        if isinstance(value, float | np.floating):
            number = float(value)
            return Fraction(repr(number)) if math.isfinite(number) else _ENDLESS * (1 if number > 0 else -1)
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        return None


def _ordered(values: Sequence[Any], kinds: set[type]) -> tuple[list[Any], NDArray[np.int64], Callable[[Any], Fraction]]:
    """Return the ordered values, the position of each among all values, and the function to its place on a line.

    Values of one kind that orders itself are sorted as they are, and only those that a search meets become fractions:
    a column of a release has tens of thousands, and one comparison of methods reads it a hundred times.
    """
    if kinds in ({int}, {float}):
        found = [(value, at) for at, value in enumerate(values) if not _is_missing(value)]
        found.sort()
        return [value for value, _ in found], np.array([at for _, at in found], dtype=np.int64), _placed
    places = [(place, at) for at, value in enumerate(values) if (place := _place(value)) is not None]
    places.sort()
    return [place for place, _ in places], np.array([at for _, at in places], dtype=np.int64), _itself


def _placed(value: object) -> Fraction:
    place = _place(value)
    assert place is not None  # noqa: S101 - a number that is not missing has one
    return place


def _itself(place: Fraction) -> Fraction:
    return place


def _point(text: str) -> Fraction:
    try:
        return Fraction(text)
    except ValueError:
        return _clock(time.fromisoformat(text)) if text[2:3] == ":" else _moment(datetime.fromisoformat(text))


def _clock(point: time) -> Fraction:
    """Return the microseconds since midnight."""
    return Fraction(((point.hour * 60 + point.minute) * 60 + point.second) * 1_000_000 + point.microsecond)


def _hours(n: int) -> Fraction:
    return Fraction(n * 3_600_000_000)


def _calendar_ends(atom: str) -> tuple[Fraction, Fraction] | None:
    """Return the begin and end of a part of the calendar, in microseconds since 1970; None for other strings."""
    if match := _DAY_OR_HOUR.match(atom):
        try:
            first = _moment(datetime.fromisoformat(match[1])) + _hours(int(match[2] or 0))
        except ValueError:
            return None
        return first, first + _hours(1 if match[2] else 24)
    for pattern, length in _CALENDAR:
        if match := pattern.match(atom):
            part = int(match[2]) - 1 if len(match.groups()) > 1 else 0
            months = int(match[1]) * 12 + part * length
            return _month(months), _month(months + length)
    return None


def _month(months: int) -> Fraction:
    """Return the begin of a month, counted from the year 0."""
    days = np.datetime64(months - 1970 * 12, "M").astype("datetime64[D]").astype(np.int64)
    return Fraction(int(days)) * 86_400_000_000


def _cell(text: str | None) -> tuple[int, int] | None:
    """Return resolution and number of a cell of the H3 grid; None where the text names none."""
    if text is None or not _CELL.match(text):
        return None
    try:
        return resolution_of(int(text, 16)), code_of_index(int(text, 16))
    except ValueError:
        return None


def _moment(moment: date) -> Fraction:
    """Return the microseconds since 1970."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    start = datetime(1970, 1, 1, tzinfo=None if moment.tzinfo is None else UTC)
    return Fraction((moment - start) // timedelta(microseconds=1))
