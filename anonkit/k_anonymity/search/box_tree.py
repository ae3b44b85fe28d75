# SPDX-License-Identifier: Apache-2.0
"""Workload-aware local recoding (Mondrian): a tree of boxes over the quasi-identifiers, guided by the target.

Mondrian cuts the table in two again and again, each time on one column, as long as both parts keep the promise
(LeFevre, DeWitt, Ramakrishnan, "Workload-aware anonymization", KDD 2006). What guides the cuts here are not the raw
labels, of which a box of k rows has too few to trust, but the class probabilities that a boosted forest gives to rows
it has not learned from: the forest is distilled into boxes.

The guide of a search without a target: the columns themselves, each predicted by the others.

A cut by one column keeps its own variance and that part of every other column's which the two have in common, so that
detail goes where it explains most of the joint distribution: the multi-output criterion of regression trees (Segal
1992), with all columns as outputs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, CodedColumn, FloatArray, IntArray, densify
from anonkit.errors import GuaranteeError, ParameterError
from anonkit.k_anonymity.search.box_growth import LISTED, BoxGrowth, BoxNodes
from anonkit.k_anonymity.search.box_pruning import supported_cuts, with_a_cut_of
from anonkit.k_anonymity.search.equivalence import NumberedRows, Partition, Requirement
from anonkit.k_anonymity.search.hierarchy_levels import Ladder
from anonkit.k_anonymity.search.out_of_sample_predictions import GRID, Predicted, soft_labels, soft_numbers

_VALUES = 8  # values of a category that the guide distinguishes
_AXES = 64  # outputs at most: memory is rows by these, whatever the number of columns
_STEPS = 2.0**20  # the guide is rounded to parts of the spread of a column, so that sums are exact


def joint_guide(columns: Sequence[CodedColumn], rows: FloatArray) -> FloatArray:
    """Return the guide in place of a target, for each entry.

    Parameters
    ----------
    columns : sequence of CodedColumn
        Shape (n_entries,) each, in an order that does not depend on that in the table.
    rows : FloatArray
        Rows of each entry, shape (n_entries,).

    Returns
    -------
    FloatArray
        Shape (n_entries, n_outputs), at most 64 outputs, each column's of total variance 1, multiples of 2**-20.
    """
    per_column = max(_AXES // max(len(columns), 1), 1)
    outputs = [_outputs(column, rows, per_column) for column in columns[:_AXES]]
    return np.concatenate([np.empty((rows.size, 0)), *outputs], axis=1)


def _outputs(column: CodedColumn, rows: FloatArray, most: int) -> FloatArray:
    """Return the outputs of one column: the rank of a number, or which of its commonest values a category is."""
    codes = column.codes.astype(np.int64)
    if column.ordered:
        values = _ranks(codes, rows, column.size)[:, None]
    else:
        place, n_indicators = _by_frequency(codes, rows, column.size), max(min(_VALUES, most, column.size - 1), 1)
        values = np.stack([place == value for value in range(n_indicators)], axis=1).astype(np.float64)
    weight = rows.sum()
    centred = values - (rows[:, None] * values).sum(axis=0) / weight
    spread = float((rows[:, None] * centred**2).sum() / weight)
    return np.rint(centred / np.sqrt(spread) * _STEPS) / _STEPS if spread > 0 else np.empty((rows.size, 0))


def _ranks(codes: IntArray, rows: FloatArray, size: int) -> FloatArray:
    """Return the mean rank of each code among all rows, in [0, 1]; missing, the last code, ranks last."""
    counts = np.bincount(codes, rows, minlength=size)
    return np.asarray(((np.cumsum(counts) - counts / 2) / counts.sum())[codes])


def _by_frequency(codes: IntArray, rows: FloatArray, size: int) -> IntArray:
    """Renumber codes so that the commonest among the rows is 0."""
    place = np.empty(size, dtype=np.int64)
    place[np.argsort(-np.bincount(codes, rows, minlength=size), kind="stable")] = np.arange(size)
    return np.asarray(place[codes])


def relatedness(columns: Sequence[CodedColumn]) -> dict[str, float]:
    """Return the share of the other columns that each one explains: mean R² over their outputs, in [0, 1].

    Parameters
    ----------
    columns : sequence of CodedColumn
        Shape (n_rows,) each.
    """
    columns = sorted(columns, key=lambda column: column.name)
    rows = np.ones(columns[0].codes.size)
    outputs = [_outputs(column, rows, _VALUES) for column in columns]
    explained = {}
    for at, column in enumerate(columns):
        codes = column.codes.astype(np.int64)
        counts = np.maximum(np.bincount(codes, minlength=column.size), 1)
        shares = [_explained(codes, counts, other) for to, other in enumerate(outputs) if to != at and other.shape[1]]
        explained[column.name] = float(np.mean(shares)) if shares else 0.0
    return explained


def _explained(codes: IntArray, counts: IntArray, output: FloatArray) -> float:
    """Return the share of the variance of an output between the values of a column, less that of chance."""
    between = sum(float((np.bincount(codes, axis, minlength=counts.size) ** 2 / counts).sum()) for axis in output.T)
    share, chance = between / codes.size, (np.unique(codes).size - 1) / max(codes.size - 1, 1)
    return max((share - chance) / max(1.0 - chance, 1e-9), 0.0)


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
    """True where missing, the last code, goes left too at a node of an ordered column; shape (n_nodes,)."""
    listed: IntArray
    """The codes going left at the nodes that list them, node after node, ascending."""
    listed_from: IntArray
    """Offset of the codes of each node in `listed`, shape (n_nodes + 1,)."""

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
        if self.at_most[node] == LISTED:
            return self.listed[self.listed_from[node] : self.listed_from[node + 1]]
        low = np.arange(self.at_most[node] + 1)
        return np.append(low, self.sizes[self.column[node]] - 1) if self.missing_left[node] else low

    def assign(self, codes: Sequence[NDArray[np.integer]]) -> IntArray:
        """Return the leaf of each row, given one code array per column; shape (n_rows,).

        Raises
        ------
        ParameterError
            If a code is outside its column's range: the tree does not cover values it was not grown for.
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
            index = node * size + code
            left |= keys[np.minimum(np.searchsorted(keys, index), keys.size - 1)] == index
        return np.asarray(left, dtype=bool)

    def with_cuts(self, retained: BoolArray) -> tuple[BoxTree, IntArray]:
        """Return the tree with some of its cuts.

        Parameters
        ----------
        retained : BoolArray
            Inner nodes that stay, shape (n_nodes,); none below one that goes.

        Returns
        -------
        tree : BoxTree
            The boxes below a cut that goes are one box.
        of_node : IntArray
            Node of the new tree that each node, or the nearest above it that stays, has become; shape (n_nodes,).
        """
        inner = np.flatnonzero(retained)
        stays = np.zeros(retained.size, dtype=bool)
        stays[0] = stays[self.left[inner]] = stays[self.left[inner] + 1] = True
        of_node = np.cumsum(stays) - 1
        for node in np.flatnonzero((self.column >= 0) & ~retained).tolist():  # parents come before their children
            of_node[self.left[node] : self.left[node] + 2] = of_node[node]
        n_listed = np.where(retained, np.diff(self.listed_from), 0)
        tree = BoxTree(
            sizes=self.sizes,
            column=np.where(retained, self.column, -1)[stays],
            left=np.where(retained, of_node[self.left], -1)[stays],
            at_most=np.where(retained, self.at_most, LISTED)[stays],
            missing_left=(retained & self.missing_left)[stays],
            listed=self.listed[np.repeat(retained, np.diff(self.listed_from))],
            listed_from=np.append(0, np.cumsum(n_listed[stays])),
        )
        return tree, of_node

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
        known = [{members[0].tobytes(): 0} for members in sets]
        for node in np.flatnonzero(self.column >= 0).tolist():
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
    used_sets = []
    for number, members in enumerate(sets):
        used, allowed[:, number] = np.unique(allowed[:, number], return_inverse=True)
        used_sets.append(tuple(members[index] for index in used))
    return allowed, tuple(used_sets)


