# SPDX-License-Identifier: Apache-2.0
"""Columns with a declared generalization hierarchy: they are released as nodes of it, by name.

A hierarchy of widths declares the bins [i w, (i + 1) w), a tree declares groups of values, dates have the parts of the
calendar, `ladder = "none"` declares that a value is released as it is or not at all.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import CodedColumn
from anonkit.domains.named_parts import NamedParts, Point, place, point_text, successor
from anonkit.errors import PolicyError
from anonkit.k_anonymity.search.hierarchy_levels import (
    Ladder,
    bin_of,
    full_detail,
    parts_ladder,
    tree_ladder,
    width_ladder,
)
from anonkit.policy.column_declarations import Column
from anonkit.published.recoding import MASK, CategoryAxis, Grouping, IntervalAxis, unique_labels
from anonkit.published.recoding.axes import Named

Labels = tuple[str | None, ...]
Tree = Sequence[Sequence[str]]
Span = tuple[Point, Point | None, str]
"""Both ends of a bin, the upper None where nothing lies beyond, and its name."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Hierarchy:
    """The declared generalization hierarchy of a column: its levels on codes, and the published name of every node."""

    column: CodedColumn
    ladder: Ladder
    """Level 0 is full detail."""
    widths: tuple[float, ...] = ()
    """Widths of the bins of level 1, 2, … of an ordered column."""
    parts: NamedParts | None = None
    """Parts of level 0, 1, … of an ordered column, where they have names of their own."""
    tree: Tree | None = None
    """Paths from a value to its coarsest group; level 0 is the value."""

    @classmethod
    def of(cls, column: CodedColumn, declared: Column) -> Hierarchy | None:
        """Return the declared hierarchy of a column, None when the search is free.

        Raises
        ------
        PolicyError
            Bin widths are declared for a column that holds no numbers.
        """
        named = declared.named_parts
        if named is not None and column.ordered:
            return cls(column=column, ladder=parts_ladder(column, named), parts=named)
        if declared.ladder is not None and not column.ordered:
            raise PolicyError(
                f"column {column.name!r} has a ladder of bin widths but its cells are not numbers", "use tree"
            )
        if not declared.generalize:
            return cls(column=column, ladder=full_detail(column))
        if declared.ladder is not None:
            return cls(column=column, ladder=width_ladder(column, declared.ladder), widths=tuple(declared.ladder))
        if declared.tree is not None:
            return cls(column=column, ladder=tree_ladder(column, declared.tree), tree=declared.tree)
        return None

    @property
    def is_exact(self) -> bool:
        """True when full detail is all that a cell has: then the column may be released as it is."""
        return self.parts is None or self.parts.exact

    @property
    def shows_gaps(self) -> bool:
        """True when a gap between nodes is shown by its ends, false when it is `*`."""
        return self.parts is None or self.parts.shows_gaps

    @property
    def first_bins(self) -> NDArray[np.int32]:
        """Bin of every code at the finest declared width, shape (column.size,); for ordered columns with widths."""
        return self.ladder.levels[1]

    def level_of(self, codes: NDArray[np.integer[Any]]) -> int | None:
        """Return the finest level at which some codes are one node; None when none is so coarse."""
        for level, groups in enumerate(self.ladder.levels):
            if (groups[codes] == groups[codes[0]]).all():
                return level
        return None

    def span(self, codes: NDArray[np.integer[Any]]) -> Span | None:
        """Return the lower and upper end of the bin that codes are, and its name; None when they are no one bin.

        The upper end is None where nothing lies beyond it.
        """
        level = self.level_of(codes)
        if level is None:
            return None
        value: Any = self.column.values[int(codes[0])]
        if self.parts is not None:
            return self.parts.part(value, level)
        if level == 0:
            return value, successor(value), point_text(value)
        low, high = bin_of(value, self.widths[level - 1])
        return low, high, f"[{point_text(low)}, {point_text(high)})"

    def wider_bins(self) -> Iterator[Callable[[Any], tuple[Point, Point | None, str | None]]]:
        """Yield, for every level above full detail, what returns the bin of a point: its ends, its own name if any."""
        if self.parts is not None:
            for level in range(1, self.parts.n_levels):
                yield partial(self.parts.part, level=level)
        for width in self.widths:
            yield partial(_bin_of_width, width=width)

    def members(self, codes: NDArray[np.integer[Any]]) -> tuple[int, str] | None:
        """Return level and name of the group of the tree that codes are; None when they are no one group of it."""
        level = self.level_of(codes)
        if level is None or self.tree is None:
            return None
        value = self.column.values[int(codes[0])]
        named = next((path[level] for path in self.tree if path[0] == value), None)
        return None if named is None else (level, named)


def _bin_of_width(value: Any, width: float) -> tuple[Point, Point | None, str | None]:
    return *bin_of(value, width), None


