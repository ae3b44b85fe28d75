# SPDX-License-Identifier: Apache-2.0
"""Columns in which a point may separate thousands: `1.234` beside `900`. They are read as decimals, with a note.

Of a text file the cells of its first part decide; in columns of strings every cell is counted. A column whose form is
declared holds no such doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.side_files import POINT

_GROUPED, _WHOLE = r"^\s*[+-]?[1-9][0-9]{0,2}\.[0-9]{3}\s*$", r"^\s*[+-]?[0-9]{1,3}\s*$"
_COUNTS = 3  # of each column: grouped, whole, neither


def _may_have_groups(column: Column) -> bool:
    """Return True if points of a column may separate thousands: numbers may occur, and their form is not declared.

    A column declared as text, dates or values of a list has no numbers.
    """
    numbers = column.type in (None, ColumnType.NUMBER, ColumnType.INTEGER)
    declared = column.number_form is not None or column.domain_values is not None or column.calendar is not None
    return numbers and not declared and column.role not in (Role.UNIT, Role.IDENTIFIER)


def text_columns_of_groups(schema: pa.Schema, policy: Policy) -> list[str]:
    """Return the text columns in which points may separate thousands."""
    return [f.name for f in schema if pa.types.is_string(f.type) and _may_have_groups(policy.column(f.name))]


def columns_of_groups(names: Sequence[str], columns: Sequence[pa.Array], policy: Policy) -> tuple[str, ...]:
    """Return the columns of strings that hold integers beside ones with three figures after a point.

    Parameters
    ----------
    columns : sequence of pyarrow.StringArray
        Their cells, or some of them.
    """
    if policy.decimal != POINT:
        return ()
    candidates = [each for each in zip(names, columns, strict=True) if _may_have_groups(policy.column(each[0]))]
    count = CountGroups(names=[name for name, _ in candidates])
    return count.found(np.concatenate([np.zeros(0, np.int64), *(_counts(cells) for _, cells in candidates)]))


@dataclass(frozen=True, kw_only=True)
class CountGroups:
    """Counts the cells of text columns that are a group, a point and three figures; integers; and neither."""

    names: Sequence[str]

    @property
    def size(self) -> int:
        """Number of counts."""
        return _COUNTS * len(self.names)

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        """Return the counts of each column, shape (size,)."""
        return np.concatenate([np.zeros(0, np.int64), *(_counts(batch.column(name)) for name in self.names)])

    def found(self, counts: NDArray[np.int64]) -> tuple[str, ...]:
        """Return, of the summed counts, the columns that hold both, and nothing else."""
        rows = zip(self.names, counts.reshape(-1, _COUNTS).tolist(), strict=True)
        return tuple(name for name, (grouped, whole, others) in rows if grouped and whole and not others)


def _counts(cells: pa.Array) -> NDArray[np.int64]:
    """Return the counts of one column; where the first cell decides, its count alone.

    A reader hands on numbers where it knows that they are wanted: their written form follows from the file's head.
    """
    if isinstance(cells, pa.DictionaryArray):
        cells = pc.unique(cells).dictionary_decode()
    if not pa.types.is_string(cells.type):
        return np.array([0, 0, len(cells)], np.int64)
    filled = cells.drop_null()
    first = filled.slice(0, 1)
    is_decided = len(first) and not (_are(first, _GROUPED).any() or _are(first, _WHOLE).any())
    filled = first if is_decided else filled
    grouped, whole = int(_are(filled, _GROUPED).sum()), int(_are(filled, _WHOLE).sum())
    return np.array([grouped, whole, len(filled) - grouped - whole], np.int64)


def _are(cells: pa.StringArray, pattern: str) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = pc.match_substring_regex(cells, pattern).to_numpy(zero_copy_only=False)
    return found
