# SPDX-License-Identifier: Apache-2.0
"""Gain and cost of every possible refinement of one column, computed in one pass.

A refinement is judged by what it explains of the rows that stay: how much of the guide's variance lies between the
parts of a class that it releases. Rows that it suppresses were predicted by the mean of their class, and then by that
of all suppressed rows together afterwards: that is a loss, and never a gain, however far from the others they lie.
Otherwise columns would be refined only to set an outlying row apart, which is then left out.

The guide of a search: out-of-bag class probabilities in place of the target.

Each row's guide is its out-of-bag class probabilities, on a few axes. A row's own label has no part in them, so a
search guided by them does not chase the noise of the labels. Rows without a label have no guide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray, densify, ranked
from anonkit.k_anonymity.search.equivalence import (
    AtLeastK,
    DistinctL,
    HistogramRequirement,
    Partition,
    PeopleRequirement,
    Requirement,
)
from anonkit.k_anonymity.search.greedy_selection import suppressed_rows

_AXES = 4  # principal axes of the class probabilities
_NEGLIGIBLE = 1e-9  # share of the variance of the first axis
_UNITS = 2**16  # the axes are found from probabilities rounded to these parts
_QUANTUM = 2.0**-24  # the guide is rounded to multiples of it: its sums are then exact, in whatever order


def each_axis(axes: FloatArray, work: Callable[[FloatArray], NDArray[np.number]], width: int) -> FloatArray:
    """Work on every axis of a guide alike; shape (n_axes, width), also without any axis."""
    return np.array([work(axis) for axis in axes], dtype=np.float64).reshape(len(axes), width)


@dataclass(frozen=True, kw_only=True, eq=False)
class Guide:
    """Sums of the guide, out-of-bag class probabilities on a few axes, over the rows behind each entry.

    Multiples of 2**-24, so that sums are exact in floats and the same in any order of the rows.
    """

    rows: FloatArray
    """Rows with a known guide, shape (n_entries,)."""
    sums: FloatArray
    """Sum of the guide over them, shape (n_axes, n_entries)."""

    def at(self, entries: NDArray[np.integer] | BoolArray) -> Guide:
        """Return the guide of some entries."""
        return Guide(rows=self.rows[entries], sums=self.sums[:, entries])

    def over(self, groups: IntArray, n_groups: int) -> Guide:
        """Return the guide summed over groups of entries."""
        return Guide(
            rows=np.bincount(groups, self.rows, minlength=n_groups).astype(np.float64),
            sums=each_axis(self.sums, lambda axis: np.bincount(groups, axis, minlength=n_groups), n_groups),
        )

    @property
    def explained(self) -> FloatArray:
        """Squared length of the sum over its rows: what each entry adds to the variance between entries."""
        return np.asarray((self.sums**2).sum(axis=0) / np.maximum(self.rows, 1.0))


def guide_of(probabilities: FloatArray, entry: IntArray, n_entries: int) -> tuple[Guide, float]:
    """Return the guide of the distinct rows and its total sum of squares.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
        Class probabilities of the rows of the table; NaN where there is no guide.
    entry : ndarray of shape (n_rows,)
        Distinct row that each row is, in [0, n_entries).
    """
    known = ~np.isnan(probabilities).any(axis=1)
    axes = _principal_axes(probabilities[known])
    guide = Guide(rows=np.ones(axes.shape[1]), sums=axes)
    return guide.over(entry[known], n_entries), math.fsum((axes**2).ravel().tolist())


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Shares of a guide's variance that lie between the classes of two recodings of the same rows."""

    first: float
    """At most 1: R², adjusted for the number of classes, so that few classes and many are comparable."""
    second: float
    error: float
    """Standard error of their difference, over rows."""


