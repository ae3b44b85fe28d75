# SPDX-License-Identifier: Apache-2.0
"""Feature importance for the target: the strategies that order a selection.

Only labelled rows guide. Every result is the same for any order of rows and columns: columns are sorted by name
and rows by their codes before anything random happens.

A random forest that predicts a number from codes, and its out-of-bag estimates: means and permutation importance.

The counterpart of `random_forest` for a numeric target: squared error replaces wrong guesses.

A random forest on codes and its out-of-bag estimates: class probabilities and permutation importance.

The trees are scikit-learn's; their predictions of rows they have not seen, and the number of trees needed, are in
`out_of_sample_predictions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from anonkit.domains.coded_columns import UNLABELLED, CodedColumn, FloatArray, IntArray, combine, densify, ranked
from anonkit.k_anonymity.search.greedy_selection import Feature, column_features
from anonkit.k_anonymity.search.out_of_sample_predictions import ForestSize, Matrix, OutOfBagForest, TreeTarget, grown
from anonkit.utility.bagged_trees import BaggedTrees, grow_number_trees, grow_trees
from anonkit.utility.learning_process import learned


@dataclass(frozen=True, kw_only=True, eq=False)
class _Numbers(TreeTarget):
    """The number of each row: how wrong a tree is about it is its squared error, in units of the variance of all."""

    truth: FloatArray

    @property
    def prior(self) -> FloatArray:
        """The mean of all."""
        return np.array([self.truth.mean()])

    @property
    def variance(self) -> float:
        """Of the numbers."""
        return float(self.truth.var())

    def grow(self, rows: Matrix, size: ForestSize, trees: int, first: int, seed: int) -> BaggedTrees:
        """Grow trees by squared error, with a third of the features as candidates a node."""
        bootstrap_rows = size.bootstrap_size(self.truth.size)
        return grow_number_trees(rows, self.truth, trees=trees, seed=seed, bootstrap_rows=bootstrap_rows, first=first)

    def predicted(self, tree: Any, rows: Matrix) -> FloatArray:
        """Return the means of the leaves of rows."""
        return np.asarray(tree.tree_.predict(rows))

    def errors(self, tree: Any, leaves: IntArray, rows: IntArray) -> FloatArray:
        """Return the squared errors of rows, in units of the variance of all."""
        unit = max(self.variance, np.finfo(np.float64).tiny)
        return np.asarray((tree.tree_.value[leaves, 0, 0] - self.truth[rows]) ** 2 / unit)


@dataclass(frozen=True, kw_only=True, eq=False)
class RegressionForest(OutOfBagForest):
    """A forest of regression trees on integer codes, with the rows it was grown on."""

    numbers: FloatArray
    """Target of each training row, in [0, 1], shape (n_rows,)."""

    @classmethod
    def grow(cls, rows: Matrix, numbers: FloatArray, size: ForestSize, seed: int) -> RegressionForest:
        """Grow the forest; the same rows in the same order give the same one, whatever the number of cores."""
        model, votes = grown(_Numbers(truth=numbers), rows, size, seed)
        return cls(model=model, votes=votes, rows=rows, numbers=numbers, size=size, seed=seed)

    def means(self) -> FloatArray:
        """Return the mean prediction of the trees for which each row is out of bag, shape (n_rows,).

        Rows that are in every bag get the mean of all.
        """
        return self.votes.means(_Numbers(truth=self.numbers).prior)[:, 0]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Classes(TreeTarget):
    """The class of each row, dense in [0, n_classes): a tree is wrong about a row or right."""

    truth: IntArray

    @property
    def prior(self) -> FloatArray:
        """The share of each class."""
        return np.bincount(self.truth) / self.truth.size

    @property
    def variance(self) -> float:
        """Of all classes together."""
        return float(1.0 - (self.prior**2).sum())

    def grow(self, rows: Matrix, size: ForestSize, trees: int, first: int, seed: int) -> BaggedTrees:
        """Grow trees by Gini splits, with √n_features candidates a node."""
        bootstrap_rows = size.bootstrap_size(self.truth.size)
        return grow_trees(
            rows, self.truth, trees=trees, seed=seed, bootstrap_rows=bootstrap_rows, leaf=size.leaf, first=first
        )

    def predicted(self, tree: Any, rows: Matrix) -> FloatArray:
        """Return the shares of the classes in the leaves of rows."""
        return np.asarray(tree.tree_.predict(rows))

    def errors(self, tree: Any, leaves: IntArray, rows: IntArray) -> FloatArray:
        """Return 1 for rows that are not of the commonest class of their leaf, 0 for the others."""
        commonest = tree.tree_.value[:, 0, :].argmax(axis=1)
        return np.asarray(commonest[leaves] != self.truth[rows], dtype=np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassifyingForest(OutOfBagForest):
    """A random forest that classifies."""

    labels: IntArray
    """Class of each training row, shape (n_rows,), dense in [0, n_classes)."""

    @classmethod
    def grow(cls, rows: Matrix, labels: IntArray, size: ForestSize, seed: int) -> ClassifyingForest:
        """Grow the forest: Gini splits, bootstrap samples, √n_features candidates a node.

        The same rows in the same order give the same forest, whatever the number of cores.
        """
        model, votes = grown(_Classes(truth=labels), rows, size, seed)
        return cls(model=model, votes=votes, rows=rows, labels=labels, size=size, seed=seed)

    def class_probabilities(self) -> FloatArray:
        """Return the mean vote of the trees for which each row is out of bag, shape (n_rows, n_classes).

        Rows that are in every bag get the share of the classes.
        """
        return self.votes.means(_Classes(truth=self.labels).prior)


_CELLS = 100_000_000  # cells of the matrix a forest is grown on, unless all rows are used


@dataclass(frozen=True, kw_only=True, eq=False)
class Importance:
    """The importance of every feature for the target: the larger, the earlier a selection considers it.

    Privacy
    -------
    Computed on the source without noise: an importance that is published has no differential privacy.
    """

    features: tuple[Feature, ...]
    values: FloatArray
    """Shape (n_features,)."""
    errors: FloatArray | None = None
    """Standard error of each value over the trees of a forest, shape (n_features,)."""

    @property
    def ranking(self) -> tuple[Feature, ...]:
        """Features in descending importance; equals in order of name and code."""
        return tuple(self.features[at] for at in np.argsort(-self.values, kind="stable").tolist())

    @property
    def by_column(self) -> Mapping[str, float]:
        """Importance of each column; of a one-hot coded column, its most important bit's."""
        out: dict[str, float] = {}
        for feature, value in zip(self.features, self.values.tolist(), strict=True):
            out[feature.column] = max(value, out.get(feature.column, value))
        return out


