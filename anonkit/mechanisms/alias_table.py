# SPDX-License-Identifier: Apache-2.0
"""Exact sampling of unequal weights from one random word: the alias method on integer word counts.

Walker, ACM Transactions on Mathematical Software 3(3), 1977. The words are cut into equal columns; each column holds
at most two outcomes, so that one look-up and one comparison find the answer however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import Codes
from anonkit.errors import ParameterError
from anonkit.randomness import KeyedWords, word_type

_AT_ONCE = 1 << 13  # words looked up together: everything looked at stays in the processor's cache
_MOST_STARTS = 1 << 16  # entries of the table of starts, which shall stay there too
_BITS_BEYOND = 8  # of a start after those of its column: one start in 256 is left open


@dataclass(frozen=True, kw_only=True, eq=False)
class AliasTable:
    """The outcome of each word of `2**word_bits`, for one or several distributions.

    Privacy
    -------
    Every outcome has exactly the number of words it was given: nothing is rounded.
    """

    column_bits: int
    """The first bits of a word choose the column."""
    word_bits: int
    limits: KeyedWords
    """Word from which on each column has its second outcome, shape (n_rows · 2**column_bits,)."""
    outcomes: NDArray[np.integer[Any]]
    """First and second outcome of each column, shape (2 · n_rows · 2**column_bits,)."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], word_bits: int) -> Self:
        """Build the table of one or several distributions.

        Parameters
        ----------
        rows : sequence of sequences of int
            Per distribution the words of each outcome, not negative, adding up to `2**word_bits`; of one length.
        word_bits : int
            16, 32 or 64.

        Raises
        ------
        ParameterError
            A row does not add up.
        """
        size = len(rows[0])
        column_bits = max(1, (size - 1).bit_length())
        limits, outcomes = [], []
        for row in rows:
            if min(row) < 0 or sum(row) != 1 << word_bits:
                raise ParameterError(f"the weights of an answer must not be negative and add up to 2**{word_bits}")
            width = 1 << (word_bits - column_bits)
            for column, (words, first, second) in enumerate(_columns(row, column_bits, width)):
                limits.append(column * width + words)
                outcomes += [first, second]
        smallest = np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.int32
        return cls(
            column_bits=column_bits,
            word_bits=word_bits,
            limits=np.array(limits, dtype=word_type(word_bits)),
            outcomes=np.array(outcomes, dtype=smallest),
        )

    def draw(self, words: KeyedWords, rows: Codes | None = None) -> Codes:
        """Return the outcome of each word, shape (n,).

        Parameters
        ----------
        words : array of unsigned int, shape (n,)
        rows : array of int, shape (n,), optional
            The distribution each is drawn from; the first when not given.
        """
        bits = self._start_bits
        if bits <= self.column_bits:  # no start lies within a column
            return self._draw(words, rows)
        out = np.empty(words.shape, dtype=self.outcomes.dtype)
        for start in range(0, words.size, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            places = (words[part] >> words.dtype.type(self.word_bits - bits)).astype(np.int64)
            if rows is not None:
                lead = rows[part].astype(np.int64)
                lead <<= bits
                places += lead
            self._starts.take(places, out=out[part], mode="clip")
        left = np.flatnonzero(out == self._open)
        out[left] = self._draw(words[left], None if rows is None else rows[left])
        return out

    @property
    def _start_bits(self) -> int:
        """Number of leading bits of a word that are looked up at once."""
        n_rows = self.limits.size >> self.column_bits
        return min((_MOST_STARTS // n_rows).bit_length() - 1, self.column_bits + _BITS_BEYOND, self.word_bits)

    @cached_property
    def _starts(self) -> NDArray[np.integer[Any]]:
        """Outcome of all words with the same first bits, shape (n_rows · 2**start_bits,); `_open` where they differ.

        A column has one limit, so the words of a start agree when the first and the last of them do.
        """
        bits, n_rows = self._start_bits, self.limits.size >> self.column_bits
        word = word_type(self.word_bits)
        starts = np.tile(np.arange(1 << bits, dtype=np.uint64), n_rows)
        rows = np.repeat(np.arange(n_rows), 1 << bits)
        first = (starts << np.uint64(self.word_bits - bits)).astype(word)
        last = first | word((1 << (self.word_bits - bits)) - 1)
        smaller, other = self._draw(first, rows), self._draw(last, rows)
        return np.where(smaller == other, smaller, self._open)

    @property
    def _open(self) -> np.integer[Any]:
        """The largest number there is: as an outcome it is looked up in the columns too."""
        return self.outcomes.dtype.type(np.iinfo(self.outcomes.dtype).max)

    def _draw(self, words: KeyedWords, rows: Codes | None) -> Codes:
        shift = words.dtype.type(self.word_bits - self.column_bits)
        columns = (words >> shift).astype(np.int64)  # numpy looks up with this type without a copy
        if rows is not None:
            columns += rows.astype(np.int64) << self.column_bits
        second = words >= self.limits.take(columns)
        columns <<= 1
        columns += second
        return np.asarray(self.outcomes.take(columns))


def _columns(weights: Sequence[int], column_bits: int, width: int) -> list[tuple[int, int, int]]:
    """Deal the words of the outcomes to columns of equal width: (words of the first, first, second outcome) each."""
    left = [*weights, *[0] * ((1 << column_bits) - len(weights))]
    scarce = [outcome for outcome, words in enumerate(left) if words < width]
    ample = [outcome for outcome, words in enumerate(left) if words >= width]
    columns = []
    while scarce:
        first, second = scarce.pop(), ample[-1]
        columns.append((left[first], first, second))
        left[second] -= width - left[first]
        if left[second] < width:
            scarce.append(ample.pop())
    return columns + [(0, outcome, outcome) for outcome in ample]
