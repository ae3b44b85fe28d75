# SPDX-License-Identifier: Apache-2.0
"""Recodings: how quasi-identifiers become what is released, the same way for this table and the next batch.

A global recoding treats every column by itself: kept, cut into intervals, merged into groups, or dropped.
A local recoding is a tree that puts every row into a box of the quasi-identifiers' space.

Privacy
-------
A recoding is public. It never lists a value that fewer than k rows (people) hold unless the policy declared it:
such values are in the group that stands for everything not listed. Interval ends are the roundest numbers that
separate the same rows, not cell values; the outermost intervals are open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.cells import is_ordered, recode_array
from anonkit.errors import ReleaseFormatError
from anonkit.rounding import Point, place, point_from_text, point_text

MASK = "*"
"""What stands for everything a column does not tell."""
OTHER = "other"
"""Label of the values that are not listed."""
_LONG = 4
"""Sets of more values than this are named by what they lack, when that is shorter."""
UNKNOWN = -1
"""Code of a cell the recoding says nothing about; its row cannot be released."""


class Axis(Protocol):
    """The parts into which a recoding divides one column's values."""

    name: str

    @property
    def size(self) -> int: ...

    def codes(self, array: pa.Array) -> NDArray[np.int64]: ...

    def label(self, parts: Sequence[int]) -> str | None: ...

    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True)
class IntervalAxis:
    """An ordered column divided at cut points: part i holds cuts[i-1] <= x < cuts[i]; missing, if any, is the last."""

    name: str
    cuts: tuple[Point, ...]
    has_missing: bool
    """False when the recoded table had no missing value here: nothing is said about one."""

    @property
    def size(self) -> int:
        """Number of parts, missing included."""
        return len(self.cuts) + 1 + self.has_missing

    def codes(self, array: pa.Array) -> NDArray[np.int64]:
        """Return the part of every cell, shape (len(array),)."""
        values = {value: None for value in array.unique().to_pylist() if value is not None}
        keys = list(values)
        cuts = np.array([place(cut) for cut in self.cuts], dtype=np.float64)
        parts = np.searchsorted(cuts, np.array([place(key) for key in keys], dtype=np.float64), side="right")
        lookup: dict[Any, int] = dict(zip(keys, parts.tolist(), strict=True))
        lookup[None] = self.size - 1 if self.has_missing else UNKNOWN
        return recode_array(array, lookup, UNKNOWN, ordered=True)

    def label(self, parts: Sequence[int]) -> str | None:
        """Name a set of parts: an interval, with `missing` beside it when it is in the set; None for missing alone."""
        n_intervals = len(self.cuts) + 1
        inner = sorted(part for part in parts if part < n_intervals)
        if not inner:
            return None
        if len(inner) == n_intervals:
            text = MASK
        else:
            runs = np.split(np.array(inner), np.flatnonzero(np.diff(inner) != 1) + 1)
            text = "|".join(self._interval(int(run[0]), int(run[-1])) for run in runs)
        return f"{text}|missing" if n_intervals in parts and text != MASK else text

    def _interval(self, first: int, last: int) -> str:
        low = point_text(self.cuts[first - 1]) if first > 0 else None
        high = point_text(self.cuts[last]) if last < len(self.cuts) else None
        if low is None:
            return f"< {high}"
        return f">= {low}" if high is None else f"[{low}, {high})"

    def to_dict(self) -> dict[str, Any]:
        """Return the axis as it stands in `params.json`."""
        cuts = [point_text(cut) for cut in self.cuts]
        return {"name": self.name, "kind": "intervals", "cuts": cuts, "missing": self.has_missing}


