"""Risk by log-linear models: against populations whose samples were drawn, and what the models fit.

Individual risk by weights: the published figures, an independent integral, and households.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.estimators.population.log_linear_risk import (
    MOST_CELLS,
    all_pairs,
    household_risk,
    individual_risk,
    main_effects,
    sample_unique_risk,
)

PUBLISHED = [
    (3, 108.0, 0.01355297),
    (1, 45.5, 0.08579129),
    (1, 17.0, 0.17707583),
    (2, 100.0, 0.01877883),
    (1, 123.5, 0.03931625),
    (2, 110.0, 0.01714426),
    (2, 84.5, 0.02204233),
    (1, 541.0, 0.01165448),
    (1, 8.0, 0.29706308),
    (1, 5.0, 0.40235948),
]
"""Rows of a class, its estimated people, and the exact risk: two small tables that statistics offices test with."""


@pytest.mark.parametrize(("rows", "people", "risk"), PUBLISHED)
def test_published_figures(rows: int, people: float, risk: float) -> None:
    """The hypergeometric function gives the exact figures, not those of the usual approximation."""
    assert individual_risk(np.array([rows]), np.array([people])) == pytest.approx([risk], abs=6e-9)


@given(rows=st.integers(1, 3000), p=st.floats(1e-8, 1.0))
def test_the_integral(rows: int, p: float) -> None:
    """E[1/F | f] is the integral of y^(f-1) p / (p + (1-p) y) over y from 0 to 1, however large the class."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    # y = exp(-x / f): pieces of x in which the integrand is smooth
    total, cuts = 0.0, np.concatenate([np.arange(0, 45, 1.0), [45.0]])
    for low, high in pairwise(cuts.tolist()):
        x = (high + low) / 2 + (high - low) / 2 * nodes
        total += float((high - low) / 2 * weights @ (np.exp(-x) * p / (p + (1 - p) * np.exp(-x / rows)))) / rows
    assert individual_risk(np.array([rows]), np.array([rows / p]))[0] == pytest.approx(total, rel=1e-8)


@given(rows=st.integers(1, 10**6), people=st.floats(1.0, 1e9))
def test_bounds(rows: int, people: float) -> None:
    """A risk is at least one over the expected people of its class, and at most one over its rows."""
    (risk,) = individual_risk(np.array([rows]), np.array([rows * people]))
    assert 1 / (rows * people) * (1 - 1e-9) <= risk <= 1 / rows * (1 + 1e-9)


def test_everybody_is_in_the_sample() -> None:
    """If a class has as many people as rows its risk is one over them."""
    assert individual_risk(np.array([1, 2, 3, 900]), np.array([1.0, 2.0, 3.0, 900.0])) == pytest.approx(
        [1, 1 / 2, 1 / 3, 1 / 900]
    )


@pytest.mark.parametrize(("rows", "people"), [(0, 5.0), (3, 2.5), (1, float("nan"))])
def test_what_is_no_class_is_refused(rows: int, people: float) -> None:
    """No rows, fewer people than rows, no number."""
    with pytest.raises(ValueError, match="a class has at least one row"):
        individual_risk(np.array([rows]), np.array([people]))


def test_households() -> None:
    """Anybody of a household may be found; a person alone has their own risk, and a certain one makes it certain."""
    risk = household_risk(np.array([0.1, 0.2, 0.5, 1.0, 0.3]), np.array([0, 0, 1, 2, 2]))
    assert risk == pytest.approx([0.28, 0.28, 0.5, 1.0, 1.0])


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), min_size=1, max_size=30))
def test_a_household_is_at_no_less_risk_than_anybody_of_it(people: list[tuple[float, int]]) -> None:
    """And at no more than the sum."""
    risk, household = np.array([r for r, _ in people]), np.array([h for _, h in people])
    found = household_risk(risk, household)
    assert (found >= risk - 1e-12).all()
    assert (found <= np.bincount(household, weights=risk)[household] + 1e-12).all()


def test_a_small_table_by_hand() -> None:
    """Expected rows over the fraction: nine cells whose fitted counts are known, at one per cent and at all of it."""
    expected = np.array([0.5] * 4 + [1.0] + [0.4] * 2 + [0.2])
    tau1, tau2 = sample_unique_risk(expected, 0.5)
    assert tau1 == pytest.approx(4 * math.exp(-0.5) + math.exp(-1) + 2 * math.exp(-0.4) + math.exp(-0.2))
    assert tau2 == pytest.approx(sum((1 - math.exp(-v)) / v for v in expected))
    assert sample_unique_risk(expected, 0.01)[0] == pytest.approx(float(np.exp(-99 * expected).sum()))
    assert sample_unique_risk(expected, 1.0) == (8.0, 8.0)


