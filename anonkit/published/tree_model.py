# SPDX-License-Identifier: Apache-2.0
"""The published forest: split attributes, cuts and noisy leaves, as values and as JSON; a consumer needs nothing else.

The params file of a release by trees holds, besides its `accounting`::

    {
      "format": "anonkit-forest-1",
      "target": {"name": "income", "domain": {"categories": ["<=50K", ">50K"], "has_missing": false}},
      "attributes": [
        {"name": "age", "type": "number", "split": "cut",
         "domain": {"bounds": [17, 90], "cells": 16, "has_missing": false}},
        {"name": "sex", "type": "category", "split": "multiway",
         "domain": {"categories": ["Female", "Male"], "has_missing": false}}],
      "rows_per_tree": {"kind": "disjoint", "trees": 1},
      "trees": [[
        {"attribute": "age", "split": "cut", "at": 3, "value": 35.25, "children": [1, 2]},
        {"attribute": "sex", "split": "multiway", "children": [3, 4]},
        {"counts": [120, -3]},
        {"label": "<=50K"}, ...]]
    }

* Nodes of a tree are numbered from 0, its root; children come after their parents. A node with `children` is split,
  any other is a leaf.
* `multiway`: child i takes code i of the attribute's domain (missing, where it can occur, is the last code). `cut`:
  codes up to `at` go to the first child, that is numbers below `value`; the others, missing too, to the second.
  `one-vs-rest`: the category of code `at`, `value`, goes to the first child, all others to the second. `taxonomy`: the
  group `value` of the attribute's `tree` (one path a category, from itself to its coarsest group; `*` is all of them)
  is divided into the groups just below it, in the order of their first categories; missing, where it can occur, is the
  last child of `*`. A group that has one below it alone is passed over.
* `rows` is the noisy count of the rows of a node, where one was drawn.
* A leaf has noisy `counts` of its classes, in the order of the target's domain, or a `label`. It may have
  `histograms`: for each attribute, in the order of `attributes`, the noisy counts, a row a code, a column a class.
* `vote`, where it is there, says how the trees decide together: `pooled` (their counts are added up), `majority` (each
  votes for its commonest class) or `sum` (their class probabilities are added up). Without it they are pooled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import DeclaredTarget, Grid
from anonkit.errors import ParameterError
from anonkit.published.tree_attributes import Attribute, Split, TreeSchema

_MOST_ROWS = 1 << 62
"""Noise included: what is added up stays an integer of 64 bits."""

FORMATS = ("anonkit-forest-1", "anonkit-forest-2")
"""Of forests with discrete Laplace noise alone, and with discrete Gaussian noise on the blocks beside the trees.

A forest alone is of the first."""
VOTES = ("pooled", "majority", "sum")
"""Votes of trees with counts; see the layout above."""
Table = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LeafContent:
    """The published content of a leaf: noisy counts, a label, histograms."""

    counts: tuple[int, ...] | None = None
    """Noisy counts of the classes; None where only the label was drawn."""
    label: int | None = None
    """The class drawn; None where counts were."""
    histograms: tuple[Table, ...] | None = None
    """For each attribute the noisy counts by code and class, where the leaf has them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """One node of a published tree."""

    attribute: int | None = None
    """Position of the split attribute; None for a leaf."""
    at: int = 0
    """Number of the split, see `Attribute.branches`; 0 for a multiway split."""
    children: tuple[int, ...] = ()
    leaf: LeafContent | None = None
    rows: int | None = None
    """Noisy count of the rows in the node, where one was drawn."""

    @property
    def is_leaf(self) -> bool:
        """True when it has no children."""
        return self.attribute is None


