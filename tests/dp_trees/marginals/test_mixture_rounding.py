"""Integers in proportion to shares."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonkit.dp_trees.marginals.mixture_rounding import in_units, whole_parts
from anonkit.dp_trees.marginals.table_fit import Mixture


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
