"""The public rule: shares that add up, and choices that depend on public facts alone.

Budgets over levels: the figures of the papers.

The papers' choices in one table: shares of levels, rates of choices, and which methods it holds.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.budget_rules import tree_rule
from anonkit.budget_rules.pair_rule import AttributeSize, PairRule, choice_share_of
from anonkit.budget_rules.tree_rule import (
    ALLOCATIONS,
    CUTS,
    PAPER_TREES,
    arithmetic_ascending,
    as_quiet,
    choice_share,
    delta_may_pay,
    gaussian_histograms,
    gaussian_pays,
    halving,
    harmonic,
    is_dependent,
    least_gain,
    reading_share,
    requested_trees,
    rule_for,
)
from anonkit.dp_trees.marginals.measurement_plan import RemainingBudget
from anonkit.dp_trees.release.tree_releases import TreeMethod
from anonkit.mechanisms.accounting import units_of
from anonkit.mechanisms.exact_samplers import LEAST_RATE
from anonkit.methods import method_class, method_names
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE, noise_variance
from tests.dp_trees.additive_model.test_combination import ONE

WORDS: dict[str, Any] = {"depth": 3, "steps": 4, "order": "ascending", "score": "gini", "stop": "noisy"}


@pytest.mark.parametrize("name", PAPER_TREES)
def test_levels_have_weights_and_counts_of_rows_a_share_below_one(name: str) -> None:
    """One weight a level, the leaves' included; a method of steps has none."""
    trees = requested_trees(PAPER_TREES[name], WORDS, 2)
    levels = 0 if trees.paper.in_steps else 3 + trees.paper.leaves_below
    assert len(trees.weights) == levels
    assert len(trees.counted) in (0, levels)
    assert all(weight > 0 for weight in trees.weights)
    assert all(0 < share < 1 for share in trees.counted)


def test_the_table_holds_the_methods_of_trees_of_papers() -> None:
    """Each by its name, and no other."""
    classes = [method_class(name) for name in method_names()]
    assert {own.name for own in classes if issubclass(own, TreeMethod)} == set(PAPER_TREES)


def test_only_scores_that_move_one_way_have_slack() -> None:
    """The published rate divides them by two; information gain needs the two."""
    paper = PAPER_TREES["diffprfs"]
    given = [{**WORDS, "rate": rate, "score": score} for rate in ("full", "published")
             for score in ("gini", "information-gain")]  # fmt: skip
    assert [requested_trees(paper, one, 0).slack for one in given] == [1, 1, 2, 1]


def test_each_draw_of_a_path_has_the_same_share_where_levels_share_by_their_draws() -> None:
    """Two cuts, an attribute and a count on each level, two counts in a leaf: 14 draws in all."""
    trees = requested_trees(PAPER_TREES["diffp-c45"], WORDS, 2)
    whole = sum(trees.weights)
    assert trees.paper.split == CUTS
    assert {weight * share / whole for weight, share in zip(trees.weights, trees.counted, strict=True)} == {
        Fraction(1, 14)
    }


@pytest.mark.parametrize(("stop", "counted"), [("noisy", 4), ("depth", 0)])
def test_rows_are_counted_to_stop_alone_where_the_paper_does_so(stop: str, counted: int) -> None:
    """Of C4.5 on counts: a tenth of each level, if the noisy rule needs it."""
    trees = requested_trees(PAPER_TREES["c45-halving"], {**WORDS, "stop": stop}, 0)
    assert trees.counted == (Fraction(1, 10),) * counted
    assert trees.weights == (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 8))


def divided(weights: list) -> list[float]:  # type: ignore[type-arg]
    """The shares of an epsilon of 1."""
    return [float(weight / sum(weights)) for weight in weights]


def test_the_shares_are_those_of_the_papers() -> None:
    """EDPRF with three levels: 0.18, 0.27, 0.55; halving: 1/2, 1/4, 1/4; arithmetic: 1/6, 2/6, 3/6."""
    assert divided(harmonic(3)) == pytest.approx([2 / 11, 3 / 11, 6 / 11])
    assert divided(halving(3)) == pytest.approx([0.5, 0.25, 0.25])
    assert divided(arithmetic_ascending(3)) == pytest.approx([1 / 6, 2 / 6, 3 / 6])


