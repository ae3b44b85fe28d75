# SPDX-License-Identifier: Apache-2.0
"""Workload-aware local recoding: a tree of boxes over the quasi-identifiers, guided by the target.

Mondrian cuts the table in two again and again, each time on one column, as long as both parts keep the promise
(LeFevre, DeWitt, Ramakrishnan, "Workload-aware anonymization", KDD 2006). What guides the cuts here are not the raw
labels, of which a box of k rows has too few to trust, but the class probabilities that a boosted forest gives to rows
it has not learned from: the forest is distilled into boxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.errors import GuaranteeError, ParameterError
from anonkit.mechanisms.coding import UNLABELLED, CodedColumn, IntArray, densify
from anonkit.mechanisms.equivalence import AtLeastK, BoolArray, FloatArray, Partition, Requirement
from anonkit.randomness import Randomness

_DETAIL = 0.03  # what the whole detail of the table is worth, when all that is known of the target is worth 1
_GRID = 2.0**20  # probabilities are integers on this grid, so that no sum depends on the order of the rows
_FOLDS = 5
_FOREST_ROWS = 300_000  # labelled rows the forest learns from; more no longer change the boxes
_FOREST_TREES = 800
_FOREST_CLASSES = 32  # the rarest classes beyond these guide as one
_FOREST_CATEGORIES = 255  # the limit of histogram boosting; the rarest categories beyond it are learned as one
_LISTED = -2
_BALANCE = 1.5  # after a cut that broke a requirement, the smaller side must grow by this
_POWER_STEPS = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class BoxTree:
    """A binary tree that divides all combinations of codes into disjoint boxes, one per leaf.

    An inner node sends the codes `left_codes(node)` of one column to its left child, all others to the right child.
    Parents come before their children.
    """

    sizes: IntArray
    """Number of codes of each column, shape (n_columns,)."""
    column: IntArray
    """Column a node splits on, -1 for a leaf; shape (n_nodes,); node 0 is the root."""
    left: IntArray
    """Left child of each node (the right child is the next node), -1 for a leaf; shape (n_nodes,)."""
    at_most: IntArray
    """Last code going left at a node of an ordered column, -2 at a node that lists its codes; shape (n_nodes,)."""
    missing_left: BoolArray
    """Whether missing, the last code, goes left too at a node of an ordered column; shape (n_nodes,)."""
    listed: IntArray
    """The codes going left at the nodes that list them, node after node, ascending."""
    listed_from: IntArray
    """Where the codes of each node begin in `listed`, shape (n_nodes + 1,)."""

    @property
    def n_leaves(self) -> int:
        """Number of boxes."""
        return int((self.column < 0).sum())

    @property
    def leaf(self) -> IntArray:
        """Number of the leaf at each node, in [0, n_leaves), -1 at an inner node; shape (n_nodes,)."""
        is_leaf = self.column < 0
        return np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)

    def left_codes(self, node: int) -> IntArray:
        """Return the codes of its column that an inner node sends left, ascending."""
        if self.at_most[node] == _LISTED:
            return self.listed[self.listed_from[node] : self.listed_from[node + 1]]
        low = np.arange(self.at_most[node] + 1)
        return np.append(low, self.sizes[self.column[node]] - 1) if self.missing_left[node] else low

    def assign(self, codes: Sequence[NDArray[np.integer]]) -> IntArray:
        """Return the leaf of each row, given one code array per column; shape (n_rows,).

        Raises
        ------
        ParameterError
            If a code is outside its column's range: the tree says nothing about values it was not grown for.
        """
        for number, (column, size) in enumerate(zip(codes, self.sizes, strict=True)):
            if column.size and not (column.min() >= 0 and column.max() < size):
                raise ParameterError(f"codes of column {number} must be in [0, {size})")
        owner = np.repeat(np.arange(self.column.size), np.diff(self.listed_from))
        keys = [owner[mine] * size + self.listed[mine] for mine, size in self._of_columns(self.column[owner])]
        node = np.zeros(codes[0].size if codes else 0, dtype=np.int64)
        rows = np.arange(node.size)
        while (rows := rows[self.column[node[rows]] >= 0]).size:
            for number, (mine, size) in enumerate(self._of_columns(self.column[node[rows]])):
                here = rows[mine]
                goes_left = self._goes_left(node[here], codes[number][here], keys[number], size)
                node[here] = self.left[node[here]] + ~goes_left
        return self.leaf[node]

    def _of_columns(self, column: IntArray) -> Iterator[tuple[BoolArray, int]]:
        for number, size in enumerate(self.sizes):
            yield column == number, int(size)

    def _goes_left(self, node: IntArray, code: NDArray[np.integer], keys: IntArray, size: int) -> BoolArray:
        left = (code <= self.at_most[node]) | (self.missing_left[node] & (code == size - 1))
        if keys.size:
            wanted = node * size + code
            left |= keys[np.minimum(np.searchsorted(keys, wanted), keys.size - 1)] == wanted
        return left

    def regions(self) -> tuple[IntArray, tuple[tuple[IntArray, ...], ...]]:
        """Return the codes each box allows in each column.

        Returns
        -------
        allowed : IntArray
            Shape (n_leaves, n_columns): which of the column's sets of codes the leaf allows.
        sets : tuple of tuple of IntArray
            Per column the distinct sets of codes, each ascending.
        """
        allowed = np.zeros((self.column.size, self.sizes.size), dtype=np.int64)
        sets = [[np.arange(size)] for size in self.sizes]
        known = [{found[0].tobytes(): 0} for found in sets]
        for node in np.flatnonzero(self.column >= 0):
            number, child = self.column[node], self.left[node]
            allowed[child : child + 2] = allowed[node]
            codes = sets[number][allowed[node, number]]
            goes_left = np.isin(codes, self.left_codes(node))
            for offset, part in enumerate((codes[goes_left], codes[~goes_left])):
                seen = known[number].setdefault(part.tobytes(), len(sets[number]))
                if seen == len(sets[number]):
                    sets[number].append(part)
                allowed[child + offset, number] = seen
        leaves = allowed[self.column < 0]
        return _only_used(leaves, sets)


def _only_used(allowed: IntArray, sets: list[list[IntArray]]) -> tuple[IntArray, tuple[tuple[IntArray, ...], ...]]:
    """Drop the sets that only inner nodes allow."""
    kept = []
    for number, found in enumerate(sets):
        used, allowed[:, number] = np.unique(allowed[:, number], return_inverse=True)
        kept.append(tuple(found[index] for index in used))
    return allowed, tuple(kept)


def grow_boxes(
    columns: Sequence[CodedColumn], labels: IntArray, requirements: Sequence[Requirement], *, seed: int = 0
) -> tuple[BoxTree, Partition]:
    """Divide all rows into boxes that meet every requirement and keep what a forest knows of the target.

    Each box is cut where the cut keeps most of the target's class probabilities (share of their variance explained)
    and, as far as these leave it open, most of the columns' detail (share of their values told apart). Cutting ends
    where no part would meet the requirements. The forest's probabilities are out of fold for the rows that it learns
    from, so a row's own label never guides its own box.

    Parameters
    ----------
    columns : sequence of CodedColumn
        The quasi-identifiers, shape (n_rows,) each.
    labels : IntArray
        The class of each row, `UNLABELLED` where it must not guide; shape (n_rows,).
    requirements : sequence of Requirement
        What every box must meet, counted over all rows, labelled or not.
    seed : int
        Chooses the folds and the forest. The result depends on nothing else but the set of rows.

    Returns
    -------
    tree : BoxTree
        The boxes.
    partition : Partition
        The leaf of each row.

    Raises
    ------
    GuaranteeError
        If the table as one box does not meet the requirements.

    Privacy
    -------
    Every box meets every requirement; no row is suppressed. The place of the cuts depends on the data, the labels
    included, and is itself published with the boxes: k-anonymity is a promise about the released table, not about
    what the choice of boxes tells. A box of one class discloses that class, unless a requirement on the target forbids it.
    """
    n_rows = labels.size
    _check_whole(n_rows, requirements)
    order = sorted(range(len(columns)), key=lambda number: columns[number].name)
    ordered = [columns[number] for number in order]
    cells = Partition.of([column.codes for column in ordered], n_rows)
    growth = _Growth(ordered, cells, _soft_labels(ordered, cells, labels, seed), requirements)
    while growth.open.size:
        growth.step()
    tree = growth.splits.tree(np.array(order, dtype=np.int64))
    return tree, Partition(tree.leaf[growth.node][cells.classes], tree.n_leaves)


def _check_whole(n_rows: int, requirements: Sequence[Requirement]) -> None:
    whole, kept = Partition(np.zeros(n_rows, dtype=np.int64), 1), np.ones(n_rows, dtype=bool)
    for requirement in requirements:
        if n_rows == 0 or requirement.violated(whole, kept).any():
            asked = f"k = {requirement.k}" if isinstance(requirement, AtLeastK) else type(requirement).__name__
            raise GuaranteeError(
                f"the table as one class ({n_rows} rows) does not meet {asked}",
                "no recoding can: ask for less, or add rows",
            )


def _first(groups: IntArray, n_groups: int) -> IntArray:
    """Return one member of each group, shape (n_groups,)."""
    member = np.empty(n_groups, dtype=np.int64)
    member[groups[::-1]] = np.arange(groups.size)[::-1]
    return member


def _sums(groups: IntArray, n_groups: int, values: FloatArray) -> FloatArray:
    """Sum the rows of `values`, shape (n, d), by group; shape (n_groups, d)."""
    out = np.empty((n_groups, values.shape[1]))
    for number in range(values.shape[1]):
        out[:, number] = np.bincount(groups, weights=values[:, number], minlength=n_groups)
    return out


# --- the forest that guides ---------------------------------------------------------------------------------------


def _soft_labels(columns: Sequence[CodedColumn], cells: Partition, labels: IntArray, seed: int) -> FloatArray:
    """Sum over the rows of each cell the class probabilities a forest gives them; shape (n_cells, n_guides).

    Two classes guide by one probability; no label, or one class, guides by nothing.
    """
    labelled = np.flatnonzero(labels != UNLABELLED)
    classes, n_classes = _frequent(labels[labelled], _FOREST_CLASSES)
    if n_classes < 2:
        return np.empty((cells.n_classes, 0))
    shuffled = np.lexsort((classes, cells.classes[labelled]))[Randomness.seeded(seed).permutation(labelled.size)]
    member = _first(cells.classes, cells.n_classes)
    features = np.stack([_feature(column)[member] for column in columns], axis=1)
    categorical = [not column.ordered for column in columns]
    outside = cells.sizes().astype(np.float64)
    total, everywhere = np.zeros((2, cells.n_classes, n_classes))
    n_folds = min(_FOLDS, labelled.size)
    fold = np.arange(min(labelled.size, _FOREST_ROWS)) % n_folds
    for number in range(n_folds):
        learn, held = shuffled[: fold.size][fold != number], shuffled[: fold.size][fold == number]
        found = _forest(features, cells.classes[labelled[learn]], classes[learn], n_classes, categorical, seed)
        count = np.bincount(cells.classes[labelled[held]], minlength=cells.n_classes)
        total += count[:, None] * found
        everywhere += found / n_folds
        outside -= count
    total += outside[:, None] * everywhere
    return np.rint(_GRID * (total[:, 1:] if n_classes == 2 else total))


def _frequent(codes: IntArray, limit: int) -> tuple[IntArray, int]:
    """Renumber codes as 0..m-1 with m at most `limit`, the rarest as one; return them and m."""
    dense, m = densify(codes)
    if m <= limit:
        return dense, m
    place = np.empty(m, dtype=np.int64)
    place[np.argsort(-np.bincount(dense), kind="stable")] = np.arange(m)
    return np.minimum(place, limit - 1)[dense], limit


def _feature(column: CodedColumn) -> FloatArray:
    if not column.ordered:
        return _frequent(column.codes.astype(np.int64), _FOREST_CATEGORIES)[0].astype(np.float64)
    feature = column.codes.astype(np.float64)
    if column.missing is not None:
        feature[column.codes == column.missing] = np.nan
    return feature


def _forest(
    features: FloatArray, rows: IntArray, classes: IntArray, n_classes: int, categorical: list[bool], seed: int
) -> FloatArray:
    """Learn from the given rows of `features`, return class probabilities of all, shape (n_cells, n_classes)."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    out = np.zeros((features.shape[0], n_classes))
    present = np.unique(classes)
    if present.size < 2 or not features.shape[1]:
        out[:] = np.bincount(classes, minlength=n_classes) / classes.size
        return out
    forest = HistGradientBoostingClassifier(
        learning_rate=0.1,
        max_iter=max(25, min(100, _FOREST_TREES // present.size)),
        max_leaf_nodes=15,
        min_samples_leaf=5,
        l2_regularization=5.0,
        max_features=0.5,
        categorical_features=categorical,
        early_stopping=False,
        random_state=seed,
    )
    with threadpool_limits(limits=1, user_api="openmp"):  # threads that wait for a shared core make it 50 times slower
        out[:, present] = forest.fit(features[rows], classes).predict_proba(features)
    return out


# --- growing the boxes --------------------------------------------------------------------------------------------


class _Splits:
    """The nodes of the tree, as they are made."""

    def __init__(self, sizes: IntArray) -> None:
        self.sizes = sizes
        self.column = np.full(1, -1, dtype=np.int64)
        self.left = self.column.copy()
        self.at_most = np.full(1, _LISTED, dtype=np.int64)
        self.missing_left = np.zeros(1, dtype=bool)
        self.listed: list[tuple[IntArray, IntArray]] = []

    def add(self, nodes: IntArray, column: IntArray) -> IntArray:
        """Give each of the nodes two children; return the left ones."""
        left = self.column.size + 2 * np.arange(nodes.size)
        self.column[nodes], self.left[nodes] = column, left
        for name, value in (("column", -1), ("left", -1), ("at_most", _LISTED), ("missing_left", False)):
            grown = getattr(self, name)
            setattr(self, name, np.append(grown, np.full(2 * nodes.size, value, dtype=grown.dtype)))
        return left

    def tree(self, order: IntArray) -> BoxTree:
        """Return the tree, its columns numbered as the caller's: `order` holds the caller's number of each."""
        sizes = np.empty_like(self.sizes)
        sizes[order] = self.sizes
        owner, code = (np.concatenate([part[i] for part in self.listed] or [self.sizes[:0]]) for i in range(2))
        ranked = np.lexsort((code, owner))
        return BoxTree(
            sizes=sizes,
            column=np.where(self.column < 0, -1, np.append(order, -1)[self.column]),
            left=self.left,
            at_most=self.at_most,
            missing_left=self.missing_left,
            listed=code[ranked],
            listed_from=np.searchsorted(owner[ranked], np.arange(self.column.size + 1)),
        )


class _Growth:
    """The boxes as they are cut, all open boxes at once. Cells are the distinct combinations of codes."""

    def __init__(
        self, columns: Sequence[CodedColumn], cells: Partition, guide: FloatArray, requirements: Sequence[Requirement]
    ) -> None:
        self.columns = columns
        self.cells = cells
        self.rows = cells.sizes().astype(np.float64)
        self.guide = guide
        spread = (guide**2 / self.rows[:, None]).sum() - (guide.sum(axis=0) ** 2).sum() / self.rows.sum()
        self.guide_worth = 1.0 / spread if spread > 0 else 0.0
        member = _first(cells.classes, cells.n_classes)
        self.codes = [column.codes[member].astype(np.int64) for column in columns]
        self.requirements = [r for r in requirements if not isinstance(r, AtLeastK) or r.units is not None]
        self.min_rows = max((r.k for r in requirements if isinstance(r, AtLeastK)), default=1)
        self.node = np.zeros(cells.n_classes, dtype=np.int64)
        self.open = np.zeros(1, dtype=np.int64)
        self.floor = np.full((1, len(columns)), float(self.min_rows))
        self.splits = _Splits(np.array([column.size for column in columns], dtype=np.int64))

    def step(self) -> None:
        """Cut every open box at its best cut, or close it where there is none.

        A cut that breaks a requirement is not made: the box stays open, and its next cut on that column must leave
        more rows on the smaller side.
        """
        m = self.open.size
        place = np.full(self.splits.column.size, -1)
        place[self.open] = np.arange(m)
        here = np.flatnonzero(place[self.node] >= 0)
        box = place[self.node[here]]
        column, left = self._best_cuts(here, box, m)
        sides = np.bincount(2 * box + ~left, weights=self.rows[here], minlength=2 * m).reshape(m, 2)
        made = (column >= 0) & self._meets(here, np.where(column[box] < 0, -1, 2 * box + ~left), m)
        failed = (column >= 0) & ~made
        self.floor[failed, column[failed]] = np.floor(_BALANCE * sides[failed].min(axis=1)) + 1
        child = np.full(m, -1)
        child[made] = self.splits.add(self.open[made], column[made])
        moved = made[box]
        for number in np.unique(column[made]):
            mine = moved & (column[box] == number)
            self._describe(int(number), self.open[box[mine]], here[mine], left[mine])
        self.node[here[moved]] = (child[box] + ~left)[moved]
        opened = (child[:, None] + np.arange(2))[made[:, None] & (sides >= 2 * self.min_rows)]
        fresh = np.full((opened.size, len(self.columns)), float(self.min_rows))
        self.floor = np.concatenate([self.floor[failed], fresh])
        self.open = np.concatenate([self.open[failed], opened])

    def _meets(self, here: IntArray, part: IntArray, m: int) -> BoolArray:
        """Tell which of m boxes could be cut into the given parts (2 per box, -1 for none), shape (m,)."""
        if not self.requirements:
            return np.ones(m, dtype=bool)
        classes = np.zeros(self.cells.n_classes, dtype=np.int64)  # class 0: whatever is not to be cut
        classes[here] = part + 1
        partition = Partition(classes[self.cells.classes], 2 * m + 1)
        kept, broken = np.ones(partition.classes.size, dtype=bool), np.zeros(2 * m + 1, dtype=bool)
        for requirement in self.requirements:
            broken |= requirement.violated(partition, kept)
        return ~(broken[1::2] | broken[2::2])

    def _best_cuts(self, here: IntArray, box: IntArray, m: int) -> tuple[IntArray, BoolArray]:
        """Return the column of the best cut of each of m boxes, -1 for none, and whether each cell goes left.

        Where codes are listed, the smaller side is the left one: the larger gets the codes that the box has not seen.
        """
        best, column, left = np.zeros(m), np.full(m, -1), np.zeros(here.size, dtype=bool)
        for number in range(len(self.columns)):
            for score, goes_left in self._cuts(number, here, box, m):
                better = score > best
                best[better], column[better] = score[better], number
                left = np.where(better[box], goes_left, left)
        sides = np.bincount(2 * box + ~left, weights=self.rows[here], minlength=2 * m).reshape(m, 2)
        lists = np.array([not c.ordered for c in self.columns] + [False])[column]
        return column, left ^ (lists & (sides[:, 0] > sides[:, 1]))[box]

    def _cuts(self, number: int, here: IntArray, box: IntArray, m: int) -> Iterator[tuple[FloatArray, BoolArray]]:
        """Yield the best cut of each box on one column, for each order of its codes: score and side of each cell."""
        column = self.columns[number]
        pair, n_pairs = densify(box * column.size + self.codes[number][here])
        member = _first(pair, n_pairs)
        groups = _Groups(
            box=box[member],
            code=self.codes[number][here[member]],
            rows=np.bincount(pair, weights=self.rows[here], minlength=n_pairs),
            guide=_sums(pair, n_pairs, self.guide[here]),
        )
        worth = _DETAIL / (self.rows.sum() * max(column.size - 1, 1) * len(self.columns))
        for order in groups.orders(column):
            score, last = groups.best(order, self.floor[:, number], self.guide_worth, worth)
            rank = np.empty(n_pairs, dtype=np.int64)
            rank[order] = np.arange(n_pairs)
            yield score, rank[pair] <= last[box]

    def _describe(self, number: int, node: IntArray, cells: IntArray, left: BoolArray) -> None:
        """Write down which codes of a column go left at the nodes that were cut on it."""
        column, code = self.columns[number], self.codes[number][cells]
        if not column.ordered:
            pair, n_pairs = densify(node[left] * column.size + code[left])
            member = _first(pair, n_pairs)
            self.splits.listed.append((node[left][member], code[left][member]))
            return
        nodes, group = np.unique(node, return_inverse=True)
        end = column.size if column.missing is None else column.missing
        missing = code == end
        last, first = np.full(nodes.size, -1), np.full(nodes.size, end)
        np.maximum.at(last, group[left & ~missing], code[left & ~missing])
        np.minimum.at(first, group[~left & ~missing], code[~left & ~missing])
        middle = (last + first - 1) // 2  # the codes between belong to nobody here: half to each side
        self.splits.at_most[nodes] = np.where(last < 0, -1, np.where(first == end, end - 1, middle))
        if column.missing is not None:
            sides = np.bincount(2 * group + ~left, weights=self.rows[cells], minlength=2 * nodes.size).reshape(-1, 2)
            missing_left = sides[:, 0] > sides[:, 1]
            missing_left[group[missing]] = left[missing]
            self.splits.missing_left[nodes] = missing_left


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
    """Sum of the class probabilities of these rows, shape (n_groups, n_guides)."""

    def orders(self, column: CodedColumn) -> Iterator[IntArray]:
        """Yield the orders in which a column's codes may be cut in two, as permutations of the groups, box by box.

        Numbers keep their order, with missing at either end. Categories are ordered by what they say of the target
        within the box: by the class probability, or by its principal axis when there are more than two classes
        (optimal for two: Fisher 1958, Breiman et al. 1984; Coppersmith, Hong, Hosking 1999 for more).
        """
        if not column.ordered:
            yield np.lexsort((self.code, self._axis(), self.box))
            return
        yield np.arange(self.box.size)
        if column.missing is not None:
            yield np.lexsort((self.code != column.missing, self.box))

    def _axis(self) -> FloatArray:
        """Place each group on the direction in which the guides of its box differ most, shape (n_groups,)."""
        mean = self.guide / self.rows[:, None]
        if mean.shape[1] < 2:
            return mean.sum(axis=1)
        m = int(self.box[-1]) + 1
        centre = _sums(self.box, m, self.guide) / np.bincount(self.box, weights=self.rows)[:, None]
        away = mean - centre[self.box]
        axis = np.eye(mean.shape[1])[_sums(self.box, m, self.rows[:, None] * away**2).argmax(axis=1)]
        for _ in range(_POWER_STEPS):
            axis = _sums(self.box, m, (self.rows * (away * axis[self.box]).sum(axis=1))[:, None] * away)
            axis /= np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), np.finfo(float).tiny)
        return (away * axis[self.box]).sum(axis=1)

    def best(
        self, order: IntArray, floor: FloatArray, guide_worth: float, detail_worth: float
    ) -> tuple[FloatArray, IntArray]:
        """Return the score of each box's best cut in this order, 0 for none, and the place of its last left group, or -1.

        Both sides must have `floor` rows, shape (m,).
        """
        box = self.box[order]
        starts = np.searchsorted(box, np.arange(floor.size + 1))
        start, stop = starts[:-1], starts[1:]
        rows, guide = np.cumsum(self.rows[order]), np.cumsum(self.guide[order], axis=0)
        rows_before, guide_before = rows[start] - self.rows[order][start], guide[start] - self.guide[order][start]
        n, whole = rows[stop - 1] - rows_before, guide[stop - 1] - guide_before
        left = rows - rows_before[box]
        at = np.flatnonzero((left >= floor[box]) & (n[box] - left >= floor[box]))
        box, left = box[at], left[at]
        right, low = n[box] - left, guide[at] - guide_before[box]
        told = (low**2).sum(axis=1) / left + ((whole[box] - low) ** 2).sum(axis=1) / right
        told -= (whole[box] ** 2).sum(axis=1) / n[box]
        detail = left * (stop[box] - at - 1) + right * (at + 1 - start[box])
        score = guide_worth * np.maximum(told, 0.0) + detail_worth * detail
        ranked = np.lexsort((-score, box))
        box = box[ranked]
        winner = np.flatnonzero(np.diff(box, prepend=-1))
        best, last = np.zeros(floor.size), np.full(floor.size, -1)
        best[box[winner]], last[box[winner]] = score[ranked[winner]], at[ranked[winner]]
        return best, last
