# SPDX-License-Identifier: Apache-2.0
"""Simulated rows: seeded draws by the number of a row, and rows of any table that a policy declares.

A draw is a function of the seed, of what it is of, and of the number of its row alone. All simulated tables use it.

Rows of a declared table have any columns and any number, and no cell of the table. What a release under noise may be
like can be seen on them before anything is spent. Each column depends on one hidden number of the person: some columns
strongly, some weakly, some not at all. Categories have shares of 1, 1/2, 1/3, …, in their declared order; numbers,
dates and coordinates are bell-shaped between their bounds. A table of real people is otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.policy.calendar_columns import Calendar
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.places import GeographicPlace, outlines

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Stream(IntEnum):
    """The streams of random words: each has words of its own. A number stays what it is for good."""

    CUSTOMER = 0
    CUSTOMER_MONTH = 1
    PATIENT = 2
    VISIT = 3
    RESPONDENT = 4
    RIDER = 5
    TRIP = 6
    DECLARED_ROW = 7


def uniforms(seed: int, stream: Stream, width: int, start: int, stop: int) -> FloatArray:
    """Return `width` uniform numbers in [0, 1) for each row from `start` to `stop`, shape (stop - start, width)."""
    generator = np.random.PCG64([seed, int(stream)])  # its raw words never change, numpy's distributions may
    generator.advance(start * width)
    words = generator.random_raw((stop - start) * width) >> np.uint64(11)
    return words.astype(np.float64).reshape(-1, width) * 2.0**-53


def normals(uniforms: FloatArray) -> FloatArray:
    """Turn pairs of uniform numbers into pairs of standard normal ones (Box and Muller 1958), same shape."""
    half = uniforms.shape[1] // 2
    radius: FloatArray = np.sqrt(-2 * np.log1p(-uniforms[:, :half]))
    angle: FloatArray = 2 * np.pi * uniforms[:, half:]
    return np.hstack([radius * np.cos(angle), radius * np.sin(angle)])


def numbered(letter: str, numbers: IntArray, width: int = 7) -> pa.Array:
    """Return identifiers: a letter and each number, with zeros before it up to `width` digits."""
    digits = pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), width=width, padding="0")
    return pc.binary_join_element_wise(letter, digits, "")


_DEPENDENCE = (0.8, 0.5, 0.2, 0.0)
"""Correlation of columns with the hidden number, in turn; that of the target is the first."""
_ROWS_OF_PERSON = 3
"""Rows of a person, where several may be of one."""
_DEVIATIONS = 6
"""Standard deviations between two bounds."""


def declared_rows(policy: Policy, names: Sequence[str], n: int, seed: int = 0) -> pa.Table:
    """Simulate a table that a policy declares.

    Parameters
    ----------
    policy : Policy
        With a role for every column.
    names : sequence of str
        The columns of the table, in order; those that the policy makes of others are not among them.
    n : int
        Rows, in [0, inf).
    seed : int
        Which population, in [0, inf).

    Returns
    -------
    pyarrow.Table
        Strings, floats or integers, and dates, moments or times. A column of which nothing is declared has one text.

    Raises
    ------
    MissingDependencyError
        Public cells of a grid are declared, and H3 is not installed.
    """
    rows_of_person = 1 if policy.unit is None else _ROWS_OF_PERSON
    people = np.arange(n) // rows_of_person
    # Box-Muller takes two uniform numbers for two normal ones
    width = len(names) + 1 + (len(names) + 1) % 2
    normal_numbers = normals(uniforms(seed, Stream.DECLARED_ROW, width, 0, n))
    hidden = normal_numbers[people, -1] if n else normal_numbers[:, -1]
    coordinates = _coordinates(policy, normal_numbers, hidden, names)
    columns = {}
    for at, name in enumerate(names):
        column = policy.column(name)
        if name in coordinates:
            columns[name] = pa.array(coordinates[name])
        elif column.role in (Role.IDENTIFIER, Role.UNIT):
            columns[name] = numbered("S", people)
        else:
            columns[name] = _cells(column, _normal(column, at, normal_numbers, hidden))
    return pa.table(columns)


def _normal(column: Column, at: int, normal_numbers: FloatArray, hidden: FloatArray) -> FloatArray:
    """Return standard normal numbers that depend on the hidden number as the column does, shape (n,)."""
    share = _DEPENDENCE[0 if column.role is Role.TARGET else at % len(_DEPENDENCE)]
    mixed: FloatArray = share * hidden + np.sqrt(1 - share**2) * normal_numbers[:, at]
    return mixed


def _cells(column: Column, normal: FloatArray) -> pa.Array:
    if column.domain_values:
        shares = 1 / np.arange(1, len(column.domain_values) + 1)
        # by rank, so that the shares are those above whatever the numbers are
        places = (np.argsort(np.argsort(normal, kind="stable"), kind="stable") + 0.5) / max(normal.size, 1)
        codes = np.searchsorted(np.cumsum(shares) / shares.sum(), places, side="right")
        texts = pa.array(column.domain_values, pa.string())
        return texts.take(pa.array(np.minimum(codes, len(column.domain_values) - 1)))
    if column.bounds is not None:
        numbers = _between(*column.bounds, normal)
        if column.type is ColumnType.INTEGER:
            low, high = np.ceil(column.bounds[0]), np.floor(column.bounds[1])
            return pa.array(np.clip(np.rint(numbers), low, high).astype(np.int64))
        return pa.array(numbers)
    if column.calendar is not None and column.calendar.limits is not None:
        return _moments(column.calendar, normal)
    return pa.array(["simulated"] * normal.size, pa.string())


def _between(low: float, high: float, normal: FloatArray) -> FloatArray:
    """Return numbers in [low, high] around the middle, shape (n,)."""
    numbers: FloatArray = np.clip((low + high) / 2 + normal * ((high - low) / _DEVIATIONS), low, high)
    return numbers


def _moments(calendar: Calendar, normal: FloatArray) -> pa.Array:
    """Return dates, moments or times of day within the declared bounds."""
    assert calendar.limits is not None  # noqa: S101 - the caller has looked
    low, high = (np.datetime64(_moment(limit), "us").astype(np.int64) for limit in calendar.limits)
    microseconds: IntArray = _between(float(low), float(high), normal).astype(np.int64)
    moments = pa.array(microseconds).cast(pa.timestamp("us"))
    if isinstance(calendar.limits[0], time):
        return moments.cast(pa.time64("us"))
    return moments if isinstance(calendar.limits[0], datetime) else moments.cast(pa.date32(), safe=False)


def _moment(limit: date | time) -> datetime:
    """Return a bound as a moment of UTC; a time of day as one of the first day that is counted."""
    if isinstance(limit, time):
        return datetime.combine(date(1970, 1, 1), limit)
    moment = limit if isinstance(limit, datetime) else datetime.combine(limit, time())
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _coordinates(
    policy: Policy, normal_numbers: FloatArray, hidden: FloatArray, names: Sequence[str]
) -> dict[str, FloatArray]:
    """Return latitudes and longitudes of the declared places, by the names of their columns."""
    found: dict[str, FloatArray] = {}
    for column in policy.columns.values():
        if column.place is None or not set(column.place.columns) <= set(names):
            continue
        across, along = (_normal(column, names.index(name), normal_numbers, hidden) for name in column.place.columns)
        latitudes, longitudes = _points(column.place, across, along)
        found |= dict(zip(column.place.columns, (latitudes, longitudes), strict=True))
    return found


def _points(place_: GeographicPlace, across: FloatArray, along: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return points within the declared box, or in the declared cells; anywhere on the globe where none are."""
    if place_.cells is not None:
        centres = np.array([each["center"] for each in outlines(place_.cells).values()])
        chosen = centres[np.clip(((across + 3) / _DEVIATIONS * len(centres)).astype(np.int64), 0, len(centres) - 1)]
        return chosen[:, 0], chosen[:, 1]
    south, west, north, east = place_.box or (-90.0, -180.0, 90.0, 180.0)
    longitudes = _between(west, east if west <= east else east + 360, along)
    return _between(south, north, across), (longitudes + 180) % 360 - 180
