# SPDX-License-Identifier: Apache-2.0
"""Gain and cost of every possible refinement of one column, computed in one pass.

A refinement is judged by what it explains of the rows that stay: how much of the guide's variance lies between the
parts of a class that it releases. Rows that it suppresses were predicted by the mean of their class, and then by that
of all suppressed rows together afterwards: that is a loss, and never a gain, however far from the others they lie.
Otherwise columns would be refined only to set an outlying row apart, which is then left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anonkit.domains.array_types import BoolArray, FloatArray, IntArray
from anonkit.domains.coded_columns import densify, ranked
from anonkit.k_anonymity.search.equivalence import (
    AtLeastK,
    DistinctL,
    HistogramRequirement,
    Partition,
    PeopleRequirement,
    Requirement,
)
from anonkit.k_anonymity.search.suppression import suppressed_rows
from anonkit.k_anonymity.search.target_probabilities import Guide, each_axis

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
    kept: IntArray
    """Indices of the original entries that are kept, shape (n_kept,)."""

    @classmethod
    def start(cls, partition: Partition, guide: Guide, requirements: Sequence[Requirement]) -> Refinable:
        """Begin with a partition, its entries that meet the requirements kept."""
        nothing = Guide(rows=np.zeros(1), sums=np.zeros((len(guide.sums), 1)))
        everything = np.arange(partition.classes.size)
        begun = cls(partition=partition, guide=guide, requirements=tuple(requirements), pool=nothing, kept=everything)
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
            kept=self.kept[~gone],
        )

    @property
    def explained(self) -> float:
        """Sum of squares of the guide between classes, about 0."""
        classes = self.guide.over(self.partition.classes, self.partition.n_classes)
        return float(classes.explained.sum() + self.pool.explained[0])

    def chance(self, total: float) -> float:
        """Return what splitting a class in two explains by chance; `total` is the guide's whole sum of squares."""
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
    position : ndarray of shape (n_kept,)
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
    part, group : ndarray of shape (n_kept,)
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
        held = [requirement.held_by_rows(side) for side in sides]
    else:
        valued = requirement.sensitive != requirement.missing
        people = _people(state, cells, requirement.units, requirement.sensitive, requirement.n_values)
        ones = np.zeros(cells.cell.size, dtype=np.int64)
        (with_value, everybody) = (
            _people(state, cells, requirement.units, ones, 1, chosen) for chosen in (valued, np.ones_like(valued))
        )
        held = [
            requirement.held(side, people[at].T, with_value[at][0], everybody[at][0]) for at, side in enumerate(sides)
        ]
    broken_near, broken_far = (requirement.breaks(one_side, overall) for one_side in held)
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
