"""The public rule: shares that add up, and choices that depend on public facts alone.

Budgets over levels: the figures of the papers.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.budget_rules.forest_rule import ALLOCATIONS, arithmetic_ascending, halving, harmonic, rule_for


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
