# SPDX-License-Identifier: Apache-2.0
"""The reading of the cells of a column of dates, moments or times: by the declaration, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.domains.array_types import BoolArray, IntArray
from anonkit.domains.calendar_cells import settled_type
from anonkit.policy.calendar_columns import Calendar
from anonkit.policy.column_declarations import Outside

_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True, kw_only=True)
class CalendarCells:
    """The reading of a column of dates, moments or times: by the declared format, within the bounds.

    What cannot be read is missing. Nothing finer than the finest level is left of a cell; where no level is declared,
    a column that is released as it is read keeps all of it.
    """

    name: str
    calendar: Calendar
    outside: Outside | None
    """Rule for what lies beyond the bounds; clamped when None."""
    first: bool
    """True when a missing cell counts as the lower bound."""
    binned: bool
    """True when a cell becomes the name of its public bin, as differential privacy needs it."""
    named: bool = False
    """True when a cell becomes the name of its finest part: of a column that is released as it is read."""
    whole: bool = False
    """True when a cell keeps all that is written: of a column that is released as it is read, without levels."""
    refuses: bool = False
    """True when a cell that cannot be read refuses the table."""

    def settles(self, kind: pa.DataType) -> bool:
        """Return True if cells of a type may change."""
        calendar = self.calendar
        plain = (calendar.parts.exact or self.whole) and calendar.bounds is None and not (self.binned or self.first)
        return not (plain and pa.types.is_date32(kind))

    def takes(self, kind: pa.DataType) -> bool:
        """Return True if cells of a type can be read as what is declared."""
        return self.calendar.reader.takes(kind)

    def settled_kind(self, kind: pa.DataType) -> pa.DataType:
        """Return the type that cells of a type have when they are settled: names, days, moments or times."""
        if self.binned or self.named:
            return pa.string()
        return pa.date32() if self.calendar.parts.in_days else settled_type(self.calendar.kind)

    def settled(self, array: pa.Array, kind: pa.DataType) -> pa.Array:
        """Return the cells as declared, of that type."""
        calendar = self.calendar
        places, there = calendar.reader.places(array)
        if self.outside is Outside.MISSING:
            there = there & calendar.inside(places)
        if self.first and calendar.limits is not None:
            places, there = np.where(there, places, calendar.lowest), np.ones_like(there)
        places = calendar.clamped(places)
        if self.binned and calendar.bins is not None:
            bins = pa.array(calendar.bin_of(places), mask=~there)
            return pa.array(calendar.bins.labels, pa.string()).take(bins)
        places = places if self.whole else calendar.beginnings(places)
        return self._names(places, there) if self.named else _points(places, there, kind)

    def counts(self, array: pa.Array) -> tuple[int, int]:
        """Return the number of missing cells, and of others that cannot be read or lie beyond the bounds."""
        missing = int(array.null_count)
        places, read = self.calendar.reader.places(array)
        return missing, len(array) - missing - int((read & self.calendar.inside(places)).sum())

    def _names(self, places: IntArray, there: BoolArray) -> pa.StringArray:
        parts, kind = self.calendar.parts, settled_type(self.calendar.kind)
        distinct, at = np.unique(places, return_inverse=True)
        points: list[Any] = _points(distinct, np.ones(distinct.size, dtype=bool), kind).to_pylist()
        names = pa.array([parts.part(point, 0)[2] for point in points], pa.string())
        return names.take(pa.array(at.reshape(-1), mask=~there))


def _points(places: IntArray, there: BoolArray, kind: pa.DataType) -> pa.Array:
    """Return places as days, moments or times, missing where there is none."""
    if pa.types.is_date32(kind):
        return pa.array((places // _DAY).astype(np.int32), mask=~there).cast(kind)
    return pa.array(places, mask=~there).cast(kind)
