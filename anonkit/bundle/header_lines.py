# SPDX-License-Identifier: Apache-2.0
"""The first line of a table of strings: names of columns, or a record of somebody, whose cells no file may show.

A name looks like a cell where it is a number over numbers that lies within them, a date over dates, or a value that
is in two cells of its column at least and is not the only one there. Numbers that run evenly are names: years, or
1 to n. Where more than half of the names look so, the line is a record.

Tables that a caller hands over, as Arrow tables; what cannot be one is refused without a word of its cells.

What Arrow, other libraries and the objects in a column raise may quote cells, so that no error of theirs is passed on,
and none stays in `__context__`: ours is raised after the `except` block.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.errors import ChoiceError, ParameterError, SourceError, option, spoken

_PLAIN = "give every column one plain type"


def arrow_table(data: Any) -> pa.Table:
    """Return a table of pandas, Polars, Arrow, or another library that hands out streams of Arrow.

    Raises
    ------
    SourceError
        A column mixes types, or holds what is no cell; the stream breaks off.
    ParameterError
        It is no table.
    """
    if isinstance(data, pa.Table):
        table = data
    elif isinstance(data, pa.RecordBatch):
        table = pa.table(data)
    elif hasattr(data, "__arrow_c_stream__"):
        table = _streamed(data)
    else:
        raise ParameterError(f"a {type(data).__name__} is not a table")
    fault = _fault(table)
    if fault is not None:
        raise SourceError(fault, _PLAIN)
    return table


def _streamed(data: Any) -> pa.Table:
    try:
        return pa.table(pa.RecordBatchReader.from_stream(data))
    except Exception:  # objects and libraries raise whatever they like
        mixed = _mixed_column(data) if hasattr(data, "iloc") else None
    if mixed is None:
        raise SourceError("the table cannot be read", _PLAIN)
    raise SourceError(f"column {mixed!r} mixes types, or is of one Arrow does not know", _PLAIN)


def _mixed_column(frame: Any) -> str | None:
    """Return the name of the first column of pandas that makes no array."""
    for at, name in enumerate(frame.columns):
        try:
            pa.array(frame.iloc[:, at], from_pandas=True)
        except Exception:
            return name if isinstance(name, str) else None
    return None


def _fault(table: pa.Table) -> str | None:
    """Return the fault that keeps an Arrow table from being counted: strings that are no UTF-8."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowException:
            return f"column {name!r} holds cells that are not of its type"
    return None


_NUMBER = r"^[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?$"
_DATE = (
    r"^([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.]([0-9]{4}|[0-9]{2}))"
    r"([T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$"
)
_MOSTLY = 0.9
_SHORTEST_RUN = 3
_RUN_SHARE = 0.75
"""Names that are numbers, of which so many run evenly, are names."""
_DECLARED = 2
"""Columns of a policy, at least, of which one must be among the names: one alone may be mistyped."""


def cells_among_names(names: Sequence[str], columns: Sequence[pa.Array]) -> int:
    """Return the number of names of columns that look like cells of them.

    Parameters
    ----------
    names : sequence of str
        As the first line has them; an empty one looks like nothing.
    columns : sequence of pyarrow.Array
        The cells below each name, as strings; missing ones are null or empty.

    Privacy
    -------
    A count. It depends on cells.
    """
    even = _evenly_running(names)
    return sum(
        at not in even and _looks_like_a_cell(name.strip(), column)
        for at, (name, column) in enumerate(zip(names, columns, strict=True))
    )


