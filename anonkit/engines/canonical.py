# SPDX-License-Identifier: Apache-2.0
"""Canonical values before counting: what makes two cells equal, whatever file or engine they came from.

NaN is missing, -0.0 is 0.0, one string type, one dictionary type; nested and binary columns are refused.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.errors import SourceError
from anonkit.policy import ColumnType

_LEADING_ZERO = r"^-?0[0-9]"
_NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

ARROW_TYPES = {
    ColumnType.STRING: pa.string(),
    ColumnType.INTEGER: pa.int64(),
    ColumnType.NUMBER: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
}


def canonical_type(name: str, given: pa.DataType) -> pa.DataType:
    """Return the type a column has inside anonkit.

    Raises
    ------
    SourceError
        The column is nested or binary.
    """
    if pa.types.is_dictionary(given):
        return pa.dictionary(pa.int32(), canonical_type(name, given.value_type), ordered=given.ordered)
    if pa.types.is_large_string(given) or pa.types.is_string_view(given):
        return pa.string()
    if pa.types.is_nested(given) or _is_binary(given):
        raise SourceError(
            f"column {name!r} holds nested or binary values", "flatten it, or leave it out before the release"
        )
    return given


def _is_binary(given: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(given)
        or pa.types.is_large_binary(given)
        or pa.types.is_fixed_size_binary(given)
        or pa.types.is_binary_view(given)
    )


def canonical_array(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the values of one column in canonical form."""
    if array.type != target:
        array = array.cast(target)
    if pa.types.is_floating(target):
        if pa.types.is_float16(target):
            values = array.cast(pa.float32())
            return pc.if_else(pc.is_nan(values), None, pc.add(values, np.float32(0))).cast(target)
        return pc.if_else(pc.is_nan(array), None, pc.add(array, pa.scalar(0.0, target)))
    return array


class TypeGuess:
    """What a text column could be, narrowed batch by batch: integer, number, date, else string."""

    __slots__ = ("_candidates", "_seen")

    def __init__(self) -> None:
        self._candidates = [ColumnType.INTEGER, ColumnType.NUMBER, ColumnType.DATE]
        self._seen = False

    def look(self, texts: pa.Array) -> None:
        """Drop the types that one of these texts cannot be. Codes such as 01234 stay strings."""
        if not self._candidates or texts.null_count == len(texts):
            return
        self._seen = True
        self._candidates = [kind for kind in self._candidates if _fits(texts, kind)]

    @property
    def type(self) -> ColumnType:
        """The narrowest type all texts fit; string for a column without values."""
        return self._candidates[0] if self._seen and self._candidates else ColumnType.STRING


def _fits(texts: pa.Array, kind: ColumnType) -> bool:
    first = next((text.as_py() for text in texts if text.is_valid), "")
    if not re.match(_DATE if kind is ColumnType.DATE else _NUMBER, first):
        return False  # most text columns are told by their first value
    try:
        values = texts.cast(ARROW_TYPES[kind])
    except pa.ArrowInvalid:
        return False
    if kind is ColumnType.DATE:
        return _all(pc.match_substring_regex(texts, _DATE))
    if _any(pc.match_substring_regex(texts, _LEADING_ZERO)):
        return False
    return kind is ColumnType.INTEGER or (_all(pc.is_finite(values)) and _all(pc.match_substring_regex(texts, _NUMBER)))


def _all(flags: pa.Array) -> bool:
    return pc.all(flags).as_py() is not False


def _any(flags: pa.Array) -> bool:
    return pc.any(flags).as_py() is True


def parse_texts(name: str, texts: pa.Array, kind: ColumnType) -> pa.Array:
    """Return text cells as values of a declared or guessed type.

    Raises
    ------
    SourceError
        A cell is not of that type; the message counts, it does not quote.
    """
    try:
        return canonical_array(texts.cast(ARROW_TYPES[kind]), ARROW_TYPES[kind])
    except pa.ArrowInvalid:
        raise SourceError(
            f"column {name!r} holds cells that are not of type {kind}",
            "correct them, list the text in missing_values, or declare type = \"string\"",
        ) from None
