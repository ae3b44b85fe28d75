"""Learning a whole table: no more draws than planned, their law, and the distance of the rows from the table.

Pair tables that agree with their columns.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.auditing.epsilon_audit import epsilon_from_counts
from anonkit.dp_trees.marginals.learned_marginals import components_of, consistent_pair, fitted_to_margins, learn
from anonkit.dp_trees.marginals.tree_pairs import MeasuredTable, margins_of
from anonkit.errors import GuaranteeError
from anonkit.mechanisms.accounting import draw_units, units_of
from anonkit.randomness import Randomness
from tests.dp_trees.marginals.tables_of_pairs import (
    batch_of,
    chain,
    drawn,
    forced,
    layout_of,
    learned,
    left_of,
    mean_distance,
    rows_of_classes,
)


@given(st.integers(0, 10_000), st.floats(0.1, 50.0))
def test_a_pair_is_a_distribution_with_the_margins_of_the_columns(seed: int, deviation: float) -> None:
    """None is negative, and the values of the second column add up to what that says: the first is fitted before."""
    draw = np.random.default_rng(seed)
    one_ways = [MeasuredTable(counts=draw.integers(0, 60, (2, size)), variance=deviation**2) for size in (4, 3)]
    margins = margins_of(one_ways, [np.array([0, 1, 2, 2]), np.arange(3)], [0, 0])
    noise = np.rint(draw.normal(0, deviation, (2, 3, 3))).astype(np.int64)
    found = consistent_pair(
        (0, 1), MeasuredTable(counts=draw.integers(0, 30, (2, 3, 3)) + noise, variance=1.0), margins
    )
    assert found.min() >= 0
    assert found.sum(axis=(1, 2)) == pytest.approx(1)
    assert found.sum(axis=1) == pytest.approx(margins.values[1], abs=1e-6)


def test_fitting_keeps_the_odds_ratio() -> None:
    """Of a table of two by two, whatever the margins."""
    shares = np.array([[[0.4, 0.1], [0.2, 0.3]]])
    found = fitted_to_margins(shares, np.array([[0.7, 0.3]]), np.array([[0.5, 0.5]]))[0]
    assert found.sum(axis=1) == pytest.approx([0.7, 0.3])
    assert found[0, 0] * found[1, 1] / (found[0, 1] * found[1, 0]) == pytest.approx(6, rel=1e-3)


def test_a_column_without_rows_stays_without() -> None:
    """A margin of zero, and a table that has rows there."""
    found = fitted_to_margins(np.full((1, 2, 2), 0.25), np.array([[1.0, 0.0]]), np.array([[0.4, 0.6]]))[0]
    assert found[1].sum() == 0
    assert found[0] == pytest.approx([0.4, 0.6])


SIZES = [4, 5, 3, 6, 2]


@pytest.mark.parametrize("classes", [0, 2])
def test_batches_do_not_matter(classes: int) -> None:
    """The same words and another cut of the rows give the same tables and the same mixture."""
    codes = chain(4_000, SIZES)
    labels = codes[4] if classes else None
    layout = layout_of(SIZES, classes)
    whole = learned(layout, 4.0, 4_000, batch_of(codes, labels))
    parts = [
        batch_of(codes[:, part], None if labels is None else labels[part])
        for part in (slice(0, 1_700), slice(1_700, 4_000))
    ]
    again = learned(layout, 4.0, 4_000, *parts)
    assert len(whole.pairs) >= 2
    assert whole.mixtures.to_params() == again.mixtures.to_params()
    assert [table.to_params() for table in whole.pairs] == [table.to_params() for table in again.pairs]


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 4.0, 40.0])
@pytest.mark.parametrize("classes", [0, 2])
def test_all_draws_together_cost_what_there_is(epsilon: float, classes: int) -> None:
    """Readings, tables and choices, whatever the rule decided: never more, and hardly less."""
    codes = chain(6_000, SIZES)
    found = learned(layout_of(SIZES, classes), epsilon, 6_000, batch_of(codes, codes[4] if classes else None))
    spent = sum(draw_units(draw) for draw in found.draws)
    assert (1 - 1e-6) * units_of(epsilon) < spent <= units_of(epsilon)


@pytest.mark.parametrize("classes", [0, 2])
def test_rows_come_near_the_pairs_of_the_table_where_noise_is_small(classes: int) -> None:
    """20,000 rows at epsilon 40: mean total variation of all pairs below .02, far below shuffled columns."""
    codes = chain(20_000, SIZES)
    labels = codes[4] if classes else None
    rows = drawn(learned(layout_of(SIZES, classes), 40.0, 20_000, batch_of(codes, labels)))
    rows = rows[1:] if classes else rows
    shuffled = np.stack([np.random.default_rng(at).permutation(column) for at, column in enumerate(codes)])
    distance = mean_distance(codes, rows, SIZES)
    assert distance < 0.02
    assert distance < 0.15 * mean_distance(codes, shuffled, SIZES)


def never_worse(n: int, sizes: list[int], epsilon: float, strength: float, seeds: int) -> None:
    """Refuse rows that are further off than noisy independent columns by more than .005."""
    codes, layout = chain(n, sizes, strength=strength), layout_of(sizes)
    both = []
    for seed in range(seeds):
        ours = learned(layout, epsilon, n, batch_of(codes), seed=seed)
        alone = forced(layout, 0, 0, epsilon, batch_of(codes), seed=seed)
        both.append([mean_distance(codes, drawn(made, seed), sizes) for made in (ours, alone)])
    found, independent = np.mean(both, axis=0)
    assert found <= independent + 0.005


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_it_is_never_worse_than_noisy_independent_columns(epsilon: float) -> None:
    """Columns that depend a little, few rows."""
    never_worse(1_500, SIZES, epsilon, 0.3, 3)


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.0, 0.2, 0.6])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("n", [300, 3_000, 30_000])
def test_it_is_never_worse_than_independent_columns_on_many_tables(n: int, epsilon: float, strength: float) -> None:
    """Independent columns and dependent ones, of few rows and of many."""
    never_worse(n, [8, 16, 4, 12, 2, 9, 16, 3], epsilon, strength, 5)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("strength", [0.0, 0.3])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("n", [700, 3_000])
def test_a_target_makes_it_no_worse_than_independent_columns(
    n: int, epsilon: float, strength: float, classes: int
) -> None:
    """Columns that say much of a target, or nothing: against the target and all columns by themselves."""
    codes, labels = rows_of_classes(n, classes, strength)
    layout, alike = (layout_of([10] * 9, classes, anchored=anchored) for anchored in (True, False))
    true, sizes = np.concatenate([labels[np.newaxis], codes]), [classes, *[10] * 9]
    both = []
    for seed in range(10):
        ours = learned(layout, epsilon, n, batch_of(codes, labels), seed=seed)
        alone = forced(alike, 0, 0, epsilon, batch_of(codes, labels), seed=seed)
        both.append([mean_distance(true, drawn(made, seed), sizes) for made in (ours, alone)])
    found, independent = np.mean(both, axis=0)
    assert found <= independent + 0.005


@pytest.mark.parametrize(
    ("sizes", "epsilon", "asked"),
    [(SIZES, 0.3, ["gain of 2 pairs", "gain of 4 pairs"]), ([16] * 8, 0.2, ["gain of 2 pairs"])],
)
def test_independent_columns_have_no_pairs(sizes: list[int], epsilon: float, asked: list[str]) -> None:
    """No gain is found: all is left to the columns. If two clearly lose, no more are tried."""
    found = learned(layout_of(sizes), epsilon, 20_000, batch_of(chain(20_000, sizes, strength=0.0)))
    assert [reading.draw.name for reading in found.choice.readings] == asked
    assert found.pairs == ()


@pytest.mark.slow
def test_columns_that_hardly_depend_on_each_other_have_no_pairs_beside_the_tree() -> None:
    """A tree of chance pays a little where noise is small; the noise of more pairs would cost more than they inform."""
    sizes = [8, 16, 4, 12, 2, 9, 16, 3]
    found = [
        len(learned(layout_of(sizes), 3.0, 30_000, batch_of(chain(30_000, sizes, strength=part))).pairs)
        for part in (0.0, 0.6)
    ]
    assert found[0] <= 7 < found[1]


def test_further_pairs_bring_what_the_tree_lacks() -> None:
    """Columns in a circle: the pairs beside the tree are measured, and the rows are nearer for it."""
    codes = chain(20_000, SIZES)
    codes = np.concatenate([codes, [(codes[0] + codes[3]) % 4]])
    sizes = [*SIZES, 4]
    layout = layout_of(sizes)
    near, far = (
        mean_distance(codes, drawn(forced(layout, 5, further, 20.0, batch_of(codes))), sizes) for further in (5, 0)
    )
    assert near < 0.8 * far


def test_a_pair_that_follows_from_others_is_not_measured_again() -> None:
    """A column, its copy, and one that leans on both: one of its two pairs says all; the next is of other columns."""
    draw = np.random.default_rng(1)
    first, last = draw.integers(0, 4, 20_000), draw.integers(0, 4, 20_000)
    leaning, weaker = (
        np.where(draw.random(20_000) < part, own, draw.integers(0, 4, 20_000))
        for part, own in ((0.6, first), (0.3, last))
    )
    codes = np.stack([first, first, leaning, last, weaker])
    found = forced(layout_of([4] * 5), 2, 1, 20.0, batch_of(codes))
    chosen = [table.names for table in found.pairs]
    assert chosen[0] == ("c0", "c1")
    assert chosen[1] in {("c0", "c2"), ("c1", "c2")}
    assert chosen[2] == ("c3", "c4")


def test_the_noise_of_a_tiny_table_has_the_planned_law() -> None:
    """Three binary columns: every published cell is its count plus discrete Laplace noise, by enumeration."""
    layout = layout_of([2, 2, 2])
    codes = np.repeat([[0, 0, 1, 1] * 5, [0, 1, 0, 1] * 5, [0, 1, 1, 0] * 5], 10, axis=1)
    single, double = [], []
    for seed in range(40):
        found = forced(layout, 2, 0, 10.0, batch_of(codes), seed=seed)
        single.append(found.one_ways[2].counts[0] - 100)
        double += [table.counts[0] - 50 for table in found.pairs]
    assert found.plan.tree is not None
    for noise, rate in ((single, found.plan.one_ways[2].rate), (double, found.plan.tree.rate)):
        flat = np.array(noise).reshape(-1)
        decay = math.exp(-rate / 2**52)
        for value in (-1, 0, 1):
            expected = (1 - decay) / (1 + decay) * decay ** abs(value)
            assert np.mean(flat == value) == pytest.approx(expected, abs=5 * math.sqrt(expected / flat.size) + 1e-9)


@pytest.mark.slow
def test_an_audit_from_outside_finds_some_of_epsilon_and_no_more() -> None:
    """The only row of a table of two columns, there or not: that both cells are above 0 shows .4 of the claim."""
    layout, epsilon = layout_of([2, 2]), 1.5

    def seen(rows: int, first: int) -> int:
        batch = batch_of(np.zeros((2, rows), dtype=np.int64))
        found = (learned(layout, epsilon, 0, batch, seed=seed) for seed in range(first, first + 500))
        return sum(all(table.counts[0, 0] >= 1 for table in one.one_ways) for one in found)

    found = epsilon_from_counts((seen(1, 0), 500), (seen(0, 10_000), 500))
    assert 0.4 * epsilon < found <= epsilon


def test_rows_that_are_counted_twice_are_refused() -> None:
    """The sums of all tables must agree before any noise is drawn."""

    class Twice:
        n_rows = 3

        def __init__(self) -> None:
            self.asked = 0

        def sum_up(self, sums: object) -> np.ndarray:
            self.asked += 1
            counts = sums.count(batch_of(np.array([[0, 1, 1], [0, 0, 1]])))  # type: ignore[attr-defined]
            return np.asarray(counts * (2 if self.asked == 2 else 1))

        ask = sum_up

    with pytest.raises(GuaranteeError, match="more or less often"):
        learn(layout_of([2, 2]), Twice(), 1_000, left_of(30.0), units_of(30.0), Randomness.seeded(1))


def test_a_class_of_few_rows_has_few_components() -> None:
    """At least one, at most 300."""
    assert [components_of(rows) for rows in (-5.0, 0.0, 45.0, 1e9)] == [1, 1, 4, 300]


def test_an_empty_table_is_released_like_others() -> None:
    """The shapes are those of any other table."""
    found = learned(layout_of([3, 2]), 1.0, 0, batch_of(np.zeros((2, 0), dtype=np.int64)))
    assert [table.counts.shape for table in found.one_ways] == [(1, 3), (1, 2)]
