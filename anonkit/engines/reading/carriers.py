# SPDX-License-Identifier: Apache-2.0
"""Carrier types: the few Arrow types in which columns travel through an engine that lacks some of them."""

from __future__ import annotations

import pyarrow as pa

_WIDER = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0)}


def carrier_type(kind: pa.DataType) -> pa.DataType:
    """Return the type in which a canonical column travels: equal values stay equal, and nothing is rounded."""
    return pa.string() if pa.types.is_dictionary(kind) else _WIDER.get(kind, counted_type(kind))


def counted_type(kind: pa.DataType) -> pa.DataType:
    """Return the integer type in which dates, times and durations are counted; any other type as it is."""
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.int32()
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind) or pa.types.is_duration(kind):
        return pa.int64()
    return kind


def carrier_schema(schema: pa.Schema) -> pa.Schema:
    """Return a canonical schema with carriers for types."""
    return pa.schema([(field.name, carrier_type(field.type)) for field in schema])


def to_carrier(array: pa.Array) -> pa.Array:
    """Return a canonical column as its carrier."""
    carrier = carrier_type(array.type)
    if array.type == carrier:
        return array
    if isinstance(array, pa.DictionaryArray):
        return array.dictionary_decode()
    if pa.types.is_unsigned_integer(array.type):
        return array.cast(carrier)
    return array.view(carrier)


def from_carrier(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a column in its canonical type; categories stay strings."""
    if array.type == kind or pa.types.is_dictionary(kind):
        return array
    if pa.types.is_unsigned_integer(kind):
        return array.cast(kind)
    return array.view(kind)
