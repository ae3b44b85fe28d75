"""The choice of a view: how far one row moves what is read, and what the rule decides."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.budget_rules.marginal_rule import Forecast
from anonkit.budget_rules.model_queries import PairsDependence, TargetDependence
from anonkit.budget_rules.spike_rule import Amount
from anonkit.dp_trees.marginals.exact_tables import ExactTables, least_error
from anonkit.dp_trees.marginals.private_choices import (
    chosen_view,
    forecast_of,
    saved,
)
from anonkit.dp_trees.questions import BatchCounter
from anonkit.mechanisms.accounting import STEPS, draw_units, sensitivity_of
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE
from anonkit.randomness import Randomness
from tests.dp_trees.marginals.tables_of_pairs import batch_of, chain, layout_of, learned, left_of, rows_of_classes

SIZES = [2, 3, 2]


def exact_of(rows: list[tuple[int, ...]], sizes: list[int], classes: int) -> ExactTables:
    """Tables of rows; with classes, their last cell is the class."""
    layout = layout_of(sizes, classes)
    cells = np.array(rows, dtype=np.int64).reshape(-1, len(sizes) + bool(classes)).T
    batch = batch_of(cells[: len(sizes)], cells[-1] if classes else None)
    return ExactTables.counted(layout, layout.pairs, BatchCounter(lambda: [batch]))


CELLS = st.tuples(*(st.integers(0, size - 1) for size in (*SIZES, 2)))


@settings(max_examples=100, deadline=None)
@given(st.lists(CELLS, max_size=12), CELLS)
def test_one_row_moves_an_error_of_independence_by_less_than_four(
    rows: list[tuple[int, ...]], more: tuple[int, ...]
) -> None:
    """With the margins of the table itself, in both views."""
    tables = [exact_of(table, SIZES, 2) for table in (rows, [*rows, more])]
    for before, after in (tables, [table.pooled() for table in tables]):
        first, second = before.errors_of_independence(), after.errors_of_independence()
        assert all(abs(second[pair] - first[pair]) < 4 for pair in first)


def test_no_small_table_moves_an_error_by_four() -> None:
    """All tables of two columns of two values and up to four rows, one row more; a width of a row would be refuted."""
    cells = list(itertools.product((0, 1), repeat=2))
    worst = 0.0
    for number in range(5):
        for rows in itertools.combinations_with_replacement(cells, number):
            before = exact_of(list(rows), [2, 2], 0).errors_of_independence()[0, 1]
            for more in cells:
                after = exact_of([*rows, more], [2, 2], 0).errors_of_independence()[0, 1]
                worst = max(worst, abs(after - before))
    assert 1.0 < worst < 4.0
    assert sensitivity_of(PairsDependence(pairs=1)) == 4 * 256 + 2


def small_tables(classes: int, values: int, most: int) -> list[np.ndarray]:
    """All tables of classes by values with so many rows in a cell at most."""
    cells = itertools.product(range(most + 1), repeat=classes * values)
    return [np.array(table, dtype=np.int64).reshape(classes, values) for table in cells]


@pytest.mark.slow_cases("2-3-2")
@pytest.mark.parametrize(("classes", "values", "most"), [(2, 2, 4), (2, 3, 2), (3, 2, 2)])
def test_one_row_moves_the_least_error_by_two_at_most(classes: int, values: int, most: int) -> None:
    """All small tables, one row more in each cell; a width of a row would be refuted."""
    worst = 0.0
    for table in small_tables(classes, values, most):
        before = least_error(table)
        for at in np.ndindex(table.shape):
            more = table.copy()
            more[at] += 1
            worst = max(worst, abs(least_error(more) - before))
    assert worst == pytest.approx(2)
    assert sensitivity_of(TargetDependence()) == 2 * 256 + 2


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 6))
def test_the_least_error_is_that_of_the_best_shares(seed: int, classes: int, values: int) -> None:
    """Below that of any shares, those of the table among them, and reached by shares that are parts of some value."""
    draw = np.random.default_rng(seed)
    table = draw.integers(0, 6, (classes, values))
    rows = table.sum(axis=0)

    def error(shares: np.ndarray) -> float:
        return float(np.abs(table - shares[:, np.newaxis] * rows).sum())

    found = least_error(table)
    assert all(found <= error(shares) + 1e-9 for shares in draw.dirichlet(np.ones(classes), 50))
    # at the best shares all classes but one are at a bend
    parts = [np.unique([0.0, 1.0, *(own[rows > 0] / rows[rows > 0])]) for own in table]
    corners = []
    for free in range(classes):
        for others in itertools.product(*(parts[:free] + parts[free + 1 :])):
            if sum(others) <= 1 + 1e-12:
                corners.append(np.insert(np.array(others), free, max(1 - sum(others), 0.0)))
    assert found == pytest.approx(min(error(shares) for shares in corners), abs=1e-9)


def test_a_column_that_says_nothing_of_its_class_has_no_error() -> None:
    """And one that says all has that of a table in which the class were a column by itself."""
    assert least_error(np.array([[4, 2], [8, 4]])) == pytest.approx(0)
    assert least_error(np.array([[4, 0], [0, 4]])) == pytest.approx(8)
    assert least_error(np.zeros((2, 3), dtype=np.int64)) == 0


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.2, 1.0, 5.0]),
    st.sampled_from([30.0, 3e3]),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from([LAPLACE, GAUSSIAN]),
)
def test_what_a_forest_saves_moves_no_further_than_the_errors_of_its_pairs(
    seed: int, loss: float, rows: float, edges: int, split: bool, law: str
) -> None:
    """Errors that move by up to 4 each, up or down, whichever forest is best before and after."""
    draw = np.random.default_rng(seed)
    pairs = tuple(itertools.combinations(range(5), 2))
    forecast = Forecast(sizes=(4, 2, 7, 3, 5), classes=2 if split else 1, pairs=pairs, rows=rows, targets=split)
    errors = draw.exponential(rows / 5, len(pairs))
    moved = np.maximum(errors + draw.uniform(-4, 4, len(pairs)), 0)
    first, second = (saved(forecast, edges, Amount(law=law, loss=loss), own) for own in (errors, moved))
    assert abs(second - first) <= np.sort(np.abs(moved - errors))[-edges:].sum() + 1e-9
    assert abs(second - first) * STEPS < sensitivity_of(PairsDependence(pairs=edges)) - 2 + 1e-6


def test_what_a_forest_saves_is_as_sensitive_as_it_is_priced() -> None:
    """Large errors that all rise by nearly four rows: what is saved rises by as much for each pair of the forest."""
    pairs = tuple(itertools.combinations(range(5), 2))
    forecast = Forecast(sizes=(2, 2, 2, 2, 2), classes=1, pairs=pairs, rows=1e6)
    errors, amount = np.linspace(1e5, 2e5, len(pairs)), Amount(law=LAPLACE, loss=1.0)
    for edges in (1, 3, 4):
        risen = saved(forecast, edges, amount, errors + 3.9) - saved(forecast, edges, amount, errors)
        assert risen == pytest.approx(3.9 * edges, rel=1e-3)


@pytest.mark.slow
def test_pairs_that_clearly_pay_are_measured_whatever_the_noise() -> None:
    """Their gain is far above its noise, where that of a mean over all pairs would let every third release miss it."""
    sizes = [16, 8, 16, 7, 14, 6, 5, 2, 16, 16, 12, 9]
    codes = chain(10_000, sizes, strength=0.4)
    layout = layout_of(sizes)
    exact = ExactTables.counted(layout, layout.pairs, BatchCounter(lambda: [batch_of(codes)]))
    left = left_of(0.5)
    edges = [chosen_view(exact, 10_000, left, left.units, Randomness.seeded(seed)).plan.edges for seed in range(200)]
    assert min(edges) > 0


@pytest.fixture
def costly_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Splits that cost more than is free: as with many classes, whose tables are too large for a quick test."""
    monkeypatch.setattr("anonkit.budget_rules.marginal_rule.FREE_SPLIT", 0.003)


