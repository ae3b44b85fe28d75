# SPDX-License-Identifier: Apache-2.0
"""Decision trees on a randomized release, in place of naive Bayes: DTPD and DTCRD of Zhang & Tang 2007."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from anonkit.consumers.column_statistics import ClassStatistics, Columns, answer_codes
from anonkit.consumers.learned_models import described
from anonkit.consumers.naive_bayes import NaiveBayes, ReconstructionWarning
from anonkit.consumers.release_files import Described, open_randomized
from anonkit.consumers.tree_growth import (
    Answers,
    EstimatedNodeCounts,
    GrownNode,
    StoppingRule,
    corrected_cells,
    grow,
    leaf_shares,
    value_tests,
)
from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.domains.number_bins import UNKNOWN, Categories, Grid
from anonkit.errors import ParameterError, SourceError, option
from anonkit.published.channels.number_channels import TransformedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget

LEARNERS = ("dtpd", "dtcrd")
"""Learners of a randomized release besides naive Bayes."""
FORMAT = "anonkit-randomized-tree-1"
_NEEDS = {
    "dtpd": ("categories or bins whose response matrix has an inverse", "dtcrd"),
    "dtcrd": ("numbers by trr", "dtpd"),
}
"""Of each learner the columns it is for, and the learner for others."""


class RandomizedTree(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree on what a randomized release shows, by one of the papers' two ways to undo the noise.

    "dtpd" (Du & Zhan, KDD 2003) is ID3 on counts that are reconstructed by the inverse of the response matrix, for
    categories and bins. The paper inverts a record as a whole, which one known value undoes, so that no method here
    publishes it; a release has a response for each value, and the matrix of a path is the product of its attributes'.
    Its error grows with every test on the path.

    "dtcrd" (Agrawal & Srikant, SIGMOD 2000, "ByClass") is ID3 on numbers: within each class the distribution of each
    number is reconstructed, and the published numbers are dealt to its cells in their order. The paper adds noise; a
    release by `trr` multiplies too, which leaves less of the order.

    Parameters
    ----------
    params : mapping or PublishedTable, optional
        The release's params; may be given to `fit` instead.
    learner : {"dtpd", "dtcrd"}
    max_depth : int
        Most tests on a path.
    min_rows : float
        A node estimated to hold fewer rows is a leaf.
    cells : int
        Cells of each number's public bounds, for "dtcrd".

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
        The class labels, in the order of the published domain.
    table_ : PublishedTable
        Content of the params.
    naive_bayes_ : NaiveBayes
        The model of the same sums, which has the shares of the classes and the power of the rows.
    tree_ : GrownNode
        The tree.

    Privacy
    -------
    Post-processing of what was published: no privacy loss.
    """

    def __init__(
        self,
        params: Mapping[str, Any] | PublishedTable | None = None,
        *,
        learner: Literal["dtpd", "dtcrd"] = "dtpd",
        max_depth: int = 6,
        min_rows: float = 20.0,
        cells: int = 20,
    ) -> None:
        self.params = params
        self.learner = learner
        self.max_depth = max_depth
        self.min_rows = min_rows
        self.cells = cells

    def fit(self, X: Any, y: Any = None, params: Mapping[str, Any] | PublishedTable | None = None) -> Self:
        """Learn from a whole table.

        Parameters
        ----------
        X : table
            The published table, its target included.
        y
            Ignored; params are taken here too: `fit(released, params)`.
        params : mapping or PublishedTable, optional
            In place of those given to the constructor.

        Raises
        ------
        ParameterError
            The release does not carry what the learner needs.
        SourceError
            A column is missing or holds values its mechanism cannot have published.
        """
        chosen = y if isinstance(y, Mapping | PublishedTable) else self.params if params is None else params
        if chosen is None:
            raise ParameterError("a tree needs the params of a release", "RandomizedTree.from_release(path)")
        table = chosen if isinstance(chosen, PublishedTable) else PublishedTable.from_params(chosen)
        target, used = self._usable(table)
        data = Columns(X)
        statistics = ClassStatistics(table)
        statistics.add(data)  # refuses values that cannot have been published
        if statistics.n_rows == 0:
            raise SourceError("the release has no rows to learn from")
        self.table_ = table
        self.naive_bayes_ = NaiveBayes(table).fit_statistics(statistics)
        self.classes_ = self.naive_bayes_.classes_
        self.attributes_ = used
        self.domains_ = [self._domain(attribute) for attribute in used]
        self.tests_ = value_tests(self.domains_)
        self.tree_ = grow(
            EstimatedNodeCounts(answers=self._answers(data, target)),
            StoppingRule(max_depth=self.max_depth, min_rows=self.min_rows),
        )
        return self

    @classmethod
    def from_release(cls, path: str | Path, **settings: Any) -> Self:
        """Learn from a release on disk: its Parquet file and its `params.json`, nothing else.

        Parameters
        ----------
        path : path
            The Parquet file of the release, or any other of its files.
        **settings
            As for the constructor.

        Raises
        ------
        ParameterError
            The release was not randomized, or does not carry what the learner needs.
        ReleaseFormatError
            A file is missing or damaged.
        """
        batches, table = open_randomized(path)
        rows = list(batches)
        if not rows:
            raise SourceError("the release has no rows to learn from")
        return cls(table, **settings).fit(pa.Table.from_batches(rows))

    def _usable(self, table: PublishedTable) -> tuple[PublishedTarget, list[PublishedAttribute]]:
        """Return the target and the attributes that the learner can use.

        Raises
        ------
        ParameterError
            There is none, or rows answer one attribute each.
        """
        if self.learner not in LEARNERS:
            raise ParameterError(f"learner ({self.learner}) must be one of {', '.join(LEARNERS)}")
        target = table.target
        if target is None:
            raise ParameterError("the params name no target: there is nothing to predict")
        if table.asked_column is not None or target.mechanism is None:
            raise ParameterError(
                f"{self.learner} needs rows that answer several attributes at once, and here each row answers one",
                f"leave {option('learner')} out: naive Bayes needs one attribute at a time",
            )
        used = [attribute for attribute in table.attributes if self._reconstructible(attribute)]
        need, other = _NEEDS[self.learner]
        if not used:
            raise ParameterError(f"{self.learner} needs {need}, and the release has none", option("learner", other))
        if self.learner == "dtcrd":
            self._refuse_uncorrectable(target, used)
        left = [attribute.name for attribute in table.attributes if attribute not in used]
        if left:
            warnings.warn(
                f"{self.learner} leaves out {', '.join(map(repr, left))}: it is for {need}",
                ReconstructionWarning,
                stacklevel=3,
            )
        return target, used

    def _reconstructible(self, attribute: PublishedAttribute) -> bool:
        """Return True if the learner has a way to undo what was done to an attribute."""
        mechanism = attribute.mechanism
        if isinstance(mechanism, TransformedResponse) or self.learner == "dtcrd":
            return isinstance(mechanism, TransformedResponse) and self.learner == "dtcrd"
        try:
            mechanism.scores(np.eye(mechanism.n_inputs))
        except ParameterError:  # its response matrix has no inverse
            return False
        return True

    def _refuse_uncorrectable(self, target: PublishedTarget, used: Sequence[PublishedAttribute]) -> None:
        if target.mechanism is not None and not (np.diagonal(target.mechanism.response_matrix()) == 1).all():
            raise ParameterError(
                "dtcrd reconstructs numbers within each class, and this release has a randomized label",
                f"leave {option('learner')} out: naive Bayes undoes it",
            )
        for attribute in used:
            mechanism = attribute.mechanism
            if isinstance(mechanism, TransformedResponse) and mechanism.bounds is None:
                raise ParameterError(
                    f"dtcrd needs the public bounds of {attribute.name!r}, and the release states none",
                    f"an owner states them with {option('center')}",
                )
            if isinstance(mechanism, TransformedResponse) and mechanism.presence is not None:
                raise ParameterError(
                    f"dtcrd has no place for missing numbers, which {attribute.name!r} may have",
                    'an owner counts them as the lower bound: missing = "first"',
                )

    def _domain(self, attribute: PublishedAttribute) -> Categories | Grid:
        if attribute.domain is not None:
            return attribute.domain
        bounds = attribute.mechanism.bounds if isinstance(attribute.mechanism, TransformedResponse) else None
        assert bounds is not None  # noqa: S101 - others were refused
        return Grid(lower=bounds[0], upper=bounds[1], cells=self.cells)

    def _answers(self, data: Columns, target: PublishedTarget) -> Answers:
        labels = data.codes(target.name, target.domain)
        channel = target.mechanism
        assert channel is not None  # noqa: S101 - others were refused
        codes, scores = [], []
        for attribute, domain in zip(self.attributes_, self.domains_, strict=True):
            mechanism = attribute.mechanism
            if isinstance(mechanism, TransformedResponse):
                assert isinstance(domain, Grid)  # noqa: S101 - made above
                codes.append(corrected_cells(data.numbers(attribute.name), labels, mechanism, domain))
                scores.append(np.eye(domain.size))
            else:
                codes.append(answer_codes(attribute, data))
                scores.append(mechanism.scores(np.eye(domain.size)))
        return Answers(
            codes=codes, scores=scores, labels=channel.scores(np.eye(len(self.classes_)))[labels], tests=self.tests_
        )

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the shares of the classes in the leaf of each row of true values, shape (n, n_classes).

        A value outside the domain passes no test.
        """
        check_is_fitted(self)
        data = Columns(X)
        codes: dict[int, IntArray] = {}

        def passes(test: int, rows: IntArray) -> BoolArray:
            at = self.tests_[test].attribute
            if at not in codes:
                codes[at] = data.true_codes(self.attributes_[at].name, self.domains_[at])
            found = codes[at][rows]
            return np.asarray(self.tests_[test].values[found] & (found != UNKNOWN))

        return leaf_shares(self.tree_, data.n_rows, passes)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the commonest class in the leaf of each row of true values, shape (n,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def described(self) -> Described:
        """Return the description of the model."""
        check_is_fitted(self)
        whole = described(self.naive_bayes_)
        return replace(
            whole,
            kind=f"decision tree ({self.learner})",
            attributes=[attribute.name for attribute in self.attributes_],
        )

    def to_json(self) -> str:
        """Return the tree as JSON: of each node the estimated rows of every class, and the test that splits it."""
        check_is_fitted(self)
        document = {
            "format": FORMAT,
            "learner": self.learner,
            "target": self.described().target,
            "classes": [None if name is None else str(name) for name in self.classes_],
            "tree": self._node(self.tree_),
        }
        return json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1)

    def _node(self, node: GrownNode) -> dict[str, Any]:
        out: dict[str, Any] = {"rows": [round(float(count), 6) for count in node.counts]}
        if node.test is None or node.no is None or node.yes is None:
            return out
        test = self.tests_[node.test]
        return {
            **out,
            "column": self.attributes_[test.attribute].name,
            **_test_words(self.domains_[test.attribute], int(np.argmax(test.values))),
            "yes": self._node(node.yes),
            "no": self._node(node.no),
        }


def _test_words(domain: Categories | Grid, first: int) -> dict[str, Any]:
    """Return the test of a node by the first code that passes: one category, or numbers from the start of a cell."""
    if isinstance(domain, Categories):
        return {"is": domain.labels()[first]}
    return {"at_least": float(domain.edges()[first])} if first < domain.cells else {"is": None}