@dataclass(frozen=True, kw_only=True)
class CategoryAxis:
    """A categorical column: one part a listed value, then one for all others and one for missing, if there are any."""

    name: str
    values: tuple[str, ...]
    has_other: bool
    has_missing: bool
    """False when the recoded table had no missing value here: nothing is said about one."""

    @property
    def size(self) -> int:
        """Number of parts, missing included."""
        return len(self.values) + self.has_other + self.has_missing

    def codes(self, array: pa.Array) -> NDArray[np.int64]:
        """Return the part of every cell, shape (len(array),); UNKNOWN where nothing is said about a value."""
        lookup: dict[Any, int] = {value: at for at, value in enumerate(self.values)}
        lookup[None] = self.size - 1 if self.has_missing else UNKNOWN
        return recode_array(array, lookup, len(self.values) if self.has_other else UNKNOWN, is_ordered(array.type))

    def label(self, parts: Sequence[int]) -> str | None:
        """Name a set of parts by its values; None for missing alone."""
        present = len(self.values) + self.has_other
        if list(parts) == [present]:
            return None
        if sum(part < present for part in parts) == present:
            return MASK
        names = (*self.values, *((OTHER,) if self.has_other else ()), *(("missing",) if self.has_missing else ()))
        inside = [names[part] for part in parts]
        outside = [name for part, name in enumerate(names) if part not in set(parts)]
        if len(inside) > _LONG and len(outside) < len(inside):
            return "not " + "|".join(outside)
        return "|".join(inside)

    def to_dict(self) -> dict[str, Any]:
        """Return the axis as it stands in `params.json`."""
        return {
            "name": self.name,
            "kind": "categories",
            "values": list(self.values),
            "other": self.has_other,
            "missing": self.has_missing,
        }


@dataclass(frozen=True, kw_only=True)
class KeptAxis:
    """A column released as it is."""

    name: str

    def to_dict(self) -> dict[str, Any]:
        """Return the axis as it stands in `params.json`."""
        return {"name": self.name, "kind": "kept"}


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """An axis with its parts merged into labelled groups; a null label is missing."""

    axis: IntervalAxis | CategoryAxis
    labels: tuple[str | None, ...]
    """Label of each part, length `axis.size`; parts with one label are one group."""

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.axis.name

    def to_dict(self) -> dict[str, Any]:
        """Return the grouping as it stands in `params.json`."""
        return {**self.axis.to_dict(), "labels": list(self.labels)}


