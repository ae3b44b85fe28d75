# SPDX-License-Identifier: Apache-2.0
"""Canonical cell values before counting: one rule of equality for every file format and engine.

NaN is missing, -0.0 is 0.0, one string type, one dictionary type. A canonical type is one that Parquet gives
back as it was written, so that types survive the whole way; nested and binary columns are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.domains.domain_codes import cell_texts
from anonkit.engines.reading.failures import shielded
from anonkit.errors import SourceError

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
