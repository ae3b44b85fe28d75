# SPDX-License-Identifier: Apache-2.0
"""Boxes and centroids: the parts that a box of a local recoding shows, and the centroid nearest to a row.

The tree of a local recoding, as arrays, says in which box a row is, for many rows at once. What the box shows may be
less than what the tree leaves it: the parts of every axis that its rows have.

Rows are compared with the centroids of their own combination of categories alone. Distances are Euclidean, on columns
divided by a published scale; a mean that is withheld counts as the published middle of its column.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.documents import ReportPart
from anonkit.domains.cell_values import cell_numbers, cell_texts
from anonkit.domains.coded_columns import BoolArray, IntArray, combine
from anonkit.published.recoding.axes import UNKNOWN


class Division(Protocol):
    """An inner node of a tree of boxes: rows whose part of an axis is among some go left."""

    @property
    def axis(self) -> int:
        """Number of the axis that it divides."""
        ...

    @property
    def left(self) -> Sequence[int]:
        """Parts of the axis that go left."""
        ...

    @property
    def children(self) -> tuple[int, int]:
        """Numbers of the left and the right node."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeParts:
    """The parts of every axis that some nodes hold; nodes that hold the same parts of an axis share one set."""

    nodes: tuple[int, ...]
    """Numbers of the nodes."""
    set_indices: IntArray
    """Index of the set of parts of each axis that each node holds, shape (n_nodes, n_axes)."""
    sets: tuple[tuple[IntArray, ...], ...]
    """Of every axis its different sets of parts, each ascending, in the order in which the nodes have them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BoxRoutes:
    """The nodes of a tree of boxes as parallel arrays of shape (n_nodes,)."""

    sizes: tuple[int, ...]
    """Parts of each axis."""
    axis: IntArray
    """Axis that a node divides, -1 at a leaf."""
    children: IntArray
    """Right and left child, shape (n_nodes, 2)."""
    first: IntArray
    """Offset of the parts of each node's axis in `goes_left`."""
    goes_left: BoolArray
    """True for each part that goes left, node after node and part after part."""

    @classmethod
    def of(cls, sizes: Sequence[int], nodes: Sequence[Division | None]) -> BoxRoutes:
        """Write down a tree whose node 0 is the root; None is a leaf.

        Raises
        ------
        IndexError
            A node names a part, an axis or a child that there is not.
        """
        inner = [(number, node) for number, node in enumerate(nodes) if node is not None]
        numbers = np.array([number for number, _ in inner], dtype=np.int64)
        axis, first = np.full(len(nodes), -1), np.zeros(len(nodes), dtype=np.int64)
        axis[numbers] = [node.axis for _, node in inner]
        widths = np.array([*sizes, 0], dtype=np.int64)[axis[numbers]]
        first[numbers] = np.cumsum(widths) - widths
        children = np.zeros((len(nodes), 2), dtype=np.int64)
        children[numbers] = np.array([node.children[::-1] for _, node in inner], dtype=np.int64).reshape(-1, 2)
        goes_left = np.zeros(int(widths.sum()), dtype=bool)
        listed = np.array([len(node.left) for _, node in inner], dtype=np.int64)
        parts = np.fromiter(chain.from_iterable(node.left for _, node in inner), dtype=np.int64, count=listed.sum())
        if (parts < 0).any() or (parts >= np.repeat(widths, listed)).any() or (axis[numbers] < 0).any():
            raise IndexError("a part or an axis that there is not")
        if (children < 0).any() or (children >= len(nodes)).any():
            raise IndexError("a child that there is not")
        goes_left[np.repeat(first[numbers], listed) + parts] = True
        return cls(sizes=tuple(sizes), axis=axis, children=children, first=first, goes_left=goes_left)

    def leaves(self, codes: Sequence[NDArray[np.integer]]) -> IntArray:
        """Return the leaf (number of the node) of every row from its part of each axis, shape (n_rows,)."""
        at = np.zeros(codes[0].size if codes else 0, dtype=np.int64)
        parts = np.stack(codes) if codes else np.empty((0, 0), dtype=np.int64)
        rows = np.arange(at.size)
        while (rows := rows[self.axis[at[rows]] >= 0]).size:
            node = at[rows]
            left = self.goes_left[self.first[node] + parts[self.axis[node], rows]]
            at[rows] = self.children[node, left.astype(np.int64)]
        return at

    def node_parts(self, *, inner: bool = False) -> NodeParts:
        """Return the parts of the leaves, or of all nodes (`inner`), where a row can be: no box is without parts.

        A node comes before its children, and what is right of a node before what is left of it.
        """
        sets: list[list[IntArray]] = [[np.arange(size)] for size in self.sizes]
        known = [{members[0].tobytes(): 0} for members in sets]
        index = np.zeros((self.axis.size, len(self.sizes)), dtype=np.int64)
        found, waiting = [], [0]
        while waiting:
            number = waiting.pop()
            axis = int(self.axis[number])
            if inner or axis < 0:
                found.append(number)
            if axis < 0:
                continue
            members = sets[axis][index[number, axis]]
            left = self.goes_left[self.first[number] + members]
            right_child, left_child = self.children[number].tolist()
            for child, part in ((left_child, members[left]), (right_child, members[~left])):
                if part.size == 0:
                    continue
                index[child] = index[number]
                index[child, axis] = known[axis].setdefault(part.tobytes(), len(sets[axis]))
                if index[child, axis] == len(sets[axis]):
                    sets[axis].append(part)
                waiting.append(child)
        return _as_met(tuple(found), index[found], sets)


