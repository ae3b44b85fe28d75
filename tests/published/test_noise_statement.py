"""Draws of noise: a law has its range of rates, and its own way in which losses add up.

Noise statements as values: what contradicts itself is refused, and JSON says the same as the values.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from mechanisms.stated_tables import AGE, COLUMNS, QUERIES, SEX, as_params, drawing, stating

from anonkit.budget_rules.model_queries import TABLE
from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.mechanisms.exact_samplers import LEAST_RATE, RATE_LIMIT
from anonkit.promises.guarantee import ADD_OR_REMOVE
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE
from anonkit.published.statements.noise_statement import (
    EXPONENTIAL,
    PERMUTE_AND_FLIP,
    Bootstrap,
    CellRows,
    Count,
    Draw,
    ModeScore,
    Query,
    RankScore,
    ReleasedStatement,
    Restriction,
    StatedColumn,
    StatedDraw,
    Statement,
    Sum,
    Value,
    columns_of,
    shows_no_rows,
)
from anonkit.published.statements.value_lines import report_lines, width_of

HINT = "docs/how-to/add-a-noise-method.md"


def test_json_is_read_back_as_the_values_that_it_was_made_of() -> None:
    """Every query, restrictions, both kinds of tables; text and values again and again."""
    draws = [drawing(query, name=f"draw {at}", sex=at % 2) for at, query in enumerate(QUERIES)]
    lines = stating(*draws)
    cells = Statement(
        columns=COLUMNS,
        draws=(drawing(Count(by=("sex",)), name="cells"), *draws),
        shows=CellRows(of="cells"),
        adjacency=ADD_OR_REMOVE,
        rows_per_unit=3,
    )
    for statement in (lines, cells):
        values = tuple(Value(draw=draw.name, numbers=(1,) * statement.numbers_of(draw)) for draw in statement.draws)
        released = ReleasedStatement(statement=statement, values=values)
        params = json.loads(json.dumps(released.to_params()))
        assert ReleasedStatement.from_params(params) == released
        assert shows_no_rows(params) == (statement is lines)
    assert not shows_no_rows({"format": "anonkit-forest-1"})


DAMAGES: dict[str, Callable[[Any], object]] = {
    "a query of an unknown kind": lambda params: params["statement"]["draws"][0]["query"].update(kind="threshold"),
    "a rate that is a text": lambda params: params["statement"]["draws"][0].update(rate="1"),
    "no draws": lambda params: params["statement"].update(draws=[]),
    "a value too many": lambda params: params["values"].append(params["values"][0]),
    "a number too few": lambda params: params["values"][0]["numbers"].pop(),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_damaged_json_is_refused(what: str) -> None:
    """As damage of the file."""
    params = as_params(stating(drawing(Count(by=("sex",)))))
    DAMAGES[what](params)
    with pytest.raises(ReleaseFormatError):
        ReleasedStatement.from_params(params)


def _refusal(query: Query, law: str) -> str:
    """Return the hint with which a draw is refused; nothing where it is not."""
    try:
        StatedDraw(name="one", query=query, law=law, rate=1)
    except ParameterError as error:
        return str(error.hint)
    return ""


@pytest.mark.parametrize(
    "more",
    [
        {"times": 2},
        {"level": 0},
        {"level": 0, "ends_path": True},
        {"law": "exponential", "in_rho": True},
        {"column": "n"},
    ],
    ids=["repeated", "in a tree", "in a leaf", "paid in rho", "with another name"],
)
def test_a_draw_that_the_params_would_not_state_whole_is_refused(more: dict[str, Any]) -> None:
    """Its JSON has name, query, law, rate and restrictions: a checker would add up less than the owner."""
    with pytest.raises(ParameterError, match="made once"):
        StatedDraw(**{"name": "d", "query": ModeScore(of="sex"), "law": "permute-and-flip", "rate": 1 << 50} | more)


def test_a_law_that_is_not_one_for_the_query_is_refused() -> None:
    """With the page that lists the laws."""
    for query, law in (
        (Count(), "exponential"),
        (Sum(of="age"), "gaussian"),
        (ModeScore(of="sex"), "discrete-laplace"),
    ):
        assert HINT in _refusal(query, law)


WRONG: dict[str, Callable[[], object]] = {
    "a column of a table twice": lambda: Count(by=("sex", "sex")),
    "a sum by its own column": lambda: Sum(of="age", by=("age",)),
    "a quantile of all": lambda: RankScore(of="age", numerator=1, denominator=1),
    "no rate": lambda: drawing(Count(), rate=0),
    "two restrictions of one column": lambda: StatedDraw(
        name="one", query=Count(), law="discrete-laplace", rate=1,
        where=(Restriction(column="sex", code=0), Restriction(column="sex", code=1))),
    "no draw": lambda: stating(),
    "two draws of one name": lambda: stating(drawing(Count()), drawing(Count())),
    "a column that is not declared": lambda: stating(drawing(Count(by=("job",)))),
    "a value outside the domain": lambda: stating(drawing(Count(), sex=3)),
    "a sum of a category": lambda: stating(drawing(Sum(of="sex"))),
    "rows of a sum": lambda: Statement(
        columns=COLUMNS, draws=(drawing(Sum(of="age")),), shows=CellRows(of="draw"), adjacency=ADD_OR_REMOVE,
        rows_per_unit=1),
    "too many cells": lambda: Statement(
        columns=tuple(StatedColumn(name=f"{at}", domain=AGE.domain) for at in range(12)),
        draws=(drawing(Count(by=tuple(f"{at}" for at in range(12)))),), shows=CellRows(of="draw"),
        adjacency=ADD_OR_REMOVE, rows_per_unit=1),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_statement_that_contradicts_itself_is_refused(what: str) -> None:
    """Before any row is read."""
    with pytest.raises(ParameterError):
        WRONG[what]()


def test_the_report_says_how_far_each_draw_reaches() -> None:
    """Discrete Laplace noise of rate 1/4; a sum of half cells of 15 years; nothing of a choice."""
    statement = stating(
        drawing(Count(), name="rows"), drawing(Sum(of="age"), name="ages"), drawing(ModeScore(of="sex"))
    )
    rows, ages, chosen = report_lines(statement)

    assert rows["standard_deviation"] == pytest.approx(5.6421, abs=1e-4)
    assert ages["standard_deviation"] == pytest.approx(15 * rows["standard_deviation"])
    assert ages["within_95_percent"] == 15 * rows["within_95_percent"] == 15 * 12
    assert set(chosen) == {"name", "query", "law"}
    assert width_of(statement, statement.draws[2]) is None


@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_a_query_reads_the_columns_that_it_names(query: Query) -> None:
    """No other column has a part in it."""
    assert set(columns_of(query)) <= {SEX.name, AGE.name}
    assert (len(columns_of(query)) == 0) == (query == Count())


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
