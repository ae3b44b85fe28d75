# SPDX-License-Identifier: Apache-2.0
"""Excel sheets: strings are strings whatever they begin with, numbers have 15 digits, an empty string is an empty cell.

Dates from March 1900 on are dates of Excel. Earlier ones and all times are strings as in ISO 8601; integers of more
than 15 digits, decimals and numbers beyond 1e308 are strings too, because Excel cannot hold them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree
from zipfile import ZipFile

import pyarrow as pa

from anonkit.bundle.exports.export_files import BATCH_ROWS, ExportedRows, ExportFile
from anonkit.bundle.json_documents import refuse_unpacked
from anonkit.errors import MissingDependencyError, ParameterError

MOST_ROWS, MOST_COLUMNS, MOST_LETTERS = 1_048_576, 16_384, 32_767
"""Limits of a sheet; the header is one of its rows."""
LARGEST = 10**15
"""Integers from here on have more digits than Excel keeps."""
LEAST, MOST = 2.3e-308, 1e308
"""Numbers beyond these are none to Excel, infinite ones among them."""
_DAY_0, _FIRST_DAY = date(1899, 12, 30), date(1900, 3, 1)
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_CSV_INSTEAD = "export to CSV or into a database instead"


class Sheet(ExportFile):
    """A release as an Excel file of one sheet."""

    empty_is_missing: ClassVar[bool] = True
    typed_cells: ClassVar[bool] = True
    digits: ClassVar[int | None] = 15

    def refuse_unheld(self, names: Sequence[str], texts: Mapping[str, Sequence[str]]) -> None:
        """Refuse more columns than a sheet has, and names and strings that no cell can hold.

        Raises
        ------
        ParameterError
        MissingDependencyError
            xlsxwriter is not installed.
        """
        _writing_library()
        if len(names) > MOST_COLUMNS:
            raise ParameterError(
                f"the release has {len(names)} columns, a sheet of Excel holds {MOST_COLUMNS}", _CSV_INSTEAD
            )
        for at, name in enumerate(names):
            _refuse_text(f"the name of column {at + 1}", [name])
        for name, found in texts.items():
            _refuse_text(f"column {name!r}", found)

    def refuse_size(self, n_rows: int) -> None:
        """Refuse more rows than a sheet has."""
        if n_rows + 1 > MOST_ROWS:
            raise ParameterError(
                f"the release has {n_rows} rows, a sheet of Excel holds {MOST_ROWS - 1} and a header", _CSV_INSTEAD
            )

    def write_table(self, rows: ExportedRows, path: Path) -> None:
        """Write the rows, holding one at a time.

        Raises
        ------
        ParameterError
            There are more rows, columns or letters in a cell than a sheet can hold, or letters that it cannot.
        MissingDependencyError
            xlsxwriter is not installed.
        """
        xlsxwriter = _writing_library()
        self.refuse_size(rows.n_rows)
        self.refuse_unheld(rows.schema.names, {})
        plain = {f"strings_to_{kind}": False for kind in ("numbers", "formulas", "urls")}
        book = xlsxwriter.Workbook(str(path), {"constant_memory": True, "tmpdir": str(path.parent), **plain})
        try:
            sheet = book.add_worksheet("released")
            text = book.add_format({"num_format": "@", "quote_prefix": True})
            day = book.add_format({"num_format": "yyyy-mm-dd"})
            for at, name in enumerate(rows.schema.names):
                sheet.write_string(0, at, name, text)
            number = 0
            for batch in rows.batches():
                writers = [_writer(sheet, field.type, text, day) for field in batch.schema]
                for field, cells in zip(batch.schema, batch.columns, strict=True):
                    if pa.types.is_string(field.type):
                        _refuse_text(f"column {field.name!r}", cells.unique().to_pylist())
                columns = [cells.to_pylist() for cells in batch.columns]
                for row in zip(*columns, strict=True):
                    number += 1
                    for at, cell in enumerate(row):
                        if cell is not None and cell != "":
                            writers[at](number, at, cell)
                    if all(cell is None or cell == "" for cell in row):
                        sheet.write_blank(number, 0, None, text)  # else the row would not be there
        finally:
            book.close()

    def columns(self) -> Sequence[tuple[str, str]]:
        """Return the names of the first row; cells, not columns, have types."""
        with self.refusing_unreadable():
            header = next(self._rows(), {})
            return [(header.get(at, ("", ""))[1], "") for at in range(max(header, default=-1) + 1)]

    def type_of(self, kind: pa.DataType) -> str:
        """Return no type."""
        return ""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the cells as strings behind a letter for their type: s a text, n a number, b a truth value."""
        with self.refusing_unreadable():
            rows = self._rows()
            width, pending = max(next(rows, {}), default=-1) + 1, []
            for row in rows:
                if row and max(row) >= width:
                    row = {0: ("beside the table", "")}
                pending.append(row)
                if len(pending) == BATCH_ROWS:
                    yield _batch(pending, width)
                    pending = []
            if pending:
                yield _batch(pending, width)

    def _rows(self) -> Iterator[dict[int, tuple[str, str]]]:
        """Yield type and text of the cells of every row by column; rows that are not written have none."""
        refuse_unpacked(self.readable, repr(str(self.path)))
        with ZipFile(self.readable) as archive:
            shared: list[str] = []
            if "xl/sharedStrings.xml" in archive.namelist():
                with archive.open("xl/sharedStrings.xml") as file:
                    shared = [_text_of(item) for item in _elements(file, "si")]
            with archive.open("xl/worksheets/sheet1.xml") as file:
                expected = 1
                for row in _elements(file, "row"):
                    number = int(row.get("r") or expected)
                    yield from ({} for _ in range(min(number - expected, MOST_ROWS)))
                    expected = number + 1
                    cells = (_cell(cell, shared) for cell in row.iter(f"{_MAIN}c"))
                    found = {at: (kind, text) for at, kind, text in cells if text or kind == "f"}
                    if any(not 0 <= at < MOST_COLUMNS for at in found):  # "ZZZZZZ1" would make 300 million columns
                        raise ValueError
                    yield found


