# SPDX-License-Identifier: Apache-2.0
"""Randomizers of coded values: answers drawn from a row's random words according to the response matrix.

What is known about an answer is a value of `anonkit.published.channels`, which a receiver reads and inverts; what draws
the answer is in this module and is needed by the owner alone. A randomizer is made once for a channel and keeps the
tables it looks words up in. Each answer is a function of one word: `tests/privacy/test_local_mechanisms.py` tries every
word and counts the response matrix.

Exact sampling of unequal weights from one random word: the alias method on integer word counts.

Walker, ACM Transactions on Mathematical Software 3(3), 1977. The words are cut into equal columns; each column holds
at most two outcomes, so that one look-up and one comparison find the answer however many there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, Codes, IntArray
from anonkit.errors import ParameterError
from anonkit.published.channels.band_response import BandResponse
from anonkit.published.channels.kary_response import RandomizedResponse
from anonkit.published.channels.response_channel import Channel, ResponseMatrix
from anonkit.published.channels.set_response import SetResponse
from anonkit.randomness import KeyedWords, keyed_words, word_type

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


C = TypeVar("C", bound=Channel, covariant=True)

BLOCK_ROWS = 1 << 15
"""Rows worked on at a time: words, answers and masks of a block stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class CodeRandomizer(ABC, Generic[C]):
    """Draws the answers of a channel.

    Privacy
    -------
    The channel's ε holds for one answer under a secret key. Whoever holds the key can undo the noise, and answers to
    the same values under another key add their own ε.
    """

    channel: C

    @abstractmethod
    def answer(self, codes: Codes, words: KeyedWords) -> Codes:
        """Answer each code with its word, both of shape (n,)."""

    def randomize(
        self, codes: Codes, *, key: bytes, stream: int, first_row: int = 0, rows: IntArray | None = None
    ) -> Codes:
        """Randomize a batch: a pure function of (key, stream, row number, code).

        Parameters
        ----------
        codes : array of int, shape (n,)
            True codes in [0, n_inputs).
        key, stream, first_row
            As in `keyed_words`: secret key, number of the attribute, global number of the batch's first row.
        rows : array of int, shape (n,), optional
            Ascending indices of the codes in the batch, where some rows do not answer; without it all rows answer.

        Returns
        -------
        array of int, shape (n,)
            Answers in [0, n_outputs); of the input's type when that holds every answer, else int32.

        Raises
        ------
        ParameterError
            When a code is outside its range (the message counts rows and shows no code).
        """
        channel = self.channel
        checked = _checked(codes, channel.n_inputs)
        # one type for codes and answers, so that `choose` can mix them bit by bit
        fits = channel.n_outputs - 1 <= np.iinfo(checked.dtype).max
        out: Codes = np.empty(checked.shape, dtype=checked.dtype if fits else np.int32)
        n_rows = checked.size if rows is None else int(rows[-1]) + 1 if rows.size else 0
        for block in row_blocks(n_rows):
            size = block.stop - block.start
            words = keyed_words(key, stream, first_row + block.start, size, word_bits=channel.word_bits).reshape(-1)
            if rows is not None:
                start, stop = np.searchsorted(rows, [block.start, block.stop])
                words, block = words[rows[start:stop] - block.start], slice(start, stop)
            out[block] = self.answer(checked[block].astype(out.dtype, copy=False), words)
        return out


class KaryRandomizer(CodeRandomizer[RandomizedResponse]):
    """Keeps the code when the word decides so, else answers by the word."""

    @cached_property
    def _alias(self) -> AliasTable:
        """The blind category of each word; one more outcome, the last, means the truth."""
        response = self.channel
        return AliasTable.of([[*response.blind_weights, response.truth_weight]], response.word_bits)

    def answer(self, codes: Codes, words: KeyedWords) -> Codes:
        """Answer equal blind weights by division and uneven ones by an alias table; both exactly."""
        response = self.channel
        if response.truth_weight == 1 << response.word_bits:
            return codes.copy()
        word = words.dtype.type
        if response.equal_blind_weight is not None:
            # the first truth_weight words keep the code; the rest is dealt out in equal runs, one a category
            is_true = words < word(response.truth_weight)
            blind = words - word(response.truth_weight)  # wraps around where kept: those are not used
            np.floor_divide(blind, word(response.equal_blind_weight), out=blind)
            return choose(is_true, codes, blind.astype(codes.dtype))
        sampled = self._alias.draw(words)
        return choose(sampled == response.n_inputs, codes, sampled.astype(codes.dtype, copy=False))


