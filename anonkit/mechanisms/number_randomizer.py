# SPDX-License-Identifier: Apache-2.0
"""The randomizer of transformed randomized response: a fresh multiplier and offset for every numeric cell.

What is known about the noise is the value `TransformedResponse` of `anonkit.published.channels`; what draws it is
here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import BoolArray, FloatArray
from anonkit.errors import ParameterError
from anonkit.mechanisms.code_randomizers import KaryRandomizer, row_blocks
from anonkit.mechanisms.normal_quantile import normal_quantile
from anonkit.published.channels.transformed_response import ContinuousDraw, TransformedResponse
from anonkit.randomness import keyed_words

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
            return np.asarray(drawn(a, words[:, 0]) * away + scale * drawn(b, words[:, 1]))
        spread = away * away
        spread *= a.variance
        spread += scale**2 * b.variance
        np.sqrt(spread, out=spread)
        spread *= _normals(words[:, 0])
        spread += a.mean * away
        return spread


def drawn(draw: ContinuousDraw, words: NDArray[np.uint64]) -> FloatArray:
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
