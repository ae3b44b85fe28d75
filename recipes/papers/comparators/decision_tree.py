# SPDX-License-Identifier: Apache-2.0
"""ID3 on boolean attributes with counts reconstructed from flipped records; DTPD and DTCRD both grow it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from papers.comparators.record_flip import RecordFlip


@dataclass(frozen=True, kw_only=True, eq=False)
class GrownNode:
    """A node of a grown tree: a leaf when it has no attribute to ask."""

    counts: FloatArray
    """Estimated rows per class, not negative, shape (n_classes,)."""
    attribute: int | None = None
    """Split attribute of this node."""
    no: GrownNode | None = None
    yes: GrownNode | None = None


@dataclass(frozen=True, kw_only=True)
class StoppingRule:
    """When to stop."""

    max_depth: int = 6
    min_rows: float = 20.0
    """A node estimated to hold fewer rows is a leaf."""


def grow(records: BoolArray, classes: IntArray, n_classes: int, flip: RecordFlip, growth: StoppingRule) -> GrownNode:
    """Grow a tree on published records with clear classes.

    A condition on a path is counted directly and inverted (every answer the other way round); the mechanism turns the
    two counts into an unbiased one. Negative estimates count as 0.

    Parameters
    ----------
    records : array of bool, shape (n, n_attributes)
        Published records; with `flip.p_truth` 1 they are the true ones.
    classes : array of int, shape (n,)
        Class of each record, in [0, n_classes).
    n_classes : int
    flip : RecordFlip
        What was done to the records.
    growth : Growth
    """
    everything = np.arange(len(records))
    return _TreeGrower(records, classes, n_classes, flip, growth).node(everything, everything, (), 0)


class _TreeGrower:
    def __init__(
        self, records: BoolArray, classes: IntArray, n_classes: int, flip: RecordFlip, growth: StoppingRule
    ) -> None:
        self.records = records
        self.classes = classes
        self.n_classes = n_classes
        self.flip = flip
        self.growth = growth

    def node(self, direct: IntArray, inverted: IntArray, used: tuple[int, ...], depth: int) -> GrownNode:
        """Grow below the rows that match the path, and those that match its inverse."""
        counts = self._estimate(self._per_class(direct), self._per_class(inverted))
        if depth >= self.growth.max_depth or counts.sum() < self.growth.min_rows or np.count_nonzero(counts) < 2:
            return GrownNode(counts=counts)
        attribute = self._best(direct, inverted, counts, used)
        if attribute is None:
            return GrownNode(counts=counts)
        answers, opposite = self.records[direct, attribute], self.records[inverted, attribute]
        used = (*used, attribute)
        return GrownNode(
            counts=counts,
            attribute=attribute,
            no=self.node(direct[~answers], inverted[opposite], used, depth + 1),
            yes=self.node(direct[answers], inverted[~opposite], used, depth + 1),
        )

    def _per_class(self, rows: IntArray) -> FloatArray:
        return np.bincount(self.classes[rows], minlength=self.n_classes).astype(np.float64)

    def _estimate(self, direct: FloatArray, inverted: FloatArray) -> FloatArray:
        return np.maximum(self.flip.unmix(direct, inverted), 0.0)

    def _yes_counts(self, rows: IntArray) -> FloatArray:
        """Count, per attribute and class, the rows that say yes, shape (n_attributes, n_classes)."""
        yes = self.records[rows]
        groups = self.classes[rows]
        return np.stack([yes[groups == label].sum(axis=0) for label in range(self.n_classes)], axis=1).astype(
            np.float64
        )

    def _best(self, direct: IntArray, inverted: IntArray, counts: FloatArray, used: tuple[int, ...]) -> int | None:
        """Return the attribute with the largest information gain above 0."""
        yes, yes_inverted = self._yes_counts(direct), self._yes_counts(inverted)
        no, no_inverted = self._per_class(direct) - yes, self._per_class(inverted) - yes_inverted
        sides = self._estimate(yes, no_inverted), self._estimate(no, yes_inverted)
        total = sum(side.sum(axis=1) for side in sides)
        after = sum(side.sum(axis=1) * _entropy(side) for side in sides)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.where(total > 0, _entropy(counts[np.newaxis]) - after / total, -np.inf)
        gain[[at for at in range(len(gain)) if at in used or min(side[at].sum() for side in sides) <= 0]] = -np.inf
        best = int(np.argmax(gain))
        return best if gain[best] > 0 else None


def _entropy(counts: FloatArray) -> FloatArray:
    """Return the entropy of each row of class counts, in bits."""
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1e-300)
    return np.asarray(-(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=-1))


def leaf_shares(node: GrownNode, records: BoolArray) -> FloatArray:
    """Return the share of each class in the leaf each true record falls into, shape (n, n_classes)."""
    out = np.empty((len(records), len(node.counts)))
    _fill(node, records, np.arange(len(records)), node.counts / max(node.counts.sum(), 1.0), out)
    return out


def _fill(node: GrownNode, records: BoolArray, rows: IntArray, above: FloatArray, out: FloatArray) -> None:
    size = node.counts.sum()
    shares = node.counts / size if size > 0 else above  # an empty leaf answers as its parent
    if node.attribute is None or node.no is None or node.yes is None:
        out[rows] = shares
        return
    answers = records[rows, node.attribute]
    _fill(node.no, records, rows[~answers], shares, out)
    _fill(node.yes, records, rows[answers], shares, out)
