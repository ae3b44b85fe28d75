"""Least squares: the gradient is that of the error, precise tables count more, and a near mixture stays near.

Integers in proportion to shares.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.dp_trees.marginals.mixture_fit import (
    Mixture,
    WantedTables,
    in_units,
    moved_nearer,
    wanted_tables,
    whole_parts,
)
from anonkit.dp_trees.marginals.tree_pairs import Margins, MeasuredTable
from tests.dp_trees.marginals.tables_of_pairs import layout_of


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9).filter(lambda shares: sum(shares) > 1e-6), st.integers(1, 999))
def test_parts_are_whole_add_up_and_are_off_by_less_than_one(shares: list[float], units: int) -> None:
    """By largest remainders."""
    exact = np.array([shares]) / sum(shares) * units
    found = whole_parts(np.array([shares]), units)
    assert found.sum() == units
    assert (np.abs(found - exact) < 1 + 1e-9).all()


def test_components_that_round_to_nothing_are_left_out() -> None:
    """Rows below 0 are none."""
    mixture = Mixture(weights=np.array([1.0, 1e-9]), shares=np.array([[0.5, 0.5, 1.0], [1.0, 0.0, 1.0]]))
    found = in_units(mixture, np.array([0, 2, 3]), -3.2)
    assert (found.rows, found.weights.tolist(), found.shares.tolist()) == (0, [1 << 20], [[1 << 15, 1 << 15, 1 << 16]])


SIZES = [3, 2]
OFFSETS = np.array([0, 3, 5])
ROWS = 1_000.0


def any_mixture(components: int, seed: int) -> Mixture:
    """Weights and shares of any mixture of products."""
    draw = np.random.default_rng(seed)
    shares = np.concatenate([draw.dirichlet(np.ones(size), size=components) for size in SIZES], axis=1)
    return Mixture(weights=draw.dirichlet(np.ones(components)), shares=shares)


def wanted(pair: np.ndarray, variance: float, completed: np.ndarray | None = None) -> WantedTables:
    """Two columns, the last two values of the first in one group, and the table of both if it was measured."""
    margins = Margins(
        totals=np.array([ROWS]),
        values=(np.array([[0.5, 0.3, 0.2]]), np.array([[0.4, 0.6]])),
        groups=(np.array([0, 1, 1]), np.arange(2)),
    )
    one_ways = [MeasuredTable(counts=np.array([own]), variance=2.0) for own in ([500, 300, 200], [400, 600])]
    known = {(0, 1): MeasuredTable(counts=pair[np.newaxis], variance=variance)}
    full = np.zeros((1, 5, 5)) if completed is None else completed
    return wanted_tables(layout_of(SIZES), margins, one_ways, known, full, 1.0)


def error(mixture: Mixture, asked: WantedTables) -> float:
    """The weighted squares, each pair once."""
    grouped = mixture.shares @ asked.groups
    off = grouped.T @ (grouped * mixture.weights[:, np.newaxis]) - asked.pairs[0]
    alone = mixture.weights @ mixture.shares - asked.columns[0]
    return float((asked.pair_weights * off**2).sum() / 2 + (asked.column_weights * alone**2).sum())


def test_tables_are_shares_with_their_precision() -> None:
    """The table with the least noise weighs 1; groups of one column are not compared."""
    found = wanted(np.array([[100, 400], [300, 200]]), 1.0)
    assert found.columns[0] == pytest.approx([0.5, 0.3, 0.2, 0.4, 0.6])
    assert found.column_weights == pytest.approx([0.5] * 5)
    assert found.pairs[0, :2, 2:] == pytest.approx(np.array([[0.1, 0.4], [0.3, 0.2]]))
    assert found.pairs[0, 2:, :2] == pytest.approx(np.array([[0.1, 0.3], [0.4, 0.2]]))
    assert found.pair_weights.tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]]


def test_a_mixture_comes_nearer_until_it_fits() -> None:
    """Tables that it can have: the error falls to a thousandth, and the same words of none give the same."""
    asked = wanted(np.array([[100, 400], [300, 200]]), 1.0)
    begun = any_mixture(8, 1)
    near, again = (moved_nearer(begun, asked, 0, OFFSETS, 300) for _ in range(2))
    assert np.array_equal(near.shares, again.shares)
    assert error(near, asked) < 1e-3 * error(begun, asked)
    assert near.weights.sum() == pytest.approx(1, abs=1e-5)
    assert np.add.reduceat(near.shares, OFFSETS[:-1], axis=1) == pytest.approx(1, abs=1e-5)


def test_the_first_step_goes_down_everywhere() -> None:
    """A small step against the sign of each slope lessens the error, whatever it begins with."""
    asked = wanted(np.array([[100, 400], [300, 200]]), 1.0)
    for seed in range(5):
        begun = any_mixture(4, seed)
        assert error(moved_nearer(begun, asked, 0, OFFSETS, 1), asked) < error(begun, asked)


def test_more_noise_counts_less() -> None:
    """A table that contradicts its columns: with little noise the columns give way, with much the table."""
    contradicting = np.array([[0, 0], [500, 500]])
    loud, quiet = (
        moved_nearer(any_mixture(8, 1), wanted(contradicting, noise), 0, OFFSETS, 300) for noise in (200, 0.01)
    )
    assert (quiet.weights @ quiet.shares)[0] < 0.05
    assert (loud.weights @ loud.shares)[0] == pytest.approx(0.5, abs=0.05)