def compared(probabilities: FloatArray, first: IntArray, second: IntArray) -> Compared:
    """Return the shares of a guide that two recodings explain.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_guides)
        Class probabilities of the rows of the table; NaN where there is no guide.
    first, second : ndarray of shape (n_rows,)
        Class of each row, from 0; rows that are left out are one.

    Returns
    -------
    Compared
        The same for any order of the rows; zeros where the guide does not vary, or a class a row is all that there is.
    """
    known = ~np.isnan(probabilities).any(axis=1)
    axes = _principal_axes(probabilities[known])
    total, n_rows = float(np.sort(axes**2, axis=None).sum()), axes.shape[1]
    if total <= 0:
        return Compared(first=0.0, second=0.0, error=0.0)
    shares, squares = [], []
    for classes in (first[known].astype(np.int64), second[known].astype(np.int64)):
        sizes = np.bincount(classes)
        means = np.array([np.bincount(classes, axis) for axis in axes]) / np.maximum(sizes, 1)
        squares.append(((axes - means[:, classes]) ** 2).sum(axis=0))
        freedom = n_rows - int((sizes > 0).sum())
        within = float(np.sort(squares[-1]).sum())
        shares.append(1 - within * (n_rows - 1) / (total * freedom) if freedom > 0 else 0.0)
    apart = np.sort(squares[0] - squares[1])
    return Compared(first=shares[0], second=shares[1], error=float(apart.std()) * math.sqrt(n_rows) / total)


def _principal_axes(probabilities: FloatArray) -> FloatArray:
    """Return class probabilities about their mean on their principal axes, shape (n_axes, n_rows).

    Every number is the same for any order of the rows: moments are sums of integers, projections are summed class
    by class.
    """
    n_rows, n_classes = probabilities.shape
    if n_rows == 0 or n_classes < 2:
        return np.zeros((0, n_rows))
    units = np.rint(probabilities * _UNITS)
    mean = units.sum(axis=0) / n_rows
    spread, directions = np.linalg.eigh((units.T @ units) / n_rows - np.outer(mean, mean))
    leading = directions[:, ::-1][:, :_AXES].T[spread[::-1][:_AXES] > max(_NEGLIGIBLE * spread[-1], _NEGLIGIBLE)]
    axes = np.zeros((len(leading), n_rows))
    for at in range(n_classes):
        axes += leading[:, at : at + 1] * (probabilities[:, at] - mean[at] / _UNITS)
    return np.asarray(np.rint(axes / _QUANTUM) * _QUANTUM)


_HISTOGRAM_CELLS = 1_000_000  # larger tables of sensitive values are left to the check of the one refinement chosen


@dataclass(frozen=True, kw_only=True, eq=False)
class Refinable:
    """A partition under top-down refinement: the entries still kept, their guide, and the sums of the suppressed rows.

    Suppressed rows form one class of their own, so that their share of the guide's variance counts as lost.
    """

    partition: Partition
    guide: Guide
    requirements: tuple[Requirement, ...]
    pool: Guide
    """The suppressed rows as one entry."""
    retained: IntArray
    """Indices of the original entries that are kept, shape (n_retained,)."""

    @classmethod
    def start(cls, partition: Partition, guide: Guide, requirements: Sequence[Requirement]) -> Refinable:
        """Begin with a partition, its entries that meet the requirements kept."""
        nothing = Guide(rows=np.zeros(1), sums=np.zeros((len(guide.sums), 1)))
        everything = np.arange(partition.classes.size)
        begun = cls(
            partition=partition, guide=guide, requirements=tuple(requirements), pool=nothing, retained=everything
        )
        return begun.without(suppressed_rows(partition, requirements))

    def refined(self, parts: IntArray) -> tuple[Refinable, int]:
        """Split every class by the part of each kept entry; return the result and the rows suppressed for it."""
        finer = self.partition.refine(parts)
        suppressed = suppressed_rows(finer, self.requirements)
        return replace(self, partition=finer).without(suppressed), finer.n_rows(suppressed)

    def without(self, gone: BoolArray) -> Refinable:
        """Suppress some of the kept entries."""
        if not gone.any():
            return self
        lost = self.guide.at(gone)
        return Refinable(
            partition=self.partition.at(~gone),
            guide=self.guide.at(~gone),
            requirements=tuple(requirement.at(~gone) for requirement in self.requirements),
            pool=Guide(
                rows=self.pool.rows + lost.rows.sum(), sums=self.pool.sums + lost.sums.sum(axis=1, keepdims=True)
            ),
            retained=self.retained[~gone],
        )

    @property
    def explained(self) -> float:
        """Sum of squares of the guide between classes, about 0."""
        classes = self.guide.over(self.partition.classes, self.partition.n_classes)
        return float(classes.explained.sum() + self.pool.explained[0])

    def chance(self, total: float) -> float:
        """Return the chance gain of splitting a class in two; `total` is the guide's whole sum of squares."""
        classes = self.guide.over(self.partition.classes, self.partition.n_classes)
        freedom = self.guide.rows.sum() - (classes.rows > 0).sum()
        return max(total - self.explained, 0.0) / freedom if freedom > 0 else total


