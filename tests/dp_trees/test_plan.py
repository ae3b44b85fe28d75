"""Leaves: their contents, and their cost."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.dp_trees.plan import LEAVES, LabelOnly, Leaf, Leaves, NoisyClassCounts
from anonkit.mechanisms.accounting import draw_units
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.randomness import Randomness
from tests.dp_trees.tables import MIXED

ONE = 1 << 52


def filled(leaf: Leaf, totals: list[list[int]], units: int) -> list:  # type: ignore[type-arg]
    """The contents of leaves with these counts."""
    leaves = Leaves(
        level=1, units=units, schema=MIXED, nodes=np.arange(len(totals)), totals=np.array(totals),
        histograms=lambda nodes, attributes: [],
    )  # fmt: skip
    return list(leaf.fill(leaves, UniformStream(Randomness.seeded(1))))


@pytest.mark.parametrize("name", LEAVES)
def test_a_leaf_spends_all_it_may_and_ends_the_path(name: str) -> None:
    """One row is in one count, and adds to one: the sensitivity is 1."""
    (draw,) = LEAVES[name]().draws(2, ONE // 3, MIXED)
    assert draw_units(draw) == ONE // 3
    assert draw.ends_path
    assert draw.level == 2


def test_counts_have_noise_of_their_rate() -> None:
    """The mean deviation of discrete Laplace noise at epsilon 1 is 2 q / (1 - q^2), q = 1/e."""
    contents = filled(NoisyClassCounts(), [[100, 7]] * 20_000, ONE)
    deviation = np.abs(np.array([content.counts for content in contents]) - [100, 7]).mean()
    q = np.exp(-1)
    assert deviation == pytest.approx(2 * q / (1 - q * q), rel=0.03)


def test_labels_are_chosen_and_counts_are_not_told() -> None:
    """Permute-and-flip on two counts that differ by one: the second wins with probability e^-1 / 2."""
    contents = filled(LabelOnly(), [[3, 2]] * 20_000, ONE)
    assert all(content.counts is None for content in contents)
    share = np.mean([content.label for content in contents])
    assert share == pytest.approx(np.exp(-1) / 2, abs=0.012)
