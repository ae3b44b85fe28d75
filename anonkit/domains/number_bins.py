# SPDX-License-Identifier: Apache-2.0
"""Bins of a numeric target: runs of cells of a public grid, which a method counts as it counts classes.

Methods that count classes thereby work on numbers without a line of their own, with the same sensitivities: a row has
one bin as it has one class. Each bin has a representative number, so that shares of bins are a mean.

Public domains as codes: the categories of an attribute, or the cells of a grid over its bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anonkit.documents import ParamsPart, left_out
from anonkit.domains.coded_columns import Codes, FloatArray, IntArray
from anonkit.domains.rounding_grid import WholeValues
from anonkit.errors import ParameterError

UNKNOWN = -1
"""Code of a value that is not in the domain."""


TRUTH_VALUES = ("false", "true")
"""The public domain of a column of booleans, as categories."""


@dataclass(frozen=True, kw_only=True)
class Categories(
    ParamsPart,
    keys=("categories=values", "has_missing", "truth_values?=are_truth_values"),
    damage="a domain must list its categories as texts",
):
    """The public list of an attribute's categories; missing, when it can occur, is one more and the last code."""

    type: ClassVar[str] = "category"
    """Word for the domain's kind in the params."""
    number_type: ClassVar[str | None] = None
    """The same as a target has it, which is a category where it has none."""
    values: tuple[str, ...]
    """The categories, in order."""
    has_missing: bool = False
    """True when a value may be missing."""
    texts_alone: bool = field(default=False, compare=False, repr=False)
    """True when 1 and 1.0 are different categories; it matters where cells of a source are read, and there alone."""
    are_truth_values: bool = False
    """True when the categories are `TRUTH_VALUES`, and released cells are booleans."""

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) != len(self.values):
            raise ParameterError("categories must be distinct and at least one")
        if self.are_truth_values and self.values != TRUTH_VALUES:
            raise ParameterError("truth values are false and true")

    @property
    def size(self) -> int:
        """Number of codes, missing included."""
        return len(self.values) + self.has_missing

    @property
    def codes_of(self) -> dict[str | None, int]:
        """Code of each category, and of None when missing is one of them."""
        known: dict[str | None, int] = {value: code for code, value in enumerate(self.values)}
        return {**known, None: len(self.values)} if self.has_missing else known

    def labels(self) -> list[str | None]:
        """Return the category of each code, None for missing."""
        return [*self.values, *([None] if self.has_missing else [])]

    def decode(self, codes: Codes) -> NDArray[np.object_]:
        """Return the category of each code, None for missing, shape (n,)."""
        return np.array(self.labels(), dtype=object)[codes]


