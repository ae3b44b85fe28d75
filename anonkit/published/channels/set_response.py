# SPDX-License-Identifier: Apache-2.0
"""Set response: an answer names a set of pairs of class and value, which holds the truth more often than not.

With many values a single one is seldom true, and at a small ε hardly ever. A set of about m / (e^ε + 1) of the m pairs
holds the truth about half the time, and carries the most information possible at this ε (Ye and Barg, IEEE Trans. Inf.
Theory 64(8), 2018; Wang et al., 2016: subset selection). Theirs draws among all sets of one size. Here the sets are the
m shifts of one set, by class and by value, so that an answer is again one pair: the one the set is named by (block
designs: Park, Nam and Lee, 2023). Randomized response is the set of one pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.errors import ParameterError
from anonkit.published.channels.response_channel import TruthOrBlind
from anonkit.published.exact_losses import ceiling, check_epsilon, check_word_bits, epsilon_ratio

MOST_PAIRS = 4096
"""Pairs of class and value at most: a receiver inverts all of them together, which bounds time and memory."""
_FLATTEST = 1e-9  # share of the size of a set below which a frequency of it counts as lost


@dataclass(frozen=True, kw_only=True)
class SetResponse(
    TruthOrBlind,
    keys=("segments", "values", "blind_weight", "excess_weight", "word_bits", "members"),
    damage="set response: a parameter is missing or not a number",
):
    """Answer a pair (c, v) by (c + a, v + b), with (a, b) from a fixed set, or blindly by any pair.

    Classes are added modulo `segments`, values modulo `values`. An answer means the set of all pairs at a member's
    distance from it, and each of them has the same larger probability to lead to it.

    Codes and answers are `class * values + value`.

    Raises
    ------
    ParameterError
        When a size or weight is not positive, the members are not pairs in ascending order, or the weights exceed the
        number of words.
    """

    mechanism: ClassVar[str] = "set-response"

    segments: int
    """Number C of classes when the answer is joint with the target, else 1."""
    values: int
    """Number V of values, missing included."""
    members: tuple[int, ...]
    """Members of the set, as codes, ascending. One comes several times only where classes have been added up."""
    blind_weight: int
    """Words of every answer, whatever the truth."""
    excess_weight: int
    """Additional words of an answer for each member that leads from the truth to it."""
    word_bits: int = 32
    """Bits of the random word one answer uses."""

    def __post_init__(self) -> None:
        check_word_bits(self.word_bits)
        if min(self.segments, self.values, self.blind_weight, self.excess_weight) < 1 or not self.members:
            raise ParameterError("segments, values, weights and members of a set response must be at least 1")
        if self.segments * self.values > MOST_PAIRS:
            raise ParameterError(f"a set response has at most {MOST_PAIRS} pairs of class and value")
        if len(self.members) > MOST_PAIRS:
            raise ParameterError(f"a set response has at most {MOST_PAIRS} members")
        ordered = list(self.members) == sorted(self.members)
        if not ordered or self.members[0] < 0 or self.members[-1] >= self.n_inputs:
            raise ParameterError("the members of a set response are pairs of class and value in ascending order")
        if self._spare < 0:
            raise ParameterError(f"weights of a set response must add up to at most 2**{self.word_bits}")

    @classmethod
    def from_epsilon(cls, epsilon: float, members: Sequence[int], *, segments: int, values: int) -> Self:
        """Return the set response with these members whose realised ε is never above the target.

        Parameters
        ----------
        epsilon : float
            Target privacy loss, in (0, 40].
        members : sequence of int
            Distinct codes in [0, segments · values), 0 among them so that an answer is a member of its own set.
        segments, values : int
            Numbers of classes and of values; at most 4,096 pairs.
        """
        ratio, size, pairs = epsilon_ratio(check_epsilon(epsilon)), len(members), segments * values
        for bits in (32, 64):
            # blind words are rounded up and further words down, so the realised ratio never exceeds e^ε; 64-bit words
            # where that would cost more than one part in 4096 of the further words
            blind = ceiling((1 << bits) / (pairs + size * (ratio - 1)))
            excess = ((1 << bits) - pairs * blind) // size
            if excess > 0 and Fraction(excess, blind) >= (ratio - 1) * Fraction(4095, 4096):
                break
        return cls(
            segments=segments,
            values=values,
            members=tuple(sorted(members)),
            blind_weight=blind,
            excess_weight=excess,
            word_bits=bits,
        )

    @property
    def n_inputs(self) -> int:
        """Number of pairs of class and value."""
        return self.segments * self.values

    @property
    def n_outputs(self) -> int:
        """Number of sets: as many as pairs."""
        return self.n_inputs

    @property
    def _spare(self) -> int:
        """Words left over by rounding, fewer than members: they give the very last answer, whatever the truth."""
        return (1 << self.word_bits) - self.n_inputs * self.blind_weight - len(self.members) * self.excess_weight

    @cached_property
    def hits(self) -> IntArray:
        """Number of members at each distance of class and value, shape (segments, values)."""
        return np.bincount(self.members, minlength=self.n_inputs).reshape(self.segments, self.values).astype(np.int64)

    @property
    def ratio(self) -> Fraction:
        """Return the largest quotient of two entries of a column; the spare words only lower that of theirs.

        The distances between an answer and all true pairs are all distances there are, whatever the answer.
        """
        most, least = int(self.hits.max()), int(self.hits.min())
        return Fraction(self.blind_weight + most * self.excess_weight, self.blind_weight + least * self.excess_weight)

    @cached_property
    def blanket(self) -> Fraction:
        """Total over the answers of their smallest probability under any pair."""
        least = self.blind_weight + int(self.hits.min()) * self.excess_weight
        return Fraction(self.n_inputs * least + self._spare, 1 << self.word_bits)

    @property
    def truth_probability(self) -> float:
        """Probability that an answer looks at the truth."""
        return len(self.members) * self.excess_weight / (1 << self.word_bits)

    @cached_property
    def blind_probabilities(self) -> FloatArray:
        """Probability of each answer to be given blindly, shape (n_outputs,)."""
        words = np.full(self.n_outputs, float(self.blind_weight))
        words[-1] += self._spare
        return np.asarray(words / (1 << self.word_bits))

    def marginal(self, n_classes: int) -> Self:
        """Return the channel of the value alone: distances of values, whatever the classes between."""
        if n_classes != self.segments:
            raise ParameterError("the classes do not fit the segments of the set response")
        return replace(
            self,
            segments=1,
            members=tuple(sorted(member % self.values for member in self.members)),
            blind_weight=self.blind_weight * self.segments,
        )

    def weights(self) -> list[list[int]]:
        """Return the exact response matrix, in words."""
        out = []
        for code in range(self.n_inputs):
            row = [self.blind_weight] * self.n_outputs
            # the same under every pair, so the words left by rounding cannot raise a ratio of probabilities
            row[-1] += self._spare
            for member in self.members:
                row[self.shifted(code, member)] += self.excess_weight
            out.append(row)
        return out

    def shifted(self, code: int, member: int) -> int:
        """Return the answer at a member's distance from a code."""
        classes, values = ((code // self.values + member // self.values), (code % self.values + member % self.values))
        return classes % self.segments * self.values + values % self.values

    # --- everything below is a convolution over classes and values, done by its frequencies ----------------------

    @cached_property
    def _frequencies(self) -> NDArray[np.complex128]:
        """The transform of the probabilities that the members add, shape (segments, values)."""
        return np.asarray(np.fft.fft2(self.hits * (self.excess_weight / (1 << self.word_bits))))

    @cached_property
    def _undoing(self) -> FloatArray:
        """Inverse of the members: the function whose convolution with them is 1 at distance zero, else 0."""
        sizes = np.abs(self._frequencies)
        if sizes.min() < _FLATTEST * sizes.max():
            raise ParameterError(
                "the members of a set response lose a frequency, so shares cannot be estimated by moments",
                "estimate by likelihood, or use other members",
            )
        return np.asarray(np.fft.ifft2(1 / self._frequencies).real)

    def _convolved(self, values: FloatArray, frequencies: NDArray[np.complex128]) -> FloatArray:
        """Return values, shape (..., pairs), convolved with what has the frequencies."""
        table = values.reshape(*values.shape[:-1], self.segments, self.values)
        return np.asarray(np.fft.ifft2(np.fft.fft2(table) * frequencies).real.reshape(values.shape))

    @cached_property
    def _offsets(self) -> FloatArray:
        """Contribution of the blind answers to every estimated share, shape (n_inputs,)."""
        return self._convolved(self.blind_probabilities, np.fft.fft2(self._undoing))

    def forward(self, shares: FloatArray) -> FloatArray:
        """Return the answer shares that true shares lead to."""
        near = np.maximum(self._convolved(shares, self._frequencies), 0.0)
        return np.asarray(near + shares.sum(axis=-1, keepdims=True) * self.blind_probabilities)

    def backward(self, answers: FloatArray) -> FloatArray:
        """Return the mean of a function of the answer for each true code."""
        blind = (answers @ self.blind_probabilities)[..., np.newaxis]
        return np.asarray(self._convolved(answers, np.conj(self._frequencies)) + blind)

    def unmix(self, counts: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the true counts from answer counts."""
        total = counts.sum(axis=-1, keepdims=True)
        return np.asarray(self._convolved(counts, np.fft.fft2(self._undoing)) - total * self._offsets)

    def unmix_squares(self, counts: FloatArray) -> FloatArray:
        """Return sums of the squared coefficients `unmix` gives each answer."""
        total = counts.sum(axis=-1, keepdims=True)
        squares = self._convolved(counts, np.fft.fft2(self._undoing**2))
        plain = self._convolved(counts, np.fft.fft2(self._undoing))
        return np.asarray(squares - 2 * self._offsets * plain + total * self._offsets**2)

    @cached_property
    def largest_scores(self) -> FloatArray:
        """The most that one answer adds to the count `unmix` estimates of each true code, shape (n_inputs,)."""
        return np.asarray(self._undoing.max() - self._offsets)

    def scores(self, targets: FloatArray) -> FloatArray:
        """Return functions of the answer whose mean under each true code is the target."""
        undone = self._convolved(targets.T, np.conj(np.fft.fft2(self._undoing)))
        return np.asarray((undone - (targets.T @ self._offsets)[..., np.newaxis]).T)

    def class_scores(self, n_classes: int) -> FloatArray:
        """Return unbiased functions of the answer about the class, which may be another than the one it shows."""
        return self.scores(np.repeat(np.eye(n_classes), self.values, axis=0))
