# SPDX-License-Identifier: Apache-2.0
"""Opening a source: from a path or a table in memory to the module that reads it.

Tables of strings in a private Parquet file: cells that are strings or missing, typed as the cells of CSV are.

A workbook or a set of CSV files is copied so. Which strings mean missing, and which columns are numbers, follows from
the same code as for a CSV file, so that a cell means the same in either. A database may bring types for some columns
and strings for others: those with a type keep it.

Arrow IPC: files (Feather, version 2) and streams, each also compressed inside or as a whole.

Tables in memory: pandas, Polars, Arrow, and anything else with the Arrow PyCapsule interface.
"""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from anonkit.domains.cell_values import cell_texts, exact_decimal
from anonkit.engines.reading.column_encoding import canonical_array, canonical_batches, canonical_schema, canonical_type
from anonkit.engines.reading.delimited import DELIMITERS, TextFile, open_delimited
from anonkit.engines.reading.failures import shielded, shielded_iterator
from anonkit.engines.reading.json_lines import open_json_lines
from anonkit.engines.reading.parquet_tables import TEXTS, FileTable, check_names, open_parquet, open_parquet_files
from anonkit.engines.reading.preambles import GivenLayout
from anonkit.engines.reading.sources import BATCH_ROWS, ParquetRows, sliced, spill_is_gone
from anonkit.engines.reading.text_cells import TextCells, Untyped, UntypedCells
from anonkit.errors import SourceError
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy
from anonkit.policy.side_files import COMMA, encoding_named