@dataclass(frozen=True, kw_only=True)
class PublishedForest(
    ParamsPart,
    keys=(
        "format",
        "target=schema.stated_target",
        "attributes=schema.attributes",
        "rows_per_tree",
        "vote?",
        "trees=stated_trees",
    ),
    made_by="of_nodes",
    damage="a tree of the params lacks a key or has one of the wrong kind",
):
    """Trees on a schema.

    Raises
    ------
    ParameterError
        When a tree is not one.
    """

    formats: ClassVar[tuple[str, str]] = FORMATS
    format: ClassVar[str] = FORMATS[0]
    schema: TreeSchema
    trees: tuple[tuple[Node, ...], ...]
    rows_per_tree: Mapping[str, Any]
    vote: str | None = None
    """One of `VOTES`; None where the release does not say, and trees are pooled."""

    def __post_init__(self) -> None:
        if self.vote is not None and self.vote not in VOTES:
            raise ParameterError("the trees of a forest must vote in a known way")
        for tree in self.trees:
            _check_tree(tree, self.schema)

    @property
    def share_of_rows(self) -> float:
        """Share of the table's rows that one tree speaks of: 1 when all trees saw all rows."""
        return 1.0 if self.rows_per_tree["kind"] == "disjoint" else 1.0 / max(1, len(self.trees))

    @cached_property
    def _tables(self) -> tuple[IntArray, IntArray, int]:
        """Return split attribute and children of all nodes in one numbering, and the depth."""
        starts = np.cumsum([0, *(len(tree) for tree in self.trees)])
        attribute = np.zeros(starts[-1], dtype=np.int64)
        child = np.tile(np.arange(starts[-1])[:, np.newaxis], (1, self.schema.most_codes))
        depth = 0
        for start, tree in zip(starts, self.trees, strict=False):
            level = np.zeros(len(tree), dtype=np.int64)
            for number, node in enumerate(tree):
                if node.attribute is None:
                    continue
                split_attribute = self.schema.attributes[node.attribute]
                attribute[start + number] = node.attribute
                children = np.array(node.children, dtype=np.int64)
                child[start + number, : split_attribute.codes] = start + children[split_attribute.branches(node.at)]
                level[children] = level[number] + 1
            depth = max(depth, int(level.max(initial=0)))
        return attribute, child, depth

    def leaves_of(self, codes: NDArray[np.integer[Any]]) -> IntArray:
        """Return the leaf each row falls into, numbered over all trees, shape (n_trees, n_rows).

        Parameters
        ----------
        codes : int64 array, shape (n_attributes, n_rows)
        """
        attribute, child, depth = self._tables
        n_rows = codes.shape[1]
        roots = np.cumsum([0, *(len(tree) for tree in self.trees)])[:-1]
        place = np.repeat(roots[:, np.newaxis], n_rows, axis=1)
        rows = np.arange(n_rows)
        for _ in range(depth):
            place = child[place, codes[attribute[place], rows]]
        return place

    def contents(self) -> list[LeafContent | None]:
        """Return the contents of all nodes in one numbering; None where a node is split."""
        return [node.leaf for tree in self.trees for node in tree]

    @property
    def stated_trees(self) -> list[list[dict[str, Any]]]:
        """The nodes of each tree, as the params have them: attributes and classes by name."""
        return [[_stated(node, self.schema) for node in tree] for tree in self.trees]

    @classmethod
    def of_nodes(
        cls,
        *,
        target: DeclaredTarget,
        attributes: tuple[Attribute, ...],
        rows_per_tree: Mapping[str, Any],
        trees: tuple[tuple[Mapping[str, Any], ...], ...],
        vote: str | None = None,
    ) -> Self:
        """Return the forest whose nodes the params state."""
        schema = TreeSchema(attributes=attributes, target=target.name, classes=target.domain)
        names = {attribute.name: at for at, attribute in enumerate(attributes)}
        nodes = tuple(tuple(_node(raw, names, schema) for raw in tree) for tree in trees)
        return cls(schema=schema, trees=nodes, rows_per_tree=rows_per_tree, vote=vote)


