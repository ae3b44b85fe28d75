# SPDX-License-Identifier: Apache-2.0
"""Published aggregates: what was measured with noise, which tables are made of it, and their layout in the params.

A measurement is one draw of noise on one table of sums over rows; several published tables may be read off one of them.

The figures of published aggregates: values with intervals, one line a group and statistic, from noisy measurements.

Post-processing of what was measured with noise: it costs no privacy, and a receiver can do it again from the params.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import DeclaredColumn, Grid, interval_names
from anonkit.domains.rounding_grid import RoundingGrid, WholeValues
from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.published.noise_intervals import count_margin, margin, ratio_bounds, scale_of

FORMAT = "anonkit-aggregates-1"
OTHER = "other or missing"
"""Name of a group whose cells are missing or outside the declared domain."""


class Statistic(StrEnum):
    """The statistic that a table publishes."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    QUANTILE = "quantile"


class MeasuredQuantity(StrEnum):
    """The quantity that a measurement adds up over the rows of a cell."""

    COUNTS = "counts"
    """One for each row."""
    SUM = "sum"
    """The number, in steps of its grid."""
    HALVES = "halves"
    """The steps from the first place of the grid to the number, and apart from it those from there to the last place.

    Together they are as many steps as the grid has for each row, whatever its number: one draw of that sensitivity
    gives sum, count and mean, with half the variance of two draws of half the budget each."""
    POINTS = "points"
    """One for each row, at the place of its number on a coarse grid: a histogram."""

    @property
    def parts(self) -> int:
        """Numbers that a cell has, unless these are the places of a grid."""
        return 2 if self is MeasuredQuantity.HALVES else 1


@dataclass(frozen=True, kw_only=True)
class GroupColumn(DeclaredColumn):
    """A column by which tables are divided, and its public domain; numbers in equal bins."""

    @property
    def labels(self) -> list[str]:
        """Name of each code, as the table has it."""
        if isinstance(self.domain, Grid):
            named = interval_names([float(edge) for edge in self.domain.edges()])
        else:
            named = list(self.domain.values)
        return [*named, *([OTHER] if self.domain.has_missing else [])]


@dataclass(frozen=True, kw_only=True)
class AddedColumn(ParamsPart, keys=("name", "bounds", "step?=values.stated_step", "has_missing"), made_by="within"):
    """A number that is added up or whose quantiles are published, within public bounds."""

    name: str
    bounds: tuple[float, float]
    """Numbers beyond them count as the nearest."""
    has_missing: bool
    """True where a row without the number is in none of its sums; else it counts as the lower bound."""
    values: WholeValues | None = None
    """The multiples of a step that it holds, such as integers; None: any numbers."""

    @classmethod
    def within(cls, *, name: str, bounds: tuple[float, float], has_missing: bool, step: float | None = None) -> Self:
        """Return the column that the params state: of the multiples of a step where there is one."""
        low, high = float(bounds[0]), float(bounds[1])
        values = None if step is None else WholeValues.within(low, high, step)
        return cls(name=name, bounds=(low, high), has_missing=has_missing, values=values)


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement(ParamsPart, keys=("kind", "by=by_names", "of", "grid", "rate", "values")):
    """One noisy table of sums over rows.

    Raises
    ------
    ParameterError
        The values do not fit the columns, or the rate is not positive.
    """

    kind: MeasuredQuantity
    by: tuple[GroupColumn, ...]
    of: str | None
    """The column that is added up or counted at its places; None for counts."""
    grid: RoundingGrid | None
    """Of that column."""
    rate: int
    """Of the noise, in units of 2**-52."""
    values: IntArray
    """With noise, shape (n_cells, parts): of points the places of the grid."""

    def __post_init__(self) -> None:
        if self.values.shape != (self.cells, parts_of(self.kind, self.grid)) or self.rate < 1:
            raise ParameterError("a noisy table does not fit its columns, or its rate is not positive")

    @property
    def cells(self) -> int:
        """Number of groups."""
        return math.prod(column.domain.size for column in self.by)

    def summed_to(self, names: Sequence[str]) -> IntArray:
        """Return the values by fewer columns, in the order given, added up over the others; shape (n_cells, parts)."""
        own = [column.name for column in self.by]
        shaped = self.values.reshape(*(column.domain.size for column in self.by), -1)
        own_axes = [own.index(name) for name in names]
        rest = tuple(at for at in range(len(own)) if at not in own_axes)
        summed = (
            np.moveaxis(shaped, own_axes, range(len(own_axes)))
            if not rest
            else shaped.transpose(*own_axes, *rest, len(own))
        )
        added = summed.sum(axis=tuple(range(len(own_axes), len(own)))) if rest else summed
        return np.asarray(added, dtype=np.int64).reshape(-1, self.values.shape[1])

    def draws_of(self, names: Sequence[str]) -> int:
        """Return the number of cells that are added up to one of fewer columns."""
        return math.prod(column.domain.size for column in self.by if column.name not in names)

    @property
    def by_names(self) -> tuple[str, ...]:
        """The columns by which it is divided, by name."""
        return tuple(column.name for column in self.by)


