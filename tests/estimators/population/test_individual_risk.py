"""Individual risk by weights: the published figures, an independent integral, and households."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.estimators.population.individual_risk import household_risk, individual_risk

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