def _writing_library() -> Any:
    try:
        import xlsxwriter
    except ImportError:
        raise MissingDependencyError.of_extra("xlsxwriter, which Excel files need,", "excel") from None
    return xlsxwriter


def _elements(file: Any, tag: str) -> Iterator[ElementTree.Element]:
    """Yield the elements of a name as they end; each is dropped when the next one is read."""
    above: list[ElementTree.Element] = []
    # expat refuses entities that grow
    for event, element in ElementTree.iterparse(file, events=("start", "end")):  # noqa: S314
        if event == "start":
            above.append(element)
            continue
        above.pop()
        if element.tag == f"{_MAIN}{tag}":
            yield element
            above[-1].remove(element)


def _cell(cell: ElementTree.Element, shared: Sequence[str]) -> tuple[int, str, str]:
    at = 0
    for letter in (cell.get("r") or "").rstrip("0123456789"):
        at = at * 26 + ord(letter) - 64
    kind = cell.get("t", "n")
    if cell.find(f"{_MAIN}f") is not None:
        return at - 1, "f", ""
    if kind == "inlineStr":
        return at - 1, "s", _text_of(cell)
    value = cell.findtext(f"{_MAIN}v") or ""
    if kind == "s":
        return at - 1, "s", shared[int(value)]
    return at - 1, {"str": "s"}.get(kind, kind), value


def _text_of(element: ElementTree.Element) -> str:
    text = "".join(part.text or "" for part in element.iter(f"{_MAIN}t"))
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), text)


def _batch(rows: Sequence[dict[int, tuple[str, str]]], width: int) -> pa.RecordBatch:
    """Return cells as strings behind their type."""
    columns = [[kind + text for kind, text in (row.get(at, ("", "")) for row in rows)] for at in range(width)]
    return pa.RecordBatch.from_arrays(
        [pa.array([cell or None for cell in column], pa.string()) for column in columns],
        names=[str(at) for at in range(width)],
    )


def _writer(sheet: Any, kind: pa.DataType, text: Any, day: Any) -> Callable[[int, int, Any], Any]:
    """Return the function that writes a cell that is present, by the type of its column."""

    def number(row: int, column: int, value: Any) -> None:
        beyond = abs(value) >= LARGEST if isinstance(value, int) else value != 0 and not LEAST <= abs(value) < MOST
        if beyond:
            sheet.write_string(row, column, str(value), text)
        elif isinstance(value, float):  # rounded here and once: xlsxwriter rounds to 16 digits
            sheet.write_number(row, column, float(f"{value:.15g}"))
        else:
            sheet.write_number(row, column, value)

    def calendar(row: int, column: int, value: date) -> None:
        if value < _FIRST_DAY:
            sheet.write_string(row, column, value.isoformat(), text)
        else:
            sheet.write_number(row, column, (value - _DAY_0).days, day)

    def texts(row: int, column: int, value: Any) -> None:
        sheet.write_string(row, column, value if isinstance(value, str) else str(value), text)

    if pa.types.is_boolean(kind):
        return lambda row, column, value: sheet.write_boolean(row, column, value)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return number
    return calendar if pa.types.is_date(kind) else texts


def _refuse_text(where: str, texts: Sequence[str | None]) -> None:
    long = sum(text is not None and _letters(text) > MOST_LETTERS for text in texts)
    if long:
        raise ParameterError(
            f"{where} has texts of more than {MOST_LETTERS} letters, all that a cell of Excel holds", _CSV_INSTEAD
        )
    if any(text is not None and _ILLEGAL.search(text) for text in texts):
        raise ParameterError(f"{where} has control characters, which a sheet cannot hold", _CSV_INSTEAD)


def _letters(text: str) -> int:
    """Return the letters of a text as Excel counts them: those beyond the first 65,536 of Unicode are two."""
    return len(text) if len(text) * 2 <= MOST_LETTERS else len(text.encode("utf-16-le")) // 2