def parts_of(kind: MeasuredQuantity, grid: RoundingGrid | None) -> int:
    """Return the number of numbers in a cell of a measurement."""
    return grid.places if kind is MeasuredQuantity.POINTS and grid is not None else kind.parts


@dataclass(frozen=True, kw_only=True)
class AggregateTable(ParamsPart):
    """One published table."""

    name: str
    statistic: Statistic
    by: tuple[str, ...]
    of: str | None
    levels: tuple[Fraction, ...] = ()
    """Of quantiles, ascending, in (0, 1)."""
    weight: float = 1.0
    """Relative share of the budget, against 1 for other tables of its size."""
    measured: int = 0
    """Number of the measurement that it is read off."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Aggregates(
    ParamsPart,
    keys=("format", "groups=columns", "numbers", "measurements", "tables"),
    made_by="of_params",
    damage="the aggregates lack a key or have one of the wrong kind",
):
    """The tables of a release and the noisy measurements that they are made of."""

    format: ClassVar[str] = FORMAT
    format_hint: ClassVar[str] = "that is written by method dp-tables"
    columns: tuple[GroupColumn, ...]
    """All columns by which tables are divided, sorted by name."""
    numbers: tuple[AddedColumn, ...]
    """All columns that are added up, sorted by name."""
    measurements: tuple[Measurement, ...]
    tables: tuple[AggregateTable, ...]
    confidence: float
    """Of each interval by itself, over the noise, in (0, 1)."""

    def group_names(self, table: AggregateTable) -> Iterator[tuple[str, ...]]:
        """Yield the names of each group of a table, in the order of its cells."""
        return itertools.product(*(self._columns[name].labels for name in table.by))

    @cached_property
    def _columns(self) -> dict[str, GroupColumn]:
        return {column.name: column for column in self.columns}

    @classmethod
    def of_params(
        cls,
        *,
        groups: tuple[GroupColumn, ...],
        numbers: tuple[AddedColumn, ...],
        measurements: tuple[Mapping[str, Any], ...],
        tables: tuple[AggregateTable, ...],
        parameters: Mapping[str, Any],
    ) -> Self:
        """Return the aggregates that the params state; a measurement names its columns."""
        columns = {column.name: column for column in groups}
        return cls(
            columns=groups,
            numbers=numbers,
            measurements=tuple(_measurement(each, columns) for each in measurements),
            tables=tables,
            confidence=int(parameters["confidence"]) / 100,
        )


def _measurement(params: Mapping[str, Any], columns: Mapping[str, GroupColumn]) -> Measurement:
    return Measurement(
        kind=MeasuredQuantity(params["kind"]),
        by=tuple(columns[name] for name in params["by"]),
        of=params["of"],
        grid=None if params["grid"] is None else RoundingGrid.from_params(params["grid"]),
        rate=int(params["rate"]),
        values=np.array(params["values"], dtype=np.int64),
    )


_GROWTH = 1.2
"""Margins of ranks are computed at places this factor apart from either end of a grid; those between take the larger
of two."""


@dataclass(frozen=True, kw_only=True)
class AggregateFigure:
    """One line of a tidy table."""

    table: str
    groups: dict[str, str]
    """Name of the group in each column by which the table is divided."""
    of: str | None
    statistic: str
    value: float | None
    """None where noise leaves no value: the mean, or a quantile, of an empty count."""
    low: float
    high: float


def figures(aggregates: Aggregates) -> Iterator[AggregateFigure]:
    """Yield every line of the tables, group after group.

    Parameters
    ----------
    aggregates : Aggregates
    """
    for table in aggregates.tables:
        measured = aggregates.measurements[table.measured]
        values, draws = measured.summed_to(table.by), measured.draws_of(table.by)
        lines = _lines_of(table, measured, draws, aggregates.confidence)
        for names, own in zip(aggregates.group_names(table), values, strict=True):
            for statistic, value, low, high in lines(own):
                yield AggregateFigure(
                    table=table.name,
                    groups=dict(zip(table.by, names, strict=True)),
                    of=table.of,
                    statistic=statistic,
                    value=value,
                    low=low,
                    high=high,
                )


_Line = tuple[str, float | None, float, float]


class _Lines(ABC):
    """The lines of one cell of a table, from its noisy numbers."""

    def __init__(self, table: AggregateTable, measured: Measurement, draws: int, confidence: float) -> None:
        self.table, self.measured, self.draws = table, measured, draws
        self.confidence, self.chance = confidence, 1 - confidence
        self.scale = scale_of(measured.rate)

    @abstractmethod
    def __call__(self, own: IntArray) -> Iterator[_Line]:
        """Yield the lines."""

    @property
    def grid(self) -> RoundingGrid:
        """The grid of the column that is added up."""
        if self.measured.grid is None:
            raise ReleaseFormatError("a noisy table of numbers has no grid")
        return self.measured.grid


class _Counts(_Lines):
    def __call__(self, own: IntArray) -> Iterator[_Line]:
        (count,), far = own.tolist(), count_margin(self.measured.rate, self.draws, self.confidence)
        yield "count", float(count), float(count - far), float(count + far)


class _SumLines(_Lines):
    def __call__(self, own: IntArray) -> Iterator[_Line]:
        (total,), far = own.tolist(), count_margin(self.measured.rate, self.draws, self.confidence)
        number = self.grid.number
        yield "sum", number(total), number(total - far), number(total + far)


class _Halves(_Lines):
    def __call__(self, own: IntArray) -> Iterator[_Line]:
        below, above = own.tolist()
        lines = [self._sum(below, above)]
        if self.table.statistic is Statistic.MEAN:
            lines = [self._count(below, above), *lines, self._mean(below, above)]
        for statistic, value, low, high in lines:
            # ten digits: the last bits of a margin differ from machine to machine, and mean nothing
            yield statistic, value, float(f"{low:.10g}"), float(f"{high:.10g}")

    def _count(self, below: int, above: int) -> _Line:
        count = (below + above) / self.grid.steps
        far = self.scale / self.grid.steps * margin(((1.0, 2 * self.draws),), self.chance)
        return "count", count, count - far, count + far

    def _sum(self, below: int, above: int) -> _Line:
        grid = self.grid
        total = (below * grid.high + above * grid.low) / grid.steps
        weights = tuple(sorted((abs(grid.low) / grid.steps, abs(grid.high) / grid.steps)))
        far = self.scale * margin(tuple((weight, self.draws) for weight in weights), self.chance)
        return "sum", grid.number(total), grid.number(total - far), grid.number(total + far)

    def _mean(self, below: int, above: int) -> _Line:
        grid = self.grid

        def at(share: float) -> float:
            return grid.number(grid.low + grid.steps * share)

        low, high = ratio_bounds(below, above, self.draws, self.scale, self.chance)
        value = None if below + above <= 0 else at(min(max(below / (below + above), 0.0), 1.0))
        return "mean", value, at(low), at(high)


class _Points(_Lines):
    def __call__(self, own: IntArray) -> Iterator[_Line]:
        reached, places = np.cumsum(own), len(own)
        total = int(reached[-1])
        for level in self.table.levels:
            # rows up to each place beyond the share of all rows: an exact integer, times the denominator
            ahead = reached * level.denominator - total * level.numerator
            first = int(np.argmax(ahead >= 0)) if total > 0 else None
            far = self._margins(level, places) * level.denominator
            # the quantile is the first place at which the true rows reach the level: there they do, before they do not
            fits = (ahead >= -far) & (np.append(-np.inf, ahead[:-1]) <= np.append(0.0, far[:-1]))
            inside = np.flatnonzero(fits) if total > 0 and fits.any() else np.array([0, places - 1])
            low = int(inside[0]) if first is None else min(first, int(inside[0]))
            high = int(inside[-1]) if first is None else max(first, int(inside[-1]))
            value = None if first is None else self._number(first)
            yield f"quantile {float(level):g}", value, self._number(low), self._number(high)

    def _number(self, place: int) -> float:
        return self.grid.number(self.grid.low + place)

    def _margins(self, level: Fraction, places: int) -> FloatArray:
        """Return the largest shift by noise, one way, of the rows up to each place from the share of all rows."""
        share = float(level)
        # between two places the margin of the one with more of the heavier weight is the larger (Birnbaum 1948)
        nodes = _nodes(places)
        found = [
            margin((((1 - share), (at + 1) * self.draws), (share, (places - 1 - at) * self.draws)), self.chance)
            for at in nodes
        ]
        at, ends = np.arange(places), np.array(nodes)
        up = np.minimum(np.searchsorted(ends, at, side="left"), len(ends) - 1)
        down = np.maximum(np.searchsorted(ends, at, side="right") - 1, 0)
        return np.asarray(self.scale * np.maximum(np.array(found)[up], np.array(found)[down]), dtype=np.float64)


def _nodes(places: int) -> list[int]:
    """Return places near each other at both ends of a grid, the ends among them, ascending."""
    steps, at = {0}, 1.0
    while at < places:
        steps.add(math.floor(at))
        at *= _GROWTH
    return sorted({*steps, *(places - 1 - step for step in steps)})


def _lines_of(table: AggregateTable, measured: Measurement, draws: int, confidence: float) -> _Lines:
    kinds: dict[MeasuredQuantity, type[_Lines]] = {
        MeasuredQuantity.COUNTS: _Counts,
        MeasuredQuantity.SUM: _SumLines,
        MeasuredQuantity.HALVES: _Halves,
        MeasuredQuantity.POINTS: _Points,
    }
    return kinds[measured.kind](table, measured, draws, confidence)
