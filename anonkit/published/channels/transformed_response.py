# SPDX-License-Identifier: Apache-2.0
"""Transformed randomized response (TRR): publish a·x + b with secret random a and b of known moments.

Zhang & Tang, Chinese Journal of Computers 30(8), 2007, §4. A fixed multiplier of 1 is plain additive noise
(Agrawal & Srikant, SIGMOD 2000). No local differential privacy holds for any of these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar, Literal, Self

from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import FloatArray
from anonkit.errors import ParameterError
from anonkit.published.channels.kary_response import RandomizedResponse

NO_GUARANTEE = (
    "No formal guarantee: values near the centre give answers near the centre and far values far answers, so an "
    "attacker learns zeros, signs and outliers, and repeated releases average the noise away"
)


@dataclass(frozen=True, kw_only=True)
class ContinuousDraw(ParamsPart):
    """A continuous distribution of which only mean and variance are published."""

    mean: float
    variance: float
    """At least 0; 0 is a constant."""
    shape: Literal["normal", "uniform"] = "normal"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and math.isfinite(self.variance) and self.variance >= 0):
            raise ParameterError("a draw needs a finite mean and a variance in [0, inf)")
        if self.shape not in ("normal", "uniform"):
            raise ParameterError(f"shape ({self.shape}) of a draw must be normal or uniform")


@dataclass(frozen=True, kw_only=True)
class TransformedResponse(ParamsPart):
    """Publish `centre + a (x − centre) + scale · b`, rounded to a grid, with fresh a and b for every value.

    The published form has centre 0 and scale 1. With the middle and half the width of public bounds instead, the
    noise no longer grows with the distance of the data from zero and b no longer depends on the unit.

    Raises
    ------
    ParameterError
        When the mean of a is 0: only the mean of x² could then be estimated.

    Privacy
    -------
    No formal guarantee; see `NO_GUARANTEE`. A missing value is hidden by a randomized presence bit, which has an ε
    of its own, but what is published for a missing value is drawn like a value at the centre.
    """

    mechanism: ClassVar[str] = "trr"

    multiplier: ContinuousDraw
    """Distribution of a."""
    offset: ContinuousDraw
    """Distribution of b, in units of `scale`; its mean must be 0."""
    centre: float = 0.0
    """Public point that is mapped onto itself on average, in the unit of the attribute."""
    scale: float = 1.0
    """Public unit of b, in the unit of the attribute."""
    step: float = 2.0**-10
    """Published numbers are multiples of it, in the unit of the attribute."""
    bounds: tuple[float, float] | None = None
    """Values are moved to the nearest of these public bounds first; None leaves them."""
    presence: RandomizedResponse | None = None
    """Randomizes (present, missing); None when no value may be missing."""

    def __post_init__(self) -> None:
        if self.multiplier.mean == 0:
            raise ParameterError("the mean of a (0) must not be 0: the mean of x could not be estimated")
        if self.offset.mean != 0:
            raise ParameterError(f"the mean of b ({self.offset.mean}) must be 0", "shift the centre instead")
        if not (self.scale > 0 and self.step > 0):
            raise ParameterError("scale and step of TRR must be above 0")
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise ParameterError("bounds must be [low, high] with low < high")
        if self.presence is not None and self.presence.n_inputs != 2:
            raise ParameterError("presence is randomized between two answers")

    @classmethod
    def centred(
        cls,
        multiplier: ContinuousDraw,
        offset: ContinuousDraw,
        bounds: tuple[float, float],
        *,
        presence: RandomizedResponse | None = None,
    ) -> Self:
        """Standardize by public bounds: centre in their middle, scale half their width, step below 0.1 % of it."""
        scale = (bounds[1] - bounds[0]) / 2
        return cls(
            multiplier=multiplier,
            offset=offset,
            centre=(bounds[0] + bounds[1]) / 2,
            scale=scale,
            # a power of two: its multiples are exact floats
            step=2.0 ** (math.floor(math.log2(scale)) - 10),
            bounds=bounds,
            presence=presence,
        )

    @classmethod
    def clear(cls) -> Self:
        """Publish the number itself; a missing value shows as missing."""
        return cls(
            multiplier=ContinuousDraw(mean=1, variance=0), offset=ContinuousDraw(mean=0, variance=0), step=2.0**-1074
        )

    @property
    def is_unperturbed(self) -> bool:
        """True when the published number is the true one."""
        return self.multiplier == ContinuousDraw(mean=1, variance=0) and self.offset.variance == 0

    @property
    def epsilon(self) -> float:
        """Infinite: no finite ε holds."""
        return math.inf

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions that the reader must know, in place of a guarantee."""
        bounded = "uniform" in (self.multiplier.shape, self.offset.shape)
        spread = "bounded noise rules values out for certain" if bounded else "a and b are continuous draws"
        return (NO_GUARANTEE, spread, "class-conditional values are taken as normal by the consumer")

    def presence_probabilities(self) -> tuple[float, float]:
        """Return the chance that a number is shown for a present and for a missing value."""
        if self.presence is None:
            return 1.0, 0.0
        presence = self.presence.response_matrix()[:, 0]
        return float(presence[0]), float(presence[1])

    def answer_moments(self, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the published number when the true one has these."""
        slope, spread, away = self.multiplier.mean, self.multiplier.variance, mean - self.centre
        noise = self.scale**2 * self.offset.variance
        # Var(a x' + b) = A² S_x² + S_a² (S_x² + mean(x')²) + S_b², A the mean of a: solved for S_x², the estimator
        return self.centre + slope * away, slope**2 * variance + spread * (variance + away**2) + noise

    def relative_error_of_variance(self, mean_over_sd: float, n_rows: int) -> float:
        """Return the standard error of the variance as a share of it, for a mean far from the centre.

        Parameters
        ----------
        mean_over_sd : float
            r = |mean − centre| / sd of the attribute within a class.
        n_rows : int
            Rows of the class.

        Returns
        -------
        float
            r² √(2 S_a⁴ + 4 S_a⁶ / Ā²) / (√n (Ā² + S_a²)): 1.22 r² / √n for N(1,1), 2.47 r² / √n for N(2,10).
            Above 0.2 the reconstruction is poor, above 1 worthless.
        """
        slope, spread = self.multiplier.mean, self.multiplier.variance
        growth = math.sqrt(2 * spread**2 + 4 * spread**3 / slope**2) / (slope**2 + spread)
        return mean_over_sd**2 * growth / math.sqrt(n_rows)


PUBLISHED = {
    "N(1,1)": (ContinuousDraw(mean=1, variance=1), ContinuousDraw(mean=0, variance=1)),
    "N(2,10)": (ContinuousDraw(mean=2, variance=10), ContinuousDraw(mean=0, variance=5)),
}
"""The paper's two settings (§7.1) by the distribution of a: (a, b). The second parameter of N is a variance."""


def breach_width(sd: float, confidence: float) -> float:
    """Width of the central interval that holds a normal attribute with the given confidence (table 2 of the paper).

    99.9 % gives 6.58 sd, 99 % 5.15, 95 % 3.92, 50 % 1.35. It ignores the published number, so it describes the
    data, not the protection.
    """
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence ({confidence}) must be in (0, 1)")
    return 2 * NormalDist().inv_cdf((1 + confidence) / 2) * sd
