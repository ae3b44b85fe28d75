"""Trees that a pair or a triple leads: one that begins with their public grid passes, and no other does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.budget_rules.pair_rule import AttributeSize, PairGrid
from anonkit.checks.central_pairs import is_followed

NAMES = ["a", "b", "c", "d", "e"]


def grid_of(*attributes: AttributeSize) -> PairGrid:
    """The grid of the first attributes, numbers in eight cells."""
    return PairGrid(places=tuple(range(len(attributes))), attributes=attributes, apart=8)


def tree_of(grid: PairGrid) -> list[dict[str, Any]]:
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
            nodes[number].update(attribute=NAMES[at], at=split, children=children)
            below += children
        level = below
    return nodes


SIZES = st.builds(
    lambda number, size, missing: AttributeSize(codes=(64 if number else size) + missing, cells=64 * number),
    st.booleans(), st.integers(2, 6), st.booleans(),
)  # fmt: skip


@given(st.lists(SIZES, min_size=2, max_size=3), st.data())
def test_a_tree_that_begins_with_the_grid_passes_and_no_other_does(
    attributes: list[AttributeSize], data: st.DataObject
) -> None:
    """Another cut, another attribute, a node that is not divided, a node of one child: each is refused."""
    grid = grid_of(*attributes)
    tree = tree_of(grid)
    assert is_followed(grid, tree, NAMES)
    inner = [number for number, node in enumerate(tree) if node]
    node = tree[data.draw(st.sampled_from(inner))]
    match data.draw(st.sampled_from(["cut", "attribute", "leaf", "one child"])):
        case "cut":
            node["at"] += 1
        case "attribute":
            node["attribute"] = NAMES[NAMES.index(node["attribute"]) - 1]
        case "leaf":
            node.clear()
        case _:
            node["children"] = node["children"][:1]
    assert not is_followed(grid, tree, NAMES)


@pytest.mark.parametrize("deep", [False, True])
def test_a_cell_above_the_last_level_stays_whole_and_one_on_it_may_be_divided(deep: bool) -> None:
    """Words are taken off one by one: the first is a cell long before the last level, where paid choices begin."""
    grid = grid_of(AttributeSize(codes=4), AttributeSize(codes=2))
    tree = tree_of(grid)
    level = {0: 0}
    for number, node in enumerate(tree):
        level.update(dict.fromkeys(node.get("children", ()), level[number] + 1))
    at = next(n for n, node in enumerate(tree) if not node and (level[n] == len(grid.levels)) == deep)
    tree[at] = {"attribute": "b", "at": 0, "children": [len(tree), len(tree) + 1]}
    assert is_followed(grid, [*tree, {}, {}], NAMES) == deep
