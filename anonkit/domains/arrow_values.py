# SPDX-License-Identifier: Apache-2.0
"""Cells of Arrow columns as the values of codes: the ordered types, and look-up by value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.domains.array_types import BoolArray


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
    marks, held = np.packbits(present, bitorder="little"), np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(held.dtype), held.size, [pa.py_buffer(marks), pa.py_buffer(held)])


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
