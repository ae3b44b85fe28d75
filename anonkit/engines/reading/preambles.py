# SPDX-License-Identifier: Apache-2.0
"""The layout of a delimited text: its delimiter, and the line of its header.

Above the header may be `sep=;`, lines that begin with `#`, and titles. They are found by the number of cells that
lines have, in the first part of the file. Whether the last `#` line is the header may also follow from the cells below
it, but under differential privacy by the declared names alone.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from anonkit.errors import ChoiceError, SourceError, option

DELIMITERS = (",", ";", "\t", "|")
"""Possible delimiters where none is declared."""

QUOTES = "double the quotes inside quoted cells"
"""Remedy for a cell with quotes in it."""

_OTHERS = (":", "^", "~", "\x01", "¦")
"""Rare delimiters, which are only pointed out."""
_ROWS, _MOST_TITLES = 64, 20
"""Rows that are looked at, and titles at most among them."""
_NUMBER = re.compile(r"[+-]?[0-9][0-9.,]*")
_LONGEST_NAME = 60


@dataclass(frozen=True, kw_only=True)
class GivenLayout:
    """The layout of a delimited text as options and the policy declare it."""

    has_header: bool = True
    """The first line below the preamble holds the names of the columns, and is no row."""
    names: Sequence[str] | None = None
    """Names of the columns of a file without a header; None: c1, c2, …"""
    delimiter: str | None = None
    """Delimiter of cells; None: by the name of the format, or by the header."""
    skip_rows: int | None = None
    """Lines above the header; None: they are found."""
    declared: Collection[str] = ()
    """Columns that the policy declares."""
    by_shape: bool = False
    """True under differential privacy: no cell decides."""


@dataclass(frozen=True, kw_only=True)
class TextLayout:
    """The header line of a delimited text, and the delimiter of its cells."""

    delimiter: str
    cells: Sequence[str]
    """Cells of the header, or of the first row where there is none."""
    above: int
    """Lines of text above them."""
    below: int
    """Lines of text above the first line that follows them."""
    has_rows: bool
    """True when rows follow in the inspected part."""
    renamed: bool = False
    """True when the header differs from its line in the file."""
    escape: bool = False
    """True when quotes inside quoted cells have a backslash before them."""
    notes: tuple[str, ...] = ()
    """Notes for the owner; without a cell."""


@dataclass(frozen=True)
class _Row:
    above: int
    below: int
    cells: Sequence[str]

    @property
    def filled(self) -> int:
        return sum(bool(cell.strip()) for cell in self.cells)


def layout_of(head: str, usual: str, given: GivenLayout, *, whole: bool, shown: str) -> TextLayout:
    """Return the layout of a text.

    Parameters
    ----------
    head : str
        Its first part, without a byte order mark.
    usual : str
        The delimiter of its format.
    whole : bool
        Whether the first part is all of it.
    shown : str
        What messages call it.

    Raises
    ------
    SourceError
        There is no line, or the header is not well-formed.
    ChoiceError
        A `#` line may be the header or a comment.
    """
    if not head.strip():
        raise SourceError(f"{shown} is empty", "a table needs at least a header line")
    lines = io.StringIO(head, newline="").readlines()
    declared, above = _declared_delimiter(lines[0])
    delimiter, comments = given.delimiter or declared, 0
    if given.skip_rows is not None:
        above = given.skip_rows
        if above >= len(lines):
            raise SourceError(
                f"{shown} has no line {above + 1}", f"{option('skip_rows')} counts the lines above the header"
            )
    elif given.has_header:
        while above + comments < len(lines) and _is_comment(lines[above + comments], delimiter or usual):
            comments += 1
    first = above + comments
    body = "".join(lines[first:])
    if not body.strip():  # a header with # before it and no row
        first, comments, body = above, 0, "".join(lines[above:])
    looks = given.skip_rows is None and given.has_header
    delimiter, rows, titles = _parted(body, usual, delimiter, whole, looks=looks)
    if not rows:
        raise SourceError(f"the header of {shown} has a quote that is never closed", QUOTES)
    row = rows[titles]
    cells, at, end, renamed = row.cells, first + row.above, first + row.below, False
    if given.skip_rows is not None and given.has_header and cells[0].startswith("#") and cells[0].strip("# "):
        cells, renamed = _without_mark(cells), True
    if comments and not titles:
        above_it = _cells_of(lines[first - 1].lstrip("#"), delimiter)
        if _is_header(above_it, rows, given, shown, first):
            cells, at, end, renamed = above_it, first - 1, first, True
    passed = lines[1 if declared else 0 : at] if given.skip_rows is None else []
    return TextLayout(
        delimiter=delimiter,
        cells=list(cells),
        above=at,
        below=end,
        has_rows=not whole or any(line.strip("\r\n") for line in lines[end:]) or len(lines) > end,
        renamed=renamed,
        escape=_escapes(body, delimiter, whole, given),
        notes=(
            *_notes(passed, cells, body, whole, given),
            *_narrower(usual, delimiter, body, whole, is_declared=(given.delimiter or declared) is not None),
        ),
    )


def _declared_delimiter(line: str) -> tuple[str | None, int]:
    """Return the delimiter of a first line `sep=;`, and the number of such lines, 0 or 1."""
    found = re.fullmatch(r'"?sep=(.)"?[;,\t|]*', line.strip("\r\n \ufeff"))
    return (found[1], 1) if found else (None, 1 if line.strip() == "sep=" else 0)


def _is_comment(line: str, delimiter: str) -> bool:
    """Return True if a line begins with #, and not with a first cell of # alone."""
    return line.startswith("#") and line[1:2] != delimiter and bool(line[1:].strip())


