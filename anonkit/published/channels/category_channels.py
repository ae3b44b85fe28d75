# SPDX-License-Identifier: Apache-2.0
"""Mechanisms for categories and bins: randomized response with partial hiding, and set response.

Randomized response (ERRPH): the true category with probability p_0, else a blind answer (Zhang & Tang, Chinese Journal
of Computers 30(8), 2007, §3). With equal blind probabilities it is k-ary randomized response, with two categories RRPH,
which equals Warner's model with truth probability (1 + p_0) / 2.

Set response, of pairs of class and value: an answer names a set of pairs, which holds the truth more often than not.
With many values a single one is seldom true, and at a small ε hardly ever. A set of about m / (e^ε + 1) of the m pairs
holds the truth about half the time, and carries the most information possible at this ε (Ye and Barg, IEEE Trans. Inf.
Theory 64(8), 2018; Wang et al., 2016: subset selection). Theirs draws among all sets of one size. Here the sets are the
m shifts of one set, by class and by value, so that an answer is again one pair: the one the set is named by (block
designs: Park, Nam and Lee, 2023). Randomized response is the set of one pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.published.channels.response_channel import SHARED_ASSUMPTIONS, TruthOrBlind
from anonkit.published.exact_losses import ceiling, check_epsilon, check_probability, check_word_bits, epsilon_ratio

_MOST_CATEGORIES = 1 << 24
_DAMAGED = "randomized response: a parameter is missing or not a number"
_LOSS_TOLERATED = Fraction(1, 1 << 12)  # of the wanted truth, that rounding to 32-bit words may cost: a convention


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(
    TruthOrBlind,
    keys=(
        "word_bits",
        "categories=n_inputs",
        "truth_weight",
        "blind_weight?=equal_blind_weight",
        "blind_weights?=own_blind_weights",
    ),
    made_by="of_words",
    damage=_DAMAGED,
):
    """Publish category i as itself with probability p_0 and as category j with probability p_j, whatever i is.

    A blind answer may hit the truth: `Pr[y = j | x = i] = p_0 [i = j] + p_j` (table 1 of the paper). Of the
    `2**word_bits` equally likely words, `truth_weight` answer truthfully and `blind_weights[j]` answer j.

    Raises
    ------
    ParameterError
        When the weights are negative or do not add up to the number of words.
    """

    mechanism: ClassVar[str] = "randomized-response"

    truth_weight: int
    """Words that answer truthfully: p_0 = truth_weight / 2**word_bits."""
    blind_weights: tuple[int, ...]
    """Words that answer category j without looking: p_j = blind_weights[j] / 2**word_bits."""
    word_bits: int = 32
    """Bits of the random word one answer uses."""

    def __post_init__(self) -> None:
        check_word_bits(self.word_bits)
        if not self.blind_weights:
            raise ParameterError("randomized response needs at least one category")
        if self.truth_weight < 1 or min(self.blind_weights) < 0:
            raise ParameterError(
                "randomized response needs a truth weight above 0 and no negative weight",
                "with p_keep = 0 the answers say nothing about the data",
            )
        if self.truth_weight + sum(self.blind_weights) != 1 << self.word_bits:
            raise ParameterError(f"weights of randomized response must add up to 2**{self.word_bits}")

    @classmethod
    def clear(cls, n_categories: int) -> Self:
        """Answer truthfully always: epsilon is infinite."""
        return cls(truth_weight=1 << 32, blind_weights=(0,) * n_categories)

    @classmethod
    def from_epsilon(cls, n_categories: int, epsilon: float) -> Self:
        """Equal blind probabilities for a target ε: p_0 = (e^ε − 1) / (e^ε − 1 + m).

        The realised ε is never above the target, and within 0.03 % of the wanted truth probability.

        Parameters
        ----------
        n_categories : int
            Size m of the domain, missing included, in [1, inf).
        epsilon : float
            Target privacy loss, in (0, 40].
        """
        # from (p_0 + p_j) / p_j = e^ε with m equal p_j and p_0 + m p_j = 1
        blind_share = 1 / (epsilon_ratio(check_epsilon(epsilon)) + n_categories - 1)
        return cls._equal(n_categories, blind_share)

    @classmethod
    def equal(cls, n_categories: int, p_keep: float) -> Self:
        """Equal blind probabilities for a given p_0 (the paper's usual choice): p_j = (1 − p_0) / m.

        Parameters
        ----------
        n_categories : int
            Size m of the domain, missing included.
        p_keep : float
            p_0, in (0, 1]; the paper recommends [0.35, 0.6]. 1 publishes the truth.
        """
        p = check_probability("p_keep", p_keep)
        return cls.clear(n_categories) if p == 1 else cls._equal(n_categories, (1 - p) / max(n_categories, 1))

    @classmethod
    def rrph(cls, p_keep: float) -> Self:
        """Two categories: the same answers as Warner's model with truth probability (1 + p_keep) / 2."""
        return cls.equal(2, p_keep)

    @classmethod
    def skewed(cls, p_keep: float, blind: Sequence[float]) -> Self:
        """Own blind probabilities p_1..p_m, which with p_0 must add up to 1.

        The rarest blind answer sets ε = ln(1 + p_0 / min p_j): equal ones are best at a given ε. A category with
        p_j = 0 betrays everyone who answers it: ε is infinite.

        Parameters
        ----------
        p_keep : float
            p_0, in (0, 1].
        blind : sequence of float, length m
            p_1..p_m, each in [0, 1). Public numbers: never the shares of the data.
        """
        p = check_probability("p_keep", p_keep)
        shares = [Fraction(value) for value in blind]
        if not shares or min(shares) < 0:
            raise ParameterError("blind probabilities must not be negative and need at least one category")
        if abs(float(p + sum(shares)) - 1) > 1e-9:
            raise ParameterError("p_keep and the blind probabilities must add up to 1")
        return cls._fitting(p, lambda bits: [ceiling(share * (1 << bits)) for share in shares])

    @classmethod
    def with_truth(cls, n_categories: int, p_truth: float) -> Self:
        """Equal blind probabilities such that an answer is true with p_truth: p_0 = (m p_truth − 1) / (m − 1).

        With two categories this is Warner's model. p_truth must be above 1 / m, what a blind answer reaches.
        """
        p = check_probability("p_truth", p_truth)
        if n_categories < 2:
            return cls.equal(n_categories, p_truth)
        if p * n_categories <= 1:
            raise ParameterError(
                f"p_truth ({p_truth}) must be above 1 / {n_categories} for {n_categories} categories",
                "a blind answer is true as often as that",
            )
        # an untrue answer is always blind, and each of the m - 1 untrue ones has probability p_j
        blind_share = (1 - p) / (n_categories - 1)
        return cls.clear(n_categories) if p == 1 else cls._equal(n_categories, blind_share)

    @classmethod
    def weighted(cls, weights: Sequence[float], *, p_keep: float | None = None, epsilon: float | None = None) -> Self:
        """Blind answers in proportion to public weights: p_j = (1 − p_0) w_j / Σw, for a given p_0 or a target ε.

        Parameters
        ----------
        weights : sequence of float, length m
            w_1..w_m, finite and not negative. Public numbers: never the counts of the data.
        p_keep, epsilon : float
            One of them: p_0 in (0, 1), or the target privacy loss, which the realised one never exceeds.

        Raises
        ------
        ParameterError
            When ε is given and a weight is 0: no finite ε holds then.
        """
        total = sum(Fraction(weight) for weight in weights)
        shares = [Fraction(weight) / total for weight in weights]
        if epsilon is not None:
            # the rarest blind answer binds: p_0 / p_min = e^ε - 1, with p_min = (1 - p_0) min(shares)
            excess = (epsilon_ratio(check_epsilon(epsilon)) - 1) * min(shares)
            if excess == 0:
                raise ParameterError(
                    "a weight of 0 betrays everyone who gives that answer: epsilon cannot be kept",
                    "give every category a weight above 0, or p_keep instead of epsilon",
                )
            p = excess / (1 + excess)
        else:
            p = check_probability("p_keep", p_keep)
        return cls._fitting(p, lambda bits: [ceiling((1 - p) * share * (1 << bits)) for share in shares])

    @classmethod
    def _equal(cls, n_categories: int, blind_share: Fraction) -> Self:
        if not 1 <= n_categories <= _MOST_CATEGORIES:
            raise ParameterError(f"n_categories ({n_categories}) must be in [1, {_MOST_CATEGORIES}]")
        return cls._fitting(
            1 - n_categories * blind_share, lambda bits: [ceiling(blind_share * (1 << bits))] * n_categories
        )

    @classmethod
    def _fitting(cls, p_keep: Fraction, blind: Callable[[int], list[int]]) -> Self:
        """Round blind weights up, so that ε only falls; take 64-bit words where 32 would cost too much truth."""
        for bits in (32, 64):
            weights = blind(bits)
            truth = (1 << bits) - sum(weights)
            if truth > 0 and Fraction(truth, 1 << bits) >= p_keep * (1 - _LOSS_TOLERATED):
                return cls(truth_weight=truth, blind_weights=tuple(weights), word_bits=bits)
        raise ParameterError(
            f"epsilon or p_keep is too small for {len(weights)} categories: no truth would be left",
            "merge rare categories, or raise epsilon",
        )

    @cached_property
    def blanket(self) -> Fraction:
        """Probability of a blind answer, whose law is the same under every input."""
        return Fraction(sum(self.blind_weights), 1 << self.word_bits)

    @property
    def n_inputs(self) -> int:
        """Size m of the domain."""
        return len(self.blind_weights)

    @property
    def n_outputs(self) -> int:
        """Size m of the domain."""
        return len(self.blind_weights)

    @property
    def truth_probability(self) -> float:
        """The realised p_0."""
        return self.truth_weight / (1 << self.word_bits)

    @cached_property
    def blind_probabilities(self) -> FloatArray:
        """The realised p_1..p_m, shape (m,)."""
        total = 1 << self.word_bits
        return np.array([weight / total for weight in self.blind_weights])

    def weights(self) -> list[list[int]]:
        """Return the exact response matrix, in words."""
        blind, truth = self.blind_weights, self.truth_weight
        return [[w + truth * (i == j) for j, w in enumerate(blind)] for i in range(len(blind))]

    @property
    def ratio(self) -> Fraction | None:
        """Return (p_0 + p_j) / p_j for the smallest p_j, exact; None when a category is never answered blindly."""
        smallest = min(self.blind_weights)
        # a domain of one category: every answer is the same, and informs of nothing
        if len(self.blind_weights) == 1:
            return Fraction(1)
        return None if smallest == 0 else Fraction(self.truth_weight + smallest, smallest)

    def marginal(self, n_classes: int) -> Self:
        """Return the channel of the value alone when a code holds class and value."""
        size = len(self.blind_weights) // n_classes
        return replace(self, blind_weights=tuple(sum(self.blind_weights[value::size]) for value in range(size)))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which epsilon holds."""
        if self.ratio is None:
            return (*SHARED_ASSUMPTIONS, "none helps: a category that is never answered blindly betrays its owners")
        return SHARED_ASSUMPTIONS

    def breach(self) -> FloatArray:
        """Return the paper's breach coefficient of each category: p_0² / (p_0 + p_j), shape (m,).

        The share of true answers times the chance that a true answer is believed. It ignores what is known
        about the population before and after: read ε first.
        """
        p = self.truth_probability
        return np.asarray(p * p / (p + self.blind_probabilities))

    @cached_property
    def equal_blind_weight(self) -> int | None:
        """Words of every blind answer; None when they differ."""
        first = self.blind_weights[0]
        return first if all(weight == first for weight in self.blind_weights) else None

    def response_matrix(self) -> FloatArray:
        """Return the response probabilities, shape (m, m)."""
        return np.asarray(self.truth_probability * np.eye(self.n_inputs) + self.blind_probabilities)

    def forward(self, shares: FloatArray) -> FloatArray:
        """Return λ_j = p_0 π_j + p_j, without ever holding the matrix."""
        return np.asarray(
            self.truth_probability * shares + shares.sum(axis=-1, keepdims=True) * self.blind_probabilities
        )

    def backward(self, answers: FloatArray) -> FloatArray:
        """Return the mean of a function of the answer for each true code."""
        return np.asarray(self.truth_probability * answers + (answers @ self.blind_probabilities)[..., np.newaxis])

    def unmix(self, counts: FloatArray) -> FloatArray:
        """Return the estimate of eq. 1 of the paper, as counts: (n λ_j − n p_j) / p_0."""
        total = counts.sum(axis=-1, keepdims=True)
        return np.asarray((counts - total * self.blind_probabilities) / self.truth_probability)

    def unmix_squares(self, counts: FloatArray) -> FloatArray:
        """Return sums of the squared coefficients `unmix` gives each answer."""
        p = self.blind_probabilities
        total = counts.sum(axis=-1, keepdims=True)
        # an answer j adds ((1 - p_j) / p_0)**2, any other (p_j / p_0)**2: the sum with (1 - p)**2 - p**2 = 1 - 2 p
        return np.asarray((counts * (1 - 2 * p) + total * p**2) / self.truth_probability**2)

    @cached_property
    def largest_scores(self) -> FloatArray:
        """The most that one answer adds to the estimated count of each category: that of the category itself."""
        return np.asarray((1 - self.blind_probabilities) / self.truth_probability)

    def scores(self, targets: FloatArray) -> FloatArray:
        """Return functions of the answer whose mean under each true code is the target."""
        return self.unblinded(targets)

    def maximum_likelihood(self, counts: FloatArray) -> FloatArray:
        """Return the maximum-likelihood shares behind the answer counts: in [0, 1], adding up to 1.

        The likeliest answer distribution is `max(p_j, c_j / ν)` with ν such that it adds up to 1 (the conditions of
        Karush, Kuhn and Tucker on the simplex): one sort instead of thousands of steps of expectation maximization.

        Parameters
        ----------
        counts : array, shape (m,)
            Counts of the answers; a sum of 0 gives equal shares.
        """
        p, p_keep = self.blind_probabilities, self.truth_probability
        positive = np.maximum(counts, 0.0)
        if positive.sum() == 0:
            return np.full(self.n_inputs, 1 / self.n_inputs)
        with np.errstate(divide="ignore"):
            level = np.where(p > 0, positive / np.where(p > 0, p, 1.0), np.inf)
        order = np.argsort(-level, kind="stable")  # those whose share stays above 0 come first
        inside, outside = np.cumsum(positive[order]), 1.0 - np.cumsum(p[order]) - p_keep
        scale = inside / (1.0 - np.maximum(outside, 0.0))  # ν when the first k categories have a positive share
        following = np.append(level[order][1:], -np.inf)
        first = int(np.argmax(scale >= following))
        shares = np.maximum(positive / scale[first] - p, 0.0) / p_keep
        return np.asarray(shares / shares.sum())

    @property
    def own_blind_weights(self) -> tuple[int, ...] | None:
        """Words of every blind answer; None when they are all alike."""
        return self.blind_weights if self.equal_blind_weight is None else None

    @classmethod
    def of_words(
        cls,
        *,
        word_bits: int,
        categories: int,
        truth_weight: int,
        blind_weight: int | None = None,
        blind_weights: tuple[int, ...] | None = None,
    ) -> Self:
        """Return the mechanism that the params state; equal blind weights are stated once.

        Raises
        ------
        ReleaseFormatError
            There are no blind weights, or not as many as categories, or too many of these.
        """
        if not 1 <= categories <= _MOST_CATEGORIES:
            raise ReleaseFormatError(f"randomized response: categories must be in [1, {_MOST_CATEGORIES}]")
        if blind_weights is None and blind_weight is None:
            raise ReleaseFormatError(_DAMAGED)
        blind = (blind_weight or 0,) * categories if blind_weights is None else blind_weights
        if len(blind) != categories:
            raise ReleaseFormatError("randomized response: categories and blind_weights differ in number")
        return cls(truth_weight=truth_weight, blind_weights=blind, word_bits=word_bits)


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