@dataclass(frozen=True, kw_only=True)
class GlobalRecoding:
    """Every released quasi-identifier recoded by itself; columns not in it are dropped."""

    columns: tuple[KeptAxis | Grouping, ...]

    def apply(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
        """Return the released quasi-identifier columns, and which rows hold a value nothing is said about."""
        unknown = np.zeros(batch.num_rows, dtype=bool)
        out: dict[str, pa.Array] = {}
        for column in self.columns:
            array = batch.column(column.name)
            if isinstance(column, KeptAxis):
                out[column.name] = array
                continue
            codes = column.axis.codes(array)
            unknown |= codes == UNKNOWN
            out[column.name] = pa.array(column.labels, pa.string()).take(pa.array(np.maximum(codes, 0)))
        return out, unknown

    def types(self, schema: pa.Schema) -> dict[str, pa.DataType]:
        """Return the type of every released quasi-identifier."""
        return {
            column.name: schema.field(column.name).type if isinstance(column, KeptAxis) else pa.string()
            for column in self.columns
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the recoding as it stands in `params.json`."""
        return {"kind": "global", "columns": [column.to_dict() for column in self.columns]}


@dataclass(frozen=True, kw_only=True)
class Split:
    """An inner node of a local recoding: rows whose part of a column is in `left` go left."""

    axis: int
    left: tuple[int, ...]
    children: tuple[int, int]
    """Numbers of the left and right node."""


@dataclass(frozen=True, kw_only=True)
class LocalRecoding:
    """A tree of splits; its leaves are boxes, and every row shows the label of its box in every column."""

    axes: tuple[IntervalAxis | CategoryAxis, ...]
    nodes: tuple[Split | None, ...]
    """Node 0 is the root; None is a leaf."""

    def leaves(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the leaf (node number) of every row from its part of each axis, shape (n_rows,)."""
        n_rows = codes[0].size if codes else 0
        at = np.zeros(n_rows, dtype=np.int64)
        waiting: list[tuple[int, NDArray[np.int64]]] = [(0, np.arange(n_rows))]
        while waiting:
            number, rows = waiting.pop()
            node = self.nodes[number]
            if node is None:
                at[rows] = number
                continue
            goes_left = np.zeros(self.axes[node.axis].size, dtype=bool)
            goes_left[list(node.left)] = True
            left = goes_left[codes[node.axis][rows]]
            waiting += [(node.children[0], rows[left]), (node.children[1], rows[~left])]
        return at

    def without(self, leaves: Sequence[int]) -> LocalRecoding:
        """Return the recoding in which these leaves, and all that hangs on their parents, are one box each."""
        gone = set(leaves)
        nodes = [None if node is not None and gone & set(node.children) else node for node in self.nodes]
        return replace(self, nodes=tuple(nodes))

    def boxes(self) -> dict[int, tuple[str | None, ...]]:
        """Return the labels of every leaf, one a column; `*` where the box does not restrict the column."""
        out: dict[int, tuple[str | None, ...]] = {}
        waiting = [(0, tuple(frozenset(range(axis.size)) for axis in self.axes))]
        while waiting:
            number, region = waiting.pop()
            node = self.nodes[number]
            if node is None:
                out[number] = tuple(axis.label(sorted(part)) for axis, part in zip(self.axes, region, strict=True))
                continue
            left = frozenset(node.left)
            for child, side in zip(node.children, (region[node.axis] & left, region[node.axis] - left), strict=True):
                waiting.append((child, (*region[: node.axis], side, *region[node.axis + 1 :])))
        return out

    def apply(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
        """Return the released quasi-identifier columns, and which rows hold a value nothing is said about."""
        codes = [axis.codes(batch.column(axis.name)) for axis in self.axes]
        unknown = np.zeros(batch.num_rows, dtype=bool)
        for column in codes:
            unknown |= column == UNKNOWN
        leaves = self.leaves([np.maximum(column, 0) for column in codes])
        boxes = self.boxes()
        row_of = np.zeros(len(self.nodes), dtype=np.int64)
        row_of[list(boxes)] = np.arange(len(boxes))
        take = pa.array(row_of[leaves])
        labels = list(boxes.values())
        out = {
            axis.name: pa.array([box[at] for box in labels], pa.string()).take(take)
            for at, axis in enumerate(self.axes)
        }
        return out, unknown

    def types(self, schema: pa.Schema) -> dict[str, pa.DataType]:
        """Return the type of every released quasi-identifier."""
        return {axis.name: pa.string() for axis in self.axes}

    def to_dict(self) -> dict[str, Any]:
        """Return the recoding as it stands in `params.json`."""
        nodes = [
            None if node is None else {"axis": node.axis, "left": list(node.left), "children": list(node.children)}
            for node in self.nodes
        ]
        return {"kind": "local", "axes": [axis.to_dict() for axis in self.axes], "nodes": nodes}


Recoding = GlobalRecoding | LocalRecoding


def unique_labels(labels: Sequence[str | None], groups: Sequence[int]) -> tuple[str | None, ...]:
    """Return labels such that two parts share one exactly when they are in one group."""
    owner: dict[str | None, int] = {}
    renamed: dict[int, str | None] = {}
    for label, group in zip(labels, groups, strict=True):
        if group in renamed:
            continue
        candidate, number = label, 1
        while owner.setdefault(candidate, group) != group:
            number += 1
            candidate = f"{label if label is not None else 'missing'} ({number})"
        renamed[group] = candidate
    return tuple(renamed[group] for group in groups)


def recoding_from_dict(raw: Mapping[str, Any]) -> Recoding:
    """Read a recoding back from `params.json`.

    Raises
    ------
    ReleaseFormatError
        The block is not a recoding.
    """
    try:
        if raw["kind"] == "global":
            return GlobalRecoding(columns=tuple(_column_from_dict(column) for column in raw["columns"]))
        if raw["kind"] == "local":
            axes = tuple(_axis_from_dict(axis) for axis in raw["axes"])
            nodes = tuple(
                None
                if node is None
                else Split(
                    axis=node["axis"], left=tuple(node["left"]), children=(node["children"][0], node["children"][1])
                )
                for node in raw["nodes"]
            )
            return LocalRecoding(axes=axes, nodes=nodes)
    except (KeyError, TypeError, IndexError, ValueError):
        pass
    raise ReleaseFormatError("the recoding in params.json is damaged", "anonkit validate tells which file was changed")


def _axis_from_dict(raw: Mapping[str, Any]) -> IntervalAxis | CategoryAxis:
    if raw["kind"] == "intervals":
        return IntervalAxis(
            name=raw["name"], cuts=tuple(point_from_text(cut) for cut in raw["cuts"]), has_missing=raw["missing"]
        )
    if raw["kind"] == "categories":
        return CategoryAxis(
            name=raw["name"], values=tuple(raw["values"]), has_other=raw["other"], has_missing=raw["missing"]
        )
    raise ValueError(raw["kind"])


def _column_from_dict(raw: Mapping[str, Any]) -> KeptAxis | Grouping:
    if raw["kind"] == "kept":
        return KeptAxis(name=raw["name"])
    axis = _axis_from_dict(raw)
    if len(raw["labels"]) != axis.size:
        raise ValueError("labels")
    return Grouping(axis=axis, labels=tuple(raw["labels"]))
