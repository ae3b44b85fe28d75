# SPDX-License-Identifier: Apache-2.0
"""Types of columns in a release, and what they are called in each database."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from anonkit.errors import ParameterError

DUCKDB: Mapping[str, str] = {
    "string": "VARCHAR", "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER",
    "int64": "BIGINT", "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT",
    "float": "FLOAT", "double": "DOUBLE", "date32[day]": "DATE", "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE", "time64[us]": "TIME", "decimal": "DECIMAL({},{})",
}  # fmt: skip
SQLITE: Mapping[str, str] = {
    "string": "TEXT", "float": "REAL", "double": "REAL", "date32[day]": "TEXT", "timestamp": "TEXT",
    "timestamptz": "TEXT", "time64[us]": "TEXT", "decimal": "TEXT",
    **dict.fromkeys(("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), "INTEGER"),
}  # fmt: skip
POSTGRESQL: Mapping[str, str] = {
    "string": "text", "bool": "boolean", "int8": "smallint", "int16": "smallint", "int32": "integer",
    "int64": "bigint", "uint8": "smallint", "uint16": "integer", "uint32": "bigint", "uint64": "numeric(20,0)",
    "float": "real", "double": "double precision", "date32[day]": "date",
    "timestamp": "timestamp without time zone", "timestamptz": "timestamp with time zone",
    "time64[us]": "time without time zone", "decimal": "numeric({},{})",
}  # fmt: skip


def sql_type(kind: pa.DataType, types: Mapping[str, str]) -> str:
    """Return the name of a type in a database."""
    if pa.types.is_timestamp(kind):
        return types["timestamp" if kind.tz is None else "timestamptz"]
    if pa.types.is_decimal(kind):
        return types["decimal"].format(kind.precision, kind.scale)
    return types[str(kind)]


def exported_type(name: str, kind: pa.DataType) -> pa.DataType:
    """Return the type a column is exported as: strings for categories, days for dates, microseconds for times.

    Raises
    ------
    ParameterError
        No form but Parquet has such a type.
    """
    if pa.types.is_dictionary(kind):
        return exported_type(name, kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_string(kind):
        return pa.string()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_time(kind):
        return pa.time64("us")
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_null(kind):
        return pa.string()
    if str(kind) in DUCKDB or pa.types.is_decimal(kind):
        return kind
    raise ParameterError(f"column {name!r} is of type {kind}, which only the Parquet file can hold")
