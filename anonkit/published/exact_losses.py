# SPDX-License-Identifier: Apache-2.0
"""Exact conversion between a privacy loss ε and the integer weights of a mechanism.

A mechanism here owns `2**word_bits` equally likely words and gives each answer an integer number of them, so
every probability is a rational number and no claim rests on a float comparison.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from anonkit.errors import ParameterError

LARGEST_EPSILON = 40.0
"""Above this the truthful answer is certain for every purpose, and 64-bit words run out."""

_DIGITS = 90
_SLACK = Decimal(10) ** -60


WORD_BITS = (16, 32, 64)
"""Sizes of the random word that one answer uses."""

RATE_BITS = 52
"""Rates of central noise are published as integers in units of 2**-52 per integer step of what is noised."""


def check_word_bits(word_bits: int) -> None:
    """Refuse words of a size that no random word has."""
    if word_bits not in WORD_BITS:
        raise ParameterError(f"word_bits ({word_bits}) must be one of {list(WORD_BITS)}")


def check_epsilon(epsilon: object) -> float:
    """Return epsilon as a float, or say what it must be.

    Raises
    ------
    ParameterError
        When it is not a number in (0, 40].
    """
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)) or not 0 < epsilon <= LARGEST_EPSILON:
        raise ParameterError(
            f"epsilon ({epsilon}) must be in (0, {LARGEST_EPSILON:g}]", "0.5 to 4 per attribute is usual in the field"
        )
    return float(epsilon)


def check_probability(name: str, value: object, *, lowest: float = 0.0) -> Fraction:
    """Return a probability in (lowest, 1] as the exact rational of its float.

    Raises
    ------
    ParameterError
        When it is outside that range.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)) or not lowest < value <= 1:
        raise ParameterError(f"{name} ({value}) must be in ({lowest:g}, 1]")
    return Fraction(value)


@lru_cache(maxsize=1024)  # decimal exponentials are slow, and the same ones are needed again and again
def epsilon_ratio(epsilon: float) -> Fraction:
    """Return the largest multiple of 2**-64 that is not above e**epsilon.

    A likelihood ratio that stays at or below it keeps ε exactly, whatever the last bit of a float says.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        scaled = (Decimal(epsilon).exp() - _SLACK) * 2**64
        return Fraction(int(scaled.to_integral_value(rounding=ROUND_FLOOR)), 2**64)


@lru_cache(maxsize=1024)
def privacy_loss(ratio: Fraction | None) -> float:
    """Return the smallest float that is not below ln(ratio); None means an unbounded ratio.

    Returns
    -------
    float
        ε in [0, inf].
    """
    if ratio is None:
        return math.inf
    if ratio == 1:
        return 0.0
    with localcontext() as context:
        context.prec = _DIGITS
        loss = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln() + _SLACK
        nearest = float(loss)
        return nearest if Decimal(nearest) >= loss else math.nextafter(nearest, math.inf)


def worst_ratio(weights: Sequence[Sequence[int]]) -> Fraction | None:
    """Return the largest likelihood ratio of any answer under any two inputs, or None when it is unbounded.

    Parameters
    ----------
    weights : sequence of rows
        Row per input, column per answer: how many of the equally likely words give that answer. An answer no
        input gives says nothing and is passed over.
    """
    worst = Fraction(1)
    for column in zip(*weights, strict=True):
        top, bottom = max(column), min(column)
        if bottom == 0 and top > 0:
            return None
        if bottom:
            worst = max(worst, Fraction(top, bottom))
    return worst


def ceiling(value: Fraction) -> int:
    """Return the smallest integer that is not below a rational."""
    return -(-value.numerator // value.denominator)
