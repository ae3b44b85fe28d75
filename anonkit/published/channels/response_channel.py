# SPDX-License-Identifier: Apache-2.0
"""The interface of mechanisms with finitely many inputs and answers: the response matrix and its inverse.

A channel sends code i to answer y with probability `weights[i][y] / 2**word_bits`. Everything a consumer does
with randomized answers (moment estimates, likelihoods, standard errors) needs only the few verbs below.

Post-randomization (PRAM) with a custom response matrix, and Warner's model, its smallest case.

Gouweleeuw et al., Journal of Official Statistics 14(4), 1998; Warner, JASA 60, 1965.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import FloatArray
from anonkit.errors import ParameterError
from anonkit.published.exact_losses import check_probability, privacy_loss, worst_ratio

SHARED_ASSUMPTIONS = (
    "the domain (categories, bounds, grid) is public and was not read from the data",
    "one answer per record: every further release of the same attribute adds its own epsilon",
    "the key of the release is secret and used once",
)


class Channel(ParamsPart, ABC):
    """A randomizing mechanism on integer codes.

    Privacy
    -------
    Local differential privacy per value: whatever the true code, an answer is at most `exp(epsilon)` times as
    likely as under any other code. The unit is one value of one record; the epsilons of a record's attributes
    add up. What a population-level pattern says about a person is not protected.
    """

    mechanism: ClassVar[str]
    """Name in the params file."""
    word_bits: int

    @property
    @abstractmethod
    def n_inputs(self) -> int:
        """Number of true codes."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Number of answers."""

    @abstractmethod
    def weights(self) -> list[list[int]]:
        """Return the exact response matrix: of the 2**word_bits words, how many send input (row) to answer (column)."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction | None:
        """The largest likelihood ratio of any answer under two inputs, exact; None when unbounded."""

    @cached_property
    def blanket(self) -> Fraction:
        """Total over the answers of their smallest probability under any input: what an answer says of nobody."""
        columns = zip(*self.weights(), strict=True)
        return Fraction(sum(min(column) for column in columns), 1 << self.word_bits)

    @property
    def epsilon(self) -> float:
        """Realised privacy loss of one answer: the smallest float not below ln(ratio), in [0, inf]."""
        return privacy_loss(self.ratio)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which epsilon holds, in plain sentences."""
        return SHARED_ASSUMPTIONS

    @cached_property
    def _matrix(self) -> FloatArray:
        total = 1 << self.word_bits
        return np.array([[weight / total for weight in row] for row in self.weights()])

    @cached_property
    def _inverse(self) -> FloatArray:
        if self.n_inputs != self.n_outputs or np.linalg.matrix_rank(self._matrix) < self.n_inputs:
            raise ParameterError(
                "the response matrix has no inverse, so shares cannot be estimated by moments",
                "estimate by likelihood, or randomize with a matrix whose rows are linearly independent",
            )
        return np.asarray(np.linalg.inv(self._matrix), dtype=np.float64)

    def response_matrix(self) -> FloatArray:
        """Return the response probabilities, shape (n_inputs, n_outputs); rows sum to 1."""
        return self._matrix

    def forward(self, shares: FloatArray) -> FloatArray:
        """Return the answer shares that true shares lead to; acts on the last axis."""
        return np.asarray(shares @ self._matrix)

    def backward(self, answers: FloatArray) -> FloatArray:
        """Return the mean of a function of the answer for each true code; acts on the last axis."""
        return np.asarray(answers @ self._matrix.T)

    def unmix(self, counts: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the true counts from answer counts; acts on the last axis.

        Sums are kept; single entries may leave [0, sum].
        """
        return np.asarray(counts @ self._inverse)

    def unmix_squares(self, counts: FloatArray) -> FloatArray:
        """Return sums of the squared coefficients `unmix` gives each answer; acts on the last axis."""
        return np.asarray(counts @ self._inverse**2)

    @cached_property
    def largest_scores(self) -> FloatArray:
        """The most that one answer adds to the count `unmix` estimates of each true code, shape (n_inputs,)."""
        return np.asarray(self._inverse.max(axis=0))

    def scores(self, targets: FloatArray) -> FloatArray:
        """Return functions of the answer whose mean under each true code is the target.

        Parameters
        ----------
        targets : array, shape (n_inputs, q)

        Returns
        -------
        array, shape (n_outputs, q)
            S with `response_matrix() @ S == targets`.
        """
        return np.asarray(self._inverse @ targets)

    def power_scores(self, positions: int, segments: int = 1) -> FloatArray:
        """Return unbiased scores of four functions of the true code: in the segment, present, i and i² of position i.

        The codes are `segments` runs (one per class when the answer is joint with the target) of `positions` grid
        positions, each run followed by one code for missing when the channel has it. Missing is in the segment but
        not present.

        Returns
        -------
        array, shape (n_outputs, segments, 4)
        """
        targets = np.zeros((segments, self.n_inputs // segments, segments, 4))
        steps = np.arange(positions, dtype=np.float64)
        for segment in range(segments):
            targets[segment, :, segment, 0] = 1.0
            targets[segment, :positions, segment, 1:] = np.stack([np.ones_like(steps), steps, steps**2], axis=1)
        return self.scores(targets.reshape(self.n_inputs, -1)).reshape(self.n_outputs, segments, 4)


class TruthOrBlind(Channel):
    """A channel that answers truthfully (or near the truth) with one probability, else blindly, whatever the truth."""

    @property
    @abstractmethod
    def truth_probability(self) -> float:
        """Probability that an answer looks at the truth."""

    @cached_property
    @abstractmethod
    def blind_probabilities(self) -> FloatArray:
        """Probability of each answer to be given blindly, shape (n_outputs,); with the above they add up to 1."""

    @abstractmethod
    def marginal(self, n_classes: int) -> Self:
        """Return the channel of the value alone, when a code is `class * n_values + value` and the class is ignored.

        Exact, word by word: the answers of all classes that show the same value are one answer.
        """

    def class_scores(self, n_classes: int) -> FloatArray:
        """Return unbiased functions of an answer, joint with the class, about the class, shape (n_outputs, n_classes).

        A truthful answer shows the class of the truth here; where it may show another one this is overridden.
        """
        return self.unblinded(np.repeat(np.eye(n_classes), self.n_outputs // n_classes, axis=0))

    def unblinded(self, functions: FloatArray) -> FloatArray:
        """Return functions of the answer whose mean is what the given ones have among truthful answers.

        Parameters
        ----------
        functions : array, shape (n_outputs, q)
        """
        return np.asarray((functions - self.blind_probabilities @ functions) / self.truth_probability)


_BITS = 32


@dataclass(frozen=True, kw_only=True)
class ResponseMatrix(
    Channel, keys=("word_bits", "rows"), damage="response matrix: a parameter is missing or not a number"
):
    """Send code i to code j with probability `rows[i][j] / 2**32`.

    Raises
    ------
    ParameterError
        When the matrix is not square, has a negative entry, or a row does not add up to 2**32.
    """

    mechanism: ClassVar[str] = "response-matrix"

    rows: tuple[tuple[int, ...], ...]
    """Row per true code: of 2**32 words, how many give each answer."""
    word_bits: int = _BITS
    """Bits of the random word one answer uses; always 32."""

    def __post_init__(self) -> None:
        if self.word_bits != _BITS:
            raise ParameterError(f"word_bits ({self.word_bits}) of a response matrix must be {_BITS}")
        if not self.rows or any(len(row) != len(self.rows) for row in self.rows):
            raise ParameterError("a response matrix must be square and not empty")
        if any(min(row) < 0 or sum(row) != 1 << _BITS for row in self.rows):
            raise ParameterError("each row of a response matrix must be non-negative and add up to 2**32 words")

    @classmethod
    def from_probabilities(cls, matrix: Sequence[Sequence[float]]) -> Self:
        """Round a matrix of probabilities to words; what is 0 stays exactly 0 and never happens.

        Parameters
        ----------
        matrix : m rows of m probabilities
            Row i: the distribution of the answer when the truth is i; each row must add up to 1 within 1e-9.
        """
        return cls(rows=tuple(_to_words(row) for row in matrix))

    @classmethod
    def warner(cls, p_truth: float) -> Self:
        """Warner's model: the truth with probability p_truth, else the opposite; p_truth in (0, 1].

        At p_truth = 0.5 the answers mean nothing and no share can be estimated.
        """
        p = float(check_probability("p_truth", p_truth))
        return cls.from_probabilities([[p, 1 - p], [1 - p, p]])

    @property
    def n_inputs(self) -> int:
        """Number of categories."""
        return len(self.rows)

    @property
    def n_outputs(self) -> int:
        """Number of categories."""
        return len(self.rows)

    def weights(self) -> list[list[int]]:
        """Return the exact response matrix, in words."""
        return [list(row) for row in self.rows]

    @cached_property
    def _ratio(self) -> Fraction | None:
        return worst_ratio(self.rows)

    @property
    def ratio(self) -> Fraction | None:
        """The largest ratio within a column; None when a column has both a zero and a positive entry."""
        return self._ratio

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which epsilon holds."""
        return (*SHARED_ASSUMPTIONS, "the response matrix was not computed from the data (an invariant matrix is)")

    def breach(self) -> FloatArray:
        """Return the paper's breach coefficient of each category: M_jj² + (1 − M_jj)² / (m − 1), shape (m,).

        True answers that are believed, plus false ones that are disbelieved and undone by a guess among the
        other categories. For m = 2 it is the paper's p² + (1 − p)² of Warner's model.
        """
        truth = np.diagonal(self.response_matrix())
        return np.asarray(truth**2 + (1 - truth) ** 2 / max(self.n_inputs - 1, 1))


def _to_words(row: Sequence[float]) -> tuple[int, ...]:
    """Round probabilities to words by largest remainder among the positive ones."""
    shares = [Fraction(value) for value in row]
    if min(shares) < 0 or abs(float(sum(shares)) - 1) > 1e-9:
        raise ParameterError("each row of a response matrix must be non-negative and add up to 1")
    total = sum(shares)
    exact = [share * (1 << _BITS) / total for share in shares]
    words = [int(value) for value in exact]
    spare = (1 << _BITS) - sum(words)
    for index in sorted(range(len(row)), key=lambda at: words[at] - exact[at])[:spare]:
        words[index] += 1
    return tuple(words)
