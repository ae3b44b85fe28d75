# SPDX-License-Identifier: Apache-2.0
"""P(value | class) of one attribute, with a standard error for each number: all naive Bayes needs to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from anonkit.consumers.class_statistics import IntArray, answer_codes
from anonkit.consumers.columns import Columns
from anonkit.errors import ParameterError
from anonkit.mechanisms.channel import Channel, FloatArray
from anonkit.mechanisms.domains import UNKNOWN, Categories, Grid
from anonkit.mechanisms.published import PublishedAttribute
from anonkit.mechanisms.transformed_response import TransformedResponse

_LEAST = 1e-300  # keeps a logarithm finite where an answer is impossible


@dataclass(frozen=True, kw_only=True, eq=False)
class ShareFactor:
    """P(value | class) for categories, or for the cells of a grid."""

    attribute: PublishedAttribute
    probabilities: FloatArray
    """What predictions use, shape (n_classes, domain size); rows add up to 1 (except for the published estimator)."""
    unbiased: FloatArray | None
    """The moment estimates behind them, which may leave [0, 1]; None where the answers cannot be inverted."""
    errors: FloatArray
    """Standard errors, shape (n_classes, domain size)."""
    notes: tuple[str, ...] = ()
    """What the reader should know; no cell values."""

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
        answers = _value_answers(self.attribute, self.probabilities)
        return _looked_up(np.log(np.maximum(answers, _LEAST)), answer_codes(self.attribute, data))

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

    def to_dict(self) -> dict[str, Any]:
        """Return the moments and their errors, for readers of the model file."""
        out = {
            "name": self.attribute.name,
            "kind": "normal",
            "mean": self.mean.tolist(),
            "variance": [value if np.isfinite(value) else None for value in self.variance.tolist()],
            "standard_errors": {"mean": self.mean_error.tolist(), "variance": self.variance_error.tolist()},
        }
        if self.missing is not None and self.missing_error is not None:
            out |= {"missing": self.missing.tolist(), "missing_standard_error": self.missing_error.tolist()}
        return out


Factor = ShareFactor | NormalFactor


def _value_answers(attribute: PublishedAttribute, probabilities: FloatArray) -> FloatArray:
    """Return P(published value | class); the class shown in a joint answer is summed over: it is to be predicted."""
    mechanism = attribute.mechanism
    assert isinstance(mechanism, Channel)  # noqa: S101 - shares need a domain
    if not attribute.joint_with_target:
        return mechanism.forward(probabilities)
    n_classes, n_values = probabilities.shape
    joint = np.zeros((n_classes, mechanism.n_inputs // n_values, n_values))
    joint[np.arange(n_classes), np.arange(n_classes)] = probabilities
    answers = mechanism.forward(joint.reshape(n_classes, -1))
    return np.asarray(answers.reshape(n_classes, joint.shape[1], -1).sum(axis=1))


def _looked_up(logarithms: FloatArray, codes: IntArray) -> tuple[FloatArray, int]:
    """Return the column of each code, and 0 for every class where the code is unknown."""
    unknown = codes == UNKNOWN
    found = logarithms.T[np.where(unknown, 0, codes)]
    found[unknown] = 0.0
    return found, int(unknown.sum())
