# SPDX-License-Identifier: Apache-2.0
"""DTPD: a decision tree on private data (Du & Zhan, KDD 2003), the comparator of paper 004.

Records of boolean attributes are kept or inverted as a whole (Warner's model); ID3 runs on the reconstructed counts.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from anonkit.domains.coded_columns import FloatArray
from papers.comparators.decision_tree import StoppingRule, grow, leaf_shares
from papers.comparators.record_flip import RecordFlip


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
        growth = StoppingRule(max_depth=self.max_depth, min_rows=self.min_rows)
        records = np.asarray(X, dtype=bool)
        self.tree_ = grow(records, codes, len(self.classes_), RecordFlip(p_truth=self.p_truth), growth)
        return self

    def predict_proba(self, X: NDArray[np.bool_]) -> FloatArray:
        """Return the shares of the classes in the leaf of each true record, shape (n, n_classes)."""
        check_is_fitted(self)
        return leaf_shares(self.tree_, np.asarray(X, dtype=bool))

    def predict(self, X: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the commonest class in the leaf of each true record, shape (n,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
