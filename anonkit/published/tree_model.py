# SPDX-License-Identifier: Apache-2.0
"""The published forest: attributes with their candidate splits, nodes and noisy leaves, as values and as JSON.

A consumer needs nothing else. An attribute has a public domain and one kind of split; a public hierarchy of categories
(`Taxonomy`) refines its groups one level at a time.

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
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anonkit.documents import ParamsPart, left_out
from anonkit.domains.coded_columns import BoolArray, IntArray
from anonkit.domains.number_bins import Categories, DeclaredTarget, Grid, shown_classes
from anonkit.errors import ParameterError

Paths = tuple[tuple[str, ...], ...]

ANY = "*"


@dataclass(frozen=True, kw_only=True, eq=False)
class Taxonomy:
    """The divisions of a hierarchy, those of coarser groups first."""

    divisions: tuple[IntArray, ...]
    """For each group that has several below it the number of the one each code is in, -1 outside; shape (codes,)."""
    names: tuple[str, ...]
    """The name of each divided group; `*` for all codes."""
    groups: tuple[tuple[str, BoolArray], ...]
    """Every group of several codes whose name means nothing else, and its codes; coarser ones first."""

    @classmethod
    def of(cls, domain: Categories | Grid, paths: Paths) -> Taxonomy:
        """Return the divisions of a domain's categories by their paths.

        Raises
        ------
        ParameterError
            The paths are not those of a hierarchy of the domain's categories.
        """
        if isinstance(domain, Grid) or tuple(path[0] for path in paths) != tuple(domain.values):
            raise ParameterError("a taxonomy must have one path for each category of its attribute")
        if len({len(path) for path in paths}) != 1:
            raise ParameterError("all paths of a taxonomy must have the same length")
        missing = [len(paths)] if domain.has_missing else []
        size = len(paths) + len(missing)
        top = _groups(range(len(paths)), paths, len(paths[0]) - 1)
        divisions: list[IntArray] = []
        names: list[str] = []
        named: list[tuple[str, BoolArray]] = []
        waiting = [(ANY, [*top, ("", missing)] if missing else top, len(paths[0]) - 2)]
        while waiting:
            name, parts, below = waiting.pop(0)
            if len(parts) > 1:
                divisions.append(_division([codes for _, codes in parts], size))
                names.append(name)
            for part, codes in parts:
                if len(codes) > 1:
                    named.append((part, _members(codes, size)))
                if below >= 0 and codes != missing:
                    inner = part if len(parts) > 1 else name
                    waiting.append((inner, _groups(codes, paths, below), below - 1))
        return cls(divisions=tuple(divisions), names=tuple(names), groups=_unambiguous(named, domain.values))

    def name_of(self, codes: BoolArray) -> str | None:
        """Return the coarsest group that is just these codes; None when there is none."""
        return next((name for name, group in self.groups if np.array_equal(group, codes)), None)


def _groups(codes: Sequence[int], paths: Paths, level: int) -> list[tuple[str, list[int]]]:
    """Divide codes by their group on a level, in the order of the first of each."""
    groups: dict[str, list[int]] = {}
    for code in codes:
        groups.setdefault(paths[code][level], []).append(code)
    return list(groups.items())


def _unambiguous(named: Sequence[tuple[str, BoolArray]], values: Sequence[str]) -> tuple[tuple[str, BoolArray], ...]:
    """Leave out names that would mean two things in a table: another group's, or a category's."""
    meant: dict[str, set[bytes]] = {}
    for name, codes in named:
        meant.setdefault(name, set()).add(codes.tobytes())
    return tuple((name, codes) for name, codes in named if len(meant[name]) == 1 and name not in (ANY, *values))


def _division(parts: Sequence[Sequence[int]], size: int) -> IntArray:
    division = np.full(size, -1, dtype=np.int64)
    for number, codes in enumerate(parts):
        division[codes] = number
    return division


def _members(codes: Sequence[int], size: int) -> BoolArray:
    members = np.zeros(size, dtype=bool)
    members[codes] = True
    return members


MOST_BRANCHES = 2048
"""Children of a multiway split; an attribute with more codes is not split so. How many it has is public."""
MOST_ROUTES = 1 << 26
"""Nodes of a forest times codes of its widest attribute: a step that could bring more is not taken."""


class Split(StrEnum):
    """The rule by which a node divides the codes of an attribute among its children."""

    MULTIWAY = "multiway"
    """One child for every code."""
    CUT = "cut"
    """Codes up to some code go left, the others right; missing is the last code."""
    ONE_VS_REST = "one-vs-rest"
    """One code goes left, the others right."""
    TAXONOMY = "taxonomy"
    """A group of a public hierarchy is divided into the groups just below it; for top-down specialization."""


@dataclass(frozen=True, kw_only=True)
class Attribute(ParamsPart, keys=("name", "type=domain.type", "split", "domain", "tree=paths")):
    """One attribute, its public domain, and the one kind of split it allows.

    Missing, where it can occur, is one more code: a branch of its own in a multiway split, else on the side its code
    (the last) falls.
    """

    name: str
    domain: Categories | Grid
    split: Split
    paths: Paths = field(default=(), metadata=left_out())
    """For `Split.TAXONOMY`: the groups of each category, from itself to its coarsest."""

    def __post_init__(self) -> None:
        if (self.split is Split.TAXONOMY) != bool(self.paths):
            raise ParameterError("a taxonomy has a path for each category, and nothing else has")

    @property
    def codes(self) -> int:
        """Number of codes, missing included."""
        return self.domain.size

    @property
    def is_number(self) -> bool:
        """True for a number on a grid."""
        return isinstance(self.domain, Grid)

    @property
    def is_cut(self) -> bool:
        """True when it can be split at different points, and so again further down."""
        return self.split in (Split.CUT, Split.ONE_VS_REST)

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """The hierarchy of its categories, missing as a group of its own below all of them."""
        return Taxonomy.of(self.domain, self.paths)

    @cached_property
    def n_splits(self) -> int:
        """Number of different splits of a node by this attribute; 0 when the domain has one code, or far too many."""
        if self.codes < 2:
            return 0
        if self.split is Split.MULTIWAY:
            return 1 if self.codes <= MOST_BRANCHES else 0
        if self.split is Split.CUT:
            return self.codes - 1
        if self.split is Split.TAXONOMY:
            return len(self.taxonomy.divisions)
        return 1 if self.codes == 2 else self.codes

    @cached_property
    def n_children(self) -> IntArray:
        """Number of children of each split, shape (n_splits,)."""
        if self.split is Split.TAXONOMY:
            return np.array([division.max() + 1 for division in self.taxonomy.divisions], dtype=np.int64)
        return np.full(self.n_splits, self.codes if self.split is Split.MULTIWAY else 2, dtype=np.int64)

    @cached_property
    def branch_table(self) -> IntArray:
        """The child that each code goes to in each split, shape (n_splits, codes)."""
        if self.split is Split.TAXONOMY:
            return np.maximum(self.taxonomy.divisions, 0)  # codes of other groups never get there
        codes, splits = np.arange(self.codes), np.arange(self.n_splits)[:, np.newaxis]
        if self.split is Split.MULTIWAY:
            return np.broadcast_to(codes, (self.n_splits, self.codes)).astype(np.int64)
        return np.asarray(codes > splits if self.split is Split.CUT else codes != splits, dtype=np.int64)

    def branches(self, at: int) -> IntArray:
        """Return the child that each code goes to in split number `at`, shape (codes,)."""
        return np.asarray(self.branch_table[at])

    def children(self, counts: IntArray) -> IntArray:
        """Return the class counts of the children of every split.

        Parameters
        ----------
        counts : int64 array, shape (n, codes, classes)

        Returns
        -------
        int64 array, shape (n, n_splits, children, classes)
            Of a taxonomy, as many children as the widest split has, and rows of other groups left out.
        """
        if self.split is Split.MULTIWAY:
            return counts[:, np.newaxis]
        if self.split is Split.TAXONOMY:
            wide = np.arange(self.n_children.max(initial=0))
            members = np.array(self.taxonomy.divisions)[:, np.newaxis] == wide[:, np.newaxis]
            return np.asarray(np.einsum("swk,nkc->nswc", members.astype(np.int64), counts), dtype=np.int64)
        left = np.cumsum(counts, axis=1)[:, : self.n_splits] if self.split is Split.CUT else counts[:, : self.n_splits]
        total = counts.sum(axis=1, keepdims=True)
        return np.stack([left, total - left], axis=2)

    def splits_of(self, codes: BoolArray) -> IntArray:
        """Return the splits that divide a set of codes which earlier splits have left, shape (n,).

        Parameters
        ----------
        codes : bool array, shape (codes,)
            True for the codes that are left; of a number an interval.
        """
        if self.split is Split.CUT:
            return np.flatnonzero(codes)[:-1]
        if self.split is Split.TAXONOMY:
            whole = [division >= 0 for division in self.taxonomy.divisions]
            return np.flatnonzero([np.array_equal(group, codes) for group in whole])
        return np.arange(self.n_splits if codes.all() else 0)


@dataclass(frozen=True, kw_only=True)
class TreeSchema:
    """The attributes trees are grown on and the classes they predict, all public."""

    attributes: tuple[Attribute, ...]
    target: str
    classes: Categories

    @property
    def stated_target(self) -> DeclaredTarget:
        """The target and its classes, as the params have them."""
        return DeclaredTarget(name=self.target, domain=self.classes)

    @property
    def n_classes(self) -> int:
        """Number of classes, missing included."""
        return self.classes.size

    @property
    def sizes(self) -> dict[str, int]:
        """Number of values of each column, the target too, missing included."""
        return {attribute.name: attribute.codes for attribute in self.attributes} | {self.target: self.n_classes}

    @property
    def domains(self) -> dict[str, Categories | Grid]:
        """Public domain of each released column: the target's, then the attributes'."""
        return {self.target: shown_classes(self.classes)} | {
            attribute.name: attribute.domain for attribute in self.attributes
        }

    @property
    def splittable(self) -> NDArray[np.bool_]:
        """True for attributes that can be split at all, shape (n_attributes,)."""
        return np.array([attribute.n_splits > 0 for attribute in self.attributes], dtype=bool)

    @cached_property
    def most_codes(self) -> int:
        """The largest number of codes of an attribute."""
        return max((attribute.codes for attribute in self.attributes), default=1)


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
