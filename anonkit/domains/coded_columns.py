# SPDX-License-Identifier: Apache-2.0
"""Columns as integer codes, the form on which every method computes.

Sensitive columns by their distinct values: strings folded, marks for a missing cell missing.

Cells of Arrow columns as the values of codes: the ordered types, and look-up by value.

Aliases of the array types used in the whole package; this is the lowest layer, so that all can import them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
"""Shares, probabilities, estimates, values of numeric columns (NaN: missing)."""
IntArray = NDArray[np.int64]
"""Counts, and codes that are computed with."""
BoolArray = NDArray[np.bool_]
"""Marks of rows, codes or classes."""
Codes = NDArray[np.integer[Any]]
"""Codes of a domain, in whatever integer type holds them."""


UNLABELLED = -1
"""Code of a row whose target is missing: it is released and counted, but guides nothing."""

_LARGEST = 2**62  # products of code sizes stay below it


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedColumn:
    """One column as codes into the list of its distinct values.

    Codes of an ordered (numeric) column ascend with the value. Missing, if it occurs, is the last code.
    """

    name: str
    codes: NDArray[np.int32]
    """Shape (n_rows,), each in [0, size)."""
    values: Sequence[object]
    """The distinct values in code order, length `size`: numbers when `ordered`, else strings; None for missing."""
    ordered: bool
    """True for numeric columns."""

    @property
    def size(self) -> int:
        """Number of distinct values, missing included."""
        return len(self.values)

    @property
    def missing(self) -> int | None:
        """The code of missing, or None when nothing is missing."""
        return self.size - 1 if self.size and self.values[-1] is None else None


def ranked(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Sort non-negative codes: return the rows in ascending order of code, and the codes in that order.

    Equal codes stay in row order. Code and row number are packed into one integer where they fit: sorting
    integers is several times faster than sorting an index.
    """
    bits = max(codes.size - 1, 1).bit_length()
    if codes.size and int(codes.max()) < _LARGEST >> bits:
        packed = (codes << bits) | np.arange(codes.size)
        packed.sort()
        return packed & ((1 << bits) - 1), packed >> bits
    order = np.argsort(codes, kind="stable")
    return order, codes[order]


def densify(codes: IntArray) -> tuple[IntArray, int]:
    """Renumber codes as 0..m-1 in ascending order of the old code, dropping the unused; return them and m.

    Linear time when the codes are not much larger than their number, a sort otherwise.
    """
    if codes.size == 0:
        return codes.astype(np.int64), 0
    top = int(codes.max()) + 1
    if top <= 8 * codes.size + 1024:
        used = np.zeros(top, dtype=bool)
        used[codes] = True
        number = np.cumsum(used) - 1
        return number[codes], int(number[-1]) + 1
    order, ascending = ranked(codes.astype(np.int64, copy=False))
    number = np.zeros(codes.size, dtype=np.int64)
    np.cumsum(ascending[1:] != ascending[:-1], out=number[1:])
    dense = np.empty(codes.size, dtype=np.int64)
    dense[order] = number
    return dense, int(number[-1]) + 1


def commonest(codes: IntArray, limit: int) -> tuple[IntArray, int]:
    """Renumber codes as 0..m-1 with m at most `limit`, the rarest of more as one; return them and m."""
    dense, m = densify(codes)
    if m <= limit:
        return dense, m
    place = np.empty(m, dtype=np.int64)
    place[np.argsort(-np.bincount(dense), kind="stable")] = np.arange(m)
    return np.minimum(place, limit - 1)[dense], limit


def distinct_in_groups(groups: IntArray, n_groups: int, values: IntArray) -> IntArray:
    """Count the distinct values of each group, shape (n_groups,).

    Parameters
    ----------
    groups : int64 array, shape (n_rows,)
        Group of each row, in [0, n_groups).
    values : int64 array, shape (n_rows,)
        Not negative.
    """
    width = int(values.max(initial=0)) + 1
    pairs, n_pairs = densify(groups * width + values)
    owner = np.empty(n_pairs, dtype=np.int64)
    owner[pairs] = groups
    return np.bincount(owner, minlength=n_groups)


def combine(columns: Sequence[NDArray[np.integer]], n_rows: int) -> tuple[IntArray, int]:
    """Return one dense code per distinct combination of several code columns, and their number.

    Codes ascend with the combination, first column first. Cost O(n_rows) a column and one renumbering.
    """
    widths = [int(codes.max(initial=0)) + 1 for codes in columns]
    key, top = np.zeros(n_rows, dtype=_narrowest(math.prod(widths))), 1
    for codes, width in zip(columns, widths, strict=True):
        if top * width >= _LARGEST:
            key, top = densify(key)
        key *= width
        key += codes.astype(key.dtype, copy=False)
        top *= width
    return densify(key)