@pytest.mark.usefixtures("costly_splits")
def test_a_target_that_says_much_splits_the_tables_and_one_that_says_nothing_does_not() -> None:
    """If a split would cost something the reading decides; if it costs hardly anything it is made."""
    sizes = [16] * 12
    codes = chain(20_000, sizes, strength=0.0)
    layout = layout_of(sizes, 2)
    label = np.random.default_rng(5).integers(0, 2, 20_000)
    said = np.where(np.random.default_rng(6).random(codes.shape) < 0.5, label * 5, codes)
    for table, anchored in ((said, True), (codes, False)):
        found = learned(layout, 0.2, 20_000, batch_of(table, label))
        assert found.choice.plan.is_split is anchored
        assert found.choice.readings[0].draw.name == "dependence on the target"
    assert learned(layout, 3.0, 20_000, batch_of(codes, label)).choice.plan.is_split


@pytest.mark.slow
@pytest.mark.parametrize(("strength", "least", "most"), [(0.6, 24, 30), (0.0, 0, 6)])
def test_a_small_table_is_split_by_a_target_that_says_much(strength: float, least: int, most: int) -> None:
    """700 rows at epsilon 1: splits pay four times over, and chance looks like dependence."""
    codes, labels = rows_of_classes(700, 2, strength)
    layout = layout_of([10] * 9, 2)
    exact = ExactTables.counted(layout, layout.pairs, BatchCounter(lambda: [batch_of(codes, labels)]))
    left = left_of(1.0)
    split = sum(chosen_view(exact, 700, left, left.units, Randomness.seeded(seed)).plan.is_split for seed in range(30))
    assert least <= split <= most