def open_text_rows(table: FileTable, policy: Policy) -> Untyped:
    """Open a table of strings.

    Raises
    ------
    SourceError
        Its columns cannot be distinguished by name.
    EngineError
        The copy is not there any more.
    """
    path = str(table.path)
    stored = shielded(lambda: pq.read_schema(path), spill_is_gone).remove_metadata()
    names = stored.names
    check_names(names)
    texts = frozenset(names if table.texts is None else table.texts)
    kinds = {field.name: canonical_type(field.name, field.type) for field in stored if field.name not in texts}
    comma = policy.decimal == COMMA and not table.points
    listed = pa.array(policy.missing_values, pa.string())
    cells: dict[str, UntypedCells] = {
        name: _TypedCells(name, safe=not policy.cell_by_cell)
        if name in kinds
        else TextCells.of(policy.column(name), cell_by_cell=policy.cell_by_cell, comma=comma)
        for name in names
    }

    def batches() -> Iterator[pa.RecordBatch]:
        with shielded(lambda: pq.ParquetFile(path), spill_is_gone) as file:
            for batch in shielded_iterator(file.iter_batches(BATCH_ROWS), spill_is_gone):
                arrays = [
                    column if name in kinds else _without(column, listed)
                    for name, column in zip(names, batch.columns, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=names)

    return Untyped(names=names, open=batches, cells_of=cells.__getitem__, kinds=kinds, knows_missing=not kinds)


@dataclass(frozen=True)
class _TypedCells:
    """Cells that brought their type."""

    name: str
    safe: bool

    def fit(self, array: pa.Array, kind: pa.DataType | None) -> tuple[pa.DataType | None, pa.Array]:
        """Return the cells in canonical form. See `anonkit.engines.reading.text_cells.UntypedCells.fit`."""
        kind = kind or canonical_type(self.name, array.type)
        return kind, canonical_array(self.name, array, kind, safe=self.safe)


def _without(texts: pa.StringArray, listed: pa.StringArray) -> pa.StringArray:
    """Return strings with those that are listed missing."""
    return pc.if_else(pc.is_in(texts, value_set=listed), pa.scalar(None, pa.string()), texts) if len(listed) else texts


_NOT_OF_ARROW = ("period", "interval", "complex")
"""Types that pandas finds where all cells are of one; with any other cell they are objects, which can be read."""
_ANY = (Exception,)
"""Errors of objects in a column, and of streams of other libraries."""
_BEYOND_ALL = "1e999"
"""An infinite number as a string that is read as one."""


@dataclass(frozen=True, kw_only=True)
class CanonicalStream:
    """Canonical batches that can be read once."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


def open_frame(data: Any, policy: Policy) -> CanonicalStream:
    """Open a table in memory.

    A column of Python objects in pandas has no type. Where its cells mean what they say by themselves, they come as
    strings; otherwise they must all be of one type.

    Raises
    ------
    SourceError
        It is no table, its columns have no names, or a column is of no one type.
    """
    reader = _pandas_table(data, policy).to_reader() if _is_pandas(data) else _arrow_reader(data)
    check_names(reader.schema.names)
    schema = canonical_schema(reader.schema)
    batches = sliced(shielded_iterator(reader, _broken))
    return CanonicalStream(schema=schema, batches=canonical_batches(batches, schema, safe=not policy.cell_by_cell))


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns")


def _pandas_table(data: Any, policy: Policy) -> pa.Table:
    """Convert column by column, to know which one fails; the index is not a column."""
    names = list(data.columns)
    check_names(names)
    return pa.table(
        [_pandas_column(policy.column(name), data.iloc[:, at], policy) for at, name in enumerate(names)], names=names
    )


def _pandas_column(declared: Column, column: Any, policy: Policy) -> pa.Array | pa.ChunkedArray:
    def explain(error: Exception) -> SourceError:
        return SourceError(
            f"column {declared.name!r} mixes types, or is of one Arrow does not know", "give it one plain type"
        )

    dtype = column.dtype.name
    if policy.cell_by_cell:
        guessed = dtype == "bool" or dtype.startswith(("datetime64", "timedelta64"))
        if dtype == "object" or (guessed and declared.bounds is not None) or dtype.startswith(_NOT_OF_ARROW):
            return shielded(lambda: _texts_of(column, declared), explain, _ANY)
        if dtype == "category":
            return shielded(lambda: _folded_texts_of(column, declared), explain, _ANY)
    elif dtype == "object" and declared.is_read_by_cell and declared.bounds is None:
        return shielded(lambda: _texts_of(column, declared), explain, _ANY)
    try:
        return shielded(lambda: pa.array(column, from_pandas=True), explain, _ANY)
    except SourceError:
        if not (policy.cell_by_cell or declared.is_read_by_cell) or dtype not in ("object", "category"):
            raise
    return shielded(lambda: _texts_of(column, declared), explain, _ANY)


def _texts_of(cells: Iterable[Any], declared: Column) -> pa.StringArray:
    """Return the strings of Python objects, each by itself: as if it were in a column of its own type."""
    return pa.array([_object_text(cell, declared.bounds is not None) for cell in cells], pa.string())


def _folded_texts_of(column: Any, declared: Column) -> pa.DictionaryArray:
    """Return a column of categories with their strings: one more category may have changed the type of all."""
    codes = column.cat.codes.to_numpy()
    places = pa.array(codes.astype("int32"), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(places, _texts_of(column.cat.categories, declared))


def _object_text(cell: Any, is_number: bool) -> str | None:
    """Return the text of a Python object; what pandas takes for missing is missing."""
    kind = type(cell).__name__
    if kind.startswith("complex") and cell.imag == 0:  # a number of a column in which another cell is complex
        return _object_text(float(cell.real), is_number)
    if cell is None or kind in ("NAType", "NaTType") or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, str):
        text = cell
    elif kind in ("bool", "bool_"):
        text = str(cell).lower()
    elif kind == "Interval":  # its ends are floats where another cell is missing
        ends = f"{_object_text(cell.left, is_number)}, {_object_text(cell.right, is_number)}"
        text = f"{'[' if cell.closed_left else '('}{ends}{']' if cell.closed_right else ')'}"
    elif isinstance(cell, datetime.datetime | datetime.time | datetime.timedelta):
        text = str(cell_texts(pa.array([cell], from_pandas=True))[0])
    elif is_number and isinstance(cell, float) and math.isinf(cell):
        text = _BEYOND_ALL if cell > 0 else f"-{_BEYOND_ALL}"
    else:
        text = exact_decimal(str(cell)) or str(cell)
    return text.encode("utf-8", "replace").decode()  # halves of surrogate pairs are no characters


def _arrow_reader(data: Any) -> pa.RecordBatchReader:
    if isinstance(data, pa.Table):  # one dictionary for all chunks, so that the categories have one order
        return shielded(lambda: data.unify_dictionaries().to_reader(), _broken)
    if hasattr(data, "__arrow_c_stream__"):
        return shielded(lambda: pa.RecordBatchReader.from_stream(data), _broken, _ANY)
    if hasattr(data, "__arrow_c_array__"):
        return shielded(lambda: pa.Table.from_batches([pa.record_batch(data)]).to_reader(), _broken, _ANY)
    raise SourceError(
        f"a {type(data).__name__} is not a table", "give a path, a data frame, or anything with the Arrow interface"
    )


def _broken(error: Exception) -> SourceError:
    return SourceError("the table cannot be read through the Arrow interface", "convert it to a pyarrow.Table first")


_FILE = b"ARROW1"
_OLD_FEATHER = b"FEA1"
_END = b"\xff\xff\xff\xff\0\0\0\0"
_PART = 1 << 20  # bytes looked at a time


def open_arrow(table: FileTable, policy: Policy) -> CanonicalStream:
    """Open a file of Arrow IPC, which may be a file or a recorded stream.

    Raises
    ------
    SourceError
        It is neither, is damaged, or has a column of a type anonkit does not take.
    """

    def broken(_: Exception) -> SourceError:
        return SourceError(f"{table.shown} is not a whole file of Arrow IPC", "was it copied to its end?")

    start = shielded(lambda: _start(table), broken)
    if start.startswith(_OLD_FEATHER):
        raise SourceError(f"{table.shown} is Feather of version 1", "write it as version 2, which is Arrow IPC")
    if not start.startswith(_FILE) and not shielded(lambda: _is_ended(table), broken):
        raise broken(EOFError())  # between two batches the library takes a cut for the end
    schema = shielded(lambda: next(_batches(table, start)), broken)
    check_names(schema.names)
    wanted = canonical_schema(schema)

    def rows() -> Iterator[pa.RecordBatch]:
        stream = _batches(table, start)
        next(stream)
        yield from stream

    batches = sliced(shielded_iterator(rows(), broken))
    return CanonicalStream(schema=wanted, batches=canonical_batches(batches, wanted, safe=not policy.cell_by_cell))


def _start(table: FileTable) -> bytes:
    with pa.input_stream(str(table.path), compression=table.compression) as stream:
        start: bytes = stream.read(len(_FILE))
        return start


def _is_ended(table: FileTable) -> bool:
    """Return True if a stream ends with the mark that its writer puts there when it is done."""
    end = b""
    with pa.input_stream(str(table.path), compression=table.compression) as stream:
        if table.compression is None:
            stream.seek(max(stream.size() - len(_END), 0))
        while part := stream.read(_PART):
            end = (end + part)[-len(_END) :]
    return end == _END


def _batches(table: FileTable, start: bytes) -> Iterator[pa.Schema | pa.RecordBatch]:
    """Yield the schema, then the batches one by one; a file in a compressed one is read as the stream inside it."""
    if start.startswith(_FILE) and table.compression is None:
        with pa.memory_map(str(table.path)) as source, pa.ipc.open_file(source) as file:
            yield file.schema
            for number in range(file.num_record_batches):
                yield file.get_batch(number)
        return
    with pa.input_stream(str(table.path), compression=table.compression) as source:
        if start.startswith(_FILE):
            source.read(_PADDED)
        with pa.ipc.open_stream(source) as stream:
            yield stream.schema
            yield from stream


_PADDED = 8  # the magic bytes of a file, with what aligns the stream after them


_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ","}
_JSON = (".jsonl", ".ndjson", ".json")
_PARQUET = (".parquet", ".pq")
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}

FORMATS = (
    "CSV, TSV, JSON Lines (each also .gz or .zst), Parquet, Arrow IPC, workbooks, files of SPSS, SAS and Stata, data "
    "frames with the Arrow interface"
)


def open_table(data: object, policy: Policy) -> ParquetRows | Untyped | CanonicalStream:
    """Open a path or a table in memory; the policy has the strings that mean missing and the declared types.

    Raises
    ------
    SourceError
        There is no such file, its format is not known, or it is not a well-formed table.
    """
    if isinstance(data, FileTable):
        return _open_files(data, policy)
    if not isinstance(data, str | os.PathLike):
        return open_frame(data, policy)
    path = Path(data)
    if not shielded(path.exists, lambda _: SourceError(f"{str(path)!r} cannot be examined")):
        raise SourceError(f"{str(path)!r} does not exist")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    kind = "".join(suffixes[-2:-1] if compression else suffixes[-1:])
    if path.is_dir() or kind in _PARQUET:
        return open_parquet(path, policy)
    file = TextFile(str(path), compression, encoding_named(policy.encoding))
    if kind in _DELIMITERS:
        given = GivenLayout(declared=frozenset(policy.columns), by_shape=policy.cell_by_cell)
        return open_delimited(file, _DELIMITERS[kind], policy, given)
    if kind in _JSON:
        return open_json_lines(file, policy)
    raise SourceError(f"the format of {str(path)!r} is not known by its name", f"known formats: {FORMATS}")


def _open_files(table: FileTable, policy: Policy) -> ParquetRows | Untyped | CanonicalStream:
    """Open a table by its format, whatever the names of its files."""
    if table.format == TEXTS:
        return open_text_rows(table, policy)
    if table.format == "parquet":
        return open_parquet_files(table, policy)
    if table.format == "arrow":
        return open_arrow(table, policy)
    file = TextFile(str(table.path), table.compression, encoding_named(table.encoding or policy.encoding), table.shown)
    if table.format == "jsonl":
        return open_json_lines(file, policy)
    return open_delimited(file, DELIMITERS[table.format], policy, table.layout(policy))
