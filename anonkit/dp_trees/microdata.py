# SPDX-License-Identifier: Apache-2.0
"""Synthetic rows drawn from noisy cells, in the schema of the source, at no further privacy loss.

Runs of cells of a number in which noisy counts show nobody, such as those far above most rows.

What noise leaves in many empty cells is little by itself, but moves a mean and a deviation far. A run of cells, one of
the halves, quarters, … of the range, is empty where its sum does not exceed the noise of a sum, while its neighbour of
the same width has clearly more. A cell in it that exceeds the noise by itself is not empty, nor are neighbouring runs
that exceed it together. Post-processing of noisy counts, at no privacy loss.

The leaves of a forest as cells: the attribute codes that lead to each, and the number of rows it represents.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.domains.number_bins import Grid
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.published.tree_attributes import Attribute, TreeSchema
from anonkit.published.tree_model import LeafContent, PublishedForest
from anonkit.randomness import Randomness

ROWS_WITHOUT_COUNTS = 10_000
"""Number of rows that a tree without counts represents: a public number, spread evenly over the domain."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LeafCells:
    """The leaves of all trees as cells, one entry per leaf, tree after tree."""

    schema: TreeSchema
    tree: NDArray[np.int64]
    """Tree of each leaf."""
    allowed: tuple[BoolArray, ...]
    """For each attribute which codes lead to the leaf, shape (n_leaves, codes)."""
    contents: tuple[LeafContent, ...]

    @property
    def size(self) -> int:
        """Number of leaves."""
        return self.tree.size

    def volumes(self) -> FloatArray:
        """Return the share of the domain that each leaf covers, shape (n_leaves,); 1 in sum over a tree."""
        shares = np.ones(self.size)
        for allowed in self.allowed:
            shares = shares * allowed.mean(axis=1)
        return shares

    def counts(self) -> FloatArray:
        """Return the rows of each class that a leaf represents, before anything is clipped, shape (n_leaves, classes).

        Noisy counts as they are. A leaf with a label only represents its share of the domain.
        """
        classes = self.schema.n_classes
        out = np.zeros((self.size, classes))
        even = self.volumes() * ROWS_WITHOUT_COUNTS
        for leaf, content in enumerate(self.contents):
            if content.counts is not None:
                out[leaf] = content.counts
            elif content.label is not None:
                out[leaf, content.label] = even[leaf]
        return out


def cells_of(forest: PublishedForest) -> LeafCells:
    """Return the cells of all trees."""
    schema = forest.schema
    trees: list[int] = []
    boxes: list[list[BoolArray]] = []
    contents: list[LeafContent] = []
    for number, _ in enumerate(forest.trees):
        for box, content in _leaves(forest, number):
            trees.append(number)
            boxes.append(box)
            contents.append(content)
    allowed = tuple(
        np.array([box[at] for box in boxes], dtype=bool).reshape(len(boxes), attribute.codes)
        for at, attribute in enumerate(schema.attributes)
    )
    return LeafCells(schema=schema, tree=np.array(trees, dtype=np.int64), allowed=allowed, contents=tuple(contents))


def _leaves(forest: PublishedForest, number: int) -> Iterator[tuple[list[BoolArray], LeafContent]]:
    """Yield the box and contents of each leaf of a tree; a leaf that no code leads to any more is left out."""
    tree, attributes = forest.trees[number], forest.schema.attributes
    boxes: dict[int, list[BoolArray]] = {0: [np.ones(attribute.codes, dtype=bool) for attribute in attributes]}
    for at, node in enumerate(tree):
        box = boxes.pop(at)
        if node.attribute is None:
            if node.leaf is not None:
                yield box, node.leaf
            continue
        branches = attributes[node.attribute].branches(node.at)
        for place, child in enumerate(node.children):
            smaller = list(box)
            smaller[node.attribute] = box[node.attribute] & (branches == place)
            boxes[child] = smaller


