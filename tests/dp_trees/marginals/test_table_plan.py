"""The draws of tables and pairs: no more than may be lost, and hardly less."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.checks.account_lines import epsilon_of
from anonkit.dp_trees.marginals.measurement_plan import RemainingBudget, candidate_pairs, names_of, plan_of
from anonkit.mechanisms.accounting import Accounting, draw_units, units_of
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE
from tests.dp_trees.marginals.tables_of_pairs import layout_of, left_of
from tests.dp_trees.marginals.test_remaining_budget import LAYOUT


@settings(max_examples=12, deadline=None)
@given(
    epsilon=st.floats(0.05, 8),
    delta=st.floats(1e-12, 1e-3),
    adjacency=st.sampled_from([ADD_OR_REMOVE, REPLACE]),
    rows=st.integers(1, 3),
    edges=st.sampled_from([0, 5, 13]),
)
def test_a_plan_in_rho_comes_to_no_more_than_epsilon_and_delta(
    epsilon: float, delta: float, adjacency: str, rows: int, edges: int
) -> None:
    """Tables and choices of the whole, for every unit and both kinds of neighbours; and hardly less."""
    changed = rows * (2 if adjacency == REPLACE else 1)
    left = RemainingBudget(
        units=units_of(Fraction(epsilon) / changed), delta=Fraction(delta), rows_per_unit=rows, adjacency=adjacency
    )
    plan = plan_of(LAYOUT, LAYOUT.pairs, edges, 4 if edges == 13 else 0, left, GAUSSIAN)
    assert all(draw.in_rho for draw in plan.draws)
    account = Accounting(draws=plan.draws, rows_per_unit=rows, adjacency=adjacency)
    assert 0.9999 * epsilon < epsilon_of(account.rho, Fraction(delta)) <= Fraction(epsilon)


@given(
    epsilon=st.floats(0.05, 20), edges=st.integers(0, 3), further=st.integers(0, 3), classes=st.sampled_from([0, 2, 5]),
    cells=st.sampled_from([0, 8]),
)  # fmt: skip
def test_a_plan_in_epsilon_shares_all_of_it(epsilon: float, edges: int, further: int, classes: int, cells: int) -> None:
    """Lines of columns, of the triple, of pairs at once and of those after them; rates are rounded down, no more."""
    layout, left = layout_of([4, 3, 9, 2], classes), left_of(epsilon)
    plan = plan_of(layout, layout.pairs, edges, further if edges else 0, left, LAPLACE, cells=cells)
    spent = sum(map(draw_units, plan.draws))
    assert 0.999_999 * left.units < spent <= left.units
    assert len(plan.one_ways) == 4
    assert (plan.triple is None) == (cells == 0)
    assert (plan.edges is None) == (plan.tree is None) == (edges == 0)
    times = [draw.times for draw in (plan.tree, plan.pairs) if draw is not None]
    assert sum(times) == (edges + further if edges else 0)


def test_no_pair_is_a_candidate_where_their_tables_do_not_fit() -> None:
    """By the public sizes; a pair is named by its columns."""
    wide = layout_of([255] * 40, 16)
    assert candidate_pairs(wide) == ()
    few = layout_of([4, 3, 5])
    assert candidate_pairs(few) == ((0, 1), (0, 2), (1, 2))
    assert names_of(few, (0, 2)) == ("c0", "c2")
