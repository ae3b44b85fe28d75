# SPDX-License-Identifier: Apache-2.0
"""Cells of the H3 grid as integers: children of a cell are neighbours, so that a cell is an interval of integers.

An H3 cell is one of 122 base cells and a digit of 0 to 6 for each resolution down to its own. Read as one number to the
base 7, all cells of the finest resolution that have one ancestor are adjacent. Nothing here needs the library:
it finds the cell of a place and the corners of a cell (`anonkit.policy.places`).

Source: https://h3geo.org/docs/core-library/h3Indexing, H3 cell index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anonkit.domains.coded_columns import IntArray
from anonkit.domains.named_parts import Point
from anonkit.errors import ParameterError

FINEST = 15
_BASE_CELLS, _DIGITS, _UNUSED = 122, 7, 7
_MODE, _CELL = 59, 1  # four bits of the mode; 1 is a cell
_RESOLUTION, _BASE = 52, 45  # first bit of the resolution, and of the base cell


def code_of_index(index: int) -> int:
    """Return the number of a cell among the cells of its own resolution.

    Raises
    ------
    ValueError
        The index is no H3 cell.
    """
    resolution, base = resolution_of(index), (index >> _BASE) & 127
    if index >> 63 or (index >> _MODE) & 15 != _CELL or (index >> 56) & 7 or base >= _BASE_CELLS:
        raise ValueError("no cell")
    code = base
    for at in range(1, FINEST + 1):
        digit = (index >> (_BASE - 3 * at)) & 7
        if (digit == _UNUSED) is (at <= resolution):
            raise ValueError("no cell")
        code = code * _DIGITS + digit if at <= resolution else code
    return code


def resolution_of(index: int) -> int:
    """Return the resolution of a cell, 0 the coarsest."""
    return (index >> _RESOLUTION) & 15


def index_of_code(code: int, resolution: int) -> int:
    """Return the H3 index of a cell, the inverse of `code_of_index`."""
    index = (_CELL << _MODE) | (resolution << _RESOLUTION)
    for at in range(FINEST, 0, -1):
        digit = _UNUSED
        if at <= resolution:
            code, digit = divmod(code, _DIGITS)
        index |= digit << (_BASE - 3 * at)
    return index | (code << _BASE)


def cell_name(code: int, resolution: int) -> str:
    """Return the name of a cell as H3 writes it: 15 hexadecimal digits."""
    return f"{index_of_code(code, resolution):x}"


@dataclass(frozen=True, kw_only=True)
class GridParts:
    """The resolutions of generalization of places, by cells of the H3 grid.

    Raises
    ------
    ParameterError
        The resolutions are not integers from 15 to 0, the finest first.
    """

    resolutions: tuple[int, ...]
    """The finest first; values are numbers of cells of the finest."""

    def __post_init__(self) -> None:
        known = [resolution in range(FINEST + 1) for resolution in self.resolutions]
        if not known or not all(known) or list(self.resolutions) != sorted(set(self.resolutions), reverse=True):
            raise ParameterError("resolutions are whole numbers from 15 to 0, the finest first, each once")

    @property
    def n_levels(self) -> int:
        """Number of resolutions."""
        return len(self.resolutions)

    @property
    def exact(self) -> bool:
        """False: a cell is never released as its number."""
        return False

    @property
    def shows_gaps(self) -> bool:
        """False: an interval between cells in number is no place on the map, and is shown as `*`."""
        return False

    def width(self, level: int) -> int:
        """Return the number of cells of the finest resolution in a cell of a level."""
        return int(_DIGITS ** (self.resolutions[0] - self.resolutions[level]))

    def numbers(self, values: Sequence[Any], level: int) -> IntArray:
        """Return the number of the cell that holds each value, shape (n_values,)."""
        return np.asarray(np.array(values, dtype=np.int64) // self.width(level), dtype=np.int64)

    def part(self, value: Any, level: int) -> tuple[Point, Point | None, str]:
        """Return the first number of the cell that holds a value, that of the next cell, and the name of the cell."""
        width = self.width(level)
        code = int(value) // width
        return code * width, (code + 1) * width, cell_name(code, self.resolutions[level])
