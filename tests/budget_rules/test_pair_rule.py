"""The grid of two attributes: its leaves are the cells of their table, and a tree that it leads pays nothing for it."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.budget_rules.pair_rule import MOST_CELLS, PairGrid
from anonkit.dp_trees.additive_model.class_pairs import groups_of, sizes_of
from anonkit.dp_trees.grower import grow
from anonkit.dp_trees.plan import Choices, NoisyClassCounts, Plan
from anonkit.dp_trees.split_selection import JointSelection
from anonkit.dp_trees.tree_rows import Disjoint
from anonkit.errors import ParameterError
from anonkit.published.tree_attributes import Attribute, Split
from anonkit.randomness import Randomness
from tests.dp_trees.tables import attribute, counter_of, schema_of, table_of

ATTRIBUTES = st.builds(
    lambda name, number, size, missing: attribute(
        name, size, Split.CUT if number else Split.ONE_VS_REST, missing=missing
    ),
    st.sampled_from("ab"), st.booleans(), st.integers(2, 9), st.booleans(),
)  # fmt: skip


def grid_of(first: Attribute, second: Attribute) -> PairGrid:
    """The grid of the first two attributes of a schema."""
    return PairGrid(places=(0, 1), attributes=sizes_of(schema_of(first, second)), apart=MOST_CELLS)


def boxes(
    grid: PairGrid, attributes: tuple[Attribute, Attribute]
) -> list[tuple[int, tuple[frozenset[int], frozenset[int]]]]:
    """The codes that lead to each leaf, walked by the tables of branches, and its level."""
    whole = tuple(frozenset(range(one.codes)) for one in attributes)
    nodes, out = [whole], []
    for level, divisions in enumerate(grid.levels):
        assert len(divisions) == len(nodes)
        below = []
        for box, division in zip(nodes, divisions, strict=True):
            if division is None:
                out.append((level, box))
                continue
            at, split = division
            goes = attributes[at].branches(split)
            for child in (0, 1):
                own = frozenset(code for code in box[at] if goes[code] == child)
                below.append((own, box[1]) if at == 0 else (box[0], own))
        nodes = below
    return [*out, *((len(grid.levels), box) for box in nodes)]


@given(ATTRIBUTES, ATTRIBUTES)
def test_each_leaf_is_one_cell_of_the_table_and_each_cell_one_leaf(first: Attribute, second: Attribute) -> None:
    """Of numbers groups of cells, of categories one each; missing is a cell of its own."""
    grid, every = grid_of(first, second), groups_of(schema_of(first, second))
    cells = {
        tuple(frozenset(np.flatnonzero(groups == at).tolist()) for groups, at in zip(every, pair, strict=True))
        for pair in itertools.product(*(range(int(groups.max()) + 1) for groups in every))
    }
    found = [box for _, box in boxes(grid, (first, second))]
    assert len(found) == len(cells)
    assert set(found) == cells


@given(ATTRIBUTES, ATTRIBUTES)
def test_numbers_are_halved_and_categories_are_taken_off_one_by_one(first: Attribute, second: Attribute) -> None:
    """So many levels: the deepest leaf takes all steps of both."""
    grid = grid_of(first, second)
    sizes = [int(groups.max()) + 1 for groups in groups_of(schema_of(first, second))]
    steps = [
        int(np.ceil(np.log2(size))) if one.is_number else size - 1
        for one, size in zip((first, second), sizes, strict=True)
    ]
    assert len(grid.levels) == grid.depth == sum(steps)


SCHEMA = schema_of(
    attribute("a", 3, Split.ONE_VS_REST), attribute("n", 8, Split.CUT), attribute("b", 2, Split.ONE_VS_REST)
)
GRID = grid_of(*SCHEMA.attributes[:2])


def plan_of(levels: int, lead: PairGrid | None = GRID, **more: Any) -> Plan:
    """So many levels of choices below the grid, which share half of epsilon."""
    led = 0 if lead is None else len(lead.levels)
    weights = (*[Fraction(0)] * led, *[Fraction(1, 2 * max(levels, 1))] * levels, Fraction(1, 2))
    given = {"rows": Disjoint(trees=1), "selection": JointSelection(), "leaf": NoisyClassCounts(), "align": True}
    choices = Choices(**{**given, "levels": led + levels + 1, "weights": weights, "lead": lead, **more})  # type: ignore[arg-type]
    return Plan(choices=choices, schema=SCHEMA, epsilon=40.0)


@pytest.mark.parametrize("levels", [0, 2])
def test_a_tree_begins_with_the_grid_and_goes_on_by_paid_choices(levels: int) -> None:
    """Its noisy counts, with hardly any noise, are those of the rows in each box; only what is chosen is charged."""
    codes, labels = table_of(SCHEMA, 800)
    plan = plan_of(levels)
    forest = grow(plan, counter_of(codes, labels, (100, 300)), Randomness.seeded(1))
    depth = {0: 0}
    for number, node in enumerate(forest.trees[0]):
        depth.update(dict.fromkeys(node.children, depth[number] + 1))
    assert max(depth.values()) == len(GRID.levels) + levels
    places = forest.leaves_of(codes)[0]
    for leaf, content in enumerate(forest.contents()):
        assert content is None or np.array_equal(content.counts, np.bincount(labels[places == leaf], minlength=2))
    lines = [draw for draw in plan.accounting.draws if draw.name.startswith("split")]
    assert [draw.level for draw in lines] == list(range(len(GRID.levels), len(GRID.levels) + levels))


def test_the_grid_is_the_same_whatever_the_rows_and_the_noise_are() -> None:
    """The schema alone decides which node is divided at which place."""
    seen = set()
    for seed in range(3):
        codes, labels = table_of(SCHEMA, 50 * seed, seed)
        (tree,) = grow(plan_of(0), counter_of(codes, labels), Randomness.seeded(seed)).trees
        seen.add(tuple((node.attribute, node.at, node.children) for node in tree if node.children))
    assert len(seen) == 1


@pytest.mark.parametrize("more", [{"rows": Disjoint(trees=2)}, {"count_shares": (Fraction(1, 2),) * 6}])
def test_a_grid_leads_one_tree_whose_nodes_are_not_counted(more: dict[str, Any]) -> None:
    """Refused before any row is read."""
    with pytest.raises(ParameterError, match="leads one tree"):
        plan_of(0, **more)