def grow_boxes(
    columns: Sequence[CodedColumn],
    labels: IntArray,
    requirements: Sequence[Requirement],
    declared: Mapping[str, Ladder] = MappingProxyType({}),
    *,
    numbers: FloatArray | None = None,
    jointly: bool = False,
    kept_columns: Collection[str] = (),
    detail_weights: Mapping[str, float] = MappingProxyType({}),
    hidden: BoolArray | None = None,
    brief: bool = False,
    seed: int = 0,
) -> tuple[BoxTree, Partition]:
    """Divide all rows into boxes that meet every requirement and keep what a forest knows of the target.

    Each box is cut where the cut keeps most of the target's class probabilities (share of their variance explained)
    and, as far as these leave it open, most of the columns' detail (share of their values distinguished). Cutting ends
    where no cut leaves two parts that meet the requirements; then boxes that differ only by chance in the target are
    put together again (see `box_pruning`). The probabilities of a row never come from its own label
    (see `soft_labels`), so the boxes follow what is true of other rows too.

    Parameters
    ----------
    columns : sequence of CodedColumn
        The quasi-identifiers, shape (n_rows,) each.
    labels : IntArray
        The class of each row, `UNLABELLED` where it must not guide; shape (n_rows,).
    requirements : sequence of Requirement
        What every box must meet, counted over all rows, labelled or not.
    declared : mapping of column name to Ladder, optional
        Columns that are divided along a hierarchy and in no other way: into nodes that enough rows of the box are in,
        and what is left of the box, which may be nothing.
    numbers : FloatArray, optional
        The target as a number, NaN where it must not guide, shape (n_rows,): its predictions guide then, and the labels
        do not.
    jointly : bool
        Whether there is no target, and the columns guide themselves (see `joint_guide`).
    kept_columns : collection of str
        Columns by which at least one cut must stay, where any meets the requirements: one that would be put together
        again, or else the first of the table.
    detail_weights : mapping of column name to float
        Multiplies what cuts by a column are worth, above 0; 1 by default.
    hidden : BoolArray, optional
        Rows that guide nothing, shape (n_rows,): no box is cut by what a forest predicts of them either. They are in
        the boxes as rows of a later table would be, but the requirements count them. A row that merely has no label
        guides by its predictions.
    brief : bool
        Whether a forest of few rounds guides, which takes a tenth of the time.
    seed : int
        Chooses the folds and the forest. The result depends on nothing else but the set of rows.

    Returns
    -------
    tree : BoxTree
        The boxes.
    partition : Partition
        The box of each row: leaves that rows are in, in the order of the tree's.

    Raises
    ------
    GuaranteeError
        If the table as one box does not meet the requirements.

    Privacy
    -------
    Every box meets every requirement; no row is suppressed. The place of the cuts depends on the data, the labels
    included, and is itself published with the boxes: k-anonymity is a promise about the released table, not about
    what the choice of boxes discloses. A box of one class discloses that class, unless a requirement on the target
    forbids it.
    """
    tree, partition, _ = guided_boxes(
        columns,
        labels,
        requirements,
        declared,
        numbers=numbers,
        jointly=jointly,
        kept_columns=kept_columns,
        detail_weights=detail_weights,
        hidden=hidden,
        brief=brief,
        seed=seed,
    )
    return tree, partition


