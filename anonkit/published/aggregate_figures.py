# SPDX-License-Identifier: Apache-2.0
"""The figures of published aggregates: values with intervals, one line a group and statistic, from noisy measurements.

Post-processing of what was measured with noise: it costs no privacy, and a receiver can do it again from the params.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.domains.rounding_grid import RoundingGrid
from anonkit.errors import ReleaseFormatError
from anonkit.published.aggregates import Aggregates, AggregateTable, MeasuredQuantity, Measurement, Statistic
from anonkit.published.noise_intervals import count_margin, margin, ratio_bounds, scale_of

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
        """Return how far noise may carry the rows up to each place from the share of all rows, either way at a time."""
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
