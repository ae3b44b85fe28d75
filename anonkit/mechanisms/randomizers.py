# SPDX-License-Identifier: Apache-2.0
"""Randomizers of local mechanisms: answers to codes and to numbers drawn from a row's random words.

What is known about an answer is a value of `anonkit.published.channels`, which a receiver reads and inverts; what draws
the answer is in this module and is needed by the owner alone. Where a record spends its epsilon on a single answer, the
one attribute that it answers is chosen here too.

*Codes* are answered according to the response matrix. A randomizer is made once for a channel and keeps the tables it
looks words up in. Each answer is a function of one word: `tests/privacy/test_local_mechanisms.py` tries every word and
counts the response matrix. Unequal weights are sampled exactly from one word by the alias method on integer word counts
(Walker, ACM Transactions on Mathematical Software 3(3), 1977): the words are cut into equal columns; each column holds
at most two outcomes, so that one look-up and one comparison find the answer however many there are.

*Numbers* are answered by transformed randomized response: a fresh multiplier and offset for every cell. Uniform
variates become normal ones by the quantile function of the normal distribution on arrays (Wichura, Algorithm AS 241,
PPND16, Applied Statistics 37(3), 1988): three quotients of polynomials, to 16 digits. Importing scipy for this one
function takes longer than releasing a small table.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, Codes, FloatArray, IntArray
from anonkit.errors import ParameterError
from anonkit.published.channels.category_channels import RandomizedResponse, SetResponse
from anonkit.published.channels.number_channels import BandResponse, ContinuousDraw, TransformedResponse
from anonkit.published.channels.response_channel import Channel, ResponseMatrix
from anonkit.randomness import KeyedWords, keyed_words, word_type

ANSWERED_STREAM = 2**32 - 2
"""Stream of the noise key for the choice of attributes; no attribute has it: attribute i has stream i."""


def answered_attribute(key: bytes, stream: int, first_row: int, n_rows: int, n_attributes: int) -> IntArray:
    """Return the one attribute each row answers, uniform in [0, n_attributes), shape (n_rows,).

    The choice is a function of key and row number only, never of the data, so it may be published and costs no
    privacy loss: a record then answers one attribute with the whole ε instead of every attribute with a share.
    """
    if n_attributes < 1:
        raise ParameterError(f"n_attributes ({n_attributes}) must be at least 1")
    words = keyed_words(key, stream, first_row, n_rows, word_bits=64).reshape(-1)
    # (high 32 bits × n) >> 32: off by at most n / 2**32 from uniform, which the data has no part in
    return (((words >> np.uint64(32)) * np.uint64(n_attributes)) >> np.uint64(32)).astype(np.int64)


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


# each: numerator, denominator, highest power first
_MIDDLE = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
)  # fmt: skip
_OUTER = (
    (7.7454501427834140764e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
     3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0),
    (1.05075007164441684324e-9, 5.4759380849953449460e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0),
)  # fmt: skip
_FAR = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
)  # fmt: skip


def normal_quantile(uniform: FloatArray) -> FloatArray:
    """Return the standard normal numbers below which a share of the distribution lies, shape (n,).

    Parameters
    ----------
    uniform : array of float, shape (n,)
        Shares, each in (0, 1).

    Returns
    -------
    array of float, shape (n,)
        Within a relative error of about 1e-16.
    """
    around = uniform - 0.5
    square = around * around
    np.subtract(0.180625, square, out=square)
    out = _quotient(square, _MIDDLE)
    out *= around
    ends = np.flatnonzero(square < 0)  # farther than 0.425 from the middle: 15 in 100
    out[ends] = np.copysign(_tail(np.minimum(uniform[ends], 1 - uniform[ends])), around[ends])
    return out


def _tail(share: FloatArray) -> FloatArray:
    """Return the distance from 0 beyond which a share below 0.075 lies."""
    root = np.sqrt(-np.log(share))
    out = _quotient(root - 1.6, _OUTER)
    far = np.flatnonzero(root > 5)
    out[far] = _quotient(root[far] - 5, _FAR)
    return out


def _quotient(at: FloatArray, polynomials: tuple[Sequence[float], Sequence[float]]) -> FloatArray:
    above, below = (_polynomial(at, coefficients) for coefficients in polynomials)
    above /= below
    return above


def _polynomial(at: FloatArray, coefficients: Sequence[float]) -> FloatArray:
    """Return a polynomial's values by Horner's rule, in place."""
    out = at * coefficients[0]
    out += coefficients[1]
    for coefficient in coefficients[2:]:
        out *= at
        out += coefficient
    return out


_WORD_BITS = 64


@dataclass(frozen=True, eq=False)
class NumberRandomizer:
    """Draws what is published for numbers.

    Privacy
    -------
    No formal guarantee: see `NO_GUARANTEE` of the response. A missing value is hidden by its randomized presence bit.
    """

    response: TransformedResponse

    def randomize(self, values: FloatArray, *, key: bytes, stream: int, first_row: int = 0) -> FloatArray:
        """Randomize a batch: a pure function of (key, stream, row number, value).

        Parameters
        ----------
        values : array of float, shape (n,)
            NaN is missing.
        key, stream, first_row
            As in `keyed_words`.

        Returns
        -------
        array of float, shape (n,)
            Multiples of `step`; NaN where the presence bit says missing.

        Raises
        ------
        ParameterError
            When values are missing and there is no presence bit; the message counts them.
        """
        response, numbers = self.response, np.asarray(values, dtype=np.float64)
        if response.is_unperturbed:
            return numbers.copy()
        absent = np.isnan(numbers)
        if response.presence is None and absent.any():
            raise ParameterError(
                f"{int(absent.sum())} of {numbers.size} values are missing but there is no presence bit",
                "declare that values may be missing: absence is then randomized too",
            )
        out = np.empty(numbers.shape)
        # words per row follow from the parameters, never from a value: any row can be drawn alone
        draws = (1 if self._is_normal else 2) + (response.presence is not None)
        for rows in row_blocks(numbers.size):
            size = rows.stop - rows.start
            words = keyed_words(key, stream, first_row + rows.start, size, word_bits=_WORD_BITS, per_row=draws)
            out[rows] = self._published(numbers[rows], absent[rows], words.astype(np.uint64, copy=False))
        return out

    def _published(self, numbers: FloatArray, absent: BoolArray, words: NDArray[np.uint64]) -> FloatArray:
        response = self.response
        away = np.where(absent, response.centre, numbers)
        if response.bounds is not None:
            np.clip(away, *response.bounds, out=away)
        away -= response.centre
        answers = self._noisy(away, words)
        answers += response.centre
        # onto the published grid: the last bits of a float sum could identify the true value (Mironov, CCS 2012)
        answers /= response.step
        np.rint(answers, out=answers)
        answers *= response.step
        if self._presence is not None:
            bits = self._presence.channel.word_bits
            bit_words = (words[:, -1] >> np.uint64(_WORD_BITS - bits)).astype(f"uint{bits}")
            answers[self._presence.answer(absent.astype(np.uint8), bit_words) == 1] = np.nan
        return answers

    @cached_property
    def _presence(self) -> KaryRandomizer | None:
        return None if self.response.presence is None else KaryRandomizer(self.response.presence)

    @property
    def _is_normal(self) -> bool:
        """True when `a x' + scale · b` is a normal number for every x'."""
        draws = (self.response.multiplier, self.response.offset)
        return all(draw.shape == "normal" or draw.variance == 0 for draw in draws)

    def _noisy(self, away: FloatArray, words: NDArray[np.uint64]) -> FloatArray:
        """Return `a x' + scale · b` for distances x' from the centre.

        The sum of normal a and b is one normal number whose variance is S_a² x'² + scale² S_b²: one draw has exactly
        the distribution of two.
        """
        a, b, scale = self.response.multiplier, self.response.offset, self.response.scale
        if not self._is_normal:
            return np.asarray(samples_of(a, words[:, 0]) * away + scale * samples_of(b, words[:, 1]))
        spread = away * away
        spread *= a.variance
        spread += scale**2 * b.variance
        np.sqrt(spread, out=spread)
        spread *= _normals(words[:, 0])
        spread += a.mean * away
        return spread


def samples_of(draw: ContinuousDraw, words: NDArray[np.uint64]) -> FloatArray:
    """Turn uniform 64-bit words into draws from a distribution, one each."""
    if draw.variance == 0:
        return np.full(words.shape, draw.mean)
    if draw.shape == "uniform":
        return np.asarray(draw.mean + math.sqrt(12 * draw.variance) * (_uniforms(words) - 0.5))
    return np.asarray(draw.mean + math.sqrt(draw.variance) * _normals(words))


def _uniforms(words: NDArray[np.uint64]) -> FloatArray:
    """Turn 64-bit words into uniform numbers in (0, 1): 52 bits and a half are exact in a float, never 0 or 1."""
    uniform = (words >> np.uint64(12)).astype(np.float64)
    uniform += 0.5
    uniform *= 2.0**-52
    return uniform


def _normals(words: NDArray[np.uint64]) -> FloatArray:
    """Turn 64-bit words into standard normal numbers, one each."""
    return normal_quantile(_uniforms(words))
