# SPDX-License-Identifier: Apache-2.0
"""Cells as the policy declares them: names of categories, numbers and dates within bounds, places by grid cell.

A function of each cell and the declaration, whatever file or engine the table comes from. A place is read from the two
coordinates of its row, as the cell of a grid. k-anonymous methods read tables so. Methods of differential privacy code
cells by the same rule themselves (`anonkit.domains.cell_values`).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.cell_values import NO_CATEGORY, category_codes, cell_keys, cell_numbers, cell_texts, refuse_kinds
from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.domains.dates_and_times import settled_type
from anonkit.domains.named_parts import cell_name, resolution_of
from anonkit.errors import PolicyError
from anonkit.policy.calendar_columns import Calendar
from anonkit.policy.column_declarations import Column, ColumnType, Missing, Outside, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.places import GeographicPlace
from anonkit.policy.survey_weights import RoundWeights, rounding_of

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


@dataclass(frozen=True, kw_only=True)
class UnitCells:
    """The reading of the unit column: as the keys by which people are distinguished."""

    name: str

    def settles(self, kind: pa.DataType) -> bool:
        """Return True if cells of a type may change."""
        return True

    def settled_kind(self, kind: pa.DataType) -> pa.DataType:
        """Return the type that cells of a type have when they are settled."""
        return pa.string()

    def settled(self, array: pa.Array, kind: pa.DataType) -> pa.Array:
        """Return the cells as declared, of that type."""
        return cell_keys(array)

    def counts(self, array: pa.Array) -> tuple[int, int]:
        """Return the number of cells that name nobody, and 0 for those outside a domain."""
        return int(cell_keys(array).null_count), 0


@dataclass(frozen=True, kw_only=True)
class NumberCells:
    """The reading of a column with declared bounds: within them."""

    name: str
    bounds: tuple[float, float]
    """Public bounds, inclusive, in the unit of the column."""
    outside: Outside | None
    """Rule for a number outside; clamped when None."""
    first: bool
    """True when a missing cell counts as the lower bound."""

    def settles(self, kind: pa.DataType) -> bool:
        """Return True if cells of a type may change."""
        return True

    def settled_kind(self, kind: pa.DataType) -> pa.DataType:
        """Return the type that cells of a type have when they are settled: their own where it can hold the bounds."""
        plain = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if self.outside is Outside.REFUSE or (plain and _fits(kind, self.bounds)):
            return kind
        return pa.float64()

    def settled(self, array: pa.Array, kind: pa.DataType) -> pa.Array:
        """Return the cells as declared, of that type."""
        if self.outside is not Outside.REFUSE:
            if pa.types.is_integer(kind):
                low, high = (pa.scalar(bound, kind) for bound in _whole_bounds(kind, self.bounds))
            else:
                low, high = (pa.scalar(bound, kind) for bound in self.bounds)
                array = array if array.type == kind else pc.if_else(pc.is_nan(floats := _floats(array)), None, floats)
            if self.outside is Outside.MISSING:
                inside = pc.and_(pc.greater_equal(array, low), pc.less_equal(array, high))
                array = pc.if_else(inside, array, None)
            else:
                array = pc.min_element_wise(pc.max_element_wise(array, low, skip_nulls=False), high, skip_nulls=False)
        return pc.fill_null(array, pa.scalar(self.bounds[0], kind)) if self.first else array

    def counts(self, array: pa.Array) -> tuple[int, int]:
        """Return the number of missing cells, and of others that lie outside the bounds or are no number."""
        low, high = self.bounds
        missing, numbers = _missing(array), cell_numbers(array)
        return missing, len(array) - missing - int(((numbers >= low) & (numbers <= high)).sum())


@dataclass(frozen=True, kw_only=True)
class CategoryCells:
    """The reading of a column with declared categories, or a tree of them: by their declared names."""

    name: str
    values: tuple[str, ...]
    """The declared categories, in order."""
    texts_alone: bool
    """True when 1 and 1.0 are different categories."""
    outside: Outside
    """Rule for a cell outside: it is missing, or stays, to be refused."""
    first: bool
    """True when a missing cell counts as the first category."""
    any_type: bool
    """True when cells of every type become strings; else numbers and dates within the domain stay as they are."""

    def settles(self, kind: pa.DataType) -> bool:
        """Return True if cells of a type may change."""
        return True

    def settled_kind(self, kind: pa.DataType) -> pa.DataType:
        """Return the type that cells of a type have when they are settled: strings, or a dictionary as it is.

        Numbers and dates that are released have one spelling each, and stay.
        """
        return pa.string() if self.any_type and not pa.types.is_dictionary(kind) else kind

    def settled(self, array: pa.Array, kind: pa.DataType) -> pa.Array:
        """Return the cells as declared, of that type."""
        if pa.types.is_dictionary(kind):
            return self._dictionary(array, kind)
        if pa.types.is_string(kind):
            return self._texts(array)
        if self.outside is not Outside.MISSING:
            return array
        codes = category_codes(array, self.values, texts_alone=self.texts_alone)
        return pc.if_else(pa.array(codes != NO_CATEGORY), array, pa.scalar(None, kind))

    def counts(self, array: pa.Array) -> tuple[int, int]:
        """Return the number of missing cells, and of others that are none of the categories."""
        if isinstance(array, pa.DictionaryArray):
            entries = category_codes(array.dictionary, self.values, texts_alone=self.texts_alone)
            if (entries != NO_CATEGORY).all():  # no cell has to be looked at
                return int(array.null_count), 0
        missing, codes = _missing(array), category_codes(array, self.values, texts_alone=self.texts_alone)
        return missing, int((codes == NO_CATEGORY).sum()) - missing

    def _texts(self, array: pa.Array) -> pa.StringArray:
        codes = category_codes(array, self.values, texts_alone=self.texts_alone)
        texts = pa.array(self.values, pa.string()).take(pa.array(codes, mask=codes == NO_CATEGORY))
        if texts.null_count and self.outside is not Outside.MISSING:
            texts = pc.coalesce(texts, cell_texts(array))  # what is outside stays to be refused
        return pc.fill_null(texts, self.values[0]) if self.first else texts

    def _dictionary(self, array: pa.DictionaryArray, kind: pa.DataType) -> pa.DictionaryArray:
        """Return a dictionary in its own order under the declared names."""
        texts = self._texts(array.dictionary)
        if texts.equals(array.dictionary) and not (self.first and array.null_count):
            return array
        names = texts.unique().drop_null()
        if self.first and array.null_count:
            names = pa.concat_arrays([names, pa.array([self.values[0]])]).unique()
        places = pc.index_in(texts.take(array.indices), value_set=names)
        if self.first:
            places = pc.fill_null(places, pc.index_in(pa.scalar(self.values[0]), value_set=names))
        return pa.DictionaryArray.from_arrays(places.cast(kind.index_type), names, ordered=kind.ordered)


DeclaredCells = UnitCells | NumberCells | CategoryCells | CalendarCells


def declared_cells(column: Column, policy: Policy) -> DeclaredCells | None:
    """Return the reading of a column; its domain is computed here, once, and passed on.

    A column that does not say what missing means gets the policy's own `missing = "first"`. None where a cell means
    what its own type states: nothing is declared of its values.
    """
    if column.place is not None:
        return None  # `place_cells` reads it from two columns
    if column.role is Role.UNIT:
        return UnitCells(name=column.name)
    values, bounds = column.domain_values, column.bounds
    first = policy.missing_of(column.name) is Missing.FIRST
    if bounds is not None:
        return NumberCells(name=column.name, bounds=bounds, outside=column.outside, first=first)
    if values is None and column.missing is Missing.FIRST and column.type is ColumnType.BOOLEAN:  # under noise it has
        raise PolicyError(
            f'column {column.name!r}: missing = "first" needs declared categories, where cells have no noise',
            'add categories = ["false", "true"]',
        )
    if values is None:
        return _calendar_cells(column, policy, first=first)
    return CategoryCells(
        name=column.name,
        values=values,
        texts_alone=column.compares_texts,
        outside=Outside.MISSING if column.outside is None else column.outside,
        first=first,
        any_type=column.role is Role.QUASI_IDENTIFIER,
    )


def place_cells(policy: Policy, names: Collection[str]) -> tuple[PlaceCells, ...]:
    """Return the reading of a policy's places from a table with these columns."""
    by_cell = policy.cell_by_cell
    return tuple(
        PlaceCells(
            name=column.name,
            place=column.place,
            outside=column.outside,
            binned=by_cell,
            named=column.role is not Role.QUASI_IDENTIFIER,
            refuses=not by_cell and (column.outside is Outside.REFUSE or column.outside is None),
        )
        for column in policy.columns.values()
        if column.place is not None
        and column.is_released
        and set(column.place.columns) <= set(names)
        and (column.has_bins or not by_cell)
    )


