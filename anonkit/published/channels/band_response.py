# SPDX-License-Identifier: Apache-2.0
"""Band response for numbers: an answer near the truth with extra weight, else any answer.

Both bounded local mechanisms for numbers are this one family, laid on a grid so that every probability is an
integer number of words: the square wave mechanism (Li et al., SIGMOD 2020) and the piecewise mechanism (Wang et
al., ICDE 2019) differ only in the width of the band. Randomized response on bins is the band of width 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.errors import ParameterError
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
