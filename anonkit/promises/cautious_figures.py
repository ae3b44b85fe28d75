# SPDX-License-Identifier: Apache-2.0
"""Figures in the sentences of a promise and of a budget: exact as requested, or rounded to the cautious side."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

_LARGEST_LOG = 700.0
"""Beyond its exponential there is no double."""


def times_words(epsilon: float) -> str:
    """Return e to the power of epsilon as text, never below what it is."""
    if epsilon > _LARGEST_LOG:
        return f"{_two_digits_up(Decimal(epsilon).exp()):.1e}"
    factor = math.exp(epsilon)
    return f"{math.ceil(factor * 100) / 100:,.2f}" if factor < 1e6 else rounded_up_words(factor)


def rounded_up_words(value: float) -> str:
    """Return a positive number with two digits and a power of ten, never below what it is."""
    return f"{float(_two_digits_up(Decimal(value * (1 - 1e-12)))):.1e}"


def _two_digits_up(value: Decimal) -> Decimal:
    digit = Decimal(10) ** (value.adjusted() - 1)
    return (value / digit).to_integral_value(ROUND_CEILING) * digit


def exact_words(value: float) -> str:
    """Return a required number without a power of ten: a rounded one could promise more."""
    text = f"{Decimal(repr(value)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact_percent(share: float) -> str:
    """Return a share as the percentage that it is."""
    text = f"{Decimal(repr(share)) * 100:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "%"


_DIGITS = 6
"""Significant digits of a loss in words."""


def loss_words(loss: float) -> str:
    """Return a loss that is spent or needed, or a delta, with six digits, never below what it is."""
    return _rounded(loss, ROUND_CEILING)


def allowance_words(loss: float) -> str:
    """Return a loss that is allowed or left with six digits, never above what it is."""
    return _rounded(loss, ROUND_FLOOR)


def _rounded(loss: float, direction: str) -> str:
    if math.isinf(loss):
        return "without bound"
    exact = Decimal(repr(loss))
    if not exact:
        return "0"
    digit = Decimal(10) ** (exact.adjusted() - _DIGITS + 1)
    return f"{float((exact / digit).to_integral_value(direction) * digit):.{_DIGITS}g}"
