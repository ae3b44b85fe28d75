"""All small tables of a few public domains, their neighbours, and exact answers of statements on them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

import numpy as np

from anonkit.checks.stated_params import StatedRelease, read_statement
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.dp_trees.questions import CodedBatch
from anonkit.dp_trees.stated.stated_method import StatedSchema, Tallies
from anonkit.mechanisms import statement_loss
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE
from anonkit.published.statements.noise_statement import (
    Count,
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
    ValueLines,
)

SEX = StatedColumn(name="sex", domain=Categories(values=("F", "M"), has_missing=True))
AGE = StatedColumn(name="age", domain=Grid(lower=0.0, upper=90.0, cells=3, has_missing=True))
COLUMNS = (SEX, AGE)
Row = tuple[int, int]
Table = tuple[Row, ...]
ROWS: tuple[Row, ...] = tuple(itertools.product(range(SEX.domain.size), range(AGE.domain.size)))
"""Codes of every row that there can be."""

QUERIES: tuple[Query, ...] = (
    Count(),
    Count(by=("sex",)),
    Count(by=("age", "sex")),
    Sum(of="age"),
    Sum(of="age", by=("sex",)),
    *(RankScore(of="age", numerator=one, denominator=of) for one, of in ((1, 2), (1, 4), (2, 3), (9, 10))),
    ModeScore(of="sex"),
    ModeScore(of="age"),
)
"""One of each kind of query, and more where its figures differ."""


def drawing(query: Query, *, rate: int = 1 << 50, name: str = "draw", **where: int) -> StatedDraw:
    """Return a draw on a query, under the first of its laws."""
    restrictions = tuple(Restriction(column=column, code=code) for column, code in where.items())
    return StatedDraw(name=name, query=query, law=query.laws[0], rate=rate, where=restrictions)


def stating(*draws: StatedDraw, adjacency: str = ADD_OR_REMOVE, rows_per_unit: int = 1) -> Statement:
    """Return the statement of some draws, which shows their values."""
    return Statement(columns=COLUMNS, draws=draws, shows=ValueLines(), adjacency=adjacency, rows_per_unit=rows_per_unit)


def as_params(statement: Statement) -> dict[str, Any]:
    """Return the blocks of params that a statement makes, as they are read from a file, with zeros for values."""
    values = tuple(Value(draw=draw.name, numbers=(0,) * statement.numbers_of(draw)) for draw in statement.draws)
    read: dict[str, Any] = json.loads(json.dumps(ReleasedStatement(statement=statement, values=values).to_params()))
    return read


def as_checked(statement: Statement) -> StatedRelease:
    """Return a statement as the checks read it from the file."""
    return read_statement(as_params(statement))


@cache
def tables(most: int) -> tuple[Table, ...]:
    """Return all tables of so many rows at most, in any one order of their rows."""
    return tuple(rows for size in range(most + 1) for rows in itertools.combinations_with_replacement(ROWS, size))


def neighbours(table: Table, adjacency: str, rows_per_unit: int) -> Iterator[Table]:
    """Yield the tables in which a unit of so many rows at most came, or has other values.

    Rows that went are rows that came, seen from the other table.
    """
    for came in itertools.combinations_with_replacement(ROWS, rows_per_unit):
        if adjacency == ADD_OR_REMOVE:
            yield (*table, *came)
        elif adjacency == REPLACE and len(table) >= rows_per_unit:
            for gone in itertools.combinations(range(len(table)), rows_per_unit):
                yield (*(row for at, row in enumerate(table) if at not in gone), *came)


def answers(statement: Statement, table: Table) -> list[IntArray]:
    """Return the exact answer of each draw, by the code that answers on real tables; each is worked out once."""
    return _answers(statement, tuple(sorted(table)))


@lru_cache(maxsize=1 << 14)
def _answers(statement: Statement, table: Table) -> list[IntArray]:
    codes = np.array(table, dtype=np.int64).reshape(-1, len(COLUMNS)).T
    batch = CodedBatch(codes=codes, labels=np.zeros(len(table), dtype=np.int32), first_row=0)
    tally = Tallies(statement=statement, schema=StatedSchema.of(statement, None))
    *parts, rows = np.split(tally(batch), np.cumsum(tally.sizes))
    assert rows.tolist() == [len(table)]
    return [_answer(statement, draw, part) for draw, part in zip(statement.draws, parts, strict=True)]


def _answer(statement: Statement, draw: StatedDraw, part: IntArray) -> IntArray:
    if isinstance(draw.query, RankScore | ModeScore):
        domain = statement.domains[draw.query.of]
        return statement_loss.scores_of(draw.query, part, domain.size - domain.has_missing)
    return part


def change(draw: StatedDraw, before: IntArray, after: IntArray) -> int:
    """Return the sum of the changes of numbers, or the width of the range of the changes of scores."""
    moved = after - before
    if isinstance(draw.query, RankScore | ModeScore):
        return int(moved.max() - moved.min())
    return int(np.abs(moved).sum())


@cache
def of_choice(law: str, scores: tuple[int, ...], decay: float) -> list[float]:
    """Return the exact probability of each candidate under a law of private choice."""
    best = max(scores)
    coins = [float(np.exp(-decay * (best - score))) for score in scores]
    if law == "exponential":
        return [coin / sum(coins) for coin in coins]
    chances = [0.0] * len(scores)
    for heads in itertools.product((False, True), repeat=len(scores)):
        chance = float(np.prod([coin if head else 1 - coin for coin, head in zip(coins, heads, strict=True)]))
        for at, head in enumerate(heads):
            chances[at] += chance / sum(heads) if head and chance else 0.0
    return chances
