# SPDX-License-Identifier: Apache-2.0
"""Consistency between noisy tables of the same rows: leaves and histograms are adjusted to one set of class totals.

The class counts of the leaves of a region and the histogram of every attribute each add up to the same numbers: the
rows of the region by class. The sums are averaged by how little noise they have, and what a sum is off by is taken from
its cells in equal parts: least squares, since cells of one kind have the same noise (Hay et al. 2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anonkit.domains.array_types import FloatArray, IntArray
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
        asked = [table for table in tables if table.shape[1]]
        for region in range(len(regions)):
            own = leaf & (places == region)
            sums = [counts[own].sum(axis=0), *(table[region].sum(axis=0) for table in asked)]
            # variances of the sums, up to one factor: independent noise adds up over the cells
            noise = [count_scale**2 * own.sum(), *(scale**2 * table.shape[1] for table in asked)]
            agreed = np.average(sums, axis=0, weights=1 / np.array(noise))
            counts[own] += (agreed - sums[0]) / own.sum()
            for table, total in zip(asked, sums[1:], strict=True):
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
