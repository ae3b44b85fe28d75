# SPDX-License-Identifier: Apache-2.0
"""Weights of the additive scores from one noisy Newton step, with gradient and curvature as integer sums.

Shares of many attributes, taken as independent, repeat the same evidence. One step of the logistic regression
of the class on the attributes' scores measures how much of each is new. What a row adds to the sums is computed in
integers alone, from its codes and from published tables, and is cut to a public bound: the sums change by no more than
that when a row comes or goes, however the rows are batched.

Calibration slope and intercepts of the model, from one noisy gradient: how sure all evidence together makes.

Shares of attributes that are taken as independent say too much where attributes agree, and evidence that was shrunk by
its noise says too little. Where rows are too few for a weight of each attribute, one factor for all of them, the
calibration slope (Cox 1958), is still found, and with it a small change of the intercepts. Slope and intercepts have a
prior around what they are without the step: a gradient that is lost in its noise changes nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.budget_rules.model_queries import ClippedSum
from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.mechanisms.accounting import rate_within, sensitivity_of
from anonkit.mechanisms.exact_samplers import UniformStream, noisy_counts
from anonkit.published.noisy_tables import LAPLACE
from anonkit.published.statements.noise_statement import Draw

FEATURE_UNIT = 64
"""Features are in units of 1/64 of a natural logarithm."""
PROBABILITY_UNIT = 256
"""Probabilities are in units of 1/256."""
LARGEST_WEIGHT = 1.6
CURVATURE_SHARE = 0.4
"""Share of the step's budget that is spent on the curvature."""
_PIECE = 1 << 14
_TYPICAL = 0.5
"""Half the square of the typical range of a row's features: curvature beyond is cut."""
_EXPONENTIALS = np.rint(65536 * np.exp(-np.arange(16 * FEATURE_UNIT) / FEATURE_UNIT)).astype(np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Features:
    """Features of the rows of a batch, as integers in units of 1/64: computed from codes and published tables."""

    values: IntArray
    """Shape (n_features, n_classes, n_rows)."""
    scores: IntArray
    """The scores at the weights so far, shape (n_classes, n_rows)."""

    @cached_property
    def shares(self) -> IntArray:
        """Probabilities of the classes at these scores, in whole 256ths, shape (n_classes, n_rows)."""
        return probabilities(self.scores)


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Public bounds on what one row adds, in the units of the sums."""

    gradient: int
    curvature: int

    @classmethod
    def of(cls, ranges: FloatArray) -> Bounds:
        """Return the bounds for features of these typical ranges, in natural logarithms."""
        total = float(ranges.sum())
        gradient = math.ceil((total + 0.7) * FEATURE_UNIT * PROBABILITY_UNIT)
        curvature = math.ceil(((total + 0.5) ** 2 / 2) * _TYPICAL * FEATURE_UNIT**2 * PROBABILITY_UNIT)
        return cls(gradient=gradient, curvature=curvature)


def probabilities(scores: IntArray) -> IntArray:
    """Return whole 256ths of the softmax of scores in 64ths, shape (n_classes, n_rows); columns sum to 256."""
    below = np.minimum(scores.max(axis=0) - scores, _EXPONENTIALS.size - 1)
    weights = _EXPONENTIALS[below]
    shares = weights * PROBABILITY_UNIT // weights.sum(axis=0)
    best = scores.argmax(axis=0)
    # the rest goes to the best class, so that integers sum to the unit exactly
    shares[best, np.arange(best.size)] += PROBABILITY_UNIT - shares.sum(axis=0)
    return np.asarray(shares)


def row_gradients(features: Features, labels: NDArray[np.integer[Any]], bound: int) -> IntArray:
    """Return the gradient of each row, shape (n_features, n_rows): at most `bound` in absolute sum."""
    shares = features.shares
    values = features.values[:, labels, np.arange(labels.size)]
    expected = (features.values * shares).sum(axis=1)
    added = PROBABILITY_UNIT * values - expected
    size = np.abs(added).sum(axis=0)
    long = np.flatnonzero(size > bound)
    part = added[:, long]
    # towards 0, so that the absolute sum stays within the bound exactly
    added[:, long] = np.sign(part) * (np.abs(part) * bound // size[long])
    return np.asarray(added)


def row_curvature_weights(features: Features, bound: int) -> tuple[IntArray, IntArray]:
    """Return centred features (n_features, n_classes, n_rows) and weights (n_classes, n_rows).

    The curvature adds up weight * feature * feature' over rows and classes; a row changes the triangle of it by at most
    `bound` in absolute sum.
    """
    shares = features.shares
    centre = (features.values * shares).sum(axis=1) // PROBABILITY_UNIT
    centred = features.values - centre[:, np.newaxis]
    sizes = np.abs(centred).sum(axis=0)
    squares = (centred * centred).sum(axis=0)
    change = (shares * ((sizes * sizes + squares) // 2)).sum(axis=0)
    # clipped row by row, so that the sensitivity is `bound` for every row there can be
    weights = np.where(change > bound, shares * bound // np.maximum(change, 1), shares)
    return centred, np.asarray(weights)


def added_gradient(features: Features, labels: NDArray[np.integer[Any]], bound: int) -> IntArray:
    """Return the sum of `row_gradients` over a batch, shape (n_features,)."""
    return np.asarray(row_gradients(features, labels, bound).sum(axis=1))


def added_curvature(features: Features, bound: int) -> IntArray:
    """Return the sum over a batch of weight * feature * feature', shape (n_features, n_features).

    Products of integers below 2**53 are exact in floats, whatever order they are added in.
    """
    centred, weights = row_curvature_weights(features, bound)
    total = np.zeros((len(centred), len(centred)), dtype=np.int64)
    for label in range(centred.shape[1]):
        centred_column = centred[:, label].astype(np.float64)
        for start in range(0, centred_column.shape[1], _PIECE):
            part = centred_column[:, start : start + _PIECE]
            weighted = part * weights[label, start : start + _PIECE].astype(np.float64)
            total += (weighted @ part.T).astype(np.int64)
    return total


@dataclass(frozen=True, kw_only=True)
class WeightingStep:
    """The two noisy draws of a step, planned within units of 2**-52 of epsilon."""

    units: int
    bounds: Bounds
    features: int

    @property
    def draws(self) -> tuple[Draw, Draw]:
        """Return the two lines of the account: gradient and curvature."""
        curvature = math.floor(self.units * CURVATURE_SHARE)
        return (
            _line("gradient of the weights", self.units - curvature, self.bounds.gradient),
            _line("curvature of the weights", curvature, self.bounds.curvature),
        )

    def noisy(self, gradient: IntArray, curvature: IntArray, words: UniformStream) -> NoisyStep:
        """Noise the sums, the curvature's triangle once."""
        first, second = self.draws
        upper = np.triu_indices(self.features)
        noisy_upper = noisy_counts(curvature[upper], second.rate, words)
        square = np.zeros((self.features, self.features), dtype=np.int64)
        square[upper] = noisy_upper
        square = square + square.T - np.diag(np.diag(square))
        return NoisyStep(step=self, gradient=noisy_counts(gradient, first.rate, words), curvature=square)


def _line(purpose: str, units: int, bound: int) -> Draw:
    query = ClippedSum(bound=bound)
    rate = rate_within(units, sensitivity_of(query))
    return Draw(name=purpose, law=LAPLACE, rate=rate, query=query)


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyStep(ParamsPart, keys=("gradient", "curvature=upper_curvature")):
    """The noisy sums: published, and the weights follow from them."""

    step: WeightingStep
    gradient: IntArray
    curvature: IntArray

    def change(self, deviations: FloatArray) -> FloatArray:
        """Return the most probable change of the weights, shape (n_features,).

        Parameters
        ----------
        deviations : float array, shape (n_features,)
            Prior standard deviation of each weight around where the step starts.
        """
        first, second = self.step.draws
        scale, scale2 = FEATURE_UNIT * PROBABILITY_UNIT, FEATURE_UNIT**2 * PROBABILITY_UNIT
        g, h = self.gradient / scale, self.curvature / scale2
        # the true curvature has no negative eigenvalue, the noisy one may have: post-processing removes them
        values, vectors = np.linalg.eigh(h)
        h = (vectors * np.maximum(values, 0.0)) @ vectors.T
        noise_g, noise_h = (2.0**52 / scaled.rate / unit for scaled, unit in ((first, scale), (second, scale2)))
        variance = 2 * noise_g**2 + 0.2 * noise_h**2 * len(g)
        inverse = 1.0 / deviations
        system = h @ h + variance * np.diag(inverse**2) + h * inverse[:, np.newaxis] * inverse
        return np.asarray(np.linalg.solve(system, h @ g))

    @property
    def upper_curvature(self) -> IntArray:
        """The sums on and above the diagonal, row by row."""
        return np.asarray(self.curvature[np.triu_indices(len(self.gradient))])


CALIBRATION_BOUND = FEATURE_UNIT * PROBABILITY_UNIT // 2
"""Sensitivity of the gradient to a row, in absolute sum: half a natural logarithm times a probability."""
LEAST_SLOPE, LARGEST_SLOPE = 0.85, 3.0
"""Within these the evidence counts: a smaller slope makes better probabilities, and separates classes less well."""
_SLOPE_DEVIATION, _INTERCEPT_DEVIATION = 0.35, 0.1
"""Prior standard deviations of the slope around 1, and of the intercept of each class around what it was."""


def row_calibrations(features: Features, labels: NDArray[np.integer[Any]]) -> IntArray:
    """Return the gradient of each row, shape (n_features, n_rows): at most the bound in absolute sum.

    A row whose gradient could exceed the bound, were it of some other class, is scaled whatever its class is: the mean
    over classes, by the model's probabilities, stays 0, so that the cut moves neither slope nor intercepts.
    """
    added, largest = _gradients(features)
    own = added[:, labels, np.arange(labels.size)]
    # towards 0, so that the absolute sum stays within the bound exactly
    scaled = np.abs(own) * CALIBRATION_BOUND // np.maximum(largest, CALIBRATION_BOUND)
    return np.asarray(np.sign(own) * scaled)


def expected_curvature(features: Features) -> FloatArray:
    """Return the curvature that the model expects a row to add on average, shape (n_features, n_features).

    In natural logarithms, each row scaled as by `row_calibrations`.
    """
    added, largest = _gradients(features)
    own = added / (FEATURE_UNIT * PROBABILITY_UNIT)
    chances = probabilities(features.scores) / PROBABILITY_UNIT
    weights = chances * (CALIBRATION_BOUND / np.maximum(largest, CALIBRATION_BOUND))
    return np.asarray(np.einsum("akn,bkn,kn->ab", own, own, weights) / max(largest.size, 1))


def _gradients(features: Features) -> tuple[IntArray, IntArray]:
    """Return the gradient of each row for each class, and the largest absolute sum of a row over the classes."""
    shares = probabilities(features.scores)
    expected = (features.values * shares).sum(axis=1)
    added = PROBABILITY_UNIT * features.values - expected[:, np.newaxis]
    return added, np.abs(added).sum(axis=0).max(axis=0)


@dataclass(frozen=True, kw_only=True)
class CalibrationStep:
    """The noisy draw of the step, planned within units of 2**-52 of epsilon."""

    units: int

    @property
    def draw(self) -> Draw:
        """The line of the account."""
        return _line("gradient of the calibration", self.units, CALIBRATION_BOUND)

    def noisy(self, gradient: IntArray, words: UniformStream) -> NoisyCalibration:
        """Noise the sums."""
        return NoisyCalibration(step=self, gradient=noisy_counts(gradient, self.draw.rate, words))


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyCalibration(ParamsPart, keys=("gradient",)):
    """The noisy sums: published."""

    step: CalibrationStep
    gradient: IntArray
    """Of the slope, then of the intercepts: one for two classes, else one a class."""

    def change(self, curvature: FloatArray, rows: float) -> tuple[float, FloatArray]:
        """Return the most probable slope, and the change of the intercepts.

        Parameters
        ----------
        curvature : float array, shape (n_features, n_features)
            Of one row, as the model expects it.
        rows : float
            Noisy number of rows.
        """
        unit = FEATURE_UNIT * PROBABILITY_UNIT
        scale = 2.0**52 / self.step.draw.rate / unit
        size = len(self.gradient)
        # one intercept is the difference of two
        deviations = np.full(size, _INTERCEPT_DEVIATION * (2 if size == 2 else 1))
        deviations[0] = _SLOPE_DEVIATION
        steepness = curvature * max(rows, 1.0)
        # the noise of the draw, and what rows differ by chance
        seen = steepness @ np.linalg.inv(2 * scale * scale * np.eye(size) + steepness)
        found = np.linalg.solve(seen @ steepness + np.diag(deviations**-2.0), seen @ (self.gradient / unit))
        return float(np.clip(1 + found[0], LEAST_SLOPE, LARGEST_SLOPE)), np.asarray(found[1:])
