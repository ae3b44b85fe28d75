# SPDX-License-Identifier: Apache-2.0
"""From the result of a search on codes to a recoding that can be published and applied to other tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import CodedColumn
from anonkit.domains.named_parts import Point, roundest_between
from anonkit.k_anonymity.declared_detail import Hierarchy, declared_grouping, declared_sides
from anonkit.k_anonymity.preparing import Prepared
from anonkit.k_anonymity.search.box_tree import BoxTree
from anonkit.k_anonymity.supported_parts import NarrowedColumn, Pooled, Stretch, holder_counts, shown_boxes
from anonkit.published.recoding import (
    MASK,
    CategoryAxis,
    GlobalRecoding,
    Grouping,
    IntervalAxis,
    LocalRecoding,
    RecodingSplit,
    UnchangedAxis,
    unique_labels,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedAxis:
    """An axis of a recoding, aligned with the codes that a search used."""

    axis: IntervalAxis | CategoryAxis
    code_of: NDArray[np.int64]
    """A code in each part, shape (axis.size,); what is done with it is done with the whole part."""


def axis_of(column: CodedColumn, borders: Sequence[int]) -> CodedAxis:
    """Return the axis of a column.

    Parameters
    ----------
    column : CodedColumn
        As the search used it: its values are stretches between cuts, or categories and a pool.
    borders : sequence of int
        For an ordered column, the codes at which a new part begins, ascending; ignored for categories.
    """
    joined = [
        at for at, value in enumerate(column.values) if isinstance(value, Stretch | Pooled) and value.with_missing
    ]
    has_missing = column.missing is not None or bool(joined)
    missing = [column.missing if column.missing is not None else joined[0]] if has_missing else []
    if column.ordered:
        cuts = tuple(_cut(column.values[at - 1], column.values[at]) for at in borders)
        interval = IntervalAxis(name=column.name, cuts=cuts, has_missing=has_missing)
        return CodedAxis(axis=interval, code_of=np.array([0, *borders, *missing], dtype=np.int64))
    listed = tuple(value for value in column.values if isinstance(value, str))
    pool = [at for at, value in enumerate(column.values) if isinstance(value, Pooled)]
    category = CategoryAxis(name=column.name, values=listed, has_other=bool(pool), has_missing=has_missing)
    return CodedAxis(axis=category, code_of=np.array([*range(len(listed)), *pool, *missing], dtype=np.int64))


def _cut(below: Any, value: Any) -> Point:
    """Return the cut of a column between two neighbours; between values that k rows hold each, where both are."""
    if isinstance(value, Stretch) and value.low is not None:
        return value.low
    return roundest_between(below, value)


def grouping_of(column: CodedColumn, groups: NDArray[np.integer[Any]], *, masked: int | None = None) -> Grouping:
    """Return the recoding of one column from the group of each of its codes.

    Parameters
    ----------
    groups : ndarray of shape (column.size,)
        Group of every code.
    masked : int, optional
        A group that is released as `*`.
    """
    groups = np.asarray(groups, dtype=np.int64)
    last = column.size - (column.missing is not None)
    borders = [at for at in range(1, last) if groups[at] != groups[at - 1]] if column.ordered else []
    coded = axis_of(column, borders)
    group_of = groups[coded.code_of]
    members = {group: np.flatnonzero(group_of == group).tolist() for group in set(group_of.tolist())}
    named = {group: MASK if group == masked else coded.axis.label(parts) for group, parts in members.items()}
    labels = [named[group] for group in group_of.tolist()]
    return Grouping(axis=coded.axis, labels=unique_labels(labels, group_of.tolist()))


def global_recoding(prepared: Prepared, groups: Mapping[str, NDArray[np.integer[Any]] | None]) -> GlobalRecoding:
    """Return the recoding of a table from the groups of the codes of each column.

    Parameters
    ----------
    groups : mapping of column name to ndarray of shape (column.size,), or None
        Group of every code of each column; None for a column that is dropped. Groups of a column with a hierarchy are
        nodes of it.

    Privacy
    -------
    Of a hierarchy, nodes are named that k rows (people) have. Rows of other nodes are left out of the release.
    """
    recoded: list[UnchangedAxis | Grouping] = []
    for column in prepared.columns:
        of_code, hierarchy = groups[column.name], prepared.hierarchies.get(column.name)
        if of_code is None:
            continue
        if _is_full_detail(column, of_code) and (hierarchy is None or hierarchy.is_exact):
            recoded.append(UnchangedAxis(name=column.name))
        elif hierarchy is None:
            recoded.append(grouping_of(column, of_code))
        else:
            counts = holder_counts(of_code[column.codes], int(of_code.max(initial=-1)) + 1, prepared.holders)
            recoded.append(declared_grouping(hierarchy, of_code, counts >= prepared.k))
    return GlobalRecoding(columns=tuple(recoded))


def _is_full_detail(column: CodedColumn, groups: NDArray[np.integer[Any]]) -> bool:
    """Return True if every value is released as it is: as many groups as values, and none of them merged before."""
    merged = any(isinstance(value, Pooled | Stretch) for value in column.values)
    return not merged and int(groups.max(initial=0)) + 1 == column.size


def one_hot_grouping(column: CodedColumn, accepted: Sequence[int]) -> Grouping:
    """Return the recoding that keeps the accepted codes, which alone it lists, and merges all others into `*`."""
    listed = [code for code in accepted if isinstance(column.values[code], str)]
    values = tuple(str(column.values[code]) for code in listed)
    axis = CategoryAxis(name=column.name, values=values, has_other=True, has_missing=True)
    missing = None if column.missing is not None and column.missing in accepted else MASK
    return Grouping(axis=axis, labels=unique_labels((*values, MASK, missing), (*listed, -1, -1 if missing else -2)))


def boxes_of(
    columns: Sequence[CodedColumn],
    tree: BoxTree,
    hierarchies: Mapping[str, Hierarchy] = MappingProxyType({}),
    narrowed: Sequence[NarrowedColumn] = (),
) -> LocalRecoding:
    """Return the local recoding of a tree of boxes; columns that no box restricts are not in it.

    Parameters
    ----------
    hierarchies : mapping of column name to Hierarchy, optional
        Columns that the tree divides along what is declared; their boxes are called by its names.
    narrowed : sequence of NarrowedColumn, optional
        What boxes show of each column; by default all that the tree leaves them.
    """
    inner = np.flatnonzero(tree.column >= 0)
    fewer = [number for number, column in enumerate(narrowed) if column.sets]
    used = sorted({*tree.column[inner].tolist(), *fewer})
    axes: list[IntervalAxis | CategoryAxis] = []
    nodes: list[RecodingSplit | None] = [None] * tree.column.size
    shown: list[list[tuple[int, ...]]] = []
    for at, number in enumerate(used):
        mine = inner[tree.column[inner] == number].tolist()
        left = [*(tree.left_codes(node) for node in mine), *(narrowed[number].sets if narrowed else ())]
        hierarchy = hierarchies.get(columns[number].name)
        if hierarchy is None:
            axis, sides = _free_sides(columns[number], left)
        else:
            axis, sides = declared_sides(hierarchy, left)
        axes.append(axis)
        for node, parts in zip(mine, sides, strict=False):
            child = int(tree.left[node])
            nodes[node] = RecodingSplit(axis=at, left=parts, children=(child, child + 1))
        shown.append(sides[len(mine) :])
    recoding = LocalRecoding(axes=tuple(axes), nodes=tuple(nodes))
    if not fewer:
        return recoding
    boxes = shown_boxes(recoding, shown, [narrowed[number].of_box for number in used])
    return replace(recoding, narrowed=boxes)


def _free_sides(
    column: CodedColumn, left: Sequence[NDArray[np.integer[Any]]]
) -> tuple[IntervalAxis | CategoryAxis, list[tuple[int, ...]]]:
    """Return the axis that some divisions of the codes need, and the parts that go left at each of them."""
    borders: set[int] = set()
    if column.ordered:
        last = column.size - (column.missing is not None)
        for codes in left:
            goes_left = np.isin(np.arange(last), codes)
            borders.update((np.flatnonzero(goes_left[1:] != goes_left[:-1]) + 1).tolist())
    coded = axis_of(column, sorted(borders))
    return coded.axis, [tuple(np.flatnonzero(np.isin(coded.code_of, codes)).tolist()) for codes in left]
