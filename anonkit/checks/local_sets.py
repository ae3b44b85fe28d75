# SPDX-License-Identifier: Apache-2.0
"""The matrix of a set response rebuilt from published integers: answers that lie at a member's distance from the truth.

Worked out distance by distance and, where shares are needed, as one whole matrix; who made the release convolved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from anonkit.checks.local_matrices import FloatArray, IntArray, ResponseWords
from anonkit.errors import ReleaseFormatError


@dataclass(frozen=True, kw_only=True, eq=False)
class BlindAndSets(ResponseWords):
    """Every answer has its blind words, whatever the truth, and more of them at some distances from the truth.

    Codes and answers are `class * n_values + value`; the distance of an answer is how many classes and values it comes
    behind the truth, counted around their ends.
    """

    word_bits: int
    blind: tuple[int, ...]
    """Words of each answer under every code."""
    more: tuple[tuple[int, ...], ...]
    """Further words at each distance of class and value: one row a class."""

    def __post_init__(self) -> None:
        if sum(self.blind) + sum(map(sum, self.more)) != 1 << self.word_bits:
            raise ReleaseFormatError("the weights of a mechanism of the params do not add up to all words")

    @property
    def n_values(self) -> int:
        """Values of one class."""
        return len(self.more[0])

    @property
    def n_codes(self) -> int:
        """Pairs of class and value."""
        return len(self.blind)

    @property
    def n_answers(self) -> int:
        """As many answers as pairs."""
        return len(self.blind)

    def worst_ratio(self) -> Fraction | None:
        """Look at every column: an answer lies at each of the distances from one code or another."""
        more = [words for row in self.more for words in row]
        return max(Fraction(blind + max(more), blind + min(more)) for blind in set(self.blind))

    def is_truth(self) -> bool:
        """Return False: the parameters have at least one blind word an answer."""
        return False

    @cached_property
    def _distances(self) -> IntArray:
        """The distance of each answer (column) from each code (row), as a code itself, shape (n_codes, n_codes)."""
        classes, values = np.divmod(np.arange(self.n_codes), self.n_values)
        apart = (classes - classes[:, np.newaxis]) % len(self.more)
        return np.asarray(apart * self.n_values + (values - values[:, np.newaxis]) % self.n_values)

    @cached_property
    def _shares(self) -> FloatArray:
        flat = np.array([words / (1 << self.word_bits) for row in self.more for words in row])
        blind = np.array([words / (1 << self.word_bits) for words in self.blind])
        return np.asarray(flat[self._distances] + blind)

    def forward(self, shares: FloatArray) -> FloatArray:
        """Multiply."""
        return np.asarray(shares @ self._shares)

    def backward(self, of_answers: FloatArray) -> FloatArray:
        """Multiply from the other side."""
        return np.asarray(self._shares @ of_answers)

    def rows(self) -> list[list[int]]:
        """Return the matrix, entry by entry."""
        flat = [words for row in self.more for words in row]
        return [
            [blind + flat[distance] for blind, distance in zip(self.blind, row, strict=True)]
            for row in self._distances.tolist()
        ]

    def of_values(self, n_classes: int) -> BlindAndSets:
        """Return the matrix of the value alone: answers of all classes that show it are one."""
        size = len(self.blind) // n_classes
        return BlindAndSets(
            word_bits=self.word_bits,
            blind=tuple(sum(self.blind[value::size]) for value in range(size)),
            more=(tuple(map(sum, zip(*self.more, strict=True))),),
        )

    def of_classes(self, n_classes: int) -> BlindAndSets:
        """Return the matrix of the class alone: answers of a class are one, whatever value they show."""
        size = len(self.blind) // n_classes
        return BlindAndSets(
            word_bits=self.word_bits,
            blind=tuple(sum(self.blind[at * size : (at + 1) * size]) for at in range(n_classes)),
            more=(tuple(map(sum, self.more)),),
        )


def set_or_blind(
    word_bits: int, *, classes: int, values: int, members: Sequence[int], blind: int, excess: int
) -> BlindAndSets:
    """Return the matrix of a set response.

    An answer at a member's distance from the truth has `excess` words more than its `blind` ones; what rounding left
    gives the very last answer, whatever the truth.
    """
    left = (1 << word_bits) - classes * values * blind - len(members) * excess
    if left < 0:
        raise ReleaseFormatError("the weights of a mechanism of the params do not add up to all words")
    if any(second <= first for first, second in zip([-1, *members], [*members, classes * values], strict=True)):
        raise ReleaseFormatError("the members of a set response of the params are not distinct pairs in order")
    every = [blind] * (classes * values)
    every[-1] += left
    held = set(members)
    more = [tuple(excess * (at * values + value in held) for value in range(values)) for at in range(classes)]
    return BlindAndSets(word_bits=word_bits, blind=tuple(every), more=tuple(more))
