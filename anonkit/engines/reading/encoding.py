# SPDX-License-Identifier: Apache-2.0
"""From Arrow columns to integer codes, batch by batch: only codes and distinct values stay in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.arrow_values import category_value, is_ordered
from anonkit.domains.cell_keys import cell_texts
from anonkit.domains.coded_columns import CodedColumn
from anonkit.engines.reading.categories import MISSING, CategoryNumbering
from anonkit.engines.reading.failures import shielded
from anonkit.errors import SourceError


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded:
    """A column as codes into its distinct values."""

    codes: NDArray[np.int32]
    """Shape (n_rows,); missing cells have the code `len(values)`."""
    values: pa.Array
    """The distinct values: ascending, or in category order for a dictionary column; no null among them."""


class _PlainEncoder:
    """Codes a column without categories: every batch by itself, then all batches against the merged values."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._indices: list[NDArray[np.int32]] = []
        self._source: list[int] = []  # for each batch, the number of its values
        self._values: list[pa.Array] = []

    def look(self, array: pa.Array) -> None:
        local = array if isinstance(array, pa.DictionaryArray) else pc.dictionary_encode(array)
        self._indices.append(pc.fill_null(local.indices, MISSING).to_numpy(zero_copy_only=False))
        if not self._values or not local.dictionary.equals(self._values[-1]):
            self._values.append(local.dictionary)
        self._source.append(len(self._values) - 1)

    def result(self) -> Encoded:
        merged = pc.dictionary_encode(pa.chunked_array(self._values, self._kind).combine_chunks())
        order = pc.sort_indices(merged.dictionary).to_numpy(zero_copy_only=False)
        rank = np.empty(order.size + 1, dtype=np.int32)
        rank[order] = np.arange(order.size, dtype=np.int32)
        rank[-1] = order.size
        codes_of = rank[merged.indices.to_numpy(zero_copy_only=False)]
        ends = np.cumsum([len(values) for values in self._values])
        lookups = [np.append(part, rank[-1]) for part in np.split(codes_of, ends[:-1])]  # -1, missing, is the last
        codes = np.empty(sum(part.size for part in self._indices), dtype=np.int32)
        row = 0
        for part, source in zip(self._indices, self._source, strict=True):
            np.take(lookups[source], part, out=codes[row : row + part.size], mode="wrap")
            row += part.size
        return Encoded(codes=codes, values=merged.dictionary.take(pa.array(order)))


class _CategoryEncoder:
    """Codes a dictionary column in the order of its categories."""

    def __init__(self) -> None:
        self._categories = CategoryNumbering()
        self._numbers: list[NDArray[np.int32]] = []

    def look(self, array: pa.DictionaryArray) -> None:
        self._numbers.append(self._categories.look(array))

    def result(self) -> Encoded:
        numbers = np.concatenate(self._numbers) if self._numbers else np.zeros(0, dtype=np.int32)
        values = pa.array(self._categories.values, pa.string())
        return Encoded(codes=self._categories.codes[numbers], values=values)


def encode(batches: Iterable[pa.RecordBatch], fields: Sequence[pa.Field]) -> list[Encoded]:
    """Code the columns of batches that hold these fields, in this order; text columns may come folded."""
    encoders = [
        _CategoryEncoder() if pa.types.is_dictionary(field.type) else _PlainEncoder(field.type) for field in fields
    ]
    for batch in batches:
        for at, encoder in enumerate(encoders):
            encoder.look(batch.column(at))
    return [encoder.result() for encoder in encoders]


def coded_column(name: str, kind: pa.DataType, encoded: Encoded) -> CodedColumn:
    """Return codes with the Python values they mean: numbers and dates as they are, all else as strings.

    Raises
    ------
    SourceError
        Two values differ only where Python's numbers, dates and times do not, or a date is out of their range.
    """
    ordered = is_ordered(kind)
    values = shielded(lambda: _python_values(encoded.values, ordered), lambda _: _unfit(name))
    if not _is_exact(kind) and len(set(values)) != len(values):
        raise _unfit(name)
    has_missing = bool((encoded.codes == len(values)).any())
    return CodedColumn(name=name, codes=encoded.codes, values=[*values, *([None] * has_missing)], ordered=ordered)


def _python_values(values: pa.Array, ordered: bool) -> list[Any]:
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        numbers: list[Any] = values.to_numpy(zero_copy_only=False).tolist()  # many times as fast as cell by cell
        return numbers
    values = _coarsest(values)
    if pa.types.is_time(values.type) and values.type.unit == "ns":
        texts: list[Any] = cell_texts(values).to_pylist()  # Python's times of day end at microseconds
        return texts
    cells: list[Any] = values.to_pylist()
    python = [category_value(value, ordered) for value in cells]
    if pa.types.is_decimal(values.type) and any(
        Decimal(repr(number)) != cell for number, cell in zip(python, cells, strict=True)
    ):
        return cells  # more digits than floats distinguish
    return python


def _coarsest(values: pa.Array) -> pa.Array:
    """Return times in microseconds, as Python has them; in nanoseconds where a value is finer."""
    kind = values.type
    if pa.types.is_timestamp(kind):
        coarse = pa.timestamp("us", kind.tz)
    elif pa.types.is_duration(kind):
        coarse = pa.duration("us")
    elif pa.types.is_time64(kind):
        coarse = pa.time64("us")
    else:
        return values
    if kind.unit == "ns" and (values.cast(pa.int64()).to_numpy() % 1_000).any():
        return values
    return values.cast(coarse)


def _unfit(name: str) -> SourceError:
    return SourceError(
        f"column {name!r} holds values finer or farther than Python's numbers, dates and times reach",
        'round them to 15 digits, to the years 1 to 9999; type = "datetime" tells hours',
    )


def _is_exact(kind: pa.DataType) -> bool:
    """Return True if a type is one whose distinct values are distinct in Python too."""
    return not (pa.types.is_decimal(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind))