def _check_tree(tree: Sequence[Node], schema: TreeSchema) -> None:
    seen = {0}
    for number, node in enumerate(tree):
        if number not in seen:
            raise ParameterError("a node of a tree has no parent before it")
        if node.attribute is None:
            _check_leaf(node.leaf, schema)
            continue
        attribute = schema.attributes[node.attribute]
        n_children = attribute.n_children[node.at] if 0 <= node.at < attribute.n_splits else 0
        fresh = {child for child in node.children if number < child < len(tree)} - seen
        if not n_children or len(node.children) != n_children or len(fresh) != n_children:
            raise ParameterError("a split of a tree does not fit its attribute, or shares its children")
        seen |= fresh
    if len(seen) != len(tree):
        raise ParameterError("a tree has nodes that no split leads to")


def _check_leaf(leaf: LeafContent | None, schema: TreeSchema) -> None:
    if leaf is None or (leaf.counts is None) == (leaf.label is None):
        raise ParameterError("a leaf must have counts or a label")
    if leaf.counts is not None and len(leaf.counts) != schema.n_classes:
        raise ParameterError("a leaf must count every class")
    numbers = [*(leaf.counts or ()), *(count for table in leaf.histograms or () for row in table for count in row)]
    if any(abs(count) >= _MOST_ROWS for count in numbers):
        raise ParameterError("a leaf counts more rows than any table has")
    if leaf.label is not None and not 0 <= leaf.label < schema.n_classes:
        raise ParameterError("the label of a leaf must be a class")
    if leaf.histograms is not None:
        shapes = [(len(table), {len(row) for row in table}) for table in leaf.histograms]
        if shapes != [(attribute.codes, {schema.n_classes}) for attribute in schema.attributes]:
            raise ParameterError("the histograms of a leaf must have a row for every code of every attribute")


def _stated(node: Node, schema: TreeSchema) -> dict[str, Any]:
    rows = {} if node.rows is None else {"rows": node.rows}
    if node.attribute is None:
        assert node.leaf is not None  # noqa: S101 - checked when the forest was made
        label = None if node.leaf.label is None else _class_name(schema, node.leaf.label)
        counts = node.leaf.counts
        block: dict[str, Any] = rows | ({"label": label} if counts is None else {"counts": list(counts)})
        if node.leaf.histograms is not None:
            block["histograms"] = [[list(row) for row in table] for table in node.leaf.histograms]
        return block
    attribute = schema.attributes[node.attribute]
    split: dict[str, Any] = {"attribute": attribute.name, "split": str(attribute.split)}
    if attribute.split is not Split.MULTIWAY:
        split |= {"at": node.at, "value": _value(attribute, node.at)}
    return {**split, **rows, "children": list(node.children)}


def _value(attribute: Attribute, at: int) -> float | str | None:
    """Return the cut, or the category of a split, for readers; None where the split is by missing alone."""
    if isinstance(attribute.domain, Grid):
        return float(attribute.domain.edges()[at + 1]) if at + 1 < attribute.domain.cells else None
    if attribute.split is Split.TAXONOMY:
        return attribute.taxonomy.names[at]
    return attribute.domain.labels()[at]


def _class_name(schema: TreeSchema, label: int) -> str | None:
    return schema.classes.labels()[label]


def _node(params: Mapping[str, Any], names: Mapping[str, int], schema: TreeSchema) -> Node:
    rows = None if params.get("rows") is None else int(params["rows"])
    if "children" in params:
        children = tuple(int(child) for child in params["children"])
        return Node(attribute=names[params["attribute"]], at=int(params.get("at", 0)), children=children, rows=rows)
    counts, histograms = params.get("counts"), params.get("histograms")
    return Node(
        rows=rows,
        leaf=LeafContent(
            counts=None if counts is None else tuple(int(count) for count in counts),
            label=schema.classes.codes_of[params["label"]] if counts is None else None,
            histograms=None
            if histograms is None
            else tuple(
                tuple(tuple(int(row_of_counts) for row_of_counts in row) for row in table) for table in histograms
            ),
        ),
    )