@pytest.mark.parametrize("counted", [600, 800])
def test_a_noisy_number_of_rows_does_not_decide_a_split(counted: int) -> None:
    """A hundred rows more or less than there are: a target that says much splits the tables either way."""
    codes, labels = rows_of_classes(700, 2, 0.6)
    layout = layout_of([10] * 9, 2)
    exact = ExactTables.counted(layout, layout.pairs, BatchCounter(lambda: [batch_of(codes, labels)]))
    left = left_of(1.0)
    split = sum(
        chosen_view(exact, counted, left, left.units, Randomness.seeded(seed)).plan.is_split for seed in range(30)
    )
    assert split >= 20


WIDE = [17, 17, 17, 17, 17, 17, 17, 8, 43, 16, 6, 7, 3, 10]


@pytest.mark.quick_cases("0.1-0.0-49")
@pytest.mark.parametrize(("epsilon", "delta", "least"), [(0.05, 0.0, 46), (0.1, 0.0, 49), (0.1, 1e-9, 49)])
def test_a_declared_target_is_tied_to_columns_at_a_small_epsilon(epsilon: float, delta: float, least: int) -> None:
    """30,000 rows of 14 columns, the half of which lean on a target: at .1 rows depend on it in 49 of 50 releases."""
    draw, n = np.random.default_rng(4), 30_000
    labels = (draw.random(n) < 0.25).astype(np.int64)
    leaning = np.array([0.7, 0.6, 0.6, 0.5, 0.5, 0.4, 0.4, *[0.0] * 7])
    plain = np.stack([draw.integers(0, size, n) for size in WIDE])
    halves = np.stack([size // 2 * labels + draw.integers(0, (size + 1) // 2, n) for size in WIDE])
    codes = np.where(draw.random(plain.shape) < leaning[:, np.newaxis], np.minimum(halves, plain.max()), plain)
    layout = layout_of(WIDE, 2)
    exact = ExactTables.counted(layout, layout.pairs, BatchCounter(lambda: [batch_of(codes, labels)]))
    left = left_of(epsilon, delta)
    choices = [chosen_view(exact, n, left, left.units, Randomness.seeded(seed)) for seed in range(50)]
    assert (
        sum(choice.plan.is_split or choice.plan.tied or choice.plan.edges == len(WIDE) for choice in choices) >= least
    )


@pytest.mark.quick_cases("False-1")
@pytest.mark.parametrize(("copies", "edges"), [(False, 1), (True, 2)])
def test_the_first_pair_is_one_with_a_target_that_splits_no_tables(copies: bool, edges: int) -> None:
    """By a release, with or without gains of others: a target depends on one of ten columns, and a little on two."""
    rng, n = np.random.default_rng(8), 40_000
    sizes = [16] * 10
    codes = chain(n, sizes, strength=0.0)
    if copies:
        codes[[6, 8]] = codes[[5, 7]]
    labels = np.where(rng.random(n) < 0.5, codes[3] >= 8, rng.random(n) < 0.5).astype(np.int64)
    for at in (0, 1):
        codes[at] = np.where(rng.random(n) < 0.2, 8 * labels + codes[at] // 2, codes[at])
    for seed in range(4):
        found = learned(layout_of(sizes, 2), 0.06, n, batch_of(codes, labels), seed=seed)
        assert not found.choice.plan.is_split
        assert found.choice.plan.edges == edges
        assert found.pairs[0].names == ("c3", "t")
        assert sum(draw_units(draw) for draw in found.draws) <= left_of(0.06).units


@pytest.mark.parametrize("strength", [0.0, 0.6])
def test_a_declared_target_has_a_place_where_columns_are_known(strength: float) -> None:
    """700 rows at epsilon 3: the target splits all tables, whether or not it shows, and no reading is spent on it."""
    codes, labels = rows_of_classes(700, 2, strength)
    found = learned(layout_of([10] * 9, 2), 3.0, 700, batch_of(codes, labels))
    assert found.choice.plan.is_split
    assert "dependence on the target" not in [reading.draw.name for reading in found.choice.readings]


@pytest.mark.parametrize(("strength", "is_split"), [(0.0, False), (0.6, True)])
def test_a_split_that_would_cost_much_is_made_where_the_target_shows(strength: float, is_split: bool) -> None:
    """3,000 rows at epsilon 0.5, where .009 of distance is expected to be added: a reading decides."""
    codes, labels = rows_of_classes(3_000, 2, strength)
    found = learned(layout_of([10] * 9, 2), 0.5, 3_000, batch_of(codes, labels))
    assert found.choice.readings[0].draw.name == "dependence on the target"
    assert found.choice.plan.is_split == is_split


def test_a_pair_of_the_target_that_noise_would_drown_is_not_measured() -> None:
    """Few rows at a small epsilon: columns alone."""
    codes, labels = rows_of_classes(1_500, 2, 0.0)
    found = learned(layout_of([10] * 9, 2), 0.3, 1_500, batch_of(codes, labels))
    assert (found.choice.plan.is_split, found.choice.plan.edges, found.choice.plan.tied, found.choice.plan.tie) == (
        False,
        0,
        False,
        0.0,
    )


CHAIN = [12, 2, 9, 4, 16, 6, 9, 4, 16, 6, 12]


def test_with_a_delta_one_tree_of_all_columns_takes_the_place_of_a_split() -> None:
    """Columns that lean on each other more than on the target, at epsilon .1: Gaussian noise affords a whole tree."""
    codes = chain(30_000, CHAIN, strength=0.5)
    layout = layout_of(CHAIN, 2)
    exact = ExactTables.counted(layout, layout.pairs, BatchCounter(lambda: [batch_of(codes, codes[1])]))
    left = left_of(0.1, 1e-9)
    for seed in range(5):
        choice = chosen_view(exact, 30_000, left, left.units, Randomness.seeded(seed))
        assert (choice.plan.is_split, choice.plan.edges, choice.plan.amount.law) == (False, len(CHAIN), GAUSSIAN)


@pytest.mark.slow
def test_with_a_delta_a_target_that_all_columns_lean_on_splits_the_tables() -> None:
    """Columns that know of each other through the target alone: a split captures all of it, and a tree little."""
    draw = np.random.default_rng(3)
    labels = draw.integers(0, 2, 12_000)
    codes = np.where(draw.random((18, 12_000)) < 0.35, labels * 5, draw.integers(0, 10, (18, 12_000)))
    layout = layout_of([10] * 18, 2)
    exact = ExactTables.counted(layout, layout.pairs, BatchCounter(lambda: [batch_of(codes, labels)]))
    left = left_of(0.2, 1e-9)
    choices = [chosen_view(exact, 12_000, left, left.units, Randomness.seeded(seed)) for seed in range(20)]
    assert {choice.readings[0].draw.name for choice in choices} == {"gain of 18 pairs"}
    assert sum(choice.plan.is_split for choice in choices) >= 10


def test_what_chance_makes_of_independent_columns_is_told() -> None:
    """Columns whose values fall like 1 / j: the distance from independence of two classes, by draws."""
    draw, layout = np.random.default_rng(2), layout_of([10, 6], 2)
    shares = [1 / np.arange(1, size + 1) for size in (10, 6)]
    found = []
    for _ in range(200):
        codes = np.stack([draw.choice(share.size, 500, p=share / share.sum()) for share in shares])
        batch = batch_of(codes, draw.integers(0, 2, 500))
        pooled = ExactTables.counted(layout, layout.pairs, BatchCounter(lambda batch=batch: [batch])).pooled()
        errors = pooled.errors_of_independence()
        found.append([errors[at, 2] / 2 / 500 for at in (0, 1)])
    forecast = forecast_of(pooled.layout, tuple(pooled.pairs), 500.0)
    told = [forecast.chance(column, 2) for column in (0, 1)]
    assert np.mean(found, axis=0) == pytest.approx(told, rel=0.4)


def test_noise_that_drowns_the_columns_ends_the_choice() -> None:
    """Nothing is read, nothing is split."""
    found = learned(layout_of([9, 9], 2), 0.01, 20, batch_of(np.zeros((2, 20), dtype=np.int64)))
    assert (found.choice.plan.is_split, found.choice.plan.edges, found.choice.readings) == (False, 0, ())


def test_one_column_has_no_pairs() -> None:
    """And nothing to choose."""
    found = learned(layout_of([5]), 1.0, 50, batch_of(np.zeros((1, 50), dtype=np.int64)))
    assert found.choice.plan.edges == 0
    assert forecast_of(layout_of([5, 3]), ((0, 1),), 50.0).distance(0, Amount(law=LAPLACE, loss=1.0)) > 0
