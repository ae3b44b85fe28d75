# SPDX-License-Identifier: Apache-2.0
"""Response matrices rebuilt from published integers: the number of random words that send each code to each answer.

What the params file of a randomized table says is worked out here a second time, from the file format alone. Nothing of
the mechanisms is imported, so that a mistake in how they count their own privacy loss is seen and not repeated.

The matrix of a set response rebuilt from published integers: answers that lie at a member's distance from the truth.

Worked out distance by distance and, where shares are needed, as one whole matrix; who made the release convolved.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.errors import ReleaseFormatError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_CODES = 1 << 24
"""Codes and answers of one mechanism, at most: what a file states beyond is refused before anything is allocated."""

_DIGITS = 100
_HAIR = Decimal(10) ** -70  # the logarithm is rounded in its last digits


def loss_of(ratio: Fraction | None) -> float:
    """Return the smallest float that is not below ln(ratio): the privacy loss of a likelihood ratio, in [0, inf].

    Parameters
    ----------
    ratio : Fraction or None
        At least 1; None is unbounded.
    """
    if ratio is None:
        return math.inf
    if ratio == 1:
        return 0.0
    with localcontext() as context:
        context.prec = _DIGITS
        exact = Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln()
        loss = float(exact)
        return loss if Decimal(loss) > exact + _HAIR else math.nextafter(loss, math.inf)


class ResponseWords(ABC):
    """Of `2**word_bits` equally likely words, how many send each true code to each answer.

    The row of a code has the words of each answer and adds up to `2**word_bits`.
    """

    word_bits: int

    @property
    @abstractmethod
    def n_codes(self) -> int:
        """Number of true codes."""

    @property
    @abstractmethod
    def n_answers(self) -> int:
        """Number of answers."""

    @abstractmethod
    def worst_ratio(self) -> Fraction | None:
        """Return the largest quotient of two entries of a column; None when one of them is 0 and the other is not."""

    @abstractmethod
    def is_truth(self) -> bool:
        """Return True if every code is its own answer for certain."""

    @abstractmethod
    def forward(self, shares: FloatArray) -> FloatArray:
        """Return the shares of the answers, shape (n_answers,), under true shares, shape (n_codes,)."""

    @abstractmethod
    def backward(self, of_answers: FloatArray) -> FloatArray:
        """Return the mean of a function of the answer, shape (n_answers,), under each code, shape (n_codes,)."""

    @abstractmethod
    def rows(self) -> list[list[int]]:
        """Return the whole matrix; large ones are for tests only."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnMatrix(ResponseWords):
    """A matrix that is published entry by entry."""

    word_bits: int
    entries: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.entries or any(len(row) != len(self.entries) for row in self.entries):
            raise ReleaseFormatError("a response matrix of the params is not square")
        if any(min(row) < 0 or sum(row) != 1 << self.word_bits for row in self.entries):
            raise ReleaseFormatError("a row of a response matrix of the params does not add up to all words")

    @property
    def n_codes(self) -> int:
        """Number of rows."""
        return len(self.entries)

    @property
    def n_answers(self) -> int:
        """Number of columns."""
        return len(self.entries)

    def worst_ratio(self) -> Fraction | None:
        """Look at every column."""
        worst = Fraction(1)
        for column in zip(*self.entries, strict=True):
            least, most = min(column), max(column)
            if least == 0 < most:
                return None
            worst = max(worst, Fraction(most, least)) if most else worst
        return worst

    def is_truth(self) -> bool:
        """Look at the diagonal."""
        return all(row[code] == 1 << self.word_bits for code, row in enumerate(self.entries))

    @cached_property
    def _shares(self) -> FloatArray:
        return np.array([[words / (1 << self.word_bits) for words in row] for row in self.entries])

    def forward(self, shares: FloatArray) -> FloatArray:
        """Multiply."""
        return np.asarray(shares @ self._shares)

    def backward(self, of_answers: FloatArray) -> FloatArray:
        """Multiply from the other side."""
        return np.asarray(self._shares @ of_answers)

    def rows(self) -> list[list[int]]:
        """Return the matrix."""
        return [list(row) for row in self.entries]


