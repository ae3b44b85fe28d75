# SPDX-License-Identifier: Apache-2.0
"""The exact decimal that a string spells, or else the string itself, whatever the other cells hold.

A column's type is a guess over all its rows, so that one more row could change what every other row means. Here a text
that reads as a number is its exact decimal, so that `12`, `12.0`, ` 12`, `1.2e1` and `012` are one; everything else is
its text without blanks at the ends. No float is involved: 2**53 + 1 is not 2**53.
"""

from __future__ import annotations

import re
import unicodedata

_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?)([0-9]+))?")
_EXPONENT_DIGITS = 18
"""An exponent of more digits makes no number: nobody means it, and its arithmetic would never end."""
_WRITTEN_OUT = 40
"""Decimals of so many digits before or behind the point are written out, others with an exponent."""


def plain_text(text: str) -> str:
    """Return a text without blanks at the ends, in compatibility form, digits of every script as 0 to 9."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
    return text.strip()


def composed_text(text: str) -> str:
    """Return a text without blanks at the ends, its letters composed (NFC)."""
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).strip()


def exact_decimal(text: str) -> str | None:
    """Return the exact decimal that a text spells, in its one form; None for a text that is no number.

    A number is digits with at most one point, perhaps a sign and an exponent. Words (`nan`, `inf`), other bases
    (`0x1F`), separators (`1,000`, `1_000`) and exponents of more than 18 digits make a text. The exponent is never
    multiplied out: the length of the result is bounded by the length of the text and 40 more digits.

    >>> [exact_decimal(text) for text in ("12.0", " 1.2e1", "012", "-0", "1e999999999", "0x1F")]
    ['12', '12', '12', '0', '1e999999999', None]
    """
    match = _NUMBER.fullmatch(plain_text(text))
    if match is None or not (match[2] or match[3]):
        return None
    fraction = match[3] or ""
    digits = (match[2] + fraction).lstrip("0")
    if not digits:
        return "0"
    power = (match[5] or "0").lstrip("0") or "0"
    if len(power) > _EXPONENT_DIGITS:
        return None
    kept = digits.rstrip("0")
    exponent = int((match[4] or "") + power) - len(fraction) + len(digits) - len(kept)
    return ("-" if match[1] == "-" else "") + _written(kept, exponent)


def _written(digits: str, exponent: int) -> str:
    """Return digits times a power of ten; digits begin and end with another digit than 0."""
    if 0 <= exponent <= _WRITTEN_OUT:
        return digits + "0" * exponent
    if -_WRITTEN_OUT <= exponent < 0:
        padded = digits.zfill(1 - exponent)
        return f"{padded[:exponent]}.{padded[exponent:]}"
    return f"{digits}e{exponent}"


def key_of_text(text: str) -> str | None:
    """Return the key of a text: its exact decimal, else the text without blanks at the ends; None when none is left."""
    return exact_decimal(text) or plain_text(text) or None


def number_of_text(text: str) -> float | None:
    """Return the number that a text spells, rounded once to the nearest double; None for a text that is no number."""
    decimal = exact_decimal(text)
    return None if decimal is None else float(decimal)
