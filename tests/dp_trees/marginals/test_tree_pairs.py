"""Rows that represent a tree, against its joint distribution.

Noisy tables combined: shares that add up, with more information than one table.

Counts of bins: smooth ones come nearer, spikes stay, sums are kept, and the remaining noise is returned.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from anonkit.dp_trees.marginals.tree_pairs import (
    MeasuredTable,
    margins_of,
    order_of,
    rare_together,
    refined,
    rows_of_tree,
    rows_per_class,
    smoothed,
)
from tests.dp_trees.marginals.joint_distributions import SIZES, joint_of, margin, margins_of_joints
from tests.dp_trees.marginals.tables_of_pairs import layout_of


def noisy(counts: np.ndarray, deviation: float, seed: int) -> MeasuredTable:
    """Counts with rounded normal noise of a deviation."""
    noise = np.random.default_rng(seed).normal(0, deviation, counts.shape)
    return MeasuredTable(counts=np.rint(counts + noise).astype(np.int64), variance=deviation**2)


def test_rare_values_are_counted_together_and_come_last() -> None:
    """A value stands out from four deviations of its noise on, over all classes."""
    table = MeasuredTable(counts=np.array([[50, 1, 30, 0, 2], [50, 2, 31, 9, 0]]), variance=2.0)
    assert rare_together(table, 4.0).tolist() == [0, 3, 1, 2, 3]  # 9 against 4 x sqrt(2 x 2) = 8
    single = MeasuredTable(counts=np.array([[50, 1, 30]]), variance=2.0)
    assert rare_together(single, 4.0).tolist() == [0, 1, 2]  # one rare value alone is none to put together
    assert rare_together(table, 40.0).tolist() == [0, 1, 1, 1, 1]
    assert rare_together(table, 4000.0).tolist() == [0, 0, 0, 0, 0]


def test_shares_of_margins_add_up_whatever_the_noise() -> None:
    """Also of a class that the noise has left no row."""
    tables = [noisy(np.array([[5, 0, 0], [0, 0, 0]]), 20.0, seed) for seed in range(3)]
    margins = margins_of(tables, [np.array([0, 1, 1])] * 3, [0, 2, 3])
    for at in range(3):
        assert margins.values[at].sum(axis=1) == pytest.approx(1)
        assert margins.grouped(at).sum(axis=1) == pytest.approx(1)
        assert margins.values[at].min() >= 0
        within = margins.within(at)
        assert np.stack([within[:, 0], within[:, 1:].sum(axis=1)], axis=1) == pytest.approx(1)
    assert margins.totals.min() >= 1


def test_rows_per_class_weigh_tables_by_their_noise() -> None:
    """A table of little noise and few cells is what is believed."""
    tables = [
        MeasuredTable(counts=np.array([[60, 40], [10, 10]]), variance=0.01),
        MeasuredTable(counts=np.array([[500, 0], [0, 0]]), variance=1e6),
    ]
    assert rows_per_class(tables) == pytest.approx([100, 20], abs=0.01)


def test_bins_of_a_number_are_smoothed_and_what_is_missing_is_not() -> None:
    """Ten bins that rise slowly and a cell for missing: nearer than as categories, in the mean over many draws."""
    truth = np.concatenate([np.linspace(40, 130, 10), [60.0]])[np.newaxis]
    off = np.zeros((60, 2, 2))
    for seed in range(60):
        table = noisy(truth, 40.0, seed)
        for at, bins in enumerate((0, 10)):
            found = np.abs(margins_of([table], [np.arange(11)], [bins]).values[0] - truth / truth.sum())[0]
            off[seed, at] = found[:10].sum(), found[10]
    categories, numbers = off.mean(axis=0)
    assert numbers[0] < 0.8 * categories[0]
    assert numbers[1] < 1.25 * categories[1]


def test_margins_of_pairs_bring_columns_nearer_to_the_truth() -> None:
    """Four tables that share a column inform more about it than its own, in the mean over many draws."""
    truth = np.array([[400, 300, 200, 100]])
    other = np.array([0.5, 0.3, 0.2])
    joint = truth[:, :, np.newaxis] * other
    alone, together = [], []
    for seed in range(60):
        one_ways = [noisy(truth, 15.0, seed), *(noisy(1000 * other[np.newaxis], 15.0, 100 + seed) for _ in range(4))]
        groups = [np.arange(4), *[np.arange(3)] * 4]
        before = margins_of(one_ways, groups, [0] * 5)
        pairs = {(0, at): noisy(joint, 8.0, 1000 * at + seed) for at in range(1, 5)}
        after = refined(before, one_ways, pairs)
        alone.append(np.abs(before.values[0] - truth / 1000).sum())
        together.append(np.abs(after.values[0] - truth / 1000).sum())
        assert after.values[0].sum() == pytest.approx(1)
    assert np.mean(together) < 0.8 * np.mean(alone)


def test_groups_are_spread_over_their_values_as_the_column_says() -> None:
    """Within a group the column's own table decides; a group without rows is spread evenly."""
    tables = [
        MeasuredTable(counts=np.array([[50, 30, 10, 0, 0]]), variance=1e-6),
        MeasuredTable(counts=np.array([[60, 30]]), variance=1e-6),
    ]
    margins = margins_of(tables, [np.array([0, 1, 1, 2, 2]), np.array([0, 1])], [0, 0])
    shares = np.array([[[0.3, 0.2], [0.2, 0.2], [0.08, 0.02]]])
    spread = margins.spread((0, 1), shares)
    assert spread.sum() == pytest.approx(1)
    assert spread[0, 1:3, 0] == pytest.approx([0.15, 0.05])
    assert spread[0, 3:, 0] == pytest.approx([0.04, 0.04])