def guided_boxes(
    columns: Sequence[CodedColumn],
    labels: IntArray,
    requirements: Sequence[Requirement],
    declared: Mapping[str, Ladder] = MappingProxyType({}),
    *,
    numbers: FloatArray | None = None,
    jointly: bool = False,
    kept_columns: Collection[str] = (),
    detail_weights: Mapping[str, float] = MappingProxyType({}),
    hidden: BoolArray | None = None,
    brief: bool = False,
    seed: int = 0,
) -> tuple[BoxTree, Partition, FloatArray]:
    """Return the boxes of `grow_boxes`, and the prediction of a forest for each row.

    Returns
    -------
    tree, partition
        As `grow_boxes` returns them.
    predicted : FloatArray
        Shares of the classes, or of a number how far it is from the smallest and from the largest, by forests that have
        not learned from the row; shape (n_rows, n_guides), NaN for hidden rows. Nothing, (n_rows, 0), without a target
        that can be predicted.
    """
    n_rows = labels.size
    if n_rows == 0:
        raise GuaranteeError("the table has no rows", "there is nothing to recode")
    rows = NumberedRows.of(columns, requirements)
    everything = np.ones(rows.whole.classes.size, dtype=bool)
    for requirement in rows.requirements:
        if requirement.violated(rows.whole, everything).any():
            raise GuaranteeError(
                f"the table as one class ({n_rows} rows) does not meet {requirement.name}",
                "no recoding can meet it: ask for less, or add rows",
            )
    predicted, guiding = None, rows.weights
    if jointly:
        guide = _of_all_columns(rows)
    else:
        shown = np.ones(n_rows, dtype=bool) if hidden is None else ~hidden
        guiding = np.bincount(rows.entry[shown], minlength=guiding.size).astype(np.float64)
        predicted = (
            soft_labels(rows.columns, rows.entry[shown], labels[shown], seed, brief=brief)
            if numbers is None
            else soft_numbers(rows.columns, rows.entry[shown], numbers[shown], seed, brief=brief)
        )
        guide = predicted.sums
    begun = partial(
        BoxGrowth,
        rows.columns,
        rows.whole,
        guide,
        rows.requirements,
        declared,
        detail_weights,
        guiding=guiding,
        fills=jointly,
    )
    growth = begun()
    growth.grow()
    kept_indices = [number for number, column in enumerate(rows.columns) if column.name in kept_columns]
    if not set(kept_indices) <= set(growth.splits.column.tolist()):
        growth = begun()
        for number in kept_indices:
            growth.cut_first(number)
        growth.grow()
    tree = _tree(columns, rows.columns, growth.splits)
    node = growth.node
    if predicted is not None:
        stays = supported_cuts(growth.splits, node, guiding, predicted)
        for number in kept_indices:
            stays = with_a_cut_of(growth.splits, stays, number)
        tree, of_node = tree.with_cuts(stays)
        node = of_node[node]
    boxes, n_boxes = densify(tree.leaf[node][rows.entry])
    return tree, Partition(boxes, n_boxes), _by_row(predicted, rows, guiding, hidden)


