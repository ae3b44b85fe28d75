"""The mixture of a triple: its components are the cells of one table, within which columns keep their own shares."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.dp_trees.marginals.private_choices import mixture_of_cells
from tests.dp_trees.marginals.tables_of_pairs import layout_of

SIZES = [2, 3, 4, 2]
LAYOUT = layout_of(SIZES, 2)
COLUMNS = (0, 1, 2)
GROUPS = (np.array([0, 1]), np.array([0, 0, 1]), np.array([0, 1, 1, 0]))
EMPTY = np.array([], dtype=np.int64)


def shares_of(draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Own shares of the values of each column, and shares of the eight cells."""
    return np.concatenate([draw.dirichlet(np.ones(size)) for size in SIZES]), draw.dirichlet(np.ones(8))


@given(st.integers(0, 2**32))
def test_cells_have_their_shares_and_values_within_them_their_own(seed: int) -> None:
    """By the definition, for every combination of values of all columns."""
    own, shares = shares_of(np.random.default_rng(seed))
    mixture = mixture_of_cells(LAYOUT, own, COLUMNS, GROUPS, shares, EMPTY)
    by_column = [own[LAYOUT.values(at)] for at in range(4)]
    for values in itertools.product(*map(range, SIZES)):
        cell, expected = 0, float(by_column[3][values[3]])
        for at, group in zip(COLUMNS, GROUPS, strict=True):
            inside = group == group[values[at]]
            cell = 2 * cell + int(group[values[at]])
            expected *= by_column[at][values[at]] / by_column[at][inside].sum()
        places = [LAYOUT.values(at).start + value for at, value in enumerate(values)]
        found = (mixture.weights * mixture.shares[:, places].prod(axis=1)).sum()
        assert found == pytest.approx(shares[cell] * expected)


def test_a_value_that_no_row_shall_have_has_no_share_and_a_group_of_unknown_ones_shares_evenly() -> None:
    """Noise left none of the other values of the group a share."""
    own, shares = shares_of(np.random.default_rng(1))
    third = LAYOUT.values(2)
    own[third] = [0.5, 0.0, 0.0, 0.5]
    empty = np.array([third.start + 3])
    mixture = mixture_of_cells(LAYOUT, own, COLUMNS, GROUPS, shares, empty)
    assert mixture.shares[:, third].sum(axis=1) == pytest.approx(1)
    assert (mixture.shares[:, third.start + 3] == 0).all()
    last = np.arange(8) % 2 == 1
    assert mixture.shares[last][:, third].tolist() == [[0, 0.5, 0.5, 0]] * 4
    assert mixture.shares[~last][:, third].tolist() == [[1, 0, 0, 0]] * 4
