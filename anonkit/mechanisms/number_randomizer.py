# SPDX-License-Identifier: Apache-2.0
"""The randomizer of transformed randomized response: a fresh multiplier and offset for every numeric cell.

What is known about the noise is the value `TransformedResponse` of `anonkit.published.channels`; what draws it is
here.

The quantile function of the normal distribution on arrays, which turns uniform variates into normal ones.

Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37(3), 1988: three quotients of polynomials, to 16 digits.
Importing scipy for this one function takes longer than releasing a small table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, FloatArray
from anonkit.errors import ParameterError
from anonkit.mechanisms.code_randomizers import KaryRandomizer, row_blocks
from anonkit.published.channels.transformed_response import ContinuousDraw, TransformedResponse
from anonkit.randomness import keyed_words

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
