# SPDX-License-Identifier: Apache-2.0
"""Cutting a table into boxes: which cut of a box is best, and which cuts are allowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from anonkit.mechanisms.coding import CodedColumn, IntArray, densify
from anonkit.mechanisms.equivalence import AtLeastK, BoolArray, FloatArray, Partition, Requirement

LISTED = -2
"""Stands for the last code going left at a node that lists its codes."""

_DETAIL = 0.1  # what the whole detail of the table is worth, when all that is known of the target is worth 1
_BALANCE = 1.25  # after a cut that broke a requirement, the smaller side must grow by this
_POWER_STEPS = 4


class Splits:
    """The nodes of the tree, as they are made: column and left child of each, and the codes that go left."""

    def __init__(self) -> None:
        self.column = np.full(1, -1)
        self.left = np.full(1, -1)
        self.at_most = np.full(1, LISTED)
        self.missing_left = np.zeros(1, dtype=bool)
        self._listed: list[tuple[IntArray, IntArray]] = []

    def add(self, nodes: IntArray, column: IntArray) -> IntArray:
        """Give each of the nodes two children; return the left ones."""
        left = self.column.size + 2 * np.arange(nodes.size)
        self.column[nodes], self.left[nodes] = column, left
        new = np.full(2 * nodes.size, -1)
        self.column, self.left = np.append(self.column, new), np.append(self.left, new)
        self.at_most = np.append(self.at_most, np.full(new.size, LISTED))
        self.missing_left = np.append(self.missing_left, np.zeros(new.size, dtype=bool))
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
class _Groups:
    """The rows of each open box that share one code of a column, by box and code."""

    box: IntArray
    """Ascending, in [0, m); every box occurs; shape (n_groups,)."""
    code: IntArray
    """Ascending within a box, shape (n_groups,)."""
    rows: FloatArray
    """Rows per group, shape (n_groups,)."""
    guide: FloatArray
    """Sum of the guides of these rows, shape (n_groups, n_guides)."""

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
        for more (Coppersmith, Hong, Hosking 1999).
        """
        return np.lexsort((self.code, self._axis(), self.box))

    def _axis(self) -> FloatArray:
        """Place each group on the direction in which the guides of its box differ most, shape (n_groups,)."""
        mean = self.guide / self.rows[:, None]
        if mean.shape[1] < 2:
            return np.asarray(mean.sum(axis=1))
        m = int(self.box[-1]) + 1
        centre = _sums(self.box, m, self.guide) / np.bincount(self.box, self.rows)[:, None]
        away = mean - centre[self.box]
        axis = np.eye(mean.shape[1])[_sums(self.box, m, self.rows[:, None] * away**2).argmax(axis=1)]
        for _ in range(_POWER_STEPS):
            along = self.rows * (away * axis[self.box]).sum(axis=1)
            axis = _sums(self.box, m, along[:, None] * away)
            axis /= np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return np.asarray((away * axis[self.box]).sum(axis=1))

    def best_cut(self, order: IntArray, floor: FloatArray, worth: tuple[float, float]) -> tuple[FloatArray, IntArray]:
        """Find the best cut of each box that leaves its groups in this order and `floor` rows, shape (m,), a side.

        Its score is the share of the guides' variance that it explains and, times the second `worth`, what it tells
        of the column: codes that a row is told apart from. Both are additive over cuts.

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
        rows_before, guide_before = rows[start] - self.rows[order[start]], guide[start] - self.guide[order[start]]
        n, whole = rows[stop - 1] - rows_before, guide[stop - 1] - guide_before
        left = rows - rows_before[box]
        at = np.flatnonzero((left >= floor[box]) & (n[box] - left >= floor[box]))
        box, left = box[at], left[at]
        right, low = n[box] - left, guide[at] - guide_before[box]
        high = whole[box] - low
        told = (low**2).sum(axis=1) / left + (high**2).sum(axis=1) / right - ((whole**2).sum(axis=1) / n)[box]
        apart = left * (stop[box] - at - 1) + right * (at + 1 - start[box])
        score = worth[0] * np.maximum(told, 0.0) + worth[1] * apart
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
    order: Callable[[_Groups], IntArray]
    """Orders the groups of the column, box by box."""


def _views(columns: Sequence[CodedColumn], constrained: bool) -> list[_View]:
    """Return the orders of all columns.

    Where requirements look at sensitive values, categories are also cut in an order that knows nothing of the target:
    if the target is sensitive, the cuts that tell most of it are the ones that are not allowed.
    """
    views = []
    for number, column in enumerate(columns):
        missing = column.missing
        if column.ordered or constrained:
            views.append(_View(column=number, order=_Groups.by_code))
        if not column.ordered:
            views.append(_View(column=number, order=_Groups.by_guide))
        elif missing is not None:
            views.append(_View(column=number, order=partial(_Groups.missing_first, missing=missing)))
    return views


class Growth:
    """The boxes as they are cut, all open boxes at once.

    Parameters
    ----------
    columns : sequence of CodedColumn
        The distinct entries, shape (n_entries,) each.
    whole : Partition
        All entries in one class, with their weights.
    guide : FloatArray
        Sums over the rows of each entry, shape (n_entries, n_guides), whole numbers.
    requirements : sequence of Requirement
        On the entries; met by all of them as one class.
    """

    def __init__(
        self, columns: Sequence[CodedColumn], whole: Partition, guide: FloatArray, requirements: Sequence[Requirement]
    ) -> None:
        self.splits = Splits()
        self.node = whole.classes.copy()
        self._columns = columns
        self._weights = np.ones(self.node.size, dtype=np.int64) if whole.weights is None else whole.weights
        self._rows = self._weights.astype(np.float64)
        self._guide = guide
        self._requirements = [r for r in requirements if not isinstance(r, AtLeastK) or r.units is not None]
        self._min_rows = max((r.k for r in requirements if isinstance(r, AtLeastK)), default=1)
        self._views = _views(columns, constrained=bool(self._requirements))
        self._view_column = np.array([view.column for view in self._views] + [-1])
        squares = np.sort(guide**2 / self._rows[:, None], axis=None)  # sorted, so that their order cannot matter
        spread = squares.sum() - (guide.sum(axis=0) ** 2).sum() / self._rows.sum()
        self._guide_worth = 1.0 / spread if spread > 0 else 0.0
        self._open = np.zeros(1, dtype=np.int64)
        self._floor = self._lowest(1)

    def _lowest(self, m: int) -> FloatArray:
        return np.full((m, len(self._views)), float(self._min_rows))

    def grow(self) -> None:
        """Cut until no box can be cut."""
        while self._open.size:
            self._step()

    def _step(self) -> None:
        """Cut every open box at its best cut, or close it where there is none.

        A cut that breaks a requirement is not made: the box stays open, and its next cut in that order of codes must
        leave more rows on the smaller side.
        """
        m = self._open.size
        place = np.full(self.splits.column.size, -1)
        place[self._open] = np.arange(m)
        here = np.flatnonzero(place[self.node] >= 0)
        box = place[self.node[here]]
        view, left = self._best_cuts(here, box, m)
        column, side = self._view_column[view], 2 * box + ~left
        sides = np.bincount(side, self._rows[here], minlength=2 * m).reshape(m, 2)
        allowed = self._allowed(here, np.where(view[box] < 0, -1, side), m)
        made, failed = (view >= 0) & allowed, (view >= 0) & ~allowed
        child = np.full(m, -1)
        child[made] = self.splits.add(self._open[made], column[made])
        moved = made[box]
        for number in np.unique(column[made]).tolist():
            cut = moved & (column[box] == number)
            self._describe(number, self._open[box[cut]], here[cut], left[cut])
        self.node[here[moved]] = (child[box] + ~left)[moved]
        self._floor[failed, view[failed]] = np.floor(_BALANCE * sides[failed].min(axis=1)) + 1
        large = (child[:, None] + np.arange(2))[made[:, None] & (sides >= 2 * self._min_rows)]
        self._floor = np.concatenate([self._floor[failed], self._lowest(large.size)])
        self._open = np.concatenate([self._open[failed], large])

    def _allowed(self, here: IntArray, part: IntArray, m: int) -> BoolArray:
        """Tell which of m boxes may be cut into the given parts (2 a box; -1: not cut), shape (m,)."""
        if not self._requirements:
            return np.ones(m, dtype=bool)
        classes = np.zeros(self.node.size, dtype=np.int64)  # class 0: all that is not being cut
        classes[here] = part + 1
        partition = Partition(classes, 2 * m + 1, self._weights)
        kept, broken = np.ones(classes.size, dtype=bool), np.zeros(2 * m + 1, dtype=bool)
        for requirement in self._requirements:
            broken |= requirement.violated(partition, kept)
        return ~(broken[1::2] | broken[2::2])

    def _best_cuts(self, here: IntArray, box: IntArray, m: int) -> tuple[IntArray, BoolArray]:
        """Return the view of the best cut of each of m boxes, -1 for none, and which entries go left.

        Where codes are listed, the left side is the smaller one: codes that the box does not hold go with the larger.
        """
        best, chosen, left = np.zeros(m), np.full(m, -1), np.zeros(here.size, dtype=bool)
        for number, column in enumerate(self._columns):
            group, groups = self._groups(number, here, box)
            worth = (self._guide_worth, _DETAIL / (self._rows.sum() * max(column.size - 1, 1) * len(self._columns)))
            for at in np.flatnonzero(self._view_column == number).tolist():
                order = self._views[at].order(groups)
                score, last = groups.best_cut(order, self._floor[:, at], worth)
                rank = np.empty(order.size, dtype=np.int64)
                rank[order] = np.arange(order.size)
                better = score > best
                best[better], chosen[better] = score[better], at
                left = np.where(better[box], rank[group] <= last[box], left)
        sides = np.bincount(2 * box + ~left, self._rows[here], minlength=2 * m).reshape(m, 2)
        listed = np.array([not self._columns[number].ordered for number in self._view_column])[chosen]
        return chosen, left ^ (listed & (sides[:, 0] > sides[:, 1]))[box]

    def _groups(self, number: int, here: IntArray, box: IntArray) -> tuple[IntArray, _Groups]:
        """Group entries by box and code of a column; return the group of each, and the groups."""
        code = self._columns[number].codes[here].astype(np.int64)
        group, n_groups = densify(box * self._columns[number].size + code)
        member = np.empty(n_groups, dtype=np.int64)
        member[group] = np.arange(group.size)
        return group, _Groups(
            box=box[member],
            code=code[member],
            rows=np.bincount(group, self._rows[here], minlength=n_groups).astype(np.float64),
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
            missing_left = sides[:, 0] > sides[:, 1]
            missing_left[cut[code == end]] = left[code == end]
            self.splits.missing_left[nodes] = missing_left


def _sums(groups: IntArray, n_groups: int, values: FloatArray) -> FloatArray:
    """Sum the rows of `values`, shape (n, d), by group; shape (n_groups, d)."""
    out = np.empty((n_groups, values.shape[1]))
    for at in range(values.shape[1]):
        out[:, at] = np.bincount(groups, values[:, at], minlength=n_groups)
    return out
