# SPDX-License-Identifier: Apache-2.0
"""CSV and TSV files: every cell a string, in file order; malformed lines are named by their number.

The fast reader forgives a quote that is never closed: the rest of the file becomes one cell. Such a file always
has a cell with a line break in it, so those files, and the ones the fast reader refuses, are read once more by
a strict one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from anonkit.engines.reading.failures import shielded, shielded_iterator
from anonkit.engines.reading.names import check_names
from anonkit.engines.reading.text_cells import TextCells
from anonkit.engines.reading.text_files import TextFile
from anonkit.engines.reading.untyped import Untyped
from anonkit.errors import ParameterError, SourceError
from anonkit.policy.declaration import Policy
from anonkit.policy.encodings import COMMA

DELIMITERS = {"csv": ",", "tsv": "\t"}
"""What stands between the cells of a format, unless its header plainly uses another one."""
_DELIMITERS = (",", ";", "\t", "|")
_BLOCK = 8 << 20  # bytes parsed at a time; also the longest row
_QUOTES = "double the quotes inside quoted cells"
_HEAD = 1 << 20  # bytes in which the header must end
_LINE_ENDS = (b"\n", b"\r")
_BLANK, _LAST_ASCII = 0x20, 0x7F


def open_delimited(
    file: TextFile,
    delimiter: str,
    policy: Policy,
    *,
    has_header: bool = True,
    given_names: Sequence[str] | None = None,
) -> Untyped:
    """Open a CSV or TSV file.

    Parameters
    ----------
    has_header : bool
        Whether the first line holds the names of the columns, and is no row.
    given_names : sequence of str, optional
        Names of the columns of a file without a header; by default c1, c2, …

    Raises
    ------
    SourceError
        The file is empty, not UTF-8, damaged, or its header is not well-formed.
    ParameterError
        There are more or fewer names than columns.
    """
    table = _Delimited.of(file, delimiter, policy.missing_values, has_header=has_header, given_names=given_names)
    by_cell, comma = policy.cell_by_cell, policy.decimal == COMMA
    cells = {name: TextCells.of(policy.column(name), cell_by_cell=by_cell, comma=comma) for name in table.names}
    return Untyped(names=table.names, open=table.batches, cells_of=cells.__getitem__, knows_missing=True)


class CellTexts(Protocol):
    """A file as texts: the names of its columns, and its rows, with no text missing."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns, in order."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the file."""
        ...


def cell_texts_of(
    file: TextFile, kind: str, *, has_header: bool = True, given_names: Sequence[str] | None = None
) -> CellTexts:
    """Open a CSV or TSV file for the texts of its cells; which of them mean missing is asked later.

    Parameters
    ----------
    kind : str
        `csv` or `tsv`.
    has_header, given_names
        As for `open_delimited`.

    Raises
    ------
    SourceError, ParameterError
        As `open_delimited`.
    """
    return _Delimited.of(file, DELIMITERS[kind], (), has_header=has_header, given_names=given_names)


def first_rows(file: TextFile, kind: str) -> tuple[Sequence[str], Sequence[pa.Array]]:
    """Return the first line of a CSV or TSV file, and the cells below it in the first part of the file.

    Parameters
    ----------
    kind : str
        `csv` or `tsv`.

    Raises
    ------
    SourceError
        The file is empty, not UTF-8, or its first line is not well-formed. Lines further down that are not well-formed
        are passed over: whoever reads the table says so.
    """
    head, whole = file.head(_HEAD)
    names, delimiter, _ = _first_line(head, DELIMITERS[kind], file)
    rows = head if whole else head[: head.rfind("\n") + 1]  # the last line may be cut
    parsing = pacsv.ParseOptions(
        delimiter=delimiter, newlines_in_values=True, invalid_row_handler=lambda _: "skip", ignore_empty_lines=True
    )
    places = [str(at) for at in range(len(names))]
    reading = pacsv.ReadOptions(block_size=_BLOCK, column_names=places)
    conversion = pacsv.ConvertOptions(column_types=dict.fromkeys(places, pa.string()), null_values=[""])
    with suppress(pa.ArrowException):
        table = pacsv.read_csv(io.BytesIO(rows.encode()), reading, parsing, conversion)
        return names, [column.combine_chunks().slice(1) for column in table.columns]
    return names, [pa.array([], pa.string()) for _ in names]


def numbered_names(given: Sequence[str] | None, n_columns: int) -> list[str]:
    """Return the names of the columns of a table without a header: those that were given, or c1, c2 and so on.

    Raises
    ------
    ParameterError
        There are more or fewer names than columns.
    """
    if given is None:
        return [f"c{number}" for number in range(1, n_columns + 1)]
    if len(given) != n_columns:
        raise ParameterError(
            f"names has {len(given)} names, and the table has {n_columns} columns", "give every column its own name"
        )
    return list(given)


@dataclass(frozen=True, kw_only=True)
class _Delimited:
    file: TextFile
    names: Sequence[str]
    delimiter: str
    missing_values: Sequence[str]
    has_rows: bool
    has_header: bool

    @classmethod
    def of(
        cls,
        file: TextFile,
        delimiter: str,
        missing_values: Sequence[str],
        *,
        has_header: bool,
        given_names: Sequence[str] | None = None,
    ) -> _Delimited:
        """Read the first line; the delimiter is the format's unless that line plainly uses another one."""
        head, whole = file.head(_HEAD)
        names, delimiter, has_rows = _first_line(head, delimiter, file)
        if not has_header:
            names, has_rows = numbered_names(given_names, len(names)), True
        check_names(names)
        return cls(
            file=file,
            names=names,
            delimiter=delimiter,
            missing_values=missing_values,
            has_rows=has_rows or not whole,
            has_header=has_header,
        )

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the file, every cell a text or missing."""
        has_line_breaks = False
        for batch in shielded_iterator(self._read(), self._explain):
            if batch.schema.names != self.names:
                raise SourceError(f"the header of {self.file} is not well-formed", _QUOTES)
            has_line_breaks = has_line_breaks or any(map(_breaks_lines, batch.columns))
            yield batch
        failure = self._diagnose() if has_line_breaks else None
        if failure is not None:
            raise failure

    def _read(self) -> Iterator[pa.RecordBatch]:
        if not self.has_rows:  # the fast reader takes a header without a line end for an empty file
            return
        parsing = pacsv.ParseOptions(
            delimiter=self.delimiter,
            newlines_in_values=True,
            ignore_empty_lines=len(self.names) > 1,  # in a table of one column an empty line is a missing cell
        )
        conversion = pacsv.ConvertOptions(
            column_types=dict.fromkeys(self.names, pa.string()),
            null_values=list(self.missing_values),
            strings_can_be_null=True,
            check_utf8=False,  # cell by cell; whole columns are checked below
        )
        with self.file.open() as stream:
            for batch in pacsv.open_csv(
                stream,
                read_options=pacsv.ReadOptions(
                    block_size=_BLOCK, column_names=None if self.has_header else list(self.names)
                ),
                parse_options=parsing,
                convert_options=conversion,
            ):
                for texts in batch.columns:
                    if _raw(texts).max(initial=0) > _LAST_ASCII:
                        texts.validate(full=True)
                yield batch

    def _explain(self, error: Exception) -> SourceError:
        if isinstance(error, pa.ArrowInvalid):
            return self._diagnose() or SourceError(
                f"{self.file} is not a well-formed table, or has a row longer than {_BLOCK >> 20} MiB"
            )
        return self.file.broken(error)

    def _diagnose(self) -> SourceError | None:
        """Read the file slowly and strictly, to say which line breaks which rule."""
        return shielded(self._first_fault, self.file.broken)

    def _first_fault(self) -> SourceError | None:
        line = 1
        longest = csv.field_size_limit(_BLOCK)
        try:
            with self.file.open() as stream:
                text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
                rows = csv.reader(text, delimiter=self.delimiter, strict=True)
                for row in rows:
                    if row and len(row) != len(self.names):
                        first = "header" if self.has_header else "first line"
                        return SourceError(
                            f"line {line} of {self.file} has {_cells(len(row))} where the {first} has "
                            f"{len(self.names)}",
                            "quote cells that hold the delimiter",
                        )
                    line = rows.line_num + 1
        except UnicodeDecodeError:
            return self.file.not_utf8()
        except csv.Error:
            return SourceError(
                f"the row that starts in line {line} of {self.file} has a quote that is never closed",
                _QUOTES,
            )
        finally:
            csv.field_size_limit(longest)
        return None


def _first_line(head: str, delimiter: str, file: TextFile) -> tuple[list[str], str, bool]:
    """Return the cells of the first line, what stands between them, and whether anything follows.

    Raises
    ------
    SourceError
        There is no line, or it is not well-formed.
    """
    if not head.strip():
        raise SourceError(f"{file} is empty", "a table needs at least a header line")
    names, has_rows = _first_row(head, delimiter)
    if len(names) < 2:
        delimiter = max((delimiter, *_DELIMITERS), key=lambda other: len(_first_row(head, other)[0]))
        names, has_rows = _first_row(head, delimiter)
    if not names:
        raise SourceError(f"the header of {file} has a quote that is never closed", _QUOTES)
    return names, delimiter, has_rows


def _first_row(head: str, delimiter: str) -> tuple[list[str], bool]:
    """Return the first row that is not empty, and whether anything follows it; no row when it is malformed."""
    text = io.StringIO(head, newline="")
    with suppress(csv.Error):
        return next(filter(None, csv.reader(text, delimiter=delimiter, strict=True)), []), bool(text.read(1))
    return [], False


def _cells(n: int) -> str:
    return "1 cell" if n == 1 else f"{n} cells"


def _breaks_lines(texts: pa.StringArray) -> bool:
    """Tell whether a cell holds a line break, at the speed of a memory scan."""
    raw = _raw(texts)
    if raw.min(initial=_BLANK) >= _BLANK:
        return False
    return any(end in raw.tobytes() for end in _LINE_ENDS)


def _raw(texts: pa.StringArray) -> NDArray[np.uint8]:
    """Return the bytes of all cells."""
    data = texts.buffers()[2]
    return np.zeros(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
