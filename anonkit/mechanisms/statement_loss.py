# SPDX-License-Identifier: Apache-2.0
"""The privacy loss of a noise statement, as its owner accounts for it: from queries, rates and restrictions alone.

A row that comes or goes moves the numbers of a table by their sensitivity in sum. It moves the scores of a choice
within a range whose width is what counts (`exact_samplers`). A draw costs rate times sensitivity. A row pays for
the draws whose restrictions it meets, and the dearest row decides.

Draws of a noise statement on exact answers: noisy numbers and chosen candidates, the values that are published.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import IntArray
from anonkit.mechanisms.accounting import draw_epsilon, draw_units, rounded_up
from anonkit.mechanisms.exact_samplers import UniformStream, exponential_mechanism, noisy_counts, permute_and_flip
from anonkit.promises.guarantee import changed_rows
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.statements.noise_statement import (
    EXPONENTIAL,
    PERMUTE_AND_FLIP,
    ModeScore,
    RankScore,
    ReleasedStatement,
    StatedDraw,
    Statement,
    Value,
)
from anonkit.report.blocks import Budget, spent_on


def noisy_values(statement: Statement, answers: Sequence[IntArray], words: UniformStream) -> tuple[Value, ...]:
    """Return the values that a statement publishes.

    Parameters
    ----------
    statement : Statement
    answers : sequence of int64 arrays
        Exact answer of each draw: the numbers of a table, or the scores of all candidates.
    words : UniformStream
        Secret randomness; one stream for all draws, in their order.

    Privacy
    -------
    Each draw costs a row its rate times what the row changes, as `statement_loss` adds up.
    """
    return tuple(
        Value(draw=draw.name, numbers=_noisy_numbers(draw, answer, words))
        for draw, answer in zip(statement.draws, answers, strict=True)
    )


def _noisy_numbers(draw: StatedDraw, answer: IntArray, words: UniformStream) -> tuple[int, ...]:
    if draw.law == PERMUTE_AND_FLIP:
        return (int(permute_and_flip(answer[np.newaxis], draw.rate, words)[0]),)
    if draw.law == EXPONENTIAL:
        return (int(exponential_mechanism(answer[np.newaxis], draw.rate, words)[0]),)
    return tuple(noisy_counts(answer, draw.rate, words).tolist())


def scores_of(query: RankScore | ModeScore, histogram: IntArray, cells: int) -> IntArray:
    """Return the score of each candidate from the exact number of rows at each code of the column.

    Parameters
    ----------
    query : RankScore or ModeScore
    histogram : int64 array, shape (codes,)
    cells : int
        Codes that are no missing value.

    Returns
    -------
    int64 array
        Shape (codes,) for the most frequent value, (cells + 1,) for a quantile.
    """
    if isinstance(query, ModeScore):
        return histogram
    below = np.concatenate([[0], np.cumsum(histogram[:cells])])
    return np.asarray(-np.abs(query.denominator * below - query.numerator * below[-1]), dtype=np.int64)


_ONE = 1 << RATE_BITS


def row_units(statement: Statement) -> int:
    """Return the loss of the most expensive row over all draws, in units of 2**-52.

    Rows differ by the values of restricted columns alone, so that one row for each combination of values that some
    draw is restricted to, or of any other value, represents all.
    """
    values: dict[str, set[int | None]] = {}
    for draw in statement.draws:
        for each in draw.where:
            values.setdefault(each.column, {None}).add(each.code)
    rows = (dict(zip(values, codes, strict=True)) for codes in itertools.product(*values.values()))
    return max(
        sum(
            draw_units(draw, statement.domains)
            for draw in statement.draws
            if all(row[each.column] == each.code for each in draw.where)
        )
        for row in rows
    )


def epsilon_of(statement: Statement) -> float:
    """Return the loss of the unit of privacy under the adjacency of a statement, rounded up to a float."""
    rows = changed_rows(statement.rows_per_unit, statement.adjacency)
    return rounded_up(Fraction(row_units(statement) * rows, _ONE))


@dataclass(frozen=True, kw_only=True)
class StatedAccounting(ParamsPart, keys=("**released",)):
    """A noise statement with its published values: what it puts into the params, and what it costs."""

    released: ReleasedStatement

    @property
    def budget(self) -> Budget:
        """The report's `budget` block: what each draw costs a row that it reads, rounded up to a float."""
        statement = self.released.statement
        return spent_on(
            [{"name": draw.name, "epsilon": draw_epsilon(draw, statement.domains)} for draw in statement.draws],
            epsilon_of(statement),
            0,
        )
