"""The two tables of what one row changes: they agree on every kind of query, and on any sizes.

zCDP and its conversion: never less than the true delta, agreed on by two codes, groups counted table by table.

The account of a release: what is planned, charged and claimed are the same integers.
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.budget_rules.model_queries import (
    TABLE,
    ClassDependence,
    ClippedSum,
    ModelQuery,
    PairError,
    PairGain,
    PairsDependence,
    PlaceHalves,
    PlaceSum,
    SchemeScore,
    SplitScore,
    Table,
    TargetDependence,
    TargetRelation,
    TripleError,
)
from anonkit.checks.account_lines import epsilon_of
from anonkit.checks.query_changes import change_of
from anonkit.domains.found_domains import FindingLine
from anonkit.errors import BudgetError, ParameterError
from anonkit.mechanisms.accounting import (
    Accounting,
    PathAccount,
    changed_squared,
    delta_of,
    draw_epsilon,
    draw_rho,
    draw_units,
    rate_within,
    rho_units_within,
    rounded_up,
    row_rho_units,
    sensitivity_of,
    shares,
    units_of,
)
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE
from anonkit.published.statements.noise_statement import EXPONENTIAL, PERMUTE_AND_FLIP, Bootstrap, Draw
from tests.mechanisms.test_private_selection import law_of_exponential, law_of_permute_and_flip

ONE = 1 << 52


def true_delta(rates: list[float], epsilon: float) -> float:
    """The hockey-stick divergence of tables of one cell each, moved by one: all outcomes of all of them together."""
    losses, masses = np.zeros(1), np.ones(1)
    for rate in rates:
        reach = math.ceil(9 / math.sqrt(2 * rate)) + 2
        y = np.arange(-reach, reach + 1)
        law = np.exp(-rate * y.astype(float) ** 2)
        law /= law.sum()
        losses = (losses[:, None] + rate * ((y - 1) ** 2 - y**2)[None, :]).ravel()
        masses = (masses[:, None] * law[None, :]).ravel()
    return float((masses * np.maximum(0, 1 - np.exp(epsilon - losses))).sum())


@pytest.mark.parametrize("rates", [[0.5], [0.05], [0.3, 0.3], [0.02, 0.1, 0.4], [2.0]])
@pytest.mark.parametrize("epsilon", [0.1, 0.7, 2.0, 5.0])
def test_the_bound_is_above_the_true_delta_of_the_noise_itself(rates: list[float], epsilon: float) -> None:
    """All outcomes of one to three tables of discrete Gaussian noise: their delta is below that of the sum."""
    bound = delta_of(Fraction(sum(rates)), Fraction(epsilon))
    assert true_delta(rates, epsilon) <= bound


def test_the_bound_is_not_far_above_it() -> None:
    """At a delta of 1e-6 the epsilon of the bound is within a tenth of the true one."""
    rate = 0.02
    bound = float(epsilon_of(Fraction(rate), Fraction(1, 10**6)))
    assert true_delta([rate], 0.9 * bound) > 1e-6 > true_delta([rate], bound)


@settings(max_examples=12)
@given(
    epsilon=st.floats(0.001, 40), delta=st.floats(1e-30, 0.01), order=st.floats(1e-3, 1e4),
)  # fmt: skip
def test_two_codes_agree_that_the_rho_keeps_the_claim(epsilon: float, delta: float, order: float) -> None:
    """The rho that is spent costs no more than requested by the other code, nor much less, and no alpha does better."""
    claim, rest = Fraction(epsilon), Fraction(delta)
    units = rho_units_within(claim, rest)
    found = epsilon_of(Fraction(units, ONE), rest)
    assert found <= claim
    assert found > claim * (1 - Fraction(1, 10**6)) or units < 10**6
    rho = units / ONE
    alpha = 1 + order
    log = order * (alpha * rho - epsilon) - math.log(order) + alpha * math.log1p(-1 / alpha)
    assert math.log(float(delta_of(Fraction(units, ONE), claim))) <= log + 1e-6


def test_a_bound_of_certainty_is_one() -> None:
    """If epsilon is far below the cost of rho, delta is 1 at most."""
    assert delta_of(Fraction(10), Fraction(1, 100)) <= 1


def test_too_little_of_both_is_refused() -> None:
    """An epsilon and a delta in which no unit of rho fits, and a rate that no noise has."""
    with pytest.raises(ParameterError, match="no room"):
        rho_units_within(Fraction(1, 10**9), Fraction(1, 10**40))
    with pytest.raises(ParameterError, match="outside the range"):
        Draw(name="rows", query=TABLE, rate=4095, law=GAUSSIAN, in_rho=True)


def test_changed_rows_move_a_table_by_no_more_than_they_pay_for() -> None:
    """All tables of two cells, all sets of up to three rows of a unit: squared length m**2, and 2 m**2 replaced."""
    cells, most = 2, 3
    tables = [t for t in itertools.product(range(most + 1), repeat=cells) if sum(t) <= most]
    for rows in range(1, most + 1):
        own = [t for t in tables if sum(t) <= rows]
        gone = max(sum(x * x for x in t) for t in own)
        other = max(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for a in own for b in own)
        assert gone == changed_squared(rows, replaced=False) == rows**2
        assert other == changed_squared(rows, replaced=True) == 2 * rows**2


def test_units_of_several_rows_and_replaced_ones_get_less_each() -> None:
    """Three rows a unit: a ninth; replaced: an eighteenth."""
    whole, three, replaced = (
        row_rho_units(Fraction(1), 1e-9, rows, adjacency)
        for rows, adjacency in ((1, ADD_OR_REMOVE), (3, ADD_OR_REMOVE), (3, REPLACE))
    )
    assert (three, replaced) == (whole // 9, whole // 18)


def test_an_account_adds_up_rho_for_the_unit_of_privacy() -> None:
    """Two tables, one of them twice, for three replaced rows a unit: eighteen times what one row pays."""
    draws = (
        Draw(name="a", query=TABLE, rate=1 << 20, law=GAUSSIAN, in_rho=True),
        Draw(name="b", query=TABLE, rate=1 << 21, times=2, law=GAUSSIAN, in_rho=True),
    )
    account = Accounting(claim=(1.0, 1e-6), draws=draws, rows_per_unit=3, adjacency=REPLACE)
    assert account.rho == Fraction(18 * 5 * (1 << 20), ONE)
    assert float(draw_rho(draws[1])) == (1 << 22) / ONE


def renyi(first: np.ndarray, second: np.ndarray, alpha: float) -> float:
    """The Renyi divergence of two laws."""
    return float(np.log((first**alpha * second ** (1 - alpha)).sum()) / (alpha - 1))


@pytest.mark.parametrize("alpha", [1.001, 2.0, 8.0])
def test_a_bounded_range_is_of_the_exponential_mechanism_and_not_of_permute_and_flip(alpha: float) -> None:
    """epsilon**2 / 8 of rho (Rogers and Steinke 2021) holds for all small gaps of the one; the other loses four times.

    Two tied candidates, one of which a row raises: permute-and-flip is no mechanism of bounded range.
    """
    epsilon = 0.2
    allowed = alpha * epsilon**2 / 8
    worst = {law_of_exponential: 0.0, law_of_permute_and_flip: 0.0}
    for scores in itertools.product(range(3), repeat=2):
        for raised in itertools.product((0, 1), repeat=2):
            after = [score + more for score, more in zip(scores, raised, strict=True)]
            for law in worst:
                one, other = law(list(scores), epsilon), law(after, epsilon)
                worst[law] = max(worst[law], renyi(one, other, alpha), renyi(other, one, alpha))
    assert worst[law_of_exponential] <= allowed * (1 + 1e-9)
    assert allowed * 2 < worst[law_of_permute_and_flip] <= alpha * epsilon**2 / 2


@pytest.mark.parametrize("rate", [0, 64 << 52])
def test_a_choice_outside_its_range_is_refused(rate: int) -> None:
    """Nothing is spent on it, or far too much."""
    with pytest.raises(ParameterError, match="'which': its rate is outside"):
        Draw(name="which", rate=rate, query=ClippedSum(bound=1), law=EXPONENTIAL, in_rho=True)


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


SIZES = st.integers(1, 1 << 28)
QUERIES: dict[type[ModelQuery], st.SearchStrategy[ModelQuery]] = {
    Table: st.just(Table()),
    SplitScore: st.builds(
        SplitScore,
        score=st.sampled_from(["gini", "max-class", "entropy", "information-gain"]),
        classes=st.integers(1, 1000),
        most_rows=SIZES,
    ),
    PairGain: st.just(PairGain()),
    PairError: st.just(PairError()),
    TripleError: st.just(TripleError()),
    PairsDependence: st.builds(PairsDependence, pairs=st.integers(1, 10_000)),
    TargetDependence: st.just(TargetDependence()),
    TargetRelation: st.just(TargetRelation()),
    ClassDependence: st.builds(ClassDependence, attributes=st.integers(2, 500), pairs=st.integers(1, 10_000)),
    PlaceSum: st.builds(PlaceSum, low=st.integers(-(1 << 40), 0), high=SIZES),
    PlaceHalves: st.builds(PlaceHalves, low=st.integers(-(1 << 40), 0), high=SIZES),
    SchemeScore: st.builds(SchemeScore, has_target=st.booleans()),
    ClippedSum: st.builds(ClippedSum, bound=SIZES),
}


@pytest.mark.parametrize("kind", get_args(ModelQuery), ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_the_owner_and_the_check_agree_on_what_a_row_changes(kind: type[ModelQuery], data: st.DataObject) -> None:
    """By two tables that share no line."""
    query = data.draw(QUERIES[kind])
    assert sensitivity_of(query) == change_of(query) >= 1


@pytest.mark.parametrize(
    ("query", "change"),
    [
        (Table(), 1),
        (SplitScore(score="gini", classes=3), 512),
        (SplitScore(score="max-class", classes=3), 1),
        (SplitScore(score="information-gain", classes=4), 1024),
        (PairGain(), 2),
        (PairError(), 512),
        (TripleError(), 514),
        (PairsDependence(pairs=3), 3 * 1024 + 2),
        (TargetDependence(), 514),
        (TargetRelation(), 258),
        (ClassDependence(attributes=9, pairs=30), 1026),
        (ClassDependence(attributes=3, pairs=1), 514),
        (PlaceSum(low=-7, high=3), 7),
        (PlaceHalves(low=-7, high=3), 10),
        (ClippedSum(bound=8192), 8192),
        (SchemeScore(has_target=True), 2048),
        (SchemeScore(has_target=False), 1024),
    ],
)
def test_what_a_row_changes_is_known_by_number(query: ModelQuery, change: int) -> None:
    """Each by hand: rows times steps, up and down, and a step of rounding at either end."""
    assert sensitivity_of(query) == change_of(query) == change


def test_a_score_that_is_not_known_has_no_sensitivity() -> None:
    """No default replaces it: too low a one would make a release cost more than it claims."""
    with pytest.raises(ValueError, match="nothing bounds"):
        sensitivity_of(SplitScore(score="twoing", classes=2))