def declared_grouping(
    hierarchy: Hierarchy,
    groups: NDArray[np.integer[Any]],
    publishable: NDArray[np.bool_] | None = None,
    *,
    masked: bool = False,
) -> Grouping:
    """Return the recoding of a column into nodes of its hierarchy.

    Parameters
    ----------
    groups : ndarray of shape (column.size,)
        Group of every code; each is a node.
    publishable : ndarray of shape (n_groups,), optional
        Groups that may be published: those that k rows of the source have. Of the others the recoding says no more than
        of bins and values that do not occur.
    masked : bool
        Release everything but the marked groups as `*`; for ordered columns.
    """
    column = hierarchy.column
    present = np.arange(column.size) != (-1 if column.missing is None else column.missing)
    nodes = [
        np.flatnonzero(present & (groups == group))
        for group in range(int(groups.max(initial=-1)) + 1)
        if publishable is None or publishable[group]
    ]
    nodes = [codes for codes in nodes if codes.size]
    if not column.ordered:
        grouping = _tree_groups(hierarchy, nodes)
        return replace(grouping, unreleased=frozenset()) if publishable is None else grouping
    shows_missing = column.missing is not None and (publishable is None or bool(publishable[groups[column.missing]]))
    grouping = _bins(hierarchy, nodes, masked, shows_missing)
    return replace(grouping, unreleased=frozenset()) if publishable is None or masked else grouping


def _bins(hierarchy: Hierarchy, nodes: Sequence[NDArray[Any]], masked: bool, shows_missing: bool) -> Grouping:
    """Return the recoding into some bins; what lies between them is a part without rows that are released."""
    spans = [span for codes in nodes if (span := hierarchy.span(codes)) is not None]
    axis = interval_axis(hierarchy, spans)
    unnamed = masked or not hierarchy.shows_gaps
    owners = [-1 if unnamed else part for part in range(axis.size)]
    labels = [MASK if unnamed else axis.label([part]) for part in range(axis.size)]
    others = set(range(len(axis.cuts) + 1))
    for low, _, name in spans:
        part = axis.cuts.index(low) + 1
        owners[part], labels[part] = part, name
        others.discard(part)
    if shows_missing:
        owners[-1], labels[-1] = axis.size - 1, None
    names = unique_labels(labels, owners)
    if axis.has_missing and not (shows_missing or masked):
        owners[-1], labels[-1] = axis.size - 1, None
    coarser = (*(() if masked else _wider_bins(hierarchy, axis, names)), (MASK,) * axis.size)
    return Grouping(axis=axis, labels=names, coarser=coarser, unreleased=frozenset(others))


def _wider_bins(hierarchy: Hierarchy, axis: IntervalAxis, labels: Labels) -> Iterator[Labels]:
    """Yield the labels at every declared width that joins bins; bins that end between the cuts become `*`.

    What is wider than a width, or lies beyond the outermost cuts, keeps its label until the column is dropped.
    """
    ends = [place(cut) for cut in axis.cuts]
    for bin_at in hierarchy.wider_bins():
        wider = list(labels)
        for part, cut in enumerate(axis.cuts, start=1):
            first, last, name = bin_at(cut)
            low, high = place(first), None if last is None else place(last)
            # a bin that nothing lies beyond has the part beyond the last cut, too
            stop = len(ends) + 1 if high is None else bisect_right(ends, high)
            inside = range(bisect_left(ends, low) + 1, stop)
            if part not in inside or len({labels[at] for at in inside}) == 1:
                continue
            whole = low in ends and (high is None or high in ends) and all(labels[at] != MASK for at in inside)
            for at in inside:
                wider[at] = (name or axis.label(inside)) if whole else MASK
        if _is_coarser(wider, labels):
            labels = tuple(wider)
            yield labels


def _is_coarser(wider: Sequence[str | None], labels: Labels) -> bool:
    """Return True if groups are joined and none is torn: widths need not be multiples of each other."""
    return len(set(zip(labels, wider, strict=True))) == len(set(labels)) > len(set(wider))


def interval_axis(hierarchy: Hierarchy, spans: Sequence[Span]) -> IntervalAxis:
    """Return an axis that is cut at the ends of some bins and nowhere else."""
    ends = {place(point): point for low, high, _ in spans for point in (low, high) if point is not None}
    cuts = tuple(ends[at] for at in sorted(ends))
    return IntervalAxis(name=hierarchy.column.name, cuts=cuts, has_missing=hierarchy.column.missing is not None)


def _parts_within(axis: IntervalAxis, span: Span) -> tuple[int, ...]:
    """Return the parts of an axis that a bin holds."""
    low, high, _ = span
    return tuple(range(axis.cuts.index(low) + 1, len(axis.cuts) + 1 if high is None else axis.cuts.index(high) + 1))


