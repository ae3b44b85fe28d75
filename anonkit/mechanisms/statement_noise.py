# SPDX-License-Identifier: Apache-2.0
"""Draws of a noise statement on exact answers: noisy numbers and chosen candidates, the values that are published."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonkit.domains.array_types import IntArray
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts
from anonkit.mechanisms.private_selection import exponential_mechanism, permute_and_flip
from anonkit.published.statements.noise_statement import Draw, Statement, Value
from anonkit.published.statements.queries import EXPONENTIAL, PERMUTE_AND_FLIP, ModeScore, RankScore


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
        Value(draw=draw.name, numbers=_drawn(draw, answer, words))
        for draw, answer in zip(statement.draws, answers, strict=True)
    )


def _drawn(draw: Draw, answer: IntArray, words: UniformStream) -> tuple[int, ...]:
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