def refuse_record(
    names: Sequence[str],
    columns: Sequence[pa.Array],
    *,
    shown: str,
    cell_by_cell: bool = False,
    declared: Collection[str] = (),
    hint: str | None = None,
) -> int:
    """Refuse a table whose first line looks like a record; return how many names look like cells, where it does not.

    Parameters
    ----------
    names, columns
        As for `cells_among_names`.
    shown : str
        What messages call the table.
    cell_by_cell : bool
        True under a promise of differential privacy: names and policy decide, no cell does.
    declared : collection of str
        Columns that the policy declares. Where half of the names are declared, the line holds names.
    hint : str, optional
        What to do, where the options for how a source is read are not at hand.

    Raises
    ------
    ChoiceError
        More than half of the names look like cells; under differential privacy: are numbers or dates, or none of
        several declared columns is among them. The message has counts alone.
    """
    if sum(name in declared for name in names) * 2 >= len(names):
        return 0
    if cell_by_cell and len(declared) >= _DECLARED and not any(name in declared for name in names):
        raise _record(shown, f"none of the {len(declared)} columns of the policy is in it", hint)
    found = _numbers_and_dates(names) if cell_by_cell else cells_among_names(names, columns)
    if 2 * found > len(names):
        like = "numbers or dates" if cell_by_cell else "like those below them"
        raise _record(shown, f"{found} of its {len(names)} cells are {like}", hint)
    return found


def notes_on_names(found: int) -> list[str]:
    """Describe that some names look like cells; nothing where none does."""
    if not found:
        return []
    what = "1 name of a column looks like a cell" if found == 1 else f"{found} names of columns look like cells"
    so = spoken(python="header=False reads it so", typed="--no-header reads it so")
    return [f"{what}: if the first line is a record, {so}."]


_READ_AS_RECORD = spoken(python="header=False or names=[…] reads it so", typed="--no-header or --names A,B reads it so")


def _record(shown: str, why: str, hint: str | None) -> ChoiceError:
    return ChoiceError(
        f"the first line of {shown} looks like a record, not names: {why}",
        hint or f"{_READ_AS_RECORD}; {option('header', True)} insists that it holds the names",
    )


def _evenly_running(names: Sequence[str]) -> set[int]:
    """Return the places of names that are numbers, where most of these have one distance, such as years."""
    places = [at for at, name in enumerate(names) if re.match(_NUMBER, name.strip())]
    values = [float(names[at].strip().replace(",", ".")) for at in places]
    longest = run = 1
    for at in range(1, len(values)):
        step = values[at] - values[at - 1]
        goes_on = at > 1 and run > 1 and step == values[at - 1] - values[at - 2]
        run = run + 1 if goes_on else 2 if step else 1
        longest = max(longest, run)
    return set(places) if longest >= max(_SHORTEST_RUN, _RUN_SHARE * len(values)) else set()


def _numbers_and_dates(names: Sequence[str]) -> int:
    even = _evenly_running(names)
    return sum(
        at not in even and bool(re.match(_NUMBER, name.strip()) or re.match(_DATE, name.strip()))
        for at, name in enumerate(names)
    )


def _looks_like_a_cell(name: str, column: pa.Array) -> bool:
    if not name:
        return False
    cells = pc.utf8_trim_whitespace(column.cast(pa.string()))
    cells = cells.filter(pc.fill_null(pc.not_equal(cells, ""), False))
    if re.match(_NUMBER, name) and _mostly(cells, _NUMBER):
        numbers = _numbers(cells.filter(pc.match_substring_regex(cells, _NUMBER)))
        (value,) = _numbers(pa.array([name])).to_pylist()
        extremes = pc.min_max(numbers).as_py()
        return bool(extremes["min"] <= value <= extremes["max"])
    if re.match(_DATE, name) and _mostly(cells, _DATE):
        return True
    equal = pc.sum(pc.equal(cells, name)).as_py() or 0
    return 2 <= equal < len(cells)


def _mostly(cells: pa.StringArray, pattern: str) -> bool:
    matching = pc.sum(pc.match_substring_regex(cells, pattern)).as_py() or 0
    return len(cells) > 0 and matching >= _MOSTLY * len(cells)


def _numbers(texts: pa.StringArray) -> pa.DoubleArray:
    return pc.replace_substring(pc.utf8_ltrim(texts, "+"), ",", ".").cast(pa.float64())
