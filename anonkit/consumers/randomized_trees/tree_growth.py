# SPDX-License-Identifier: Apache-2.0
"""ID3 on estimated counts: the growth of a tree whose rows are known through noise alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray


class NodeCounts(Protocol):
    """Estimated counts of the rows that reach a node, and of those that pass each test there."""

    @property
    def counts(self) -> FloatArray:
        """Unbiased estimates per class, shape (n_classes,); they may be negative."""

    def sides(self) -> tuple[FloatArray, FloatArray]:
        """Return the counts of the rows that pass each test, and of those that fail it, shape (n_tests, n_classes)."""

    def below(self, test: int, passed: bool) -> NodeCounts:
        """Return the counts of the rows on one side of a test."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GrownNode:
    """A node of a grown tree: a leaf when it has no test."""

    counts: FloatArray
    """Estimated rows per class, not negative, shape (n_classes,)."""
    test: int | None = None
    """Number of the test that splits its rows."""
    no: GrownNode | None = None
    yes: GrownNode | None = None


@dataclass(frozen=True, kw_only=True)
class StoppingRule:
    """When to stop."""

    max_depth: int = 6
    min_rows: float = 20.0
    """A node estimated to hold fewer rows is a leaf."""


def grow(node: NodeCounts, rule: StoppingRule, depth: int = 0) -> GrownNode:
    """Grow a tree by information gain; negative estimates count as 0.

    Parameters
    ----------
    node : NodeCounts
        Counts at the root.
    rule : StoppingRule
    depth : int
        Tests above the root.
    """
    counts = np.maximum(node.counts, 0.0)
    if depth >= rule.max_depth or counts.sum() < rule.min_rows or np.count_nonzero(counts) < 2:
        return GrownNode(counts=counts)
    test = _best(node, counts)
    if test is None:
        return GrownNode(counts=counts)
    no, yes = (grow(node.below(test, passed), rule, depth + 1) for passed in (False, True))
    return GrownNode(counts=counts, test=test, no=no, yes=yes)


def _best(node: NodeCounts, counts: FloatArray) -> int | None:
    """Return the test with the largest information gain above 0."""
    yes, no = (np.maximum(side, 0.0) for side in node.sides())
    rows = yes.sum(axis=1) + no.sum(axis=1)
    after = yes.sum(axis=1) * _entropy(yes) + no.sum(axis=1) * _entropy(no)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(rows > 0, _entropy(counts[np.newaxis]) - after / rows, -np.inf)
    gain[np.minimum(yes.sum(axis=1), no.sum(axis=1)) <= 0] = -np.inf
    best = int(np.argmax(gain)) if gain.size else -1
    return best if gain.size and gain[best] > 0 else None


def _entropy(counts: FloatArray) -> FloatArray:
    """Return the entropy of each row of class counts, in bits."""
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1e-300)
    return np.asarray(-(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=-1))


def leaf_shares(root: GrownNode, n_rows: int, passes: Callable[[int, IntArray], BoolArray]) -> FloatArray:
    """Return the share of each class in the leaf that each true row falls into, shape (n_rows, n_classes).

    Parameters
    ----------
    root : GrownNode
    n_rows : int
    passes : callable
        From the number of a test and the positions of some rows to the rows that pass it.
    """
    out = np.empty((n_rows, len(root.counts)))
    even = np.full(len(root.counts), 1 / len(root.counts))
    waiting = [(root, np.arange(n_rows), even)]
    while waiting:
        node, rows, above = waiting.pop()
        size = node.counts.sum()
        shares = node.counts / size if size > 0 else above  # an empty leaf answers as its parent
        if node.test is None or node.no is None or node.yes is None:
            out[rows] = shares
            continue
        passed = passes(node.test, rows)
        waiting += [(node.no, rows[~passed], shares), (node.yes, rows[passed], shares)]
    return out
