# SPDX-License-Identifier: Apache-2.0
"""Files beside a table: generalization trees, matrices, policies and recipes, read by one rule.

Text is UTF-8, with a byte order mark or without, or UTF-16 with one, else of the encoding that the policy declares, as
it declares the decimal mark of numbers. Delimited files may use `,`, `;`, a tab or `|`. Cells lose the blanks around
them, and letters are composed (NFC). Typed values of a parsed TOML document are read by functions whose errors name the
key.

A generalization tree has one row a value, from the value to its coarsest group (`declared_tree`).
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from anonkit.domains.cell_values import composed_text
from anonkit.errors import PolicyError, did_you_mean

_Member = TypeVar("_Member", bound=StrEnum)


def refuse_unknown(where: str, raw: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse keys that a table does not have, with the closest name as a hint."""
    for key in raw:
        if key not in known:
            raise PolicyError(f"{where}: unknown key {key!r}", did_you_mean(key, known))


def expect(where: str, key: str, value: Any, kind: type) -> Any:
    """Return a value of a kind, or refuse it."""
    if not isinstance(value, kind):
        raise PolicyError(f"{where}: {key} must be a {'table' if kind is dict else kind.__name__}")
    return value


def optional_text(where: str, key: str, raw: Mapping[str, Any]) -> str | None:
    """Return a string, None where the key is absent."""
    value = raw.get(key)
    if value is not None and not isinstance(value, str):
        raise PolicyError(f"{where}: {key} must be a text in quotes")
    return value


def texts(where: str, key: str, values: object) -> list[str]:
    """Return a list of strings, or refuse what is none."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise PolicyError(f"{where}: {key} must be a list of texts in quotes", f'{key} = ["01234", "NO"]')
    return values


def numbers(where: str, key: str, values: object) -> list[float]:
    """Return a list of numbers, or refuse what is none."""
    if not isinstance(values, list) or not all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    ):
        raise PolicyError(f"{where}: {key} must be a list of numbers")
    return [float(value) for value in values]


def member(kind: type[_Member], where: str, key: str, value: object) -> _Member:
    """Return a value of an enumeration, or refuse it with the closest one as a hint."""
    try:
        return kind(str(value))
    except ValueError:
        raise PolicyError(f"{where}: {key} has an unknown value", did_you_mean(str(value), list(kind))) from None


def named_lines(where: str, key: str, raw: object) -> tuple[str, ...]:
    """Return a table of strings as lines `"name" = text`, or refuse what is none."""
    if not isinstance(raw, dict) or not all(isinstance(text, str) for text in raw.values()):
        raise PolicyError(f"{where}: {key} must be a table of texts in quotes", f'[{key}] stay = "mean(days) by ward"')
    return tuple('"' + name.replace('"', '""') + f'" = {text}' for name, text in raw.items())


UTF8 = "utf-8"
POINT, COMMA = ".", ","
ENCODINGS = (
    *(UTF8, "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1", "iso-8859-2", "iso-8859-15", "cp1250", "cp1251"),
    *("cp437", "cp850", "mac-roman", "koi8-r", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"),
)
"""Names of encodings that are taken, each also under its other names (`windows-1252`, `latin1`)."""

_NAMES = {codecs.lookup(name).name: name for name in ENCODINGS}


def encoding_named(name: str) -> str:
    """Return the name that anonkit uses for an encoding.

    Raises
    ------
    PolicyError
        There is none of this name in the list.
    """
    try:
        return _NAMES[codecs.lookup(name).name]
    except (LookupError, ValueError):  # ValueError: a zero byte in the name
        raise PolicyError(f"encoding {name!r} is not known", f"one of {', '.join(ENCODINGS)}") from None


def declared_encoding(raw: Mapping[str, Any]) -> str:
    """Return the encoding that the parsed TOML document of a policy declares, UTF-8 by default."""
    return encoding_named(optional_text("policy", "encoding", raw) or UTF8)


def decimal_named(mark: str) -> str:
    """Return the mark between a number and its fraction.

    Raises
    ------
    PolicyError
        It is neither a point nor a comma.
    """
    if mark not in (POINT, COMMA):
        raise PolicyError(f"decimal {mark!r} is not known", 'decimal = "," or decimal = "."')
    return mark


def declared_decimal(raw: Mapping[str, Any]) -> str:
    """Return the decimal mark that the parsed TOML document of a policy declares, a point by default."""
    return decimal_named(optional_text("policy", "decimal", raw) or POINT)


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


_HEADINGS = re.compile(
    r"(level|hierarchy|group)[ _-]?[0-9]*|value|leaf|code|category|((coarser|coarsest) )+group|parent"
)
"""Names that the columns of a tree commonly have, in lower case."""


def check_tree(where: str, tree: Sequence[Sequence[str]], place: Callable[[int], str] | None = None) -> None:
    """Refuse a tree whose rows differ in length, that lists a value twice, or whose levels do not refine the next.

    Parameters
    ----------
    place : callable, optional
        Names the line of a row of the tree, by its place from 0.

    Raises
    ------
    PolicyError
        It is one of these.
    """
    at_row = place or (lambda at: f"row {at + 1}")
    odd = next((at for at, path in enumerate(tree) if len(path) != len(tree[0])), None)
    if not tree or odd is not None:
        where_odd = "" if odd is None else f": {at_row(odd)} has {len(tree[odd])}, {at_row(0)} has {len(tree[0])}"
        raise PolicyError(
            f"{where}: every row of the tree must have the same number of levels{where_odd}",
            "value,group,coarser group",
        )
    seen: dict[str, int] = {}
    for at, path in enumerate(tree):
        if seen.setdefault(path[0], at) != at:
            raise PolicyError(
                f"{where}: a value appears twice in the tree, in {at_row(seen[path[0]])} and {at_row(at)}"
            )
    for level in range(1, len(tree[0]) - 1):
        parents: dict[str, tuple[str, int]] = {}
        for at, path in enumerate(tree):
            parent, first = parents.setdefault(path[level], (path[level + 1], at))
            if parent != path[level + 1]:
                raise PolicyError(
                    f"{where}: a group of tree level {level} has two different parents at level {level + 1}, in "
                    f"{at_row(first)} and {at_row(at)}",
                    "each level must refine the next",
                )


def declared_tree(
    where: str, name: str, raw: object, folder: Path | None, encoding: str = UTF8
) -> tuple[tuple[str, ...], ...]:
    """Return a tree as the policy has it: a list of paths, or a delimited file beside the policy.

    The first line of a file is a header, and no path, where its first cell is the name of the column, or each of its
    cells is a usual heading (`value`, `group`, `level 1`, …), and no other line has one of its cells at its place.

    Raises
    ------
    PolicyError
        It is neither, or the file cannot be read.
    """
    if isinstance(raw, list):
        return tuple(tuple(texts(where, "tree", path)) for path in raw)
    if not isinstance(raw, str):
        raise PolicyError(
            f"{where}: tree must be a CSV file or a list of paths", 'tree = [["2541", "25**", "2***"], …]'
        )
    table = read_side_table(where, "tree", raw, folder, encoding)
    if _is_header(table.rows, name):
        table = table.without_first()
    check_tree(where, table.rows, table.line)
    return table.rows


def _is_header(rows: Sequence[Sequence[str]], name: str) -> bool:
    if len(rows) < 2:
        return False
    first = [cell.casefold() for cell in rows[0]]
    if first[0] != name.casefold() and not all(map(_HEADINGS.fullmatch, first)):
        return False
    return not any(one.casefold() == other for row in rows[1:] for one, other in zip(row, first, strict=False))