@dataclass(frozen=True, kw_only=True)
class Grid(
    ParamsPart,
    keys=("bounds", "cells", "step?=values.stated_step", "spikes?=own_cells", "bins", "has_missing"),
    made_by="within",
    damage="a grid must have bounds, cells and has_missing",
):
    """Equal cells over public bounds; missing, when it can occur, is one more code after the last cell.

    A value outside the bounds counts as the nearest bound. Where the column holds multiples of a step, such as
    integers, cells end halfway between two of them and a cell is shown as one of its own values.
    """

    type: ClassVar[str] = "number"
    """Word for the domain's kind in the params."""
    lower: float
    """Lower bound, in the unit of the attribute."""
    upper: float
    """Upper bound, in the unit of the attribute."""
    cells: int
    """Number of equal cells."""
    has_missing: bool = False
    """True when a value may be missing."""
    values: WholeValues | None = None
    """The multiples of a step that the column holds; None for any numbers."""
    beyond: int = 0
    """Of these: half cells added below the first and above the last value, so many each (`widened`)."""
    bins: int = field(default=0, metadata=left_out())
    """Number of equal cells that single values divide; 0 where no value is a cell of its own."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower < self.upper):
            raise ParameterError("bounds must be two finite numbers [low, high] with low < high")
        if self.cells < 1:
            raise ParameterError(f"cells ({self.cells}) must be at least 1")
        if self.values is not None and not self.beyond and self.values.bounds != (self.lower, self.upper):
            raise ParameterError("the bounds of a column of multiples must be the first and the last of them")
        if self.values is not None and self.cells - self.beyond > self.values.size:
            raise ParameterError("a column of multiples has no more cells than there are of them")
        odd = bool(self.bins) != (self.values is not None and bool(self.values.spikes)) or self.bins < 0
        if self.values is not None and self.bins and not odd:
            odd = self.bins > self.values.size or self.beyond > 0 or self.cells != self.values.cells_of(self.bins)
        if odd:
            raise ParameterError("cells of single values divide so many equal ones")

    @classmethod
    def over(cls, bounds: tuple[float, float], cells: int, *, has_missing: bool, values: WholeValues | None) -> Grid:
        """Return equal cells over bounds, or over the multiples within them; spikes among these divide them further."""
        lower, upper = bounds if values is None else values.bounds
        if values is not None and values.spikes:
            own = values.cells_of(cells)
            return cls(lower=lower, upper=upper, cells=own, has_missing=has_missing, values=values, bins=cells)
        return cls(lower=lower, upper=upper, cells=cells, has_missing=has_missing, values=values)

    @classmethod
    def within(
        cls,
        *,
        bounds: tuple[float, float],
        cells: int,
        has_missing: bool,
        step: float | None = None,
        spikes: tuple[float, ...] = (),
        bins: int = 0,
    ) -> Self:
        """Return the cells that the params state: over bounds, of the multiples of a step where there is one."""
        lower, upper = float(bounds[0]), float(bounds[1])
        values = None if step is None else WholeValues.within(lower, upper, step, spikes)
        return cls(lower=lower, upper=upper, cells=cells, has_missing=has_missing, values=values, bins=bins)

    @property
    def own_cells(self) -> tuple[float, ...] | None:
        """The values that are cells of their own, in the unit of the attribute; None where there are none."""
        return self.values.own_cells if self.values is not None and self.bins else None

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound, in the unit of the attribute."""
        return self.lower, self.upper

    @property
    def size(self) -> int:
        """Number of codes, missing included."""
        return self.cells + self.has_missing

    @property
    def _equal(self) -> int:
        """Number of equal cells within the bounds, before single values divide them."""
        return self.bins or self.cells - self.beyond

    @property
    def width(self) -> float:
        """Width of a cell, in the unit of the attribute; of multiples on average, single values apart."""
        if self.values is not None:
            return float(self.values.width(self._equal) * self.values.step)
        return (self.upper - self.lower) / self.cells

    @property
    def are_integers(self) -> bool:
        """True when every cell is shown as an integer, because the column holds integers."""
        return self.values is not None and self.values.are_integers

    def midpoints(self) -> FloatArray:
        """Return the representative number of each cell, its middle or of multiples a middle one, shape (cells,)."""
        if self.values is not None:
            return self.values.shown(self._equal, self.beyond)
        return np.asarray(self.lower + (np.arange(self.cells) + 0.5) * self.width, dtype=np.float64)

    def edges(self) -> FloatArray:
        """Return the ends of the cells, shape (cells + 1,); a number at one of them is in the upper cell."""
        if self.values is not None:
            return self.values.edges(self._equal, self.beyond)
        return np.asarray(np.linspace(self.lower, self.upper, self.cells + 1), dtype=np.float64)

    def encode(self, values: FloatArray) -> NDArray[np.int32]:
        """Return the cell of each value; NaN is the code after the last cell.

        Raises
        ------
        ParameterError
            When values are missing and the domain has no missing; the message counts them.
        """
        numbers = np.asarray(values, dtype=np.float64)
        absent = np.isnan(numbers)
        if absent.any() and not self.has_missing:
            raise ParameterError(
                f"{int(absent.sum())} of {numbers.size} values are missing but the domain has no missing",
                "declare that values may be missing: absence is then randomized too",
            )
        filled = np.where(absent, self.lower, numbers)
        if self.values is not None:
            codes: NDArray[np.int32] = np.searchsorted(self.edges()[1:-1], filled, side="right").astype(np.int32)
        else:
            codes = np.clip((filled - self.lower) / self.width, 0, self.cells - 1).astype(np.int32)
        codes[absent] = self.cells
        return codes

    def decode(self, codes: Codes) -> FloatArray:
        """Return the representative number of each cell, NaN for missing, shape (n,)."""
        return np.append(self.midpoints(), np.nan)[codes]

    def widened(self, band: int) -> Grid:
        """Return the grid of a band response's positions: each is at the middle of its band."""
        beyond = band - 1
        if self.values is not None:
            ends = self.values.edges(self.cells, beyond)
            lower, upper = float(ends[0]), float(ends[-1])
            return replace(self, lower=lower, upper=upper, cells=self.cells + beyond, beyond=beyond)
        margin = beyond / 2 * self.width
        return replace(self, lower=self.lower - margin, upper=self.upper + margin, cells=self.cells + beyond)

    def finer(self, parts: int) -> Grid:
        """Return the grid in which each cell has so many parts; of multiples no more cells than there are."""
        if self.bins and self.values is not None:
            bins = min(self.bins * parts, self.values.size)
            return replace(self, cells=self.values.cells_of(bins), bins=bins)
        cells = self.cells * parts
        return replace(self, cells=cells if self.values is None else min(cells, self.values.size))


