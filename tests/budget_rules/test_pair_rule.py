"""The grid of two attributes: its leaves are the cells of their table, and a tree that it leads pays nothing for it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.budget_rules.pair_rule import MOST_CELLS, AttributeSize, PairGrid, PairRule
from anonkit.budget_rules.tree_rule import choice_share
from anonkit.dp_trees.additive_model.pair_prequeries import PairInteraction, groups_of, rule_of, sizes_of
from anonkit.dp_trees.grower import grow
from anonkit.dp_trees.plan import Choices, Disjoint, NoisyClassCounts, Plan
from anonkit.dp_trees.split_selection import JointSelection
from anonkit.errors import ParameterError
from anonkit.published.tree_model import Attribute, Split
from anonkit.randomness import Randomness
from tests.dp_trees.additive_model.test_joint_interaction import JOINT_KINDS, SIZES, joint_schema
from tests.dp_trees.additive_model.test_pair_interaction import question_of
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


PAIR_KINDS = st.tuples(st.sampled_from([Split.CUT, Split.ONE_VS_REST]), st.integers(2, 15), st.booleans())


@settings(max_examples=60, deadline=None)
@given(st.lists(PAIR_KINDS, max_size=9), st.integers(1, 20_000), st.sampled_from([0.01, 0.1, 1.0, 8.0]))
def test_which_pairs_there_are_to_choose_is_said_by_their_sizes(
    kinds: list[tuple[Split, int, bool]], rows: int, epsilon: float
) -> None:
    """One pair after the other: 16 rows for each cell, 8 of epsilon times rows, and a grid of twelve levels."""
    schema = schema_of(*(attribute(f"a{at}", size, kind, missing=miss) for at, (kind, size, miss) in enumerate(kinds)))
    groups = [(min(size, 8) if kind is Split.CUT else size) + miss for kind, size, miss in kinds]
    steps = [
        math.ceil(math.log2(own)) if kind is Split.CUT else own - 1
        for own, (kind, _, _) in zip(groups, kinds, strict=True)
    ]
    expected = [
        (first, second)
        for first, second in itertools.combinations(range(len(kinds)), 2)
        if 2 * groups[first] * groups[second] * 16 <= rows
        and 2 * groups[first] * groups[second] * 8 <= epsilon * rows
        and steps[first] + steps[second] <= 12
    ]
    assert list(question_of(schema, float(rows), epsilon).rule.candidates) == expected


def test_all_pairs_together_have_two_million_cells_at_most() -> None:
    """The smallest tables are looked at; of tables of one size those of the first attributes."""
    wide = schema_of(*(attribute(f"a{at:02d}", 60 + at % 2, Split.ONE_VS_REST) for at in range(40)))
    question = question_of(wide, 1e9)
    cells = [question.rule.cells(pair) for pair in question.pairs]
    assert sum(cells) <= 1 << 21 < sum(cells) + question.rule.cells((0, 1)) + 2 * 60
    assert max(cells) == 2 * 60 * 61
    left_out = set(itertools.combinations(range(40), 2)) - set(question.pairs)
    assert min(question.rule.cells(pair) for pair in left_out) >= max(cells)
    assert min(pair for pair in left_out if question.rule.cells(pair) == max(cells)) > max(
        pair for pair in question.pairs if question.rule.cells(pair) == max(cells)
    )


def test_pairs_whose_table_has_few_rows_for_its_noise_or_that_take_many_levels_are_no_candidates() -> None:
    """By public facts alone: eight of epsilon times rows for each cell, twelve levels."""
    schema = schema_of(
        attribute("a", 2, Split.ONE_VS_REST), attribute("b", 9, Split.ONE_VS_REST), attribute("c", 7, Split.ONE_VS_REST)
    )
    assert question_of(schema, rows=1e6).rule.candidates == ((0, 1), (0, 2))  # 8 + 6 levels are too many
    assert question_of(schema, rows=1e6, epsilon=2 * 14 * 8 / 1e6).rule.candidates == ((0, 2),)
    assert question_of(schema, rows=1e6, epsilon=2 * 13 * 8 / 1e6).rule.candidates == ()


TRIPLE_KINDS = st.tuples(
    st.just((Split.CUT, 64)) | st.tuples(st.just(Split.ONE_VS_REST), st.integers(2, 15)), st.booleans()
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(TRIPLE_KINDS, min_size=3, max_size=40), st.integers(1, 10**6), st.sampled_from([0.1, 1.0, 8.0]),
)  # fmt: skip
def test_triples_are_of_few_cells_and_cost_nothing(
    kinds: list[tuple[tuple[Split, int], bool]], rows: int, epsilon: float
) -> None:
    """Of five cells at most, missing included; 16 rows for each cell of a table, 8 of epsilon times rows."""
    schema = schema_of(
        *(attribute(f"a{at}", size, kind, missing=miss) for at, ((kind, size), miss) in enumerate(kinds))
    )
    question = PairInteraction(schema=schema, rows=float(rows), epsilon=epsilon)
    cells = [(min(size, 4) if kind is Split.CUT else size) + miss for (kind, size), miss in kinds]
    for triple in question.rule.triples:
        own = [cells[at] for at in triple]
        assert max(own) <= 5
        assert 32 * math.prod(own) <= rows
        assert 16 * math.prod(own) <= epsilon * rows
    if question.rule.triples:
        pairs = len(question.rule.candidates)
        counted = (pairs, pairs + 8 * len(question.rule.triples))
        both = (choice_share(epsilon=epsilon, rows=rows, pairs=own) for own in counted)
        assert len(set(both)) == 1
        assert len(question.rule.triples) <= min(5_000, (1 << 28) / rows)


@settings(max_examples=60, deadline=None)
@given(st.lists(JOINT_KINDS, min_size=3, max_size=11), st.integers(10**3, 10**7), st.sampled_from([0.1, 1.0, 8.0]))
def test_all_are_a_candidate_where_their_table_has_rows_enough_and_cost_nothing(
    kinds: list[tuple[tuple[Split, int], bool]], rows: int, epsilon: float
) -> None:
    """Four attributes or more, 8 rows and 8 of epsilon times rows for each cell by class, twelve levels at most."""
    rule = rule_of(joint_schema(kinds), rows=float(rows), epsilon=epsilon)
    if not rule.joint:
        return
    assert rule.joint == (tuple(range(len(kinds))),)
    assert len(kinds) >= 4
    assert 16 * np.prod([min(size, 4) for (_, size), _ in kinds]) <= min(rows, epsilon * rows)
    assert len(rule.grid(rule.joint[0], 0.0).levels) <= 12
    known = len(rule.candidates)
    counted = (known, known + 8 * (len(rule.triples) + 1))
    assert len({choice_share(epsilon=epsilon, rows=rows, pairs=own) for own in counted}) == 1
    assert rule.number == known + len(rule.triples) + 1


@pytest.mark.parametrize(("rows", "sizes", "is_candidate"), [
    (12_000, SIZES, True), (6_911, SIZES, False), (10**6, (2, 2, 2), False), (10**7, (4,) * 5, False),
])  # fmt: skip
def test_too_few_rows_three_attributes_or_too_many_levels_are_no_candidate(
    rows: int, sizes: tuple[int, ...], is_candidate: bool
) -> None:
    """8 rows for each of 432 cells by two classes are 6,912; five attributes of four values take fifteen levels."""
    rule = rule_of(joint_schema([((Split.ONE_VS_REST, size), False) for size in sizes]), rows=float(rows), epsilon=2.0)
    assert rule.triples
    assert bool(rule.joint) == is_candidate


@pytest.mark.parametrize(("strength", "cells"), [(0.0, 2 * 8), (1e9, 2 * 32)])
def test_a_pair_is_divided_as_finely_as_its_counts_have_rows_for_their_noise(strength: float, cells: int) -> None:
    """Of few, into the cells of its table; of three attributes four cells of a number are distinguished."""
    pair = (AttributeSize(codes=2), AttributeSize(codes=64, cells=64))
    rule = PairRule(attributes=(*pair, AttributeSize(codes=3)), classes=2, rows=1e9, epsilon=1.0)
    assert rule.grid((0, 1), strength).cells == cells
    assert rule.grid((0, 1, 2), strength).cells == 2 * 4 * 3
    wide = PairRule(attributes=(*pair, AttributeSize(codes=2**19 + 1)), classes=2, rows=1e9, epsilon=1.0)
    assert rule.grid((0, 1), 1e9).cells > wide.grid((0, 1), 1e9).cells  # each node has a place for each code


def test_chance_grows_with_the_root_of_cells_times_rows() -> None:
    """Of all cells of a table together, in rows."""
    few, many = (PairRule(attributes=(), classes=2, rows=rows, epsilon=1.0) for rows in (1e4, 4e4))
    assert many.chance(10) == pytest.approx(2 * few.chance(10)) == pytest.approx(few.chance(40))
