# SPDX-License-Identifier: Apache-2.0
"""The form of a target, opened; and the rows of a release as every form takes them.

CSV and TSV: UTF-8, strings in quotes, a missing cell is nothing at all, and no string can pass for a formula.

An empty string is `""`, a missing cell is empty without quotes. A text that begins with `=`, `+`, `-`, `@`, a tab or a
carriage return, or with quotes or apostrophes before one of them, gets one apostrophe more in front. So does every part
of a text behind a semicolon, comma, bar, tab or line end: a spreadsheet that takes one of these for the mark between
cells, as its country's settings have it, begins a cell there. Columns' names likewise.
Numbers are written as numbers, -5 too: the shortest decimal that is theirs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv

from anonkit.bundle.atomic import reason_of
from anonkit.bundle.data_files import count_rows, iter_batches, read_schema
from anonkit.bundle.exports.embedded_tables import DuckdbExport, SqliteCopy, SqliteExport
from anonkit.bundle.exports.export_files import BATCH_ROWS, CopyForm, ExportedForm, ExportedRows, ExportFile, Target
from anonkit.bundle.exports.server_tables import ServerTable, exported_type
from anonkit.bundle.exports.sheets import Sheet
from anonkit.bundle.exports.statistics_tables import SpssTable, StataTable
from anonkit.bundle.release_place import COPIES
from anonkit.errors import EngineError, ParameterError

FORMULA = "(^|[;,|\t\r\n])([\"']*[=+\\-@\t\r＝＋－＠])"
"""Begins of a cell for a spreadsheet, and signs that it takes for a formula there, after quotes or apostrophes."""


class TextTable(ExportFile):
    """A release as CSV or TSV."""

    escapes_formulas: ClassVar[bool] = True
    delimiter: ClassVar[str] = ","

    def write_table(self, rows: ExportedRows, path: Path) -> None:
        """Write the rows."""
        names = [_guarded(pa.array([name])).to_pylist()[0] for name in rows.schema.names]
        schema = pa.schema([(name, field.type) for name, field in zip(names, rows.schema, strict=True)])
        options = pc_csv.WriteOptions(delimiter=self.delimiter, quoting_style="needed", batch_size=BATCH_ROWS)
        with pc_csv.CSVWriter(path, schema, write_options=options) as writer:
            for batch in rows.batches():
                cells = [_guarded(cell) if pa.types.is_string(cell.type) else cell for cell in batch.columns]
                writer.write_batch(pa.RecordBatch.from_arrays(cells, schema=schema))

    def columns(self) -> Sequence[tuple[str, str]]:
        """Return the names of the header; strings have no types."""
        with self.refusing_unreadable():
            return [(name, "") for name in self._reader([]).schema.names]

    def type_of(self, kind: pa.DataType) -> str:
        """Return no type."""
        return ""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the cells as strings."""
        with self.refusing_unreadable():
            names = self._reader([]).schema.names
            yield from self._reader(names)

    def _reader(self, names: Sequence[str]) -> Any:
        return pc_csv.open_csv(
            self.readable,
            read_options=pc_csv.ReadOptions(block_size=1 << 22, use_threads=False),
            parse_options=pc_csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=len(names) != 1
            ),
            convert_options=pc_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


class TabTable(TextTable):
    """A release as TSV."""

    delimiter: ClassVar[str] = "\t"


def _guarded(texts: pa.Array) -> pa.Array:
    """Return strings with an apostrophe before what could pass for a formula."""
    return pc.replace_substring_regex(texts, pattern=FORMULA, replacement=r"\1'\2")