def _calendar_cells(column: Column, policy: Policy, *, first: bool) -> CalendarCells | None:
    """Return the reading of dates, moments and times; None where nothing is declared of them, or no bins are public."""
    calendar, by_cell = column.calendar, policy.cell_by_cell
    if calendar is None or not column.is_released or (by_cell and not column.has_bins):
        return None
    return CalendarCells(
        name=column.name,
        calendar=calendar,
        outside=column.outside,
        first=first,
        binned=by_cell,
        named=calendar.levels is not None and column.role is not Role.QUASI_IDENTIFIER,
        whole=calendar.levels is None and column.role is not Role.QUASI_IDENTIFIER and not by_cell,
        refuses=not by_cell and column.outside is Outside.REFUSE,
    )


def _missing(array: pa.Array) -> int:
    if pa.types.is_floating(array.type):
        return int(pc.sum(array.is_null(nan_is_null=True)).as_py() or 0)
    return int(array.null_count)


def _floats(array: pa.Array) -> pa.Array:
    return pa.array(cell_numbers(array))


def _fits(kind: pa.DataType, bounds: tuple[float, float]) -> bool:
    """Return True if bounds hold a value of an integer type."""
    return pa.types.is_floating(kind) or _whole_bounds(kind, bounds)[0] <= _whole_bounds(kind, bounds)[1]