def test_the_figure_of_another_package_is_that_of_half_the_population() -> None:
    """sdcMicro's `modRisk` gives .553 of nine cells at 1 %: (1 - f) times the rows, where the formula divides by f."""
    expected = np.array([0.5] * 4 + [1.0] + [0.4] * 2 + [0.2])
    assert sample_unique_risk(expected, 1 / 1.99)[0] / 9 == pytest.approx(0.553, abs=5e-4)
    assert sample_unique_risk(expected, 0.01)[0] / 9 < 1e-8


@given(st.lists(st.floats(1e-9, 50), min_size=1, max_size=20), st.floats(0.001, 1))
def test_right_matches_are_no_fewer_than_population_uniques(expected: list[float], fraction: float) -> None:
    """Tau 1 is at most tau 2, and that at most the number of sample uniques."""
    tau1, tau2 = sample_unique_risk(np.array(expected), fraction)
    assert 0 <= tau1 <= tau2 * (1 + 1e-9) <= len(expected) * (1 + 1e-9)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=60))
def test_the_models_have_the_margins_of_the_table(rows: list[tuple[int, int, int]]) -> None:
    """Main effects are products of shares; two columns, or one, fit exactly."""
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    by_hand = [len(rows) * math.prod(float((c == c[at]).mean()) for c in columns) for at in range(len(rows))]
    assert main_effects(columns, columns) == pytest.approx(by_hand)
    two = all_pairs(columns[:2], columns[:2])
    assert two is not None
    counts = [sum(other[:2] == row[:2] for other in rows) for row in rows]
    assert two == pytest.approx(counts, abs=1e-3)
    one = all_pairs(columns[:1], columns[:1])
    assert one is not None
    assert one == pytest.approx([float((columns[0] == value).sum()) for value in columns[0]])


def test_all_pairs_meet_the_pairs_of_three_columns() -> None:
    """Summed over the cells of a pair, the expected rows are those of the table."""
    draw = np.random.default_rng(3)
    first = draw.integers(0, 3, 4000)
    columns = [first, (first + draw.integers(0, 2, 4000)) % 3, draw.integers(0, 2, 4000) | (first == 2)]
    cells = np.indices((3, 3, 2)).reshape(3, -1)
    of_cells = all_pairs(columns, list(cells))
    assert of_cells is not None
    for pair in ((0, 1), (0, 2), (1, 2)):
        wanted, reached = np.zeros((3, 3)), np.zeros((3, 3))
        np.add.at(wanted, tuple(columns[at] for at in pair), 1)
        np.add.at(reached, tuple(cells[at] for at in pair), of_cells)
        assert reached == pytest.approx(wanted, abs=1e-2)


def test_too_many_cells_are_not_fitted() -> None:
    """The full table is too large: the model states it."""
    wide = np.arange(int(math.sqrt(MOST_CELLS)) + 1)
    assert all_pairs([wide, wide], [wide, wide]) is None
    assert main_effects([wide, wide], [wide, wide]) == pytest.approx(1 / wide.size)


def test_uniques_of_a_population_that_is_independent() -> None:
    """Of a sample from independent columns, main effects find how many sample uniques are population uniques."""
    draw = np.random.default_rng(11)
    n, fraction = 40_000, 0.1
    population = [
        np.minimum(draw.geometric(0.15, n), 30),
        draw.integers(0, 40, n),
        np.minimum(draw.geometric(0.4, n), 9),
    ]
    key = np.ravel_multi_index(population, (31, 40, 10))
    sizes = np.bincount(key)
    taken = draw.permutation(n)[: int(n * fraction)]
    sample = [column[taken] for column in population]
    alone = np.bincount(key[taken], minlength=sizes.size)[key[taken]] == 1
    truth1 = int((sizes[key[taken]][alone] == 1).sum())
    truth2 = float((1 / sizes[key[taken]][alone]).sum())
    tau1, tau2 = sample_unique_risk(main_effects(sample, [column[alone] for column in sample]), fraction)
    assert tau1 == pytest.approx(truth1, rel=0.25)
    assert tau2 == pytest.approx(truth2, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.2])
def test_both_models_bracket_the_truth_on_adult(adult: pa.Table, fraction: float) -> None:
    """Of samples of Adult main effects find too many population uniques, and all pairs too few."""
    names = ("sex", "age", "race", "marital-status", "education")
    population = [np.unique(adult[name].to_numpy(zero_copy_only=False), return_inverse=True)[1] for name in names]
    key = np.ravel_multi_index(population, [int(column.max()) + 1 for column in population])
    sizes = np.bincount(key)
    taken = np.random.default_rng(1).permutation(key.size)[: round(fraction * key.size)]
    alone = np.bincount(key[taken], minlength=sizes.size)[key[taken]] == 1
    truth = sizes[key[taken]][alone]
    sample = [column[taken] for column in population]
    at = [column[alone] for column in sample]
    pairs = all_pairs(sample, at)
    assert pairs is not None
    high, low = sample_unique_risk(main_effects(sample, at), fraction), sample_unique_risk(pairs, fraction)
    assert low[0] < int((truth == 1).sum()) < high[0]
    assert low[1] < float((1 / truth).sum()) < high[1]
