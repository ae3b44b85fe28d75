# SPDX-License-Identifier: Apache-2.0
"""A scikit-learn scorer that estimates a model's accuracy on true rows from randomized rows.

A released row shows a noisy answer in place of the class and of the values to predict from: comparing a prediction
with it measures the noise. What is wanted is Σ P(x, y) 1[f(x) = y] over true rows. Where the values are clear and only
the label was randomized, its inverse response matrix gives that without bias and without an assumption. Where values
were randomized too, an inverse of all of them together has a variance beyond any use, and where each row answers one
attribute it does not exist: the model then predicts rows drawn from the distribution reconstructed from the
released rows, attributes independent within a class as naive Bayes has it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from anonkit.consumers.column_statistics import ClassStatistics, Columns, StoredStatistics
from anonkit.consumers.estimation import Estimation, label_channel, make_factor, make_prior
from anonkit.consumers.factors import Factor, ShareFactor
from anonkit.consumers.learned_models import is_noisy_tables
from anonkit.consumers.release_files import is_unperturbed
from anonkit.documents import read
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import UNKNOWN, Grid
from anonkit.errors import ParameterError, SourceError
from anonkit.published.randomized_table import PublishedTable, PublishedTarget

METRICS = ("accuracy", "balanced_accuracy")
_DRAWS = 4096
"""Rows drawn of each class: scores are exact to about .002."""
_ESTIMATION = Estimation(smoothing=0.0)


class ReleaseScorer:
    """A scorer in scikit-learn's sense: `scorer(estimator, X, y)`, X being released rows.

    Parameters
    ----------
    params : mapping or PublishedTable, optional
        The release's params; those of the estimator when not given.
    metric : {"accuracy", "balanced_accuracy"}
        Share of the rows, or mean over the classes of the share of the rows, whose class is predicted.

    Notes
    -----
    Reconstructing from few rows has a bias of the order of one over their number, which two halves of the rows show
    and take off (Quenouille, Biometrika 43, 1956). The draws are a fixed sequence of low discrepancy: equal rows get
    equal scores, and candidates of a grid search are compared on the same draws.

    Privacy
    -------
    Post-processing of the release: no privacy loss.
    """

    def __init__(
        self,
        params: Mapping[str, Any] | PublishedTable | None = None,
        *,
        metric: Literal["accuracy", "balanced_accuracy"] = "accuracy",
    ) -> None:
        if metric not in METRICS:
            raise ParameterError(f"metric ({metric}) must be accuracy or balanced_accuracy")
        if isinstance(params, Mapping) and is_noisy_tables(params):
            raise ParameterError(
                "a release of noisy tables has no randomized rows to score on", "score on a table of true values"
            )
        given = None if params is None or isinstance(params, PublishedTable) else PublishedTable.from_params(params)
        self.table = params if isinstance(params, PublishedTable) else given
        self.metric = metric

    def __repr__(self) -> str:
        return f"release_scorer(metric={self.metric!r})"

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Return the estimated score on true rows, in [0, 1].

        Parameters
        ----------
        estimator : classifier
            Fitted; anything with `predict` that takes a data frame of true values.
        X : table
            Released rows that it was not fitted on.
        y : array, shape (n,), optional
            Their released labels; not needed when X holds the target.

        Raises
        ------
        ParameterError
            Neither scorer nor estimator has params with a target.
        SourceError
            Fewer than two rows, or rows that are not answers of this release.
        """
        table = self.table if self.table is not None else getattr(estimator, "table_", None)
        if table is None or table.target is None:
            raise ParameterError("the scorer needs the params of a release with a target", "release_scorer(params)")
        data = Columns(X)
        labels = _labels(table.target, data if y is None else Columns({table.target.name: y}))
        if data.n_rows < 2:
            raise SourceError("fewer than two released rows to score on")
        if all(is_unperturbed(attribute) for attribute in table.attributes):
            return self._of_clear_values(estimator, X, table, labels)
        halves = [ClassStatistics(table), ClassStatistics(table)]
        names = [
            *(table_attribute.name for table_attribute in table.attributes),
            *([table.asked_column] if table.asked_column else []),
        ]
        for first, half in enumerate(halves):
            half.add(Columns({name: data.array(name)[first::2] for name in names}), labels[first::2])
        whole = ClassStatistics(table)
        for half in halves:
            whole.merge(half)
        scores = [self._expected(estimator, statistics) for statistics in (whole, *halves)]
        return float(np.clip(2 * scores[0] - (scores[1] + scores[2]) / 2, 0.0, 1.0))

    def _of_clear_values(self, estimator: Any, X: Any, table: PublishedTable, labels: IntArray) -> float:
        """Return the score with the labels unmixed: unbiased, whatever the rows are."""
        target = table.target
        assert target is not None  # noqa: S101 - the caller has looked
        n_classes = len(target.domain.values)
        guessed = _codes_of(target, estimator.predict(X))
        answered = np.bincount(labels * target.domain.size + guessed, minlength=target.domain.size**2)
        true = label_channel(target).unmix(answered.reshape(target.domain.size, -1).T.astype(np.float64)).T
        sizes, right = true.sum(axis=1)[:n_classes], np.diagonal(true)[:n_classes]
        return self._score(sizes, np.divide(right, sizes, out=np.zeros(n_classes), where=sizes > 0))

    def _expected(self, estimator: Any, statistics: ClassStatistics) -> float:
        """Return the score on the distribution reconstructed from sums."""
        table, target = statistics.table, statistics.table.target
        assert target is not None  # noqa: S101 - the caller has looked
        texts = json.dumps(table.to_params(), sort_keys=True), json.dumps(statistics.stored.to_dict(), sort_keys=True)
        sizes, rows_of_class = _quadrature_rows(*texts)
        hits = [
            float((_codes_of(target, _predicted(estimator, rows)) == row).mean())
            for row, rows in enumerate(rows_of_class)
        ]
        return self._score(sizes, np.array(hits))

    def _score(self, sizes: FloatArray, hits: FloatArray) -> float:
        if self.metric == "balanced_accuracy":
            return float(np.clip(hits[sizes > 0].mean(), 0.0, 1.0))
        return float(np.clip(sizes @ hits / sizes.sum(), 0.0, 1.0))


