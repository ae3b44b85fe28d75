# SPDX-License-Identifier: Apache-2.0
"""The synthetic population of a noisy model: attributes independent given leaf and class.

Everything is drawn from published noisy counts: no privacy loss.

Consistency between noisy tables of the same rows: leaves and histograms are adjusted to one set of class totals.

The class counts of the leaves of a region and the histogram of every attribute each add up to the same numbers: the
rows of the region by class. The sums are averaged by how little noise they have, and what a sum is off by is taken from
its cells in equal parts: least squares, since cells of one kind have the same noise (Hay et al. 2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.dp_trees.microdata import SyntheticRows, cells_of, consistent, rounded
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.published.additive_scores import region_of_nodes
from anonkit.published.tree_model import Node, PublishedForest


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
