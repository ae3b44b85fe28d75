"""The grid that a tree begins with, by two codes: what the method grows is accepted, and whatever else is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.checks.central_pairs import LeadingGrid
from anonkit.checks.central_params import CUT, ONE_VS_REST, PublicColumn, PublicDomain, PublicFacts
from anonkit.dp_trees.additive_model.pair_interaction import Interaction
from anonkit.budget_rules.pair_grid import PairGrid
from anonkit.mechanisms.accounting import PERMUTE_AND_FLIP, AccountedDraw
from anonkit.published.tree_attributes import Attribute, Split, TreeSchema
from tests.dp_trees.tables import attribute, schema_of

CHOICE = AccountedDraw(purpose="interacting pair", mechanism=PERMUTE_AND_FLIP, rate=1, sensitivity=2)
BINS = 64


def column(one: Attribute) -> PublicColumn:
    """The same attribute as the check reads it."""
    cells = one.codes - one.domain.has_missing
    values = None if one.is_number else tuple(map(str, range(cells)))
    bounds = (0.0, float(cells)) if one.is_number else None
    domain = PublicDomain(categories=values, bounds=bounds, cells=cells, has_missing=one.domain.has_missing)
    return PublicColumn(name=one.name, domain=domain, split=CUT if one.is_number else ONE_VS_REST)


def grids(schema: TreeSchema, strength: float) -> tuple[PairGrid, LeadingGrid]:
    """The grid of the first two attributes, by both codes."""
    columns = tuple(map(column, schema.attributes))
    facts = SimpleNamespace(n_classes=schema.n_classes, attributes=columns)
    grown = Interaction(draw=CHOICE, pair=(0, 1)).grid(schema, strength)
    assert grown is not None
    return grown, LeadingGrid.of(columns[:2], cast("PublicFacts", facts), BINS, strength)


def tree_of(grid: PairGrid, names: list[str]) -> list[dict[str, Any]]:
    """The nodes of a tree that is the grid and nothing else, as they are published."""
    nodes: list[dict[str, Any]] = [{}]
    level = [0]
    for divisions in grid.levels:
        below = []
        for number, division in zip(level, divisions, strict=True):
            if division is None:
                continue
            at, split = division
            children = [len(nodes), len(nodes) + 1]
            nodes += [{}, {}]
            nodes[number].update(attribute=names[at], at=split, children=children)
            below += children
        level = below
    return nodes


def attributes(name: str) -> st.SearchStrategy[Attribute]:
    """Numbers in 64 cells and words."""
    words = st.integers(2, 6).map(lambda size: (size, Split.ONE_VS_REST))
    return st.builds(
        lambda kind, missing: attribute(name, kind[0], kind[1], missing=missing),
        st.just((BINS, Split.CUT)) | words, st.booleans(),
    )  # fmt: skip


@given(attributes("a"), attributes("b"), st.sampled_from([10.0, 3_000.0, 12_000.0, 1e6]), st.data())
def test_what_is_grown_is_what_is_followed_and_no_other_tree_is(
    first: Attribute, second: Attribute, strength: float, data: st.DataObject
) -> None:
    """As many levels; another cut, another attribute, a cell that is divided, a node that is not: each is refused."""
    grown, rebuilt = grids(schema_of(first, second, attribute("c", 3, Split.ONE_VS_REST)), strength)
    assert rebuilt.levels == len(grown.levels)
    tree = tree_of(grown, ["a", "b", "c"])
    assert rebuilt.is_followed(tree)
    inner = [number for number, node in enumerate(tree) if node]
    forged = [dict(node) for node in tree]
    node = forged[data.draw(st.sampled_from(inner))]
    match data.draw(st.sampled_from(["cut", "attribute", "leaf", "one child"])):
        case "cut":
            node["at"] += 1
        case "attribute":
            node["attribute"] = "c"
        case "leaf":
            node.clear()
        case _:
            node["children"] = node["children"][:1]
    assert not rebuilt.is_followed(forged)


@pytest.mark.parametrize(("strength", "cells"), [(10.0, 8), (16 * 2 * 16 * 2 - 1, 8), (16 * 2 * 16 * 2, 16), (1e6, 32)])
def test_numbers_are_told_apart_as_finely_as_there_are_rows(strength: float, cells: int) -> None:
    """Eight cells, sixteen or thirty-two, by both codes."""
    schema = schema_of(attribute("a", BINS, Split.CUT), attribute("b", 2, Split.ONE_VS_REST))
    grown, rebuilt = grids(schema, strength)
    assert grown.cells == 2 * cells
    assert rebuilt.apart == cells


def test_a_cell_above_the_last_level_stays_whole_and_one_on_it_may_be_divided() -> None:
    """Words are taken off one by one: the first is a cell long before the last level, where paid choices begin."""
    schema = schema_of(attribute("a", 4, Split.ONE_VS_REST), attribute("b", 2, Split.ONE_VS_REST))
    grown, rebuilt = grids(schema, 1e6)
    ends = [(level, at) for level, row in enumerate(grown.levels) for at, one in enumerate(row) if one is None]
    assert ends  # cells above the last level
    for deep in (False, True):
        tree = tree_of(grown, ["a", "b"])
        level = {0: 0}
        for number, node in enumerate(tree):
            level.update(dict.fromkeys(node.get("children", ()), level[number] + 1))
        at = next(n for n, node in enumerate(tree) if not node and (level[n] == rebuilt.levels) == deep)
        tree[at] = {"attribute": "b", "at": 0, "children": [len(tree), len(tree) + 1]}
        assert rebuilt.is_followed([*tree, {}, {}]) == deep


@pytest.mark.parametrize("missing", [False, True])
def test_the_grid_of_three_is_followed_by_both_codes_and_another_is_refused(missing: bool) -> None:
    """Its leaves are the cells of the table; numbers in four."""
    schema = schema_of(
        attribute("a", 64, Split.CUT, missing=missing), attribute("b", 2, Split.ONE_VS_REST, missing=missing),
        attribute("c", 3, Split.ONE_VS_REST), attribute("d", 2, Split.ONE_VS_REST),
    )  # fmt: skip
    grown = Interaction(draw=CHOICE, pair=(0, 1, 2)).grid(schema, 1e9)
    assert grown is not None
    assert grown.cells == (4 + missing) * (2 + missing) * 3
    columns = tuple(map(column, schema.attributes))
    facts = cast("PublicFacts", SimpleNamespace(n_classes=2, attributes=columns))
    rebuilt = LeadingGrid.of(columns[:3], facts, 64, 1e9)
    assert rebuilt.levels == grown.depth == len(grown.levels)
    tree = tree_of(grown, list("abcd"))
    assert sum(not node for node in tree) == grown.cells
    assert rebuilt.is_followed(tree)
    assert not LeadingGrid.of(columns[:2], facts, 64, 1e9).is_followed(tree)
    assert not rebuilt.is_followed(tree_of(grown, list("abdc")))
    tree[0] = dict(tree[0], at=tree[0]["at"] + 1)
    assert not rebuilt.is_followed(tree)
