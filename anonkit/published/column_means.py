# SPDX-License-Identifier: Apache-2.0
"""Means of the columns of numbers, and shares of values, with intervals that published noisy counts leave.

A number is known by its cell alone. The true mean m of the counted numbers is one at which the sum of (low end of the
cell - m) over all rows is not above 0, and that of the high ends not below 0. Noise moves these sums by so much at most
with a stated chance, so the means that fit make the interval (after Fieller 1954).

Relation of a target to other columns, as published noisy tables show it beyond chance and the law of their noise.

Rows that are drawn from tables without such a relation predict the target hardly better than its commonest value, and a
reader has to know. Counts of independent columns are those of their margins, up to chance and noise: what is beyond
both shows a relation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import Categories, DeclaredColumn, DeclaredTarget, Grid, shown_classes
from anonkit.published.noise_intervals import gaussian_margin, margin, scale_of
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE

Table = tuple[IntArray | FloatArray, float]
"""Noisy counts of class by code, shape (classes, codes), and the variance of the noise of a cell."""
_BEYOND = 3.0
"""Standard deviations above the mean of a table without a relation from which on it shows one; of many tables more.

A convention: the largest of n tables is allowed sqrt(2 ln n) more.
"""
_LEAST = 1e-9
_SQUARE_VARIANCE = 5.0
"""Variance of the square of a standardised cell: of Laplace noise, the widest of those that are drawn."""


def excess(table: Table) -> float:
    """Return by how many standard deviations the counts of a table differ from those of independent columns.

    Parameters
    ----------
    table : pair of array and float
    """
    counts, variance = np.asarray(table[0], dtype=np.float64), table[1]
    if min(counts.shape) < 2:
        return -math.inf
    classes, codes = (_shares(counts.sum(axis=axis)) for axis in (1, 0))
    expected = np.outer(classes, codes) * max(float(counts.sum()), 0.0)
    squares = (counts - expected) ** 2 / np.maximum(expected + variance, _LEAST)
    return float((squares.sum() - counts.size) / math.sqrt(_SQUARE_VARIANCE * counts.size))


def _shares(counts: FloatArray) -> FloatArray:
    """Return noisy counts as shares, none below 0."""
    there = np.maximum(counts, 0.0)
    return np.asarray(there / max(float(there.sum()), _LEAST), dtype=np.float64)


def is_explained(tables: Iterable[Table]) -> bool:
    """Return True if one of the tables shows a relation that chance and noise would show in few releases."""
    found = [excess(table) for table in tables]
    return bool(found) and max(found) > _BEYOND + math.sqrt(2 * math.log(len(found)))


def notes_on_target(target: str | None, tables: Sequence[Table]) -> tuple[str, ...]:
    """Return the notes on a target that the released rows do not explain; none where they do.

    Parameters
    ----------
    target : str, optional
        None where none is declared.
    tables : sequence of (counts, variance)
        All published tables of the target with something else; none: it was measured with nothing.

    Privacy
    -------
    A function of what is published.
    """
    if target is None or is_explained(tables):
        return ()
    why = (
        "the noisy counts show no relation of it to another column that noise and chance would not show"
        if tables
        else "no table of it with another column was measured"
    )
    return (
        f"The rows explain nothing of the target {target!r}: {why}. A model learned from them predicts hardly more "
        "than its commonest value.",
    )


LEVEL = 0.95
"""Confidence of the intervals of a report, each by itself: a convention."""
CARRIED = 0.5
"""Width of an interval, in standard deviations of the column, up to which the rows carry the mean: a convention."""
_ROUNDS = 60
_NEAR = 1e-4
"""Share of the margin by which an end may be too far out."""
_NAMED = 5
"""Columns that a note names."""
_DIGITS = 3
"""Digits of the width to which ends are rounded, outward."""
_HISTOGRAMS, _OF_TARGET = "histograms by class", "values of the target"


@dataclass(frozen=True, kw_only=True)
class ColumnMean:
    """The mean of the numbers of a column, and between what it lies."""

    value: float
    """By the middles of the cells, in the unit of the column."""
    low: float
    high: float
    is_carried: bool
    """True where the interval is narrow enough for the mean of the rows to be that of the owner's table."""

    def rounded(self) -> ColumnMean:
        """Return it with three digits of its width or more, the ends rounded outward."""
        width = self.high - self.low
        digits = _DIGITS - math.floor(math.log10(width)) if width > 0 else 15
        unit = 10.0 ** -min(digits, 15)
        low, high = (math.floor(self.low / unit) * unit, math.ceil(self.high / unit) * unit)
        places = max(min(digits, 15), 0)
        return ColumnMean(
            value=round(round(self.value / unit) * unit, places),
            low=min(round(low, places), self.low),
            high=max(round(high, places), self.high),
            is_carried=self.is_carried,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnCounts:
    """Noisy counts of the values of a column, each a sum of as many draws of one law."""

    domain: Categories | Grid
    counts: IntArray
    """Rows by code, missing the last where it can occur, shape (codes,)."""
    draws: int
    rate: int
    """Of a draw, in units of 2**-52."""
    law: str = LAPLACE

    def mean(self, level: float = LEVEL) -> ColumnMean:
        """Return the mean of the numbers that are not missing.

        Numbers count as they were counted: beyond the bounds as the bound, between two multiples of a step as the next.

        Parameters
        ----------
        level : float
            Confidence of the interval, in (0, 1).
        """
        grid = self.domain
        if not isinstance(grid, Grid):
            raise TypeError("a column of categories has shares")
        low, high = _ends_of_cells(grid)
        counts, middles = self.counts[: grid.cells].astype(np.float64), grid.midpoints()
        first, last = float(low[0]), float(high[-1])
        least = max(self._end(counts, low, -1, level, first), first)
        most = min(self._end(counts, high, 1, level, last), last)
        total = float(counts.sum())
        shares = counts / total if total > 0 else np.full(grid.cells, 1 / grid.cells)
        value = float(shares @ middles)
        square = float(shares @ (middles - value) ** 2)  # below 0 where there is nothing but noise
        return ColumnMean(
            value=min(max(value, least), most),
            low=least,
            high=most,
            is_carried=most - least <= CARRIED * math.sqrt(max(square, 0.0)),
        )

    def shares(self, level: float = LEVEL) -> dict[str | None, tuple[float, float, float]]:
        """Return share, low end and high end of each category, None for missing, each by itself."""
        if not isinstance(self.domain, Categories):
            raise TypeError("a column of numbers has a mean")
        counts = self.counts.astype(np.float64)
        total = float(counts.sum())
        out: dict[str | None, tuple[float, float, float]] = {}
        for code, label in enumerate(self.domain.labels()):
            own = (np.arange(counts.size) == code).astype(np.float64)
            low, high = (
                max(self._end(counts, own, -1, level, 0.0), 0.0),
                min(self._end(counts, own, 1, level, 1.0), 1.0),
            )
            share = float(counts[code]) / total if total > 0 else 1 / counts.size
            out[label] = min(max(share, low), high), low, high
        return out

    def _end(self, counts: FloatArray, values: FloatArray, side: int, level: float, outermost: float) -> float:
        """Return the end of an interval: the mean of `values` at which the noise reaches just so far.

        The margin is a convex function of the mean (Bobkov 2010, for symmetric log-concave noise), and grows by no more
        than that of the number of rows. Where this is less than the rows themselves, the mean that the margin allows
        has one solution, to which iteration leads.
        """
        total = float(counts.sum())
        if total <= self._reach(np.ones_like(counts), level):
            return outermost
        centre = float(counts @ values) / total
        at = centre
        for _ in range(_ROUNDS):
            after = centre + side * self._reach(values - at, level) / total
            if abs(after - at) <= _NEAR * abs(after - centre):
                return after + _NEAR * (after - centre)
            at = after
        return outermost

    def _reach(self, weights: FloatArray, level: float) -> float:
        """Return the largest distance of weighted noise of the counts from 0, with the confidence of an interval."""
        there = [float(abs(weight)) for weight in weights if weight]
        if self.law == GAUSSIAN:
            return gaussian_margin(tuple((one, self.rate, self.draws) for one in there), 1 - level) if there else 0.0
        scale = scale_of(self.rate)
        return scale * margin(tuple((one, self.draws) for one in there), 1 - level)


def _ends_of_cells(grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest number of each cell, shape (cells,) both."""
    edges = grid.edges()
    low, high = edges[:-1].copy(), edges[1:].copy()
    if grid.values is not None:  # cells end halfway between two multiples
        half = grid.values.number(1) / 2
        low[1:] += half
        high[:-1] -= half
    return low, high


def counts_of_columns(params: Mapping[str, Any]) -> Iterator[tuple[str, ColumnCounts]]:
    """Yield the noisy counts of each column that the params hold, of `dp-marginals` or of trees with histograms.

    Parameters
    ----------
    params : mapping
        Of a release.
    """
    columns = (DeclaredColumn.from_params(one) for one in params["attributes"])
    domains: dict[str, Categories | Grid] = {column.name: column.domain for column in columns}
    target = params["target"]
    if target is not None:
        domains[str(target["name"])] = shown_classes(DeclaredTarget.from_params(target).domain)
    if "tables" in params:
        law = GAUSSIAN if params["format"].endswith("2") else LAPLACE
        named = [
            (str(table["name"]), np.array(table["counts"], dtype=np.int64), int(table["rate"]), law, 1)
            for table in params["tables"]
        ]
        is_split = params["anchored"] is True
    else:
        line = next(line for line in params["accounting"] if line["purpose"] == _HISTOGRAMS)
        noise = (int(line["rate"]), str(line["mechanism"]), len(params["histograms"]))
        named = [
            (str(attribute["name"]), np.asarray(sum(parts), dtype=np.int64).T, *noise)
            for at, attribute in enumerate(params["attributes"])
            if (parts := [np.array(tables[at], dtype=np.int64) for tables in params["histograms"]])[0].size
        ]
        is_split = "histogram" not in target
    if target is not None and is_split and named:  # every table counts the classes: the one with the least noise
        _, counts, rate, law, regions = max(named, key=lambda one: one[2] / one[1].shape[1])
        yield (
            str(target["name"]),
            ColumnCounts(
                domain=domains[str(target["name"])],
                counts=counts.sum(axis=1),
                draws=counts.shape[1] * regions,
                rate=rate,
                law=law,
            ),
        )
    elif target is not None and "histogram" in target:
        histogram = target["histogram"]
        yield (
            str(target["name"]),
            ColumnCounts(
                domain=domains[str(target["name"])],
                counts=np.array(histogram["counts"], dtype=np.int64),
                draws=1,
                rate=int(histogram["rate"]),
            ),
        )
    for name, counts, rate, law, regions in named:
        yield (
            name,
            ColumnCounts(
                domain=domains[name], counts=counts.sum(axis=0), draws=counts.shape[0] * regions, rate=rate, law=law
            ),
        )


def means_of(params: Mapping[str, Any]) -> dict[str, ColumnMean]:
    """Return the mean of each column of numbers of which the params hold noisy counts."""
    return {name: own.mean() for name, own in counts_of_columns(params) if isinstance(own.domain, Grid)}


def notes_on_means(means: Mapping[str, ColumnMean]) -> tuple[str, ...]:
    """Return the notes on columns whose means the rows do not carry; none where there are none.

    Privacy
    -------
    A function of what is published.
    """
    wide = [name for name, mean in means.items() if not mean.is_carried]
    if not wide:
        return ()
    more = f" and {len(wide) - _NAMED} more columns" if len(wide) > _NAMED else ""
    named = ", ".join(wide[:_NAMED]) + more
    return (
        f"The rows do not carry the mean of {named}: the noisy counts leave an interval for it that is wider than half "
        "a standard deviation. Use the interval that is stated with the column.",
    )
