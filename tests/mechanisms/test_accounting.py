"""The account of a release: what is planned, charged and claimed are the same integers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.budget_rules.model_queries import TABLE, PairGain
from anonkit.domains.found_domains import FindingLine
from anonkit.errors import BudgetError, ParameterError
from anonkit.mechanisms.accounting import (
    Accounting,
    PathAccount,
    draw_epsilon,
    draw_units,
    rate_within,
    rounded_up,
    shares,
    units_of,
)
from anonkit.mechanisms.query_sensitivity import sensitivity_of
from anonkit.promises.guarantee import REPLACE
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE
from anonkit.published.statements.draws import PERMUTE_AND_FLIP, Bootstrap, Draw

ONE = 1 << 52
SPLIT = Draw(name="split", law=PERMUTE_AND_FLIP, rate=ONE // 8, query=PairGain(), level=0)
EARLY = Draw(name="leaf", query=TABLE, law=LAPLACE, rate=ONE // 2, level=0, ends_path=True)
LATE = replace(EARLY, level=1)
IN_RHO = Draw(name="table", query=TABLE, law=GAUSSIAN, rate=1 << 40, in_rho=True)


@given(st.integers(1, 1 << 57), st.lists(st.integers(0, 50), min_size=1, max_size=9).filter(any))
def test_shares_add_up_exactly(units: int, weights: list[int]) -> None:
    """No unit is lost or made, and a weight of 0 gets nothing."""
    parts = shares(units, weights)
    assert sum(parts) == units
    assert all(part >= 0 and (part == 0 or weight > 0) for part, weight in zip(parts, weights, strict=True))


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, 41, True])
def test_an_epsilon_outside_its_range_is_refused(epsilon: float) -> None:
    """The message states the range."""
    with pytest.raises(ParameterError, match="must be in"):
        units_of(epsilon)


def test_a_rate_never_costs_more_than_it_may() -> None:
    """Rounded down; and what cannot be drawn is refused."""
    assert rate_within(10, 3) == 3
    with pytest.raises(ParameterError, match="outside the range"):
        rate_within(1, 2)
    with pytest.raises(ParameterError, match="outside the range"):
        rate_within(units_of(40.0) * 2, 1)


def test_a_path_pays_for_the_levels_above_its_leaf() -> None:
    """A leaf at the root pays no split, a leaf below pays it; the dearer path is the claim."""
    assert Accounting(draws=(SPLIT, EARLY, LATE)).epsilon == 0.75
    assert Accounting(draws=(SPLIT, EARLY)).epsilon == 0.5
    assert Accounting(draws=(replace(SPLIT, level=None), replace(EARLY, level=None, ends_path=False))).epsilon == 0.75
    assert Accounting(draws=()).epsilon == 0


def test_draws_in_rho_have_no_epsilon_but_the_promised_one() -> None:
    """Their loss depends on delta: an account of them that states no promise is refused."""
    draws = (SPLIT, IN_RHO)
    with pytest.raises(ParameterError, match="state what is promised"):
        _ = Accounting(draws=draws).epsilon
    assert Accounting(draws=draws, claim=(0.5, 1e-9)).epsilon == 0.5


def test_a_budget_lists_draws_or_levels() -> None:
    """Draws by the column that they are spent on, else by their purpose; trees by level; what was searched apart."""
    named = replace(SPLIT, level=None, column="age")
    plain = Accounting(draws=(named, replace(IN_RHO, rate=1 << 51)), claim=(1.0, 1e-9))
    assert plain.budget == {
        "epsilon": 1.0,
        "delta": 1e-9,
        "per_level": [],
        "per_attribute": [{"name": "age", "epsilon": 0.25}, {"name": "table", "rho": 0.5}],
    }
    trees = Accounting(draws=(SPLIT, SPLIT, EARLY), by_level=True)
    assert trees.budget["per_level"] == [
        {"level": 0, "part": "split", "epsilon": 0.5},
        {"level": 0, "part": "leaf", "epsilon": 0.5},
    ]
    found = FindingLine(purpose="categories of city", mechanism="laplace", rate=ONE, threshold=9, delta=Fraction(1, 8))
    searched = trees.after_search([found, replace(EARLY, level=None, name="spikes of age")], 3.0, 0.125)
    assert searched.budget["domains"] == [
        {"name": "categories of city", "epsilon": 1.0, "delta": 0.125},
        {"name": "spikes of age", "epsilon": 0.5, "delta": 0.0},
    ]
    assert [line["purpose"] for line in searched.to_params()["accounting"]] == [
        "categories of city",
        "spikes of age",
        "split",
        "split",
        "leaf",
    ]
    assert (searched.budget["epsilon"], searched.budget["delta"]) == (3.0, 0.125)
    in_rho = Accounting(
        draws=(EARLY, replace(IN_RHO, rate=1 << 51)),
        claim=(1, 0),
        by_level=True,
    )
    assert in_rho.budget["per_level"][1:] == [{"level": None, "part": "split", "rho": 0.5}]


def test_a_void_account_lists_nothing() -> None:
    """A look without noise leaves no promise: no draw is listed and nothing is said to be spent."""
    void = Accounting(draws=(SPLIT, EARLY), by_level=True, is_void=True)
    assert void.to_params()["accounting"] == []
    assert void.budget == {"epsilon": None, "delta": None, "per_level": [], "per_attribute": []}


def test_units_of_several_rows_and_replaced_rows_pay_for_each() -> None:
    """c rows lose c times as much, a replaced row twice."""
    draws = (replace(LATE, times=3),)
    assert Accounting(draws=draws).epsilon == 1.5
    assert Accounting(draws=draws, rows_per_unit=4, adjacency=REPLACE).epsilon == 12


def test_a_bootstrap_costs_more_than_the_sum_of_its_trees() -> None:
    """Copies of a row: ln E[e^(M eps)] a tree, which for 0 or 2 copies can be said in one line."""
    coin = Bootstrap(trees=3, weights=(1 << 31, 0, 1 << 31))
    found = Accounting(draws=(LATE,), bootstrap=coin).epsilon
    assert found == pytest.approx(3 * math.log((1 + math.e) / 2), rel=1e-12)
    assert found > 3 * 0.5
    with pytest.raises(ParameterError, match="add up"):
        Bootstrap(trees=1, weights=(1, 2))


@given(st.integers(1, 10**30), st.integers(1, 10**30))
def test_a_claim_is_never_rounded_below_what_it_is(numerator: int, denominator: int) -> None:
    """The float is the smallest one that is not below."""
    value = Fraction(numerator, denominator)
    assert Fraction(rounded_up(value)) >= value > Fraction(math.nextafter(rounded_up(value), 0))


def test_an_account_refuses_to_overspend_and_charges_nothing_then() -> None:
    """Every path is looked at by itself."""
    account = PathAccount(10, 1)
    account.charge("split", 6, np.array([0]))
    account.branch(np.array([0, 0]))
    account.charge("leaf", 4, np.array([1]))
    with pytest.raises(BudgetError, match="exceed"):
        account.charge("leaf", 1, np.array([1, 2]))
    assert account.spent.tolist() == [6, 10, 6]
    assert account.most == 10
    with pytest.raises(ParameterError, match="at least one"):
        account.charge("nothing", 0, np.array([0]))


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1, 5]])
def test_a_budget_is_not_divided_by_nothing(weights: list[int]) -> None:
    """No weights, only zeros, or a negative one: refused before anything is charged."""
    with pytest.raises(ParameterError, match="at least 0"):
        shares(100, weights)


@given(st.lists(st.integers(0, 3), min_size=0, max_size=4), st.booleans(), st.integers(1, 5))
def test_what_is_written_of_an_account_is_the_account(levels: list[int], bootstrapped: bool, people: int) -> None:
    """From the lines of the params file alone the same epsilon comes out, and each line states its own share."""
    account = Accounting(
        draws=tuple(replace(SPLIT, level=level, times=level + 1) for level in levels),
        bootstrap=Bootstrap(trees=2, weights=(1 << 31, 1 << 31)) if bootstrapped else None,
        rows_per_unit=people,
    )
    params = json.loads(json.dumps(account.to_params()))
    for line, draw in zip(params["accounting"], account.draws, strict=True):
        assert line.pop("rate_unit") == "2**-52"
        assert line.pop("sensitivity") == sensitivity_of(draw.query)
        assert line.pop("epsilon") == draw_epsilon(draw) >= draw_units(draw) / ONE
    composition = params["composition"]
    bootstrap = composition.pop("bootstrap")
    again = Accounting(
        draws=tuple(
            Draw(name=line.pop("purpose"), law=line.pop("mechanism"), query=draw.query, **line)
            for line, draw in zip(params["accounting"], account.draws, strict=True)
        ),
        bootstrap=bootstrap and Bootstrap(**{**bootstrap, "weights": tuple(bootstrap["weights"])}),
        **composition,
    )
    assert again == account
    assert again.epsilon == account.epsilon
