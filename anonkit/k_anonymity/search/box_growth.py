# SPDX-License-Identifier: Apache-2.0
"""Cuts and divisions of a box in a multidimensional partition: the allowed ones, and the best of them.

A column without a hierarchy is cut in two. Along a declared hierarchy a box is divided into the nodes of the next level
that enough of its rows are in; the others stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, CodedColumn, FloatArray, IntArray, densify
from anonkit.k_anonymity.search.equivalence import AtLeastK, Partition, Requirement
from anonkit.k_anonymity.search.hierarchy_levels import Groups, Ladder
from anonkit.k_anonymity.search.shared_sets import GrowingSets, SharedSets


@dataclass(frozen=True, kw_only=True, eq=False)
class BestDivision:
    """The best division of each of m boxes along the hierarchy of one column."""

    score: FloatArray
    """Gain of the division, shape (m,); 0 where a box cannot be divided."""
    part: IntArray
    """Part that each group of rows goes to, shape (n_groups,): 0, 1, … for the nodes that are distinguished, the most
    rows first, then one for what is left of the box."""
    level: IntArray
    """Level of the hierarchy at which each box is divided, shape (m,)."""
    n_nodes: IntArray
    """Number of distinguished nodes in each box, shape (m,)."""


def divide(
    box: IntArray,
    code: IntArray,
    rows: FloatArray,
    guiding: FloatArray,
    guide: FloatArray,
    levels: Sequence[Groups],
    floor: FloatArray,
    worth: tuple[float, float],
) -> BestDivision:
    """Divide every box at the coarsest level that separates its rows.

    Nodes with fewer than `floor` rows stay together; where they are fewer than `floor` rows together, the smallest
    other node stays with them.

    Parameters
    ----------
    box, code, rows, guiding, guide : ndarrays
        Groups of rows that share a box and a code of the column, as the growth of boxes has them: box ascending, in
        [0, m); shapes (n_groups,) and, of the last, (n_groups, n_guides).
    levels : sequence of Groups
        The hierarchy, finest level first.
    floor : ndarray of shape (m,)
        Rows each part must have.
    worth : (float, float)
        What a unit of the guide's variance and a code distinguished from a row are worth.
    """
    m = floor.size
    starts = np.searchsorted(box, np.arange(m))
    node, level_of = np.zeros(box.size, dtype=np.int64), np.full(m, -1)
    for level in range(len(levels) - 1, -1, -1):
        group = levels[level][code]
        divides = (level_of < 0) & (np.minimum.reduceat(group, starts) < np.maximum.reduceat(group, starts))
        level_of[divides] = level
        node = np.where(divides[box], group, node)
    piece, n_pieces = densify(box * (int(node.max(initial=0)) + 1) + node)
    of_box = np.empty(n_pieces, dtype=np.int64)
    of_box[piece] = box
    size = np.bincount(piece, rows, minlength=n_pieces).astype(np.float64)
    heavy = _distinguished(of_box, size, floor)
    order = np.lexsort((np.arange(n_pieces), -size, ~heavy, of_box))
    rank = np.empty(n_pieces, dtype=np.int64)
    rank[order] = np.arange(n_pieces) - np.searchsorted(of_box, np.arange(m))[of_box[order]]
    n_nodes = np.bincount(of_box[heavy], minlength=m)
    part = np.where(heavy, rank, n_nodes[of_box])[piece]
    left = np.bincount(of_box[~heavy], size[~heavy], minlength=m)
    possible = (n_nodes >= 1) & (n_nodes + (left > 0) >= 2)
    score = np.where(possible, _score(box, part, rows, guiding, guide, m, worth), 0.0)
    return BestDivision(score=score, part=part, level=level_of, n_nodes=n_nodes)


def _distinguished(of_box: IntArray, size: FloatArray, floor: FloatArray) -> BoolArray:
    """Return a mask of the distinguished nodes, shape (n_pieces,)."""
    heavy = size >= floor[of_box]
    left = np.bincount(of_box[~heavy], size[~heavy], minlength=floor.size)
    short = (left > 0) & (left < floor)
    candidates = np.flatnonzero(heavy & short[of_box])
    smallest = candidates[np.lexsort((-candidates, size[candidates], of_box[candidates]))]
    heavy[smallest[np.flatnonzero(np.diff(of_box[smallest], prepend=-1))]] = False
    return np.asarray(heavy)


def _score(
    box: IntArray,
    part: IntArray,
    rows: FloatArray,
    guiding: FloatArray,
    guide: FloatArray,
    m: int,
    worth: tuple[float, float],
) -> FloatArray:
    side, n_sides = densify(box * (int(part.max(initial=0)) + 1) + part)
    owner = np.empty(n_sides, dtype=np.int64)
    owner[side] = box
    size, codes = np.bincount(side, rows, minlength=n_sides), np.bincount(side, minlength=n_sides)
    guiding_side, guiding_box = np.bincount(side, guiding, minlength=n_sides), np.bincount(box, guiding, minlength=m)
    scores = np.zeros(m)
    for axis in range(guide.shape[1]):
        of_side = per_row(np.bincount(side, guide[:, axis], minlength=n_sides) ** 2, guiding_side)
        whole = per_row(np.bincount(box, guide[:, axis], minlength=m) ** 2, guiding_box)
        scores += np.bincount(owner, of_side, minlength=m) - whole
    apart = size * (np.bincount(box, minlength=m)[owner] - codes)
    return np.asarray(worth[0] * np.maximum(scores, 0.0) + worth[1] * np.bincount(owner, apart, minlength=m))


def per_row(sums: NDArray[Any], rows: NDArray[Any]) -> FloatArray:
    """Return sums over rows, shape (n,) or (n, n_guides), by how many rows there are, shape (n,); 0 where none are."""
    n = np.maximum(rows, 1.0)
    return np.asarray(sums / (n if sums.ndim == 1 else n[:, None]))


LISTED = -2
"""Marks the last code going left at a node that lists its codes."""

_DETAIL = 0.1
"""Worth of the whole detail of the table, when all that is known of the target is worth 1: a convention."""
_FULL = 2
"""Power of the share of boxes that a cut leaves possible, where the columns guide themselves.