def release_scorer(
    params: Mapping[str, Any] | PublishedTable | None = None,
    *,
    metric: Literal["accuracy", "balanced_accuracy"] = "accuracy",
) -> ReleaseScorer:
    """Return a scorer that estimates from rows of a randomized release how well a model does on true rows.

    For `scoring=` of `cross_val_score`, `GridSearchCV` and their kind; parameters are those of `ReleaseScorer`.

    Examples
    --------
    >>> search = GridSearchCV(NaiveBayes(params), grid, scoring=anonkit.release_scorer(params))  # doctest: +SKIP
    >>> search.fit(released)  # doctest: +SKIP
    """
    return ReleaseScorer(params, metric=metric)


def _labels(target: PublishedTarget, data: Columns) -> IntArray:
    codes = data.codes(target.name, target.domain)
    if (codes == UNKNOWN).any():
        raise SourceError(f"{int((codes == UNKNOWN).sum())} of {codes.size} labels are not among the classes")
    return codes


def _codes_of(target: PublishedTarget, predicted: Any) -> IntArray:
    return _labels(target, Columns({target.name: np.asarray(predicted)}))


def _predicted(estimator: Any, rows: Any) -> Any:
    from anonkit.consumers.naive_bayes import ReleasedRowsWarning

    with warnings.catch_warnings():
        # rows drawn from a rough reconstruction need not look like those of another
        warnings.simplefilter("ignore", ReleasedRowsWarning)
        return estimator.predict(rows)


@lru_cache(maxsize=16)
def _quadrature_rows(params: str, sums: str) -> tuple[FloatArray, tuple[Any, ...]]:
    """Return P(class), and a data frame of rows of each: points of a Kronecker sequence through inverse distributions.

    The same for all candidates of a search: sums go in as strings so that they are reconstructed once for each fold.
    """
    import pandas as pd

    table = PublishedTable.from_params(json.loads(params))
    statistics = ClassStatistics.of(table, read(StoredStatistics, json.loads(sums)))
    factors = [make_factor(attribute, statistics, _ESTIMATION) for attribute in table.attributes]
    prior = make_prior(statistics, _ESTIMATION).probabilities
    steps = np.sqrt(np.array(_primes(len(factors)), dtype=np.float64)) % 1
    points = ((np.arange(_DRAWS) + 0.5)[:, np.newaxis] * steps + 0.5) % 1
    frames = [
        pd.DataFrame({factor.attribute.name: _column(factor, row, points[:, at]) for at, factor in enumerate(factors)})
        for row in range(len(prior))
    ]
    return prior, tuple(frames)


def _column(factor: Factor, row: int, points: FloatArray) -> Any:
    """Return values of one attribute within one class at places of its distribution function."""
    if isinstance(factor, ShareFactor):
        ends = np.cumsum(factor.probabilities[row])
        ends = ends / ends[-1]
        codes = np.minimum(np.searchsorted(ends, points, side="right"), len(ends) - 1)
        domain = factor.attribute.domain
        assert domain is not None  # noqa: S101 - shares need a domain
        values = domain.decode(codes)
        if not isinstance(domain, Grid):
            return values
        starts = np.concatenate([[0.0], ends[:-1]])
        inside = (points - starts[codes]) / np.maximum(ends[codes] - starts[codes], 1e-300)
        if domain.values is None:
            return values + (np.clip(inside, 0, 1) - 0.5) * domain.width
        edges, known = domain.edges(), np.minimum(codes, domain.cells - 1)
        places = edges[known] + np.clip(inside, 0, 1) * (edges[known + 1] - edges[known])
        return np.where(np.isnan(values), values, places)
    from scipy.special import ndtri

    missing = 0.0 if factor.missing is None else float(factor.missing[row])
    inside = np.clip((points - missing) / (1 - missing), 1e-12, 1 - 1e-12)
    values = factor.mean[row] + np.sqrt(factor.variance[row]) * ndtri(inside)
    return np.where(points < missing, np.nan, values)


def _primes(count: int) -> list[int]:
    primes: list[int] = []
    candidate = 2
    while len(primes) < count:
        if all(candidate % prime for prime in primes):
            primes.append(candidate)
        candidate += 1
    return primes