class ArrowTable(ExportFile):
    """A release as an Arrow IPC file (Feather version 2)."""

    def write_table(self, rows: ExportedRows, path: Path) -> None:
        """Write the rows."""
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            for batch in rows.batches():
                writer.write_batch(batch)

    def columns(self) -> Sequence[tuple[str, str]]:
        """Return names and types."""
        with self.refusing_unreadable(), pa.ipc.open_file(pa.memory_map(str(self.readable))) as reader:
            return [(field.name, str(field.type)) for field in reader.schema]

    def type_of(self, kind: pa.DataType) -> str:
        """Return the type itself."""
        return str(kind)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the record batches."""
        with self.refusing_unreadable(), pa.ipc.open_file(pa.memory_map(str(self.readable))) as reader:
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)


_FORMS: dict[str, type[ExportedForm]] = {
    "csv": TextTable,
    "tsv": TabTable,
    "xlsx": Sheet,
    "sav": SpssTable,
    "dta": StataTable,
    "arrow": ArrowTable,
    "sqlite": SqliteExport,
    "duckdb": DuckdbExport,
    "postgresql": ServerTable,
}
_COPIES: dict[str, Callable[[Target], CopyForm]] = {
    "csv": TextTable,
    "tsv": TabTable,
    "xlsx": Sheet,
    "sav": SpssTable,
    "dta": StataTable,
    "arrow": ArrowTable,
    "sqlite": SqliteCopy,
}
_TICKS = 1000
"""Nanoseconds of a microsecond."""
_DAYS = tuple((day - date(1970, 1, 1)).days for day in (date.min, date.max))
"""First and last day of the years 1 to 9999, since 1970."""


def form_of(target: Target) -> ExportedForm:
    """Return the form of a target, nothing opened yet."""
    return _FORMS[target.form](target)  # type: ignore[call-arg]


def copy_at(path: Path) -> CopyForm:
    """Return the form of a copy of a release, at its place or where it is prepared; nothing is opened yet.

    Parameters
    ----------
    path : Path
        Ends in one of `COPIES`.
    """
    form = next(form for form, suffix in COPIES.items() if path.name.endswith(suffix))
    return _COPIES[form](Target(form=form, path=path, named=str(path)))


def write_copy(data: Path, path: Path) -> None:
    """Write the data of a release in another form, without sidecars: those of the release are the copy's too.

    Parameters
    ----------
    data : Path
        The Parquet file, or the folder of them.
    path : Path
        Of a file that is not there yet; ends in one of `COPIES`.

    Raises
    ------
    ParameterError
        The form cannot hold a name, a cell, or as many rows or columns.
    EngineError
        It cannot be written.
    MissingDependencyError
        The part that writes this form is not installed.
    """
    try:
        copy_at(path).write_table(ReleasedTable(data=data), path)
    except OSError as error:
        raise EngineError(f"cannot write {str(path)!r}: {reason_of(error)}") from None


@dataclass(frozen=True, kw_only=True)
class ReleasedTable:
    """The rows of a release in the types that every form has: NaN is missing, times are cut to microseconds."""

    data: Path

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types.

        Raises
        ------
        ParameterError
            A column is of a type that only the Parquet file can hold.
        """
        return pa.schema([(field.name, exported_type(field.name, field.type)) for field in read_schema(self.data)])

    @cached_property
    def categories(self) -> Mapping[str, Sequence[str]]:
        """Strings of columns that have a list of them, in its order, as the first rows of the data name them."""
        first = next(iter_batches(self.data, batch_rows=1), None)
        columns = () if first is None else zip(first.schema.names, first.columns, strict=True)
        return {
            name: cells.dictionary.cast(pa.string()).to_pylist()
            for name, cells in columns
            if pa.types.is_dictionary(cells.type) and exported_type(name, cells.type) == pa.string()
        }

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return count_rows(self.data)

    @cached_property
    def cut_columns(self) -> tuple[str, ...]:
        """Columns with times of which nanoseconds are cut off: only the Parquet file holds those."""
        names = [field.name for field in read_schema(self.data) if _is_fine(field.type)]
        found: set[str] = set()
        for batch in iter_batches(self.data, names, batch_rows=BATCH_ROWS) if names else ():
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                ticks = column.cast(pa.int64())
                if pc.any(pc.not_equal(pc.multiply(_whole(ticks), _TICKS), ticks)).as_py():
                    found.add(name)
        return tuple(name for name in names if name in found)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order.

        Raises
        ------
        ParameterError
            A column has dates or times outside the years 1 to 9999, or other cells that its exported type has not.
        """
        for batch in iter_batches(self.data, batch_rows=BATCH_ROWS):
            cells = [_cast(column, field) for column, field in zip(batch.columns, self.schema, strict=True)]
            yield pa.RecordBatch.from_arrays(cells, schema=self.schema)


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    """Return the cells of a column in its exported type; no error quotes one."""
    kind = field.type
    plain = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_nan(plain), pa.scalar(None, kind), plain)
    if _is_fine(plain.type):
        plain = _whole(plain.cast(pa.int64())).cast(kind)
    try:
        cells = plain if plain.type == kind else plain.cast(kind)
        beyond = pa.types.is_temporal(kind) and not pa.types.is_time(kind) and _is_beyond(cells)
    except pa.ArrowInvalid:
        beyond = True
    if beyond:
        what = "dates or times outside the years 1 to 9999" if pa.types.is_temporal(kind) else f"cells beyond {kind}"
        raise ParameterError(f"column {field.name!r} has {what}, which only the Parquet file can hold")
    return cells


def _is_fine(kind: pa.DataType) -> bool:
    """Return True if times have nanoseconds."""
    return bool((pa.types.is_timestamp(kind) or pa.types.is_time(kind)) and kind.unit == "ns")


def _whole(ticks: pa.Array) -> pa.Array:
    """Return whole microseconds of nanoseconds, rounded down before 1970 too: a time is cut, and never moved on."""
    cut = pc.divide(ticks, _TICKS)
    return pc.subtract(cut, pc.cast(pc.greater(pc.multiply(cut, _TICKS), ticks), pa.int64()))


def _is_beyond(cells: pa.Array) -> bool:
    """Return True if a date or time is outside the years that every form can spell."""
    by_day = pa.types.is_date(cells.type)
    ticks = cells.cast(pa.int32() if by_day else pa.int64())
    unit = 1 if by_day else 86_400 * 1_000_000
    first, end = _DAYS[0] * unit, (_DAYS[1] + 1) * unit
    return bool(pc.any(pc.or_(pc.less(ticks, first), pc.greater_equal(ticks, end))).as_py())