@dataclass(frozen=True, kw_only=True, eq=False)
class ForestEvidence:
    """The evidence of a forest: its predictions of the rows it was grown on, and its importance of the features."""

    n_trees: int
    predictions: FloatArray
    """Out-of-bag class probabilities, or the mean number, shape (n_rows, n_outputs)."""
    permutation: tuple[FloatArray, FloatArray]
    """Permutation importance and its standard error, shape (n_features,) each."""
    impurity: FloatArray
    """Share of each feature in the decrease of impurity, shape (n_features,)."""

    @classmethod
    def of_classes(cls, rows: Matrix, labels: IntArray, size: ForestSize, seed: int) -> ForestEvidence:
        """Grow a forest that classifies, and return its evidence."""
        forest = ClassifyingForest.grow(rows, labels, size, seed)
        return cls._of(forest, forest.class_probabilities())

    @classmethod
    def of_numbers(cls, rows: Matrix, numbers: FloatArray, size: ForestSize, seed: int) -> ForestEvidence:
        """Grow a forest that predicts a number, and ask it."""
        forest = RegressionForest.grow(rows, numbers, size, seed)
        return cls._of(forest, forest.means()[:, None])

    @classmethod
    def _of(cls, forest: ClassifyingForest | RegressionForest, predictions: FloatArray) -> ForestEvidence:
        return cls(
            n_trees=forest.n_trees,
            predictions=predictions,
            permutation=forest.permutation_importance(),
            impurity=forest.model.feature_importances_,
        )


