# SPDX-License-Identifier: Apache-2.0
"""Files beside a table: trees, matrices, policies and recipes, read by one rule.

Text is UTF-8, with a byte order mark or without, or UTF-16 with one, else of the encoding that the policy declares.
Delimited files may use `,`, `;`, a tab or `|`. Cells lose the blanks around them, and letters are composed (NFC).
"""

from __future__ import annotations

import codecs
import csv
import io
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anonkit.domains.exact_decimals import composed_text
from anonkit.errors import PolicyError
from anonkit.policy.encodings import UTF8

Rows = Sequence[Sequence[str]]
"""Cells of each line."""

DELIMITERS = (",", ";", "\t", "|")
"""Possible delimiters of the cells of a line, the usual one first."""

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True, kw_only=True)
class SideTable:
    """The lines of a delimited file that are not empty."""

    name: str
    """The file in messages."""
    rows: tuple[tuple[str, ...], ...]
    """Cells of each line, without blanks around them, letters composed."""
    lines: tuple[int, ...]
    """Number of the line each row begins in, from 1."""
    delimiter: str = ","

    def line(self, at: int) -> str:
        """Return the place of a row, for messages."""
        return f"line {self.lines[at]} of {self.name!r}"

    def without_first(self) -> SideTable:
        """Return the rows below the first one."""
        return SideTable(name=self.name, rows=self.rows[1:], lines=self.lines[1:], delimiter=self.delimiter)


def read_side_text(path: Path, encoding: str = UTF8) -> str:
    """Return the text of a file.

    Parameters
    ----------
    encoding : str
        What it is written in where it has no byte order mark and is not UTF-8.

    Raises
    ------
    OSError
        It cannot be read.
    UnicodeDecodeError
        It is neither.
    """
    raw = path.read_bytes()
    marked = next((name for mark, name in _MARKS if raw.startswith(mark)), None)
    if marked is not None:
        return raw.decode(marked)
    if encoding != UTF8:
        try:
            text = raw.decode(UTF8)
        except UnicodeDecodeError:
            return raw.decode(encoding)
        return raw.decode(encoding) if "\0" in text else text
    return raw.decode(UTF8)


def read_side_toml(path: Path) -> dict[str, Any]:
    """Return the TOML document in a file.

    Raises
    ------
    OSError, UnicodeDecodeError
        As `read_side_text`.
    tomllib.TOMLDecodeError
        It is no TOML.
    """
    return tomllib.loads(read_side_text(path))


def read_side_table(
    where: str,
    what: str,
    location: str,
    folder: Path | None,
    encoding: str = UTF8,
    fits: Callable[[Rows], bool] = lambda _: True,
) -> SideTable:
    """Return the lines of a delimited file that a policy names.

    Parameters
    ----------
    where, what : str
        The column and the key, for messages.
    location : str
        The file, relative to the folder of the policy.
    encoding : str
        As for `read_side_text`: that of the policy.
    fits : callable
        Returns whether rows are what the file is to hold: the first delimiter under which they are is taken.

    Raises
    ------
    PolicyError
        It is not there, or is no delimited text.
    """
    file = f"{what} file {location!r}"
    try:
        text = read_side_text((folder or Path()) / location, encoding)
    except FileNotFoundError:
        raise PolicyError(f"{where}: {file} does not exist", "the path is relative to the policy file") from None
    except OSError:
        raise PolicyError(f"{where}: {file} cannot be read", "is it a file?") from None
    except UnicodeError:
        hint = 'encoding = "cp1252" in the policy holds for files beside it too; or save it as UTF-8'
        raise PolicyError(f"{where}: {file} is not {'UTF-8' if encoding == UTF8 else encoding} CSV", hint) from None
    if "\0" in text:
        raise PolicyError(f"{where}: {file} is not UTF-8 CSV", "save it as text, with a comma between the cells")
    first, _, rest = text.partition("\n")
    declared = first.strip().strip('"')
    skipped = 0
    if len(declared) == 5 and declared.startswith("sep="):  # a spreadsheet's line for its delimiter
        text, skipped, delimiters = rest, 1, declared[4]
    else:
        delimiters = "".join(DELIMITERS)
    read = [_rows(text, delimiter) for delimiter in delimiters]
    table = next(
        (found for found in read if found is not None and _is_even(found) and fits([cells for _, cells in found])), None
    )
    if table is None:
        parted = [found for found in read if found is not None and _first_width(found) > 1]
        table = max(parted, key=_first_width, default=read[0])
    if table is None:
        raise PolicyError(f"{where}: {file} has a quote that is never closed", "double the quotes inside quoted cells")
    return SideTable(
        name=location,
        rows=tuple(tuple(map(composed_text, cells)) for _, cells in table),
        lines=tuple(line + skipped for line, _ in table),
        delimiter=delimiters[read.index(table)],
    )


def _rows(text: str, delimiter: str) -> list[tuple[int, Sequence[str]]] | None:
    """Return the lines that are not empty, with their numbers; None where a quote is never closed."""
    rows: list[tuple[int, Sequence[str]]] = []
    line = 1
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append((line, cells))
            line = reader.line_num + 1
    except csv.Error:
        return None
    return rows


def _is_even(rows: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Return True if all lines have the same number of cells, two at least."""
    widths = {len(cells) for _, cells in rows}
    return len(widths) == 1 and min(widths) > 1


def _first_width(rows: Sequence[tuple[int, Sequence[str]]]) -> int:
    return len(rows[0][1]) if rows else 0