class MatrixRandomizer(CodeRandomizer[ResponseMatrix]):
    """Looks the word up among those of the row of the code."""

    @cached_property
    def _alias(self) -> AliasTable:
        """The answer of each word, for each true code."""
        return AliasTable.of(self.channel.rows, self.channel.word_bits)

    def answer(self, codes: Codes, words: KeyedWords) -> Codes:
        """Return the outcome of each word in the row of its code."""
        return self._alias.draw(words, codes).astype(codes.dtype, copy=False)


class BandRandomizer(CodeRandomizer[BandResponse]):
    """Answers from the band when the word is below the band's total weight, else by the word's place in the rest."""

    def answer(self, codes: Codes, words: KeyedWords) -> Codes:
        """Return a place near the truth or a blind one, the places of missing as one answer."""
        response, word = self.channel, words.dtype.type
        truthful = response.band * response.excess_weight
        near = words < word(truthful)
        # the first band * excess_weight words answer from the band, in equal runs, one a place
        offset = words // word(response.excess_weight)
        blind = (words - word(truthful)) // word(response.blind_weight)
        # the few words left by rounding give the last place, as the published weights say
        np.minimum(blind, word(response.segments * response.segment_places - 1), out=blind)
        place = choose(near, response.band_starts[codes] + offset.astype(np.int64), blind.astype(np.int64))
        # both branches were computed everywhere: the index is only valid where it was chosen
        return (response.answer_of_place[place] if response.has_missing else place).astype(codes.dtype)


class SetRandomizer(CodeRandomizer[SetResponse]):
    """Moves the pair by a member when the word decides so, else answers by the word's place in the rest."""

    @cached_property
    def _moves(self) -> tuple[IntArray, IntArray]:
        """Shifts of the class and of the value by each member, both of shape (n_members,)."""
        classes, values = np.divmod(np.array(self.channel.members, dtype=np.int64), self.channel.values)
        return classes, values

    def answer(self, codes: Codes, words: KeyedWords) -> Codes:
        """Return a pair at a member's distance from the truth, around both ends, or a blind one."""
        response, word = self.channel, words.dtype.type
        size = len(response.members)
        truthful = size * response.excess_weight
        near = words < word(truthful)
        # the first words answer from the set, in equal runs, one a member
        member = np.minimum(words // word(response.excess_weight), word(size - 1)).astype(np.int64)
        blind = (words - word(truthful)) // word(response.blind_weight)
        # the few words left by rounding give the last pair, as the published weights say
        np.minimum(blind, word(response.n_outputs - 1), out=blind)
        of_class, of_value = np.divmod(codes.astype(np.int64), response.values)
        of_class = (of_class + self._moves[0][member]) % response.segments
        of_value = (of_value + self._moves[1][member]) % response.values
        return choose(near, of_class * response.values + of_value, blind.astype(np.int64)).astype(codes.dtype)


def randomizer_of(channel: Channel) -> CodeRandomizer[Channel]:
    """Return the sampler of a channel's answers.

    Raises
    ------
    ParameterError
        No randomizer is known for this kind of channel.
    """
    if isinstance(channel, RandomizedResponse):
        return KaryRandomizer(channel)
    if isinstance(channel, ResponseMatrix):
        return MatrixRandomizer(channel)
    if isinstance(channel, BandResponse):
        return BandRandomizer(channel)
    if isinstance(channel, SetResponse):
        return SetRandomizer(channel)
    raise ParameterError(f"no randomizer is known for the mechanism {channel.mechanism}")


def row_blocks(n_rows: int) -> Iterator[slice]:
    """Yield consecutive slices of at most `BLOCK_ROWS` rows."""
    for start in range(0, n_rows, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, n_rows))


def choose(condition: BoolArray, chosen: Codes, otherwise: Codes) -> Codes:
    """Return `chosen` where the condition holds, else `otherwise`, without a branch per element.

    Both integer arrays have one type and shape. A random condition defeats the processor's branch prediction:
    masking with bits is several times as fast as `numpy.where` here.
    """
    mask = np.negative(condition.astype(chosen.dtype))
    mask &= chosen ^ otherwise
    mask ^= otherwise
    return mask


def _checked(codes: Codes, n_inputs: int) -> Codes:
    """Return the codes as a flat integer array, or count the rows that are out of range."""
    array = np.asarray(codes)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise ParameterError("codes must be a one-dimensional integer array")
    if array.size and (int(array.min()) < 0 or int(array.max()) >= n_inputs):
        outside = int(((array < 0) | (array >= n_inputs)).sum())
        raise ParameterError(
            f"{outside} of {array.size} codes are outside [0, {n_inputs})",
            "declare every category (missing too) in the public domain",
        )
    return array
