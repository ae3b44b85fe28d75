# SPDX-License-Identifier: Apache-2.0
"""Bins of a numeric target by a noisy histogram of it: about as many rows in each, whatever the public bounds.

Equal bins of bounds that reach far beyond most people put nearly all rows into one of them. Here a small share of
epsilon is spent on a histogram of the target alone, over a public grid; the ends of the bins, the number that
represents each and the numbers drawn within it follow from the noisy counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from anonkit.budget_rules.model_queries import TABLE
from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.domains.number_bins import Grid, NumberBins
from anonkit.dp_trees.questions import CodedBatch
from anonkit.mechanisms.accounting import rate_within
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.published.noisy_tables import LAPLACE, noise_variance
from anonkit.published.statements.noise_statement import Draw
from anonkit.published.tree_model import TreeSchema

TARGET_SHARE = Fraction(1, 10)
"""Share of epsilon for the histogram of the target."""
_ROWS_A_CELL = 2
"""Scales of its noise for which the grid has a cell of as many rows, if rows were spread evenly."""
_DEVIATIONS = 2.0
"""Standard deviations of the noise of a run of cells above which it counts as more than noise."""
_FEWEST_CELLS, _MOST_CELLS = 64, 1024
GRIDS = (64, 128, 256, 512, 1024)
"""Every number of cells that the grid may have."""
_BINS = ((1_000, 2), (4_000, 3), (15_000, 4), (100_000, 6))
_MOST_BINS = 8


def cells_for(epsilon: float, rows: float) -> int:
    """Return the cells of the grid, a power of 2, by public or noisy facts.

    Parameters
    ----------
    epsilon : float
        Privacy loss of one row in the whole release.
    rows : float
        Number of rows; anything below 1 counts as 1.
    """
    seen = float(TARGET_SHARE) * epsilon * max(rows, 1.0) / _ROWS_A_CELL
    return int(min(max(2 ** math.floor(math.log2(max(seen, 1.0))), _FEWEST_CELLS), _MOST_CELLS))


def bins_for(epsilon: float, rows: float) -> int:
    """Return the number of bins, by the same facts as the cells."""
    strength = epsilon * max(rows, 1.0)
    return next((bins for limit, bins in _BINS if strength < limit), _MOST_BINS)


def histogram_draw(row_units: int) -> Draw:
    """Return the draw of the histogram, of what one row may cost in all: a row is in one of its cells."""
    rate = rate_within(int(row_units * TARGET_SHARE), 1)
    return Draw(name="values of the target", query=TABLE, law=LAPLACE, rate=rate)


@dataclass(frozen=True, kw_only=True, eq=False)
class TargetHistogram(ParamsPart, keys=("counts", "rate=draw.rate", "bins")):
    """The noisy histogram of a numeric target; everything in it may be published."""

    grid: Grid
    counts: IntArray
    """Noisy rows by cell, missing, where it can occur, the last, shape (grid.size,)."""
    draw: Draw
    bins: int
    """Bins that are wanted; cells with many rows can leave fewer."""

    @cached_property
    def rows(self) -> FloatArray:
        """Rows by cell that exceed the noise, nowhere below 0, shape (grid.cells,).

        Runs of cells are halved as long as a half exceeds the noise; the other half has no rows then. Where neither
        does, the rows of the run are spread evenly over it. Clipping each cell at 0 would fill wide empty bounds with
        noise.
        """
        counts = self.counts[: self.grid.cells].astype(np.float64)
        rows = np.zeros(counts.size)
        floor = _DEVIATIONS * math.sqrt(noise_variance(self.draw.rate))
        runs = [(0, counts.size)]
        while runs:
            start, size = runs.pop()
            half = size // 2
            halves = [(start, half), (start + half, size - half)] if half else []
            seen = [run for run in halves if counts[run[0] : run[0] + run[1]].sum() > floor * math.sqrt(run[1])]
            runs += seen
            if not seen:
                rows[start : start + size] = max(counts[start : start + size].sum() / size, 0.0)
        return rows if rows.any() else np.ones_like(rows)

    @cached_property
    def classes(self) -> NumberBins:
        """The bins: each ends with the first cell that brings their rows to its share, and has the mean of its rows."""
        reached = np.cumsum(self.rows)
        goals = reached[-1] * np.arange(1, self.bins) / self.bins
        ends = np.unique(np.append(np.searchsorted(reached, goals) + 1, self.grid.cells))
        starts, middles = np.append(0, ends[:-1]), self.grid.midpoints()
        rows, sums = (np.add.reduceat(each, starts) for each in (self.rows, self.rows * middles))
        between = np.add.reduceat(middles, starts) / (ends - starts)
        means = np.where(rows > 0, sums / np.where(rows > 0, rows, 1.0), between)
        return NumberBins.of(self.grid, ends.tolist(), means.tolist())

    def cells_of(self, labels: IntArray, words: UniformStream) -> IntArray:
        """Draw a cell of its bin for each label, by the rows of the histogram; missing stays missing, shape (n,)."""
        ends = np.array(self.classes.ends)
        starts = np.append(0, ends[:-1])
        reached = np.append(0.0, np.cumsum(self.rows))
        known = np.minimum(labels, ends.size - 1)
        low, high = reached[starts[known]], reached[ends[known]]
        share = words.fractions(labels.size) / (1 << 52)
        cells = np.searchsorted(reached, low + share * (high - low), side="right") - 1
        # of a bin without rows any cell; the last edge of a bin belongs to the next one
        anywhere = starts[known] + np.floor(share * (ends - starts)[known]).astype(np.int64)
        cells = np.clip(np.where(high > low, cells, anywhere), starts[known], ends[known] - 1)
        return np.where(labels < ends.size, cells, self.grid.cells).astype(np.int64)

    def bins_without(self, forbidden: BoolArray) -> BoolArray:
        """Return a mask of the bins with forbidden cells alone, missing the last if it can occur, shape (n, classes).

        Parameters
        ----------
        forbidden : bool array, shape (n, grid.size)
            Of each row the cells, and missing, that it must not have.
        """
        starts = np.append(0, np.array(self.classes.ends)[:-1])
        bins = np.logical_and.reduceat(forbidden[:, : self.grid.cells], starts, axis=1)
        return np.concatenate([bins, forbidden[:, self.grid.cells :]], axis=1)

    def cells_among(self, labels: IntArray, forbidden: BoolArray, words: UniformStream) -> IntArray:
        """Draw a cell of its bin for each label as `cells_of` does, of the cells that a row may have, shape (n,).

        Parameters
        ----------
        labels : int array, shape (n,)
            Of bins that have a cell which the row may have; missing stays missing.
        forbidden : bool array, shape (n, grid.size)
        words : UniformStream
        """
        own = np.searchsorted(np.array(self.classes.ends), np.arange(self.grid.cells), side="right")
        may = (own == labels[:, np.newaxis]) & ~forbidden[:, : self.grid.cells]
        weights = np.where(may, self.rows, 0.0)
        weights = np.where(weights.any(axis=1, keepdims=True), weights, may)
        share = words.fractions(labels.size) / (1 << 52)
        reached = np.cumsum(weights, axis=1)
        cells = (reached <= share[:, np.newaxis] * reached[:, -1:]).sum(axis=1)
        cells = np.minimum(cells, self.grid.cells - 1 - np.argmax(weights[:, ::-1] > 0, axis=1))
        return np.where(labels < len(self.classes.ends), cells, self.grid.cells).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class TargetCounts:
    """Exact counts of a target's cells, and of all rows: to be noised before anything else."""

    schema: TreeSchema
    """Without attributes; the classes are the cells."""

    def __call__(self, batch: CodedBatch) -> IntArray:
        """Return the counts of a batch and its rows, shape (n_classes + 1,)."""
        cells = np.bincount(batch.labels, minlength=self.schema.n_classes).astype(np.int64)
        return np.append(cells, batch.n_rows)
