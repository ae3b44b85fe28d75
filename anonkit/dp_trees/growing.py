# SPDX-License-Identifier: Apache-2.0
"""A forest under construction: nodes as growing arrays, and its published form at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import IntArray
from anonkit.dp_trees.questions import Routing
from anonkit.dp_trees.split_selection import Chosen
from anonkit.dp_trees.tree_rows import TreeRows
from anonkit.published.tree_attributes import Attribute, TreeSchema
from anonkit.published.tree_model import LeafContent, Node, PublishedForest

_NOT_COUNTED = np.iinfo(np.int64).min


@dataclass(kw_only=True, eq=False)
class GrowingForest:
    """A forest under construction: the nodes of all trees in one numbering, in which node t is the root of tree t."""

    attribute: IntArray
    split: IntArray
    first_child: IntArray
    """Number of the first child, -1 for a leaf; the others follow it."""
    width: IntArray
    """Number of children, 0 for a leaf."""
    rows: IntArray
    """Noisy count of the rows of each node; `_NOT_COUNTED` where none was drawn."""
    tree: IntArray
    child: NDArray[np.int32]
    depth: int = 0
    contents: dict[int, LeafContent] = field(default_factory=dict)

    @classmethod
    def roots(cls, trees: int, most_codes: int) -> GrowingForest:
        """Return a forest of roots that are leaves."""
        return cls(
            attribute=np.zeros(trees, dtype=np.int64),
            split=np.zeros(trees, dtype=np.int64),
            first_child=np.full(trees, -1, dtype=np.int64),
            width=np.zeros(trees, dtype=np.int64),
            rows=np.full(trees, _NOT_COUNTED),
            tree=np.arange(trees),
            child=np.repeat(np.arange(trees, dtype=np.int32)[:, np.newaxis], most_codes, axis=1),
        )

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self.attribute.size

    @property
    def routing(self) -> Routing:
        """The routing of rows to nodes."""
        return Routing(attribute=self.attribute, child=self.child, depth=self.depth)

    def grow(self, nodes: IntArray, chosen: Chosen, attributes: Sequence[Attribute]) -> IntArray:
        """Split nodes; return the parent of each new node, in the order of the new numbers."""
        widths = np.zeros(nodes.size, dtype=np.int64)
        for at in np.unique(chosen.attribute):
            here = chosen.attribute == at
            widths[here] = attributes[at].n_children[chosen.split[here]]
        starts = self.size + np.cumsum(widths) - widths
        self.attribute[nodes], self.split[nodes] = chosen.attribute, chosen.split
        self.first_child[nodes], self.width[nodes] = starts, widths
        for at in np.unique(chosen.attribute):
            here, attribute = chosen.attribute == at, attributes[at]
            self.child[nodes[here], : attribute.codes] = (
                starts[here, np.newaxis] + attribute.branch_table[chosen.split[here]]
            )
        parents = np.repeat(nodes, widths)
        fresh = np.arange(self.size, self.size + parents.size)
        blank = np.zeros(fresh.size, dtype=np.int64)
        self.attribute, self.split = np.append(self.attribute, blank), np.append(self.split, blank)
        self.first_child, self.width = np.append(self.first_child, blank - 1), np.append(self.width, blank)
        own = np.repeat(fresh.astype(np.int32)[:, np.newaxis], self.child.shape[1], axis=1)
        self.child = np.concatenate([self.child, own])
        self.tree = np.append(self.tree, self.tree[parents])
        self.rows = np.append(self.rows, np.full(fresh.size, _NOT_COUNTED))
        self.depth += 1
        return parents

    def published(self, schema: TreeSchema, rows: TreeRows, vote: str | None = None) -> PublishedForest:
        """Return the forest with its nodes numbered tree by tree, level by level."""
        order = np.argsort(self.tree, kind="stable")
        sizes = np.bincount(self.tree, minlength=rows.trees)
        number = np.empty(self.size, dtype=np.int64)
        number[order] = np.arange(self.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        columns = zip(
            order.tolist(),
            self.first_child[order].tolist(),
            self.attribute[order].tolist(),
            self.split[order].tolist(),
            self.width[order].tolist(),
            [None if count == _NOT_COUNTED else count for count in self.rows[order].tolist()],
            strict=True,
        )
        renumbered = number.tolist()
        nodes = [
            Node(leaf=self.contents[node], rows=counted)
            if start < 0
            else Node(attribute=at, at=split, children=tuple(renumbered[start : start + width]), rows=counted)
            for node, start, at, split, width, counted in columns
        ]
        ends = np.cumsum(sizes)
        return PublishedForest(
            schema=schema,
            trees=tuple(tuple(nodes[end - size : end]) for size, end in zip(sizes, ends, strict=True)),
            rows_per_tree=rows.to_params(),
            vote=vote,
        )
