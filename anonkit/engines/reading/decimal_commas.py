# SPDX-License-Identifier: Apache-2.0
"""Numbers with a decimal comma, in text files whose policy declares so: `1,5` is one and a half, `1.5` no number.

Each cell is read by itself. A point is never taken for a separator of thousands: `1.500` could be either, and a table
in which both occur is better refused, or read as strings, than wrong by a factor of a thousand.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.policy.column_declarations import Column, ColumnType

_FIGURES = r"^\s*[+-]?[0-9.,]+([eE][+-]?[0-9]+)?\s*$"
_BETWEEN = "\ue000"  # replaces the comma while the two change places; no text of figures has it

Parse = Callable[[pa.Array], pa.Array | None]
"""Returns typed cells, or None when some cell does not fit."""


def with_points(texts: pa.Array) -> pa.Array:
    """Return cells made of figures with point and comma in each other's place, all others as they are.

    What reads as a number then was written with a comma; what was written with a point reads as none.
    """
    figures = pc.fill_null(pc.match_substring_regex(texts, _FIGURES), False)
    changed = pc.replace_substring(texts, ",", _BETWEEN)
    changed = pc.replace_substring(pc.replace_substring(changed, ".", ","), _BETWEEN, ".")
    return pc.if_else(figures, changed, texts)


def reading_commas(parse: Parse) -> Parse:
    """Return a parser of numbers that takes commas for what parts them from their fraction."""

    def parse_commas(texts: pa.Array) -> pa.Array | None:
        return parse(with_points(texts))

    return parse_commas


def is_number(column: Column) -> bool:
    """Return True if a column is declared to hold numbers, which no list of categories spells."""
    declared = column.bounds is not None or column.ladder is not None or column.type in _NUMBERS
    return declared and column.domain_values is None


_NUMBERS = (ColumnType.INTEGER, ColumnType.NUMBER)