@pytest.mark.parametrize("name", ALLOCATIONS)
@pytest.mark.parametrize("levels", [1, 2, 7])
def test_every_level_gets_something(name: str, levels: int) -> None:
    """No level is left without a budget."""
    weights = ALLOCATIONS[name](levels)
    assert len(weights) == levels
    assert all(weight > 0 for weight in weights)


FACTS = {
    "epsilon": st.floats(0.001, 40),
    "rows": st.floats(-1e4, 1e8),
    "attributes": st.integers(1, 200),
    "classes": st.integers(1, 30),
    "trees": st.integers(1, 50),
}


@given(**FACTS)
def test_the_shares_are_all_of_epsilon(epsilon: float, rows: float, attributes: int, classes: int, trees: int) -> None:
    """Splits, counts, weights, calibration and histograms add up to 1; nothing is spent on what is not drawn."""
    rule = rule_for(epsilon=epsilon, rows=rows, attributes=attributes, classes=classes, trees=trees)
    assert rule.splits + rule.counts + rule.weights + rule.slope + rule.histograms == 1
    assert rule.histograms > 0.5
    assert (rule.splits == 0) == (rule.depth == 0)
    assert 0 <= rule.region_depth <= rule.depth
    assert trees == 1 or rule.region_depth == 0
    assert rule.slope == 0 or (rule.weights == 0 and rule.slope == 3 * rule.counts)


@given(**{key: value for key, value in FACTS.items() if key != "trees"})
def test_more_rows_never_make_the_model_coarser(epsilon: float, rows: float, attributes: int, classes: int) -> None:
    """Ten times the rows have at least as many cells, levels and regions."""
    few, many = (
        rule_for(epsilon=epsilon, rows=n, attributes=attributes, classes=classes) for n in (abs(rows), 10 * abs(rows))
    )
    assert (few.cells, few.depth, few.region_depth) <= (many.cells, many.depth, many.region_depth)
    assert few.depth <= many.depth
    assert few.region_depth <= many.region_depth


def test_trees_are_deep_where_every_class_has_many_rows() -> None:
    """An interaction of two attributes takes several splits that inform little each."""
    deep, shallow = (rule_for(epsilon=1.0, rows=rows, attributes=10, classes=2) for rows in (5_000, 4_999))
    assert (deep.depth, deep.splits) == (5, Fraction(16, 100))
    assert (shallow.depth, shallow.splits) == (3, Fraction(8, 100))
    many = rule_for(epsilon=1.0, rows=5_000, attributes=10, classes=3)
    assert many.depth == 3


def test_twice_the_regions_ask_for_four_times_the_rows() -> None:
    """The noise of all regions adds up to that of the whole table."""
    found = [
        rule_for(epsilon=1.0, rows=20 * per_cell, attributes=5, classes=2).region_depth
        for per_cell in (199, 200, 799, 800, 3199, 3200, 10**6)
    ]
    assert found == [0, 1, 1, 2, 2, 3, 3]


def test_what_the_owner_chose_goes_before_the_rule() -> None:
    """No split costs nothing; a depth that the rule has not gets a share for its splits."""
    rule = rule_for(epsilon=1.0, rows=30_000, attributes=10, classes=2)
    flat = rule.with_choices(depth=0, cells=7)
    assert (flat.splits, flat.region_depth, flat.cells) == (0, 0, 7)
    assert rule_for(epsilon=0.1, rows=1, attributes=3, classes=2).with_choices(depth=2, cells=None).splits > 0
    assert rule.with_choices(depth=None, cells=None) == rule


def test_few_rows_ask_few_attributes() -> None:
    """The noise of a histogram grows with their number: of thirty drowned ones nothing is learned."""
    asked = [
        rule_for(epsilon=0.1, rows=rows, attributes=30, classes=2).measured
        for rows in (-5, 20, 380, 3_800, 10**4, 10**6)
    ]
    assert asked == [1, 1, 4, 14, 22, 30]
    assert rule_for(epsilon=0.1, rows=380, attributes=3, classes=2).measured == 3
    assert rule_for(epsilon=0.1, rows=380, attributes=30, classes=10).measured == 2


@given(**FACTS)
def test_where_weights_are_learned_all_attributes_are_asked(
    epsilon: float, rows: float, attributes: int, classes: int, trees: int
) -> None:
    """Never none, and never more than there are."""
    rule = rule_for(epsilon=epsilon, rows=rows, attributes=attributes, classes=classes, trees=trees)
    assert 1 <= rule.measured <= attributes
    assert rule.weights == 0 or rule.measured == attributes


