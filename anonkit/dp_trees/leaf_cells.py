# SPDX-License-Identifier: Apache-2.0
"""The leaves of a forest as cells: the attribute codes that lead to each, and the number of rows it represents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import BoolArray, FloatArray
from anonkit.domains.attribute_domains import Grid
from anonkit.published.tree_attributes import Attribute, TreeSchema
from anonkit.published.tree_model import LeafContent, PublishedForest

ROWS_WITHOUT_COUNTS = 10_000
"""Number of rows that a tree without counts represents: a public number, spread evenly over the domain."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LeafCells:
    """The leaves of all trees as cells, one entry per leaf, tree after tree."""

    schema: TreeSchema
    tree: NDArray[np.int64]
    """Tree of each leaf."""
    allowed: tuple[BoolArray, ...]
    """For each attribute which codes lead to the leaf, shape (n_leaves, codes)."""
    contents: tuple[LeafContent, ...]

    @property
    def size(self) -> int:
        """Number of leaves."""
        return self.tree.size

    def volumes(self) -> FloatArray:
        """Return the share of the domain that each leaf covers, shape (n_leaves,); 1 in sum over a tree."""
        shares = np.ones(self.size)
        for allowed in self.allowed:
            shares = shares * allowed.mean(axis=1)
        return shares

    def counts(self) -> FloatArray:
        """Return the rows of each class that a leaf represents, before anything is clipped, shape (n_leaves, classes).

        Noisy counts as they are. A leaf with a label only represents its share of the domain.
        """
        classes = self.schema.n_classes
        out = np.zeros((self.size, classes))
        even = self.volumes() * ROWS_WITHOUT_COUNTS
        for leaf, content in enumerate(self.contents):
            if content.counts is not None:
                out[leaf] = content.counts
            elif content.label is not None:
                out[leaf, content.label] = even[leaf]
        return out


def cells_of(forest: PublishedForest) -> LeafCells:
    """Return the cells of all trees."""
    schema = forest.schema
    trees: list[int] = []
    boxes: list[list[BoolArray]] = []
    contents: list[LeafContent] = []
    for number, _ in enumerate(forest.trees):
        for box, content in _leaves(forest, number):
            trees.append(number)
            boxes.append(box)
            contents.append(content)
    allowed = tuple(
        np.array([box[at] for box in boxes], dtype=bool).reshape(len(boxes), attribute.codes)
        for at, attribute in enumerate(schema.attributes)
    )
    return LeafCells(schema=schema, tree=np.array(trees, dtype=np.int64), allowed=allowed, contents=tuple(contents))


def _leaves(forest: PublishedForest, number: int) -> Iterator[tuple[list[BoolArray], LeafContent]]:
    """Yield the box and contents of each leaf of a tree; a leaf that no code leads to any more is left out."""
    tree, attributes = forest.trees[number], forest.schema.attributes
    boxes: dict[int, list[BoolArray]] = {0: [np.ones(attribute.codes, dtype=bool) for attribute in attributes]}
    for at, node in enumerate(tree):
        box = boxes.pop(at)
        if node.attribute is None:
            if node.leaf is not None:
                yield box, node.leaf
            continue
        branches = attributes[node.attribute].branches(node.at)
        for place, child in enumerate(node.children):
            smaller = list(box)
            smaller[node.attribute] = box[node.attribute] & (branches == place)
            boxes[child] = smaller


def label_of(attribute: Attribute, allowed: BoolArray) -> str:
    """Return the codes of a cell in words: `*`, an interval, a group of a taxonomy, or categories with bars between."""
    if allowed.all():
        return "*"
    if not allowed.any():
        return "none"
    domain = attribute.domain
    group = attribute.taxonomy.name_of(allowed) if attribute.paths else None
    if group is not None:
        return group
    if not isinstance(domain, Grid):
        return "|".join(
            "missing" if name is None else name for name, is_in in zip(domain.labels(), allowed, strict=True) if is_in
        )
    parts = []
    inside = np.flatnonzero(allowed[: domain.cells])
    if inside.size:
        edges = domain.edges()
        for run in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1):
            closing = "]" if run[-1] == domain.cells - 1 else ")"
            parts.append(f"[{edges[run[0]]:g}, {edges[run[-1] + 1]:g}{closing}")
    if domain.has_missing and allowed[-1]:
        parts.append("missing")
    return "|".join(parts)