BELL = 400 * np.exp(-(((np.arange(16) - 7) / 4) ** 2))
SPIKES = np.where(np.arange(16) % 5 == 2, 400.0, 10.0)


@pytest.mark.parametrize(
    ("truth", "deviation", "most"), [(BELL, 60.0, 0.7), (BELL, 5.0, 1.02), (SPIKES, 60.0, 1.05), (SPIKES, 5.0, 1.01)]
)
def test_squares_fall_where_neighbours_are_alike_and_hardly_rise_where_not(
    truth: np.ndarray, deviation: float, most: float
) -> None:
    """Two classes, one of half the rows; mean squared error over 300 draws, in that of the noise."""
    draw, both = np.random.default_rng(4), np.stack([truth, truth / 2])
    off = []
    for _ in range(300):
        found, _ = smoothed(both + draw.normal(0, deviation, both.shape), deviation**2)
        off.append(((found - both) ** 2).mean())
    assert np.mean(off) < most * deviation**2


def test_sums_are_kept_and_the_noise_that_is_left_is_told() -> None:
    """Flat counts, of which all differences are noise: sums to the last bit but rounding, variances by draws."""
    draw, found, told = np.random.default_rng(5), [], []
    for _ in range(400):
        counts = 100 + draw.normal(0, 10, (1, 12))
        smooth, left = smoothed(counts, 100.0)
        assert smooth.sum() == pytest.approx(counts.sum())
        found.append(smooth[0])
        told.append(left)
    assert np.mean(told) < 60
    assert np.var(found, axis=0).mean() == pytest.approx(np.mean(told), rel=0.5)


def test_one_bin_stays_as_it_is() -> None:
    """There is nothing beside it."""
    found, left = smoothed(np.array([[7.0], [-2.0]]), 3.0)
    assert found == pytest.approx(np.array([[7.0], [-2.0]]))
    assert left == pytest.approx([3.0])


def test_rows_of_a_tree_stand_for_it_and_are_the_same_each_time() -> None:
    """20,000 of them have the pairs of the tree; nothing is drawn in secret."""
    edges = [(0, 1), (1, 2), (2, 3)]
    joint = joint_of(edges, 1)
    layout = layout_of(SIZES)
    margins = margins_of_joints([joint])
    tables = {pair: margin(joint, *pair)[np.newaxis] for pair in edges}
    rows, again = (rows_of_tree(layout, order_of(edges, 4), tables, margins, 20_000)[0] for _ in range(2))
    assert np.array_equal(rows, again)
    for first, second in itertools.combinations(range(4), 2):
        seen = np.bincount(rows[:, first] * SIZES[second] + rows[:, second], minlength=SIZES[first] * SIZES[second])
        assert seen / 20_000 == pytest.approx(margin(joint, first, second).reshape(-1), abs=0.02)
