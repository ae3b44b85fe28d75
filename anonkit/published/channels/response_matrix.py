# SPDX-License-Identifier: Apache-2.0
"""Post-randomization (PRAM) with a custom response matrix, and Warner's model, its smallest case.

Gouweleeuw et al., Journal of Official Statistics 14(4), 1998; Warner, JASA 60, 1965.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from anonkit.domains.array_types import FloatArray
from anonkit.errors import ParameterError, refusing_damage
from anonkit.published.channels.response_channel import SHARED_ASSUMPTIONS, Channel
from anonkit.published.exact_losses import check_probability, worst_ratio

_BITS = 32


@dataclass(frozen=True, kw_only=True)
class ResponseMatrix(Channel):
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

    def to_params(self) -> dict[str, Any]:
        """Return the integers that define the mechanism."""
        return {"word_bits": self.word_bits, "rows": self.weights()}

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Rebuild the mechanism from `to_params()`.

        Raises
        ------
        ReleaseFormatError
            When a key is missing or of the wrong kind.
        """
        with refusing_damage("response matrix: a parameter is missing or not a number"):
            rows = tuple(tuple(int(weight) for weight in row) for row in params["rows"])
            word_bits = int(params["word_bits"])
        return cls(rows=rows, word_bits=word_bits)


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