def _narrowest(top: int) -> type[np.signedinteger[Any]]:
    """Return the integers that hold every key below `top`: half as wide, half as much memory to go through."""
    return np.int32 if top <= np.iinfo(np.int32).max else np.int64


def count_combinations(columns: Sequence[NDArray[np.int32]], n_rows: int) -> tuple[list[NDArray[np.int32]], IntArray]:
    """Count the distinct combinations of several code columns; which row has which is not kept.

    Returns
    -------
    codes : list of arrays, shape (n_combinations,)
        Each column's codes of the combinations, in ascending order of these, first column first.
    rows : int64 array, shape (n_combinations,)
        How many rows have each.

    Notes
    -----
    Sorting the packed combinations alone, and reading codes back out of them, is several times faster than numbering
    the rows and looking their codes up: no row number is carried along, and all memory is read in order.
    """
    widths = [int(codes.max(initial=0)) + 1 for codes in columns]
    top = math.prod(widths)
    if top >= _LARGEST:
        number, n_combinations = combine(columns, n_rows)
        example = np.empty(n_combinations, dtype=np.int64)
        example[number] = np.arange(n_rows)
        return [codes[example] for codes in columns], np.bincount(number, minlength=n_combinations)
    key = np.zeros(n_rows, dtype=_narrowest(top))
    for codes, width in zip(columns, widths, strict=True):
        key *= width
        key += codes.astype(key.dtype, copy=False)
    key.sort()
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1])[:n_rows])
    rows = np.diff(first, append=n_rows)
    left, out = key[first], []
    for codes, width in zip(columns[::-1], widths[::-1], strict=True):
        rest = left // width
        out.append((left - rest * width).astype(codes.dtype, copy=False))
        left = rest
    return out[::-1], rows


def folded_text(text: str) -> str:
    """Return a text as it is compared: NFKC, case folding, trimmed."""
    return normalize("NFKC", normalize("NFKC", text).casefold()).strip()


def folded_column(column: CodedColumn, no_values: Collection[str] | None) -> CodedColumn:
    """Return a column with one code for all spellings of a text, and the missing code for marks.

    Parameters
    ----------
    column : CodedColumn
        One of numbers, dates or truth values is returned as it is.
    no_values : collection of str
        Folded strings that are no value; None: strings are not folded either.

    Returns
    -------
    CodedColumn
        Its values are folded strings, ascending; missing is last.
    """
    if no_values is None or column.ordered or not any(isinstance(value, str) for value in column.values):
        return column
    folded = [None if value is None else folded_text(str(value)) for value in column.values]
    counted = [None if text is None or text in no_values else text for text in folded]
    values = sorted({text for text in counted if text is not None})
    listed: list[object] = [*values, *([None] if None in counted else [])]
    code_of = {value: code for code, value in enumerate(listed)}
    codes = np.array([code_of[text] for text in counted], dtype=np.int32)
    return replace(column, codes=codes[column.codes], values=listed)


def array_of(values: np.ndarray[Any, Any], present: BoolArray) -> pa.Array:
    """Return numbers as an Arrow array that is missing where they are not present; no number is copied.

    Packing the marks by numpy takes a tenth of what `pyarrow.array` with a mask does.

    Parameters
    ----------
    values : array of int or float, shape (n,)
        Values where nothing is present do not matter, but stay in memory.
    present : array of bool, shape (n,)
    """
    if present.all():
        return pa.array(values)
    marks, dense = np.packbits(present, bitorder="little"), np.ascontiguousarray(values)
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(dense.dtype), dense.size, [pa.py_buffer(marks), pa.py_buffer(dense)]
    )


def is_ordered(kind: pa.DataType) -> bool:
    """Return True if values of a type are cut at points: numbers, dates, timestamps, times of day; not categories."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_time(kind)
    )


def category_value(value: Any, ordered: bool) -> Any:
    """Return a cell as a code list holds it: numbers and dates as they are, everything else as text."""
    if ordered or value is None or isinstance(value, str):
        return float(value) if type(value).__name__ == "Decimal" else value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def recode_array(
    array: pa.Array, codes_of: Mapping[Any, int], default: int, ordered: bool
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the code of every cell by value, `default` for values without one, shape (len(array),)."""
    encoded = array if isinstance(array, pa.DictionaryArray) else pc.dictionary_encode(array)
    local = [codes_of.get(category_value(value, ordered), default) for value in encoded.dictionary.to_pylist()]
    lookup = np.array([*local, codes_of.get(None, default)], dtype=np.int64)
    indices: np.ndarray[Any, Any] = pc.fill_null(encoded.indices, len(local)).to_numpy(zero_copy_only=False)
    codes: np.ndarray[Any, np.dtype[np.int64]] = lookup[indices.astype(np.int64)]
    return codes