def _by_row(
    predicted: Predicted | None, rows: NumberedRows, guiding: FloatArray, hidden: BoolArray | None
) -> FloatArray:
    """Return the mean prediction of the entry of each row, all shares of one among them; NaN for hidden rows."""
    if predicted is None or not predicted.sums.shape[1]:
        return np.empty((rows.entry.size, 0))
    mean = predicted.sums / (GRID * np.maximum(guiding, 1.0)[:, None])
    mean = np.column_stack([1.0 - mean, mean]) if mean.shape[1] == 1 else mean
    out = mean[rows.entry]
    if hidden is not None:
        out[hidden] = np.nan
    return np.asarray(out)


def _of_all_columns(rows: NumberedRows) -> FloatArray:
    """Return the sums of the joint guide over the rows of each entry, integers; shape (n_entries, n_outputs)."""
    return np.rint(GRID * joint_guide(rows.columns, rows.weights) * rows.weights[:, None])


def _tree(columns: Sequence[CodedColumn], grown: Sequence[CodedColumn], splits: BoxNodes) -> BoxTree:
    """Return the tree with its columns numbered as given; `grown` holds them in the order they were grown in."""
    number_of = {column.name: number for number, column in enumerate(columns)}
    number = np.array([*(number_of[column.name] for column in grown), -1])
    listed, listed_from = splits.listed()
    return BoxTree(
        sizes=np.array([column.size for column in columns]),
        column=number[splits.column],
        left=splits.left,
        at_most=splits.at_most,
        missing_left=splits.missing_left,
        listed=listed,
        listed_from=listed_from,
    )
