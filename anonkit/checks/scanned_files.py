# SPDX-License-Identifier: Apache-2.0
"""Files as DuckDB reads them, and their columns as the files spell them.

DuckDB takes `Age` and `age` for one name: the second column gets a number behind it, and among several files, or beside
the names of folders, columns are found by names without capitals. So where names are alike columns are found by place.

Cells that DuckDB would round before it counts them, as cells that it distinguishes.

DuckDB reads decimal numbers of text files as doubles, and writes whole ones of 20 digits as doubles to Parquet. It has
times of text files, durations of Arrow and the oldest times of Parquet (INT96) in microseconds, and takes durations of
Parquet for numbers. Two cells that differ in the last digits would be one value: k would be overstated.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.bundle.data_files import bring_here, footer, parts_of, read_schema
from anonkit.bundle.sql_names import alike_names, in_quotes, own_names
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
    losses = ", ".join(map(_may_lose, kinds, kinds.values()))
    (long,) = connection.execute(f"SELECT {losses} FROM {texts}").fetchall()
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


Files: TypeAlias = str | Path | Sequence[Path]
"""A file, a folder of Parquet files, or some of these files."""
UNREADABLE = (pa.ArrowException, OSError, ValueError, csv.Error, StopIteration)
"""Errors of readers of names on a file that is none of their kind."""
IN_MEMORY = "anonkit_table"
"""Name of a table in memory in a connection."""
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_WILD = re.compile(r"[*?\[]")
_PART = 1 << 20
_FIRST_ROWS = 20_000
_NOTHING = "(empty)"
"""Name in DuckDB of a quote or an escape that a file does not have."""


def scan_of(connection: Any, table: Files) -> str:
    """Return the FROM clause of files; those of text are read with DuckDB's own reader, all rows looked at.

    Raises
    ------
    EngineError
        A compressed file was cut.
    """
    if not isinstance(table, str | Path):
        return _parquet(connection, table)
    path = Path(table)
    if path.is_dir():
        bring_here(list(path.rglob("*.parquet")))
        return _parquet(connection, parts_of(path), partitioned=bool(_folder_keys(path)))
    compression = _COMPRESSIONS.get(path.suffix.lower())
    if compression is not None and path.is_file():
        stat = path.stat()
        if not _is_whole(str(path), compression, (stat.st_size, stat.st_mtime_ns)):
            raise EngineError(f"{str(path)!r} is not a whole {compression} file", "was it copied to its end?")
    if is_text(path):
        return exact_source(connection, f"read_csv({literal(path)}, header = true, sample_size = -1)")
    if _is_json(path):
        return f"read_json({literal(path)}, format = 'newline_delimited', sample_size = -1)"
    return _parquet(connection, [path])


def first_rows_of(connection: Any, table: object) -> list[tuple[str | None, ...]]:
    """Return the first rows of a file of CSV or TSV as strings, the line with the names among them; none of others."""
    if not isinstance(table, str | Path) or not Path(table).is_file() or not is_text(Path(table)):
        return []
    rows = f"read_csv({literal(table)}, header = false, all_varchar = true)"
    return list(connection.execute(f"SELECT * FROM {rows} LIMIT {_FIRST_ROWS}").fetchall())


def _parquet(connection: Any, parts: Sequence[Path], *, partitioned: bool = False, at: int = 0) -> str:
    """Return the FROM clause of Parquet files; `at` is how many others have been named so."""
    unspelled = any("\\" in (whole := os.path.abspath(part)) and _WILD.search(whole) for part in parts)
    if unspelled or any(map(has_oldest_times, parts[:1])):
        import pyarrow.dataset

        # DuckDB spells no such name: in a pattern, which brackets make of it, a backslash parts folders
        files = pyarrow.dataset.dataset([os.path.abspath(part) for part in parts], format="parquet")
        # and addresses columns of a data set by the names that it has given them
        connection.register(f"{IN_MEMORY}_{at}", files.to_table() if alike_names(files.schema.names) else files)
        return f"{IN_MEMORY}_{at}"
    return f"read_parquet([{', '.join(map(literal, parts))}], hive_partitioning = {str(partitioned).lower()})"


def is_text(path: Path) -> bool:
    """Return True if a file is one of CSV or TSV, by its name."""
    return bool({suffix.lower() for suffix in path.suffixes} & {".csv", ".tsv", ".tab", ".txt"})


def _is_json(path: Path) -> bool:
    return bool({suffix.lower() for suffix in path.suffixes} & {".json", ".jsonl", ".ndjson"})


def _folder_keys(folder: Path) -> list[str]:
    """Return the columns that the names of folders within a folder give, such as `day` of `day=1`."""
    parts = sorted(part.relative_to(folder) for part in folder.rglob("*.parquet") if part.parent != folder)
    return [name.partition("=")[0] for part in parts[:1] for name in part.parent.parts if "=" in name]


@lru_cache(maxsize=16)
def _is_whole(path: str, compression: str, state: tuple[int, int]) -> bool:
    """Return True if a compressed file ends where it should; read once for each state (size and time) it is in.

    DuckDB before 2.0 takes one that was cut for the rows before the cut, whose classes may be large enough where those
    of all rows are not.
    """
    try:
        with pa.input_stream(path, compression=compression) as stream:
            while stream.read(_PART):
                pass
    except OSError:
        return False
    return True


def literal(path: str | Path) -> str:
    """Return a path as DuckDB takes it: this file, whatever a pattern or a home folder of that spelling would be."""
    whole = os.path.abspath(path)
    return "'" + _WILD.sub(r"[\g<0>]", whole).replace("'", "''") + "'"


# --- names ---------------------------------------------------------------------------------------------------------


def names_in(connection: Any, files: Files, source: str) -> list[str]:
    """Return the names of columns as files spell them.

    Parameters
    ----------
    source : str
        What `scan_of` gives for them.

    Raises
    ------
    EngineError
        A folder is a column whose name differs in capitals alone from that of a column within it.
    """
    path = _path(files)
    if path is not None and (is_text(path) or _is_json(path)):
        names = [str(name) for name in connection.sql(f"SELECT * FROM {source} LIMIT 0").columns]
        spelled = _spelled(connection, path) if _may_be_renamed(names) else names
        return spelled if alike_names(spelled) else names
    names, keys = _names_of_part(_parts(files)[0]), _keys(files)
    folded = {name.casefold() for name in names}
    if any(key.casefold() in folded for key in keys if key not in names):
        raise EngineError(
            "a folder and a column within it have names that differ in capitals alone",
            "rename the folder or the column",
        )
    return [*names, *(key for key in keys if key not in names)]


def renamed(connection: Any, files: Files, source: str, there: Sequence[str], names: Mapping[str, str]) -> str:
    """Return the FROM clause of some columns of files under SQL's own names.

    Parameters
    ----------
    source : str
        What `scan_of` gives for them.
    there : sequence of str
        All columns, as `names_in` gives them.
    names : mapping
        The columns that are looked at, each with its own name: that of `own_names(there)`.
    """
    if not alike_names(there):
        exact = exact_columns(_schema_of(files))
        return _selected({exact.get(name, in_quotes(name)): own for name, own in names.items()}, source)
    path, places = _path(files), own_names(there)
    if path is not None and is_text(path):
        return f"(SELECT * FROM {source} AS own({', '.join(places.values())}))"
    if path is not None and _is_json(path):
        connection.register(IN_MEMORY, _json_rows(path).rename_columns(list(places.values())))
        return IN_MEMORY
    # files of one order together: among several files DuckDB looks for columns by name
    orders: dict[tuple[str, ...], list[Path]] = {}
    for part in _parts(files):
        orders.setdefault(tuple(_names_of_part(part)), []).append(part)
    found: list[str] = []
    for order, parts in orders.items():
        at = own_names(order)
        called = {at.get(name, in_quotes(name)): own for name, own in names.items()}
        source = _parquet(connection, parts, partitioned=bool(_keys(files)), at=len(found))
        found.append(_selected(called, f"{source} AS own({', '.join(at.values())})"))
    return f"({' UNION ALL '.join(found)})"


def _selected(names: Mapping[str, str], source: str) -> str:
    """Return the FROM clause of columns under other names."""
    listed = ", ".join(f"{name} AS {own}" for name, own in names.items())
    return f"(SELECT {listed or 'NULL'} FROM {source})"


def _path(files: Files) -> Path | None:
    return Path(files) if isinstance(files, str | Path) else None


def _parts(files: Files) -> list[Path]:
    return parts_of(Path(files)) if isinstance(files, str | Path) else list(files)


def _keys(files: Files) -> list[str]:
    path = _path(files)
    return _folder_keys(path) if path is not None and path.is_dir() else []


def _schema_of(files: Files) -> pa.Schema:
    """Return the schema of the first file of Parquet; nothing of others."""
    path = _path(files)
    is_other = path is not None and (is_text(path) or _is_json(path))
    return pa.schema([]) if is_other else read_schema(_parts(files)[0])


def _names_of_part(part: Path) -> list[str]:
    return list(read_schema(part).names)


def _may_be_renamed(names: Sequence[str]) -> bool:
    """Return True if DuckDB may have called a column by another name than the file does."""
    before: set[str] = set()
    for name in names:
        stem, mark, number = name.rpartition("_")  # `age_1` is what it makes of a second `age`
        if mark and number.isascii() and number.isdigit() and stem.casefold() in before:
            return True
        before.add(name.casefold())
    return False


def _spelled(connection: Any, path: Path) -> list[str]:
    """Return the names of columns of a file of strings, in the order in which DuckDB has them."""
    if _is_json(path):
        return list(_json_rows(path).column_names)
    ((delimiter, quote, escape, skipped),) = connection.execute(
        f"SELECT Delimiter, Quote, Escape, SkipRows FROM sniff_csv({literal(path)}, header = true, sample_size = -1)"
    ).fetchall()
    with pa.input_stream(path, compression=_COMPRESSIONS.get(path.suffix.lower())) as stream:
        lines = islice(io.TextIOWrapper(stream, "utf-8-sig", newline=""), skipped, None)
        header = csv.reader(
            lines,
            delimiter=delimiter,
            quotechar=None if quote == _NOTHING else quote,
            quoting=csv.QUOTE_NONE if quote == _NOTHING else csv.QUOTE_MINIMAL,
            escapechar=None if escape in (quote, _NOTHING) else escape,
        )
        return next(header)


def _json_rows(path: Path) -> pa.Table:
    """Return the rows of a JSON Lines file by a reader that distinguishes capitals."""
    import pyarrow.json as pa_json

    with pa.input_stream(path, compression=_COMPRESSIONS.get(path.suffix.lower())) as stream:
        return pa_json.read_json(stream)
