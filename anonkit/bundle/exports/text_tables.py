# SPDX-License-Identifier: Apache-2.0
"""CSV and TSV: UTF-8, strings in quotes, a missing cell is nothing at all, and no string can pass for a formula.

An empty string is `""`, a missing cell is empty without quotes. A text that begins with `=`, `+`, `-`, `@`, a tab or a
carriage return, or with quotes or apostrophes before one of them, gets one apostrophe more in front. So does every part
of a text behind a semicolon, comma, bar, tab or line end: a spreadsheet that takes one of these for the mark between
cells, as its country's settings have it, begins a cell there. Columns' names likewise.
Numbers are written as numbers, -5 too: the shortest decimal that is theirs alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv

from anonkit.bundle.exports.export_files import ExportFile
from anonkit.bundle.exports.exported_form import BATCH_ROWS, ExportedRows

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
