# SPDX-License-Identifier: Apache-2.0
"""Bins of a numeric target: runs of cells of a public grid, which a method counts as it counts classes.

Methods that count classes thereby work on numbers without a line of their own, with the same sensitivities: a row has
one bin as it has one class. Each bin has a representative number, so that shares of bins are a mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import Codes, FloatArray, IntArray
from anonkit.domains.attribute_domains import UNKNOWN, Categories, Grid
from anonkit.errors import ParameterError, refusing_damage


@dataclass(frozen=True, kw_only=True)
class NumberBins(Categories):
    """The classes of a numeric target: bins, named by their intervals; missing, where it can occur, is one more.

    Raises
    ------
    ParameterError
        The bins are not runs of all cells of the grid, in order, or their number differs from that of the means.
    """

    type: ClassVar[str] = "number"
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

    def to_params(self) -> dict[str, Any]:
        """Return the domain, ready for JSON: the grid, and unless each cell is a bin their ends and means."""
        if self.are_cells:
            return self.grid.to_params()
        return {**self.grid.to_params(), "ends": list(self.ends), "means": list(self.means)}

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Rebuild the domain from `to_params()`."""
        grid = Grid.from_params(params)
        if "ends" not in params:
            return cls.equal(grid)
        with refusing_damage("the bins of a number must have ends and means", contradictions=True):
            return cls.of(grid, [int(end) for end in params["ends"]], [float(mean) for mean in params["means"]])


def classes_to_params(name: str, classes: Categories) -> dict[str, Any]:
    """Return a target in the form of the params: of numbers its type too, and the grid in place of categories."""
    kind = {"type": "number"} if isinstance(classes, NumberBins) else {}
    return {"name": name, **kind, "domain": classes.to_params()}


def classes_from_params(target: Mapping[str, Any]) -> Categories:
    """Return the classes of a target in the params: its categories, or the bins of its numbers."""
    kind = NumberBins if target.get("type") == "number" else Categories
    return kind.from_params(target["domain"])


def shown_classes(classes: Categories) -> Categories | Grid:
    """Return the domain of the released cells of a target: of a number its grid, else its categories."""
    return classes.grid if isinstance(classes, NumberBins) else classes


def notes_on_bins(target: str, classes: Categories) -> tuple[str, ...]:
    """Return what an owner should read of a target of numbers: that bins take the place of classes; else nothing.

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
