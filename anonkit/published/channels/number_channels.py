# SPDX-License-Identifier: Apache-2.0
"""Mechanisms for numbers: band response, and transformed randomized response, which has no guarantee.

Band response: an answer near the truth with extra weight, else any answer. Both bounded local mechanisms for numbers
are this one family, laid on a grid so that every probability is an integer number of words: the square wave mechanism
(Li et al., SIGMOD 2020) and the piecewise mechanism (Wang et al., ICDE 2019) differ only in the width of the band.
Randomized response on bins is the band of width 1.

Transformed randomized response (TRR): publish a·x + b with secret random a and b of known moments (Zhang & Tang,
Chinese Journal of Computers 30(8), 2007, §4). A fixed multiplier of 1 is plain additive noise (Agrawal & Srikant,
SIGMOD 2000). No local differential privacy holds for any of these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import ClassVar, Literal, Self

import numpy as np

from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.errors import ParameterError
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.response_channel import TruthOrBlind
from anonkit.published.exact_losses import ceiling, check_epsilon, check_word_bits, epsilon_ratio

LARGEST_BAND_EPSILON = 12.0
"""Above this the band of any useful grid is one cell wide: use bins."""


@dataclass(frozen=True, kw_only=True)
class BandResponse(
    TruthOrBlind,
    keys=("positions", "band", "blind_weight", "excess_weight", "segments", "word_bits", "has_missing"),
    damage="band response: a parameter is missing or not a number",
):
    """Answer a grid position i by a place in the band i .. i + band − 1, or blindly by any place.

    There are `positions + band − 1` places. Missing is one more position whose band overlaps no other and whose
    places are published as one answer, so that a missing value is hidden within the same ε as a number. With
    several `segments` the code also holds the class: one run of positions each, and no band reaches from one class
    into another, so that number and class are hidden together within one ε.

    Codes are `segment * (positions + has_missing) + position`, missing last in its segment; answers are
    `segment * (places + has_missing) + place`.

    Raises
    ------
    ParameterError
        When a size or weight is not positive, or the weights exceed the number of words.
    """

    mechanism: ClassVar[str] = "band-response"

    positions: int
    """Number n of grid positions of the true value."""
    band: int
    """Number B of places near the truth that get the extra weight."""
    blind_weight: int
    """Words of every place, whatever the truth."""
    excess_weight: int
    """Additional words of each place in the band of the truth."""
    has_missing: bool = False
    """True when missing is a possible value."""
    segments: int = 1
    """Number of classes when the answer is joint with the target."""
    word_bits: int = 32
    """Bits of the random word one answer uses."""

    def __post_init__(self) -> None:
        check_word_bits(self.word_bits)
        if min(self.positions, self.band, self.blind_weight, self.excess_weight, self.segments) < 1:
            raise ParameterError("positions, band, weights and segments of a band response must be at least 1")
        if self._spare < 0:
            raise ParameterError(f"weights of a band response must add up to at most 2**{self.word_bits}")

    @classmethod
    def square_wave(cls, epsilon: float, positions: int, *, has_missing: bool = False, segments: int = 1) -> Self:
        """Use the square wave mechanism: the band with the most information about the distribution.

        Its half-width is b = (ε e^ε − e^ε + 1) / (2 e^ε (e^ε − 1 − ε)) of the range.

        Parameters
        ----------
        epsilon : float
            Target privacy loss, in (0, 12].
        positions : int
            Grid positions of the true value, in [2, inf); 64 to 256 is usual.
        has_missing, segments
            As the fields of the class.
        """
        power = math.exp(_check_band_epsilon(epsilon))
        # the quotient of two small differences; below 0.01 its limit 1/2 is exact to 0.2 %
        width = (epsilon * power - power + 1) / (power * (power - 1 - epsilon)) if epsilon > 0.01 else 1.0
        return cls._with_band(epsilon, positions, width, has_missing, segments)

    @classmethod
    def piecewise(cls, epsilon: float, positions: int, *, has_missing: bool = False, segments: int = 1) -> Self:
        """Use the piecewise mechanism: the band with the least worst-case variance of a mean, e^(−ε/2) of the range.

        Parameters are those of `square_wave`; 256 to 1024 positions are usual.
        """
        return cls._with_band(epsilon, positions, math.exp(-_check_band_epsilon(epsilon) / 2), has_missing, segments)

    @classmethod
    def _with_band(cls, epsilon: float, positions: int, width: float, has_missing: bool, segments: int) -> Self:
        if positions < 2:
            raise ParameterError(f"positions ({positions}) must be at least 2")
        # rounding the band moves its width, not the loss: ε follows from the weights below, whatever the band
        band = max(1, round(width * positions))
        places = segments * (positions + band - 1 + band * has_missing)
        ratio = epsilon_ratio(epsilon)
        for bits in (32, 64):
            # blind words are rounded up and extra words down, so the realised ratio never exceeds e^ε; 64-bit words
            # where that would cost more than one part in 4096 of the extra weight
            blind = ceiling((1 << bits) / (places + band * (ratio - 1)))
            excess = ((1 << bits) - places * blind) // band
            if excess > 0 and Fraction(excess, blind) >= (ratio - 1) * Fraction(4095, 4096):
                break
        return cls(
            positions=positions,
            band=band,
            blind_weight=blind,
            excess_weight=excess,
            has_missing=has_missing,
            segments=segments,
            word_bits=bits,
        )

    @property
    def places(self) -> int:
        """Number of answers that mean numbers, per segment: positions + band − 1."""
        return self.positions + self.band - 1

    @property
    def segment_places(self) -> int:
        """Number of places per segment before those of missing are published as one answer."""
        return self.places + self.band * self.has_missing

    @property
    def _spare(self) -> int:
        """Words left over by rounding, fewer than a band: they give the very last place, whatever the truth."""
        used = self.segments * self.segment_places * self.blind_weight + self.band * self.excess_weight
        return (1 << self.word_bits) - used

    @cached_property
    def blanket(self) -> Fraction:
        """Probability of a blind answer, whose law is the same under every input."""
        return 1 - Fraction(self.band * self.excess_weight, 1 << self.word_bits)

    @property
    def n_inputs(self) -> int:
        """Number of true codes."""
        return self.segments * (self.positions + self.has_missing)

    @property
    def n_outputs(self) -> int:
        """Number of answers."""
        return self.segments * (self.places + self.has_missing)

    @property
    def ratio(self) -> Fraction:
        """Return (blind + excess) / blind; merging the places of missing, and the spare words, only lower it."""
        return Fraction(self.blind_weight + self.excess_weight, self.blind_weight)

    @property
    def truth_probability(self) -> float:
        """Probability that the answer is drawn from the band of the truth on purpose."""
        return self.band * self.excess_weight / (1 << self.word_bits)

    def marginal(self, n_classes: int) -> Self:
        """Return the channel of the value alone when a code holds class and value."""
        if n_classes != self.segments:
            raise ParameterError("the classes do not fit the segments of the band response")
        return replace(self, segments=1, blind_weight=self.blind_weight * self.segments)

    @cached_property
    def band_starts(self) -> IntArray:
        """First place of the band of each true code, before missing is merged."""
        within = np.append(np.arange(self.positions), [self.places] * self.has_missing).astype(np.int64)
        return (np.arange(self.segments)[:, np.newaxis] * self.segment_places + within).reshape(-1)

    @cached_property
    def answer_of_place(self) -> IntArray:
        """Published answer of each place: the places of missing become one."""
        within = np.append(np.arange(self.places), [self.places] * (self.band * self.has_missing)).astype(np.int64)
        return (np.arange(self.segments)[:, np.newaxis] * (self.places + self.has_missing) + within).reshape(-1)

    def weights(self) -> list[list[int]]:
        """Return the exact response matrix, in words."""
        blind = [0] * self.n_outputs
        for place in self.answer_of_place:
            blind[place] += self.blind_weight
        # the same under every input, so the words left by rounding cannot raise a ratio of probabilities
        blind[-1] += self._spare
        out = []
        for start in self.band_starts:
            row = list(blind)
            for place in self.answer_of_place[start : start + self.band]:
                row[place] += self.excess_weight
            out.append(row)
        return out

    @cached_property
    def blind_probabilities(self) -> FloatArray:
        """Probability of each answer to be given blindly, shape (n_outputs,)."""
        counts = np.bincount(self.answer_of_place, minlength=self.n_outputs).astype(np.float64) * self.blind_weight
        counts[-1] += self._spare
        return np.asarray(counts / (1 << self.word_bits))

    def forward(self, shares: FloatArray) -> FloatArray:
        """Return the answer shares that true shares lead to, by a running sum instead of a matrix product."""
        lead = shares.shape[:-1]
        cells = shares.reshape(*lead, self.segments, -1)
        out = np.zeros((*lead, self.segments, self.places + self.has_missing))
        density = self.excess_weight / (1 << self.word_bits)
        padded = np.zeros((*lead, self.segments, self.places + self.band))
        padded[..., self.band : self.band + self.positions] = cells[..., : self.positions]
        # place y is in the bands of positions y - band + 1 .. y: a moving window, so differences of running sums
        sums = np.cumsum(padded, axis=-1)
        out[..., : self.places] = density * (sums[..., self.band :] - sums[..., : self.places])
        if self.has_missing:
            out[..., self.places] = density * self.band * cells[..., self.positions]
        total = shares.sum(axis=-1, keepdims=True)
        return np.asarray(out.reshape(*lead, self.n_outputs) + total * self.blind_probabilities)

    def backward(self, answers: FloatArray) -> FloatArray:
        """Return the mean of a function of the answer for each true code, by a running sum."""
        lead = answers.shape[:-1]
        cells = answers.reshape(*lead, self.segments, -1)
        density = self.excess_weight / (1 << self.word_bits)
        sums = np.zeros((*lead, self.segments, self.places + 1))
        np.cumsum(cells[..., : self.places], axis=-1, out=sums[..., 1:])
        out = np.empty((*lead, self.segments, self.positions + self.has_missing))
        out[..., : self.positions] = density * (sums[..., self.band :] - sums[..., : self.positions])
        if self.has_missing:
            out[..., self.positions] = density * self.band * cells[..., self.places]
        blind = answers @ self.blind_probabilities
        return np.asarray(out.reshape(*lead, self.n_inputs) + blind[..., np.newaxis])

    def power_scores(self, positions: int, segments: int = 1) -> FloatArray:
        """Return unbiased scores of the four functions of `Channel.power_scores`.

        The mean of the centred place over a band is the position itself, that of its square differs by the
        variance (B² − 1) / 12 of a band; the blind share is taken off.
        """
        if (positions, segments) != (self.positions, self.segments):
            raise ParameterError("the grid does not fit the band response")
        centred = np.arange(self.places) - (self.band - 1) / 2
        spread = (self.band**2 - 1) / 12
        powers = np.stack([np.ones_like(centred), centred, centred**2 - spread], axis=1)
        values = np.zeros((segments, self.places + self.has_missing, segments, 4))
        for segment in range(segments):
            values[segment, :, segment, 0] = 1.0
            values[segment, : self.places, segment, 1:] = powers
        flat = values.reshape(self.n_outputs, -1)
        return self.unblinded(flat).reshape(self.n_outputs, segments, 4)


def _check_band_epsilon(epsilon: float) -> float:
    if check_epsilon(epsilon) > LARGEST_BAND_EPSILON:
        raise ParameterError(
            f"epsilon ({epsilon}) must be in (0, {LARGEST_BAND_EPSILON:g}] for a band response",
            "above that, use randomized response on bins",
        )
    return epsilon


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
