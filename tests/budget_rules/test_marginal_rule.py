"""The rule of dp-marginals: what is shared adds up, noise is divided so that it is least, and forecasts follow it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.budget_rules.marginal_rule import (
    FURTHER_GAIN,
    MOST_FURTHER,
    MOST_SPLIT_CLASSES,
    MOST_VALUE_PAIRS,
    TIE_SHARE,
    Forecast,
    column_weights,
    dependence_share,
    forest_of,
    pairs_fit,
    splits_tables,
    stage_shares,
    stages_of,
    tie_share,
)
from anonkit.budget_rules.spike_rule import GAUSSIAN, LAPLACE, Amount

LAWS = st.sampled_from([LAPLACE, GAUSSIAN])
SIZES = st.lists(st.integers(2, 60), min_size=2, max_size=8)


def forecast_of(sizes: list[int], rows: float = 1e4, classes: int = 1) -> Forecast:
    """All pairs of these columns may be measured."""
    pairs = tuple(itertools.combinations(range(len(sizes)), 2))
    return Forecast(sizes=tuple(sizes), classes=classes, pairs=pairs, rows=rows, targets=classes > 1)


def noise_of_all(sizes: list[int], weights: np.ndarray, law: str) -> float:
    """The noise of all cells, each table with its weight of one unit of loss."""
    return sum(
        size * Amount(law=law, loss=1.0).noise(share)
        for size, share in zip(sizes, weights / weights.sum(), strict=True)
    )


@given(SIZES, LAWS, st.integers(0, 2**32))
def test_no_other_weights_of_columns_have_less_noise(sizes: list[int], law: str, seed: int) -> None:
    """Against weights near by and far away."""
    own, draw = np.array(column_weights(sizes, law)), np.random.default_rng(seed)
    least = noise_of_all(sizes, own, law)
    for spread in (0.01, 1.0):
        assert least <= noise_of_all(sizes, own * draw.lognormal(0, spread, len(sizes)), law) + 1e-9


def test_the_best_forest_is_that_of_all() -> None:
    """The greedy choice of edges against every forest of so many edges."""
    pairs = tuple(itertools.combinations(range(4), 2))
    forecast = Forecast(sizes=(2, 2, 2, 2), classes=1, pairs=pairs, rows=100.0)
    draw = np.random.default_rng(1)
    for edges in (1, 2, 3):
        worth = draw.normal(0, 1, len(pairs))
        best = -np.inf
        for chosen in itertools.combinations(range(len(pairs)), edges):
            part = list(range(4))
            for at in chosen:
                one, other = (part[column] for column in pairs[at])
                part = [one if own == other else own for own in part]
            if len(set(part)) == 4 - edges:
                best = max(best, float(worth[list(chosen)].sum()))
        assert forecast.best_forest(dict(zip(pairs, worth.tolist(), strict=True)), edges) == pytest.approx(best)


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("edges", [0, 3])
def test_shares_of_stages_add_up(edges: int, law: str) -> None:
    """All of it for the columns where there are no pairs."""
    shares = stage_shares([4, 2, 9, 3], 2, edges, law)
    assert sum(shares) == pytest.approx(1)
    assert (shares[0] == 1) == (edges == 0)


def test_the_reading_of_a_dependence_costs_no_more_than_it_tells() -> None:
    """The less a split costs in noise and the more rows there are, the less of epsilon; the scale is of that share."""
    few, many = (dependence_share(0.01, 0.004, rows)[0] for rows in (1_500.0, 30_000.0))
    assert few == 0.05
    assert many < 0.02
    assert dependence_share(0.01, 0.004, 30_000.0)[1] == pytest.approx(1 / (many * 30_000))


@given(SIZES, st.integers(1, 9), st.integers(0, 7), st.integers(0, 9), LAWS)
def test_stages_share_all_and_each_pair_has_as_much(
    sizes: list[int], classes: int, edges: int, further: int, law: str
) -> None:
    """Half of the forest at once, and the others one by one; without pairs all is for the columns."""
    further = further if edges else 0
    stages = stages_of(sizes, classes, edges, further, law)
    _, choice, tables, later_choice, later_tables = stages.weights
    assert sum(stages.weights) == pytest.approx(1)
    assert stages.at_once + stages.later == edges + further
    assert stages.at_once == math.ceil(edges / 2)
    for first, later in ((choice, later_choice), (tables, later_tables)):
        assert first * stages.later == pytest.approx(later * stages.at_once)


def test_the_only_pair_of_a_target_has_its_share_and_no_other() -> None:
    """One half for its choice, one for its table."""
    assert stages_of([4, 3], 1, 1, 0, LAPLACE, 0.1).weights == pytest.approx((0.9, 0.05, 0.05, 0, 0))


def test_the_pair_of_a_target_has_less_the_noisier_the_columns_are() -> None:
    """A tenth at most; beyond, what costs columns .006 in all."""
    assert tie_share(0.001) == TIE_SHARE
    assert tie_share(0.3) == pytest.approx(0.02)


@pytest.mark.parametrize(("sizes", "classes", "fits"), [([1448], 1, True), ([1449], 1, False), ([724, 724], 1, True),
                                                       ([724, 724], 2, False)])  # fmt: skip
def test_tables_of_all_pairs_fit_or_do_not(sizes: list[int], classes: int, fits: bool) -> None:
    """1448 squared is just below 2 ** 21."""
    assert MOST_VALUE_PAIRS == 1 << 21
    assert pairs_fit(sizes, classes) is fits


def test_a_target_of_two_to_sixteen_classes_may_split_tables() -> None:
    """No other."""
    assert [classes for classes in range(40) if splits_tables(classes)] == list(range(2, MOST_SPLIT_CLASSES + 1))


@given(st.integers(1, 9), st.data())
def test_a_forest_has_no_circle_and_leaves_apart_what_all_pairs_leave_apart(columns: int, data: st.DataObject) -> None:
    """As many edges as columns that can still be joined, each of the pairs, the earlier before the later."""
    every = list(itertools.combinations(range(columns), 2))
    pairs = data.draw(st.lists(st.sampled_from(every), unique=True) if every else st.just([]))
    found = forest_of(pairs, columns)
    parts = {frozenset([at]) for at in range(columns)}
    for pair in pairs:
        one, other = (next(part for part in parts if at in part) for at in pair)
        assert (pair in found) == (one != other)
        parts = parts - {one, other} | {one | other}
    assert len(found) == columns - len(parts)
    assert found == [pair for pair in pairs if pair in found]
    assert forecast_of([2] * columns).spanning == columns - 1


@given(SIZES, LAWS, st.integers(0, 7), st.integers(1, 4), st.floats(30, 1e6))
def test_more_loss_is_less_expected_noise(sizes: list[int], law: str, edges: int, classes: int, rows: float) -> None:
    """Of columns, of pairs, and of a plan of columns alone; never more than the rows for a column."""
    view = forecast_of(sizes, rows, classes)
    edges = min(edges, view.spanning)
    little, much = (Amount(law=law, loss=loss) for loss in (0.1, 1.0))
    assert (view.column_noise(edges, much) <= view.column_noise(edges, little)).all()
    assert (view.column_noise(edges, little) <= rows + 1e-6).all()
    assert view.distance(0, much) <= view.distance(0, little)
    assert view.quietest(0, [little, much]).loss == (1.0 if view.distance(0, much) < view.distance(0, little) else 0.1)
    if edges:
        assert (view.pair_noise(edges, much) <= view.pair_noise(edges, little)).all()
        assert view.cost_to_columns(edges, much, much) >= -1e-12


def test_one_column_has_the_noise_of_its_table() -> None:
    """.8 scales in each cell, by which a distribution is off by half."""
    view, amount = Forecast(sizes=(5,), classes=1, pairs=(), rows=1e6), Amount(law=LAPLACE, loss=0.5)
    assert view.distance(0, amount) == pytest.approx(5 * 0.8 / 0.5 / 2 / 1e6)
    assert view.spanning == 0


def test_noise_of_the_last_column_is_that_of_its_pairs_alone() -> None:
    """Two values in the last, and many in the others: a quarter of the rows in each of its cells at most."""
    view = forecast_of([2, 2, 2], rows=1e6)
    assert view.noise_of_last(1.0) == pytest.approx(4 * 0.5 / 2 / 1e6)


def test_pairs_follow_along_a_tree_and_cost_columns_less_under_gaussian_noise() -> None:
    """By half of a full tree's gain and by seven tenths; and .4 of their cost counts."""
    view = forecast_of([4] * 5)
    assert view.worth_and_price(4, Amount(law=LAPLACE, loss=1.0)) == (1.5, 1.0)
    assert view.worth_and_price(2, Amount(law=GAUSSIAN, loss=1.0)) == (1.35, 0.4)


