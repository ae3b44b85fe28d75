"""The account of a noise statement, the owner's and the checker's, against every small table and all its neighbours."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from mechanisms.stated_tables import (
    QUERIES,
    answers,
    as_checked,
    change,
    drawing,
    neighbours,
    of_choice,
    stating,
    tables,
)

from anonkit.checks.stated import change_of, loss_of, loss_of_draw
from anonkit.mechanisms import statement_loss
from anonkit.mechanisms.accounting import draw_epsilon, sensitivity_of
from anonkit.mechanisms.statement_loss import epsilon_of, row_units
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE
from anonkit.published.statements.noise_statement import Count, ModeScore, Query, RankScore, Statement, Sum

_ONE = 1 << 52


@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_no_row_changes_more_than_both_tables_say(query: Query) -> None:
    """Over all tables of at most two rows and every row that comes; what tables and counts state is reached."""
    statement = stating(drawing(query))
    (draw,) = statement.draws
    largest = max(
        change(draw, *(answers(statement, each)[0] for each in (table, other)))
        for table in tables(2)
        for other in neighbours(table, ADD_OR_REMOVE, 1)
    )

    checked = as_checked(statement)
    assert largest <= change_of(checked, checked.draws[0]) == sensitivity_of(query, statement.domains)
    assert isinstance(query, RankScore) or largest == sensitivity_of(query, statement.domains)


@pytest.mark.parametrize("share", [(1, 2), (1, 4), (2, 3), (9, 10)])
def test_scores_of_a_quantile_move_apart_by_twice_the_larger_part_of_its_share(share: tuple[int, int]) -> None:
    """Over all histograms of at most 12 rows in three cells: the range of the changes has this width, and no larger."""
    numerator, denominator = share
    query = RankScore(of="age", numerator=numerator, denominator=denominator)
    widest = 0
    for counts in itertools.product(range(13), repeat=3):
        if sum(counts) <= 12:
            before = statement_loss.scores_of(query, np.array(counts), 3)
            for cell in np.eye(3, dtype=np.int64):
                moved = statement_loss.scores_of(query, counts + cell, 3) - before
                assert np.abs(moved).max() <= max(numerator, denominator - numerator)
                widest = max(widest, int(moved.max() - moved.min()))

    checked = as_checked(stating(drawing(query)))
    assert widest == change_of(checked, checked.draws[0]) == 2 * max(numerator, denominator - numerator)


_STATEMENTS = {
    "sequence": (drawing(Count(by=("sex",))), drawing(Sum(of="age"), name="sum", rate=3 << 47)),
    "parallel": (
        drawing(Count(by=("age",)), name="of F", rate=5 << 48, sex=0),
        drawing(Sum(of="age"), name="of M", rate=1 << 49, sex=1),
        drawing(RankScore(of="age", numerator=1, denominator=3), name="of nobody", rate=1 << 48, sex=2),
    ),
    "both": (
        drawing(Count(), name="all"),
        drawing(ModeScore(of="age"), name="of F", sex=0),
        drawing(Count(by=("sex",)), name="old", rate=1 << 51, age=2),
        drawing(Sum(of="age", by=("sex",)), name="old F", rate=1 << 47, age=2, sex=0),
    ),
    "choices": (
        drawing(RankScore(of="age", numerator=9, denominator=10), name="high"),
        drawing(ModeScore(of="sex"), name="mode", rate=7 << 48),
    ),
}


@pytest.mark.quick_cases("both-1-*", "parallel-2-add*", "choices-2-replace*", "sequence-1-replace*")
@pytest.mark.parametrize("adjacency", [ADD_OR_REMOVE, REPLACE])
@pytest.mark.parametrize("rows_per_unit", [1, 2])
@pytest.mark.parametrize("name", _STATEMENTS)
def test_no_unit_loses_more_than_both_accounts_say(name: str, rows_per_unit: int, adjacency: str) -> None:
    """All draws together, each with its rate times its change, over all small tables and both kinds of neighbours."""
    statement = stating(*_STATEMENTS[name], adjacency=adjacency, rows_per_unit=rows_per_unit)
    most = 1 if adjacency == ADD_OR_REMOVE and rows_per_unit == 2 else 2
    lost = 0
    for table in tables(most):
        before = answers(statement, table)
        for other in neighbours(table, adjacency, rows_per_unit):
            pairs = zip(statement.draws, before, answers(statement, other), strict=True)
            lost = max(lost, sum(draw.rate * change(draw, one, two) for draw, one, two in pairs))

    stated = loss_of(as_checked(statement))
    assert Fraction(lost, _ONE) <= stated
    assert epsilon_of(statement) >= stated > Fraction(epsilon_of(statement)) * (1 - Fraction(1, 1 << 50))
    if adjacency == ADD_OR_REMOVE and rows_per_unit == 1 and name != "choices":
        assert Fraction(lost, _ONE) == stated  # some table of two rows reaches it


@pytest.mark.parametrize("law", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize("query", [query for query in QUERIES if "score" in query.kind], ids=repr)
def test_the_exact_law_of_a_choice_loses_no_more_than_its_rate_times_its_width(query: Query, law: str) -> None:
    """Probabilities of every candidate, worked out by formula on all tables of two rows and their neighbours."""
    statement = stating(drawing(query))
    width, decay = change_of(checked := as_checked(statement), checked.draws[0]), 0.3
    worst = 0.0
    for table in tables(2):
        before = of_choice(law, tuple(answers(statement, table)[0].tolist()), decay)
        for other in neighbours(table, ADD_OR_REMOVE, 1):
            after = of_choice(law, tuple(answers(statement, other)[0].tolist()), decay)
            worst = max(worst, *(abs(math.log(one / two)) for one, two in zip(before, after, strict=True)))

    assert 0 < worst <= decay * width * (1 + 1e-9)


def test_draws_on_different_values_of_a_column_count_once() -> None:
    """Two draws on the rows of F and of M cost the dearer one; a third on all rows adds to it."""
    apart = (drawing(Count(), name="F", rate=3, sex=0), drawing(Count(), name="M", rate=5, sex=1))

    assert row_units(stating(*apart)) == 5
    assert row_units(stating(*apart, drawing(Count(), rate=7))) == 12
    assert loss_of(as_checked(stating(*apart))) == Fraction(5, _ONE)


def test_draws_on_overlapping_rows_add_up() -> None:
    """Rows of F and rows of the old can be the same row: nothing is parallel about them."""
    statement = stating(drawing(Count(), name="F", rate=3, sex=0), drawing(Count(), name="old", rate=5, age=2))

    assert row_units(statement) == 8
    assert loss_of(as_checked(statement)) == Fraction(8, _ONE)


def test_each_draw_has_its_own_line_of_the_budget() -> None:
    """Each line is the cost of a draw to a row that it reads, rounded up, for any restriction of the draw."""
    statement = stating(drawing(Count(), name="all", rate=1 << 50), drawing(Sum(of="age"), name="sum", rate=1, sex=1))

    assert [draw_epsilon(draw, statement.domains) for draw in statement.draws] == [0.25, 2 / _ONE]
    checked = as_checked(statement)
    assert [loss_of_draw(checked, draw) for draw in checked.draws] == [Fraction(1, 4), Fraction(2, _ONE)]


def test_the_sum_over_categories_has_the_cells_of_its_number_alone() -> None:
    """The number of values of the cells' columns does not change what one row adds."""
    statement: Statement = stating(drawing(Sum(of="age", by=("sex",))))

    assert sensitivity_of(statement.draws[0].query, statement.domains) == 2