def _tree_groups(hierarchy: Hierarchy, nodes: Sequence[NDArray[Any]]) -> Grouping:
    """Return the recoding into some groups of a tree; values outside them have no rows that are released."""
    tree = hierarchy.tree or ()
    named = {node for codes in nodes if (node := hierarchy.members(codes)) is not None}
    tops = {path[0] for path in tree if not named.isdisjoint(enumerate(path))}
    untouched = [
        {path[level] for path in tree} - {path[level] for path in tree if path[0] in tops}
        for level in range(len(tree[0]))
    ]
    nodes_of: list[tuple[int, str]] = []
    others: set[int] = set()
    for at, path in enumerate(tree):
        mine = [(level, name) for level, name in enumerate(path) if (level, name) in named]
        free = [(level, name) for level, name in enumerate(path) if name in untouched[level]]
        nodes_of.append(mine[0] if mine else free[-1])
        others |= set() if mine else {at}
    number = {node: at for at, node in enumerate(dict.fromkeys(nodes_of))}
    axis = tree_axis(hierarchy)
    missing: list[str | None] = [None] if axis.has_missing else []
    owners = [*(number[node] for node in nodes_of), *([len(number)] if axis.has_missing else [])]
    labels = unique_labels([*(name for _, name in nodes_of), *missing], owners)
    coarser = (*_wider_groups(tree, nodes_of, missing, labels), (MASK,) * axis.size)
    return Grouping(axis=axis, labels=labels, coarser=coarser, unreleased=frozenset(others))


def _wider_groups(
    tree: Tree, nodes_of: Sequence[tuple[int, str]], missing: list[str | None], labels: Labels
) -> Iterator[Labels]:
    """Yield the labels at every level of a tree that joins groups; a group that is wider already stays what it is."""
    for level in range(1, len(tree[0]) if tree else 0):
        nodes = [(level, path[level]) if node[0] < level else node for path, node in zip(tree, nodes_of, strict=True)]
        number = {node: at for at, node in enumerate(dict.fromkeys(nodes))}
        owners = [*(number[node] for node in nodes), *([len(number)] if missing else [])]
        wider = unique_labels([*(name for _, name in nodes), *missing], owners)
        if _is_coarser(wider, labels):
            labels = wider
            yield labels


def tree_axis(hierarchy: Hierarchy) -> CategoryAxis:
    """Return an axis that lists every value of a declared tree, whether it occurs or not."""
    values = tuple(path[0] for path in hierarchy.tree or ())
    missing = hierarchy.column.missing is not None
    return CategoryAxis(name=hierarchy.column.name, values=values, has_other=False, has_missing=missing)


def tree_names(tree: Tree) -> Named:
    """Return every group of a hierarchy as parts of `tree_axis`, smaller groups first."""
    names: dict[tuple[str, tuple[int, ...]], None] = {}
    for level in range(len(tree[0])):
        members: dict[str, list[int]] = {}
        for at, path in enumerate(tree):
            members.setdefault(path[level], []).append(at)
        names.update({(name, tuple(parts)): None for name, parts in members.items()})
    return tuple(sorted(names, key=lambda group: len(group[1])))


def declared_sides(
    hierarchy: Hierarchy, left: Sequence[NDArray[np.integer[Any]]]
) -> tuple[IntervalAxis | CategoryAxis, list[tuple[int, ...]]]:
    """Return the axis that some divisions along a hierarchy need, and the parts that go left at each of them.

    Parameters
    ----------
    left : sequence of arrays of codes
        Each is a node of the hierarchy, or missing alone.
    """
    missing = [codes.tolist() == [hierarchy.column.missing] for codes in left]
    if hierarchy.column.ordered:
        spans = [None if alone else hierarchy.span(codes) for codes, alone in zip(left, missing, strict=True)]
        axis = interval_axis(hierarchy, [span for span in spans if span is not None])
        parts = [_parts_within(axis, span) if span else (axis.size - 1,) for span in spans]
        names = {(span[2], sides) for span, sides in zip(spans, parts, strict=True) if span}
        return replace(axis, named=tuple(sorted(names, key=lambda name: (len(name[1]), name[1])))), parts
    if hierarchy.tree is not None:
        listing = replace(tree_axis(hierarchy), named=tree_names(hierarchy.tree))
        nodes = [None if alone else hierarchy.members(codes) for codes, alone in zip(left, missing, strict=True)]
        sides = [
            tuple(at for at, path in enumerate(hierarchy.tree) if path[node[0]] == node[1])
            if node
            else (listing.size - 1,)
            for node in nodes
        ]
        return listing, sides
    values = tuple(
        dict.fromkeys(
            str(hierarchy.column.values[int(codes[0])]) for codes, alone in zip(left, missing, strict=True) if not alone
        )
    )
    singles = CategoryAxis(
        name=hierarchy.column.name,
        values=values,
        has_other=True,
        has_missing=True,
        named=tuple((value, (at,)) for at, value in enumerate(values)),
    )
    where = [
        singles.size - 1 if alone else values.index(str(hierarchy.column.values[int(codes[0])]))
        for codes, alone in zip(left, missing, strict=True)
    ]
    return singles, [(at,) for at in where]
