# SPDX-License-Identifier: Apache-2.0
"""C4.5's pruning of a published tree: subtrees that predict no better than a leaf by their noisy counts become leaves.

Quinlan 1993, chapter 4, on counts that have noise: it reads a published forest and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.published.tree_model import LeafContent, Node, PublishedForest

_CONFIDENCE = 0.25
"""C4.5's confidence factor."""
_QUARTILE = 0.6744897501960817
"""The point of the normal distribution above which this share lies."""


def pruned(forest: PublishedForest) -> PublishedForest:
    """Return the forest with every subtree replaced whose estimated errors are no fewer than those of a leaf.

    Counts of nodes are made consistent first: noise below 0 is cut off, and where the rows of nodes were counted, the
    children of a node share its count in proportion to theirs.

    Parameters
    ----------
    forest : PublishedForest
        With counts in its leaves; a tree with labels alone stays as it is.

    Privacy
    -------
    A function of what is published: no privacy loss. Counts of a new leaf are the sums of those below it, noise and
    all.
    """
    return replace(forest, trees=tuple(_pruned_tree(tree) for tree in forest.trees))


def pessimistic_errors(counts: FloatArray) -> float:
    """Return the expected errors of a leaf, in rows: the upper end of a confidence interval (25 %).

    Parameters
    ----------
    counts : float array, shape (n_classes,)
        Rows of each class, at least 0.
    """
    rows = float(counts.sum())
    if rows <= 0:
        return 0.0
    wrong = rows - float(counts.max())
    if wrong >= 1:
        return _upper_limit(wrong, rows)
    # no error in N rows: (1 - p)^N = 25 %, and between none and one along a line
    none = rows * (1 - math.pow(_CONFIDENCE, 1 / rows))
    return none + wrong * (_upper_limit(min(1.0, rows), rows) - none)


def _upper_limit(wrong: float, rows: float) -> float:
    """Return the upper limit for at least one error, by the normal approximation with continuity correction."""
    if wrong + 0.5 >= rows:
        return wrong + 0.67 * (rows - wrong)
    seen, z = wrong + 0.5, _QUARTILE * _QUARTILE
    return rows * (seen + z / 2 + math.sqrt(z * (seen * (1 - seen / rows) + z / 4))) / (rows + z)


def _pruned_tree(tree: tuple[Node, ...]) -> tuple[Node, ...]:
    if any(node.is_leaf and (node.leaf is None or node.leaf.counts is None) for node in tree):
        return tree
    sums = _sums(tree)
    counts = _consistent(tree, sums)
    errors = [0.0] * len(tree)
    cut: set[int] = set()
    for number in reversed(range(len(tree))):
        as_leaf = pessimistic_errors(counts[number])
        below = sum(errors[child] for child in tree[number].children)
        if not tree[number].is_leaf and as_leaf <= below:
            cut.add(number)
        errors[number] = as_leaf if tree[number].is_leaf or number in cut else below
    return _without(tree, cut, sums)


def _sums(tree: tuple[Node, ...]) -> IntArray:
    """Return the noisy counts of the classes in each node, those of its leaves added up, shape (n_nodes, classes)."""
    sums: list[IntArray] = [np.zeros(0, dtype=np.int64)] * len(tree)
    for number in reversed(range(len(tree))):
        node = tree[number]
        if node.leaf is not None and node.leaf.counts is not None:
            sums[number] = np.array(node.leaf.counts, dtype=np.int64)
        else:
            sums[number] = np.sum([sums[child] for child in node.children], axis=0)
    return np.array(sums)


def _consistent(tree: tuple[Node, ...], sums: IntArray) -> FloatArray:
    """Return counts of at least 0 of which those of the children add up to their parent's, shape (n_nodes, classes)."""
    rows = np.array(
        [max(sums[at].sum(), 0) if node.rows is None else max(node.rows, 0) for at, node in enumerate(tree)]
    )
    total = rows.astype(np.float64)
    for number, node in enumerate(tree):
        if node.is_leaf:
            continue
        children = list(node.children)
        own = rows[children]
        shares = own / own.sum() if own.sum() > 0 else np.full(own.size, 1 / own.size)
        total[children] = total[number] * shares
    counts = np.maximum(sums, 0).astype(np.float64)
    for number in reversed(range(len(tree))):
        node = tree[number]
        if not node.is_leaf:
            counts[number] = counts[list(node.children)].sum(axis=0)
        elif counts[number].sum() > 0:
            counts[number] *= total[number] / counts[number].sum()
        else:
            counts[number] = total[number] / counts.shape[1]
    return counts


def _without(tree: tuple[Node, ...], cut: set[int], sums: IntArray) -> tuple[Node, ...]:
    """Return the tree with some nodes as leaves, numbered anew in the order they had."""
    remaining = [0]
    for number in remaining:
        remaining += () if number in cut else tree[number].children
    remaining.sort()
    place = {number: at for at, number in enumerate(remaining)}
    return tuple(
        Node(leaf=LeafContent(counts=tuple(sums[number].tolist())), rows=tree[number].rows)
        if number in cut
        else replace(tree[number], children=tuple(place[child] for child in tree[number].children))
        for number in remaining
    )
