"""The rest of the budget, in epsilon and in rho: its plan costs no more, and the noise has the planned law."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.budget_rules.marginal_choice_rule import delta_may_pay
from anonkit.budget_rules.model_queries import PairError
from anonkit.budget_rules.spike_rule import Amount
from anonkit.dp_trees.marginals.measurement_plan import RemainingBudget, plan_of
from anonkit.errors import ParameterError
from anonkit.mechanisms.accounting import (
    AccountLine,
    draw_rho,
    rounded_up,
    sensitivity_of,
    units_of,
)
from anonkit.mechanisms.exact_samplers import UniformStream, gaussian_counts
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE, noise_variance
from anonkit.published.statements.noise_statement import EXPONENTIAL, Draw
from anonkit.randomness import Randomness
from tests.dp_trees.marginals.tables_of_pairs import batch_of, chain, drawn, forced, layout_of, learned, mean_distance

ONE = 1 << 52
SIZES = [8, 16, 4, 12, 2, 9, 16, 3, 6, 5, 16, 2, 7, 4]
LAYOUT = layout_of(SIZES)


def test_a_choice_costs_the_square_of_its_range() -> None:
    """By the formula, with each of two replaced rows twice: sixteen times the price of one row that comes."""
    one, sixteen = (
        RemainingBudget(units=ONE, delta=Fraction(1e-6), rows_per_unit=rows, adjacency=adjacency).choice(
            "c", 1 << 44, PairError(), 3
        )
        for rows, adjacency in ((1, ADD_OR_REMOVE), (2, REPLACE))
    )
    assert draw_rho(one) == 3 * Fraction(one.rate * sensitivity_of(PairError()), ONE) ** 2 / 8
    assert 0.999 * Fraction(1 << 44, ONE) < draw_rho(one) <= Fraction(1 << 44, ONE)
    assert sixteen.rate == pytest.approx(one.rate / 4, rel=1e-4)
    line = AccountLine(draw=one).to_params()
    assert (line["mechanism"], line["rho"]) == ("exponential", rounded_up(draw_rho(one)))
    with pytest.raises(ParameterError, match="outside the range"):
        Draw(name="c", rate=0, query=PairError(), law=EXPONENTIAL, in_rho=True)


def test_without_a_delta_there_is_epsilon_alone() -> None:
    """And with one, both; what is spent is gone from both."""
    assert [amount.law for amount in RemainingBudget(units=ONE).amounts] == [LAPLACE]
    left = RemainingBudget(units=ONE, delta=Fraction(1e-6))
    (pure, rho), (less, fewer) = left.amounts, left.after(ONE // 2).amounts
    assert (pure.law, rho.law) == (LAPLACE, GAUSSIAN)
    assert less.loss == pure.loss / 2
    assert 0 < fewer.loss < rho.loss / 2


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_the_mean_noise_that_the_rule_reckons_with_is_that_of_the_law(law: str) -> None:
    """For noise of ten rows and more: of a Gaussian law the root of 2 / pi of its deviation."""
    amount = Amount(law=law, loss=1e-3)
    deviation = math.sqrt(noise_variance(int(1e-3 * 0.5 * ONE), law))
    part = math.sqrt(1 / 2) if law == LAPLACE else math.sqrt(2 / math.pi)
    assert amount.noise(0.5) == pytest.approx(part * deviation, rel=1e-4)


def test_delta_pays_with_many_columns_and_not_with_few() -> None:
    """Fourteen columns and their tree, or three: by public facts alone."""
    left = RemainingBudget(units=ONE, delta=Fraction(1e-9))
    assert delta_may_pay(LAYOUT.sizes, LAYOUT.pairs, left.amounts)
    few = layout_of([4, 3, 5])
    assert not delta_may_pay(few.sizes, few.pairs, left.amounts)
    assert not delta_may_pay((9,), (), left.amounts)


@pytest.mark.slow
def test_gaussian_noise_is_drawn_where_less_is_expected_of_it() -> None:
    """Many columns that lean on each other: pairs in rho, more of them, and rows that are nearer. Few: as without."""
    codes = chain(20_000, SIZES)
    pure, quiet = (learned(LAYOUT, 0.5, 20_000, batch_of(codes), delta=delta) for delta in (0.0, 1e-6))
    assert (pure.plan.law, quiet.plan.law) == (LAPLACE, GAUSSIAN)
    assert quiet.plan.edges.in_rho
    assert quiet.plan.tree.law == GAUSSIAN
    assert len(quiet.pairs) >= len(pure.pairs) > 0
    distances = [
        [mean_distance(codes, drawn(learned(LAYOUT, 0.5, 20_000, batch_of(codes), seed=seed, delta=delta)), SIZES)
         for delta in (1e-6, 0.0)]
        for seed in range(4)
    ]  # fmt: skip
    near, far = np.mean(distances, axis=0)
    assert near < 0.9 * far
    few = learned(layout_of(SIZES[:4]), 0.5, 20_000, batch_of(codes[:4]), delta=1e-9)
    assert few.plan.law == LAPLACE
    assert all(not draw.in_rho for draw in few.draws)


def test_the_gaussian_noise_of_a_tiny_table_has_the_planned_law() -> None:
    """Three binary columns: every published cell is its count plus discrete Gaussian noise, by enumeration."""
    layout = layout_of([2, 2, 2])
    codes = np.repeat([[0, 0, 1, 1] * 5, [0, 1, 0, 1] * 5, [0, 1, 1, 0] * 5], 10, axis=1)
    single, double = [], []
    for seed in range(40):
        found = forced(layout, 2, 0, 10.0, batch_of(codes), seed=seed, delta=1e-6)
        single.append(found.one_ways[2].counts[0] - 100)
        double += [table.counts[0] - 50 for table in found.pairs]
    assert found.plan.tree is not None
    for noise, rate in ((single, found.plan.one_ways[2].rate), (double, found.plan.tree.rate)):
        flat = np.array(noise).reshape(-1)
        law = np.exp(-(np.arange(-80, 81) ** 2) * (rate / ONE))
        for value in (-1, 0, 1):
            expected = float(law[80 + value] / law.sum())
            assert np.mean(flat == value) == pytest.approx(expected, abs=5 * math.sqrt(expected / flat.size) + 1e-9)


def test_an_audit_of_a_plan_in_rho_stays_below_epsilon() -> None:
    """The only row of a table of six columns, there or not: 50,000 draws of all its tables show some of the claim."""
    epsilon, delta = 3.0, 1e-3
    left = RemainingBudget(units=units_of(epsilon), delta=Fraction(delta))
    layout = layout_of([2] * 6)
    rates = [draw.rate for draw in plan_of(layout, layout.pairs, 0, 0, left, GAUSSIAN).one_ways]

    def ratios(extra: int) -> np.ndarray:
        words = UniformStream(Randomness.seeded(extra))
        cells = [gaussian_counts(np.full(50_000, extra), rate, words) for rate in rates]
        terms = [
            (cell.astype(np.float64) ** 2 - (cell - 1.0) ** 2) * rate for cell, rate in zip(cells, rates, strict=True)
        ]
        return np.asarray(sum(terms) / ONE)

    found = lower_bound(ratios(0), ratios(1), delta=delta)
    assert 0.5 * epsilon < found.lower_bound <= epsilon


@pytest.mark.slow
def test_choices_in_rho_find_the_pairs_that_depend_most() -> None:
    """A chain of columns: at the same epsilon the tree of a delta is that of the chain where the pure one errs."""
    sizes = [4] * 10
    codes = chain(6_000, sizes, strength=0.5)
    layout = layout_of(sizes)
    true = {(at, at + 1) for at in range(9)}

    def right(delta: float) -> int:
        found = [forced(layout, 9, 0, 0.3, batch_of(codes), seed=seed, delta=delta) for seed in range(5)]
        names = {pair: (layout.names[pair[0]], layout.names[pair[1]]) for pair in combinations(range(10), 2)}
        return sum(names[pair] in {table.names for table in one.pairs} for one in found for pair in true)

    assert right(1e-6) > 1.3 * right(0.0)