def test_a_model_is_calibrated_where_its_weights_are_not_learned_and_rows_suffice() -> None:
    """Three quarters of what class counts have; the histograms keep theirs, and leaves released as cells all of it."""
    none, some, cells, learned = (
        rule_for(epsilon=1.0, rows=rows, attributes=8, classes=2, in_cells=in_cells)
        for rows, in_cells in ((1_799, False), (1_800, False), (1_800, True), (3_501, False))
    )
    assert (none.slope, none.counts) == (0, Fraction(6, 100))
    assert (some.slope, some.counts) == (Fraction(45, 1000), Fraction(15, 1000))
    assert none.histograms == some.histograms
    assert (cells.slope, cells.counts) == (0, Fraction(6, 100))
    assert learned.weights > learned.slope == 0
    assert rule_for(epsilon=1.0, rows=1_800, attributes=8, classes=65).slope == 0


def test_few_attributes_have_weights_and_a_tree_from_as_many_rows_on_as_ten() -> None:
    """Below, the histograms have all of epsilon, as in dp-nb, which was ahead there."""
    for attributes, least in ((4, 3_500), (8, 3_500), (10, 3_500), (14, 6_860)):
        few, many = (rule_for(epsilon=1.0, rows=rows, attributes=attributes, classes=2) for rows in (least, least + 1))
        assert (few.weights, few.depth, few.splits) == (0, 0, 0)
        assert few.histograms == Fraction(94, 100)
        assert many.weights > 0
        assert many.depth >= 3


def test_what_no_pair_scores_falls_with_what_is_paid() -> None:
    """From .15 of the rows to .09."""
    assert least_gain(epsilon=0.05, rows=1_500.0, pairs=45) == 0.15
    assert least_gain(epsilon=0.01, rows=1e6, pairs=45) == 0.09
    assert 0.09 < least_gain(epsilon=0.05, rows=2_800.0, pairs=45) < 0.15


def test_a_rule_that_a_pair_leads_pays_for_its_leaves_and_for_what_is_chosen_below() -> None:
    """A fifth for the counts; no splits where the grid is as deep as the tree."""
    told = {"epsilon": 1.0, "rows": 20_000.0, "attributes": 10, "classes": 2}
    before, short, long = (rule_for(**told, n_public_levels=led) for led in (0, 2, 8))  # type: ignore[arg-type]
    assert (before.depth, short.depth, long.depth) == (5, 5, 8)
    assert (before.splits, short.splits, long.splits) == (Fraction(16, 100), Fraction(16, 100), 0)
    assert short.counts == long.counts == Fraction(1, 5)
    few = rule_for(epsilon=1.0, rows=2_000.0, attributes=10, classes=2, n_public_levels=4)
    assert (few.weights, few.depth, few.splits, few.counts) == (0, 4, 0, Fraction(1, 5))


def of(left: RemainingBudget) -> tuple[int, int]:
    """Most loss of a row, in units of epsilon and of rho."""
    return left.units, left.row_rho_units


@pytest.mark.parametrize("adjacency", [ADD_OR_REMOVE, REPLACE])
def test_as_many_gaussian_histograms_have_no_more_noise_and_one_more_has(adjacency: str) -> None:
    """By the variances of both laws, at the rates that would be planned."""
    left = RemainingBudget(units=units_of(0.5), delta=Fraction(1e-6), adjacency=adjacency)
    for asked in (20, 35, 60):
        found = as_quiet(*of(left), asked)
        most = noise_variance(left.table(LAPLACE, "h", left.units, asked).rate)
        within, beyond = (
            noise_variance(left.table(GAUSSIAN, "h", left.whole(GAUSSIAN), times).rate, GAUSSIAN)
            for times in (found, found + 1)
        )
        assert within <= most * 1.001 < beyond * 1.002
        assert gaussian_histograms(*of(left), asked, 10_000) == (2 * found if found > asked else 0)
        assert gaussian_histograms(*of(left), asked, asked) == (asked if found > asked else 0)


