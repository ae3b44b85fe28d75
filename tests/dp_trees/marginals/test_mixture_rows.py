"""Rows of a mixture: its shares to the row, its means exactly, and columns independent inside a component."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.dp_trees.marginals.mixture_rows import MixtureRows
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.published.product_mixtures import (
    SHARE_UNITS,
    WEIGHT_UNITS,
    ClassMixture,
    ProductMixtures,
    rows_of_components,
    systematic,
)
from anonkit.randomness import Randomness
from tests.dp_trees.marginals.tables_of_pairs import layout_of


@given(st.integers(0, 2**32), st.integers(0, 10**6))
def test_systematic_numbers_add_up_and_are_off_by_less_than_one(seed: int, total: int) -> None:
    """For any weights and any offset."""
    cuts = np.sort(np.random.default_rng(seed).integers(0, 1025, 6))
    weights = np.diff(cuts, prepend=0, append=1024)[np.newaxis]
    found = systematic(weights, 1024, np.array([total]), UniformStream(Randomness.seeded(seed)))
    assert found.sum() == total
    assert (np.abs(found - weights * total / 1024) < 1).all()


def test_systematic_numbers_have_the_exact_mean() -> None:
    """Over all offsets there are: by enumeration with a generator that gives each once."""

    class Offsets(UniformStream):
        def below(self, bounds: np.ndarray) -> np.ndarray:
            return np.arange(bounds.size) % bounds

    weights = np.repeat([[3, 5, 0, 8]], 16, axis=0)
    found = systematic(weights, 16, np.full(16, 7), Offsets(Randomness.seeded(1)))
    assert (found.sum(axis=0) == weights[0] * 7).all()


def fork(rows: int) -> ProductMixtures:
    """A parent of two values and two children that depend on it alone: one component a value, one class."""
    half, most = SHARE_UNITS // 2, SHARE_UNITS * 3 // 4
    shares = [
        [SHARE_UNITS, 0, most, SHARE_UNITS - most, most, SHARE_UNITS - most],
        [0, SHARE_UNITS, half, SHARE_UNITS - half, half, SHARE_UNITS - half],
    ]
    own = ClassMixture(rows=rows, weights=np.array([WEIGHT_UNITS // 2] * 2), shares=np.array(shares))
    return ProductMixtures(schema=layout_of([2, 2, 2]).schema, anchored=False, classes=(own,))


def test_independent_children_of_one_parent_stay_uncorrelated() -> None:
    """20,000 rows: |r| below .03 given the parent, where rows in the order of their codes have .997."""
    mixtures = fork(20_000)
    rng = Randomness.seeded(4)
    parent, first, second = MixtureRows(mixtures)(rows_of_components(mixtures, UniformStream(rng)), rng)
    for value in (0, 1):
        given_parent = parent == value
        assert abs(np.corrcoef(first[given_parent], second[given_parent])[0, 1]) < 0.03
    ordered = [np.sort(column[parent == 0]) for column in (first, second)]
    assert np.corrcoef(*ordered)[0, 1] > 0.99  # what rounding without a shuffle would give


def test_the_rows_are_the_mixture_up_to_a_row_a_component() -> None:
    """Shares of values in each component, of classes exactly; the anchor is a column of its own."""
    draw = np.random.default_rng(1)
    layout = layout_of([3, 2], 2)
    classes = []
    for rows in (500, 41):
        weights = draw.multinomial(WEIGHT_UNITS, np.ones(4) / 4)
        shares = np.concatenate([draw.multinomial(SHARE_UNITS, np.ones(m) / m, size=4) for m in (3, 2)], axis=1)
        classes.append(ClassMixture(rows=rows, weights=weights, shares=shares))
    mixtures = ProductMixtures(schema=layout.schema, anchored=True, classes=tuple(classes))
    rng = Randomness.seeded(2)
    labels, first, second = MixtureRows(mixtures)(rows_of_components(mixtures, UniformStream(rng)), rng)
    assert np.bincount(labels).tolist() == [500, 41]
    for name, column, size in (("c0", first, 3), ("c1", second, 2)):
        seen = np.bincount(labels * size + column, minlength=2 * size).reshape(2, size)
        expected = mixtures.rows_expected(["t", name])
        assert np.abs(seen - expected).max() <= 2 * 4  # of weights and of shares, in each of four components
    assert mixtures.rows_expected(["c0"]).sum() == pytest.approx(541)


def test_no_row_is_a_table_without_rows() -> None:
    """Columns are there, and empty."""
    mixtures = fork(0)
    rng = Randomness.seeded(2)
    drawn = MixtureRows(mixtures)(rows_of_components(mixtures, UniformStream(rng)), rng)
    assert [column.size for column in drawn] == [0, 0, 0]