class LabelledRows:
    """The labelled rows of a table in canonical order, and the forest grown on them at its first use.

    Parameters
    ----------
    columns : sequence of CodedColumn
        Quasi-identifiers, in any order.
    labels : ndarray of shape (n_rows,)
        Target of each row, of a number its quarter; UNLABELLED rows take no part.
    numbers : ndarray of shape (n_rows,), optional
        The target as a number, where it is one: what the forest predicts then.
    features : sequence of Feature, optional
        What is to be judged; default every column.
    size : ForestSize
        Trees, rows a tree, and rows at all.
    seed : int
        Seed of the forest and of the permutations, in [0, 2**32).
    """

    def __init__(
        self,
        columns: Sequence[CodedColumn],
        labels: IntArray,
        features: Sequence[Feature] | None = None,
        *,
        numbers: FloatArray | None = None,
        size: ForestSize | None = None,
        seed: int = 0,
    ) -> None:
        self.size = ForestSize() if size is None else size
        self.seed = seed
        self.n_rows = labels.size
        self.columns = sorted(columns, key=lambda column: column.name)
        self.features = column_features(columns) if features is None else tuple(features)
        self.rows = self._canonical_rows(labels, numbers)
        """Rows that are used, in canonical order, shape (n_used,)."""
        self.numbers = None if numbers is None else _on_unit_interval(numbers[self.rows])
        """The target as a number in [0, 1], shape (n_used,)."""
        self.labels, self.n_classes = densify(labels[self.rows])
        """Class of each row used, dense in [0, n_classes)."""

    def _canonical_rows(self, labels: IntArray, numbers: FloatArray | None) -> IntArray:
        """Return labelled rows sorted by all their codes; evenly spread ones when there are too many."""
        labelled = np.flatnonzero(labels != UNLABELLED)
        parts = [labels[labelled]]
        if numbers is not None:
            parts.append(np.unique(numbers[labelled], return_inverse=True)[1])
        keys, _ = combine([*(column.codes[labelled] for column in self.columns), *parts], labelled.size)
        order, _ = ranked(keys)
        if self.size.rows is not None:
            most = min(self.size.rows, _CELLS // max(len(self.features), 1))
            if order.size > most:
                order = order[(np.arange(most) * order.size + order.size // 2) // most]
        return labelled[order]

    def codes(self, at: int) -> IntArray:
        """Return the value of feature number `at` in the rows used."""
        feature = self.features[at]
        column = next(column for column in self.columns if column.name == feature.column)
        return feature.codes(column)[self.rows].astype(np.int64)

    @property
    def matrix(self) -> Matrix:
        """The features of the rows used, shape (n_used, n_features)."""
        matrix: Matrix = np.empty((self.rows.size, len(self.features)), dtype=np.float32)
        for at in range(len(self.features)):
            matrix[:, at] = self.codes(at)
        return matrix

    @cached_property
    def forest(self) -> ForestEvidence:
        """Evidence of the forest on the rows used, which predicts their class, or their number."""
        if self.numbers is not None:
            return learned(ForestEvidence.of_numbers, self.matrix, self.numbers, self.size, self.seed)
        return learned(ForestEvidence.of_classes, self.matrix, self.labels, self.size, self.seed)

    @property
    def grown(self) -> Mapping[str, int]:
        """Number of grown trees, where any were: `trees`."""
        forest = self.__dict__.get("forest")
        return {} if forest is None else {"trees": forest.n_trees}

    @property
    def is_informative(self) -> bool:
        """True when there are two classes, or numbers, to predict and features to predict them by."""
        n_outputs = self.n_classes if self.numbers is None else np.unique(self.numbers).size
        return n_outputs > 1 and len(self.features) > 0

    def class_probabilities(self) -> FloatArray:
        """Return the out-of-bag class probabilities of every row of the table, shape (n_rows, n_classes).

        Rows that take no part are NaN. With fewer than two classes the shape is (n_rows, 0). A number is predicted as
        two shares: how far it is from the smallest, and from the largest.
        """
        if not self.is_informative:
            return np.empty((self.n_rows, 0))
        found = self.forest.predictions
        if self.numbers is not None:
            means = np.clip(found[:, 0], 0.0, 1.0)
            found = np.stack([1.0 - means, means], axis=1)
        out = np.full((self.n_rows, found.shape[1]), np.nan)
        out[self.rows] = found
        return out

    def contingency(self, feature: int) -> FloatArray:
        """Return the contingency table of class by value of a feature, shape (n_classes, n_values)."""
        codes = self.codes(feature)
        width = int(codes.max(initial=0)) + 1
        counts = np.bincount(self.labels * width + codes, minlength=self.n_classes * width)
        return counts.reshape(self.n_classes, width).astype(np.float64)


def _on_unit_interval(numbers: FloatArray) -> FloatArray:
    """Return numbers between the smallest (0) and the largest (1); zeros where all are one."""
    low, high = numbers.min(initial=np.inf), numbers.max(initial=-np.inf)
    return np.asarray((numbers - low) / (high - low)) if high > low else np.zeros(numbers.size)


class ImportanceStrategy(Protocol):
    """A strategy that scores features on labelled rows."""

    def score(self, evidence: LabelledRows) -> Importance:
        """Judge every feature of the evidence; with fewer than two classes all are 0."""
        ...


def _nothing(evidence: LabelledRows) -> Importance:
    return Importance(features=evidence.features, values=np.zeros(len(evidence.features)))


@dataclass(frozen=True)
class PermutationImportance:
    """Out-of-bag permutation importance (paper 001): mean over the trees of R_t - R_t^a.

    R_t is the number of out-of-bag rows that tree t classifies correctly, R_t^a the same after the feature is permuted
    among these rows. Where the target is a number, the rise of the squared error replaces them.
    """

    def score(self, evidence: LabelledRows) -> Importance:
        """Judge by `permutation_importance` of the forest, in rows, or in rows of the target's variance."""
        if not evidence.is_informative:
            return _nothing(evidence)
        values, errors = evidence.forest.permutation
        return Importance(features=evidence.features, values=values, errors=errors)


@dataclass(frozen=True)
class GiniImportance:
    """Decrease of Gini impurity (of variance) by splits on the feature, mean over trees, as a share of the total.

    Measured on the rows the trees were grown on, so it favours features with many values.
    """

    def score(self, evidence: LabelledRows) -> Importance:
        """Judge by scikit-learn's `feature_importances_`, in [0, 1]."""
        if not evidence.is_informative:
            return _nothing(evidence)
        return Importance(features=evidence.features, values=evidence.forest.impurity)


@dataclass(frozen=True, kw_only=True)
class HammingDistance:
    """Class separability by Hamming distance: how many pairs of rows of different classes differ in the feature.

    The comparator `Greedy_Hamdist` of paper 001 (Zhang, Mohammed, Dave and Al Hasan, Transactions on Data Privacy
    2017, arXiv 1512.07158). Their text could not be consulted beyond its introduction; this is the criterion its name
    and abstract describe. Hamming distance adds up over features, so the gain of a feature does not depend on what
    was selected before, and visiting features in descending order of it *is* the greedy search.
    """

    subtract_within: bool = False
    """Subtract the same share among pairs of one class: without it, even splits win whether or not they separate
    apart; with it, the criterion is stronger than the one compared with."""

    def score(self, evidence: LabelledRows) -> Importance:
        """Judge by the share of pairs of rows of different classes that differ, in [0, 1] (in [-1, 1] less within)."""
        if not evidence.is_informative:
            return _nothing(evidence)
        values = [self._separability(evidence.contingency(at)) for at in range(len(evidence.features))]
        return Importance(features=evidence.features, values=np.array(values))

    def _separability(self, counts: FloatArray) -> float:
        agree = counts @ counts.T
        pairs = np.outer(counts.sum(axis=1), counts.sum(axis=1))
        between = ~np.eye(len(counts), dtype=bool)
        apart = 1 - agree[between].sum() / pairs[between].sum()
        if not self.subtract_within:
            return float(apart)
        return float(apart - (1 - np.trace(agree) / np.trace(pairs)))


@dataclass(frozen=True)
class MutualInformation:
    """Mutual information of feature and target in nats, less its bias for many values (Miller 1955).

    The bias of the plug-in estimate, (values - 1)(classes - 1) / 2n, is subtracted, so a feature that
    is independent scores about 0 however many values it has.
    """

    def score(self, evidence: LabelledRows) -> Importance:
        """Judge by bias-corrected mutual information, in nats; may be below 0."""
        if not evidence.is_informative:
            return _nothing(evidence)
        values = [self._information(evidence.contingency(at)) for at in range(len(evidence.features))]
        return Importance(features=evidence.features, values=np.array(values))

    @staticmethod
    def _information(counts: FloatArray) -> float:
        counts = counts[:, counts.sum(axis=0) > 0]
        n_rows = counts.sum()
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n_rows
        with np.errstate(divide="ignore", invalid="ignore"):
            plug_in = np.where(counts > 0, counts * np.log(counts / expected), 0.0).sum() / n_rows
        return float(plug_in - (counts.shape[0] - 1) * (counts.shape[1] - 1) / (2 * n_rows))


IMPORTANCE_STRATEGIES: Mapping[str, ImportanceStrategy] = MappingProxyType(
    {
        "rf-oob": PermutationImportance(),
        "rf-gini": GiniImportance(),
        "hamdist": HammingDistance(),
        "mutual-info": MutualInformation(),
    }
)
"""The strategies by the name they have on the command line."""
