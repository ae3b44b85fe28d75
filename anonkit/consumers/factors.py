# SPDX-License-Identifier: Apache-2.0
"""The factors of naive Bayes: P(value | class) of one attribute, with the standard error of each probability.

Prediction of the target that splits all tables of dp-marginals, from these tables themselves.

The mixture is fitted to all pairs of columns at once, and what separates the classes is a small part of them: its
posterior blurs it. The tables by class hold it as it was measured: naive Bayes of the columns, and what each measured
pair says of the class beyond its two columns (Friedman, Geiger, Goldszmidt: *Bayesian network classifiers*, 1997), each
drawn in by its noise, their sum by what columns have in common.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from anonkit.consumers.class_statistics import answer_codes
from anonkit.consumers.columns import Columns
from anonkit.documents import ReportPart
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import UNKNOWN, Categories, Grid
from anonkit.errors import ParameterError
from anonkit.estimators.evidence_weight import weight_of_tables
from anonkit.published.channels.transformed_response import TransformedResponse
from anonkit.published.count_evidence import by_linear_shrinkage, normal, shares_of
from anonkit.published.marginal_tables import OneWayTable, PairTable
from anonkit.published.product_mixtures import ProductMixtures
from anonkit.published.randomized_table import PublishedAttribute

_NEVER = 1e-9
_FEWEST_ROWS = 0.5
"""Rows of a class, as far as its share is concerned: noise may leave it none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassConditionals:
    """Evidence of columns and pairs for each class, in natural logarithms; a last row of zeros is for unknown cells."""

    classes: FloatArray
    """Logarithm of the share of each class, shape (n_classes,)."""
    columns: Mapping[str, FloatArray]
    """For each column shape (values + 1, n_classes)."""
    pairs: Mapping[tuple[str, str], FloatArray]
    """For each measured pair, beyond its columns, shape (values + 1, values + 1, n_classes)."""

    @classmethod
    def of(cls, mixtures: ProductMixtures, tables: Sequence[OneWayTable], pairs: Sequence[PairTable]) -> Self | None:
        """Return the evidence of the tables on the target that splits them; None where the mixture is to be read.

        Parameters
        ----------
        mixtures : ProductMixtures
        tables, pairs
            Noisy tables of columns and of pairs.

        Notes
        -----
        Where more than half of all pairs were measured they close circles, and what they say is no sum any more: the
        mixture was fitted to all of them together.
        """
        n_columns = len(mixtures.names)
        if not mixtures.anchored or 4 * len(pairs) > n_columns * (n_columns - 1):
            return None
        rows = np.maximum(mixtures.class_rows, _FEWEST_ROWS)
        classes = np.asarray(rows / rows.sum())
        domains = mixtures.schema.domains
        within = {}
        for table in tables:
            moved = table.counts + ((rows - table.counts.sum(axis=1)) / table.counts.shape[1])[:, np.newaxis]
            found = shares_of(moved.T[np.newaxis], math.sqrt(table.variance / 2), domains[table.name]).of_class[0].T
            positive = np.maximum(found, _NEVER)
            within[table.name] = positive / positive.sum(axis=1, keepdims=True)
        weight = weight_of_tables(list(within.values()), classes)
        groups = {table.name: table.groups for table in tables}
        return cls(
            classes=np.log(classes),
            columns={name: np.pad(weight * np.log(own).T, ((0, 1), (0, 0))) for name, own in within.items()},
            pairs={
                pair.names: np.pad(weight * _beyond(pair, within, groups, classes), ((0, 1), (0, 1), (0, 0)))
                for pair in pairs
            },
        )

    def probabilities(self, codes: Mapping[str, IntArray], n_rows: int) -> FloatArray:
        """Return the share of each class, shape (n_rows, n_classes).

        Parameters
        ----------
        codes : mapping of str to int array
            Of the columns that there are; the size of its domain for a cell outside it.
        n_rows : int
        """
        total = np.tile(self.classes, (n_rows, 1))
        for name, own in codes.items():
            total += self.columns[name][own]
        for (first, second), beyond in self.pairs.items():
            if first in codes and second in codes:
                total += beyond[codes[first], codes[second]]
        shares = np.exp(total - total.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _beyond(
    pair: PairTable, within: Mapping[str, FloatArray], groups: Mapping[str, IntArray], classes: FloatArray
) -> FloatArray:
    """Return the evidence of a pair of values on each class beyond both, shape (values, values, n_classes).

    Drawn towards independence within the class, as far as the noisy counts say that pairs are not.
    """
    (first, second), n_classes = pair.names, classes.size
    one, other = (_grouped(within[name], groups[name]) for name in pair.names)
    apart = one[:, :, np.newaxis] * other[:, np.newaxis, :]
    cells = apart.reshape(n_classes, -1)
    prior = normal(cells.T[np.newaxis], (classes @ cells)[np.newaxis])
    counts = pair.counts.reshape(n_classes, -1).T[np.newaxis].astype(np.float64)
    found = by_linear_shrinkage(counts, math.sqrt(pair.variance / 2), prior)
    ratio = np.log(np.maximum(found.of_class[0], _NEVER) / np.maximum(prior.of_class[0], _NEVER))
    by_group = ratio.reshape(one.shape[1], other.shape[1], n_classes)
    return np.asarray(by_group[groups[first]][:, groups[second]])


def _grouped(shares: FloatArray, groups: IntArray) -> FloatArray:
    """Return the sums over the values of each group, shape (n_classes, groups)."""
    return np.stack([np.bincount(groups, weights=own) for own in shares])


_LEAST = 1e-300  # keeps a logarithm finite where an answer is impossible


@dataclass(frozen=True, kw_only=True, eq=False)
class ShareFactor(
    ReportPart,
    keys=("name=attribute.name", "kind", "values?", "edges?", "probabilities", "standard_errors=errors"),
):
    """P(value | class) for categories, or for the cells of a grid."""

    kind: ClassVar[str] = "shares"
    attribute: PublishedAttribute
    probabilities: FloatArray
    """Probabilities for predictions, shape (n_classes, domain size); rows sum to 1 but for the published estimator."""
    unbiased: FloatArray | None
    """The moment estimates behind them, which may leave [0, 1]; None where the answers cannot be inverted."""
    error_source: Callable[[], FloatArray]
    """Computes `errors`: for a smoothed histogram that takes longer than the estimate."""
    notes: tuple[str, ...] = ()
    """Notes for the reader; no cell values."""

    @cached_property
    def errors(self) -> FloatArray:
        """Standard errors, shape (n_classes, domain size); 1 where nothing is known."""
        return np.nan_to_num(self.error_source()[: len(self.probabilities)], nan=1.0, posinf=1.0)

    def codes(self, data: Columns) -> IntArray:
        """Return the code of each true value, `UNKNOWN` outside the domain."""
        domain = self.attribute.domain
        assert domain is not None  # noqa: S101 - shares need a domain
        return data.true_codes(self.attribute.name, domain)

    def log_likelihood(self, data: Columns) -> tuple[FloatArray, int]:
        """Return ln P(true value | class), shape (n, n_classes), and how many values the factor knows nothing about."""
        return _looked_up(np.log(self.probabilities), self.codes(data))

    def log_likelihood_released(self, data: Columns) -> tuple[FloatArray, int]:
        """Return ln P(published answer | class) for rows that were randomized as well."""
        answers = self.attribute.value_channel(len(self.probabilities)).forward(self.probabilities)
        return _looked_up(np.log(np.maximum(answers, _LEAST)), answer_codes(self.attribute, data))

    def standard_errors(self) -> FloatArray:
        """Return the standard errors of the probabilities, shape (n_classes, domain size)."""
        return self.errors

    @property
    def values(self) -> list[str | None] | None:
        """The categories; None for a number."""
        return self.attribute.domain.labels() if isinstance(self.attribute.domain, Categories) else None

    @property
    def edges(self) -> FloatArray | None:
        """The ends of the bins; None for categories."""
        return self.attribute.domain.edges() if isinstance(self.attribute.domain, Grid) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class NormalFactor(
    ReportPart,
    keys=(
        "name=attribute.name",
        "kind",
        "mean",
        "variance=known_variance",
        "missing",
        "standard_errors=known_errors",
    ),
):
    """P(value | class) as a normal density, with a share of missing values."""

    kind: ClassVar[str] = "normal"
    attribute: PublishedAttribute
    mean: FloatArray
    """Shape (n_classes,)."""
    variance: FloatArray
    """Shape (n_classes,), positive; infinite where the published estimator has none and leaves the attribute out."""
    mean_error: FloatArray
    variance_error: FloatArray
    missing: FloatArray | None
    """Share of missing values per class; None when none can be missing."""
    missing_error: FloatArray | None
    notes: tuple[str, ...] = ()

    def log_likelihood(self, data: Columns) -> tuple[FloatArray, int]:
        """Return ln p(true value | class), shape (n, n_classes), and how many values the factor knows nothing about."""
        return self._density(data.numbers(self.attribute.name), self.mean, self.variance, self.missing)

    def log_likelihood_released(self, data: Columns) -> tuple[FloatArray, int]:
        """Return ln p(published number | class) for rows that were randomized as well, taken as normal."""
        mechanism = self.attribute.mechanism
        if not isinstance(mechanism, TransformedResponse):
            raise ParameterError(
                f"attribute {self.attribute.name!r}: randomized rows need the histogram of a grid",
                'numbers = "histogram"',
            )
        mean, variance = mechanism.answer_moments(self.mean, self.variance)
        shown_present, shown_missing = mechanism.presence_probabilities()
        missing = None
        if self.missing is not None:
            missing = (1 - shown_present) * (1 - self.missing) + (1 - shown_missing) * self.missing
        return self._density(data.numbers(self.attribute.name), mean, variance, missing)

    def _density(
        self, values: FloatArray, mean: FloatArray, variance: FloatArray, missing: FloatArray | None
    ) -> tuple[FloatArray, int]:
        absent = np.isnan(values)
        known = np.isfinite(variance)
        spread = np.where(known, variance, 1.0)
        gap = np.where(absent, 0.0, values)[:, np.newaxis] - mean
        density = np.where(known, -0.5 * (np.log(2 * np.pi * spread) + gap**2 / spread), 0.0)
        if missing is None:
            density[absent] = 0.0
            return density, int(absent.sum())
        density += np.log1p(-missing)
        density[absent] = np.log(missing)
        return density, 0

    def standard_errors(self) -> dict[str, FloatArray]:
        """Return the standard errors of mean, variance and share of missing values, each of shape (n_classes,)."""
        errors = {"mean": self.mean_error, "variance": self.variance_error}
        return errors if self.missing_error is None else {**errors, "missing": self.missing_error}

    @property
    def known_variance(self) -> list[float | None]:
        """The variances; None where there is none."""
        return _finite(self.variance)

    @property
    def known_errors(self) -> dict[str, list[float | None]]:
        """The standard errors; None where one is not known."""
        return {name: _finite(errors) for name, errors in self.standard_errors().items()}


def _finite(values: FloatArray) -> list[float | None]:
    """JSON has no infinity: an attribute left out has no variance, an unknown error is none."""
    return [value if np.isfinite(value) else None for value in values.tolist()]


Factor = ShareFactor | NormalFactor


def _looked_up(logarithms: FloatArray, codes: IntArray) -> tuple[FloatArray, int]:
    """Return the column of each code, and 0 for every class where the code is unknown."""
    unknown = codes == UNKNOWN
    values = logarithms.T[np.where(unknown, 0, codes)]
    values[unknown] = 0.0
    return values, int(unknown.sum())
