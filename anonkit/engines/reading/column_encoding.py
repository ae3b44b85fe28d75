# SPDX-License-Identifier: Apache-2.0
"""Columns in the form that is counted: canonical values, categories in one order, and integer codes.

There is one rule of equality for every file format and engine. NaN is missing, -0.0 is 0.0, one string type, one
dictionary type. A canonical type is one that Parquet gives back as it was written, so that types survive the whole way;
nested and binary columns are refused.

Columns become integer codes batch by batch: only codes and distinct values stay in memory. The categories of a
dictionary column have one order over all its batches, without those that do not occur.

Tables in memory whose cells differential privacy reads one by one have the strings of declared categories as dictionary
indices, and declared numbers as numbers: read once, used often. No cell means anything else: a string that is none of
the categories is in the dictionary too, and a column that holds anything but plain numbers stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.cell_values import cell_texts, plain_floats
from anonkit.domains.coded_columns import CodedColumn, array_of, category_value, is_ordered
from anonkit.engines.reading.failures import shielded
from anonkit.errors import SourceError
from anonkit.policy.declaration import Policy
from anonkit.policy.declared_cells import CategoryCells, NumberCells, declared_cells

_MAX_DECIMAL_DIGITS = 38


def canonical_type(name: str, given: pa.DataType) -> pa.DataType:
    """Return the type a column has inside anonkit.

    Dictionaries of strings stay dictionaries, in category order; dictionaries of anything else become plain
    columns, as in Parquet. A column of type null is a string column of missing cells.

    Raises
    ------
    SourceError
        The column is nested, binary, or of a type Parquet does not have.
    """
    if isinstance(given, pa.BaseExtensionType):
        given = given.storage_type if _is_text(given.storage_type) else given
    if pa.types.is_dictionary(given):
        values = canonical_type(name, given.value_type)
        return pa.dictionary(pa.int32(), values, ordered=given.ordered) if pa.types.is_string(values) else values
    if pa.types.is_null(given) or _is_text(given):
        return pa.string()
    if pa.types.is_float16(given):
        return pa.float32()
    if pa.types.is_date(given):
        return pa.date32()
    if pa.types.is_timestamp(given) and given.unit == "s":
        return pa.timestamp("ms", given.tz)
    if pa.types.is_time(given) and given.unit == "s":
        return pa.time32("ms")
    if pa.types.is_duration(given):
        return given if given.unit == "ns" else pa.duration("us")
    if pa.types.is_decimal(given):
        scale = max(given.scale, 0)  # Parquet has no scales below 0
        digits = given.precision + scale - given.scale
        if digits <= _MAX_DECIMAL_DIGITS:
            return pa.decimal128(digits, scale)
    if _is_plain(given):
        return given
    raise SourceError(f"column {name!r} holds values of type {_kind(given)}", _advice(given))


_AS_TEXT = {
    "arrow.uuid": "str() of each value",
    "pandas.interval": 'frame["…"].astype(str)',
    "pandas.period": 'frame["…"].astype(str), or frame["…"].dt.to_timestamp() for dates',
}
"""Strings for the values of extension types that people meet, by the name of the type."""


def _is_text(given: pa.DataType) -> bool:
    return bool(pa.types.is_string(given) or pa.types.is_large_string(given) or pa.types.is_string_view(given))


def _is_plain(given: pa.DataType) -> bool:
    return bool(
        pa.types.is_boolean(given)
        or pa.types.is_integer(given)
        or pa.types.is_floating(given)
        or pa.types.is_timestamp(given)
        or pa.types.is_time(given)
    )


def _kind(given: pa.DataType) -> str:
    """Name a type without its parameters: field names of a struct are data in some tables."""
    if pa.types.is_nested(given):
        return "list, struct or map"
    if isinstance(given, pa.BaseExtensionType):
        return given.extension_name if given.extension_name in _AS_TEXT else "extension"
    return str(given).split("[")[0].split("(")[0]


def _advice(given: pa.DataType) -> str:
    """Return the remedy for a column whose type is refused."""
    if pa.types.is_decimal(given):
        return f"cast it to decimal128 of up to {_MAX_DECIMAL_DIGITS} digits, or to float64"
    if pa.types.is_interval(given):
        return "cast it to a duration, or to whole numbers of months or days"
    name = given.extension_name if isinstance(given, pa.BaseExtensionType) else ""
    if name in _AS_TEXT:
        return f"cast it to text: {_AS_TEXT[name]}"
    return "flatten or convert it, or leave it out of the table"


def canonical_schema(given: pa.Schema) -> pa.Schema:
    """Return names and canonical types: no metadata, every column nullable."""
    return pa.schema([(field.name, canonical_type(field.name, field.type)) for field in given])


def canonical_batches(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, safe: bool = True
) -> Iterator[pa.RecordBatch]:
    """Bring batches with the columns of a schema, in its order, into canonical form; see `canonical_array`."""
    for batch in batches:
        arrays = [canonical_array(f.name, batch.column(at), f.type, safe=safe) for at, f in enumerate(schema)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def canonical_array(name: str, array: pa.Array, target: pa.DataType, *, safe: bool = True) -> pa.Array:
    """Return the values of one column in canonical form.

    Parameters
    ----------
    safe : bool
        Refuse cells that lose something. Where no cell may decide between a release and a refusal each is cut off by
        itself instead: a date loses its time of day.

    Raises
    ------
    SourceError
        A cell is not of its declared type: text that is not UTF-8, a date with a time of day.
    """

    def explain(error: Exception) -> SourceError:
        return SourceError(f"column {name!r} holds cells that are not of type {_kind(target)}", "repair the table")

    return shielded(lambda: _canonical(array, target, safe), explain)


def _canonical(array: pa.Array, target: pa.DataType, safe: bool) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    # strings from files and other libraries need not be UTF-8; a day with a time of day is one cell's matter
    array.validate(full=safe or not pa.types.is_temporal(array.type))
    if isinstance(array, pa.DictionaryArray):
        if pa.types.is_dictionary(target):
            return _canonical_dictionary(array, target)
        array = array.dictionary_decode()
    elif pa.types.is_dictionary(target):
        array = pc.dictionary_encode(_cast(array, target.value_type, safe))
    if array.type != target:
        array = _cast(array, target, safe)
    if pa.types.is_floating(target):
        return pc.if_else(pc.is_nan(array), None, pc.add(array, pa.scalar(0.0, target)))  # -0.0 + 0.0 = 0.0
    return array


def _cast(array: pa.Array, target: pa.DataType, safe: bool) -> pa.Array:
    spelled = pa.types.is_string(target) and not (_is_text(array.type) or pa.types.is_null(array.type))
    return cell_texts(array) if spelled else array.cast(target, safe=safe)


def _canonical_dictionary(array: pa.DictionaryArray, target: pa.DataType) -> pa.Array:
    """Cast a dictionary; missing and repeated entries leave it, the order of the others stays."""
    texts = array.dictionary.cast(target.value_type)
    indices = array.indices.cast(target.index_type)
    distinct = texts.unique().drop_null()
    if len(distinct) != len(texts):
        indices = pc.index_in(texts, distinct).take(indices)
        texts = distinct
    return pa.DictionaryArray.from_arrays(indices, texts, ordered=target.ordered)


Numbers = NDArray[np.signedinteger[Any]]

MISSING = -1
"""Number of a missing cell."""


class CategoryNumbering:
    """Numbers the categories of a column by first sight, and orders them when all batches were seen.

    Every batch brings a dictionary of its own. The common order keeps the order of each of them; when they
    contradict each other, it is the order of first sight.

    Privacy
    -------
    A dictionary lists categories that no row holds: values of suppressed rows, for one. They are left out.
    """

    __slots__ = ("_before", "_last", "_last_numbers", "_numbers", "_same", "_settled", "_used")

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._before: dict[str, set[str]] = {}  # for each category, those right before it in some dictionary
        self._used = np.zeros(0, dtype=bool)
        self._last: pa.Array | None = None
        self._last_numbers: Numbers = np.array([MISSING], dtype=np.int8)
        self._same = True  # an entry's place in the last dictionary is its number
        self._settled: list[str] | None = None

    def look(self, array: pa.DictionaryArray) -> Numbers:
        """Return the number of every cell, shape (len(array),), `MISSING` where there is none.

        Its type is the smallest that holds the numbers of all categories seen so far.
        """
        if self._last is None or not array.dictionary.equals(self._last):
            self._meet(array.dictionary.to_pylist())
            self._last = array.dictionary
        filled = pc.fill_null(array.indices, MISSING) if array.null_count else array.indices
        indices: NDArray[Any] = filled.to_numpy(zero_copy_only=False)
        # index -1 is the last entry: missing
        numbers = indices.astype(self._last_numbers.dtype) if self._same else self._last_numbers[indices]
        if not self._used.all():
            self._used |= np.bincount(numbers + 1, minlength=self._used.size + 1)[1:] > 0
            self._settled = None
        return numbers

    def know(self, texts: pa.Array) -> None:
        """See a dictionary, all of whose categories occur."""
        self.look(pa.DictionaryArray.from_arrays(pa.array(np.arange(len(texts), dtype=np.int32)), texts))

    def _meet(self, texts: list[str]) -> None:
        for text in texts:
            self._numbers.setdefault(text, len(self._numbers))
            self._before.setdefault(text, set())
        for earlier, later in pairwise(texts):
            self._before[later].add(earlier)
        self._used = np.concatenate([self._used, np.zeros(len(self._numbers) - self._used.size, dtype=bool)])
        self._settled = None
        kind = _smallest(len(self._numbers))
        self._last_numbers = np.array([*map(self._numbers.__getitem__, texts), MISSING], dtype=kind)
        self._same = bool(np.array_equal(self._last_numbers[:-1], np.arange(len(texts))))

    @property
    def values(self) -> list[str]:
        """The categories that occur, in order."""
        if self._settled is None:
            try:
                order = list(TopologicalSorter(self._before).static_order())
            except CycleError:
                order = list(self._numbers)
            self._settled = [text for text in order if self._used[self._numbers[text]]]
        return self._settled

    @property
    def codes(self) -> NDArray[np.int32]:
        """Place in `values` by number; the last entry, that of `MISSING`, is `len(values)`."""
        values = self.values
        codes = np.full(len(self._numbers) + 1, len(values), dtype=np.int32)
        codes[[self._numbers[text] for text in values]] = np.arange(len(values), dtype=np.int32)
        return codes


class CategoryColumns:
    """The dictionary columns of a table, as numbers on their way to disk, as categories at the end.

    Parameters
    ----------
    schema : pyarrow.Schema
        Names and types of the table: its dictionaries are categories.
    moved : pyarrow.Schema, optional
        Names and types of its batches, where strings may be folded: those dictionaries pass as they are.
    """

    def __init__(self, schema: pa.Schema, moved: pa.Schema | None = None) -> None:
        self._moved = moved or schema
        self._of = {at: CategoryNumbering() for at, column in enumerate(schema) if pa.types.is_dictionary(column.type)}
        self.stored_schema = self._moved
        """Names and types while categories are numbers, of the largest type they may have."""
        for at in self._of:
            self.stored_schema = self.stored_schema.set(at, schema.field(at).with_type(pa.int32()))

    def __bool__(self) -> bool:
        return bool(self._of)

    def numbered(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches with numbers for categories, of the smallest type for what was seen so far."""
        for batch in batches:
            columns = batch.columns
            for at, categories in self._of.items():
                columns[at] = pa.array(categories.look(columns[at]))
            yield pa.RecordBatch.from_arrays(columns, names=self.stored_schema.names)

    def restored(self, table: pa.Table) -> pa.Table:
        """Return a table with categories for numbers, when all batches were seen; indices of the smallest type."""
        columns = table.columns
        for at, categories in self._of.items():
            numbers = columns[at].to_numpy()
            values, codes = pa.array(categories.values, pa.string()), categories.codes
            kind = _smallest(len(values))
            unmoved = np.array_equal(codes, np.arange(len(values) + 1))
            places = numbers.astype(kind, copy=False) if unmoved else codes.astype(kind)[numbers]
            indices = array_of(places, numbers != MISSING)
            columns[at] = pa.DictionaryArray.from_arrays(indices, values, ordered=self._moved.field(at).type.ordered)
        return pa.Table.from_arrays(columns, names=self._moved.names)


