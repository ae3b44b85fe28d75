# SPDX-License-Identifier: Apache-2.0
"""Global recodings, column by column, and local recodings, box by box.

Recodings read back from `params.json`.

Coarser steps of a published recoding: what rows show whose group is too small in the next batch.

The steps are a function of the published recoding alone, so that which groups merge with which is known before any row
of the next batch is read.

The parts of its column that each label of a recoding means, labels of coarser steps among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.documents import ReportPart, left_out, read
from anonkit.errors import ReleaseFormatError
from anonkit.published.recoding.axes import (
    MASK,
    UNKNOWN,
    CategoryAxis,
    Grouping,
    IntervalAxis,
    MeanAxis,
    UnchangedAxis,
)
from anonkit.published.recoding.boxes_and_centroids import (
    BoxRoutes,
    Centroids,
    NarrowedBoxes,
    NodeParts,
    StoredBoxes,
    is_shown,
)

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class GlobalRecoding(ReportPart, keys=("kind", "columns", "merged", "centroids"), made_by="of_columns"):
    """Every released quasi-identifier recoded by itself; columns not in it are dropped."""

    kind: ClassVar[str] = "global"
    columns: tuple[UnchangedAxis | Grouping, ...]
    merged: bool = field(default=False, metadata=left_out())
    """True when rows of groups that were too small show a coarser step (`coarser.coarser_steps`)."""
    centroids: Centroids | None = field(default=None, metadata=left_out())
    """Combinations that rows show, where a column shows means: there is one of each `MeanAxis`."""

    @classmethod
    def of_columns(
        cls,
        *,
        columns: tuple[UnchangedAxis | MeanAxis | Grouping, ...],
        merged: bool = False,
        centroids: Centroids | None = None,
    ) -> Self:
        """Return the recoding that `params.json` states.

        Raises
        ------
        ValueError
            The centroids are not those of the columns.
        """
        recoding = cls(columns=columns, merged=merged, centroids=centroids)
        if centroids is None and not recoding.mean_names:
            return recoding
        shown = {} if centroids is None else dict(centroids.means)
        names = {column.name for column in columns}
        if centroids is None or set(shown) != set(recoding.mean_names) or set(centroids.columns) != names:
            raise ValueError("centroids of other columns")
        return recoding

    def apply(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
        """Return the released quasi-identifier columns, and which rows are suppressed: a value is not covered.

        Means are those of the nearest centroid.
        """
        out, unknown = self.apart_from_means(batch)
        if self.centroids is None:
            return out, unknown
        nearest = self.centroids.nearest(out, {name: batch.column(name) for name in self.mean_names})
        means = {name: self.centroids.taken(name, nearest) for name in self.mean_names}
        return {column.name: (out | means)[column.name] for column in self.columns}, unknown | (nearest == UNKNOWN)

    @property
    def in_groups(self) -> bool:
        """True where rows were grouped by their numbers: which rows are a group does not follow from the centroids."""
        return self.centroids is not None and not self.centroids.nearest_alone

    @property
    def mean_names(self) -> tuple[str, ...]:
        """Columns that show means."""
        return tuple(column.name for column in self.columns if isinstance(column, MeanAxis))

    def apart_from_means(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
        """Return the columns that show no means, and which rows have a value that is not covered."""
        unknown = np.zeros(batch.num_rows, dtype=bool)
        out: dict[str, pa.Array] = {}
        for column in self.columns:
            if isinstance(column, MeanAxis):
                continue
            array = batch.column(column.name)
            if isinstance(column, UnchangedAxis):
                out[column.name] = array
                continue
            codes = column.axis.codes(array)
            unknown |= codes == UNKNOWN
            if column.unreleased:
                unknown |= np.isin(codes, list(column.unreleased))
            out[column.name] = pa.array(column.labels, pa.string()).take(pa.array(np.maximum(codes, 0)))
        return out, unknown

    def types(self, schema: pa.Schema) -> dict[str, pa.DataType]:
        """Return the type of every released quasi-identifier."""
        return {
            column.name: pa.float64()
            if isinstance(column, MeanAxis)
            else schema.field(column.name).type
            if isinstance(column, UnchangedAxis)
            else pa.string()
            for column in self.columns
        }


@dataclass(frozen=True, kw_only=True)
class RecodingSplit(ReportPart):
    """An inner node of a local recoding: rows whose part of a column is in `left` go left."""

    axis: int
    left: tuple[int, ...]
    children: tuple[int, int]
    """Numbers of the left and right node."""


@dataclass(frozen=True, kw_only=True)
class LocalRecoding(
    ReportPart, keys=("kind", "axes", "nodes=_named_once", "merged", "narrowed?=narrowed.stored"), made_by="of_nodes"
):
    """A tree of splits; its leaves are boxes, and every row shows the label of its box in every column."""

    kind: ClassVar[str] = "local"
    axes: tuple[IntervalAxis | CategoryAxis, ...]
    nodes: tuple[RecodingSplit | None, ...]
    """Node 0 is the root; None is a leaf."""
    merged: bool = field(default=False, metadata=left_out())
    """True when rows of boxes that were too small show a box further up the tree."""
    narrowed: NarrowedBoxes | None = None
    """The parts that each box shows where these are fewer than the tree leaves it; of the rows of one table alone."""

    @classmethod
    def of_nodes(
        cls,
        *,
        axes: tuple[IntervalAxis | CategoryAxis, ...],
        nodes: tuple[RecodingSplit | None, ...],
        merged: bool = False,
        narrowed: StoredBoxes | None = None,
    ) -> Self:
        """Return the recoding that `params.json` states.

        Raises
        ------
        ValueError, IndexError
            A node has a part, axis or child that there is not, or the boxes are none of the tree.
        """
        sizes = [axis.size for axis in axes]
        BoxRoutes.of(sizes, nodes)
        n_boxes = sum(node is None for node in nodes)
        boxes = None if narrowed is None else NarrowedBoxes.of(narrowed, sizes, n_boxes)
        return cls(axes=axes, nodes=nodes, merged=merged, narrowed=boxes)

    @property
    def as_divided(self) -> LocalRecoding:
        """The recoding for other rows: what each box shows is all that the tree leaves it."""
        return self if self.narrowed is None else replace(self, narrowed=None)

    @cached_property
    def _routes(self) -> BoxRoutes:
        return BoxRoutes.of([axis.size for axis in self.axes], self.nodes)

    @cached_property
    def _labelled(self) -> tuple[NodeParts, tuple[tuple[str | None, ...], ...]]:
        """The sets of parts that leaves hold, and the labels of those of every axis: each set is named once."""
        found = self._routes.node_parts()
        if self.narrowed is not None:
            found = self.narrowed.shown(found, [number for number, node in enumerate(self.nodes) if node is None])
        labels = (
            tuple(axis.label(members.tolist()) for members in sets)
            for axis, sets in zip(self.axes, found.sets, strict=True)
        )
        return found, tuple(labels)

    def leaves(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the leaf (node number) of every row from its part of each axis, shape (n_rows,)."""
        return self._routes.leaves(codes)

    def leaves_of(self, batch: pa.RecordBatch) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the leaf of every row of a batch, and which rows have a value that the recoding does not cover.

        Where boxes are narrowed, a row outside what its box shows is not covered.
        """
        codes = [axis.codes(batch.column(axis.name)) for axis in self.axes]
        unknown = np.zeros(batch.num_rows, dtype=bool)
        for column in codes:
            unknown |= column == UNKNOWN
        codes = [np.maximum(column, 0) for column in codes]
        leaves = self.leaves(codes)
        if self.narrowed is not None:
            found = self._labelled[0]
            unknown |= ~is_shown(found, [axis.size for axis in self.axes], self._rows_of(found)[leaves], codes)
        return leaves, unknown

    def regions(self) -> dict[int, tuple[frozenset[int], ...]]:
        """Return the parts of each axis that every leaf holds."""
        found = self._labelled[0]
        sets = [[frozenset(members.tolist()) for members in of_axis] for of_axis in found.sets]
        return dict(zip(found.nodes, _by_node(found, sets), strict=True))

    def boxes(self) -> dict[int, tuple[str | None, ...]]:
        """Return the labels of every leaf, one a column; `*` where the box does not restrict the column."""
        found, labels = self._labelled
        return dict(zip(found.nodes, _by_node(found, labels), strict=True))

    def apply(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
        """Return the released quasi-identifier columns, and which rows have a value that is not covered."""
        leaves, unknown = self.leaves_of(batch)
        found, labels = self._labelled
        index = found.set_indices[self._rows_of(found)[leaves]]
        out = {
            axis.name: pa.array(labels[at], pa.string()).take(pa.array(index[:, at]))
            for at, axis in enumerate(self.axes)
        }
        return out, unknown

    def _rows_of(self, found: NodeParts) -> NDArray[np.int64]:
        """Return the row of `found.set_indices` of each node, shape (n_nodes,)."""
        row_of = np.zeros(len(self.nodes), dtype=np.int64)
        row_of[list(found.nodes)] = np.arange(len(found.nodes))
        return row_of

    def types(self, schema: pa.Schema) -> dict[str, pa.DataType]:
        """Return the type of every released quasi-identifier."""
        return {axis.name: pa.string() for axis in self.axes}

    @property
    def _named_once(self) -> list[RecodingSplit | None]:
        """The nodes with only those parts on the left that their box holds: what went elsewhere above is none."""
        found, nodes = self._routes.node_parts(inner=True), list(self.nodes)
        for number, index in zip(found.nodes, found.set_indices, strict=True):
            node = nodes[number]
            if node is not None:
                members = set(found.sets[node.axis][index[node.axis]].tolist())
                nodes[number] = replace(node, left=tuple(part for part in node.left if part in members))
        return nodes


def _by_node(found: NodeParts, named: Sequence[Sequence[_T]]) -> list[tuple[_T, ...]]:
    """Return the named parts of each axis in every node."""
    if not named:
        return [()] * len(found.nodes)
    columns = ([of_axis[at] for at in found.set_indices[:, axis].tolist()] for axis, of_axis in enumerate(named))
    return list(zip(*columns, strict=True))


Recoding = GlobalRecoding | LocalRecoding


def recoding_from_dict(raw: Mapping[str, Any]) -> Recoding:
    """Read a recoding back from `params.json`.

    Raises
    ------
    ReleaseFormatError
        The block is not a recoding.
    """
    try:
        recoding: Recoding = read(Recoding, raw)  # type: ignore[arg-type]
    except ReleaseFormatError:
        raise ReleaseFormatError(
            "the recoding in params.json is damaged", "anonkit validate tells which file was changed"
        ) from None
    return recoding


Labels = tuple[str | None, ...]


def with_levels(recoding: Recoding) -> Recoding:
    """Return a recoding that says of itself that rows may show coarser steps, its levels written out."""
    if isinstance(recoding, LocalRecoding):
        return replace(recoding, merged=True)
    columns = tuple(
        column if isinstance(column, UnchangedAxis) else replace(column, coarser=levels_above(column))
        for column in recoding.columns
    )
    return GlobalRecoding(columns=columns, merged=True)


def coarser_steps(recoding: Recoding) -> tuple[Recoding, ...]:
    """Return a recoding and its coarser and coarser steps, down to the one that leaves nothing but kept columns.

    Of a local recoding every step shows the boxes one split of the tree further up. Of a global one every step
    takes the column with the fewest groups, the last of several, one level up: a search divides most the column that
    informs most.
    """
    return _local_steps(recoding) if isinstance(recoding, LocalRecoding) else _global_steps(recoding)


def levels_above(column: Grouping) -> tuple[Labels, ...]:
    """Return the labels of the parts at every level above a grouping, the last `*` alone.

    The declared levels where the recoding has them. Else neighbouring intervals are joined two and two, from the lowest
    on; of categories, which have no public order, there is nothing between the groups and `*`.
    """
    if column.coarser is not None:
        return column.coarser
    levels: list[Labels] = []
    joined = _joined(column.axis, column.labels)
    while joined is not None:
        levels.append(joined)
        joined = _joined(column.axis, joined)
    everything = (MASK,) * column.axis.size
    return (*levels, everything) if column.labels != everything else ()


def _joined(axis: object, labels: Labels) -> Labels | None:
    """Return the labels after joining neighbouring intervals two and two; None where that would leave one or none."""
    if not isinstance(axis, IntervalAxis) or axis.named is not None or MASK in labels:
        return None
    n_intervals = len(axis.cuts) + 1
    order = list(dict.fromkeys(labels[:n_intervals]))
    runs = 1 + sum(labels[at] != labels[at - 1] for at in range(1, n_intervals))
    if len(order) < 3 or runs != len(order):
        return None
    pair = {label: at // 2 for at, label in enumerate(order)}
    members: dict[int, list[int]] = {}
    for part, label in enumerate(labels):
        if label in pair:  # missing that is alone stays so
            members.setdefault(pair[label], []).append(part)
    texts = {number: axis.label(parts) for number, parts in members.items()}
    return tuple(texts[pair[label]] if label in pair else label for label in labels)


def _global_steps(recoding: GlobalRecoding) -> tuple[GlobalRecoding, ...]:
    if recoding.centroids is not None:
        return (recoding,)  # coarser combinations have no centroids
    levels = [[] if isinstance(column, UnchangedAxis) else [*levels_above(column)] for column in recoding.columns]
    columns, steps = list(recoding.columns), [recoding]
    while True:
        left = [
            (len(set(column.labels)), number, column)
            for number, column in enumerate(columns)
            if isinstance(column, Grouping) and levels[number]
        ]
        if not left:
            return tuple(steps)
        _, number, column = min(left, key=lambda one: (one[0], -one[1]))
        next_level, *levels[number] = levels[number]
        columns[number] = replace(column, labels=next_level)
        steps.append(replace(recoding, columns=tuple(columns)))


def _local_steps(recoding: LocalRecoding) -> tuple[LocalRecoding, ...]:
    depth = np.zeros(len(recoding.nodes), dtype=np.int64)
    for number, node in enumerate(recoding.nodes):  # children come after their parent
        if node is not None:
            depth[list(node.children)] = depth[number] + 1
    steps = [recoding]
    for limit in range(int(depth.max(initial=0)) - 1, -1, -1):
        nodes = tuple(None if depth[at] >= limit else node for at, node in enumerate(recoding.nodes))
        steps.append(replace(recoding, nodes=nodes))
    return tuple(steps)


# --- labels ----------------------------------------------------------------------------------------------------------


LabelParts = Mapping[str | None, frozenset[int]]
"""The parts of its axis that each label of a column means."""


def labels_of(recoding: Recoding) -> dict[str, tuple[IntervalAxis | CategoryAxis, LabelParts]]:
    """Return the axis of every recoded column, and the parts of its labels; kept columns are left out.

    The labels of coarser steps are among them where rows may show such.
    """
    if isinstance(recoding, GlobalRecoding):
        return {
            column.name: (column.axis, _parts_of_labels([column.labels, *(column.coarser or ())]))
            for column in recoding.columns
            if isinstance(column, Grouping)
        }
    # a box further up has labels of its own, which rows of the next batch may show: all nodes are looked at
    found = BoxRoutes.of([axis.size for axis in recoding.axes], recoding.nodes).node_parts(inner=True)
    shown: list[dict[str | None, frozenset[int]]] = [{} for _ in recoding.axes]
    narrowed = ((),) * len(recoding.axes) if recoding.narrowed is None else recoding.narrowed.sets
    for axis, sets, narrow, labels in zip(recoding.axes, found.sets, narrowed, shown, strict=True):
        for members in (*(one.tolist() for one in sets), *narrow):
            label = axis.label(members)
            labels[label] = labels.get(label, frozenset()) | frozenset(members)
    return {axis.name: (axis, labels) for axis, labels in zip(recoding.axes, shown, strict=True)}


def _parts_of_labels(levels: Iterable[Sequence[str | None]]) -> LabelParts:
    found: dict[str | None, frozenset[int]] = {}
    for level in levels:
        of_level: dict[str | None, set[int]] = {}
        for part, label in enumerate(level):
            of_level.setdefault(label, set()).add(part)
        for label, parts in of_level.items():  # the finest level that has a label defines it
            found.setdefault(label, frozenset(parts))
    return found
