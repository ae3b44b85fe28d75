# SPDX-License-Identifier: Apache-2.0
"""Global recodings, column by column, and local recodings, box by box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.published.recoding.axes import UNKNOWN, CategoryAxis, Grouping, IntervalAxis, KeptAxis


@dataclass(frozen=True, kw_only=True)
class GlobalRecoding:
    """Every released quasi-identifier recoded by itself; columns not in it are dropped."""

    columns: tuple[KeptAxis | Grouping, ...]
    merged: bool = False
    """True when rows of groups that were too small show a coarser step (`coarser.coarser_steps`)."""

    def apply(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
        """Return the released quasi-identifier columns, and which rows are left out: nothing is said about a value."""
        unknown = np.zeros(batch.num_rows, dtype=bool)
        out: dict[str, pa.Array] = {}
        for column in self.columns:
            array = batch.column(column.name)
            if isinstance(column, KeptAxis):
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
            column.name: schema.field(column.name).type if isinstance(column, KeptAxis) else pa.string()
            for column in self.columns
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the recoding as it stands in `params.json`."""
        merged = {"merged": True} if self.merged else {}
        return {"kind": "global", "columns": [column.to_dict() for column in self.columns], **merged}


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
    merged: bool = False
    """True when rows of boxes that were too small show a box further up the tree."""

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

    def leaves_of(self, batch: pa.RecordBatch) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the leaf of every row of a batch, and which rows hold a value nothing is said about."""
        codes = [axis.codes(batch.column(axis.name)) for axis in self.axes]
        unknown = np.zeros(batch.num_rows, dtype=bool)
        for column in codes:
            unknown |= column == UNKNOWN
        return self.leaves([np.maximum(column, 0) for column in codes]), unknown

    def regions(self) -> dict[int, tuple[frozenset[int], ...]]:
        """Return the parts of each axis that every leaf holds."""
        out: dict[int, tuple[frozenset[int], ...]] = {}
        waiting = [(0, tuple(frozenset(range(axis.size)) for axis in self.axes))]
        while waiting:
            number, region = waiting.pop()
            node = self.nodes[number]
            if node is None:
                out[number] = region
                continue
            left = frozenset(node.left)
            for child, side in zip(node.children, (region[node.axis] & left, region[node.axis] - left), strict=True):
                if side:  # no row can be in a box without parts
                    waiting.append((child, (*region[: node.axis], side, *region[node.axis + 1 :])))
        return out

    def boxes(self) -> dict[int, tuple[str | None, ...]]:
        """Return the labels of every leaf, one a column; `*` where the box does not restrict the column."""
        return {
            number: tuple(axis.label(sorted(part)) for axis, part in zip(self.axes, region, strict=True))
            for number, region in self.regions().items()
        }

    def apply(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
        """Return the released quasi-identifier columns, and which rows hold a value nothing is said about."""
        leaves, unknown = self.leaves_of(batch)
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
        merged = {"merged": True} if self.merged else {}
        return {"kind": "local", "axes": [axis.to_dict() for axis in self.axes], "nodes": nodes, **merged}


Recoding = GlobalRecoding | LocalRecoding