def test_delta_pays_with_many_attributes_and_not_with_few() -> None:
    """By public facts alone; without a delta, and where noise would be wider than any that is drawn, never."""
    left = RemainingBudget(units=ONE, delta=Fraction(1e-6))
    paying = [delta_may_pay(*of(left), attributes) for attributes in (0, 1, 3, 30, 60)]
    assert paying == [False, False, False, True, True]
    assert not delta_may_pay(ONE, 0, 60)
    tiny = RemainingBudget(units=units_of(2e-6), delta=Fraction(1e-12))
    assert 0 < tiny.whole(GAUSSIAN) < LEAST_RATE * 120
    assert tree_rule.LEAST_RATE == LEAST_RATE  # else a rule would choose noise that is not drawn
    assert as_quiet(*of(tiny), 60) == gaussian_histograms(*of(tiny), 60, 60) == 0


def test_a_reading_is_paid_where_weights_would_be_learned() -> None:
    """For cells there is a tree anyhow; the more rows, the less of epsilon shows a dependence."""
    rule = rule_for(epsilon=1.0, rows=10_000, attributes=8, classes=2)
    few, many = (reading_share(rule, epsilon=1.0, rows=rows, moved=2.0) for rows in (10_000, 100_000))
    assert 0 < many < few < Fraction(1, 10)
    assert reading_share(rule, epsilon=1.0, rows=10_000, moved=2.0, in_cells=True) == 0
    poor = rule_for(epsilon=1.0, rows=1_000, attributes=8, classes=2)
    assert (poor.weights, reading_share(poor, epsilon=1.0, rows=1_000, moved=2.0)) == (0, 0)


@given(st.floats(-1e5, 1e5), st.floats(-5, 1e5))
def test_attributes_depend_on_each_other_from_a_share_of_the_rows_on(distance: float, rows: float) -> None:
    """A dependence stays one where more is read, and of fewer rows."""
    if is_dependent(distance, rows):
        assert distance > 0
        assert is_dependent(2 * distance, rows)
        assert is_dependent(distance, rows / 2)


def test_overlapping_evidence_of_more_attributes_weighs_the_less() -> None:
    """None where no more are measured; a rare class has fewer regions, an even table as many as before."""
    rule = rule_for(epsilon=0.1, rows=3_800, attributes=30, classes=2)
    assert rule.measuring(rule.measured) == rule
    assert rule.measuring(30).attribute_weight < rule.measuring(20).attribute_weight < rule.attribute_weight
    deep = rule_for(epsilon=1.0, rows=64_000, attributes=5, classes=2)
    even, rare = (
        deep.for_classes(counts, epsilon=Fraction(1), attributes=5) for counts in ([32_000, 32_000], [63_999, 1])
    )
    assert even.region_depth == deep.region_depth > rare.region_depth == 0


@pytest.mark.parametrize(("trees", "in_cells", "is_free"), [(2, False, True), (1, True, True), (1, False, False)])
def test_no_pair_leads_several_trees_cells_or_a_depth_of_the_owner(trees: int, in_cells: bool, is_free: bool) -> None:
    """Its choice is paid where one free tree of rows is grown, and where there are candidates."""
    sizes = (AttributeSize(codes=2),) * 3
    rule = PairRule(attributes=sizes, classes=2, rows=1e6, epsilon=1.0)
    assert choice_share_of(rule, trees=1, in_cells=False, is_free=True) > 0
    assert choice_share_of(rule, trees=trees, in_cells=in_cells, is_free=is_free) == 0
    assert choice_share(epsilon=1.0, rows=1e6, pairs=0) == 0
    assert rule.least_gain(0.05) == math.floor(least_gain(epsilon=0.05, rows=1e6, pairs=rule.number) * 1e6)


@given(st.lists(st.integers(2, 200), min_size=1, max_size=30), st.floats(0.01, 10), st.floats(1e-6, 1))
def test_gaussian_noise_is_quieter_where_its_variance_is_the_less(sizes: list[int], epsilon: float, rho: float) -> None:
    """Over all cells, each table with the share that makes the sum least."""
    gaussian = sum(map(math.sqrt, sizes)) ** 2 / (2 * rho)
    laplace = 2 * sum(size ** (1 / 3) for size in sizes) ** 3 / epsilon**2
    found = gaussian_pays(sizes, Fraction(epsilon), Fraction(rho))
    assert found == (gaussian < laplace) or gaussian == pytest.approx(laplace)
