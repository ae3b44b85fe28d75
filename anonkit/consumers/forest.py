# SPDX-License-Identifier: Apache-2.0
"""The published forest as a scikit-learn classifier: the params of a release are the model."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from anonkit.consumers.columns import Columns
from anonkit.consumers.marginal_model import ColumnAnswers
from anonkit.consumers.release_files import Described, column_types, read_params
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import UNKNOWN, Grid
from anonkit.errors import ParameterError
from anonkit.published.additive_scores import places_of, scores_of
from anonkit.published.tree_attributes import Attribute
from anonkit.published.tree_model import VOTES, PublishedForest


class UnknownValueWarning(UserWarning):
    """A value to predict from is outside its public domain; no cell value is shown."""


class Forest(ColumnAnswers, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Prediction by a published differentially private forest.

    Parameters
    ----------
    params : mapping or PublishedForest, optional
        The release's params; may be given to `fit` instead.
    vote : {"pooled", "majority", "sum"}, optional
        How the leaves that a row falls into, one a tree, decide together; by default what the release states, and
        `pooled` by default. `pooled`: add up their noisy counts, so that a leaf of many rows says more;
        `majority`: each votes for its commonest class; `sum`: add up their class probabilities, the shares of their
        counts with negative ones taken for 0 (all alike where none is positive), so that every tree says as much.
        Leaves without counts always vote for their label.
    smoothing : float
        Rows added to each class of the pooled counts, or votes to each class, in [0, inf); no effect on a sum of
        probabilities.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
        The class labels, in the order of the published domain.
    forest_ : PublishedForest
        Content of the params.
    vote_ : str
        How the trees decide together; `majority` where no leaf has counts.
    scores_ : AdditiveScores or None
        The scores of leaves and attribute values, where the release has them: they predict then, and `vote` and
        `smoothing` have no effect.

    Privacy
    -------
    Post-processing of what was published: no privacy loss.
    """

    def __init__(
        self,
        params: Mapping[str, Any] | PublishedForest | None = None,
        *,
        vote: Literal["pooled", "majority", "sum"] | None = None,
        smoothing: float = 1.0,
    ) -> None:
        self.params = params
        self.vote = vote
        self.smoothing = smoothing

    def fit(
        self, X: object = None, y: object = None, params: Mapping[str, Any] | PublishedForest | None = None
    ) -> Self:
        """Read the published forest; rows are not needed, and looked at in no way.

        Parameters
        ----------
        X, y
            Ignored: the owner grew the trees.
        params : mapping or PublishedForest, optional
            In place of those given to the constructor.
        """
        if self.vote is not None and self.vote not in VOTES:
            raise ParameterError(f"vote ({self.vote}) must be one of {', '.join(VOTES)}")
        if not 0 <= self.smoothing < np.inf:
            raise ParameterError(f"smoothing ({self.smoothing}) must be in [0, inf)")
        chosen = self.params if params is None else params
        if chosen is None:
            raise ParameterError("a forest needs the params of a release", "Forest.from_release(path)")
        self.forest_ = chosen if isinstance(chosen, PublishedForest) else PublishedForest.from_params(chosen)
        self.classes_ = np.array(self.forest_.schema.classes.labels(), dtype=object)
        self.vote_ = self.vote or self.forest_.vote or "pooled"
        self.scores_ = None if isinstance(chosen, PublishedForest) else scores_of(chosen, self.forest_)
        self._ballots = self._count_ballots()
        self._counts = None if isinstance(chosen, PublishedForest) or "histograms" not in chosen else chosen
        return self

    @classmethod
    def from_release(cls, path: str | Path, **settings: Any) -> Self:
        """Read the forest of a release on disk; its `params.json` is all that is needed.

        Raises
        ------
        ReleaseFormatError
            The file is missing or damaged, or the release holds no forest.
        """
        return cls(read_params(path), **settings).fit()

    def _count_ballots(self) -> FloatArray:
        """Return the vote of each leaf for each class, shape (n_nodes, n_classes)."""
        contents = self.forest_.contents()
        out = np.zeros((len(contents), self.classes_.size))
        counted, rows = [], []
        for node, leaf in enumerate(contents):
            if leaf is None:
                continue
            if leaf.counts is None:
                out[node, leaf.label] = 1.0
            else:
                counted.append(node)
                rows.append(leaf.counts)
        if not counted:
            self.vote_ = "majority"
            return out
        out[counted] = _ballots(np.array(rows, dtype=np.float64), self.vote_)
        return out

    def described(self) -> Described:
        """Return the description of the forest; rows and shares are those of the noisy counts."""
        check_is_fitted(self)
        schema, counted = self.forest_.schema, [leaf for leaf in self.forest_.contents() if leaf is not None]
        counts = np.zeros(self.classes_.size)
        for leaf in counted:
            counts += 0 if leaf.counts is None else np.array(leaf.counts)
        counts = np.maximum(counts * self.forest_.share_of_rows, 0.0)
        total = float(counts.sum())
        shares = counts / total if total else np.full(counts.size, 1.0 / counts.size)
        return Described(
            kind="forest",
            rows=round(total) if total else None,
            target=schema.target,
            domain=schema.classes,
            classes={
                str(name): {"share": float(share), "standard_error": None}
                for name, share in zip(self.classes_, shares, strict=True)
            },
            attributes=[attribute.name for attribute in schema.attributes],
            types=column_types(
                {split_attribute.name: split_attribute.is_number for split_attribute in schema.attributes},
                schema.target,
                schema.classes,
            ),
        )

    def _counted_params(self, column: str) -> Mapping[str, Any]:
        check_is_fitted(self)
        if self._counts is None:
            raise ParameterError("the forest has no noisy counts of columns", "dp-forest and dp-tree publish them")
        return self._counts

    def to_json(self) -> str:
        """Return the published forest as JSON, with the vote that was chosen here."""
        check_is_fitted(self)
        forest = self.forest_ if self.vote is None else replace(self.forest_, vote=self.vote)
        return json.dumps(forest.to_params(), ensure_ascii=False)

    def codes(self, X: object) -> IntArray:
        """Return the rows as codes of the public domains, shape (n_attributes, n_rows)."""
        check_is_fitted(self)
        data = Columns(X)
        attributes = self.forest_.schema.attributes
        codes = np.zeros((len(attributes), data.n_rows), dtype=np.int64)
        for at, attribute in enumerate(attributes):
            codes[at], unknown = _codes(data, attribute)
            if unknown:
                warnings.warn(
                    f"attribute {attribute.name!r}: {unknown} of {data.n_rows} rows have no value of its domain and "
                    "were replaced by another",
                    UnknownValueWarning,
                    stacklevel=3,
                )
        return codes

    def predict_proba(self, X: object) -> FloatArray:
        """Return the share of each class, shape (n, n_classes), columns in the order of `classes_`."""
        codes = self.codes(X)
        if self.scores_ is not None:
            return self.scores_.probabilities(places_of(self.forest_, codes), codes)
        leaves = self.forest_.leaves_of(codes)
        smoothing = 0.0 if self.vote_ == "sum" else self.smoothing
        counts = np.maximum(self._ballots[leaves].sum(axis=0), 0.0) + smoothing
        total = counts.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, counts / np.maximum(total, 1e-300), 1.0 / counts.shape[1]))

    def predict(self, X: object) -> NDArray[Any]:
        """Return the most probable class of each row, shape (n,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def _ballots(counts: FloatArray, vote: str) -> FloatArray:
    """Return the votes of leaves with these noisy counts for each class, both of shape (n_leaves, n_classes)."""
    if vote == "pooled":
        return counts
    n_classes = counts.shape[1]
    if vote == "majority":
        return np.asarray(np.eye(n_classes)[counts.argmax(axis=1)])
    rows = np.maximum(counts, 0.0)
    total = rows.sum(axis=1, keepdims=True)
    # noise can leave no count above 0: such a leaf knows nothing, and takes no side
    return np.asarray(np.where(total > 0, rows / np.where(total > 0, total, 1.0), 1.0 / n_classes))


def _codes(data: Columns, attribute: Attribute) -> tuple[IntArray, int]:
    """Return the codes of a column, and how many cells had none; those are taken for missing, or for the middle."""
    domain = attribute.domain
    if isinstance(domain, Grid):
        numbers = data.numbers(attribute.name)
        lost = np.zeros(numbers.size, dtype=bool) if domain.has_missing else np.isnan(numbers)
        filled = np.where(lost, (domain.lower + domain.upper) / 2, numbers)
        return domain.encode(filled).astype(np.int64), int(lost.sum())
    codes = data.codes(attribute.name, domain)
    lost = codes == UNKNOWN
    return np.where(lost, domain.size - 1 if domain.has_missing else domain.size // 2, codes), int(lost.sum())