def _whole_bounds(kind: pa.DataType, bounds: tuple[float, float]) -> tuple[int, int]:
    signed = pa.types.is_signed_integer(kind)
    least = -(1 << (kind.bit_width - 1)) if signed else 0
    most = (1 << (kind.bit_width - signed)) - 1
    low = least if bounds[0] == -math.inf else max(math.ceil(bounds[0]), least)
    high = most if bounds[1] == math.inf else min(math.floor(bounds[1]), most)
    return low, high


# --- functions of batches --------------------------------------------------------------------------------------------


def settling(schema: pa.Schema, policy: Policy) -> SettleCells | None:
    """Return a function that settles the cells of batches with these columns; None where nothing is to be settled.

    Where differential privacy reads cells itself (`Policy.cell_by_cell`), only numbers whose bounds leave something
    missing are settled.

    Raises
    ------
    PolicyError
        A column with bounds holds truth values, dates or times, by its own type.
    """
    declared = [(field.type, declared_cells(policy.column(field.name), policy)) for field in schema]
    columns = tuple(
        cells
        for kind, cells in declared
        if cells is not None and cells.settles(kind) and (not policy.cell_by_cell or _settles_by_cell(cells))
    )
    places = place_cells(policy, schema.names)
    rounding = None if policy.cell_by_cell else rounding_of(schema, policy.weight)
    if not (columns or places or rounding):
        return None
    refuse_kinds(schema, [cells.name for cells in columns if isinstance(cells, NumberCells)])
    for cells in columns:
        if isinstance(cells, CalendarCells) and not cells.takes(schema.field(cells.name).type):
            raise PolicyError(
                f"column {cells.name!r} is declared a {cells.calendar.kind} but its cells are of another type",
                'whole numbers such as 20210304 need their format = "%Y%m%d"',
            )
    kinds = {cells.name: cells.settled_kind(schema.field(cells.name).type) for cells in columns}
    if rounding is not None:
        kinds[rounding.name] = pa.float64()
    fields = [field.with_type(kinds.get(field.name, field.type)) for field in schema]
    return SettleCells(
        columns=columns,
        places=places,
        rounding=rounding,
        schema=pa.schema([*fields, *((cells.name, cells.kind) for cells in places)]),
    )


def _settles_by_cell(cells: DeclaredCells) -> bool:
    """Return True if cells are settled where differential privacy reads the others itself."""
    return isinstance(cells, CalendarCells) or (isinstance(cells, NumberCells) and cells.outside is Outside.MISSING)


@dataclass(frozen=True, kw_only=True, eq=False)
class SettleCells:
    """Settles the cells of a batch: a function of the batch alone, cell by cell."""

    columns: tuple[DeclaredCells, ...]
    """Columns that are settled, and how."""
    schema: pa.Schema
    places: tuple[PlaceCells, ...] = ()
    """Places that are settled into columns of their own; no coordinate is left in its column."""
    rounding: RoundWeights | None = None
    """Rounding of the weights of a sample, once they are within their bounds."""

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows with settled cells."""
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
        for cells in self.columns:
            arrays[cells.name] = cells.settled(arrays[cells.name], self.schema.field(cells.name).type)
        if self.rounding is not None:
            arrays[self.rounding.name] = self.rounding(arrays[self.rounding.name])
        for place in self.places:
            arrays[place.name] = place.settled(batch)
        for name in {name for place in self.places for name in place.place.columns}:
            arrays[name] = pa.nulls(batch.num_rows, self.schema.field(name).type)
        return pa.RecordBatch.from_arrays([arrays[name] for name in self.schema.names], schema=self.schema)


@dataclass(frozen=True, kw_only=True)
class CountCells:
    """Counts the missing cells and those outside the declared domain: a function of the batch alone."""

    columns: tuple[DeclaredCells | PlaceCells, ...]

    @property
    def names(self) -> list[str]:
        """The columns of the table that are looked at."""
        return [
            name
            for cells in self.columns
            for name in (cells.place.columns if isinstance(cells, PlaceCells) else [cells.name])
        ]

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        """Return both counts of each column, shape (2 * n_columns,)."""
        counts = (
            cells.counts(batch if isinstance(cells, PlaceCells) else batch.column(cells.name)) for cells in self.columns
        )
        return np.array([n for pair in counts for n in pair], np.int64)


def refuse_outside(column: Column, count: int) -> None:
    """Refuse cells outside a declared domain, where that is what is declared.

    Raises
    ------
    PolicyError
        There are some.
    """
    if count and not (column.bounds is not None and column.outside is not Outside.REFUSE):
        rule = "bounds" if column.bounds is not None else "tree" if column.categories is None else "categories"
        raise PolicyError(
            f"column {column.name!r} has {count} cells outside its declared {rule}",
            'correct the policy or the table, or say outside = "missing"',
        )