@dataclass(frozen=True, kw_only=True, eq=False)
class Prospects:
    """Gain and cost of each of several refinements, in arrays of shape (n_refinements,)."""

    gain: FloatArray
    """Guide's variance between the parts that stay, less what chance would add and what suppressed rows lose."""
    violating: IntArray
    """Rows that would have to be suppressed."""
    separated: FloatArray
    """Pairs of rows distinguished, per row: detail gained whatever the guide says."""


@dataclass(frozen=True, eq=False)
class _ClassCells:
    """The entries of one class in one part of a column, for every class and part that occur, ascending."""

    cell: IntArray  # of each kept entry
    classes: IntArray  # of each cell
    parts: IntArray
    rows: FloatArray
    guide: Guide

    @classmethod
    def of(cls, state: Refinable, parts: IntArray, n_parts: int) -> _ClassCells:
        keys = state.partition.classes * n_parts + parts
        cell, n_cells = densify(keys)
        key = np.empty(n_cells, dtype=np.int64)
        key[cell] = keys
        weights = state.partition.weights
        rows = np.bincount(cell, weights, minlength=n_cells).astype(np.float64)
        return cls(cell, key // n_parts, key % n_parts, rows, state.guide.over(cell, n_cells))

    @property
    def last(self) -> BoolArray:
        """Mark the last cell of each class."""
        return np.append(self.classes[1:] != self.classes[:-1], True)

    def upto(self, values: FloatArray) -> FloatArray:
        """Sum values over the cells of the same class up to each cell; the cells are the last axis."""
        total = np.cumsum(values, axis=-1)
        first = np.append(0, np.flatnonzero(self.last)[:-1] + 1)
        before = (total[..., first] - values[..., first])[..., self.classes]
        return np.asarray(total - before)

    def in_class(self, values: FloatArray) -> FloatArray:
        """Sum values over the whole class of each cell."""
        return np.asarray(self.upto(values)[..., self.last][..., self.classes])


@dataclass(frozen=True, eq=False)
class _Sides:
    """One part of a class that a refinement splits off: its rows, guide, and whether a requirement breaks on it."""

    rows: FloatArray
    guide: Guide
    bad: BoolArray

    def at(self, cells: IntArray) -> _Sides:
        return _Sides(self.rows[cells], self.guide.at(cells), self.bad[cells])


def cut_prospects(state: Refinable, position: IntArray, n_positions: int, chance: float) -> Prospects:
    """Judge every cut of a column whose values are ordered.

    Parameters
    ----------
    position : ndarray of shape (n_retained,)
        Position of each kept entry's value; a class never spans a place where the column is cut already.
    n_positions : int
        Number of positions, m.
    chance : float
        What one more class explains by chance.

    Returns
    -------
    Prospects
        Of the m - 1 cuts after position 0, 1, ….
    """
    cells = _ClassCells.of(state, position, n_positions)
    inner = np.flatnonzero(~cells.last)
    start, stop = cells.parts[inner], cells.parts[inner + 1]  # the cuts with just the cells so far on the left
    left_bad, right_bad = _broken_sides(state, cells)
    whole = Guide(rows=cells.in_class(cells.guide.rows), sums=cells.in_class(cells.guide.sums))
    near = Guide(rows=cells.upto(cells.guide.rows), sums=cells.upto(cells.guide.sums))
    far = Guide(rows=whole.rows - near.rows, sums=whole.sums - near.sums)
    rows, all_rows = cells.upto(cells.rows), cells.in_class(cells.rows)
    left = _Sides(rows, near, left_bad).at(inner)
    right = _Sides(all_rows - rows, far, right_bad).at(inner)
    unsplit = whole.at(inner)

    def over_cuts(values: FloatArray) -> FloatArray:
        # a cell's value holds for all cuts from its part up to that of the next cell: a difference array
        steps = np.bincount(start, values, n_positions) - np.bincount(stop, values, n_positions)
        return np.asarray(np.cumsum(steps)[: n_positions - 1])

    stay = ~left.bad & ~right.bad  # otherwise one part at most stays, and nothing is separated
    fresh = (left.guide.rows > 0).astype(float) + (right.guide.rows > 0) - (unsplit.rows > 0)
    gain = over_cuts(stay * (left.guide.explained + right.guide.explained - unsplit.explained - chance * fresh))
    lost = _lost(state.pool, unsplit, left.bad * left.guide.rows + right.bad * right.guide.rows, over_cuts)
    return Prospects(
        gain=gain - lost,
        violating=np.rint(over_cuts(left.bad * left.rows + right.bad * right.rows)).astype(np.int64),
        separated=_rounded(over_cuts(left.rows * right.rows / (left.rows + right.rows))),
    )


def split_prospects(
    state: Refinable, part: IntArray, n_parts: int, group: IntArray, n_groups: int, chance: float
) -> Prospects:
    """Judge the split of each group of a column into its parts.

    Parameters
    ----------
    part, group : ndarray of shape (n_retained,)
        Part and group of each kept entry; every part lies in one group, every class too.

    Returns
    -------
    Prospects
        Of the splits of group 0, 1, …, n_groups - 1.
    """
    cells = _ClassCells.of(state, part, n_parts)
    finer = Partition(cells.cell, cells.rows.size, state.partition.weights)
    everything = np.ones(cells.cell.size, dtype=bool)
    bad = np.zeros(cells.rows.size, dtype=bool)
    for requirement in state.requirements:
        if not isinstance(requirement, PeopleRequirement):  # it sees all splits at once here; checked on the one chosen
            bad |= requirement.violated(finer, everything)
    owner = np.empty(cells.rows.size, dtype=np.int64)
    owner[cells.cell] = group
    whole = Guide(rows=cells.in_class(cells.guide.rows), sums=cells.in_class(cells.guide.sums))
    rows = cells.in_class(cells.rows)

    def over_groups(values: FloatArray) -> FloatArray:
        return np.bincount(owner, values, minlength=n_groups).astype(np.float64)

    good = Guide(rows=~bad * cells.guide.rows, sums=~bad * cells.guide.sums)
    stay = Guide(rows=cells.in_class(good.rows), sums=cells.in_class(good.sums))
    fresh = (good.rows > 0).astype(float) - cells.last * (stay.rows > 0)
    gain = over_groups(good.explained - cells.last * stay.explained - chance * fresh)
    return Prospects(
        gain=gain - _lost(state.pool, whole, bad * cells.guide.rows, over_groups),
        violating=np.rint(over_groups(bad * cells.rows)).astype(np.int64),
        # every pair is met from both of its sides, hence the half
        separated=_rounded(over_groups((rows - cells.rows) * cells.rows / (2 * rows))),
    )


def _rounded(separated: FloatArray) -> FloatArray:
    """Clear the rounding errors where nothing is divided; dividing two rows gives 1/2 already."""
    return np.where(separated < 0.25, 0.0, separated)


def _lost(pool: Guide, classes: Guide, rows: FloatArray, summed: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return the guide's variance that is lost when rows of some classes are suppressed, at least 0.

    Until then a row is predicted by the mean of its class; the rows' own guide, which no reader has, is not used.

    Parameters
    ----------
    classes : Guide
        The class of each cell, before.
    rows : ndarray of shape (n_cells,)
        Rows of the cell with a known guide that would go.
    summed : callable
        Sums values of the cells over the cells of each refinement, shape (n_refinements,).
    """
    mean = classes.sums / np.maximum(classes.rows, 1.0)
    gone = summed(rows)
    sums = each_axis(rows * mean, summed, gone.size)
    together = Guide(rows=pool.rows + gone, sums=pool.sums + sums).explained - pool.explained
    return np.asarray(np.maximum(summed(rows * (mean**2).sum(axis=0)) - together, 0.0))


def _broken_sides(state: Refinable, cells: _ClassCells) -> tuple[BoolArray, BoolArray]:
    """Return for every cell whether its class breaks a requirement when cut after it: left part, right part.

    t-closeness is measured from the entries kept now; a requirement of another kind, or with too large a table of
    sensitive values, is taken to hold here. Both are checked exactly on the refinement that is chosen.
    """
    left, right = np.zeros(cells.rows.size, dtype=bool), np.zeros(cells.rows.size, dtype=bool)
    for requirement in state.requirements:
        if isinstance(requirement, AtLeastK):
            near, far = _people_on_sides(state, cells, requirement)
            left |= near < requirement.k
            right |= far < requirement.k
        elif isinstance(requirement, DistinctL) and requirement.counts_codes:
            near, far = _distinct(state, cells, requirement.sensitive)
            left |= near < requirement.l
            right |= far < requirement.l
        elif (
            isinstance(requirement, HistogramRequirement) and cells.rows.size * requirement.n_values <= _HISTOGRAM_CELLS
        ):
            near_broken, far_broken = _broken_histograms(state, cells, requirement)
            left |= near_broken
            right |= far_broken
    return left, right


def _counts(cells: _ClassCells) -> tuple[FloatArray, FloatArray]:
    near = cells.upto(cells.rows)
    return near, cells.in_class(cells.rows) - near


def _people_on_sides(state: Refinable, cells: _ClassCells, requirement: AtLeastK) -> tuple[FloatArray, FloatArray]:
    """Count the rows, or people, of the class up to each cell, and after it."""
    if requirement.units is None:
        return _counts(cells)
    if requirement.nobody is None:
        return _distinct(state, cells, requirement.units)
    somebodys = requirement.units != requirement.nobody
    return _distinct(state, cells, requirement.units, somebodys)


def _distinct(
    state: Refinable, cells: _ClassCells, values: IntArray, chosen: BoolArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Count the distinct values among the (chosen) entries of the class up to each cell, and after it."""
    pairs, cell = state.partition.classes * (int(values.max(initial=0)) + 1) + values, cells.cell
    if chosen is not None:
        pairs, cell = pairs[chosen], cell[chosen]
    if not pairs.size:
        return np.zeros(cells.rows.size), np.zeros(cells.rows.size)
    order, ascending = ranked(pairs)
    begins = np.append(0, np.flatnonzero(ascending[1:] != ascending[:-1]) + 1)
    first = np.minimum.reduceat(cell[order], begins)  # cell in which the class first has the value
    last = np.maximum.reduceat(cell[order], begins)
    begun = np.bincount(first, minlength=cells.rows.size).astype(np.float64)
    ended = np.bincount(last, minlength=cells.rows.size).astype(np.float64)
    return cells.upto(begun), cells.in_class(begun) - cells.upto(ended)


def _broken_histograms(
    state: Refinable, cells: _ClassCells, requirement: HistogramRequirement
) -> tuple[BoolArray, BoolArray]:
    overall = requirement.overall(state.partition, np.ones(cells.cell.size, dtype=bool))
    keys = requirement.sensitive * cells.rows.size + cells.cell
    n_keys = requirement.n_values * cells.rows.size
    rows = np.bincount(keys, state.partition.weights, minlength=n_keys).astype(np.float64)
    rows = rows.reshape(requirement.n_values, -1)
    near = cells.upto(rows)
    far = cells.in_class(rows) - near
    sides = [near.T, far.T]
    if requirement.units is None:
        histograms = [requirement.histograms_of_rows(side) for side in sides]
    else:
        valued = requirement.sensitive != requirement.missing
        people = _people(state, cells, requirement.units, requirement.sensitive, requirement.n_values)
        ones = np.zeros(cells.cell.size, dtype=np.int64)
        (with_value, everybody) = (
            _people(state, cells, requirement.units, ones, 1, chosen) for chosen in (valued, np.ones_like(valued))
        )
        histograms = [
            requirement.histograms_of_people(side, people[at].T, with_value[at][0], everybody[at][0])
            for at, side in enumerate(sides)
        ]
    broken_near, broken_far = (requirement.breaks(one_side, overall) for one_side in histograms)
    return broken_near, broken_far


def _people(
    state: Refinable,
    cells: _ClassCells,
    units: IntArray,
    values: IntArray,
    n_values: int,
    chosen: BoolArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Count the people with each value up to each cell of their class, and after it, shape (n_values, n_cells) each.

    `chosen` marks the entries to be judged.
    """
    entries = np.arange(values.size) if chosen is None else np.flatnonzero(chosen)
    member, _ = densify(state.partition.classes[entries] * (int(units.max(initial=0)) + 1) + units[entries])
    keys = member * n_values + values[entries]
    order, ascending = ranked(keys)
    n_cells, cell = cells.rows.size, cells.cell[entries]
    if not ascending.size:
        return np.zeros((n_values, n_cells)), np.zeros((n_values, n_cells))
    begins = np.append(0, np.flatnonzero(ascending[1:] != ascending[:-1]) + 1)
    value = ascending[begins] % n_values
    begun, ended = (
        np.bincount(value * n_cells + at, minlength=n_values * n_cells).reshape(n_values, -1).astype(np.float64)
        for at in (np.minimum.reduceat(cell[order], begins), np.maximum.reduceat(cell[order], begins))
    )
    return cells.upto(begun), cells.in_class(begun) - cells.upto(ended)