@dataclass(frozen=True, kw_only=True)
class NumberBins(
    Categories,
    keys=("**grid", "ends?=joined.ends", "means?=joined.means"),
    made_by="stated",
    damage="the bins of a number must have ends and means",
):
    """The classes of a numeric target: bins, named by their intervals; missing, where it can occur, is one more.

    Raises
    ------
    ParameterError
        The bins are not runs of all cells of the grid, in order, or their number differs from that of the means.
    """

    type: ClassVar[str] = "number"
    number_type: ClassVar[str | None] = "number"
    grid: Grid
    """The public grid of the numbers, as they are released."""
    ends: tuple[int, ...]
    """For each bin the cell after its last one, ascending; the last is the number of cells."""
    means: tuple[float, ...]
    """The representative number of each bin, in the unit of the target."""

    def __post_init__(self) -> None:
        super().__post_init__()
        ascending = all(low < high for low, high in zip((0, *self.ends), self.ends, strict=False))
        if not ascending or not self.ends or self.ends[-1] != self.grid.cells:
            raise ParameterError("the bins of a number must be runs of all cells of its grid")
        if not len(self.ends) == len(self.means) == len(self.values) or self.has_missing != self.grid.has_missing:
            raise ParameterError("the bins of a number, their names and their means must be as many")

    @classmethod
    def of(cls, grid: Grid, ends: Sequence[int], means: Sequence[float] | None = None) -> Self:
        """Return the bins that end at these cells, named by their intervals; without means the middles represent them.

        Parameters
        ----------
        grid : Grid
        ends : sequence of int
        means : sequence of float, optional
        """
        places = tuple(int(end) for end in ends)
        starts = (0, *places[:-1])
        middles = (_edges(grid, starts) + _edges(grid, places)) / 2
        if grid.values is not None:
            shown = grid.midpoints()
            middles = np.array([shown[first:last].mean() for first, last in zip(starts, places, strict=True)])
        return cls(
            values=tuple(interval_names([float(edge) for edge in _edges(grid, (0, *places))])),
            has_missing=grid.has_missing,
            grid=grid,
            ends=places,
            means=tuple(float(mean) for mean in (middles if means is None else means)),
        )

    @classmethod
    def equal(cls, grid: Grid) -> Self:
        """Return the cells of a grid, each a bin of its own."""
        return cls.of(grid, range(1, grid.cells + 1))

    @classmethod
    def stated(cls, *, grid: Grid, ends: tuple[int, ...] | None = None, means: tuple[float, ...] | None = None) -> Self:
        """Return the bins that the params state: the cells of the grid, or runs of them by their ends and means."""
        if (ends is None) != (means is None):
            raise ParameterError("the bins of a number have both ends and means")
        return cls.equal(grid) if ends is None else cls.of(grid, ends, means)

    @property
    def joined(self) -> NumberBins | None:
        """The same bins where some have several cells, else None."""
        return None if self.are_cells else self

    @property
    def are_cells(self) -> bool:
        """True when each bin is one cell of the grid: a code is then a code of the grid."""
        return len(self.ends) == self.grid.cells

    def bins_of_cells(self, cells: Codes) -> IntArray:
        """Return the bin of each cell of the grid, missing as the last code, shape (n,)."""
        bins = np.searchsorted(np.array(self.ends), cells, side="right").astype(np.int64)
        return np.minimum(bins, len(self.ends))

    def bins_of(self, numbers: FloatArray) -> IntArray:
        """Return the bin of each number, shape (n,).

        A number beyond the bounds counts as the nearest bound; NaN is missing where the domain has it, else `UNKNOWN`.
        """
        absent = np.isnan(numbers)
        inside = np.clip(np.where(absent, self.grid.lower, numbers), self.grid.lower, self.grid.upper)
        bins = self.bins_of_cells(self.grid.encode(inside))
        return np.where(absent, len(self.ends) if self.has_missing else UNKNOWN, bins)

    def mean_of(self, shares: FloatArray) -> FloatArray:
        """Return the mean of distributions over the bins, shape (n,); missing says nothing of a number.

        Parameters
        ----------
        shares : float array, shape (n, size)
            Not below 0. Rows without a positive share of a bin get the mean of the means.
        """
        of_bins = shares[:, : len(self.ends)]
        total = of_bins.sum(axis=1, keepdims=True)
        even = np.full_like(of_bins, 1 / len(self.ends))
        return np.asarray(np.where(total > 0, of_bins / np.where(total > 0, total, 1.0), even) @ np.array(self.means))


