# SPDX-License-Identifier: Apache-2.0
"""From what a search found on codes to a recoding that can be published and applied to other tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anonkit.mechanisms.coding import CodedColumn
from anonkit.mechanisms.mondrian import BoxTree
from anonkit.recoding import MASK, CategoryAxis, Grouping, IntervalAxis, LocalRecoding, Split, unique_labels
from anonkit.rounding import roundest_between


class Pooled:
    """Stands for all values of a column that too few rows hold to be listed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<pooled>"


POOLED: Final = Pooled()


def pool_rare(column: CodedColumn, k: int, units: NDArray[np.int64] | None = None) -> CodedColumn:
    """Merge the values of a categorical column that fewer than k rows (distinct units) hold into one code.

    Codes become: listed values in their order, the pool if there is one, missing last.
    """
    if column.ordered:
        return column
    codes = column.codes.astype(np.int64)
    if units is not None:
        pairs = np.unique(codes * (int(units.max(initial=0)) + 1) + units)
        codes = pairs // (int(units.max(initial=0)) + 1)
    held = np.bincount(codes, minlength=column.size)
    listed = held >= k
    if column.missing is not None:
        listed[column.missing] = False
    n_listed = int(listed.sum())
    pooled = ~listed
    if column.missing is not None:
        pooled[column.missing] = False
    if not pooled.any():
        return column
    recode = np.full(column.size, n_listed, dtype=np.int32)
    recode[listed] = np.arange(n_listed, dtype=np.int32)
    values: list[object] = [value for value, keep in zip(column.values, listed, strict=True) if keep]
    values.append(POOLED)
    if column.missing is not None:
        recode[column.missing] = n_listed + 1
        values.append(None)
    return CodedColumn(name=column.name, codes=recode[column.codes], values=values, ordered=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedAxis:
    """An axis beside the codes a search used: which part each code belongs to."""

    axis: IntervalAxis | CategoryAxis
    part_of: NDArray[np.int64]
    """Part of each code, shape (column.size,)."""


def axis_of(column: CodedColumn, borders: Sequence[int]) -> CodedAxis:
    """Return the axis of a column.

    Parameters
    ----------
    column : CodedColumn
        As the search used it (rare categories pooled).
    borders : sequence of int
        For an ordered column, the codes at which a new part begins, ascending; ignored for categories.
    """
    if column.ordered:
        cuts = tuple(roundest_between(_point(column.values[at - 1]), _point(column.values[at])) for at in borders)
        interval = IntervalAxis(name=column.name, cuts=cuts, has_missing=column.missing is not None)
        parts = np.searchsorted(np.asarray(borders, dtype=np.int64), np.arange(column.size), side="right").astype(
            np.int64
        )
        if column.missing is not None:
            parts[column.missing] = interval.size - 1
        return CodedAxis(axis=interval, part_of=parts)
    listed = tuple(value for value in column.values if isinstance(value, str))
    category = CategoryAxis(
        name=column.name,
        values=listed,
        has_other=any(value is POOLED for value in column.values),
        has_missing=column.missing is not None,
    )
    return CodedAxis(axis=category, part_of=np.arange(column.size, dtype=np.int64))


def _point(value: object) -> Any:
    return value


def grouping_of(
    column: CodedColumn,
    groups: NDArray[np.integer[Any]],
    name_group: Callable[[frozenset[object]], str | None] | None = None,
    *,
    masked: int | None = None,
) -> Grouping:
    """Return the recoding of one column from the group of each of its codes.

    Parameters
    ----------
    groups : ndarray of shape (column.size,)
        Group of every code.
    name_group : callable, optional
        Names a set of values (a node of a declared tree); None falls back to listing the values.
    masked : int, optional
        A group that is released as `*`.
    """
    groups = np.asarray(groups, dtype=np.int64)
    last = column.size - (column.missing is not None)
    borders = [at for at in range(1, last) if groups[at] != groups[at - 1]] if column.ordered else []
    coded = axis_of(column, borders)
    group_of = np.empty(coded.axis.size, dtype=np.int64)
    group_of[coded.part_of] = groups
    labels: list[str | None] = []
    for group in group_of:
        members = np.flatnonzero(group_of == group)
        label = MASK if group == masked else coded.axis.label(members.tolist())
        if name_group is not None:
            label = name_group(frozenset(column.values[at] for at in np.flatnonzero(groups == group).tolist())) or label
        labels.append(label)
    return Grouping(axis=coded.axis, labels=unique_labels(labels, group_of.tolist()))


def one_hot_grouping(column: CodedColumn, accepted: Sequence[int]) -> Grouping:
    """Return the recoding in which the accepted codes stay and all other values are one `*`; only they are listed."""
    kept = [code for code in accepted if isinstance(column.values[code], str)]
    values = tuple(str(column.values[code]) for code in kept)
    axis = CategoryAxis(name=column.name, values=values, has_other=True, has_missing=True)
    missing = None if column.missing is not None and column.missing in accepted else MASK
    return Grouping(axis=axis, labels=(*values, MASK, missing))


def tree_namer(tree: Sequence[Sequence[str]]) -> Callable[[frozenset[object]], str | None]:
    """Return a function that names a set of values by the lowest group of a declared tree that is that set."""
    names: dict[frozenset[object], str] = {}
    occurring = {path[0] for path in tree}
    for level in range(len(tree[0]) - 1, -1, -1):
        members: dict[str, set[object]] = {}
        for path in tree:
            members.setdefault(path[level], set()).add(path[0])
        names.update({frozenset(group): name for name, group in members.items()})

    def name(values: frozenset[object]) -> str | None:
        present = frozenset(value for value in values if value is not None)
        if None in values or not present <= occurring:
            return None
        exact = names.get(present)
        if exact is not None:
            return exact
        covering = [(len(group), label) for group, label in names.items() if present <= group]
        return min(covering)[1] if covering else None

    return name


def boxes_of(columns: Sequence[CodedColumn], tree: BoxTree) -> LocalRecoding:
    """Return the local recoding of a tree of boxes; columns the tree never cuts are not in it."""
    inner = np.flatnonzero(tree.column >= 0)
    used = sorted(set(tree.column[inner].tolist()))
    coded = {}
    for number in used:
        column = columns[number]
        borders: set[int] = set()
        if column.ordered:
            last = column.size - (column.missing is not None)
            for node in inner[tree.column[inner] == number]:
                left = np.isin(np.arange(last), tree.left_codes(int(node)))
                borders.update((np.flatnonzero(left[1:] != left[:-1]) + 1).tolist())
        coded[number] = axis_of(column, sorted(borders))
    nodes: list[Split | None] = [None] * tree.column.size
    for node in inner.tolist():
        number, child = int(tree.column[node]), int(tree.left[node])
        parts = np.unique(coded[number].part_of[tree.left_codes(node)])
        nodes[node] = Split(axis=used.index(number), left=tuple(parts.tolist()), children=(child, child + 1))
    return LocalRecoding(axes=tuple(coded[number].axis for number in used), nodes=tuple(nodes))