def _as_met(nodes: tuple[int, ...], index: IntArray, sets: Sequence[Sequence[IntArray]]) -> NodeParts:
    """Renumber the sets of each axis in the order in which the nodes have them; drop those that none has."""
    used_sets = []
    for axis, members in enumerate(sets):
        used, first, number = np.unique(index[:, axis], return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(used.size, dtype=np.int64)
        place[order] = np.arange(used.size)
        index[:, axis] = place[number.reshape(-1)]
        used_sets.append(tuple(members[at] for at in used[order].tolist()))
    return NodeParts(nodes=nodes, set_indices=index, sets=tuple(used_sets))


@dataclass(frozen=True, kw_only=True)
class StoredBoxes(ReportPart):
    """The parts that each box shows, as `params.json` has them: a set is written as the ends of its runs of parts."""

    sets: tuple[tuple[tuple[int, ...], ...], ...]
    boxes: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class NarrowedBoxes:
    """The parts that every box shows; boxes that show the same parts of an axis share one set."""

    sets: tuple[tuple[tuple[int, ...], ...], ...]
    """Of every axis its different sets of parts, each ascending."""
    set_indices: tuple[tuple[int, ...], ...]
    """Of every leaf, in the order of their numbers, the index of its set of each axis."""

    def shown(self, found: NodeParts, leaves: Sequence[int]) -> NodeParts:
        """Return the narrowed parts of boxes in place of those that the tree leaves them, in the same order.

        Parameters
        ----------
        found : NodeParts
            Of the leaves where a row can be.
        leaves : sequence of int
            The numbers of all leaves, ascending.
        """
        place = np.searchsorted(np.array(leaves), np.array(found.nodes, dtype=np.int64))
        index = np.array(self.set_indices, dtype=np.int64).reshape(len(self.set_indices), len(self.sets))[place]
        sets = tuple(tuple(np.array(members, dtype=np.int64) for members in of_axis) for of_axis in self.sets)
        return NodeParts(nodes=found.nodes, set_indices=index, sets=sets)

    @property
    def stored(self) -> StoredBoxes:
        """The boxes as `params.json` has them."""
        sets = tuple(tuple(tuple(_runs(members)) for members in of_axis) for of_axis in self.sets)
        return StoredBoxes(sets=sets, boxes=self.set_indices)

    @classmethod
    def of(cls, stored: StoredBoxes, sizes: Sequence[int], n_boxes: int) -> NarrowedBoxes:
        """Return the boxes that `params.json` states.

        Parameters
        ----------
        stored : StoredBoxes
        sizes : sequence of int
            Parts of each axis.
        n_boxes : int
            Leaves of the tree.

        Raises
        ------
        ValueError
            They are none of such a tree.
        """
        sets = tuple(
            tuple(_members(ends, size) for ends in of_axis) for of_axis, size in zip(stored.sets, sizes, strict=True)
        )
        if len(stored.boxes) != n_boxes or any(len(box) != len(sets) for box in stored.boxes):
            raise ValueError("boxes")
        if any(not 0 <= at < len(of_axis) for box in stored.boxes for at, of_axis in zip(box, sets, strict=True)):
            raise ValueError("a set that there is not")
        return cls(sets=sets, set_indices=stored.boxes)


def is_shown(found: NodeParts, sizes: Sequence[int], box: IntArray, codes: Sequence[NDArray[np.int64]]) -> BoolArray:
    """Return a mask of the rows inside the parts that their box shows, shape (n_rows,).

    Parameters
    ----------
    box : IntArray
        Row of `found.set_indices` of the box of each row, shape (n_rows,).
    codes : sequence of ndarray
        Part of each row, one array an axis.
    """
    inside = np.ones(box.size, dtype=bool)
    for axis, (parts, size) in enumerate(zip(codes, sizes, strict=True)):
        members = found.sets[axis]
        of_set = np.zeros(len(members) * size, dtype=bool)
        of_set[np.repeat(np.arange(len(members)) * size, [one.size for one in members]) + np.concatenate(members)] = 1
        inside &= of_set[found.set_indices[box, axis] * size + parts]
    return inside


def _runs(members: Sequence[int]) -> Iterator[int]:
    """Yield the first and the last part of every run, one after the other."""
    for at, part in enumerate(members):
        if at == 0 or members[at - 1] != part - 1:
            yield part
        if at + 1 == len(members) or members[at + 1] != part + 1:
            yield part


def _members(ends: Sequence[int], size: int) -> tuple[int, ...]:
    pairs = list(zip(ends[::2], ends[1::2], strict=True))
    members = tuple(chain.from_iterable(range(first, last + 1) for first, last in pairs if 0 <= first <= last < size))
    if not members or tuple(_runs(members)) != tuple(ends):
        raise ValueError("no set of parts")
    return members


FloatArray = NDArray[np.float64]
Cells = tuple[Any, ...]
RULES = {"digits": 2, "p_percent": 10, "dominance": 80}
"""Rules of the means: digits that their unit leaves of a standard deviation, and by which one is withheld."""

_FAR = 1e6
"""Numbers farther from the middle count as that far: distances from any two centroids are different doubles."""


@dataclass(frozen=True, kw_only=True)
class Centroids(
    ReportPart,
    keys=("rows", "rules", "scale=stated_scale", "columns", "missing?=stated_missing"),
    made_by="of_columns",
):
    """The combinations that groups of rows show, one entry a group: categories as strings, means as numbers."""

    rules: ClassVar[Mapping[str, int]] = RULES
    categories: tuple[tuple[str, Cells], ...]
    """Of each column without means: the string of every group, None for missing."""
    means: tuple[tuple[str, Cells], ...]
    """Of each column with means: the mean of every group, None where its rows have no number or it is withheld."""
    scale: tuple[tuple[float, float], ...]
    """Of each column with means: its middle, and what distances are divided by; 0 where it does not count."""
    missing: tuple[tuple[str, frozenset[int]], ...] = ()
    """Of columns with means: the groups whose rows have no number."""
    nearest_alone: bool = False
    """True where every row of the release shows the centroid nearest to it; else rows were grouped, and the groups do
    not follow from the centroids."""

    @property
    def size(self) -> int:
        """Number of centroids."""
        return len(self.means[0][1])

    def at(self, which: Iterable[int], *, nearest_alone: bool | None = None) -> Centroids:
        """Return some of the centroids, in their order."""
        places = list(which)
        again = {old: new for new, old in enumerate(places)}
        return Centroids(
            categories=tuple((name, tuple(cells[at] for at in places)) for name, cells in self.categories),
            means=tuple((name, tuple(cells[at] for at in places)) for name, cells in self.means),
            scale=self.scale,
            missing=tuple((name, frozenset(again[at] for at in lost if at in again)) for name, lost in self.missing),
            nearest_alone=self.nearest_alone if nearest_alone is None else nearest_alone,
        )

    def taken(self, name: str, at: NDArray[np.int64]) -> pa.Array:
        """Return the means of the centroids at some places; missing at `UNKNOWN`."""
        means = dict(self.means)[name]
        return pa.array([*means, None], pa.float64()).take(pa.array(np.where(at == UNKNOWN, len(means), at)))

    def nearest(self, shown: Mapping[str, pa.Array], numbers: Mapping[str, pa.Array]) -> NDArray[np.int64]:
        """Return the place of the centroid nearest to each row, `UNKNOWN` where its combination has none.

        Parameters
        ----------
        shown : mapping of column name to array of length n_rows
            Columns without means, as they are released.
        numbers : mapping of column name to array of length n_rows
            Numbers of the rows, of which means are shown.
        """
        from scipy.spatial import cKDTree  # not before it is needed

        points = np.column_stack([cell_numbers(numbers[name]) for name, _ in self.means])
        strata, n_centroids = self._strata([cell_texts(shown[name]) for name, _ in self.categories], points)
        own, rows = strata[:n_centroids], strata[n_centroids:]
        scaled = self._scaled(np.where(np.isfinite(points), points, np.nan))
        nearest = np.full(rows.size, UNKNOWN, np.int64)
        by_stratum, order = np.argsort(own, kind="stable"), np.argsort(rows, kind="stable")
        ends = np.searchsorted(rows[order], np.arange(int(strata.max(initial=0)) + 2))
        own_ends = np.searchsorted(own[by_stratum], np.arange(ends.size))
        for number in np.unique(own).tolist():
            mine = order[ends[number] : ends[number + 1]]
            places = by_stratum[own_ends[number] : own_ends[number + 1]]
            if mine.size:
                nearest[mine] = places[cKDTree(self._places[places]).query(scaled[mine])[1]]
        nearest[np.isinf(points).any(axis=1)] = UNKNOWN
        return nearest

    def _strata(self, texts: Sequence[pa.Array], points: FloatArray) -> tuple[NDArray[np.int64], int]:
        """Return the combination of categories, and of missing numbers, of each centroid and then of each row."""
        codes = []
        for (_, cells), array in zip(self.categories, texts, strict=True):
            known = pa.array(list(dict.fromkeys(cells)), pa.string())
            for each in (pa.array(cells, pa.string()), array):
                codes.append(
                    pc.fill_null(pc.index_in(each, value_set=known), len(known)).to_numpy(zero_copy_only=False)
                )
        lost = dict(self.missing)
        for at, (name, cells) in enumerate(self.means):
            gone = np.zeros(len(cells), bool)
            gone[list(lost.get(name, ()))] = True
            codes += [gone.astype(np.int64), np.isnan(points[:, at]).astype(np.int64)]
        both = [np.concatenate(pair).astype(np.int64) for pair in zip(codes[::2], codes[1::2], strict=True)]
        return combine(both, self.size + len(points))[0], self.size

    @cached_property
    def _numbers(self) -> FloatArray:
        """Means of every centroid, NaN where there is none, shape (size, n_columns)."""
        return np.column_stack([np.array(cells, np.float64) for _, cells in self.means])

    @cached_property
    def _places(self) -> FloatArray:
        return self._scaled(self._numbers)

    def _scaled(self, numbers: FloatArray) -> FloatArray:
        """Return numbers in units of the scale from the middle; 0 for none."""
        middle, scale = np.array(self.scale).T
        with np.errstate(divide="ignore", over="ignore"):
            inverse = np.where(scale > 0, 1 / scale, 0.0)
            scaled = np.nan_to_num((numbers - middle) * inverse, nan=0.0)
        return np.asarray(np.clip(scaled, -_FAR, _FAR), np.float64)

    @property
    def rows(self) -> str:
        """Word for how rows were put to their centroids."""
        return "nearest" if self.nearest_alone else "grouped"

    @property
    def columns(self) -> Mapping[str, Cells]:
        """Cells of every group, by column."""
        return dict((*self.categories, *self.means))

    @property
    def stated_scale(self) -> Mapping[str, tuple[float, float]]:
        """Middle and scale of each column with means."""
        return {name: own for (name, _), own in zip(self.means, self.scale, strict=True)}

    @property
    def stated_missing(self) -> Mapping[str, frozenset[int]] | None:
        """The groups without a number of each column that has any; None where no column has."""
        return {name: places for name, places in self.missing if places} or None

    @classmethod
    def of_columns(
        cls,
        *,
        rows: str,
        scale: Mapping[str, tuple[float, float]],
        columns: Mapping[str, tuple[Any, ...]],
        missing: Mapping[str, frozenset[int]] | None = None,
    ) -> Self:
        """Return the centroids that `params.json` states: columns with a scale show means.

        Raises
        ------
        ValueError, LookupError, TypeError
            They contradict each other.
        """
        lost = missing or {}
        if len({len(cells) for cells in columns.values()}) != 1 or rows not in ("nearest", "grouped"):
            raise ValueError("centroids")
        for name, cells in columns.items():
            if not all(
                cell is None or (_is_number(cell) if name in scale else isinstance(cell, str)) for cell in cells
            ):
                raise ValueError("centroids")
        if any(not 0 <= own[1] < math.inf for own in scale.values()):
            raise ValueError("scale")
        for name, places in lost.items():
            if name not in scale or any(columns[name][at] is not None for at in places):
                raise ValueError("missing")
        return cls(
            categories=tuple((name, cells) for name, cells in columns.items() if name not in scale),
            means=tuple((name, columns[name]) for name in scale),
            scale=tuple(scale.values()),
            missing=tuple(lost.items()),
            nearest_alone=rows == "nearest",
        )


def _is_number(cell: object) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool) and math.isfinite(cell)