def label_of(attribute: Attribute, allowed: BoolArray) -> str:
    """Return the codes of a cell in words: `*`, an interval, a group of a taxonomy, or categories with bars between."""
    if allowed.all():
        return "*"
    if not allowed.any():
        return "none"
    domain = attribute.domain
    group = attribute.taxonomy.name_of(allowed) if attribute.paths else None
    if group is not None:
        return group
    if not isinstance(domain, Grid):
        return "|".join(
            "missing" if name is None else name for name, is_in in zip(domain.labels(), allowed, strict=True) if is_in
        )
    parts = []
    inside = np.flatnonzero(allowed[: domain.cells])
    if inside.size:
        edges = domain.edges()
        for run in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1):
            closing = "]" if run[-1] == domain.cells - 1 else ")"
            parts.append(f"[{edges[run[0]]:g}, {edges[run[-1] + 1]:g}{closing}")
    if domain.has_missing and allowed[-1]:
        parts.append("missing")
    return "|".join(parts)


@dataclass(frozen=True, kw_only=True, eq=False)
class SyntheticRows:
    """Synthetic rows as codes of the public domains."""

    codes: IntArray
    """Shape (n_attributes, n_rows)."""
    labels: IntArray
    """Shape (n_rows,)."""


def rows_by_cell(cells: LeafCells, share: float, words: UniformStream) -> IntArray:
    """Return the number of rows to draw of each leaf and class, one after another, shape (n_leaves * n_classes,).

    Parameters
    ----------
    cells : Cells
    share : float
        Share of the rows of a cell that is drawn: 1 / trees where every tree represents the whole table.
    words : UniformStream

    Returns
    -------
    int64 array
        As many rows as the noisy counts of a tree say in sum.

    Privacy
    -------
    Post-processing of published cells: no privacy loss.
    """
    counts = cells.counts()
    weights = np.zeros_like(counts)
    for tree in np.unique(cells.tree):
        of_tree = cells.tree == tree
        weights[of_tree] = consistent(counts[of_tree]) * share
    reachable = np.all([allowed.any(axis=1) for allowed in cells.allowed], axis=0)
    weights[~reachable] = 0.0
    return rounded(weights.reshape(-1), words)


@dataclass(frozen=True, kw_only=True, eq=False)
class UniformRows:
    """Draws synthetic rows uniformly within each cell."""

    allowed: tuple[NDArray[np.bool_], ...]
    """For each attribute which codes lead to each leaf, shape (n_leaves, codes)."""
    n_classes: int

    def __call__(self, numbers: IntArray, randomness: Randomness) -> list[IntArray]:
        """Return the labels and the codes of each attribute for so many rows of each leaf and class."""
        words = UniformStream(randomness)
        leaves, labels = np.divmod(np.repeat(np.arange(numbers.size), numbers), self.n_classes)
        return [labels, *(_uniform(allowed, leaves, words) for allowed in self.allowed)]


def consistent(counts: FloatArray) -> FloatArray:
    """Return the nearest counts that are not negative and have the sum of the noisy ones (or 0), same shape.

    Clipping alone would add rows: with many empty cells the noise that is cut off below is kept above. Taking the same
    amount from every count and clipping then keeps the sum, which the noise leaves unbiased.
    """
    total = max(float(counts.sum()), 0.0)
    flat = np.sort(counts.reshape(-1))[::-1]
    surplus = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    last = int(np.flatnonzero(flat > surplus)[-1]) if bool((flat > surplus).any()) else 0
    return np.asarray(np.maximum(counts - surplus[last], 0.0)) if total > 0 else np.zeros_like(counts)


def rounded(weights: FloatArray, words: UniformStream) -> IntArray:
    """Return integers near weights, with the same mean and, up to one, the same sum (systematic sampling)."""
    offset = float(words.fractions(1)[0]) / (1 << 52)
    ends = np.floor(np.cumsum(weights) + offset).astype(np.int64)
    return np.diff(ends, prepend=0)


