"""Pair tables that agree with their columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.dp_trees.marginals.measured_tables import MeasuredTable, margins_of
from anonkit.dp_trees.marginals.pair_consistency import consistent_pair, fitted_to_margins


@settings(max_examples=30, deadline=None)
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
