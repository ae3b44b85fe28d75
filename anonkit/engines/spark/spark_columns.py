# SPDX-License-Identifier: Apache-2.0
"""Columns on their way through Spark: the few types whose values every engine compares alike.

Spark has no unsigned integers, no nanoseconds and no categories, and reads dates and timestamps in
the time zone and the calendar of a session. So every column travels as a text, a boolean, a signed integer, a
floating-point number or a decimal, its *carrier*, and is given back its canonical type in the batch functions.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyspark.sql.types as st
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from anonkit.engines.reading.canonical import canonical_type
from anonkit.engines.reading.carriers import carrier_type
from anonkit.errors import SourceError

_PLAIN: dict[pa.DataType, st.DataType] = {
    pa.string(): st.StringType(),
    pa.binary(): st.BinaryType(),
    pa.bool_(): st.BooleanType(),
    pa.int8(): st.ByteType(),
    pa.int16(): st.ShortType(),
    pa.int32(): st.IntegerType(),
    pa.int64(): st.LongType(),
    pa.float32(): st.FloatType(),
    pa.float64(): st.DoubleType(),
}


def spark_type(carrier: pa.DataType) -> st.DataType:
    """Return the Spark type of a carrier."""
    if pa.types.is_decimal(carrier):
        return st.DecimalType(carrier.precision, carrier.scale)
    return _PLAIN[carrier]


def spark_schema(names: Sequence[str], kinds: Sequence[pa.DataType]) -> st.StructType:
    """Return a Spark schema of columns by their canonical types."""
    return st.StructType(
        [st.StructField(name, spark_type(carrier_type(kind))) for name, kind in zip(names, kinds, strict=True)]
    )


def frame_types(frame: DataFrame) -> list[pa.DataType]:
    """Return the canonical types of the columns of a data frame.

    Raises
    ------
    SourceError
        A column is nested, binary, or of a type that is no value of a cell.
    """
    return [_canonical(field.name, field.dataType) for field in frame.schema.fields]


def _canonical(name: str, given: st.DataType) -> pa.DataType:
    if isinstance(given, st.StringType | st.CharType | st.VarcharType | st.NullType):
        return pa.string()
    if isinstance(given, st.DecimalType):
        return pa.decimal128(given.precision, given.scale)
    if isinstance(given, st.DateType):
        return pa.date32()
    if isinstance(given, st.TimestampType):
        return pa.timestamp("us", "UTC")
    if isinstance(given, st.TimestampNTZType):
        return pa.timestamp("us")
    for arrow, spark in _PLAIN.items():
        if given == spark:
            return canonical_type(name, arrow)
    raise SourceError(
        f"column {name!r} holds values of type {_kind(given)}",
        "flatten or convert it, or leave it out of the table",
    )


def _kind(given: st.DataType) -> str:
    """Name a type as the local engine does."""
    nested = isinstance(given, st.ArrayType | st.StructType | st.MapType)
    return "list, struct or map" if nested else given.typeName()


def storable(column: Column, given: st.DataType) -> Column:
    """Return a column as it is copied to Parquet: nothing in it depends on the session's time zone or calendar."""
    if isinstance(given, st.TimestampType):
        return sf.unix_micros(column)
    if isinstance(given, st.DateType):
        return sf.unix_date(column)
    if isinstance(given, st.NullType | st.CharType | st.VarcharType):
        return column.cast("string")
    return column
