"""Draws of noise: a law has its range of rates, and its own way in which losses add up."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from anonkit.budget_rules.model_queries import TABLE
from anonkit.errors import ParameterError
from anonkit.mechanisms.discrete_gaussian import LEAST_RATE, RATE_LIMIT
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE
from anonkit.published.statements.draws import EXPONENTIAL, PERMUTE_AND_FLIP, Bootstrap, Draw

MOST = (64 << 52) - 1
"""The largest rate of noise that is drawn from the law of Laplace."""


def drawn(law: str, **more: Any) -> Draw:
    """A draw of one table."""
    return Draw(name="table", query=TABLE, law=law, **more)


@pytest.mark.parametrize(
    ("law", "rate", "in_rho"),
    [
        (LAPLACE, 1, False),
        (LAPLACE, MOST, False),
        (PERMUTE_AND_FLIP, MOST, False),
        (EXPONENTIAL, 1, False),
        (EXPONENTIAL, MOST, True),
        (GAUSSIAN, LEAST_RATE, True),
        (GAUSSIAN, RATE_LIMIT - 1, True),
    ],
)
def test_the_ends_of_the_range_of_a_law_are_in_it(law: str, rate: int, in_rho: bool) -> None:
    """Rates that samplers take, and no other."""
    assert drawn(law, rate=rate, in_rho=in_rho).rate == rate
    beyond = rate - 1 if rate in (1, LEAST_RATE) else rate + 1
    with pytest.raises(ParameterError, match="rate is outside the range"):
        drawn(law, rate=beyond, in_rho=in_rho)


@pytest.mark.parametrize(("law", "in_rho"), [(LAPLACE, True), (PERMUTE_AND_FLIP, True), (GAUSSIAN, False)])
def test_a_loss_is_added_up_as_its_law_allows(law: str, in_rho: bool) -> None:
    """Permute-and-flip has no range of losses that rho could count, and Gaussian noise no epsilon."""
    with pytest.raises(ParameterError, match="not added up so"):
        drawn(law, rate=1 << 50, in_rho=in_rho)


def test_an_unknown_law_is_refused() -> None:
    """No rate is in its range."""
    with pytest.raises(ParameterError, match="outside the range"):
        drawn("cauchy", rate=1)


def test_a_draw_says_nothing_of_its_loss() -> None:
    """An accountant computes it from query, law and rate."""
    names = {field.name for field in fields(Draw)}
    assert names.isdisjoint({"epsilon", "rho", "sensitivity", "delta"})
    assert not [name for name, value in vars(Draw).items() if isinstance(value, property)]


@pytest.mark.parametrize("weights", [(1, 2), (1 << 32, 1, -1)])
def test_the_words_of_a_bootstrap_are_all_dealt(weights: tuple[int, ...]) -> None:
    """Every word says a number of copies, and no number is said by less than no word."""
    with pytest.raises(ParameterError, match="add up to all words"):
        Bootstrap(trees=1, weights=weights)
