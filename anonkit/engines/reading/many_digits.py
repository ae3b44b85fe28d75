# SPDX-License-Identifier: Apache-2.0
"""Decimal numbers of more digits than a double keeps, in text and JSON files: read as exact decimals of Parquet.

Seventeen significant digits survive a double and back. A column with a cell of more is one of decimals of 38 digits.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

_KEPT = 17
_DIGITS = 38  # of a decimal of Parquet
_SHORTEST = _KEPT + 1  # characters of a number with a point, at most, that a double keeps whatever its digits are


def has_many_digits(texts: pa.StringArray) -> bool:
    """Return True if one of some plain numbers has more significant digits than a double keeps."""
    long = texts.filter(pc.greater(pc.binary_length(texts), _SHORTEST))
    if not len(long):
        return False
    figures = pc.replace_substring_regex(long, r"[eE].*$|[^0-9eE]", "")
    longest = pc.max(pc.binary_length(pc.utf8_trim(figures, "0"))).as_py()
    return longest is not None and longest > _KEPT


def as_decimals(texts: pa.StringArray, scale: int = 0) -> pa.Array | None:
    """Return numbers as exact decimals; None where they have more than 38 digits together, or one is no number.

    Parameters
    ----------
    scale : int
        Digits behind the point that they have at least.
    """
    plain = _written_out(pc.utf8_trim_whitespace(texts))
    if plain is None:
        return None
    fractions = pc.utf8_rtrim(pc.replace_substring_regex(plain, r"^[^.]*\.?", ""), "0")
    scale = max(scale, pc.max(pc.binary_length(fractions)).as_py() or 0)
    if scale > _DIGITS:
        return None
    try:
        return plain.cast(pa.decimal128(_DIGITS, scale))
    except pa.ArrowInvalid:
        return None


def _written_out(texts: pa.StringArray) -> pa.StringArray | None:
    """Return numbers without exponents; None where one of them would have more digits than a decimal."""
    if not pc.any(pc.match_substring_regex(texts, "[eE]")).as_py():
        return texts
    coded = pc.dictionary_encode(texts)
    try:
        values = [Decimal(text) for text in coded.dictionary.to_pylist()]
    except InvalidOperation:
        return None
    if any(abs(value.adjusted()) > _DIGITS for value in values):
        return None
    return pa.array([f"{value:f}" for value in values], pa.string()).take(coded.indices)
