# SPDX-License-Identifier: Apache-2.0
"""DTPD: a decision tree on private data (Du & Zhan, KDD 2003), the comparator of paper 004.

Records of boolean attributes are kept or inverted as a whole (Warner's model); ID3 runs on the reconstructed counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from anonkit.consumers.tree_growth import StoppingRule, grow, leaf_shares
from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from papers.comparators.record_flip import RecordFlip


@dataclass(frozen=True, kw_only=True, eq=False)
class FlippedCounts:
    """Counts at a node from records kept or inverted as a whole.

    A condition on a path is counted directly and inverted (every answer the other way round); the mechanism turns the
    two counts into an unbiased one.
    """

    records: BoolArray
    """Published records, shape (n, n_attributes)."""
    classes: IntArray
    """Class of each record."""
    n_classes: int
    flip: RecordFlip
    direct: IntArray
    """Records that match the path."""
    inverted: IntArray
    """Records that match its inverse."""

    @property
    def counts(self) -> FloatArray:
        """Estimated records per class, shape (n_classes,)."""
        return self.flip.unmix(self._per_class(self.direct), self._per_class(self.inverted))

    def _per_class(self, rows: IntArray) -> FloatArray:
        return np.bincount(self.classes[rows], minlength=self.n_classes).astype(np.float64)

    def _yes_counts(self, rows: IntArray) -> FloatArray:
        """Count, per attribute and class, the records that say yes, shape (n_attributes, n_classes)."""
        yes, groups = self.records[rows], self.classes[rows]
        counts = [yes[groups == label].sum(axis=0) for label in range(self.n_classes)]
        return np.stack(counts, axis=1).astype(np.float64)

    def sides(self) -> tuple[FloatArray, FloatArray]:
        """Return the counts of the records with yes in each attribute, and with no."""
        yes, yes_inverted = self._yes_counts(self.direct), self._yes_counts(self.inverted)
        no, no_inverted = self._per_class(self.direct) - yes, self._per_class(self.inverted) - yes_inverted
        return self.flip.unmix(yes, no_inverted), self.flip.unmix(no, yes_inverted)

    def below(self, test: int, passed: bool) -> FlippedCounts:
        """Return the counts of the records on one side of an attribute."""
        direct = self.direct[self.records[self.direct, test] == passed]
        inverted = self.inverted[self.records[self.inverted, test] != passed]
        return replace(self, direct=direct, inverted=inverted)


class WarnerDecisionTree(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """ID3 on records that were kept with probability `p_truth` and inverted otherwise.

    Parameters
    ----------
    p_truth : float
        Probability that a record was kept, in (0, 1], not 0.5. 1 is plain ID3.
    max_depth : int
        Longest path.
    min_rows : float
        A node estimated to hold fewer rows is a leaf.

    Privacy
    -------
    None in the sense of ε: see `papers.comparators.record_flip`. For comparison only.
    """

    def __init__(self, p_truth: float = 1.0, *, max_depth: int = 6, min_rows: float = 20.0) -> None:
        self.p_truth = p_truth
        self.max_depth = max_depth
        self.min_rows = min_rows

    def fit(self, X: NDArray[np.bool_], y: NDArray[Any]) -> Self:
        """Learn from published records, shape (n, n_attributes), and clear labels, shape (n,)."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        records = np.asarray(X, dtype=bool)
        everything = np.arange(len(records))
        root = FlippedCounts(
            records=records,
            classes=codes,
            n_classes=len(self.classes_),
            flip=RecordFlip(p_truth=self.p_truth),
            direct=everything,
            inverted=everything,
        )
        self.tree_ = grow(root, StoppingRule(max_depth=self.max_depth, min_rows=self.min_rows))
        return self

    def predict_proba(self, X: NDArray[np.bool_]) -> FloatArray:
        """Return the shares of the classes in the leaf of each true record, shape (n, n_classes)."""
        check_is_fitted(self)
        records = np.asarray(X, dtype=bool)
        return leaf_shares(self.tree_, len(records), lambda test, rows: records[rows, test])

    def predict(self, X: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the commonest class in the leaf of each true record, shape (n,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
