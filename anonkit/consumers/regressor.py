# SPDX-License-Identifier: Apache-2.0
"""The model of a release with a numeric target as a scikit-learn regressor: means of the bins, by their shares."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from anonkit.consumers.forest import Forest
from anonkit.consumers.mixture_classifier import MixtureClassifier
from anonkit.consumers.naive_bayes import NaiveBayes
from anonkit.consumers.release_files import read_params
from anonkit.domains.coded_columns import FloatArray
from anonkit.domains.number_bins import Categories, NumberBins
from anonkit.errors import ParameterError
from anonkit.published.product_mixtures import FORMATS as MIXTURES
from anonkit.published.tree_model import FORMATS as FORESTS

if TYPE_CHECKING:
    from anonkit.consumers.randomized_trees.randomized_tree import RandomizedTree
    from anonkit.published.randomized_table import PublishedTable
    from anonkit.published.tree_model import PublishedForest

_HINT = "its consumers get a classifier: Forest, MixtureClassifier or NaiveBayes"


class ReleaseRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Prediction of a numeric target from a release with noise.

    The bins of the target are classes of a published forest, of a mixture, or of naive Bayes; `predict` returns the sum
    of the means of the bins, weighted by their predicted shares: an estimate of the mean of the target given a row.

    Parameters
    ----------
    params : mapping, optional
        The release's params; may be given to `fit` instead.
    settings : mapping, optional
        Parameters of the model within: those of `anonkit.consumers.Forest`, `MixtureClassifier` or `NaiveBayes`.

    Attributes
    ----------
    model_ : Forest, MixtureClassifier, NaiveBayes or RandomizedTree
        The classifier of the bins: its `predict_proba` is their distribution given a row.
    bins_ : NumberBins
        The bins of the target, with the representative number of each.

    Privacy
    -------
    Post-processing of what was published: no privacy loss.
    """

    def __init__(self, params: Mapping[str, Any] | None = None, *, settings: Mapping[str, Any] | None = None) -> None:
        self.params = params
        self.settings = settings

    def fit(self, X: object = None, y: object = None, params: Mapping[str, Any] | None = None) -> Self:
        """Learn from a release: its rows where they were randomized, its params alone where these hold the model.

        Parameters
        ----------
        X : table, optional
            The published rows of a randomized release.
        y
            Ignored; params are taken here too: `fit(released, params)`.
        params : mapping, optional
            In place of those given to the constructor.

        Raises
        ------
        ParameterError
            There are no params, or their target has classes.
        """
        chosen = y if isinstance(y, Mapping) else self.params if params is None else params
        if chosen is None:
            raise ParameterError("a regressor needs the params of a release", "ReleaseRegressor.from_release(path)")
        settings = dict(self.settings or {})
        if chosen.get("format") in FORESTS:
            return self._around(Forest(chosen, **settings).fit())
        if chosen.get("format") in MIXTURES:
            return self._around(MixtureClassifier(chosen, **settings).fit())
        return self._around(NaiveBayes(chosen, **settings).fit(X))

    @classmethod
    def from_release(cls, path: str | Path, **settings: Any) -> Self:
        """Learn from a release on disk: its Parquet file and its `params.json`.

        Raises
        ------
        ParameterError
            Its target has classes.
        ReleaseFormatError
            A file is missing or damaged.
        """
        kinds: dict[Any, Any] = {**dict.fromkeys(FORESTS, Forest), **dict.fromkeys(MIXTURES, MixtureClassifier)}
        kind = kinds.get(read_params(path).get("format"), NaiveBayes)
        return cls(settings=settings or None)._around(kind.from_release(path, **settings))

    @classmethod
    def of(cls, model: Forest | MixtureClassifier | NaiveBayes | RandomizedTree) -> Self:
        """Return the regressor of a classifier of bins that has been learned."""
        return cls()._around(model)

    def _around(self, model: Forest | MixtureClassifier | NaiveBayes | RandomizedTree) -> Self:
        classes = _classes_of(model)
        if not isinstance(classes, NumberBins):
            raise ParameterError("the target of this release has classes, not numbers", _HINT)
        self.model_ = model
        self.bins_ = classes
        return self

    def predict(self, X: object) -> FloatArray:
        """Return the estimated mean of the target for each row of true values, in its unit, shape (n,)."""
        check_is_fitted(self)
        return self.bins_.mean_of(np.asarray(self.model_.predict_proba(X)))

    def to_json(self) -> str:
        """Return the classifier of the bins as JSON, the bins and their means with it."""
        check_is_fitted(self)
        return self.model_.to_json()

    def to_sklearn(self) -> Any:
        """Return the same regressor as a scikit-learn pipeline that needs nothing of anonkit.

        Raises
        ------
        ParameterError
            It is a tree, a forest or a mixture, which scikit-learn has no place for: this object is its regressor.
        """
        check_is_fitted(self)
        if not isinstance(self.model_, NaiveBayes):
            raise ParameterError("a published model has no form of scikit-learn's own", "this regressor predicts it")
        return self.model_.to_sklearn()


def _classes_of(model: Forest | MixtureClassifier | NaiveBayes | RandomizedTree) -> Categories | None:
    if isinstance(model, MixtureClassifier):
        return model.domain_
    if isinstance(model, Forest):
        forest: PublishedForest = model.forest_
        return forest.schema.classes
    table: PublishedTable = model.table_
    return None if table.target is None else table.target.domain
