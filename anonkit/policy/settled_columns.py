# SPDX-License-Identifier: Apache-2.0
"""Two columns of coordinates read as one place: row by row, as the cell of a grid.

The reading of the cells of a column of dates, moments or times: by the declaration, cell by cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.calendar_cells import settled_type
from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.domains.domain_codes import cell_numbers
from anonkit.domains.grid_cells import cell_name, resolution_of
from anonkit.policy.calendar_columns import Calendar
from anonkit.policy.column_declarations import Outside
from anonkit.policy.places import GeographicPlace

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


@dataclass(frozen=True, kw_only=True)
class PlaceCells:
    """The map from coordinates to cells. A place that lacks one of its coordinates is missing.

    Cells that are no number, or one beyond 90 or 180 degrees, are no coordinates: the place is missing, unless they
    refuse the table.
    """

    name: str
    place: GeographicPlace
    outside: Outside | None
    """Rule for what lies beyond the declared box; clamped when None."""
    binned: bool
    """True when a place becomes the name of its public cell, as differential privacy needs it."""
    named: bool
    """True when a place becomes the name of its finest cell: of one that is released as it is read."""
    refuses: bool
    """True when cells that are no coordinates refuse the table."""

    @property
    def kind(self) -> pa.DataType:
        """Type of the settled cells: names, or numbers of cells of the finest resolution."""
        return pa.string() if self.binned or self.named else pa.int64()

    def settled(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the cell of every row of a batch."""
        latitudes, longitudes = self._coordinates(batch)
        _, there = self.place.read(latitudes, longitudes)
        if self.outside is Outside.MISSING:
            there = there & self.place.inside(latitudes, longitudes)
        somewhere = self.place.clamped(latitudes[there], longitudes[there])
        bins = self.place.bins if self.binned else None
        if bins is not None:
            finest = resolution_of(int(bins.labels[0], 16))
            names = self._names(self.place.codes(*somewhere, finest), finest)
            return _spread(_among(names, bins.labels), there)
        finest = self.place.parts.resolutions[0]
        codes = self.place.codes(*somewhere, finest)
        return _spread(self._names(codes, finest) if self.named else pa.array(codes), there)

    def counts(self, batch: pa.RecordBatch) -> tuple[int, int]:
        """Return the number of rows without a coordinate, and of others with one that is none, or beyond the box."""
        latitudes, longitudes = self._coordinates(batch)
        _, on_globe = self.place.read(latitudes, longitudes)
        inside = on_globe & self.place.inside(latitudes, longitudes)
        lacking = ~_there(batch.column(self.place.latitude)) | ~_there(batch.column(self.place.longitude))
        return int((lacking & ~inside).sum()), int((~lacking & ~inside).sum())

    def strange(self, batch: pa.RecordBatch) -> tuple[int, int]:
        """Return the number of filled cells of each column that are no coordinate: no number, or beyond the globe."""
        latitude, longitude = self._coordinates(batch)
        counts = []
        for name, numbers, most in zip(self.place.columns, (latitude, longitude), (90, 180), strict=True):
            with np.errstate(invalid="ignore"):
                counts.append(int((_there(batch.column(name)) & ~(np.abs(numbers) <= most)).sum()))
        return counts[0], counts[1]

    def _coordinates(self, batch: pa.RecordBatch) -> tuple[FloatArray, FloatArray]:
        latitude, longitude = (cell_numbers(batch.column(name)) for name in self.place.columns)
        return latitude, longitude

    def _names(self, codes: NDArray[np.int64], resolution: int) -> pa.StringArray:
        distinct, at = np.unique(codes, return_inverse=True)
        names = pa.array([cell_name(int(code), resolution) for code in distinct], pa.string())
        return names.take(pa.array(at.reshape(-1)))


def _there(cells: pa.Array) -> NDArray[np.bool_]:
    """Return a mask of the cells that are present; NaN is not."""
    there: NDArray[np.bool_] = cells.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    return ~there


def _among(names: pa.StringArray, public: tuple[str, ...]) -> pa.StringArray:
    """Return names with those that are not public missing."""
    return pc.if_else(pc.is_in(names, value_set=pa.array(public, pa.string())), names, pa.scalar(None, pa.string()))


def _spread(cells: pa.Array, there: NDArray[np.bool_]) -> pa.Array:
    """Return the cells at the rows that have one, missing elsewhere."""
    return cells.take(pa.array(np.cumsum(there) - 1, mask=~there))
