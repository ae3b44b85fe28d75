# SPDX-License-Identifier: Apache-2.0
"""Centroids of groups of rows: what each group shows, and the centroid that is nearest to a row.

Rows are compared with the centroids of their own combination of categories alone. Distances are Euclidean, on columns
divided by a published scale; a mean that is withheld counts as the published middle of its column.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.documents import ReportPart
from anonkit.domains.coded_columns import combine
from anonkit.domains.domain_codes import cell_numbers, cell_texts
from anonkit.published.recoding.axes import UNKNOWN

FloatArray = NDArray[np.float64]
Cells = tuple[Any, ...]
RULES = {"digits": 2, "p_percent": 10, "dominance": 80}
"""Rules of the means: digits that their unit leaves of a standard deviation, and by which one is withheld."""

_FAR = 1e6
"""Numbers farther from the middle count as that far: distances from any two centroids are different doubles."""


@dataclass(frozen=True, kw_only=True)
class Centroids(
    ReportPart,
    keys=("rows", "rules", "scale=stated_scale", "columns", "missing?=stated_missing"),
    made_by="of_columns",
):
    """The combinations that groups of rows show, one entry a group: categories as strings, means as numbers."""

    rules: ClassVar[Mapping[str, int]] = RULES
    categories: tuple[tuple[str, Cells], ...]
    """Of each column without means: the string of every group, None for missing."""
    means: tuple[tuple[str, Cells], ...]
    """Of each column with means: the mean of every group, None where its rows have no number or it is withheld."""
    scale: tuple[tuple[float, float], ...]
    """Of each column with means: its middle, and what distances are divided by; 0 where it does not count."""
    missing: tuple[tuple[str, frozenset[int]], ...] = ()
    """Of columns with means: the groups whose rows have no number."""
    nearest_alone: bool = False
    """True where every row of the release shows the centroid nearest to it; else rows were grouped, and the groups do
    not follow from the centroids."""

    @property
    def size(self) -> int:
        """Number of centroids."""
        return len(self.means[0][1])

    def at(self, which: Iterable[int], *, nearest_alone: bool | None = None) -> Centroids:
        """Return some of the centroids, in their order."""
        places = list(which)
        again = {old: new for new, old in enumerate(places)}
        return Centroids(
            categories=tuple((name, tuple(cells[at] for at in places)) for name, cells in self.categories),
            means=tuple((name, tuple(cells[at] for at in places)) for name, cells in self.means),
            scale=self.scale,
            missing=tuple((name, frozenset(again[at] for at in lost if at in again)) for name, lost in self.missing),
            nearest_alone=self.nearest_alone if nearest_alone is None else nearest_alone,
        )

    def taken(self, name: str, at: NDArray[np.int64]) -> pa.Array:
        """Return the means of the centroids at some places; missing at `UNKNOWN`."""
        means = dict(self.means)[name]
        return pa.array([*means, None], pa.float64()).take(pa.array(np.where(at == UNKNOWN, len(means), at)))

    def nearest(self, shown: Mapping[str, pa.Array], numbers: Mapping[str, pa.Array]) -> NDArray[np.int64]:
        """Return the place of the centroid nearest to each row, `UNKNOWN` where its combination has none.

        Parameters
        ----------
        shown : mapping of column name to array of length n_rows
            Columns without means, as they are released.
        numbers : mapping of column name to array of length n_rows
            Numbers of the rows, of which means are shown.
        """
        from scipy.spatial import cKDTree  # not before it is needed

        points = np.column_stack([cell_numbers(numbers[name]) for name, _ in self.means])
        strata, n_centroids = self._strata([cell_texts(shown[name]) for name, _ in self.categories], points)
        own, rows = strata[:n_centroids], strata[n_centroids:]
        scaled = self._scaled(np.where(np.isfinite(points), points, np.nan))
        nearest = np.full(rows.size, UNKNOWN, np.int64)
        by_stratum, order = np.argsort(own, kind="stable"), np.argsort(rows, kind="stable")
        ends = np.searchsorted(rows[order], np.arange(int(strata.max(initial=0)) + 2))
        own_ends = np.searchsorted(own[by_stratum], np.arange(ends.size))
        for number in np.unique(own).tolist():
            mine = order[ends[number] : ends[number + 1]]
            places = by_stratum[own_ends[number] : own_ends[number + 1]]
            if mine.size:
                nearest[mine] = places[cKDTree(self._places[places]).query(scaled[mine])[1]]
        nearest[np.isinf(points).any(axis=1)] = UNKNOWN
        return nearest

    def _strata(self, texts: Sequence[pa.Array], points: FloatArray) -> tuple[NDArray[np.int64], int]:
        """Return the combination of categories, and of missing numbers, of each centroid and then of each row."""
        codes = []
        for (_, cells), array in zip(self.categories, texts, strict=True):
            known = pa.array(list(dict.fromkeys(cells)), pa.string())
            for each in (pa.array(cells, pa.string()), array):
                codes.append(
                    pc.fill_null(pc.index_in(each, value_set=known), len(known)).to_numpy(zero_copy_only=False)
                )
        lost = dict(self.missing)
        for at, (name, cells) in enumerate(self.means):
            gone = np.zeros(len(cells), bool)
            gone[list(lost.get(name, ()))] = True
            codes += [gone.astype(np.int64), np.isnan(points[:, at]).astype(np.int64)]
        both = [np.concatenate(pair).astype(np.int64) for pair in zip(codes[::2], codes[1::2], strict=True)]
        return combine(both, self.size + len(points))[0], self.size

    @cached_property
    def _numbers(self) -> FloatArray:
        """Means of every centroid, NaN where there is none, shape (size, n_columns)."""
        return np.column_stack([np.array(cells, np.float64) for _, cells in self.means])

    @cached_property
    def _places(self) -> FloatArray:
        return self._scaled(self._numbers)

    def _scaled(self, numbers: FloatArray) -> FloatArray:
        """Return numbers in units of the scale from the middle; 0 for none."""
        middle, scale = np.array(self.scale).T
        with np.errstate(divide="ignore", over="ignore"):
            inverse = np.where(scale > 0, 1 / scale, 0.0)
            scaled = np.nan_to_num((numbers - middle) * inverse, nan=0.0)
        return np.asarray(np.clip(scaled, -_FAR, _FAR), np.float64)

    @property
    def rows(self) -> str:
        """Word for how rows were put to their centroids."""
        return "nearest" if self.nearest_alone else "grouped"

    @property
    def columns(self) -> Mapping[str, Cells]:
        """Cells of every group, by column."""
        return dict((*self.categories, *self.means))

    @property
    def stated_scale(self) -> Mapping[str, tuple[float, float]]:
        """Middle and scale of each column with means."""
        return {name: own for (name, _), own in zip(self.means, self.scale, strict=True)}

    @property
    def stated_missing(self) -> Mapping[str, frozenset[int]] | None:
        """The groups without a number of each column that has any; None where no column has."""
        return {name: places for name, places in self.missing if places} or None

    @classmethod
    def of_columns(
        cls,
        *,
        rows: str,
        scale: Mapping[str, tuple[float, float]],
        columns: Mapping[str, tuple[Any, ...]],
        missing: Mapping[str, frozenset[int]] | None = None,
    ) -> Self:
        """Return the centroids that `params.json` states: columns with a scale show means.

        Raises
        ------
        ValueError, LookupError, TypeError
            They contradict each other.
        """
        lost = missing or {}
        if len({len(cells) for cells in columns.values()}) != 1 or rows not in ("nearest", "grouped"):
            raise ValueError("centroids")
        for name, cells in columns.items():
            if not all(
                cell is None or (_is_number(cell) if name in scale else isinstance(cell, str)) for cell in cells
            ):
                raise ValueError("centroids")
        if any(not 0 <= own[1] < math.inf for own in scale.values()):
            raise ValueError("scale")
        for name, places in lost.items():
            if name not in scale or any(columns[name][at] is not None for at in places):
                raise ValueError("missing")
        return cls(
            categories=tuple((name, cells) for name, cells in columns.items() if name not in scale),
            means=tuple((name, columns[name]) for name in scale),
            scale=tuple(scale.values()),
            missing=tuple(lost.items()),
            nearest_alone=rows == "nearest",
        )


def _is_number(cell: object) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool) and math.isfinite(cell)
