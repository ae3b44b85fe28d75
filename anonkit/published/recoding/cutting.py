# SPDX-License-Identifier: Apache-2.0
"""Exact comparison of cells with a cut point: integers, decimals and times are never converted to floats."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.interval_ends import Point, exact, place

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9


def parts_of(array: pa.Array, cuts: Sequence[Point]) -> NDArray[np.int64]:
    """Return how many cuts are not above each cell, shape (len(array),); -1 where a cell is missing.

    Parameters
    ----------
    array : Array
        Numbers, dates, times of day or timestamps. A timestamp without a zone is taken for UTC where cuts have one,
        and the reverse.
    cuts : sequence of Point
        Ascending. A float beside decimals and integers is the decimal it is written as; beside floats every cut
        is the float nearest to it, as when the text of a label is read.
    """
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_floating(kind):
        thresholds = np.array([float(place(cut)) for cut in cuts], dtype=np.float64)
        numbers = pc.fill_null(array, math.nan).to_numpy(zero_copy_only=False).astype(np.float64)
        parts = np.searchsorted(thresholds, numbers, side="right")
    elif pa.types.is_decimal(kind):
        parts = _decimal_parts(array, [exact(_number(cut)) for cut in cuts])
    else:
        whole, scale = _whole_numbers(array)
        steps = [math.ceil(_fraction(cut) / scale) for cut in cuts]
        bounds = np.iinfo(whole.dtype)
        below = sum(step <= bounds.min for step in steps)
        inside = np.array([step for step in steps if bounds.min < step <= bounds.max], dtype=whole.dtype)
        parts = below + np.searchsorted(inside, whole, side="right")
    return np.where(array.is_valid().to_numpy(zero_copy_only=False), parts, -1).astype(np.int64)


def _whole_numbers(array: pa.Array) -> tuple[NDArray[np.integer], Fraction]:
    """Return cells as integers, 0 where missing, and what one of them is worth: 1, or its nanoseconds."""
    kind = array.type
    scale = Fraction(1)
    if pa.types.is_timestamp(kind):
        array, scale = array.cast(pa.int64()), Fraction(_NANOSECONDS[kind.unit])
    elif pa.types.is_date(kind):
        array, scale = array.cast(pa.date32()).cast(pa.int32()), Fraction(_DAY)
    elif pa.types.is_time(kind):
        array, scale = array.cast(pa.time64("ns")).cast(pa.int64()), Fraction(1)
    return pc.fill_null(array, 0).to_numpy(zero_copy_only=False), scale


def _fraction(cut: Point) -> Fraction:
    """Return a cut exactly: dates and timestamps in nanoseconds."""
    if isinstance(cut, int | float | Decimal):
        return Fraction(exact(cut))
    return Fraction(place(cut)) * 1000


def _number(cut: Point) -> int | float | Decimal:
    if isinstance(cut, int | float | Decimal):
        return cut
    raise TypeError("a number cannot be cut at a date")


def _decimal_parts(array: pa.Array, cuts: Sequence[Decimal]) -> NDArray[np.int64]:
    encoded = pc.dictionary_encode(array)
    lookup = np.array([*(bisect_right(cuts, value) for value in encoded.dictionary.to_pylist()), -1], dtype=np.int64)
    at: NDArray[np.int32] = pc.fill_null(encoded.indices, lookup.size - 1).to_numpy(zero_copy_only=False)
    return lookup.take(at)