Tried on eight tables without a target: docs/methods/mondrian.md ("A cut counts for less where fewer boxes are
possible"); `python recipes/benchmarks/two_way_errors.py` measures it.
"""
_BALANCE = 1.25
"""Factor by which the smaller side must grow after a cut that broke a requirement: a convention."""
_POWER_STEPS = 4
"""Steps of the power iteration for the direction in which a guide of several values varies most: a convention."""


class BoxNodes:
    """The nodes of a growing tree of boxes, as parallel arrays of shape (n_nodes,).

    `column` is the column that divides a node, -1 for a leaf; `left` is its left child, the right one is `left` + 1;
    `parent` is -1 at the root. A node sends code c left if c <= `at_most`, or, where `at_most` is LISTED, if c is among
    its listed codes; the code for missing goes left where `missing_left` is set. `amid` marks what is left of a box
    between two of the parts that a hierarchy divides it into: no box, and never checked against a requirement.
    """

    def __init__(self) -> None:
        self.column = np.full(1, -1)
        self.left = np.full(1, -1)
        self.parent = np.full(1, -1)
        self.at_most = np.full(1, LISTED)
        self.missing_left = np.zeros(1, dtype=bool)
        self.amid = np.zeros(1, dtype=bool)
        self._listed: list[tuple[IntArray, IntArray]] = []

    def add(self, nodes: IntArray, column: IntArray) -> IntArray:
        """Give each of the nodes two children; return the left ones."""
        left = self.column.size + 2 * np.arange(nodes.size)
        self.column[nodes], self.left[nodes] = column, left
        new = np.full(2 * nodes.size, -1)
        self.column, self.left = np.append(self.column, new), np.append(self.left, new)
        self.parent = np.append(self.parent, np.repeat(nodes, 2))
        self.at_most = np.append(self.at_most, np.full(new.size, LISTED))
        self.missing_left = np.append(self.missing_left, np.zeros(new.size, dtype=bool))
        self.amid = np.append(self.amid, np.zeros(new.size, dtype=bool))
        return left

    def list_codes(self, node: IntArray, code: IntArray) -> None:
        """Send codes left, one node and one code a row."""
        self._listed.append((node, code))

    def listed(self) -> tuple[IntArray, IntArray]:
        """Return the codes sent left, by node and ascending, and where each node's begin, shape (n_nodes + 1,)."""
        none = np.empty(0, dtype=np.int64)
        node, code = (np.concatenate([none, *(part[at] for part in self._listed)]) for at in range(2))
        order = np.lexsort((code, node))
        return code[order], np.searchsorted(node[order], np.arange(self.column.size + 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class _BoxGroups:
    """The rows of each open box that share one code of a column, by box and code."""

    box: IntArray
    """Ascending, in [0, m); every box occurs; shape (n_groups,)."""
    code: IntArray
    """Ascending within a box, shape (n_groups,)."""
    rows: FloatArray
    """Rows per group, shape (n_groups,)."""
    guiding: FloatArray
    """Those of them that guide, shape (n_groups,)."""
    guide: FloatArray
    """Sum of the guides of these, shape (n_groups, n_guides)."""

    def by_code(self) -> IntArray:
        """Order the groups of a box by code; missing comes last."""
        return np.arange(self.box.size)

    def missing_first(self, missing: int) -> IntArray:
        """Order the groups of a box by code, missing before all others."""
        return np.lexsort((self.code != missing, self.box))

    def by_guide(self) -> IntArray:
        """Order the groups of a box by what they say of the target.

        That is the class probability, or the principal axis of the class probabilities when there are more than two
        classes. The best of all subsets is then a cut of this order for two classes (Fisher 1958), and close to one
        for more (Coppersmith, Hong, Hosking 1999). A group without a row that guides is like its whole box.
        """
        return np.lexsort((self.code, self._axis(), self.box))

    def _axis(self) -> FloatArray:
        """Place each group on the direction in which the guides of its box differ most, shape (n_groups,)."""
        m = int(self.box[-1]) + 1
        centre = per_row(_sums(self.box, m, self.guide), np.bincount(self.box, self.guiding))
        mean = np.where(self.guiding[:, None] > 0, per_row(self.guide, self.guiding), centre[self.box])
        if mean.shape[1] < 2:
            return np.asarray(mean.sum(axis=1))
        away = mean - centre[self.box]
        axis = np.eye(mean.shape[1])[_sums(self.box, m, self.guiding[:, None] * away**2).argmax(axis=1)]
        for _ in range(_POWER_STEPS):
            along = self.guiding * (away * axis[self.box]).sum(axis=1)
            axis = _sums(self.box, m, along[:, None] * away)
            axis /= np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return np.asarray((away * axis[self.box]).sum(axis=1))

    def best_cut(
        self, order: IntArray, floor: FloatArray, worth: tuple[float, float], *, fills: bool = False
    ) -> tuple[FloatArray, IntArray]:
        """Find the best cut of each box that leaves its groups in this order and `floor` rows, shape (m,), a side.

        Its score is the share of the guides' variance that it explains and, times the second `worth`, what it shows
        of the column: codes that a row is distinguished from. Both are additive over cuts. With `fills` it counts for
        less where fewer boxes can be made of the two sides than of the whole.

        Returns
        -------
        score : FloatArray
            Shape (m,); 0 where no cut is allowed.
        last : IntArray
            Place in `order` of the last group going left, shape (m,); -1 where no cut is allowed.
        """
        box = self.box[order]
        starts = np.searchsorted(box, np.arange(floor.size + 1))
        start, stop = starts[:-1], starts[1:]
        rows, guide = np.cumsum(self.rows[order]), np.cumsum(self.guide[order], axis=0)
        guiding = np.cumsum(self.guiding[order])
        rows_before, guide_before = rows[start] - self.rows[order[start]], guide[start] - self.guide[order[start]]
        guiding_before = guiding[start] - self.guiding[order[start]]
        n, whole = rows[stop - 1] - rows_before, guide[stop - 1] - guide_before
        n_guiding = guiding[stop - 1] - guiding_before
        left = rows - rows_before[box]
        at = np.flatnonzero((left >= floor[box]) & (n[box] - left >= floor[box]))
        box, left = box[at], left[at]
        right, low = n[box] - left, guide[at] - guide_before[box]
        high = whole[box] - low
        below = guiding[at] - guiding_before[box]
        above = n_guiding[box] - below
        # sum of squares between the two sides: by so much the cut raises the variance that the boxes explain
        sides = per_row((low**2).sum(axis=1), below) + per_row((high**2).sum(axis=1), above)
        gain = sides - per_row((whole**2).sum(axis=1), n_guiding)[box]
        # a row on the left is distinguished from every code on the right, and the other way round
        apart = left * (stop[box] - at - 1) + right * (at + 1 - start[box])
        score = worth[0] * np.maximum(gain, 0.0) + worth[1] * apart
        if fills:  # boxes that may still be made of the two sides, of those that may be made of the box
            least = floor[box]
            score = score * ((left // least + right // least) / (n[box] // least)) ** _FULL
        by_score = np.lexsort((-score, box))
        first = by_score[np.flatnonzero(np.diff(box[by_score], prepend=-1))]
        best, last = np.zeros(floor.size), np.full(floor.size, -1)
        best[box[first]], last[box[first]] = score[first], at[first]
        return best, last


@dataclass(frozen=True, kw_only=True, eq=False)
class _View:
    """One order in which the codes of a column may be cut in two."""

    column: int
    """Number of the column."""
    order: Callable[[_BoxGroups], IntArray] | None
    """Orders the groups of the column, box by box; None for a column that is divided along a hierarchy."""


def _views(columns: Sequence[CodedColumn], constrained: bool, declared: Mapping[str, Ladder]) -> list[_View]:
    """Return the orders of all columns.

    Where requirements look at sensitive values, categories are also cut in an order that knows nothing of the target:
    if the target is sensitive, the most informative cuts on it are the ones that are not allowed.
    """
    views = []
    for number, column in enumerate(columns):
        missing = column.missing
        if column.name in declared:
            views.append(_View(column=number, order=None))
            continue
        if column.ordered or constrained:
            views.append(_View(column=number, order=_BoxGroups.by_code))
        if not column.ordered:
            views.append(_View(column=number, order=_BoxGroups.by_guide))
        elif missing is not None:
            views.append(_View(column=number, order=partial(_BoxGroups.missing_first, missing=missing)))
    return views


class BoxGrowth:
    """The boxes as they are cut, all open boxes at once.

    Parameters
    ----------
    columns : sequence of CodedColumn
        The distinct entries, shape (n_entries,) each.
    whole : Partition
        All entries in one class, with their weights.
    guide : FloatArray
        Sums over the rows of each entry that guide, shape (n_entries, n_guides), integers.
    guiding : FloatArray, optional
        How many rows of each entry guide, shape (n_entries,); all by default. The requirements count every row.
    requirements : sequence of Requirement
        On the entries; met by all of them as one class.
    declared : mapping of column name to Ladder, optional
        Columns that are divided along these and in no other way.
    detail_weights : mapping of column name to float
        Multiplies what cuts by a column are worth, above 0; 1 by default.
    fills : bool
        Whether cuts after which fewer boxes are possible count for less.
    """

    def __init__(
        self,
        columns: Sequence[CodedColumn],
        whole: Partition,
        guide: FloatArray,
        requirements: Sequence[Requirement],
        declared: Mapping[str, Ladder] = MappingProxyType({}),
        detail_weights: Mapping[str, float] = MappingProxyType({}),
        *,
        guiding: FloatArray | None = None,
        fills: bool = False,
    ) -> None:
        self._fills = fills
        self._weight = [detail_weights.get(column.name, 1.0) for column in columns]
        self.splits = BoxNodes()
        self.node = whole.classes.copy()
        self._columns = columns
        self._weights = np.ones(self.node.size, dtype=np.int64) if whole.weights is None else whole.weights
        self._rows = self._weights.astype(np.float64)
        self._guide, self._guiding = guide, self._rows if guiding is None else guiding
        # k in rows is kept by the floor of every cut; only the other requirements have to be checked
        of_classes = [r for r in requirements if not isinstance(r, SharedSets)]
        self._requirements = [r for r in of_classes if not isinstance(r, AtLeastK) or r.units is not None]
        self._sets = [GrowingSets(r, self._weights) for r in requirements if isinstance(r, SharedSets)]
        self._min_rows = max((r.k for r in requirements if isinstance(r, AtLeastK)), default=1)
        self._declared = declared
        self._views = _views(columns, bool(self._requirements), declared)
        self._view_column = np.array([view.column for view in self._views] + [-1])
        squares = np.sort(per_row(guide**2, self._guiding), axis=None)  # sorted, so that their order cannot matter
        spread = squares.sum() - (guide.sum(axis=0) ** 2).sum() / max(self._guiding.sum(), 1.0)
        self._guide_worth = 1.0 / spread if spread > 0 else 0.0
        self._open = np.zeros(1, dtype=np.int64)
        self._floor = self._lowest(1)

    def _lowest(self, m: int) -> FloatArray:
        return np.full((m, len(self._views)), float(self._min_rows))

    def grow(self) -> None:
        """Cut until no box can be cut."""
        while self._open.size:
            self._step()

    def cut_first(self, number: int) -> bool:
        """Cut one open box by a column, the one where that is worth most; False where no box can be."""
        while self._open.size:
            n_nodes = self.splits.column.size
            if not self._step(only=number):
                return False
            if self.splits.column.size > n_nodes:
                return True
        return False

    def _step(self, only: int | None = None) -> bool:
        """Cut every open box at its best cut, or close it where there is none; return whether any had one.

        A cut that breaks a requirement is not made: the box stays open, and its next cut in that order of codes must
        leave more rows on the smaller side. With `only`, the number of a column, one box at most is cut, by this
        column, and all others stay open.
        """
        m = self._open.size
        place = np.full(self.splits.column.size, -1)
        place[self._open] = np.arange(m)
        here = np.flatnonzero(place[self.node] >= 0)
        box = place[self.node[here]]
        view, part, level, n_nodes = self._best_cuts(here, box, m, only)
        column = self._view_column[view]
        n_parts = np.zeros(m, dtype=np.int64)
        np.maximum.at(n_parts, box, part + 1)
        first = np.cumsum(n_parts) - n_parts
        side = first[box] + part
        rows = np.bincount(side, self._rows[here], minlength=int(n_parts.sum()))
        allowed = self._allowed(here, np.where(view[box] < 0, -1, side), first)
        divided, failed = (view >= 0) & allowed, (view >= 0) & ~allowed
        child = self._add(np.where(divided, self._open, -1), column, np.where(divided, n_nodes, 0), first, rows.size)
        moved = divided[box]
        for number in np.unique(column[divided]).tolist():
            cut = moved & (column[box] == number)
            if self._columns[number].name in self._declared:
                self._list_nodes(number, child, side[cut], here[cut], level[box[cut]], (part < n_nodes[box])[cut])
            else:
                self._describe(number, self._open[box[cut]], here[cut], part[cut] == 0)
        self.node[here[moved]] = child[side[moved]]
        smallest = np.minimum.reduceat(rows, first)
        self._floor[failed, view[failed]] = np.floor(_BALANCE * smallest[failed]) + 1
        waits = failed if only is None else ~divided
        of_part = np.repeat(np.arange(m), n_parts)
        # a box with fewer than 2 k rows has no cut with k rows on either side
        large = child[divided[of_part] & (rows >= 2 * self._min_rows)]
        self._floor = np.concatenate([self._floor[waits], self._lowest(large.size)])
        self._open = np.concatenate([self._open[waits], large])
        return bool((view >= 0).any())

    def _add(self, nodes: IntArray, column: IntArray, n_nodes: IntArray, first: IntArray, n_parts: int) -> IntArray:
        """Make the nodes for the parts of each box, shape (n_parts,).

        Parameters
        ----------
        nodes : IntArray
            Node of each box, -1 where it is not cut; shape (m,).
        column : IntArray
            Column each box is cut on, shape (m,).
        n_nodes : IntArray
            How many parts are split off the box one after the other, shape (m,); what is left comes after them.
        first : IntArray
            Number of the first part of each box, shape (m,).
        """
        child = np.full(n_parts, -1)
        rest = nodes.copy()
        for at in range(int(n_nodes.max(initial=0))):
            split = np.flatnonzero(n_nodes > at)
            left = self.splits.add(rest[split], column[split])
            self.splits.amid[rest[split]] = at > 0
            child[first[split] + at], rest[split] = left, left + 1
        ends = np.append(first[1:], n_parts)
        leaves_rest = np.flatnonzero((n_nodes > 0) & (first + n_nodes < ends))
        child[(first + n_nodes)[leaves_rest]] = rest[leaves_rest]
        return child

    def _list_nodes(
        self, number: int, child: IntArray, side: IntArray, entries: IntArray, level: IntArray, heavy: BoolArray
    ) -> None:
        """Send every code of a node of a declared hierarchy left where that node was split off."""
        column = self._columns[number]
        levels = self._declared[column.name].levels
        code = column.codes[entries]
        sides, example = np.unique(side[heavy], return_index=True)
        for part, entry in zip(sides.tolist(), np.flatnonzero(heavy)[example].tolist(), strict=True):
            groups = levels[level[entry]]
            codes = np.flatnonzero(groups == groups[code[entry]])
            self.splits.list_codes(np.full(codes.size, self.splits.parent[child[part]]), codes)

    def _allowed(self, here: IntArray, part: IntArray, first: IntArray) -> BoolArray:
        """Return a mask of the boxes that may be cut into the given parts (-1: not cut), shape (m,).

        `first` is the number of the first part of each box.
        """
        if not self._requirements:
            return np.ones(first.size, dtype=bool)
        n_parts = int(part.max(initial=first[-1])) + 1
        classes = np.zeros(self.node.size, dtype=np.int64)  # class 0: all that is not being cut
        classes[here] = part + 1
        partition = Partition(classes, n_parts + 1, self._weights)
        released, broken = np.ones(classes.size, dtype=bool), np.zeros(n_parts + 1, dtype=bool)
        for requirement in self._requirements:
            broken |= requirement.violated(partition, released)
        allowed = ~np.logical_or.reduceat(broken[1:], first)
        for sets in self._sets:
            self._strike_rare(sets, here, part, first, allowed)
        return allowed

    @staticmethod
    def _strike_rare(sets: GrowingSets, here: IntArray, part: IntArray, first: IntArray, allowed: BoolArray) -> None:
        """Strike the cuts after which a set of rows would be too rare; one after the other, since cuts add up."""
        cut = part >= 0
        entries, sides = here[cut], part[cut]
        box = np.searchsorted(first, sides, side="right") - 1
        order = np.argsort(box, kind="stable")
        boxes, begins = np.unique(box[order], return_index=True)
        for number, mine in zip(boxes.tolist(), np.split(order, begins)[1:], strict=True):
            if allowed[number]:
                allowed[number] = sets.divide(entries[mine], sides[mine] - first[number])

    def _best_cuts(
        self, here: IntArray, box: IntArray, m: int, only: int | None = None
    ) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return the best cut of each of m boxes; with `only`, by this column, of the box where it is worth most.

        Where codes are listed, the left side is the smaller one: codes that the box does not hold go with the larger.

        Returns
        -------
        view : IntArray
            What it is cut by, -1 for no cut; shape (m,).
        part : IntArray
            Part that each entry goes to, 0 for the left one; shape (n_entries,).
        level : IntArray
            Level of a declared hierarchy at which it is divided, shape (m,).
        n_nodes : IntArray
            How many parts are split off, one after the other; shape (m,).
        """
        best, chosen, part = np.zeros(m), np.full(m, -1), np.zeros(here.size, dtype=np.int64)
        level, n_nodes = np.full(m, -1), np.ones(m, dtype=np.int64)
        for number, column in enumerate(self._columns):
            if only not in (None, number):
                continue
            group, groups = self._groups(number, here, box)
            worth = (self._guide_worth, _DETAIL / (self._rows.sum() * max(column.size - 1, 1) * len(self._columns)))
            for at in np.flatnonzero(self._view_column == number).tolist():
                order = self._views[at].order
                if order is None:
                    cuts = divide(
                        groups.box,
                        groups.code,
                        groups.rows,
                        groups.guiding,
                        groups.guide,
                        self._declared[column.name].levels,
                        self._floor[:, at],
                        worth,
                    )
                    score, goes = cuts.score, cuts.part[group]
                else:
                    cuts, places = None, order(groups)
                    score, last = groups.best_cut(places, self._floor[:, at], worth, fills=self._fills)
                    rank = np.empty(places.size, dtype=np.int64)
                    rank[places] = np.arange(places.size)
                    goes = (rank[group] > last[box]).astype(np.int64)
                score = self._weight[number] * score
                better = score > best
                best[better], chosen[better] = score[better], at
                part = np.where(better[box], goes, part)
                level[better] = -1 if cuts is None else cuts.level[better]
                n_nodes[better] = 1 if cuts is None else cuts.n_nodes[better]
        if only is not None:
            chosen[np.arange(m) != int(np.argmax(best))] = -1
        part[chosen[box] < 0] = 0
        listed = np.array([not self._columns[number].ordered for number in self._view_column])[chosen] & (level < 0)
        left = np.bincount(box, self._rows[here] * (part == 0), minlength=m)
        swapped = listed & (chosen >= 0) & (2 * left > np.bincount(box, self._rows[here], minlength=m))
        return chosen, np.where(swapped[box], 1 - part, part), level, n_nodes

    def _groups(self, number: int, here: IntArray, box: IntArray) -> tuple[IntArray, _BoxGroups]:
        """Group entries by box and code of a column; return the group of each, and the groups."""
        code = self._columns[number].codes[here].astype(np.int64)
        group, n_groups = densify(box * self._columns[number].size + code)
        member = np.empty(n_groups, dtype=np.int64)
        member[group] = np.arange(group.size)
        return group, _BoxGroups(
            box=box[member],
            code=code[member],
            rows=np.bincount(group, self._rows[here], minlength=n_groups).astype(np.float64),
            guiding=np.bincount(group, self._guiding[here], minlength=n_groups).astype(np.float64),
            guide=_sums(group, n_groups, self._guide[here]),
        )

    def _describe(self, number: int, node: IntArray, entries: IntArray, left: BoolArray) -> None:
        """Write down which codes of a column go left at the nodes that were cut on it."""
        column, code = self._columns[number], self._columns[number].codes[entries].astype(np.int64)
        if not column.ordered:
            pair = np.unique(node[left] * column.size + code[left])
            self.splits.list_codes(pair // column.size, pair % column.size)
            return
        nodes, cut = np.unique(node, return_inverse=True)
        end = column.size if column.missing is None else column.missing
        number_left, number_right = left & (code < end), ~left & (code < end)
        last, first = np.full(nodes.size, -1), np.full(nodes.size, end)
        np.maximum.at(last, cut[number_left], code[number_left])
        np.minimum.at(first, cut[number_right], code[number_right])
        between = (last + first - 1) // 2  # half of the codes that the box does not hold to each side
        self.splits.at_most[nodes] = np.where(last < 0, -1, np.where(first == end, end - 1, between))
        if column.missing is not None:
            sides = np.bincount(2 * cut + ~left, self._rows[entries], minlength=2 * nodes.size).reshape(-1, 2)
            # where a box holds no missing cell, those of a later table go with the majority
            missing_left = sides[:, 0] > sides[:, 1]
            missing_left[cut[code == end]] = left[code == end]
            self.splits.missing_left[nodes] = missing_left


def _sums(groups: IntArray, n_groups: int, values: FloatArray) -> FloatArray:
    """Sum the rows of `values`, shape (n, d), by group; shape (n_groups, d)."""
    out = np.empty((n_groups, values.shape[1]))
    for at in range(values.shape[1]):
        out[:, at] = np.bincount(groups, values[:, at], minlength=n_groups)
    return out
