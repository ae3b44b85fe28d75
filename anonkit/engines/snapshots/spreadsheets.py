# SPDX-License-Identifier: Apache-2.0
"""Workbooks (.xlsx, .xls, .xlsb, .ods): one sheet, every cell as the text that a CSV file would have of it.

No cell is typed by others of its column: a number is the shortest text that reads back as it, a truth value `true` or
`false`, a day `2020-01-31`, a moment `2020-01-31 10:05:00`, a time of day `10:05:00`, a formula its stored value. A
cell that holds an error (`#N/A`, `#DIV/0!`) is missing, and so is an empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.bundle.header_lines import refuse_record
from anonkit.bundle.json_documents import refuse_unpacked
from anonkit.engines.reading.delimited import numbered_names
from anonkit.engines.reading.parquet_tables import FileTable, check_names
from anonkit.engines.reading.sources import sliced
from anonkit.engines.snapshots.addresses import SourceAddress
from anonkit.engines.snapshots.private_copies import text_copy
from anonkit.errors import AnonkitError, MissingDependencyError, SourceError, did_you_mean, option
from anonkit.policy.declaration import Policy

if TYPE_CHECKING:
    from fastexcel import ExcelReader

_Value = TypeVar("_Value")

_NUMBER = r"^-?[0-9]+(\.[0-9]+)?$"
_LONGEST_NUMBER = 18  # characters of a fraction of 17 digits: more are of no other number
_MIDNIGHT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}) 00:00:00$"
_TIME_OF_DAY = r"^1899-12-3[01] ([0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?)$"
_OLD_CONTAINER = bytes.fromhex("d0cf11e0a1b11ae1")
_LOOKED_AT = 100_000  # rows of a sheet by which its names are judged
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


def live_table(address: SourceAddress, policy: Policy) -> Workbook:
    """Return the sheet of a workbook.

    Raises
    ------
    MissingDependencyError
        fastexcel is not installed.
    SourceError
        There is no such file.
    """
    address.refuse("query", "delimiter", of="a workbook")
    try:
        import fastexcel  # noqa: F401
    except ImportError:
        raise MissingDependencyError.of_extra("fastexcel", "excel") from None
    if not address.file_path.is_file():
        raise SourceError(f"{address.shown} does not exist")
    return Workbook(address, policy)


@dataclass(frozen=True)
class Workbook:
    """One sheet of a workbook, which its library holds in memory while it is copied."""

    address: SourceAddress
    policy: Policy

    def copy(self, folder: Path) -> FileTable:
        """Copy the sheet. See `anonkit.engines.snapshots.dispatch.LiveTable`."""
        reader = self._guarded(self._open)
        sheet = self._sheet(reader)
        self._refuse_beyond(reader, sheet)
        texts, numbers = (self._guarded(partial(self._load, reader, sheet, kind)) for kind in ("string", "float"))
        if texts.num_columns == 0 or texts.num_rows == 0:
            raise SourceError(
                f"sheet {sheet!r} of {self.address.shown} is empty", "a table needs at least a header row"
            )
        found = self._cells_among_names(texts, numbers, sheet)
        names, used = self._names(texts, numbers, sheet) if self.address.has_header else self._numbered(texts)
        first = 1 if self.address.has_header else 0
        copy = text_copy(folder, names, _rows(texts, numbers, used, names, first), self.address.place)
        return replace(copy, cells_among_names=found)

    def _cells_among_names(self, texts: pa.RecordBatch, numbers: pa.RecordBatch, sheet: str) -> int:
        """Refuse a sheet whose first row looks like a record."""
        if not self.address.is_looked_at:
            return 0
        part = min(texts.num_rows, _LOOKED_AT)
        columns = [
            _texts(column[:part], exact[:part]) for column, exact in zip(texts.columns, numbers.columns, strict=True)
        ]
        filled = [column for column in columns if column.null_count < len(column)]
        return refuse_record(
            [column[0].as_py() or "" for column in filled],
            [column[1:] for column in filled],
            shown=f"sheet {sheet!r} of {self.address.shown}",
            cell_by_cell=self.policy.cell_by_cell,
            declared=frozenset(self.policy.columns),
        )

    def _numbered(self, texts: pa.RecordBatch) -> tuple[list[str], list[int]]:
        """Return the names of the columns of a sheet without names, and their indices; columns without cells are none.

        Raises
        ------
        ParameterError
            There are more or fewer names than columns.
        """
        used = [at for at, column in enumerate(texts.columns) if column.null_count < len(column)]
        names = numbered_names(self.address.given_names, len(used))
        check_names(names)
        return names, used

    def _open(self) -> ExcelReader:
        import fastexcel

        path = self.address.file_path
        refuse_unpacked(path, self.address.shown)
        return fastexcel.read_excel(path if self.address.fetched is None else path.read_bytes())

    def _load(self, reader: ExcelReader, sheet: str, kind: Any) -> pa.RecordBatch:
        """Load all rows from the one with the names on, every cell of them as one kind."""
        row = self.address.first_row
        skipped = None if row is None else row - 1  # None: the empty rows at the start of a sheet
        return reader.load_sheet(sheet, header_row=None, skip_rows=skipped, dtypes=kind).to_arrow()

    def _sheet(self, reader: ExcelReader) -> str:
        """Return the name of the sheet of the option, or of the only one."""
        sheets, named = reader.sheet_names, self.address.sheet
        listed = ", ".join(map(repr, sheets))
        if named is not None:
            if named not in sheets:
                hint = did_you_mean(named, sheets) or f"its sheets: {listed}"
                raise SourceError(f"{self.address.shown} has no sheet {named!r}", hint)
            return named
        if len(sheets) != 1:
            raise SourceError(
                f"{self.address.shown} has {len(sheets)} sheets: {listed}",
                f"say which: {' or '.join(option('sheet', name) for name in sheets[:3]) or option('sheet', 'NAME')}",
            )
        return str(sheets[0])

    def _refuse_beyond(self, reader: ExcelReader, sheet: str) -> None:
        """Refuse a row of names below the last row of the sheet."""
        row = self.address.first_row
        if row is None:
            return
        height = self._guarded(
            lambda: reader.load_sheet(sheet, header_row=None, skip_rows=0, n_rows=1, dtypes="string")
        ).total_height
        if row > height:
            raise SourceError(f"sheet {sheet!r} of {self.address.shown} has no row {row}", f"it has {height} rows")

    def _names(self, texts: pa.RecordBatch, numbers: pa.RecordBatch, sheet: str) -> tuple[list[str], list[int]]:
        """Return the names of the columns, and their indices; columns without name and cells are none.

        Raises
        ------
        SourceError
            A column has no name, or that of another one.
        """
        names: list[str] = []
        used: list[int] = []
        for at, column in enumerate(texts.columns):
            name = _texts(column[:1], numbers.column(at)[:1])[0].as_py()
            if name is None or not name.strip():
                if column.null_count == len(column) or column[1:].null_count == len(column) - 1:
                    continue
                raise SourceError(
                    f"column {at + 1} of sheet {sheet!r} has cells and no name",
                    "give every column a name (a merged cell names its first column alone), or name their row with "
                    + option("header_row"),
                )
            if name in names:
                raise SourceError(
                    f"columns {used[names.index(name)] + 1} and {at + 1} of sheet {sheet!r} have the same name",
                    f"give every column its own name, or {option('header_row')} names their row",
                )
            names.append(name)
            used.append(at)
        if not names:
            raise SourceError(
                f"sheet {sheet!r} of {self.address.shown} has no names in row {self.address.first_row or 1}",
                f"{option('header_row')} names their row",
            )
        return names, used

    def _guarded(self, action: Callable[[], _Value]) -> _Value:
        """Return the result of an action of the library; its errors, which may quote cells, are replaced."""
        import fastexcel

        try:
            return action()
        except AnonkitError:
            raise
        except (fastexcel.FastExcelError, OSError, ValueError, pa.ArrowException) as error:
            failure = self._explain("assword" in str(error))
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # how a failed assertion of Rust comes, beside all Exceptions
                raise
            failure = self._explain(False)
        raise failure

    def _explain(self, is_protected: bool) -> SourceError:
        """Return the reason why a workbook cannot be read: the container of a protected one is of another kind."""
        shown = self.address.shown
        try:
            raw = self.address.file_path.read_bytes()
        except OSError:
            return SourceError(f"{shown} cannot be read to its end")
        if is_protected or (raw.startswith(_OLD_CONTAINER) and _ENCRYPTED in raw):
            return SourceError(f"{shown} is protected by a password", "save a copy of it without one")
        return SourceError(f"{shown} is not a readable workbook", "was it copied to its end?")


def _rows(
    texts: pa.RecordBatch, numbers: pa.RecordBatch, used: list[int], names: list[str], first: int
) -> Iterator[pa.RecordBatch]:
    """Yield the rows from a first one on; in a table of several columns a row without any cell is none, as in CSV."""
    wanted = texts.select(used)
    exact = numbers.select(used)
    for start, batch in _numbered(wanted, first):
        floats = exact.slice(start, batch.num_rows)
        cells = [_texts(*pair) for pair in zip(batch.columns, floats.columns, strict=True)]
        rows = pa.RecordBatch.from_arrays(cells, names=names)
        if len(names) > 1:
            filled = pa.array([False] * rows.num_rows)
            for column in cells:
                filled = pc.or_(filled, pc.is_valid(column))
            rows = rows.filter(filled)
        yield rows


def _numbered(texts: pa.RecordBatch, first: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    row = first
    for batch in sliced([texts.slice(first)]):
        yield row, batch
        row += batch.num_rows


def _texts(texts: pa.StringArray, numbers: pa.DoubleArray) -> pa.StringArray:
    """Return cells as a CSV file has them.

    The library rounds the text of a number to nine decimals. Where a text means another number than the cell, it was
    rounded, and the number is written out; a text that looks like a number means that number.
    """
    spelled = pc.fill_null(pc.and_(pc.match_substring_regex(texts, _NUMBER), pc.is_valid(numbers)), False)
    read = pc.if_else(spelled, texts, pa.scalar(None, pa.string())).cast(pa.float64())
    long = pc.and_(pc.match_substring(texts, "."), pc.greater(pc.utf8_length(texts), _LONGEST_NUMBER))
    rounded = pc.fill_null(pc.or_(pc.not_equal(read, numbers), pc.and_(spelled, long)), False)
    texts = pc.if_else(rounded, numbers.cast(pa.string()), texts)
    texts = pc.if_else(pc.fill_null(pc.equal(texts, "-0"), False), pa.scalar("0"), texts)
    texts = pc.replace_substring_regex(texts, _MIDNIGHT, r"\1")
    return pc.replace_substring_regex(texts, _TIME_OF_DAY, r"\1")
