# SPDX-License-Identifier: Apache-2.0
"""DTCRD: a decision tree over numbers with additive noise (Agrawal & Srikant, SIGMOD 2000), a comparator of paper 004.

The distribution of each number is reconstructed from the noisy one, the noisy values are put in order and dealt out to
the intervals of the reconstructed distribution, and a tree of cuts is grown on the intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from anonkit.consumers.tree_growth import (
    Answers,
    EstimatedNodeCounts,
    StoppingRule,
    corrected_cells,
    grow,
    leaf_shares,
    value_tests,
)
from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.domains.number_bins import Grid
from anonkit.errors import ParameterError
from anonkit.published.channels.number_channels import TransformedResponse


class AdditiveNoiseDecisionTree(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A tree on numbers published as x + b.

    Parameters
    ----------
    noise : sequence of TransformedResponse
        What was done to each column: additive noise, that is a constant multiplier of 1.
    grids : sequence of Grid
        Public bounds of each column, cut into the intervals the distribution is reconstructed on.
    by_class : bool
        Reconstruct within each class (ByClass), else once for all rows (Global).
    max_depth, min_rows
        When to stop growing.

    Privacy
    -------
    Additive noise of this kind has no finite ε; see `anonkit.published.channels.number_channels`. For comparison
    only.
    """

    def __init__(
        self,
        noise: Sequence[TransformedResponse],
        grids: Sequence[Grid],
        *,
        by_class: bool = True,
        max_depth: int = 6,
        min_rows: float = 20.0,
    ) -> None:
        self.noise = noise
        self.grids = grids
        self.by_class = by_class
        self.max_depth = max_depth
        self.min_rows = min_rows

    def fit(self, X: FloatArray, y: NDArray[Any]) -> Self:
        """Learn from noisy numbers, shape (n, n_columns), and clear labels, shape (n,)."""
        noisy = np.asarray(X, dtype=np.float64)
        if not len(self.noise) == len(self.grids) == noisy.shape[1]:
            raise ParameterError("noise and grids must have one entry per column")
        if any(noise.multiplier.variance != 0 or noise.multiplier.mean != 1 for noise in self.noise):
            raise ParameterError("the noise of a column must be additive: a constant multiplier of 1")
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        groups = codes if self.by_class else np.zeros_like(codes)
        cells = [
            corrected_cells(noisy[:, column], groups, noise, grid)
            for column, (noise, grid) in enumerate(zip(self.noise, self.grids, strict=True))
        ]
        self.tests_ = value_tests(self.grids)
        answers = Answers(
            codes=cells,
            scores=[np.eye(grid.size) for grid in self.grids],
            labels=np.eye(len(self.classes_))[codes],
            tests=self.tests_,
        )
        rule = StoppingRule(max_depth=self.max_depth, min_rows=self.min_rows)
        self.tree_ = grow(EstimatedNodeCounts(answers=answers), rule)
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return the shares of the classes in the leaf of each row of true numbers, shape (n, n_classes)."""
        check_is_fitted(self)
        values = np.asarray(X, dtype=np.float64)
        cells = [grid.encode(values[:, column]).astype(np.int64) for column, grid in enumerate(self.grids)]

        def passes(test: int, rows: IntArray) -> BoolArray:
            chosen = self.tests_[test]
            return chosen.values[cells[chosen.attribute][rows]]

        return leaf_shares(self.tree_, len(values), passes)

    def predict(self, X: FloatArray) -> NDArray[Any]:
        """Return the commonest class in the leaf of each row of true numbers, shape (n,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
