# SPDX-License-Identifier: Apache-2.0
"""Synthetic rows drawn from noisy counts, in the schema of the source, at no further privacy loss.

**Cells** are the leaves of a forest: the attribute codes that lead to each, and the number of rows it represents. Rows
are uniform within a cell, or follow histograms: attributes are then independent given leaf and class.

**Consistency.** The class counts of the leaves of a region and the histogram of every attribute each add up to the same
numbers: the rows of the region by class. The sums are averaged by how little noise they have, and what a sum is off by
is taken from its cells in equal parts: least squares, since cells of one kind have the same noise (Hay et al. 2010).

**Empty runs** of cells of a number are those in which noisy counts show nobody, such as those far above most rows. What
noise leaves in many empty cells is little by itself, but moves a mean and a deviation far. A run of cells, one of the
halves, quarters, … of the range, is empty where its sum does not exceed the noise of a sum, while its neighbour of the
same width has clearly more. A cell in it that exceeds the noise by itself is not empty, nor are neighbouring runs that
exceed it together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.domains.number_bins import Grid
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.published.count_evidence import region_of_nodes
from anonkit.published.tree_model import Attribute, LeafContent, Node, PublishedForest, TreeSchema
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


@dataclass(frozen=True, kw_only=True, eq=False)
class AgreedCounts:
    """Noisy counts that agree on the rows of each region by class; not whole, and perhaps negative.

    Privacy
    -------
    Made of published noisy counts alone: no privacy loss.
    """

    leaves: tuple[FloatArray, ...]
    """For each tree the class counts of the leaves, zeros at other nodes, shape (n_nodes, n_classes)."""
    histograms: tuple[FloatArray, ...]
    """For each attribute, shape (n_regions, codes, n_classes); no codes where it was not measured."""

    @classmethod
    def of(
        cls,
        forest: PublishedForest,
        regions: Sequence[int],
        histograms: Sequence[IntArray],
        scale: float,
        count_scale: float,
    ) -> AgreedCounts:
        """Let leaves and histograms agree.

        Parameters
        ----------
        forest : PublishedForest
        regions : sequence of int
            Nodes of the first tree. With several trees the root alone: its rows are those of all trees together.
        histograms : sequence of int64 arrays, shapes (n_regions, codes, n_classes)
            No codes where an attribute was not measured.
        scale, count_scale : float
            Scale of the noise of a cell of the histograms and of the class counts of leaves, in rows.
        """
        trees = [rows_by_class(tree) for tree in forest.trees]
        ends = [np.array([node.is_leaf for node in tree]) for tree in forest.trees]
        inside = [np.zeros(len(tree), dtype=np.int64) for tree in forest.trees]
        inside[0] = region_of_nodes([node.children for node in forest.trees[0]], regions)
        places, leaf = np.concatenate(inside), np.concatenate(ends)
        counts = np.concatenate(trees)
        tables = [np.asarray(table, dtype=np.float64) for table in histograms]
        counted = [table for table in tables if table.shape[1]]
        for region in range(len(regions)):
            own = leaf & (places == region)
            sums = [counts[own].sum(axis=0), *(table[region].sum(axis=0) for table in counted)]
            # variances of the sums, up to one factor: independent noise adds up over the cells
            noise = [count_scale**2 * own.sum(), *(scale**2 * table.shape[1] for table in counted)]
            agreed = np.average(sums, axis=0, weights=1 / np.array(noise))
            counts[own] += (agreed - sums[0]) / own.sum()
            for table, total in zip(counted, sums[1:], strict=True):
                table[region] += (agreed - total) / table.shape[1]
        starts = np.cumsum([len(tree) for tree in trees])[:-1]
        return cls(leaves=tuple(np.split(counts, starts)), histograms=tuple(tables))


def rows_by_class(tree: Sequence[Node]) -> FloatArray:
    """Return the noisy class counts of the leaves, zeros elsewhere, shape (n_nodes, n_classes)."""
    classes = max(len(node.leaf.counts) for node in tree if node.leaf is not None and node.leaf.counts is not None)
    out = np.zeros((len(tree), classes))
    for number, node in enumerate(tree):
        if node.leaf is not None and node.leaf.counts is not None:
            out[number] = node.leaf.counts
    return out


_ROUNDS = 4
_SMOOTH = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class LeafProductModel:
    """The synthetic population that noisy counts describe."""

    weights: FloatArray
    """Rows by leaf and class, consistent, shape (n_leaves, n_classes)."""
    nodes: IntArray
    """The node of each leaf in tree 0, shape (n_leaves,)."""
    region: IntArray
    """The region of each leaf, shape (n_leaves,)."""
    allowed: tuple[BoolArray, ...]
    """For each attribute the codes that lead to each leaf, shape (n_leaves, codes)."""
    shares: tuple[FloatArray, ...]
    """For each attribute how the rows of a region and class are divided, shape (n_regions, codes, n_classes)."""

    @classmethod
    def of(cls, forest: PublishedForest, regions: tuple[int, ...], counts: AgreedCounts) -> LeafProductModel:
        """Return the world of the first tree's leaves and the histograms of its regions.

        Parameters
        ----------
        forest : PublishedForest
        regions : tuple of int
        counts : AgreedCounts
        """
        only = PublishedForest(schema=forest.schema, trees=forest.trees[:1], rows_per_tree=forest.rows_per_tree)
        cells = cells_of(only)
        tree = forest.trees[0]
        nodes = np.flatnonzero([node.is_leaf for node in tree])
        inside = region_of_nodes([node.children for node in tree], regions)
        # a tree of a forest has seen its share of the rows alone
        weights = consistent(counts.leaves[0][nodes]) * len(forest.trees)
        weights[~np.all([allowed.any(axis=1) for allowed in cells.allowed], axis=0)] = 0.0
        return cls(
            weights=weights,
            nodes=nodes,
            region=inside[nodes],
            allowed=cells.allowed,
            shares=tuple(
                _shares(table) if table.shape[1] else _evenly(table, attribute.codes)
                for table, attribute in zip(counts.histograms, forest.schema.attributes, strict=True)
            ),
        )

    @property
    def rows(self) -> float:
        """Number of rows, estimated from the counts."""
        return float(self.weights.sum())

    def blended(self) -> LeafProductModel:
        """Return the population with half of each class's shares taken from all classes together.

        For rows that a model labels anew: they lie where only the accident of the noise separates classes,
        too, and whoever learns from them sees what the model says there.
        """
        classes = self.weights.sum(axis=0)
        classes = classes / classes.sum() if classes.sum() > 0 else np.full(classes.size, 1 / classes.size)
        return replace(
            self, shares=tuple((shares + (shares @ classes)[:, :, np.newaxis]) / 2 for shares in self.shares)
        )

    def without_missing(self, attributes: Sequence[int]) -> LeafProductModel:
        """Return the world in which some attributes, by number, are never missing; their mass goes to their values.

        Leaves that only missing leads to have no rows then, and the others as many more.
        """
        shares, empty = list(self.shares), np.zeros(len(self.weights), dtype=bool)
        for at in attributes:
            own = np.maximum(self.shares[at], 2 * _SMOOTH)  # a leaf of values that nobody has is drawn among these
            own[:, -1] = 0.0
            shares[at] = own / own.sum(axis=1, keepdims=True)
            empty |= ~self.allowed[at][:, :-1].any(axis=1)
        weights = np.where(empty[:, np.newaxis], 0.0, self.weights)
        total = float(weights.sum())
        return replace(self, weights=weights * (self.rows / total if total > 0 else 1.0), shares=tuple(shares))

    def meeting(self, totals: Sequence[FloatArray]) -> LeafProductModel:
        """Return the world whose rows have the values of each attribute as often as its noisy totals say.

        Each region and class had its noise cut off by itself, which leaves some in every empty cell. Their sum over
        regions and classes has less: its own is cut off once, and the shares are scaled to it.

        Parameters
        ----------
        totals : sequence of float arrays, shape (codes,)
            Noisy rows by code; empty where an attribute was not measured.
        """
        shares = [
            own if not noisy.size or noisy.sum() <= 0 else self._scaled(at, own, consistent(noisy) / noisy.sum())
            for at, (own, noisy) in enumerate(zip(self.shares, totals, strict=True))
        ]
        return replace(self, shares=tuple(shares))

    def _scaled(self, at: int, shares: FloatArray, wanted: FloatArray) -> FloatArray:
        allowed, rows = self.allowed[at][:, :, np.newaxis], max(self.rows, _SMOOTH)
        for _ in range(_ROUNDS):
            inside = np.where(allowed, shares[self.region], 0.0)
            inside = inside / np.maximum(inside.sum(axis=1, keepdims=True), _SMOOTH)
            found = np.einsum("lck,lk->c", inside, self.weights) / rows
            shares = shares * (wanted / np.maximum(found, _SMOOTH))[:, np.newaxis] + _SMOOTH
            shares = shares / shares.sum(axis=1, keepdims=True)
        return shares

    def draw(self, rows: float, words: UniformStream) -> SyntheticRows:
        """Draw about so many rows.

        Leaves and classes get their share by systematic sampling. The codes of an attribute are those shares too, in
        secret order: fewer accidents than independent draws have.
        """
        return self.rows_of(self.numbers(rows, words), words)

    def numbers(self, rows: float, words: UniformStream) -> IntArray:
        """Return the number of rows of each leaf and class, of about so many, shape (n_leaves * n_classes,)."""
        weights = self.weights if self.rows > 0 else np.ones_like(self.weights)
        return rounded(weights.reshape(-1) * (rows / weights.sum()), words)

    def rows_of(self, numbers: IntArray, words: UniformStream) -> SyntheticRows:
        """Draw so many rows of each leaf and class."""
        cell = np.repeat(np.arange(numbers.size), numbers)
        leaves, labels = np.divmod(cell, self.weights.shape[1])
        codes = np.empty((len(self.allowed), leaves.size), dtype=np.int64)
        for at in range(len(self.allowed)):
            codes[at] = self._codes(at, leaves, labels, cell, words)
        return SyntheticRows(codes=codes, labels=labels)

    def _codes(
        self, attribute: int, leaves: IntArray, labels: IntArray, cell: IntArray, words: UniformStream
    ) -> IntArray:
        """Return a code of an attribute for each row, sampled evenly in each leaf and class, in random order."""
        shares, allowed = self.shares[attribute], self.allowed[attribute]
        ends = np.cumsum(np.where(allowed[:, :, np.newaxis], shares[self.region], 0.0), axis=1)
        ends = ends / np.maximum(ends[:, -1:], _SMOOTH)
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        sizes = np.diff(np.append(starts, cell.size))
        order = np.argsort(words.take(cell.size) >> np.uint64(1), kind="stable")
        order = order[np.argsort(cell[order], kind="stable")]  # random within each leaf and class
        rank = np.arange(cell.size) - np.repeat(starts, sizes)
        offset = np.repeat(words.fractions(starts.size) / (1 << 52), sizes)
        place = (rank + offset) / np.repeat(sizes, sizes)
        flat = ends.transpose(0, 2, 1).reshape(-1, ends.shape[1])
        ends_of_rows = flat[leaves[starts] * self.weights.shape[1] + labels[starts]]
        # one sorted search for all: cell number i covers (i, i + 1]
        edges = (ends_of_rows + np.arange(starts.size)[:, np.newaxis]).reshape(-1)
        sampled_codes = np.searchsorted(edges, place + np.repeat(np.arange(starts.size), sizes), side="left")
        codes = np.empty(cell.size, dtype=np.int64)
        codes[order] = np.minimum(
            sampled_codes - np.repeat(np.arange(starts.size), sizes) * ends_of_rows.shape[1], ends_of_rows.shape[1] - 1
        )
        return codes


def _evenly(unasked: FloatArray, codes: int) -> FloatArray:
    """Return even shares of the codes of an attribute that was not measured, shape (n_regions, codes, n_classes)."""
    return np.full((len(unasked), codes, unasked.shape[2]), 1 / codes)


def _shares(noisy: FloatArray) -> FloatArray:
    """Return consistent shares of the codes by region and class, shape (n_regions, codes, n_classes)."""
    out = np.empty(noisy.shape)
    for region in range(noisy.shape[0]):
        for label in range(noisy.shape[2]):
            counts = consistent(noisy[region, :, label]) + _SMOOTH
            out[region, :, label] = counts / counts.sum()
    return out