@given(st.floats(-1, 1), st.floats(0, 1))
def test_a_split_gains_where_columns_lean_on_the_target_beyond_chance(dependence: float, chance: float) -> None:
    """Nothing below; above it, its own pairs twice, and pairs of columns through it."""
    view = forecast_of([4] * 5)
    found = view.gain_of_split(dependence, chance)
    if dependence <= chance:
        assert found == 0
    else:
        beyond = math.sqrt(dependence**2 - chance**2)
        assert found == pytest.approx((2 * beyond + 1.2 * 3 * beyond**2) / 5)


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_pairs_beside_a_tree_are_the_more_the_less_noise_there_is(law: str) -> None:
    """None beside a part of a tree or one that gained little, and none where half of a pair a column is too many."""
    view = forecast_of([4] * 6)
    numbers = [view.further(5, Amount(law=law, loss=loss), 1.0) for loss in (1e-6, 0.1, 1.0, 100.0)]
    assert numbers[0] == 0
    assert numbers == sorted(numbers)
    assert numbers[-1] == 10 < MOST_FURTHER * 6  # there are no more pairs
    quiet = Amount(law=law, loss=100.0)
    assert view.further(4, quiet, 1.0) == view.further(5, quiet, FURTHER_GAIN / 2) == 0


def test_chance_is_the_less_the_more_rows_there_are_and_never_beyond_one() -> None:
    """Like one by the root of the rows."""
    few, many = (forecast_of([9, 4], rows).chance(0, 2) for rows in (1e4, 4e4))
    assert few == pytest.approx(2 * many)
    assert forecast_of([60, 4], 1.0).chance(0, 16) == 1


@given(st.floats(0.0, 0.3), st.floats(0.0, 0.2), st.floats(10.0, 1e5))
def test_chance_hides_a_part_of_a_cost_and_more_of_it_the_fewer_rows_there_are(
    noise: float, cost: float, rows: float
) -> None:
    """Between nothing and all of the cost."""
    few, many = (forecast_of([8, 4, 2], n) for n in (rows, 10 * rows))
    added = few.beside_chance(noise, cost)
    assert -1e-12 <= added <= many.beside_chance(noise, cost) + 1e-12 <= cost + 2e-12
