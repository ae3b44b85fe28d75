"""The grower: budgets on every path, trees that can be read, laws that do not depend on the order of rows."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from anonkit.budget_rules.tree_rule import ALLOCATIONS
from anonkit.checks.central_account import published_account
from anonkit.dp_trees.grower import _Grower, grow
from anonkit.dp_trees.plan import Choices, Disjoint, LabelOnly, NoisyClassCounts, Plan, PoissonBootstrap, Shared
from anonkit.dp_trees.split_selection import (
    ENTROPY,
    GINI,
    INFORMATION_GAIN,
    MAX_CLASS,
    CutThenAttribute,
    JointSelection,
    NoisyCounts,
    noisy_gain_ratio,
    sulq_information,
)
from anonkit.errors import BudgetError, ParameterError
from anonkit.mechanisms.accounting import PathAccount
from anonkit.promises.guarantee import REPLACE
from anonkit.published.statements.noise_statement import EXPONENTIAL, PERMUTE_AND_FLIP
from anonkit.published.tree_model import PublishedForest, Split
from anonkit.randomness import Randomness
from tests.dp_trees.tables import MIXED, attribute, counter_of, schema_of, table_of

CODES, LABELS = table_of(MIXED, 500)


def plan_of(**more: Any) -> Plan:
    """A plan of four levels for a loss of 1."""
    given: dict[str, Any] = {
        "rows": Disjoint(trees=2),
        "levels": 4,
        "weights": tuple(ALLOCATIONS["uniform"](4)),
        "selection": JointSelection(),
        "leaf": NoisyClassCounts(),
    }
    epsilon = more.pop("epsilon", 1.0)
    around = {key: more.pop(key) for key in ("rows_per_unit", "adjacency") if key in more}
    return Plan(choices=Choices(**{**given, **more}), schema=MIXED, epsilon=epsilon, **around)


def noise_of(epsilon: float, schema: object) -> float:
    """A threshold: one standard deviation of the count."""
    return math.sqrt(2) / epsilon


CHOICES: dict[str, dict[str, Any]] = {
    "joint permute-and-flip": {},
    "joint exponential, shared": {
        "selection": JointSelection(score=ENTROPY, mechanism=EXPONENTIAL, slack=2),
        "rows": Shared(trees=3),
    },
    "cut first, bootstrap, square root": {
        "selection": CutThenAttribute(score=INFORMATION_GAIN),
        "rows": PoissonBootstrap(trees=3),
        "square_root": True,
        "count_shares": (Fraction(1, 2),) * 4,
        "threshold": noise_of,
    },
    "cut first, max-class": {"selection": CutThenAttribute(score=MAX_CLASS, mechanism=PERMUTE_AND_FLIP)},
    "noisy gain ratio, halving": {
        "selection": NoisyCounts(measure=noisy_gain_ratio),
        "weights": tuple(ALLOCATIONS["halving"](4)),
    },
    "noisy gain ratio as published": {
        "selection": NoisyCounts(measure=noisy_gain_ratio, undivided=True, exponential=True),
        "min_rows": 2,
    },
    "sulq": {
        "selection": NoisyCounts(measure=sulq_information, separate_totals=True),
        "count_shares": (Fraction(1, 3),) * 4,
        "threshold": noise_of,
    },
    "aligned labels": {"align": True, "leaf": LabelOnly(), "weights": tuple(ALLOCATIONS["harmonic"](4))},
}


def test_undivided_counts_of_attributes_that_are_never_used_up_are_paid_on_every_level() -> None:
    """Of the four attributes one is used up by its split; the line of each level says four tables all the same."""
    plan = plan_of(**CHOICES["noisy gain ratio as published"])
    assert [plan.split_draws(level)[0].times for level in range(3)] == [4, 4, 4]
    multiway = replace(plan, schema=schema_of(attribute("a", 2), attribute("b", 3), attribute("c", 2)))
    assert [multiway.split_draws(level)[0].times for level in range(3)] == [3, 2, 1]


@pytest.mark.parametrize("name", CHOICES)
def test_what_is_charged_on_a_path_is_what_was_planned(name: str) -> None:
    """Every draw goes through the account, and the dearest path of a grown forest is the claim of the plan."""
    plan = plan_of(**CHOICES[name])
    grower = _Grower(plan, counter_of(CODES, LABELS), Randomness.seeded(1))
    grower.run(lambda level: None)
    account = grower.account
    in_one_tree = replace(plan, choices=replace(plan.choices, rows=Disjoint(trees=1)))
    alone = replace(in_one_tree, epsilon=plan.path_units / 2**52)
    assert account.most == alone.accounting.path_units <= plan.path_limit
    assert (plan.path_limit > plan.path_units) == (name == "noisy gain ratio as published")
    ends = [plan.leaf_units(level) for level, _, _ in grower.leaves]
    assert min(ends) > 0


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_published_account_of_every_choice_is_the_claim(name: str, epsilon: float) -> None:
    """Added up by other code from JSON, at most what was requested; aligned budgets use all of it."""
    plan = plan_of(**CHOICES[name], epsilon=epsilon)
    found = published_account(json.loads(json.dumps(plan.accounting.to_params()))).epsilon
    assert found <= plan.accounting.epsilon
    assert (plan.accounting.epsilon <= epsilon) == (name != "noisy gain ratio as published")
    if plan.choices.align:
        assert found == pytest.approx(epsilon, rel=1e-12)


def test_units_and_replaced_rows_divide_the_budget() -> None:
    """The claim for the unit stays; a row gets a share."""
    plan = plan_of(rows_per_unit=3, adjacency=REPLACE)
    assert plan.accounting.epsilon <= 1
    assert plan.path_units == pytest.approx(plan_of().path_units / 6, rel=1e-12)


@pytest.mark.parametrize("name", CHOICES)
def test_a_forest_survives_json_and_its_leaves_partition_the_domain(name: str) -> None:
    """Read back it is the same, and every row of the domain is in one leaf of each tree."""
    plan = plan_of(**CHOICES[name])
    forest = grow(plan, counter_of(CODES, LABELS), Randomness.seeded(2))
    assert PublishedForest.from_params(json.loads(json.dumps(forest.to_params()))) == forest
    leaves = forest.leaves_of(CODES.astype(np.int64))
    contents = forest.contents()
    assert leaves.shape == (len(forest.trees), 500)
    assert all(contents[leaf] is not None for leaf in np.unique(leaves))


def test_much_budget_finds_the_pattern_and_counts_it() -> None:
    """With epsilon 40 the tree is the one without noise: its leaves have the exact counts, near enough."""
    plan = plan_of(rows=Disjoint(trees=1), epsilon=40.0)
    forest = grow(plan, counter_of(CODES, LABELS), Randomness.seeded(3))
    counts = np.array([(0, 0) if leaf is None else leaf.counts for leaf in forest.contents()])
    leaves = forest.leaves_of(CODES.astype(np.int64))[0]
    guessed = counts[leaves].argmax(axis=1)
    assert (guessed == LABELS).mean() > 0.85
    exact = np.zeros_like(counts)
    np.add.at(exact, (leaves, LABELS), 1)
    assert np.abs(exact - counts).max() <= 3


def test_batches_and_passes_do_not_matter() -> None:
    """The same key gives the same forest however the rows are handed over."""
    plan = plan_of(**CHOICES["cut first, bootstrap, square root"])
    whole = grow(plan, counter_of(CODES, LABELS), Randomness.seeded(4))
    parts = grow(plan, counter_of(CODES, LABELS, (1, 99, 300)), Randomness.seeded(4))
    assert whole == parts


@pytest.mark.parametrize("rows", [0, 1])
def test_empty_and_single_row_tables_give_forests_of_the_same_kind(rows: int) -> None:
    """Nothing depends on there being data: the tree goes on by noise."""
    for more in CHOICES.values():
        forest = grow(plan_of(**more), counter_of(CODES[:, :rows], LABELS[:rows]), Randomness.seeded(5))
        assert len(forest.trees) == plan_of(**more).choices.rows.trees


def test_a_tree_without_attributes_is_a_leaf_with_the_whole_budget_of_its_level() -> None:
    """A schema that cannot be split has one level."""
    schema = schema_of(attribute("x", 1))
    plan = replace(plan_of(align=True), schema=schema)
    codes = np.zeros((1, 20), dtype=np.uint8)
    forest = grow(plan, counter_of(codes, LABELS[:20]), Randomness.seeded(6))
    assert [len(tree) for tree in forest.trees] == [1, 1]
    assert plan.accounting.epsilon == 1.0


def test_a_plan_that_lies_is_stopped_before_the_draw() -> None:
    """An account smaller than the plan refuses the first draw that does not fit."""
    grower = _Grower(plan_of(), counter_of(CODES, LABELS), Randomness.seeded(7))
    grower.account = PathAccount(grower.account.limit // 2, 2)
    with pytest.raises(BudgetError):
        grower.run(lambda level: None)


@pytest.mark.parametrize("multiway", [True, False])
def test_multiway_attributes_are_used_once_on_a_path(multiway: bool) -> None:
    """Cuts may come again further down."""
    schema = schema_of(attribute("x", 4, Split.MULTIWAY if multiway else Split.CUT))
    codes, labels = table_of(schema, 200)
    forest = grow(replace(plan_of(), schema=schema), counter_of(codes, labels), Randomness.seeded(8))
    splits = sum(not node.is_leaf for node in forest.trees[0])
    assert splits == 1 if multiway else splits > 1


def test_the_column_order_moves_no_law() -> None:
    """Reversed attributes give the same shares of root splits within four standard errors."""
    schema = schema_of(attribute("x", 3), attribute("z", 3))
    codes, labels = table_of(schema, 60)
    roots = []
    for flip in (1, -1):
        plan = replace(plan_of(rows=Disjoint(trees=400), epsilon=2.0, levels=2,
                               weights=(Fraction(1), Fraction(1))),
                       schema=replace(schema, attributes=schema.attributes[::flip]))  # fmt: skip
        forest = grow(plan, counter_of(np.tile(codes[::flip], 300), np.tile(labels, 300)), Randomness.seeded(9))
        names = [plan.schema.attributes[tree[0].attribute or 0].name for tree in forest.trees]
        roots.append(np.mean([name == "x" for name in names]))
    assert abs(roots[0] - roots[1]) < 4 * math.sqrt(2 * 0.25 / 400)


def test_choices_that_contradict_themselves_are_refused() -> None:
    """A weight for each level, a budget for what the threshold looks at."""
    with pytest.raises(ParameterError, match="a weight for each"):
        plan_of(levels=3)
    with pytest.raises(ParameterError, match="below 1 for each"):
        plan_of(count_shares=(Fraction(1),) * 4)
    with pytest.raises(ParameterError, match="needs a share"):
        plan_of(threshold=noise_of)


def test_purity_is_looked_at_only_where_it_is_asked_for() -> None:
    """A pure table is split on unless the published stop rule is on."""
    pure = np.zeros_like(LABELS)
    noisy = grow(plan_of(), counter_of(CODES, pure), Randomness.seeded(10))
    exact = grow(plan_of(noiseless_purity=True), counter_of(CODES, pure), Randomness.seeded(10))
    assert all(len(tree) > 1 for tree in noisy.trees)
    assert all(len(tree) == 1 for tree in exact.trees)


def test_gini_is_the_default_score() -> None:
    """The default sees splits that do not flip a majority."""
    assert JointSelection().score is GINI


def test_a_node_never_has_other_numbers_among_its_candidates_than_planned() -> None:
    """The charge of cuts is the dearest of what is possible: the possible is all that occurs."""
    seen: set[int] = set()
    plan = plan_of(**CHOICES["cut first, bootstrap, square root"])
    for seed in range(20):
        grower = _Grower(plan, counter_of(CODES, LABELS), Randomness.seeded(seed))
        candidates = grower._candidates(np.arange(3))
        cut = np.array([attribute.is_cut for attribute in MIXED.attributes])
        seen |= set(np.where(candidates >= 0, cut[candidates], False).sum(axis=1).tolist())
    assert seen <= set(range(plan.terms.fewest_numbers, plan.terms.numbers + 1))
