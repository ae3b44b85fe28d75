# SPDX-License-Identifier: Apache-2.0
"""The factors of naive Bayes: P(value | class) of one attribute, with the standard error of each probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from anonkit.consumers.class_statistics import answer_codes
from anonkit.consumers.columns import Columns
from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.domains.attribute_domains import UNKNOWN, Categories, Grid
from anonkit.errors import ParameterError
from anonkit.published.channels.transformed_response import TransformedResponse
from anonkit.published.randomized_table import PublishedAttribute

_LEAST = 1e-300  # keeps a logarithm finite where an answer is impossible


@dataclass(frozen=True, kw_only=True, eq=False)
class ShareFactor:
    """P(value | class) for categories, or for the cells of a grid."""

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
        domain, name = self.attribute.domain, self.attribute.name
        if isinstance(domain, Categories):
            return data.codes(name, domain)
        assert domain is not None  # noqa: S101 - shares need a domain
        values = data.numbers(name)
        absent = np.isnan(values) & (not domain.has_missing)
        codes = domain.encode(np.where(absent, domain.lower, values)).astype(np.int64)
        codes[absent] = UNKNOWN
        return codes

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

    def to_dict(self) -> dict[str, Any]:
        """Return the probabilities and their errors, for readers of the model file."""
        domain = self.attribute.domain
        values = domain.labels() if isinstance(domain, Categories) else None
        edges = domain.edges().tolist() if isinstance(domain, Grid) else None
        shape = {"values": values} if edges is None else {"edges": edges}
        return {
            "name": self.attribute.name,
            "kind": "shares",
            **shape,
            "probabilities": self.probabilities.tolist(),
            "standard_errors": self.errors.tolist(),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class NormalFactor:
    """P(value | class) as a normal density, with a share of missing values."""

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

    def to_dict(self) -> dict[str, Any]:
        """Return the moments and their errors, for readers of the model file."""
        return {
            "name": self.attribute.name,
            "kind": "normal",
            "mean": self.mean.tolist(),
            "variance": _finite(self.variance),
            "missing": None if self.missing is None else self.missing.tolist(),
            "standard_errors": {name: _finite(errors) for name, errors in self.standard_errors().items()},
        }


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
