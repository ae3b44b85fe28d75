# SPDX-License-Identifier: Apache-2.0
"""Generalization hierarchies: the levels of detail at which one column may be released.

Level 0 is the finest; every level merges groups of the one before; above the last level the column is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import CodedColumn
from anonkit.domains.named_parts import NamedParts, Point, number_of, units_of
from anonkit.errors import ParameterError

Groups = NDArray[np.int32]
"""Group of every code of a column, shape (column.size,), numbered in the order of each group's smallest code."""

_FINEST_CUTS = 64  # groups of the finest coarsened level of an automatic hierarchy


@dataclass(frozen=True, eq=False)
class Ladder:
    """Levels of detail of one column, finest first, each as the group of every code.

    Raises
    ------
    ParameterError
        A level splits what a finer level has merged.
    """

    column: str
    levels: tuple[Groups, ...]

    def __post_init__(self) -> None:
        for finer, coarser in zip(self.levels, self.levels[1:], strict=False):
            if not np.array_equal(coarser, _lift(finer, coarser)):
                raise ParameterError(
                    f"ladder of column {self.column!r}: a level splits groups of the finer level below it",
                    "let every bin width be a multiple of the one before",
                )


def _lift(finer: Groups, coarser: Groups) -> Groups:
    """Give every code the coarser group of the first code in its finer group."""
    first = np.unique(finer, return_index=True)[1]
    return np.asarray(coarser[first][finer])


def number_groups(keys: NDArray[np.integer]) -> Groups:
    """Return the groups, given as any key per code, numbered 0, 1, … in the order of their smallest code."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int32)
    rank[np.argsort(first)] = np.arange(first.size, dtype=np.int32)
    return np.asarray(rank[inverse.reshape(-1)])


def full_detail(column: CodedColumn) -> Ladder:
    """One level: the column is kept as it is or dropped."""
    return Ladder(column.name, (np.arange(column.size, dtype=np.int32),))


def width_ladder(column: CodedColumn, widths: Sequence[float]) -> Ladder:
    """Full detail, then bins [i w, (i + 1) w) of growing width; missing stays apart.

    Parameters
    ----------
    column : CodedColumn
        Ordered; its values are numbers.
    widths : sequence of float
        Bin widths, ascending, each a multiple of the one before.

    Raises
    ------
    ParameterError
        A value is not a number, or the bins of one width cut through those of the one before.
    """
    values: list[Any] = [value for value in column.values if value is not None]
    if not all(isinstance(value, int | float | Decimal) for value in values):
        message = f"ladder of column {column.name!r}: bin widths need numbers"
        raise ParameterError(message, 'ladder = "auto" cuts dates too')
    if not all(math.isfinite(value) for value in values):
        message = f"ladder of column {column.name!r}: it has infinite numbers, and no bin has them"
        raise ParameterError(message, "make them missing, or the largest number there is")
    units, _ = units_of([*values, *widths])
    levels = [np.arange(column.size, dtype=np.int32)]
    for width in units[len(values) :]:
        numbers = np.array([unit // width for unit in units[: len(values)]])
        bins = np.unique(numbers, return_inverse=True)[1].reshape(-1)
        apart = [len(values)] * (column.size - len(values))
        levels.append(number_groups(np.concatenate((bins, np.array(apart, dtype=np.int64)))))
    return Ladder(column.name, tuple(levels))


def parts_ladder(column: CodedColumn, parts: NamedParts) -> Ladder:
    """Return the levels of named parts, such as month, quarter and year, the finest first; missing stays apart.

    Parameters
    ----------
    column : CodedColumn
        Ordered; its values are points of the parts.
    """
    values = [value for value in column.values if value is not None]
    levels = []
    for level in range(parts.n_levels):
        numbers = parts.numbers(values, level)
        apart = np.full(column.size - len(values), int(numbers.max(initial=0)) + 1, dtype=np.int64)
        levels.append(number_groups(np.concatenate((numbers, apart))))
    return Ladder(column.name, tuple(levels))


def tree_ladder(column: CodedColumn, tree: Sequence[Sequence[str]]) -> Ladder:
    """Full detail, then the levels of a declared generalization tree.

    Parameters
    ----------
    column : CodedColumn
        Categorical.
    tree : sequence of paths
        Each path leads from a value over its groups to the coarsest; all paths have one length. Missing, and
        values without a path, stay apart at every level.
    """
    paths = {path[0]: tuple(path) for path in tree}
    depth = max((len(path) for path in paths.values()), default=1)
    levels = []
    for level in range(depth):
        names: list[Hashable] = [
            paths[value][level] if isinstance(value, str) and value in paths else ("apart", code)
            for code, value in enumerate(column.values)
        ]
        levels.append(_numbered(names))
    return Ladder(column.name, tuple(levels))


def _numbered(names: Sequence[Hashable]) -> Groups:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int32)


def automatic_ladder(column: CodedColumn) -> Ladder:
    """Full detail, then ever fewer groups, halving their number each time; nothing is looked at but the column.

    An ordered column is cut into ranges that hold about equally many rows; of a categorical column the commonest
    values stay and all others are merged. Missing stays apart in an ordered column and counts as a value in a
    categorical one.
    """
    counts = np.bincount(column.codes, minlength=column.size)
    coarsen = _ranges if column.ordered else _commonest
    levels = [np.arange(column.size, dtype=np.int32)]
    n_groups = _FINEST_CUTS
    while n_groups >= 2:
        if n_groups < column.size:
            level = coarsen(column, counts, n_groups)
            if level.max(initial=0) < levels[-1].max(initial=0):
                levels.append(level)
        n_groups //= 2
    return Ladder(column.name, tuple(levels))


def _ranges(column: CodedColumn, counts: NDArray[np.int64], n_groups: int) -> Groups:
    parts = equal_mass(counts[: column.size - (column.missing is not None)], n_groups)
    return number_groups(np.append(parts, parts.max(initial=0) + 1) if column.missing is not None else parts)


def _commonest(column: CodedColumn, counts: NDArray[np.int64], n_groups: int) -> Groups:
    commonest = np.argsort(-counts, kind="stable")[: n_groups - 1]
    keys = np.full(column.size, column.size, dtype=np.int64)
    keys[commonest] = commonest
    return number_groups(keys)


def equal_mass(counts: NDArray[np.int64] | NDArray[np.float64], n_parts: int) -> NDArray[np.int64]:
    """Divide ordered values into at most `n_parts` ranges of about equal mass; return each value's range.

    The ranges for half as many parts are unions of these.
    """
    middle = np.cumsum(counts) - counts / 2
    return np.minimum((middle * n_parts / max(float(counts.sum()), 1.0)).astype(np.int64), n_parts - 1)


def bin_of(value: int | float | Decimal, width: float) -> tuple[Point, Point]:
    """Return the ends of the bin [i w, (i + 1) w) that holds a number, exactly, as numbers of its kind."""
    (unit, step), scale = units_of([value, width])
    low = unit // step * step
    return number_of(low, scale, value), number_of(low + step, scale, value)
