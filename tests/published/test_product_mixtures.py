"""Rows dealt to components, and drawn with some values alone: whole, in proportion, and exactly so in the mean."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.published.product_mixtures import (
    SHARE_UNITS,
    WEIGHT_UNITS,
    ClassMixture,
    ProductMixtures,
    codes_of_rows,
    dealt,
    rows_of_components,
    systematic,
)
from anonkit.randomness import Randomness
from tests.dp_trees.marginals.tables_of_pairs import layout_of


def mixtures_of(sizes: list[int], classes: int = 0, components: int = 3, rows: int = 900) -> ProductMixtures:
    """A mixture of random shares; each class with more rows than the one before."""
    draw = np.random.default_rng(5)
    layout = layout_of(sizes, classes)
    parts = [
        ClassMixture(
            rows=rows * (at + 1),
            weights=draw.multinomial(WEIGHT_UNITS, np.ones(components) / components),
            shares=np.concatenate(
                [draw.multinomial(SHARE_UNITS, draw.dirichlet(np.ones(m)), components) for m in sizes], 1
            ),
        )
        for at in range(max(classes, 1))
    ]
    return ProductMixtures(schema=layout.schema, anchored=classes > 0, classes=tuple(parts))


@given(st.lists(st.integers(0, 1 << 200), min_size=1, max_size=6), st.integers(0, 10**9), st.integers(0, 2**20))
def test_dealt_rows_add_up_and_are_off_by_less_than_one(weights: list[int], rows: int, seed: int) -> None:
    """Of weights far beyond a word, too; a weight of 0 gets none."""
    weights[0] += 1
    found = dealt(weights, rows, UniformStream(Randomness.seeded(seed)))
    assert found.sum() == rows
    pairs = list(zip(weights, found.tolist(), strict=True))
    assert all(abs(Fraction(weight * rows, sum(weights)) - own) < 1 for weight, own in pairs)
    assert all(own == 0 for weight, own in pairs if weight == 0)


def test_dealt_rows_have_the_exact_mean() -> None:
    """Over offsets that lie evenly: 7 rows by weights 1, 2, 5."""

    class Even(UniformStream):
        at = 0

        def below(self, bounds: np.ndarray) -> np.ndarray:
            return np.array([self.at * int(bounds[0]) // 8])

    found, words = np.zeros(3, dtype=np.int64), Even(Randomness.seeded(1))
    for words.at in range(8):
        found += dealt([1, 2, 5], 7, words)
    assert found.tolist() == [7, 14, 35]


def test_systematic_numbers_may_have_units_of_their_own() -> None:
    """Each row in proportion to its own sum."""
    found = systematic(
        np.array([[1, 3], [2, 0]]), np.array([4, 2]), np.array([400, 9]), UniformStream(Randomness.seeded(1))
    )
    assert found.tolist() == [[100, 300], [9, 0]]


def test_rows_with_allowed_values_have_no_others_and_the_right_shares() -> None:
    """In each component the allowed values keep their proportion; other columns keep theirs."""
    mixtures = mixtures_of([3, 4], components=1)
    allowed = {"c0": np.array([True, False, True])}
    first, second = codes_of_rows(mixtures, np.array([10_000]), UniformStream(Randomness.seeded(3)), allowed)
    shares = mixtures.classes[0].shares[0]
    kept = shares[[0, 2]] / shares[[0, 2]].sum()
    assert np.abs(np.bincount(first, minlength=3)[[0, 2]] - 10_000 * kept).max() <= 1
    assert not (first == 1).any()
    assert np.abs(np.bincount(second, minlength=4) - 10_000 * shares[3:] / SHARE_UNITS).max() <= 1


def test_weights_under_conditions_are_the_rows_expected() -> None:
    """As integers and as floats, for a condition on the anchor and on another column."""
    mixtures = mixtures_of([3, 4], 2)
    allowed = {"t": np.array([False, True]), "c1": np.array([True, True, False, False])}
    weights = mixtures.component_weights(allowed)
    rows = np.concatenate(mixtures.component_rows(allowed))
    assert np.allclose(np.array([float(one) for one in weights]) / WEIGHT_UNITS / SHARE_UNITS, rows)
    table = mixtures.rows_expected(["c0"], allowed)
    assert np.isclose(table.sum(), rows.sum())
    assert np.isclose(mixtures.rows_expected(["t", "c1"])[1, :2].sum(), rows.sum())
    assert np.allclose(mixtures.rows_expected(["c0", "c1"], allowed).sum(axis=1), table)


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
    parent, first, second = codes_of_rows(
        mixtures, rows_of_components(mixtures, UniformStream(rng)), UniformStream(rng)
    )
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
    labels, first, second = codes_of_rows(
        mixtures, rows_of_components(mixtures, UniformStream(rng)), UniformStream(rng)
    )
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
    drawn = codes_of_rows(mixtures, rows_of_components(mixtures, UniformStream(rng)), UniformStream(rng))
    assert [column.size for column in drawn] == [0, 0, 0]