@dataclass(frozen=True, kw_only=True, eq=False)
class BlindAndNear(ResponseWords):
    """Every answer has its blind words, whatever the truth; a run of answers has more of them under each code."""

    word_bits: int
    blind: tuple[int, ...]
    """Words of each answer under every code."""
    starts: IntArray
    """First answer of the run of each code, shape (n_codes,)."""
    stops: IntArray
    """The answer after the last one of the run, shape (n_codes,)."""
    more: tuple[int, ...]
    """Further words of each answer of the run, by code."""

    def __post_init__(self) -> None:
        if min(self.blind) < 0 or min(self.more) < 0:
            raise ReleaseFormatError("a mechanism of the params has a negative weight")
        left = (1 << self.word_bits) - sum(self.blind)
        lengths = (self.stops - self.starts).tolist()
        if any(length * more != left for length, more in set(zip(lengths, self.more, strict=True))):
            raise ReleaseFormatError("the weights of a mechanism of the params do not add up to all words")

    @property
    def n_codes(self) -> int:
        """One run each."""
        return len(self.more)

    @property
    def n_answers(self) -> int:
        """Every answer can be given blindly, if only with 0 words."""
        return len(self.blind)

    @cached_property
    def _more(self) -> FloatArray:
        return np.array([words / (1 << self.word_bits) for words in self.more])

    @cached_property
    def _blind(self) -> FloatArray:
        return np.array([words / (1 << self.word_bits) for words in self.blind])

    def worst_ratio(self) -> Fraction | None:
        """Look at every column: the most and the fewest words that a run adds to it, where not all runs reach it none.

        How many runs reach a column is a running sum over where runs begin and end, one for each number of words.
        """
        kinds = sorted(set(self.more))
        reached = np.zeros((len(kinds), self.n_answers), dtype=np.int64)
        number = {words: at for at, words in enumerate(kinds)}
        kind = np.array([number[words] for words in self.more])
        for at in range(len(kinds)):
            reached[at] = _running(self.starts[kind == at], self.stops[kind == at], self.n_answers)
        there = reached > 0
        most = np.where(there.any(axis=0), len(kinds) - 1 - np.argmax(there[::-1], axis=0), -1)
        fewest = np.where(reached.sum(axis=0) == self.n_codes, np.argmax(there, axis=0), -1)
        worst = Fraction(1)
        for blind, high, low in set(zip(self.blind, most.tolist(), fewest.tolist(), strict=True)):
            top = blind + (kinds[high] if high >= 0 else 0)
            bottom = blind + (kinds[low] if low >= 0 else 0)
            if bottom == 0 < top:
                return None
            worst = max(worst, Fraction(top, bottom)) if top else worst
        return worst

    def is_truth(self) -> bool:
        """Return True if nothing is blind and every run is its code alone."""
        alone = np.array_equal(self.starts, np.arange(self.n_codes)) and bool((self.stops - self.starts == 1).all())
        return not any(self.blind) and alone and self.n_codes == self.n_answers

    def forward(self, shares: FloatArray) -> FloatArray:
        """Add up runs from where they begin and end."""
        weights = shares * self._more
        if bool((self.stops - self.starts == 1).all()):  # no sum, so that 0 stays exactly 0
            near = np.bincount(self.starts, weights=weights, minlength=self.n_answers).astype(np.float64)
        else:
            near = np.maximum(_running(self.starts, self.stops, self.n_answers, weights), 0.0)
        return np.asarray(near + shares.sum() * self._blind)

    def backward(self, of_answers: FloatArray) -> FloatArray:
        """Take differences of a running sum."""
        sums = np.append(0.0, np.cumsum(of_answers))
        return np.asarray((sums[self.stops] - sums[self.starts]) * self._more + of_answers @ self._blind)

    def rows(self) -> list[list[int]]:
        """Return the matrix, entry by entry."""
        out = []
        for start, stop, more in zip(self.starts.tolist(), self.stops.tolist(), self.more, strict=True):
            out.append([words + more * (start <= at < stop) for at, words in enumerate(self.blind)])
        return out

    def of_values(self, n_classes: int) -> BlindAndNear:
        """Return the matrix of the value alone, of codes and answers that are runs of equal length, one a class."""
        answers, codes = self.n_answers // n_classes, self.n_codes // n_classes
        return BlindAndNear(
            word_bits=self.word_bits,
            blind=tuple(sum(self.blind[value::answers]) for value in range(answers)),
            starts=self.starts[:codes],
            stops=self.stops[:codes],
            more=self.more[:codes],
        )

    def of_classes(self, n_classes: int) -> BlindAndNear:
        """Return the matrix of the class alone; what a run adds stays within the class of its code."""
        answers = self.n_answers // n_classes
        total = int(self.stops[0] - self.starts[0]) * self.more[0]
        places = np.arange(n_classes)
        return BlindAndNear(
            word_bits=self.word_bits,
            blind=tuple(sum(self.blind[at * answers : (at + 1) * answers]) for at in range(n_classes)),
            starts=places,
            stops=places + 1,
            more=(total,) * n_classes,
        )


def _running(starts: IntArray, stops: IntArray, size: int, weights: FloatArray | None = None) -> NDArray[Any]:
    """Return the sum over the runs that reach each place, shape (size,)."""
    begin, end = (np.bincount(places, weights=weights, minlength=size + 1) for places in (starts, stops))
    return np.asarray(np.cumsum(begin - end)[:size])


def truth_or_blind(word_bits: int, truth: int, blind: Sequence[int]) -> BlindAndNear:
    """Return the matrix of randomized response: a code is its own answer with `truth` words more."""
    places = np.arange(len(blind))
    return BlindAndNear(
        word_bits=word_bits, blind=tuple(blind), starts=places, stops=places + 1, more=(truth,) * len(blind)
    )


def near_or_blind(
    word_bits: int, *, positions: int, band: int, blind: int, excess: int, classes: int, has_missing: bool
) -> BlindAndNear:
    """Return the matrix of a band response.

    A position i is answered by the places i to i + band − 1 with `excess` words more each. Missing is one answer with
    the words of `band` places. Every class has its own run of places; the words that rounding left give the very last
    answer, whatever the truth.
    """
    places = positions + band - 1
    answers = places + has_missing
    left = (1 << word_bits) - classes * (places + band * has_missing) * blind - band * excess
    if left < 0:
        raise ReleaseFormatError("the weights of a mechanism of the params do not add up to all words")
    of_class = [blind] * places + [band * blind] * has_missing
    every = of_class * classes
    every[-1] += left
    starts = np.concatenate([np.arange(positions), [places] * has_missing]).astype(np.int64)
    lengths = np.array([band] * positions + [1] * has_missing, dtype=np.int64)
    begin = (np.arange(classes)[:, np.newaxis] * answers + starts).reshape(-1)
    return BlindAndNear(
        word_bits=word_bits,
        blind=tuple(every),
        starts=begin,
        stops=begin + np.tile(lengths, classes),
        more=tuple(([excess] * positions + [band * excess] * has_missing) * classes),
    )


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
    members_of_set = set(members)
    more = [tuple(excess * (at * values + value in members_of_set) for value in range(values)) for at in range(classes)]
    return BlindAndSets(word_bits=word_bits, blind=tuple(every), more=tuple(more))