def _parted(
    body: str, usual: str, delimiter: str | None, whole: bool, *, looks: bool
) -> tuple[str, Sequence[_Row], int]:
    """Return the delimiter, the first rows under it, and how many of them are titles."""
    if delimiter is not None:
        rows = _rows(body, delimiter, whole)
        return delimiter, rows, _titles(rows) if looks else 0
    read = {one: _rows(body, one, whole) for one in dict.fromkeys((usual, *DELIMITERS))}
    titles = {one: _titles(rows) for one, rows in read.items()} if looks else {}
    usual_rows = read[usual]
    found = {one: n for one, n in titles.items() if n}
    even = [one for one, rows in read.items() if rows and len(rows[0].cells) > 1 and not _is_uneven(rows)]
    widest = max((len(read[one][0].cells) for one in even), default=0)
    if usual in even and usual not in found and len(usual_rows[0].cells) == widest:
        return usual, usual_rows, 0
    if found and not even:
        best = max(found, key=lambda one: len(read[one][found[one]].cells))
        return best, read[best], found[best]
    if usual_rows and len(usual_rows[0].cells) > 1 and usual not in found and not even:
        return usual, usual_rows, 0
    first = max((usual, *DELIMITERS), key=lambda one: (one in even, len(read[one][0].cells) if read[one] else 0))
    return first, read[first], titles.get(first, 0)


def _rows(text: str, delimiter: str, whole: bool) -> list[_Row]:
    """Return the first rows that are not empty; fewer, or none, where a quote is not closed."""
    rows: list[_Row] = []
    reader, above = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), 0
    with suppress(csv.Error):
        for cells in reader:
            if cells:
                rows.append(_Row(above, reader.line_num, cells))
            above = reader.line_num
            if len(rows) == _ROWS:
                return rows
        if rows and not whole and len(rows) > 1:
            rows.pop()  # it may be cut
    return rows


def _is_uneven(rows: Sequence[_Row]) -> bool:
    return len({len(row.cells) for row in rows}) > 1


def _titles(rows: Sequence[_Row]) -> int:
    """Return the number of title rows above the header: they look like titles, and all rows below have one width."""
    if len(rows) < 2:
        return 0
    width = len(rows[-1].cells)
    n = next((at for at, row in enumerate(rows) if len(row.cells) == width and not _is_padded_title(row, width)), 0)
    even = width > 1 and all(len(row.cells) == width for row in rows[n:])
    if not even or not 0 < n <= _MOST_TITLES:
        return 0
    return n if all(_is_title(row, following, width) for row, following in pairwise(rows[: n + 1])) else 0


def _is_padded_title(row: _Row, width: int) -> bool:
    """Return True if a row has the width of the table and one cell at most, as a spreadsheet saves a title."""
    return width > 2 and row.filled <= 1


def _is_title(row: _Row, following: _Row, width: int) -> bool:
    if row.filled > 1:
        return 2 * len(row.cells) <= width
    # one cell above two may be the header of a table whose rows begin with their names
    return width > 2 or " " in "".join(row.cells).strip() or following.above > row.below


