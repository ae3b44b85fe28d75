# SPDX-License-Identifier: Apache-2.0
"""Places as the policy declares them: two columns of coordinates that are released as one cell of the H3 grid, or not.

Cells of one resolution are nested in those of the next by their numbers, which is what k-anonymity needs; on the map
they are so only nearly: a seventh of a cell reaches a little beyond its parent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from anonkit.documents import ParamsPart, left_out
from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.domains.named_parts import GridParts, cell_name, code_of_index, resolution_of
from anonkit.errors import MissingDependencyError, ParameterError, PolicyError
from anonkit.policy.calendar_columns import PublicBins
from anonkit.policy.side_files import numbers, optional_text, texts

KEYS = ("latitude", "longitude", "resolutions", "box", "cells")

_AUTOMATIC = (8, 7, 6, 5, 4, 3, 2)  # from 0.7 square kilometres to half a country
_MOST_AUTOMATIC, _MOST_CELLS = 64, 2000
_STRIP = 60.0  # degrees of longitude that are covered at a time: wider shapes are taken the other way round the globe
_NEARLY_NESTED = 1.1
"""Descendants of a cell lie within this multiple of the distance from its centre to its farthest corner."""


@dataclass(frozen=True, kw_only=True)
class StatedPlace(ParamsPart):
    """A place as the params have it."""

    latitude: str
    longitude: str
    resolutions: tuple[int, ...]
    box: tuple[float, float, float, float] | None = field(default=None, metadata=left_out())
    cells: tuple[str, ...] | None = field(default=None, metadata=left_out())


@dataclass(frozen=True, kw_only=True)
class GeographicPlace:
    """Two columns of coordinates, in degrees of WGS 84, that give one place.

    Raises
    ------
    PolicyError
        The resolutions, the box or the cells are none.
    """

    latitude: str
    """Column of latitudes, from -90 (south) to 90."""
    longitude: str
    """Column of longitudes, from -180 (west) to 180."""
    resolutions: tuple[int, ...] | None = None
    """Resolutions of H3 to which it may be generalized, the finest first; None for 8 to 2."""
    box: tuple[float, float, float, float] | None = None
    """Public bounds: south, west, north, east; west > east where it lies across the antimeridian."""
    cells: tuple[str, ...] | None = None
    """Public cells, all of one resolution."""
    where: str = field(default="", repr=False, compare=False)
    """The place in messages."""

    def __post_init__(self) -> None:
        if self.latitude == self.longitude:
            raise PolicyError(f"{self.where}: latitude and longitude are two columns")
        if self.box is not None and self.cells is not None:
            raise PolicyError(f"{self.where}: box and cells exclude each other", "a public domain is one or the other")
        try:
            _ = self.parts
        except ParameterError as error:
            raise PolicyError(f"{self.where}: {error.message}", "resolutions = [8, 7, 6, 5]") from None
        if self.box is not None and not _is_box(*self.box):
            raise PolicyError(
                f"{self.where}: box must be [south, west, north, east] in degrees, with south < north",
                "box = [47.2, 5.8, 55.1, 15.1]",
            )
        if self.cells is not None and not _are_cells(self.cells):
            raise PolicyError(
                f"{self.where}: cells must be H3 cells of one resolution, each once", 'cells = ["871f1d489ffffff", …]'
            )

    @cached_property
    def parts(self) -> GridParts:
        """The resolutions at which a k-anonymous release may show it."""
        return GridParts(resolutions=_AUTOMATIC if self.resolutions is None else self.resolutions)

    @property
    def columns(self) -> tuple[str, str]:
        """The columns of its coordinates."""
        return self.latitude, self.longitude

    @property
    def has_bins(self) -> bool:
        """True when the declaration makes public cells."""
        return self.box is not None or self.cells is not None

    @cached_property
    def bins(self) -> PublicBins | None:
        """The public cells, each with its path to the coarsest resolution; None where none are declared.

        Of a box they are those of the finest declared resolution that it touches. Where none is declared, the finest of
        at most 64 cells is taken: a function of the box alone.

        Raises
        ------
        PolicyError
            There are more than 2000.
        MissingDependencyError
            H3 is not installed, and a box is declared.
        """
        names = self.cells
        if names is None and self.box is not None:
            names = _cells_in(self.where, self.box, self.resolutions)
        if not names:
            return None
        if len(names) > _MOST_CELLS:
            raise PolicyError(
                f"{self.where}: more than {_MOST_CELLS} public cells", "coarser resolutions, a smaller box"
            )
        finest = resolution_of(int(names[0], 16))
        coarser = [each for each in self.parts.resolutions if each < finest]
        parts = GridParts(resolutions=(finest, *coarser))
        codes = [code_of_index(int(name, 16)) for name in names]
        paths = [tuple(parts.part(code, level)[2] for level in range(parts.n_levels)) for code in codes]
        return PublicBins(paths=tuple(paths))

    def read(self, latitudes: FloatArray, longitudes: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Return masks of the places with both coordinates and of those on the globe, both of shape (n,)."""
        there = ~(np.isnan(latitudes) | np.isnan(longitudes))
        with np.errstate(invalid="ignore"):
            return there, there & (np.abs(latitudes) <= 90) & (np.abs(longitudes) <= 180)

    def inside(self, latitudes: FloatArray, longitudes: FloatArray) -> BoolArray:
        """Return a mask of the places within the declared box, shape (n,)."""
        if self.box is None:
            return np.ones(latitudes.size, dtype=bool)
        south, west, north, east = self.box
        beyond_west, before_east = longitudes >= west, longitudes <= east
        across = beyond_west & before_east if west <= east else beyond_west | before_east
        inside: BoolArray = (latitudes >= south) & (latitudes <= north) & across
        return inside

    def clamped(self, latitudes: FloatArray, longitudes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return places with those beyond the declared box at its nearest edge, each coordinate by itself."""
        if self.box is None:
            return latitudes, longitudes
        south, west, north, east = self.box
        to_west, to_east = (np.abs((longitudes - end + 180) % 360 - 180) for end in (west, east))
        level = np.clip(latitudes, south, north)
        nearest = np.where(to_west <= to_east, west, east)
        return level, np.where(self.inside(level, longitudes), longitudes, nearest)

    def codes(self, latitudes: FloatArray, longitudes: FloatArray, resolution: int) -> IntArray:
        """Return the number of the cell of each place, shape (n,).

        Raises
        ------
        MissingDependencyError
            H3 is not installed.

        Privacy
        -------
        A function of the place alone.
        """
        h3 = _h3()
        pairs = np.column_stack((latitudes, longitudes))
        distinct, at = np.unique(pairs, axis=0, return_inverse=True)
        cells = [code_of_index(h3.latlng_to_cell(lat, lng, resolution)) for lat, lng in distinct.tolist()]
        return np.array(cells, dtype=np.int64)[at.reshape(-1)] if cells else np.zeros(0, dtype=np.int64)

    @property
    def stated(self) -> StatedPlace:
        """The declaration as the params have it."""
        resolutions = tuple(self.parts.resolutions)
        return StatedPlace(latitude=self.latitude, longitude=self.longitude, resolutions=resolutions, box=self.box)

    @property
    def stated_bins(self) -> StatedPlace:
        """The declaration with its public cells."""
        cells = () if self.bins is None else tuple(self.bins.labels)
        finest = () if not cells else (resolution_of(int(cells[0], 16)),)
        coarser = (each for each in self.parts.resolutions if not finest or each < finest[0])
        return replace(self.stated, resolutions=(*finest, *coarser), cells=cells if self.box is None else None)

    @classmethod
    def of(cls, stated: StatedPlace, where: str) -> GeographicPlace:
        """Return the declaration that the params state.

        Raises
        ------
        PolicyError
            It is none.
        """
        return cls(
            latitude=stated.latitude,
            longitude=stated.longitude,
            resolutions=stated.resolutions,
            box=stated.box,
            cells=stated.cells,
            where=where,
        )


def declared_place(where: str, spec: Mapping[str, Any]) -> GeographicPlace:
    """Return a place of a policy.

    Raises
    ------
    PolicyError
        It lacks a column of coordinates, or see `GeographicPlace`.
    """
    coordinates = [optional_text(where, key, spec) for key in ("latitude", "longitude")]
    if coordinates[0] is None or coordinates[1] is None:
        raise PolicyError(f"{where}: a place needs both columns", 'home = { latitude = "lat", longitude = "lon" }')
    resolutions, box = (numbers(where, key, spec[key]) if key in spec else None for key in ("resolutions", "box"))
    if box is not None and len(box) != 4:
        raise PolicyError(
            f"{where}: box must be [south, west, north, east] in degrees", "box = [47.2, 5.8, 55.1, 15.1]"
        )
    if resolutions is not None and any(each != int(each) for each in resolutions):
        raise PolicyError(f"{where}: resolutions are whole numbers", "resolutions = [8, 7, 6, 5]")
    return GeographicPlace(
        latitude=coordinates[0],
        longitude=coordinates[1],
        resolutions=None if resolutions is None else tuple(int(each) for each in resolutions),
        box=None if box is None else (box[0], box[1], box[2], box[3]),
        cells=tuple(texts(where, "cells", spec["cells"])) if "cells" in spec else None,
        where=where,
    )


def outlines(names: Iterable[str]) -> dict[str, dict[str, list[float]]]:
    """Return centre and bounds of cells by their names, for receivers who have no H3.

    Bounds are south, west, north and east, wide enough for every place whose finest cell is a descendant of the cell:
    a circle about the centre whose radius is 1.1 times the distance to the farthest corner.

    Raises
    ------
    MissingDependencyError
        H3 is not installed.
    """
    h3 = _h3()
    out = {}
    for name in names:
        index = int(name, 16)
        latitude, longitude = h3.cell_to_latlng(index)
        corners = h3.cell_to_boundary(index)
        reach = _NEARLY_NESTED * max(_degrees_between((latitude, longitude), corner) for corner in corners)
        south, north = max(latitude - reach, -90.0), min(latitude + reach, 90.0)
        west, east = -180.0, 180.0
        if south > -90 and north < 90:
            aside = math.degrees(math.asin(math.sin(math.radians(reach)) / math.cos(math.radians(latitude))))
            west, east = ((longitude + step + 180) % 360 - 180 for step in (-aside, aside))
        rounded = [round(each, 6) for each in (south - 1e-6, west - 1e-6, north + 1e-6, east + 1e-6)]
        out[name] = {"center": [round(latitude, 6), round(longitude, 6)], "bounds": rounded}
    return out


def _degrees_between(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the angle between two places, in degrees (haversine formula)."""
    (lat, lng), (lat2, lng2) = (tuple(map(math.radians, place)) for place in (one, other))
    square = math.sin((lat2 - lat) / 2) ** 2 + math.cos(lat) * math.cos(lat2) * math.sin((lng2 - lng) / 2) ** 2
    return math.degrees(2 * math.asin(min(math.sqrt(square), 1.0)))


def _is_box(south: float, west: float, north: float, east: float) -> bool:
    return -90 <= south < north <= 90 and all(-180 <= end <= 180 for end in (west, east)) and west != east


def _are_cells(names: Sequence[str]) -> bool:
    try:
        indexes = [int(name, 16) for name in names]
        codes = [code_of_index(index) for index in indexes]
    except ValueError:
        return False
    same = len({resolution_of(index) for index in indexes}) == 1 and len(set(codes)) == len(codes)
    return same and all(f"{index:x}" == name for index, name in zip(indexes, names, strict=True))


def _cells_in(where: str, box: tuple[float, float, float, float], resolutions: Sequence[int] | None) -> tuple[str, ...]:
    """Return the cells that a box touches, in the order of their numbers."""
    if resolutions is not None:
        return _overlapping(where, box, resolutions[0])
    found = _overlapping(where, box, 0)
    for resolution in range(1, _AUTOMATIC[0] + 1):
        finer = _overlapping(where, box, resolution)
        if len(finer) > _MOST_AUTOMATIC:
            break
        found = finer
    return found


def _overlapping(where: str, box: tuple[float, float, float, float], resolution: int) -> tuple[str, ...]:
    h3 = _h3()
    south, west, north, east = box
    width = (east - west) % 360 or 360.0
    share = width / 360 * (math.sin(math.radians(north)) - math.sin(math.radians(south))) / 2
    if share * h3.get_num_cells(resolution) > 4 * _MOST_CELLS:
        raise PolicyError(f"{where}: more than {_MOST_CELLS} public cells", "coarser resolutions, a smaller box")
    codes: set[int] = set()
    strips = math.ceil(width / _STRIP)
    for at in range(strips):
        left, right = west + width * at / strips, west + width * (at + 1) / strips
        # points of the edges are covered too: a shape that ends at a pole or the antimeridian has none inside there
        steps = np.linspace(0, 1, 9)
        edges = [(south + (north - south) * s, left + (right - left) * t) for s in steps for t in steps]
        corners = [(south, left), (south, right), (north, right), (north, left)]
        shape = h3.LatLngPoly([(lat, (lng + 180) % 360 - 180) for lat, lng in corners])
        codes.update(map(code_of_index, h3.h3shape_to_cells_experimental(shape, resolution, contain="overlap")))
        codes.update(code_of_index(h3.latlng_to_cell(lat, (lng + 180) % 360 - 180, resolution)) for lat, lng in edges)
    return tuple(cell_name(code, resolution) for code in sorted(codes))


def _h3() -> Any:
    """Return H3 with cells as integers, imported where it is used."""
    try:
        import h3.api.basic_int
    except ImportError:
        raise MissingDependencyError.of_extra("H3, the grid of places,", "geo") from None
    return h3.api.basic_int