def _smallest(n_categories: int) -> type[np.signedinteger[Any]]:
    """Return the smallest type for the places of so many categories, and one more for missing."""
    return np.int8 if n_categories < 1 << 7 else np.int16 if n_categories < 1 << 15 else np.int32


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


_MOST_CATEGORIES = 1 << 12


def coded(table: pa.Table, policy: Policy) -> pa.Table:
    """Return the table with its declared columns read: for a policy whose cells are read one by one.

    A dictionary begins with the declared categories, whether a row holds them or not. Units stay as they are.
    """
    for at, column in enumerate(table.schema):
        cells = declared_cells(policy.column(column.name), policy) if pa.types.is_string(column.type) else None
        chunks: list[pa.Array] | None = None
        if isinstance(cells, NumberCells):
            chunks = _numbers(table.column(at))
        elif isinstance(cells, CategoryCells) and len(cells.values) <= _MOST_CATEGORIES:
            chunks = [_categories(chunk, pa.array(cells.values, pa.string())) for chunk in table.column(at).chunks]
        if chunks:
            table = table.set_column(at, column.name, pa.chunked_array(chunks))
    return table


def _numbers(texts: pa.ChunkedArray) -> list[pa.Array] | None:
    """Return the numbers of a column in which every string is a plain one; None for another."""
    chunks = []
    for chunk in texts.chunks:
        floats = plain_floats(chunk)
        if floats is None:
            return None
        chunks.append(floats)
    return chunks


def _categories(texts: pa.StringArray, categories: pa.StringArray) -> pa.DictionaryArray:
    places = pc.index_in(texts, value_set=categories)
    if places.null_count > texts.null_count:
        others = pc.dictionary_encode(pc.if_else(places.is_valid(), None, texts))
        places = pc.coalesce(places, pc.add(others.indices, pa.scalar(len(categories), pa.int32())))
        categories = pa.concat_arrays([categories, others.dictionary])
    return pa.DictionaryArray.from_arrays(places, categories)
