# SPDX-License-Identifier: Apache-2.0
"""Risk of a class by its size: two independent ways to the same expectation, and figures of the literature.

Arguments about the population are given in one way, and are possible.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.checks.population_risk import (
    BY_CONSTRUCTION,
    AgainstPopulation,
    estimates_by_weights,
    estimates_of,
    individual_risks,
)
from anonkit.errors import ParameterError
from anonkit.estimators.reidentification_risk import individual_risk


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"file": "register.csv", "size": 10}, "say the same thing"),
        ({"size": 10, "fraction": 0.5}, "say the same thing"),
        ({"size": 0}, "must be at least 1"),
        ({"fraction": 0.0}, r"must be in \(0, 1\]"),
        ({"fraction": 1.5}, r"must be in \(0, 1\]"),
        ({"file": "register.csv", "k_map": 1}, "must be at least 2"),
        ({"size": 10, "k_map": 2}, "counted in a file"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], said: str) -> None:
    """Two bases, sizes and shares out of their range, and a k that no file counts."""
    with pytest.raises(ParameterError, match=said):
        AgainstPopulation(**given)


def test_the_share_of_the_population() -> None:
    """By a size, a file or the share itself; none where the file has fewer people than the table."""
    assert AgainstPopulation(size=100).fraction_of(10, None) == 0.1
    assert AgainstPopulation(fraction=0.25).fraction_of(10, None) == 0.25
    assert AgainstPopulation(file="register.csv").fraction_of(10, 40) == 0.25
    assert AgainstPopulation(file="register.csv").fraction_of(10, 9) is None
    with pytest.raises(ParameterError, match="smaller than the table"):
        AgainstPopulation(size=9).fraction_of(10, None)
    bases = [AgainstPopulation(**one).basis for one in ({}, {"file": "f.csv"}, {"size": 1}, {"fraction": 0.1})]
    assert bases == ["none", "file", "size", "fraction"]
    assert not AgainstPopulation().is_given


@given(sizes=st.sets(st.integers(1, 4000), min_size=1, max_size=12), fraction=st.floats(1e-6, 1))
def test_the_recurrence_gives_what_the_hypergeometric_function_does(sizes: set[int], fraction: float) -> None:
    """The recurrence and the hypergeometric function agree to ten digits, for any sizes and fraction."""
    rows = np.array(sorted(sizes), np.int64)
    found = individual_risks(rows, np.full(rows.size, fraction))
    assert found == pytest.approx(individual_risk(rows, rows / fraction), rel=1e-10)


@pytest.mark.parametrize(
    ("rows", "people", "risk"),
    [(3, 108, 0.01355297), (1, 45.5, 0.08579129), (1, 17, 0.17707583), (2, 100, 0.01877883), (1, 123.5, 0.03931625)],
)
def test_figures_of_the_literature(rows: int, people: float, risk: float) -> None:
    """The eight rows of weights that implementations are tested with."""
    assert individual_risks(np.array([rows]), np.array([rows / people])) == pytest.approx(risk, abs=5e-9)


@given(size=st.integers(1, 64))
def test_the_smallest_fraction_has_next_to_no_risk(size: int) -> None:
    """Though its inverse is no finite number."""
    (risk,) = individual_risks(np.array([size]), np.array([5e-324]))
    assert 0 <= risk < 1e-320


@pytest.mark.parametrize("weights", [(1.0, np.inf), (8e307, 8e307), (1e308, 1.0), (1.0, np.nan), (0.5, 0.5), ()])
def test_weights_that_say_nothing_of_a_population_give_no_estimate(weights: tuple[float, ...]) -> None:
    """Infinitely many people, no number of them, fewer than rows, or no rows."""
    assert estimates_by_weights(np.array([2, 2])[: len(weights)], np.array(weights)) is None


def test_the_block_adds_up() -> None:
    """The sum is that over rows, the mean its share of them; a whole population has the risk of its classes."""
    block = estimates_of([(2, 3), (5, 1)], 1.0, 11, BY_CONSTRUCTION)
    assert block["estimates"]["individual"] == {"max": 0.5, "mean": 4 / 11, "sum": 4.0}
    assert [each["risk"] for each in block["estimates"]["by_size"]] == [0.5, 0.2]
    assert estimates_of([], 0.5, None, BY_CONSTRUCTION)["estimates"]["individual"] == {
        "max": 0.0,
        "mean": 0.0,
        "sum": 0,
    }