@dataclass(frozen=True, kw_only=True)
class DeclaredColumn(ParamsPart, keys=("name", "type=domain.type", "domain")):
    """A column and its public domain."""

    name: str
    domain: Categories | Grid


@dataclass(frozen=True, kw_only=True)
class DeclaredTarget(ParamsPart, keys=("name", "type?=domain.number_type", "domain")):
    """A target and its classes: categories, or the bins of its numbers."""

    name: str
    domain: Categories | NumberBins


def shown_classes(classes: Categories) -> Categories | Grid:
    """Return the domain of the released cells of a target: of a number its grid, else its categories."""
    return classes.grid if isinstance(classes, NumberBins) else classes


def notes_on_bins(target: str, classes: Categories) -> tuple[str, ...]:
    """Return the owner's note on a target of numbers: that bins take the place of classes; else nothing.

    Privacy
    -------
    The bins are public, or follow from noisy counts.
    """
    if not isinstance(classes, NumberBins):
        return ()
    kind = "equal bins of its bounds" if classes.are_cells else "bins that a noisy histogram of it gave"
    return (
        f"The target {target!r} is a number to predict: {len(classes.ends)} {kind} take the place of classes, and what "
        "is learned from the release predicts means.",
    )


def named_classes(classes: Categories) -> Categories:
    """Return the classes of a target by name: of a number the intervals of its bins, as categories."""
    if not isinstance(classes, NumberBins):
        return classes
    return Categories(values=classes.values, has_missing=classes.has_missing)


def interval_names(edges: Sequence[float]) -> list[str]:
    """Return the names of the intervals between edges; the last one is closed."""
    last = len(edges) - 2
    return [f"[{low:.15g}, {high:.15g}{']' if at == last else ')'}" for at, (low, high) in enumerate(pairwise(edges))]


def _edges(grid: Grid, places: Sequence[int]) -> FloatArray:
    at: NDArray[np.int64] = np.array(places, dtype=np.int64)
    return np.asarray(grid.edges()[at])