def _is_header(cells: Sequence[str], rows: Sequence[_Row], given: GivenLayout, shown: str, line: int) -> bool:
    """Return True if a # line holds the names of the columns, by the first row below it.

    Raises
    ------
    ChoiceError
        It may be either.
    """
    below = rows[0].cells
    if len(cells) != len(below):
        return False
    if any(cell.strip() in given.declared for cell in cells):
        return True
    if any(cell.strip() in given.declared for cell in below):
        return False
    if len(cells) == 1:
        return " " not in cells[0].strip()
    if len({*cells}) < len(cells) or any(_NUMBER.fullmatch(cell.strip()) or not _is_name(cell) for cell in cells):
        return False
    if not given.by_shape and any(_NUMBER.fullmatch(cell.strip()) for cell in below):
        return True
    raise ChoiceError(
        f"line {line} of {shown} begins with # and has as many cells as the next line: it is the header, or a comment",
        f"{option('skip_rows', line - 1)} takes it for the header, {option('skip_rows', line)} the line below it",
    )


def _is_name(cell: str) -> bool:
    return 0 < len(cell.strip()) <= _LONGEST_NAME


def _without_mark(cells: Sequence[str]) -> list[str]:
    return [cells[0].lstrip("#").strip(), *cells[1:]]


def _cells_of(line: str, delimiter: str) -> list[str]:
    with suppress(csv.Error):
        cells = next(csv.reader([line], delimiter=delimiter, strict=True), [])
        return [cells[0].strip(), *cells[1:]] if cells else []
    return []


def _escapes(body: str, delimiter: str, whole: bool, given: GivenLayout) -> bool:
    """Return True if quotes inside quoted cells have a backslash before them, where nothing else reads the text.

    Under differential privacy never: a backslash in one row would change how another one is read.
    """
    if given.by_shape or '\\"' not in body:
        return False
    plain = _widths(body, delimiter, whole, escape=False)
    return (plain is None or len(plain) > 1) and len(_widths(body, delimiter, whole, escape=True) or ()) == 1


def _widths(body: str, delimiter: str, whole: bool, *, escape: bool) -> set[int] | None:
    """Return the numbers of cells that rows have; None where a row is not well-formed."""
    text = body if whole else body[: body.rfind("\n") + 1]
    how = {"escapechar": "\\", "doublequote": False} if escape else {}
    widths: set[int] = set()
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, **how)  # type: ignore[arg-type]
    try:
        widths.update(len(cells) for cells in rows if cells)
    except csv.Error:
        return None
    return widths


def _notes(passed: Sequence[str], cells: Sequence[str], body: str, whole: bool, given: GivenLayout) -> tuple[str, ...]:
    notes = []
    if any(line.strip() for line in passed):
        lines = "1 line above the header was" if len(passed) == 1 else f"{len(passed)} lines above the header were"
        notes.append(
            f"{lines} passed over: {option('skip_rows', len(passed))} says so, {option('skip_rows', 0)} reads them."
        )
    if len(cells) == 1 and not given.by_shape and given.delimiter is None:
        other = _other_delimiter(cells[0], body, whole)
        if other is not None:
            notes.append(
                f"The table has one column. With {other!r} between cells it would have more: "
                f"{option('delimiter', other)}."
            )
    return tuple(notes)


def _narrower(usual: str, delimiter: str, body: str, whole: bool, *, is_declared: bool) -> Iterator[str]:
    """Warn of a table of fewer columns under the usual delimiter, which header and rows have too."""
    rows = [] if is_declared or usual == delimiter else _rows(body, usual, whole)
    if rows and len(rows[0].cells) > 1 and not _is_uneven(rows):
        yield (
            f"Cells are parted by {delimiter!r}. Parted by {usual!r} they would be {len(rows[0].cells)} columns: "
            f"{option('delimiter', usual)}."
        )


def _other_delimiter(header: str, body: str, whole: bool) -> str | None:
    """Return a delimiter under which all rows would have as many cells as the header, two at least."""
    inside = next((one for one in DELIMITERS if one in header), None)
    if inside is not None:  # lines that are quoted as a whole
        return inside
    for one in _OTHERS:
        rows = _rows(body, one, whole)
        if len(rows) > 1 and len(rows[0].cells) > 1 and not _is_uneven(rows):
            return one
    return None
