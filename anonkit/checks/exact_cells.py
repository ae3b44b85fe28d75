# SPDX-License-Identifier: Apache-2.0
"""Cells that DuckDB would round before it counts them, as cells that it distinguishes.

DuckDB reads decimal numbers of text files as doubles, and writes whole ones of 20 digits as doubles to Parquet. It has
times of text files, durations of Arrow and the oldest times of Parquet (INT96) in microseconds, and takes durations of
Parquet for numbers. Two cells that differ in the last digits would be one value: k would be overstated.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.bundle.data_files import footer
from anonkit.bundle.sql_names import in_quotes
from anonkit.errors import EngineError

_SURE_DIGITS = 15
"""Decimals of so many digits are different doubles where they differ."""
_MOST_DIGITS = 38
"""Of a decimal number in DuckDB."""
_MICROSECONDS, _NANOSECONDS = 6, 9
_TICKS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_NUMBER, _LARGE = "DOUBLE", "HUGEINT"
_MOMENTS = {"TIMESTAMP": "TIMESTAMP", "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ", "TIME": "TIME"}


def exact_source(connection: Any, source: str) -> str:
    """Return the FROM clause of a text file, with columns that lose nothing in place of those that do.

    Parameters
    ----------
    source : str
        A call of DuckDB's `read_csv`.

    Notes
    -----
    Numbers become decimals of up to 38 digits, and strings beyond. Times become times in nanoseconds, and strings where
    a cell is finer. A column in which doubles and microseconds distinguish all cells stays as DuckDB reads it.
    """
    described = [
        (str(name), str(kind)) for name, kind, *_ in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    ]
    kinds = {at: kind for at, (_, kind) in enumerate(described) if kind in (_NUMBER, _LARGE, *_MOMENTS)}
    if not kinds:
        return source
    texts = _with_texts(source, described, kinds)
    asked = ", ".join(map(_may_lose, kinds, kinds.values()))
    (long,) = connection.execute(f"SELECT {asked} FROM {texts}").fetchall()
    exact: dict[int, str] = {}
    for (at, kind), is_long in zip(kinds.items(), long, strict=True):
        cell = _exact_cell(connection, texts, at, kind) if is_long else None
        exact |= {} if cell is None else {at: cell}
    if not exact:
        return source
    listed = ", ".join(f"{exact.get(at, f'x{at}')} AS {in_quotes(name)}" for at, (name, _) in enumerate(described))
    return f"(SELECT {listed} FROM {_with_texts(source, described, exact)})"


def _may_lose(at: int, kind: str) -> str:
    """Return the SQL of whether a cell may be another than DuckDB reads."""
    lost = _is_long(at) if kind in (_NUMBER, _LARGE) else f"{_fraction(at)} > {_MICROSECONDS}"
    return f"bool_or({lost})"


def _with_texts(source: str, described: Sequence[tuple[str, str]], texts: Container[int]) -> str:
    """Return the FROM clause of a text file, its columns x0, x1, …, some of them as strings."""
    types = ", ".join("'VARCHAR'" if at in texts else f"'{kind}'" for at, (_, kind) in enumerate(described))
    own = ", ".join(f"x{at}" for at in range(len(described)))
    return f"{source.removesuffix(')')}, types = [{types}]) AS own({own})"


def _exact_cell(connection: Any, texts: str, at: int, kind: str) -> str | None:
    if kind == _NUMBER and not _merges(connection, texts, at):
        return None
    is_number = kind in (_NUMBER, _LARGE)
    return _exact_number(connection, texts, at) if is_number else _exact_time(connection, texts, at, kind)


def _is_long(at: int) -> str:
    """Return the SQL of whether a number has more digits than doubles are sure to distinguish."""
    mantissa = f"regexp_extract(x{at}, '^[^eE]*')"
    return f"length(ltrim(regexp_replace({mantissa}, '[^0-9]', '', 'g'), '0')) > {_SURE_DIGITS}"


def _behind_point(at: int) -> str:
    """Return the SQL of the digits behind the last point."""
    return f"regexp_extract(x{at}, '[.]([0-9]+)[^.]*$', 1)"


def _fraction(at: int) -> str:
    """Return the SQL of the number of digits after the last point, zeros at their end left out."""
    return f"length(rtrim({_behind_point(at)}, '0'))"


def _merges(connection: Any, texts: str, at: int) -> bool:
    """Return True if different numbers of a column are one double."""
    alike = connection.execute(
        f"SELECT list(DISTINCT x{at}) FROM {texts} WHERE x{at} IS NOT NULL "
        f"GROUP BY CAST(x{at} AS DOUBLE) HAVING count(DISTINCT x{at}) > 1"
    ).fetchall()
    return any(_differ(spelled) for (spelled,) in alike)


def _exact_number(connection: Any, texts: str, at: int) -> str:
    """Return the SQL of an exact number; as a string where it has more than 38 digits, or an exponent."""
    whole = f"length(ltrim(regexp_extract(x{at}, '^[^0-9.]*([0-9]*)', 1), '0'))"
    ((digits, scale, odd),) = connection.execute(
        f"SELECT max({whole}), max({_fraction(at)}), bool_or(regexp_matches(x{at}, '[^0-9.+ -]')) FROM {texts}"
    ).fetchall()
    return f"x{at}" if odd or digits + scale > _MOST_DIGITS else f"CAST(x{at} AS DECIMAL({_MOST_DIGITS}, {scale}))"


def _differ(spelled: Iterable[str]) -> bool:
    """Return True if some strings that are one double are different numbers."""
    numbers = [Decimal(text.strip()) for text in spelled]
    finite = [number for number in numbers if number.is_finite()]
    return any(number != finite[0] for number in finite)


def _exact_time(connection: Any, texts: str, at: int, kind: str) -> str:
    """Return the SQL of an exact time; as a string where it is finer than nanoseconds, or beyond their years."""
    exact = f"TRY_CAST(x{at} AS TIME_NS)"
    if kind != "TIME":
        digits = f"rpad({_behind_point(at)}, {_NANOSECONDS}, '0')"
        microseconds = f"epoch_us(TRY_CAST(x{at} AS {_MOMENTS[kind]}))::HUGEINT"
        exact = f"make_timestamp_ns(TRY_CAST({microseconds} * 1000 + right({digits}, 3)::HUGEINT AS BIGINT))"
    ((finest,),) = connection.execute(f"SELECT max({_fraction(at)}) FROM {texts}").fetchall()
    if finest > _NANOSECONDS:
        return f"x{at}"
    ((lost,),) = connection.execute(f"SELECT bool_or(x{at} IS NOT NULL AND {exact} IS NULL) FROM {texts}").fetchall()
    return f"x{at}" if lost else exact


# --- Parquet and Arrow ---------------------------------------------------------------------------------------------


def exact_columns(schema: pa.Schema) -> dict[str, str]:
    """Return the SQL of columns of a Parquet file that DuckDB takes for others: durations, as strings of nanoseconds.

    Raises
    ------
    EngineError
        A column has decimal numbers of more than 38 digits.
    """
    _refuse_long(schema)
    return {
        field.name: f"({in_quotes(field.name)}::HUGEINT * {_TICKS[field.type.unit]})::VARCHAR"
        for field in schema
        if pa.types.is_duration(field.type)
    }


def exact_table(table: pa.Table) -> pa.Table:
    """Return a table with durations as strings of nanoseconds; see `exact_columns`."""
    _refuse_long(table.schema)
    for at, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_duration(kind):
            ticks = table.column(at).cast(kind).cast(pa.int64()).cast(pa.decimal128(19, 0))
            texts = pc.multiply(ticks, pa.scalar(Decimal(_TICKS[kind.unit]))).cast(pa.string())
            table = table.set_column(at, field.name, texts)
    return table


def _refuse_long(schema: pa.Schema) -> None:
    for field in schema:
        if pa.types.is_decimal(field.type) and field.type.precision > _MOST_DIGITS:
            raise EngineError(
                f"column {field.name!r} has decimal numbers of more than {_MOST_DIGITS} digits",
                f"cast it to decimal128 of up to {_MOST_DIGITS} digits, or to text",
            )


def has_oldest_times(part: Path) -> bool:
    """Return True if a Parquet file has times in the form INT96, which counts nanoseconds and which DuckDB cuts."""
    try:
        columns = footer(part).schema
    except (pa.ArrowException, OSError, ValueError):  # whoever reads it says that it is none of Parquet
        return False
    return any(columns.column(at).physical_type == "INT96" for at in range(len(columns)))