def _uniform(allowed: NDArray[np.bool_], leaves: IntArray, words: UniformStream) -> IntArray:
    """Return for each row an allowed code of its leaf, all equally likely, shape (n_rows,)."""
    order = np.argsort(~allowed, axis=1, kind="stable")
    sizes = allowed.sum(axis=1, dtype=np.int64)
    if not leaves.size:
        return np.zeros(0, dtype=np.int64)
    return np.asarray(order[leaves, words.below(sizes[leaves])], dtype=np.int64)


_ABOVE = 2.0
"""Standard deviations of its noise that what is not empty is above."""
_ABOVE_AT_BOUNDS = 0.0
"""The same of the first and the last cell: all that lies beyond the bounds counts there."""
_SHORTEST = 1 / 8
"""Part of the cells that an empty run has, at least: what is near to many rows may well have a few."""
_CLEARLY = 4.2
"""Standard deviations of its noise that a neighbour has more, at least."""
_TOGETHER = 3.0
"""Standard deviations of its noise that the sum of neighbouring empty runs is not above: else rows are in them."""
_FEWEST_CELLS, _FEWEST_ROWS = 12, 8.0
"""Nothing is empty among fewer cells, or with fewer rows, in standard deviations of the noise of all of them."""


def supported_cells(counts: FloatArray, deviation: float) -> BoolArray:
    """Return a mask of the cells in the support of noisy counts, shape (cells,).

    Parameters
    ----------
    counts : float array, shape (cells,)
        Noisy rows of the cells of a number, in their order.
    deviation : float
        Of the noise of each.
    """
    supported = np.ones(counts.size, dtype=bool)
    if counts.size < _FEWEST_CELLS or counts.sum() < _FEWEST_ROWS * deviation * math.sqrt(counts.size):
        return supported
    _cut(counts, deviation, 0, counts.size, supported)
    _keep_measured_runs(counts, deviation, supported)
    limits = np.full(counts.size, _ABOVE)
    limits[[0, -1]] = _ABOVE_AT_BOUNDS
    return np.asarray(supported | (counts > limits * deviation))


def without_empty(counts: FloatArray, deviation: float) -> FloatArray:
    """Return counts that are not negative, 0 in empty cells, and add up to the noisy ones; see `supported_cells`."""
    supported, out = supported_cells(counts, deviation), np.zeros(counts.size)
    total, own = max(float(counts.sum()), 0.0), np.maximum(counts[supported], 0.0)
    if own.sum() > 0:
        out[supported] = consistent(counts[supported] + (total - counts[supported].sum()) * own / own.sum())
    return out


def _cut(counts: FloatArray, deviation: float, first: int, after: int, supported: BoolArray) -> None:
    """Mark the empty half of a run that is not empty, and go on in a half that is not."""
    if after - first < max(2 * _SHORTEST * counts.size, 4):
        return
    middle = (first + after) // 2
    halves = ((first, middle), (middle, after))
    sums = [float(counts[low:high].sum()) for low, high in halves]
    noise = [deviation * math.sqrt(high - low) for low, high in halves]
    if all(own <= _ABOVE * part for own, part in zip(sums, noise, strict=True)):
        return
    for at, (low, high) in enumerate(halves):
        other = sums[1 - at] * (high - low) / (after - first - (high - low))
        if sums[at] > _ABOVE * noise[at]:
            _cut(counts, deviation, low, high, supported)
        elif other - sums[at] > _CLEARLY * noise[at]:
            supported[low:high] = False


def _keep_measured_runs(counts: FloatArray, deviation: float, supported: BoolArray) -> None:
    """Unmark neighbouring runs that are each within their noise, and together clearly above it."""
    ends = np.flatnonzero(np.diff(np.concatenate([[True], supported, [True]]).astype(np.int8)))
    for first, after in ends.reshape(-1, 2).tolist():
        if counts[first:after].sum() > _TOGETHER * deviation * math.sqrt(after - first):
            supported[first:after] = True
