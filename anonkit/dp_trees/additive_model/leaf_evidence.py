# SPDX-License-Identifier: Apache-2.0
"""Evidence of the leaves of a tree beyond the attributes: noisy class counts against those of independence.

If attributes were independent within a class, the shares of the attributes' values in the box of a leaf would give the
rows of each class in it. Where the leaf's own noisy counts differ, the attributes that the tree was split by interact;
their histograms do not contain this difference. It is shrunk towards 0: how far follows from the noise and from how
much larger than the noise the differences of all leaves are. A tree whose splits found nothing therefore leaves the
naive Bayes classifier of the histograms as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonkit.domains.array_types import BoolArray, FloatArray, IntArray
from anonkit.dp_trees.leaf_cells import cells_of
from anonkit.published.additive_scores import region_of_nodes
from anonkit.published.count_evidence import Shares
from anonkit.published.tree_model import PublishedForest

_SPREADS = (0.02, 0.1, 0.3, 1.0, 3.0)
"""Prior standard deviations of a share of a class in a leaf, relative to the implied share; weighed by likelihood."""
_LOWEST_SHARE = 0.03
_TINY = 1e-9


def evidence_of_leaves(
    forest: PublishedForest,
    regions: Sequence[int],
    counts: Sequence[FloatArray],
    shares: Sequence[Shares],
    scale: float,
) -> tuple[FloatArray, ...]:
    """Return the evidence of each leaf beyond that of the attributes, 0 on average over classes, 0 at other nodes.

    Parameters
    ----------
    forest : PublishedForest
    regions : sequence of int
        Nodes of the first tree whose rows have histograms of their own.
    counts : for each tree the noisy class counts of its leaves, shape (n_nodes, n_classes)
    shares : for each attribute how the rows of each region and class are divided over its codes
    scale : float
        Scale of the noise of a count of a leaf, in rows.

    Returns
    -------
    tuple of float arrays, shapes (n_nodes, n_classes)
        In natural logarithms, divided by the number of trees.

    Privacy
    -------
    Made of published noisy counts alone: no privacy loss.
    """
    cells, out = cells_of(forest), []
    for number, (tree, own) in enumerate(zip(forest.trees, counts, strict=True)):
        ends = np.flatnonzero([node.is_leaf for node in tree])
        region = np.zeros(ends.size, dtype=np.int64)
        if number == 0:
            region = region_of_nodes([node.children for node in tree], regions)[ends]
        allowed = [codes[cells.tree == number] for codes in cells.allowed]
        implied = implied_shares(shares, allowed, region, len(regions), own.shape[1])
        totals = np.zeros((len(regions), own.shape[1]))
        np.add.at(totals, region, own[ends])
        found = shrunk_shares(own[ends], implied, (np.maximum(totals, scale) + 1)[region], scale)
        ratios = np.log(found / implied) / len(forest.trees)
        evidence = np.zeros(own.shape)
        evidence[ends] = ratios - ratios.mean(axis=1, keepdims=True)
        out.append(evidence)
    return tuple(out)


def implied_shares(
    shares: Sequence[Shares], allowed: Sequence[BoolArray], region: IntArray, regions: int, classes: int
) -> FloatArray:
    """Return how the rows of each region and class would be divided over its leaves if attributes were independent.

    Parameters
    ----------
    shares : for each attribute how the rows of each region and class are divided over its codes
    allowed : for each attribute the codes that lead to each leaf, shape (n_leaves, codes)
    region : IntArray
        Of each leaf, shape (n_leaves,).
    regions, classes : int

    Returns
    -------
    FloatArray
        Shape (n_leaves, n_classes); over the leaves of a region a class sums to 1.
    """
    out = np.ones((region.size, classes))
    for one, codes in zip(shares, allowed, strict=True):
        out = out * np.maximum((codes[:, :, np.newaxis] * one.of_class[region]).sum(axis=1), _TINY)
    totals = np.zeros((regions, classes))
    np.add.at(totals, region, out)
    return np.asarray(out / totals[region])


def shrunk_shares(counts: FloatArray, implied: FloatArray, rows: FloatArray, scale: float) -> FloatArray:
    """Return the shares of each class's rows by leaf, drawn from the noisy ones towards the implied ones.

    Parameters
    ----------
    counts : float array, shape (n_leaves, n_classes)
        Noisy.
    implied : float array, shape (n_leaves, n_classes)
        As by `implied_shares`.
    rows : float array, shape (n_leaves, n_classes)
        Rows of the class in the leaf's region, at least 1.
    scale : float
        Scale of the noise of a count, in rows.
    """
    found = counts / rows - implied
    noise = (2.0 * scale * scale + rows * implied * (1 - implied)) / rows**2
    beliefs = (np.array(_SPREADS)[:, np.newaxis, np.newaxis] * implied) ** 2
    variances = beliefs + noise + 1e-15
    likelihood = -0.5 * (np.log(variances) + found * found / variances).sum(axis=(1, 2))
    weights = np.exp(likelihood - likelihood.max())
    factor = ((weights / weights.sum())[:, np.newaxis, np.newaxis] * beliefs / variances).sum(axis=0)
    return np.asarray(np.maximum(implied + factor * found, _LOWEST_SHARE * implied))
