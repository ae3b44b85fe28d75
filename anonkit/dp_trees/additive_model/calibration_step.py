# SPDX-License-Identifier: Apache-2.0
"""Calibration slope and intercepts of the model, from one noisy gradient: how sure all evidence together makes.

Shares of attributes that are taken as independent say too much where attributes agree, and evidence that was shrunk by
its noise says too little. Where rows are too few for a weight of each attribute, one factor for all of them, the
calibration slope (Cox 1958), is still found, and with it a small change of the intercepts. Slope and intercepts have a
prior around what they are without the step: a gradient that is lost in its noise changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.documents import ParamsPart
from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.dp_trees.additive_model.weighting import FEATURE_UNIT, PROBABILITY_UNIT, Features, probabilities
from anonkit.mechanisms.accounting import LAPLACE, AccountedDraw, rate_within
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts

CALIBRATION_BOUND = FEATURE_UNIT * PROBABILITY_UNIT // 2
"""Sensitivity of the gradient to a row, in absolute sum: half a natural logarithm times a probability."""
LEAST_SLOPE, LARGEST_SLOPE = 0.85, 3.0
"""Within these the evidence counts: a smaller slope makes better probabilities, and separates classes less well."""
_SLOPE_DEVIATION, _INTERCEPT_DEVIATION = 0.35, 0.1
"""Prior standard deviations of the slope around 1, and of the intercept of each class around what it was."""


def row_calibrations(features: Features, labels: NDArray[np.integer[Any]]) -> IntArray:
    """Return what each row adds to the gradient, shape (n_features, n_rows): at most the bound in absolute sum.

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
    def draw(self) -> AccountedDraw:
        """The line of the account."""
        return AccountedDraw(
            purpose="gradient of the calibration",
            mechanism=LAPLACE,
            rate=rate_within(self.units, CALIBRATION_BOUND),
            sensitivity=CALIBRATION_BOUND,
        )

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
