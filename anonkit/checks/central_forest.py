# SPDX-License-Identifier: Apache-2.0
"""Validation of the published trees of a noisy release: whether the plan allows them, and whether they are consistent.

Walked with code of its own: every node against its attribute, every leaf against the classes, every table of counts
against the domains, every level against the account.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anonkit.checks.central_params import (
    CUT,
    MULTIWAY,
    ONE_VS_REST,
    TAXONOMY,
    BoolArray,
    Family,
    PublicColumn,
    PublicFacts,
    integers,
)
from anonkit.checks.central_plans import ExpectedAccount
from anonkit.promises.guarantee import Check

_SCORE_UNIT = 0.001
"""Unit of published scores: part of the format."""
_VOTES = (None, "pooled", "majority", "sum")
"""Releases of one tree, and of earlier versions, say nothing of a vote."""
_NODE_KEYS = frozenset({"attribute", "split", "at", "value", "rows", "children"})
_LEAF_KEYS = frozenset({"counts", "label", "rows"})


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedLeaf:
    """A leaf and the codes that lead to it."""

    number: int
    box: tuple[BoolArray, ...] | None
    """For each attribute the codes that lead there; None below a division of a taxonomy, which is not followed."""
    counts: tuple[int, ...] | None
    label: int | None


class _WrongTreeError(Exception):
    """An impossible part of a tree; the message names no cell."""


def forest_checks(params: Mapping[str, Any], facts: PublicFacts, expected: ExpectedAccount) -> Iterator[Check]:
    """Check the trees, their number, and the tables and scores beside them.

    Parameters
    ----------
    params : mapping
    facts : PublicFacts
    expected : ExpectedAccount
        How many levels and trees were planned, and whether the rows of nodes were counted.
    """
    trees = params["trees"]
    kind = params["rows_per_tree"]
    stated = (kind["kind"], kind["trees"], len(trees))
    planned = (*(expected.rows_per_tree or ("", 0)), (expected.rows_per_tree or ("", 0))[1])
    yield Check(
        name="rows_per_tree",
        passed=stated == planned,
        observed=_trees_in_words(stated),
        required=_trees_in_words(planned),
    )
    try:
        if params.get("vote") != facts.parameters.get("vote") or params.get("vote") not in _VOTES:
            raise _WrongTreeError("the trees vote in another way than the parameters say")
        for attribute, raw in zip(facts.attributes, params["attributes"], strict=True):
            _check_division(attribute, raw.get("tree"), facts)
        nodes = sum(_check_tree(tree, facts, expected, params["accounting"]) for tree in trees)
        if {"histograms", "scores"} & params.keys() != ({"histograms", "scores"} if facts.family.is_stacked else set()):
            raise _WrongTreeError("histograms or scores are missing, or are there for nothing")
        if facts.family.is_stacked:
            _check_evidence(params, facts)
    except _WrongTreeError as error:
        yield Check(name="trees", passed=False, observed=str(error), required="as planned")
        return
    yield Check(name="trees", passed=True, observed=nodes, required="as planned")


def _check_division(attribute: PublicColumn, tree: Sequence[Sequence[Any]] | None, facts: PublicFacts) -> None:
    """Refuse an attribute that is divided in another way than its method does, or groups that are no hierarchy."""
    values = attribute.domain.categories
    if (tree is not None) != (attribute.split == TAXONOMY):
        raise _WrongTreeError("an attribute is divided by groups that are not published, or has groups without use")
    if tree is None:
        stacked, apart = facts.family.is_stacked, facts.parameters.get("branches") == "two"
        cut = stacked or facts.trees.paper.cuts_numbers
        expected = CUT if values is None and cut else MULTIWAY
        expected = ONE_VS_REST if values is not None and (apart or stacked) else expected
        if attribute.split != expected:
            raise _WrongTreeError("an attribute is divided in another way than its method does")
        return
    above: dict[tuple[int, Any], Sequence[Any]] = {}
    right = facts.family is Family.GROUPS and values == tuple(path[0] for path in tree)
    for path in tree:
        right = right and all(isinstance(group, str) for group in path)
        right = right and all(above.setdefault((at, path[at]), path[at:]) == path[at:] for at in range(len(path)))
    if not right:
        raise _WrongTreeError("the groups of an attribute are no hierarchy of its categories")


def _trees_in_words(rows_and_trees: Sequence[Any]) -> str:
    """Return the rows that trees saw, and the numbers of planned and of published trees, in words."""
    kind, planned, published = rows_and_trees
    return f"{kind} rows, {planned} planned, {published} published"


def leaves_of(tree: Sequence[Mapping[str, Any]], facts: PublicFacts) -> Iterator[PublishedLeaf]:
    """Yield the leaves of a tree that was checked, with their boxes."""
    names = {split_attribute.name: at for at, split_attribute in enumerate(facts.attributes)}
    whole: tuple[BoolArray, ...] = tuple(
        np.ones(split_attribute.domain.size, dtype=bool) for split_attribute in facts.attributes
    )
    boxes: dict[int, tuple[BoolArray, ...] | None] = {0: whole}
    labels = facts.target.domain.labels()
    for number, node in enumerate(tree):
        box = boxes.pop(number)
        if "children" not in node:
            counts = None if "counts" not in node else tuple(node["counts"])
            label = labels.index(node["label"]) if counts is None else None
            yield PublishedLeaf(number=number, box=box, counts=counts, label=label)
            continue
        at = names[node["attribute"]]
        attribute = facts.attributes[at]
        for place, child in enumerate(node["children"]):
            if box is None or attribute.split == TAXONOMY:
                boxes[child] = None
                continue
            own = box[at] & (attribute.goes_to(int(node.get("at", 0))) == place)
            boxes[child] = (*box[:at], own, *box[at + 1 :])


def _check_tree(
    tree: Sequence[Mapping[str, Any]],
    facts: PublicFacts,
    expected: ExpectedAccount,
    accounting: Sequence[Mapping[str, Any]],
) -> int:
    """Refuse a tree that cannot be; return its number of nodes."""
    counted = {line.level for line in expected.lines if line.purpose.startswith("rows of a")}
    limits = _thresholds(facts, accounting)
    level: dict[int, int] = {0: 0}
    used: dict[int, frozenset[str]] = {0: frozenset()}
    if not tree:
        raise _WrongTreeError("a tree has no node")
    for number, node in enumerate(tree):
        if number not in level:
            raise _WrongTreeError("a node of a tree has no parent before it")
        here = level[number]
        if ("rows" in node) != (here in counted):
            raise _WrongTreeError("a node has a count of rows that no line speaks of, or lacks it")
        if "rows" in node:
            integers([node["rows"]])
        if "children" not in node:
            _check_leaf(node, facts)
            continue
        if here == expected.levels - 1:
            raise _WrongTreeError("a node of the last level is split")
        if "rows" in node and node["rows"] < limits.get(here, -math.inf):
            raise _WrongTreeError("a node is split though its own count of rows makes it a leaf")
        _check_split(node, facts, used[number])
        below = used[number] | ({node["attribute"]} if node["split"] == MULTIWAY else set())
        for child in integers(node["children"]):
            if not number < child < len(tree) or child in level:
                raise _WrongTreeError("a node of a tree has two parents, or comes before its parent")
            level[child], used[child] = here + 1, below
    return len(tree)


def _check_split(node: Mapping[str, Any], facts: PublicFacts, used: frozenset[str]) -> None:
    attribute = next((known for known in facts.attributes if known.name == node["attribute"]), None)
    if attribute is None or node["split"] != attribute.split or not node.keys() <= _NODE_KEYS:
        raise _WrongTreeError("a node is split by an attribute, or in a way, that is not declared")
    if attribute.name in used:
        raise _WrongTreeError("a node is split by an attribute that is used up")
    n_children = len(node["children"])
    if attribute.split == TAXONOMY:
        if not 2 <= n_children <= attribute.domain.size:
            raise _WrongTreeError("a group is divided into another number of groups")
        return
    if n_children != attribute.children():
        raise _WrongTreeError("a split has another number of children than its attribute requires")
    if attribute.split == MULTIWAY:
        return
    (at,) = integers([node["at"]])
    if not 0 <= at < attribute.n_splits:
        raise _WrongTreeError("a cut lies outside the domain of its attribute")
    domain = attribute.domain
    if attribute.split == ONE_VS_REST or domain.categories is not None:
        same = node["value"] == domain.labels()[at]
    elif at + 1 >= domain.cells:
        same = node["value"] is None
    else:
        same = isinstance(node["value"], int | float) and math.isclose(node["value"], domain.edge(at), rel_tol=1e-9)
        same = same or abs(node["value"] - domain.edge(at)) <= 1e-9 * (domain.edge(domain.cells - 1) - domain.edge(-1))
    if not same:
        raise _WrongTreeError("a cut is at another value than its number says")


def _check_leaf(node: Mapping[str, Any], facts: PublicFacts) -> None:
    stated = facts.parameters.get("leaf") == "label"
    if not node.keys() <= _LEAF_KEYS or ("label" in node) != stated or ("counts" in node) == stated:
        raise _WrongTreeError("a leaf tells another thing than was planned")
    if stated:
        if node["label"] not in facts.target.domain.labels():
            raise _WrongTreeError("the label of a leaf is no class")
    elif len(integers(node["counts"])) != facts.n_classes:
        raise _WrongTreeError("a leaf counts another number of classes")


def _thresholds(facts: PublicFacts, accounting: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    """Return the noisy count below which a node of each level is a leaf, where the method stops so."""
    if facts.parameters.get("stop") != "noisy":
        return {}
    most = max((attribute.domain.size for attribute in facts.attributes), default=1)
    widest = 1 if facts.trees.paper.compares_one else most * facts.n_classes
    return {
        line["level"]: math.sqrt(2) * widest / (line["rate"] / 2**52) * (1 - 1e-9)
        for line in accounting
        if str(line["purpose"]).startswith("rows of a node")
    }


def _check_evidence(params: Mapping[str, Any], facts: PublicFacts) -> None:
    """Refuse histograms, sums and scores of another shape than trees, domains and classes ask for."""
    trees, classes = params["trees"], facts.n_classes
    sizes = [histogram.domain.size for histogram in facts.attributes]
    scores = params["scores"]
    regions = integers(scores["regions"])
    if scores["unit"] != _SCORE_UNIT or len(scores["leaves"]) != len(trees):
        raise _WrongTreeError("the scores are not those of the trees")
    for table, tree in zip(scores["leaves"], trees, strict=True):
        _check_table(table, len(tree), classes)
    for name, tables in (("scores", scores["attributes"]), ("histograms", params["histograms"])):
        if len(tables) != len(regions) or any(len(histogram) != len(sizes) for histogram in tables):
            raise _WrongTreeError(f"the {name} have not a table for each attribute and region")
    # an attribute that was not measured has no histogram, which the rule of the release must state
    measured = [bool(table) for table in next(iter(params["histograms"]), ())]
    for histogram, evidence in zip(params["histograms"], scores["attributes"], strict=True):
        for counted, added, size, is_measured in zip(histogram, evidence, sizes, measured, strict=True):
            _check_table(counted, size if is_measured else 0, classes)
            _check_table(added, size, classes)
            if not is_measured and any(any(row) for row in added):
                raise _WrongTreeError("an attribute without a histogram has evidence")
    places = region_of_nodes(trees[0], regions)
    if any(places[at] < 0 for at, node in enumerate(trees[0]) if "children" not in node):
        raise _WrongTreeError("a leaf lies in no region of the scores")
    features = len(sizes) + 1 + (1 if classes == 2 else classes)
    sums = {
        "weights": {"gradient": features, "curvature": features * (features + 1) // 2},
        "calibration": {"gradient": features - len(sizes)},
    }
    for name, shape in sums.items():
        if any(len(integers(params[name][part])) != length for part, length in shape.items() if name in params):
            raise _WrongTreeError(f"the sums of the {name} are not those of the attributes and classes")


def _check_table(table: Sequence[Sequence[Any]], rows: int, classes: int) -> None:
    if len(table) != rows or any(len(integers(list(row))) != classes for row in table):
        raise _WrongTreeError("a table of counts or scores does not fit its domain and the classes")


def region_of_nodes(tree: Sequence[Mapping[str, Any]], regions: Sequence[int]) -> list[int]:
    """Return the number of the region that each node lies in; -1 above all regions."""
    out = [-1] * len(tree)
    for number, place in enumerate(regions):
        if not 0 <= place < len(tree):
            raise _WrongTreeError("a region of the scores is no node of the first tree")
        out[place] = number
    for at, node in enumerate(tree):
        for child in node.get("children", ()):
            out[child] = out[at] if out[child] < 0 else out[child]
    return out
