# SPDX-License-Identifier: Apache-2.0
"""Opening what people have: CSV, TSV, JSON Lines (gzip, zstd), Parquet files and folders, Arrow-capable tables.

Every opener returns a `Reading`: a schema and batches. Text files come as strings, to be typed once all cells
were seen. Messages of the underlying readers quote cells, so they are replaced, never passed on.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from anonkit.errors import SourceError

_TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ","}
_JSON = (".jsonl", ".ndjson", ".json")
_COMPRESSED = (".gz", ".zst")
_PARQUET = (".parquet", ".pq")
_BLOCK = 8 << 20

FORMATS = "CSV, TSV, JSON Lines (each also .gz or .zst), Parquet files or folders, Arrow-capable data frames"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A table being read, once."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    untyped: bool
    """True when every column holds texts that still have to be typed."""
    parquet: str | None = None
    """Path of a single Parquet file, when the table is one and can be read again without a copy."""


def open_table(data: Any, missing_values: Sequence[str]) -> Reading:
    """Open a path or an in-memory table.

    Raises
    ------
    SourceError
        The file does not exist, is not of a known format, or is not a well-formed table.
    """
    if isinstance(data, str | Path):
        return _open_path(Path(data), missing_values)
    return _open_frame(data)


def check_names(names: Sequence[object]) -> None:
    """Refuse tables whose columns cannot be told apart by name."""
    texts = [name for name in names if isinstance(name, str)]
    if len(texts) != len(names):
        raise SourceError("column names must be texts", "rename the columns of the data frame")
    if not names:
        raise SourceError("the table has no columns")
    if any(not name.strip() for name in texts):
        raise SourceError(f"column {1 + [bool(name.strip()) for name in texts].index(False)} has no name")
    twice = sorted({name for name in texts if texts.count(name) > 1})
    if twice:
        raise SourceError(f"column name {twice[0]!r} stands twice in the table", "give every column its own name")


def _open_path(path: Path, missing_values: Sequence[str]) -> Reading:
    if not path.exists():
        raise SourceError(f"{str(path)!r} does not exist")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compressed = bool(suffixes) and suffixes[-1] in _COMPRESSED
    kind = suffixes[-2 if compressed else -1] if len(suffixes) > compressed else ""
    if path.is_dir() or kind in _PARQUET:
        return _open_parquet(path)
    if path.stat().st_size == 0:
        raise SourceError(f"{str(path)!r} is empty", "a table needs at least a header line")
    if kind in _TEXT:
        return _open_text(path, _TEXT[kind], missing_values)
    if kind in _JSON:
        return _open_json(path)
    raise SourceError(f"the format of {str(path)!r} is not known by its name", f"known formats: {FORMATS}")


# --- Parquet -------------------------------------------------------------------------------------------------


def _open_parquet(path: Path) -> Reading:
    try:
        if path.is_dir():
            import pyarrow.dataset as pads

            dataset = pads.dataset(path, format="parquet", partitioning="hive", exclude_invalid_files=False)
            check_names(dataset.schema.names)
            return Reading(schema=dataset.schema, batches=_safely(dataset.to_batches(), path), untyped=False)
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError):
        raise SourceError(f"{str(path)!r} is not a readable Parquet table") from None
    check_names(file.schema_arrow.names)
    return Reading(
        schema=file.schema_arrow.remove_metadata(),
        batches=_safely(file.iter_batches(), path),
        untyped=False,
        parquet=str(path),
    )


def _safely(batches: Iterator[pa.RecordBatch], path: Path) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except (pa.ArrowException, OSError):
        raise SourceError(f"{str(path)!r} is damaged: reading it stopped half way") from None


# --- CSV and TSV ---------------------------------------------------------------------------------------------


def _open_text(path: Path, delimiter: str, missing_values: Sequence[str]) -> Reading:
    header, delimiter = _header(path, delimiter)
    check_names(header)
    bad: list[tuple[int | None, int, int]] = []

    def refuse(row: Any) -> str:
        bad.append((row.number, row.actual_columns, row.expected_columns))
        return "error"

    def open_reader() -> Any:
        return pacsv.open_csv(
            pa.input_stream(str(path), compression="detect"),
            read_options=pacsv.ReadOptions(column_names=header, skip_rows=1, block_size=_BLOCK),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=refuse, ignore_empty_lines=len(header) > 1
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.string()),
                null_values=list(missing_values),
                strings_can_be_null=True,
            ),
        )

    schema = pa.schema([(name, pa.string()) for name in header])
    return Reading(schema=schema, batches=_text_batches(path, open_reader, bad), untyped=True)


def _text_batches(
    path: Path, open_reader: Callable[[], Any], bad: list[tuple[int | None, int, int]]
) -> Iterator[pa.RecordBatch]:
    try:
        yield from open_reader()
    except pa.ArrowInvalid as error:
        text = str(error)  # quotes cells: looked at, never shown
        if "Empty CSV file" in text:
            return
        if bad:
            number, actual, expected = bad[0]
            where = f"line {number}" if number is not None else "a line"
            raise SourceError(
                f"{where} of {str(path)!r} has {actual} cells where the header has {expected}",
                "quote cells that hold the delimiter",
            ) from None
        if "UTF8" in text or "UTF-8" in text:
            raise _not_utf8(path) from None
        if "straddling" in text:
            raise SourceError(f"{str(path)!r} has a row longer than 8 MiB", "look for a quote that is never closed") from None
        raise SourceError(f"{str(path)!r} is not a well-formed table") from None
    except (pa.ArrowException, OSError):
        raise SourceError(f"{str(path)!r} cannot be read to its end") from None


def _not_utf8(path: Path) -> SourceError:
    return SourceError(f"{str(path)!r} is not UTF-8 text", "convert it, for instance: iconv -f latin1 -t utf-8")


def _header(path: Path, delimiter: str) -> tuple[list[str], str]:
    """Return the column names and the delimiter: the one of the format unless the header plainly uses another."""
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            head = stream.read(1 << 20)
    except (pa.ArrowException, OSError):
        raise SourceError(f"{str(path)!r} cannot be decompressed") from None
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise _not_utf8(path)
    line = re.split(rb"\r\n|\n|\r", head, maxsplit=1)[0]
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    if delimiter not in text:
        delimiter = next((other for other in (",", ";", "\t", "|") if other in text), delimiter)
    names = next(csv.reader(io.StringIO(text), delimiter=delimiter), [])
    if text.count('"') % 2:
        raise SourceError(f"the header of {str(path)!r} has a quote that is never closed")
    return names, delimiter


# --- JSON Lines ----------------------------------------------------------------------------------------------


def _open_json(path: Path) -> Reading:
    import duckdb

    try:
        connection = duckdb.connect(":memory:")
        relation = connection.sql(
            "SELECT * FROM read_json($path, format='newline_delimited', sample_size=-1, maximum_depth=1)",
            params={"path": str(path)},
        )
        names = list(relation.columns)
        nested = [name for name, kind in zip(names, relation.types, strict=True) if str(kind) == "JSON"]
        reader = pa.RecordBatchReader.from_stream(relation)
    except duckdb.Error:
        raise SourceError(f"{str(path)!r} is not JSON Lines: one object a line, the same keys in each") from None
    check_names(names)
    if nested:
        raise SourceError(f"column {nested[0]!r} holds nested values or mixes types", "flatten it before the release")
    return Reading(schema=reader.schema, batches=_json_batches(reader, path, connection), untyped=False)


def _json_batches(reader: pa.RecordBatchReader, path: Path, connection: Any) -> Iterator[pa.RecordBatch]:
    try:
        yield from reader
    except (pa.ArrowException, OSError):
        raise SourceError(f"{str(path)!r} is not well-formed JSON Lines") from None
    finally:
        connection.close()


# --- tables in memory ----------------------------------------------------------------------------------------


def _open_frame(data: Any) -> Reading:
    columns = getattr(data, "columns", None)
    if columns is not None and not isinstance(data, pa.Table):
        check_names(list(columns))
    try:
        if type(data).__module__.split(".")[0] == "pandas":
            table = pa.Table.from_pandas(data, preserve_index=False)  # an index is not a column
        elif isinstance(data, pa.Table):
            table = data
        elif hasattr(data, "__arrow_c_stream__"):
            table = pa.table(pa.RecordBatchReader.from_stream(data))
        else:
            raise SourceError(f"a {type(data).__name__} is not a table", f"known formats: {FORMATS}")
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise SourceError(_mixed_column(str(error)), "give every column one type") from None
    check_names(table.column_names)
    table = table.replace_schema_metadata(None)
    return Reading(schema=table.schema, batches=iter(table.to_batches(max_chunksize=1 << 17)), untyped=False)


def _mixed_column(message: str) -> str:
    """Name the column of a failed conversion; the rest of the message may quote a cell."""
    named = re.search(r"Conversion failed for column (.+) with type", message)
    return f"column {named.group(1)!r} mixes types" if named else "a column of the data frame mixes types"
