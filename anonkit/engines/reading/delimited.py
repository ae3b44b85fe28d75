# SPDX-License-Identifier: Apache-2.0
"""CSV and TSV files: every cell a string, in file order; malformed lines are named by their number.

The fast reader forgives a quote that is never closed: the rest of the file becomes one cell. Such a file always
has a cell with a line break in it, so those files, and the ones the fast reader refuses, are read once more by
a strict one.

Text files, compressed or not: opening them, sampling their start, and the errors of the file itself.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from anonkit.engines.reading.failures import shielded, shielded_iterator
from anonkit.engines.reading.parquet_tables import check_names
from anonkit.engines.reading.preambles import QUOTES, GivenLayout, TextLayout, layout_of
from anonkit.engines.reading.text_cells import TextCells, Untyped
from anonkit.errors import ParameterError, SourceError, spoken
from anonkit.policy.declaration import Policy
from anonkit.policy.side_files import COMMA, UTF8

_CONTROLS = bytes({*range(1, 32), 127} - set(b"\t\n\r\f"))
_WITH_NUL = "NUL"
_PART = 8 << 20  # bytes looked at a time


@dataclass(frozen=True)
class TextFile:
    """A file of text, compressed or not, read as UTF-8. Its string is its name in messages: its path in quotes."""

    path: str
    compression: str | None
    encoding: str = UTF8
    """Encoding of the file, one of `anonkit.policy.side_files.ENCODINGS`."""
    shown: str | None = None
    """Name in messages, where it is a private copy of something else."""

    def __str__(self) -> str:
        return repr(self.path) if self.shown is None else self.shown

    def open(self) -> pa.NativeFile:
        """Open the file at its start, decompressed, as UTF-8."""
        stream = self._raw()
        return stream if self.encoding == UTF8 else pa.transcoding_input_stream(stream, self.encoding, UTF8)

    def _raw(self) -> pa.NativeFile:
        return pa.input_stream(self.path, compression=self.compression)

    def head(self, n_bytes: int) -> tuple[str, bool]:
        """Return the first bytes as text, without a byte order mark, and whether they are the whole file.

        Raises
        ------
        SourceError
            The file cannot be read, or is not UTF-8.
        """

        def read() -> tuple[bytes, bool]:
            with self.open() as stream:
                return stream.read(n_bytes), not stream.read(1)

        raw, whole = shielded(read, self.broken)
        if b"\0" in raw:  # UTF-16, or no text at all
            raise self.not_utf8()
        decoder = codecs.getincrementaldecoder("utf-8-sig")()  # the last character may be cut
        return shielded(lambda: decoder.decode(raw, whole), lambda _: self.not_utf8()), whole

    def unreadable(self) -> SourceError:
        """Return the error for a damaged file."""
        if self.compression is None:
            return SourceError(f"{self} cannot be read to its end")
        return SourceError(f"{self} is not a whole {self.compression} file", "was it copied to its end?")

    def broken(self, error: Exception) -> SourceError:
        """Return the error for a file that cannot be read on."""
        return self.not_utf8() if isinstance(error, UnicodeError) else self.unreadable()

    def not_utf8(self) -> SourceError:
        """Return the error for a file in another encoding, with that encoding as far as its bytes show it."""
        fitting = shielded(self._fitting, lambda _: self.unreadable())
        if fitting == _WITH_NUL:
            return SourceError(
                f"{self} has NUL characters in its text", "take them out: no cell of a text file has any"
            )
        if fitting is None:
            hint = "is it a text file?"
        elif fitting == self.encoding:
            hint = "it begins as such a text does: is it damaged?"
        else:
            hint = f'{spoken(python="", typed=f"--encoding {fitting}, or ")}encoding = "{fitting}" in the policy'
        return SourceError(f"{self} is not {'UTF-8' if self.encoding == UTF8 else self.encoding} text", hint)

    def _fitting(self) -> str | None:
        """Return the encoding that the whole file fits; None where it is no text, `_WITH_NUL` with NUL.

        UTF-16 is recognized by its mark, or by zeros in every second byte, as Western strings have. Almost any bytes
        are text of one byte a character: a file with none of the five bytes that cp1252 lacks is proposed to be that.
        """
        start, zeros, fits, controls = b"", [0, 0], {UTF8: True, "cp1252": True}, 0
        utf8 = codecs.getincrementaldecoder(UTF8)()
        at = 0
        with self._raw() as stream:
            while part := stream.read(_PART):
                start = start or part[:2]
                zeros[at % 2] += part[::2].count(0)
                zeros[1 - at % 2] += part[1::2].count(0)
                at += len(part)
                controls += len(part) - len(part.translate(None, _CONTROLS))
                for name, decode in ((UTF8, utf8.decode), ("cp1252", lambda raw: raw.decode("cp1252"))):
                    fits[name] = fits[name] and _decodes(decode, part)
        if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        if any(zeros):
            even, odd = zeros
            most = max(even, odd) > at / 4 and min(even, odd) < max(even, odd) / 16
            if most:
                return "utf-16-le" if odd > even else "utf-16-be"
            return _WITH_NUL if fits[UTF8] and not controls else None
        if self.encoding != UTF8 and fits[UTF8]:
            return UTF8
        return "cp1252" if fits["cp1252"] else "latin-1"


def _decodes(decode: Callable[[bytes], str], part: bytes) -> bool:
    try:
        decode(part)
    except UnicodeDecodeError:
        return False
    return True


DELIMITERS = {"csv": ",", "tsv": "\t"}
"""Delimiter of a format, unless its header plainly uses another one."""
_BLOCK = 8 << 20  # bytes parsed at a time; also the longest row
_HEAD = 1 << 20  # bytes in which the header must end
_LINE_ENDS = (b"\n", b"\r")
_BLANK, _LAST_ASCII, _BACKSLASH, _QUOTE = 0x20, 0x7F, 0x5C, 0x22


def open_delimited(file: TextFile, delimiter: str, policy: Policy, given: GivenLayout) -> Untyped:
    """Open a CSV or TSV file.

    Parameters
    ----------
    delimiter : str
        That of the format.
    given : GivenLayout
        Declared layout of its lines.

    Raises
    ------
    SourceError
        The file is empty, not UTF-8, damaged, or its header is not well-formed.
    ChoiceError
        The header line must be declared.
    ParameterError
        There are more or fewer names than columns.
    """
    table = _Delimited.of(file, delimiter, policy.missing_values, given)
    by_cell, comma = policy.cell_by_cell, policy.decimal == COMMA
    cells = {name: TextCells.of(policy.column(name), cell_by_cell=by_cell, comma=comma) for name in table.names}
    return Untyped(names=table.names, open=table.batches, cells_of=cells.__getitem__, knows_missing=True)


class CellTexts(Protocol):
    """A file as strings: the names of its columns, and its rows, with no cell missing."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns, in order."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the file."""
        ...


def cell_texts_of(file: TextFile, kind: str, given: GivenLayout) -> CellTexts:
    """Open a CSV or TSV file for the strings of its cells; which of them mean missing is decided later.

    Parameters
    ----------
    kind : str
        `csv` or `tsv`.
    given : GivenLayout
        As for `open_delimited`.

    Raises
    ------
    SourceError, ChoiceError, ParameterError
        As `open_delimited`.
    """
    return _Delimited.of(file, DELIMITERS[kind], (), given)


def first_rows(
    file: TextFile, kind: str, given: GivenLayout
) -> tuple[Sequence[str], Sequence[pa.Array], tuple[str, ...]]:
    """Return the header of a CSV or TSV file, the cells below it in the first part of the file, and notes on its lines.

    Parameters
    ----------
    kind : str
        `csv` or `tsv`.
    given : GivenLayout
        As for `open_delimited`.

    Raises
    ------
    SourceError, ChoiceError
        The file is empty, not UTF-8, or its header is not well-formed. Lines further down that are not well-formed
        are passed over: whoever reads the table says so.
    """
    head, whole = file.head(_HEAD)
    layout = layout_of(head, DELIMITERS[kind], given, whole=whole, shown=str(file))
    names = layout.cells
    lines = io.StringIO(head, newline="").readlines()[layout.below :]
    rows = "".join(lines) if whole else "".join(lines[:-1])  # the last line may be cut
    parsing = pacsv.ParseOptions(
        delimiter=layout.delimiter,
        newlines_in_values=True,
        invalid_row_handler=lambda _: "skip",
        ignore_empty_lines=True,
        **_escaping(layout),
    )
    places = [str(at) for at in range(len(names))]
    reading = pacsv.ReadOptions(block_size=_BLOCK, column_names=places)
    conversion = pacsv.ConvertOptions(column_types=dict.fromkeys(places, pa.string()), null_values=[""])
    with suppress(pa.ArrowException):
        table = pacsv.read_csv(io.BytesIO(rows.encode()), reading, parsing, conversion)
        return names, [column.combine_chunks() for column in table.columns], layout.notes
    return names, [pa.array([], pa.string()) for _ in names], layout.notes


def _escaping(layout: TextLayout) -> dict[str, Any]:
    return {"escape_char": "\\", "double_quote": False} if layout.escape else {}


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
    layout: TextLayout
    missing_values: Sequence[str]
    has_rows: bool
    has_header: bool

    @classmethod
    def of(cls, file: TextFile, delimiter: str, missing_values: Sequence[str], given: GivenLayout) -> _Delimited:
        """Read the first lines; the delimiter is the format's unless the header plainly uses another one."""
        head, whole = file.head(_HEAD)
        layout = layout_of(head, delimiter, given, whole=whole, shown=str(file))
        names, has_rows = list(layout.cells), layout.has_rows
        if not given.has_header:
            names, has_rows = numbered_names(given.names, len(names)), True
        check_names(names)
        return cls(
            file=file,
            names=names,
            layout=layout,
            missing_values=missing_values,
            has_rows=has_rows,
            has_header=given.has_header,
        )

    @property
    def _skipped(self) -> int:
        """Lines that the fast reader leaves out: it takes the names itself where they begin the file."""
        layout = self.layout
        if not self.has_header:
            return layout.above
        return layout.below if layout.above or layout.renamed else 0

    @property
    def _takes_names(self) -> bool:
        return self.has_header and not self._skipped

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the file, every cell a text or missing."""
        is_odd = False
        for batch in shielded_iterator(self._read(), self._explain):
            if batch.schema.names != self.names:
                raise SourceError(f"the header of {self.file} is not well-formed", QUOTES)
            is_odd = is_odd or any(map(_may_be_misread, batch.columns))
            yield batch
        failure = self._diagnose() if is_odd else None
        if failure is not None:
            raise failure

    def _read(self) -> Iterator[pa.RecordBatch]:
        if not self.has_rows:  # the fast reader takes a header without a line end for an empty file
            return
        parsing = pacsv.ParseOptions(
            delimiter=self.layout.delimiter,
            newlines_in_values=True,
            ignore_empty_lines=len(self.names) > 1,  # in a table of one column an empty line is a missing cell
            **_escaping(self.layout),
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
                    block_size=_BLOCK,
                    column_names=None if self._takes_names else list(self.names),
                    skip_rows=self._skipped,
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
        line = self._skipped + 1
        longest = csv.field_size_limit(_BLOCK)
        try:
            with self.file.open() as stream:
                text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
                for _ in range(self._skipped):
                    text.readline()
                escaping: Any = {"escapechar": "\\", "doublequote": False} if self.layout.escape else {}
                rows = csv.reader(text, delimiter=self.layout.delimiter, strict=True, **escaping)
                for row in rows:
                    if row and len(row) != len(self.names):
                        first = "header" if self.has_header else "first line"
                        return SourceError(
                            f"line {line} of {self.file} has {_cells(len(row))} where the {first} has "
                            f"{len(self.names)}",
                            "quote cells that hold the delimiter",
                        )
                    line = self._skipped + rows.line_num + 1
        except UnicodeDecodeError:
            return self.file.not_utf8()
        except csv.Error as error:
            what = "inside it that is not doubled" if "expected after" in str(error) else "that is never closed"
            return SourceError(f"the row that starts in line {line} of {self.file} has a quote {what}", QUOTES)
        finally:
            csv.field_size_limit(longest)
        return None


def _cells(n: int) -> str:
    return "1 cell" if n == 1 else f"{n} cells"


def _may_be_misread(texts: pa.StringArray) -> bool:
    """Return True if a cell holds a line break, or a quote beside a backslash, at the speed of a memory scan."""
    raw = _raw(texts)
    if raw.min(initial=_BLANK) < _BLANK and any(end in raw.tobytes() for end in _LINE_ENDS):
        return True
    return bool((raw == _BACKSLASH).any() and (raw == _QUOTE).any())


def _raw(texts: pa.StringArray) -> NDArray[np.uint8]:
    """Return the bytes of all cells."""
    data = texts.buffers()[2]
    return np.zeros(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
