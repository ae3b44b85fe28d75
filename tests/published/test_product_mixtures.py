"""Rows dealt to components, and drawn with some values alone: whole, in proportion, and exactly so in the mean."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.published.product_mixtures import (
    SHARE_UNITS,
    WEIGHT_UNITS,
    ClassMixture,
    ProductMixtures,
    codes_of_rows,
    dealt,
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
