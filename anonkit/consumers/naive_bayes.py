# SPDX-License-Identifier: Apache-2.0
"""Naive Bayes on a randomized table: a scikit-learn classifier that corrects the counts for the noise.

Zhang & Tang, Chinese Journal of Computers 30(8), 2007, §5 (PPNB), put right where it fails: probabilities stay
in [0, 1], variances above 0, and every number has a standard error.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from anonkit.consumers.column_statistics import ClassStatistics, Columns
from anonkit.consumers.estimation import Estimation, Prior, ShrunkenFactors, make_factor, make_prior, shrink_factors
from anonkit.consumers.factors import Factor
from anonkit.consumers.learned_models import Settings, StoredModel, is_noisy_tables, statistics_of_tables, to_pipeline
from anonkit.consumers.release_files import looks_released, open_randomized, read_params
from anonkit.documents import ReportPart
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import UNKNOWN, Categories
from anonkit.errors import ParameterError, SourceError
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import TransformedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget

_RELEASED_ROWS = (
    "these rows look like answers of the release, not like true values: scores on them measure the noise. "
    "anonkit.release_scorer or NaiveBayes(scored_on='released') score on released rows, "
    "predict(released=True) predicts from them"
)


class ReconstructionWarning(UserWarning):
    """Something could not be reconstructed, or a value to predict from is unknown; no cell value is shown."""


class ReleasedRowsWarning(ReconstructionWarning):
    """Rows taken for true values look like answers of a release."""


@dataclass(frozen=True, eq=False)
class Model(ReportPart, keys=("classes=prior", "weight", "attributes=factors")):
    """P(class) and P(value | class) as reconstructed from sums, made at first use.

    A model file has them for readers that only want to predict: a prediction is ln `expected` of the class + `weight` ×
    the sum of the log-likelihoods.
    """

    statistics: ClassStatistics
    estimation: Estimation

    def __post_init__(self) -> None:
        if self.statistics.n_rows == 0:
            raise SourceError("the table has no rows to learn from")

    @cached_property
    def prior(self) -> Prior:
        """P(class)."""
        return make_prior(self.statistics, self.estimation)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """P(value | class) of each attribute."""
        return self._shrunken.factors

    @property
    def weight(self) -> float:
        """Weight of the summed evidence of the attributes, in (0, 1]: see `estimators.evidence_weight`."""
        return self._shrunken.weight

    @cached_property
    def _shrunken(self) -> ShrunkenFactors:
        """The factors, drawn in by their noise; what could not be reconstructed is warned about once."""
        attributes = self.statistics.table.attributes
        factors = tuple(make_factor(attribute, self.statistics, self.estimation) for attribute in attributes)
        for note in (note for factor in factors for note in factor.notes):
            warnings.warn(note, ReconstructionWarning, stacklevel=4)
        return shrink_factors(factors, self.statistics, self.estimation)

    def joint_log_likelihood(self, data: Columns, *, released: bool) -> FloatArray:
        """Return ln P(class) + weight · Σ ln P(value | class), shape (n, n_classes)."""
        if not released and looks_released(self.statistics, data):
            warnings.warn(_RELEASED_ROWS, ReleasedRowsWarning, stacklevel=4)
        total = np.tile(np.log(self.prior.expected), (data.n_rows, 1))
        for factor in self.factors:
            term, unknown = factor.log_likelihood_released(data) if released else factor.log_likelihood(data)
            total += self.weight * term
            if unknown:
                warnings.warn(
                    f"attribute {factor.attribute.name!r}: {unknown} of {data.n_rows} rows hold no value of its domain "
                    "and are predicted without it",
                    ReconstructionWarning,
                    stacklevel=4,
                )
        return total


class NaiveBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes on what a randomized release shows.

    Parameters
    ----------
    params : mapping or PublishedTable, optional
        The release's params (see `anonkit.published.randomized_table`); may be given to `fit` instead. Without any,
        X is an array of numbers that were not randomized and this is plain Gaussian naive Bayes.
    estimator : {"shrunken", "likelihood", "moment", "published"}
        Estimator of the shares: shrunk towards no effect of the class, as far as their noise requires
        (`anonkit.estimators.evidence_weight`), their sum by what noise and dependence make of it
        (`anonkit.estimators.evidence_weight`; of noisy tables `anonkit.published.count_evidence`); by maximum
        likelihood; unbiased, projected on the simplex; or as the paper has it, with nothing put right (for comparison).
    smoothing : float
        Rows added to each value of each class, in [0, inf). Not used by the published estimator.
    numbers : {"histogram", "normal"}
        Distribution of numbers that were published on a grid. Numbers published by TRR are always normal.
    scored_on : {"true", "released"}
        What rows `score` gets: true values, or rows of the release, on which the accuracy on true rows is estimated
        (see `anonkit.release_scorer`).

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
        The class labels, in the order of the published domain.
    table_ : PublishedTable
        Content of the params.
    statistics_ : ClassStatistics
        The sums everything is estimated from; they add up over batches.
    model_ : Model
        `prior` and `factors`, each with standard errors.

    Examples
    --------
    >>> model = NaiveBayes().fit(released, params)  # doctest: +SKIP
    >>> model.predict_proba(new_customers)  # doctest: +SKIP

    Privacy
    -------
    Training is post-processing of the release: it costs no privacy loss and protects nothing more.
    """

    def __init__(
        self,
        params: Mapping[str, Any] | PublishedTable | None = None,
        *,
        estimator: Literal["shrunken", "likelihood", "moment", "published"] = "shrunken",
        smoothing: float = 0.5,
        numbers: Literal["histogram", "normal"] = "histogram",
        scored_on: Literal["true", "released"] = "true",
    ) -> None:
        self.params = params
        self.estimator = estimator
        self.smoothing = smoothing
        self.numbers = numbers
        self.scored_on = scored_on

    def fit(self, X: Any, y: Any = None, params: Mapping[str, Any] | PublishedTable | None = None) -> Self:
        """Learn from a whole table.

        Parameters
        ----------
        X : table, or array of numbers when there are no params
            The published table: pandas, Arrow, Polars, or a mapping of names to arrays.
        y : array, shape (n,), optional
            Published labels; not needed when X holds the target. Params are taken here too: `fit(released, params)`.
        params : mapping or PublishedTable, optional
            In place of those given to the constructor. Those of a release of noisy tables hold all there is to learn
            from: the rows, drawn from these tables, are not looked at.

        Raises
        ------
        SourceError
            When a column is missing or holds values its mechanism cannot have published.
        """
        if isinstance(y, (Mapping, PublishedTable)):
            y, params = None, y
        self._forget()
        chosen = self.params if params is None else params
        if isinstance(chosen, Mapping) and is_noisy_tables(chosen):
            return self.fit_statistics(statistics_of_tables(chosen))
        return self._learn(X, y, params, None)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Sequence[Any] | None = None,
        params: Mapping[str, Any] | PublishedTable | None = None,
    ) -> Self:
        """Learn from one more batch: the same model as from all batches at once.

        Parameters
        ----------
        X, y, params
            As for `fit`; params only with the first batch.
        classes : array, optional
            All labels, with the first batch, when there are no params.
        """
        return self._learn(X, y, params, classes)

    @classmethod
    def from_release(cls, path: str | Path, **settings: Any) -> Self:
        """Learn from a release on disk, batch by batch: its Parquet file and its `params.json`, nothing else.

        Parameters
        ----------
        path : path
            The Parquet file of the release, or any other of its files.
        **settings
            `estimator`, `smoothing`, `numbers`, as for the constructor.

        Raises
        ------
        ReleaseFormatError
            A file is missing or damaged, or the release was not randomized and needs no reconstruction.
        """
        published_params = read_params(path)
        if is_noisy_tables(published_params):
            model = cls(published_params, **settings)
            return model.fit_statistics(statistics_of_tables(published_params))
        data, params = open_randomized(path)
        model = cls(params, **settings)
        for batch in data:
            model.partial_fit(batch)
        if not hasattr(model, "model_"):
            raise SourceError("the release has no rows to learn from")
        return model

    def fit_statistics(self, statistics: ClassStatistics) -> Self:
        """Learn from sums that were made before, here or elsewhere; further batches can follow."""
        self._forget()
        self._describe(statistics.table)
        self.statistics_.merge(statistics)
        self.model_ = Model(self.statistics_, self._estimation())
        return self

    def _estimation(self) -> Estimation:
        return Estimation(estimator=self.estimator, smoothing=self.smoothing, numbers=self.numbers)

    def _forget(self) -> None:
        for name in ("statistics_", "table_", "classes_", "model_"):
            self.__dict__.pop(name, None)

    def _learn(
        self, X: Any, y: Any, params: Mapping[str, Any] | PublishedTable | None, classes: Sequence[Any] | None
    ) -> Self:
        estimation = self._estimation()
        first = not hasattr(self, "statistics_")
        chosen = self.params if params is None else params
        if first and chosen is not None:
            self._describe(chosen if isinstance(chosen, PublishedTable) else PublishedTable.from_params(chosen))
        if first and chosen is None:
            X, y = self._describe_plain(X, y, classes)
        elif self._plain:
            X, y = validate_data(self, X, y, reset=False, dtype=np.float64)
        data = self._columns(X)
        self.statistics_.add(data, None if y is None else self._label_codes(y))
        self.model_ = Model(self.statistics_, estimation)
        return self

    def _describe(self, table: PublishedTable, classes: NDArray[Any] | None = None) -> None:
        if table.target is None:
            raise ParameterError("the params name no target: there is nothing to predict")
        self.table_ = table
        self.statistics_ = ClassStatistics(table)
        self.classes_ = np.array(table.target.domain.values, dtype=object) if classes is None else classes

    @property
    def _plain(self) -> bool:
        return hasattr(self, "n_features_in_")

    def _describe_plain(self, X: Any, y: Any, classes: Sequence[Any] | None) -> tuple[FloatArray, NDArray[Any]]:
        """Describe an array of numbers as a table nothing was done to."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        labels = np.unique(y if classes is None else classes)
        names = tuple(str(position) for position in range(len(labels)))
        target = PublishedTarget(
            name="y", domain=Categories(values=names), mechanism=RandomizedResponse.clear(len(labels))
        )
        attributes = tuple(
            PublishedAttribute(name=f"x{column}", domain=None, mechanism=TransformedResponse.clear())
            for column in range(X.shape[1])
        )
        self._describe(PublishedTable(target=target, attributes=attributes), labels)
        return X, y

    def _columns(self, X: Any) -> Columns:
        if not self._plain:
            return Columns(X)
        return Columns({f"x{column}": X[:, column] for column in range(X.shape[1])})

    def _label_codes(self, y: Any) -> IntArray:
        if self._plain:
            codes = np.searchsorted(self.classes_, y)
            known = self.classes_[np.minimum(codes, len(self.classes_) - 1)] == y
        else:
            target = self.table_.target
            assert target is not None  # noqa: S101 - checked when the table was described
            codes = Columns({target.name: y}).codes(target.name, target.domain)
            known = codes != UNKNOWN
        if not np.all(known):
            raise SourceError(f"{int((~known).sum())} of {len(codes)} labels are not among the classes")
        return np.asarray(codes, dtype=np.int64)

    def predict_joint_log_proba(self, X: Any, *, released: bool = False) -> FloatArray:
        """Return ln P(class) + Σ ln P(value | class) of each row, shape (n, n_classes).

        With the estimator "shrunken" the sum counts by a factor of at most 1, `model_.weight`, and the classes by
        `model_.prior.expected`: what noise claims and what attributes say in common is taken off.

        Parameters
        ----------
        X : table, or array of numbers when there were no params
            True values; with `released=True` values that went through the same randomization.
        released : bool
            Rows to predict were randomized too: use P(published value | class).
        """
        check_is_fitted(self)
        if self._plain:
            X = validate_data(self, X, reset=False, dtype=np.float64)
        return self.model_.joint_log_likelihood(self._columns(X), released=released)

    def predict_log_proba(self, X: Any, *, released: bool = False) -> FloatArray:
        """Return the logarithm of `predict_proba`, shape (n, n_classes)."""
        joint = self.predict_joint_log_proba(X, released=released)
        top = joint.max(axis=1, keepdims=True)
        return np.asarray(joint - top - np.log(np.exp(joint - top).sum(axis=1, keepdims=True)))

    def predict_proba(self, X: Any, *, released: bool = False) -> FloatArray:
        """Return P(class | row), shape (n, n_classes), columns in the order of `classes_`."""
        return np.asarray(np.exp(self.predict_log_proba(X, released=released)))

    def predict(self, X: Any, *, released: bool = False) -> NDArray[Any]:
        """Return the most probable class of each row, shape (n,)."""
        joint = self.predict_joint_log_proba(X, released=released)
        return np.asarray(self.classes_[joint.argmax(axis=1)])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy, measured on true rows or estimated from released ones as `scored_on` says.

        Parameters
        ----------
        X : table
            Rows it was not fitted on.
        y : array, shape (n,), optional
            Labels; not needed when X holds the target.
        sample_weight : array, shape (n,), optional
            Weights of true rows.

        Raises
        ------
        ParameterError
            `scored_on` is unknown, or weights are given for released rows.
        """
        check_is_fitted(self)
        if self.scored_on not in ("true", "released"):
            raise ParameterError(f"scored_on ({self.scored_on}) must be true or released")
        if self.scored_on == "released":
            from anonkit.consumers.release_scoring import ReleaseScorer

            if sample_weight is not None:
                raise ParameterError("released rows cannot be weighted", "leave sample_weight out")
            return ReleaseScorer(self.table_)(self, X, y)
        target = self.table_.target
        if y is None and target is not None and not self._plain:
            y = target.domain.decode(self._target_codes(Columns(X)))
        return float(super().score(X, y, sample_weight))

    def _target_codes(self, data: Columns) -> IntArray:
        target = self.table_.target
        assert target is not None  # noqa: S101 - checked when the table was described
        codes = data.codes(target.name, target.domain)
        if (codes == UNKNOWN).any():
            raise SourceError(f"{int((codes == UNKNOWN).sum())} of {codes.size} labels are not among the classes")
        return codes

    def standard_errors(self) -> dict[str, Any]:
        """Return the standard error of every estimated number.

        Returns
        -------
        dict
            `classes`: errors of P(class), shape (n_classes,). Per attribute: errors of P(value | class), shape
            (n_classes, domain size), or a dict with those of `mean`, `variance` and, where values can be missing,
            `missing`, each of shape (n_classes,).
        """
        check_is_fitted(self)
        errors: dict[str, Any] = {"classes": self.model_.prior.errors}
        for factor in self.model_.factors:
            errors[factor.attribute.name] = factor.standard_errors()
        return errors

    def to_json(self) -> str:
        """Return the model as JSON: params, sums and, for other readers, every probability and its error."""
        check_is_fitted(self)
        stored = StoredModel(
            classes=self.classes_.tolist(),
            array_columns=getattr(self, "n_features_in_", None),
            settings=Settings(estimator=self.estimator, smoothing=self.smoothing, numbers=self.numbers),
            params=self.table_.to_params(),
            statistics=self.statistics_.stored,
        )
        document = {**stored.to_params(), "model": self.model_.to_dict()}
        return json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Rebuild a model from `to_json()`; it predicts the same and can learn from further batches.

        Raises
        ------
        ReleaseFormatError
            When the text is not such a model.
        """
        stored = StoredModel.parsed(text)
        model = cls(stored.params if stored.array_columns is None else None, **vars(stored.settings))
        model.fit_statistics(stored.summed)
        if stored.array_columns is not None:
            model.n_features_in_ = stored.array_columns
            model.classes_ = np.array(stored.classes)
        return model

    def to_sklearn(self) -> Any:
        """Return the same classifier as a scikit-learn pipeline that needs nothing of anonkit.

        Of a numeric target it is a regressor: `predict` returns the mean of the bins by their shares.

        Its `classes_`, and so the columns of `predict_proba`, are in sorted order, as everywhere in scikit-learn.

        Its input is a data frame with the attributes by name (an array, when there were no params).
        """
        check_is_fitted(self)
        return to_pipeline(self)
