# SPDX-License-Identifier: Apache-2.0
"""Queries of a noise statement: functions of the codes of rows in declared public domains.

Each says in its docstring what one row adds to its answer. A query has no sensitivity of its own: whoever accounts for
it derives that from these words (`anonkit.mechanisms.statement_loss`, `anonkit.checks.stated_account`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from anonkit.errors import ParameterError

HINT = "docs/how-to/add-a-noise-method.md lists the queries and laws of noise that are checked"
LAPLACE, PERMUTE_AND_FLIP, EXPONENTIAL = "discrete-laplace", "permute-and-flip", "exponential"
"""Laws of noise: integers around an answer, and two ways to choose a candidate by its score."""


@dataclass(frozen=True, kw_only=True)
class Count:
    """Contingency table: how many rows have each combination of values, the last column varying fastest.

    A row adds 1 to one cell. Without columns the only cell counts all rows.
    """

    kind: ClassVar[str] = "count"
    laws: ClassVar[tuple[str, ...]] = (LAPLACE,)

    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.by)) != len(self.by):
            raise ParameterError("a contingency table has a column twice", HINT)


@dataclass(frozen=True, kw_only=True)
class Sum:
    """Sum of the places of a number, for each combination of values of other columns.

    The column has C equal cells over its bounds. A row in cell c, counted from 0, adds 2 c - (C - 1) half cells: its
    distance from the middle of the bounds, from -(C - 1) to C - 1. A missing number adds 0.
    """

    kind: ClassVar[str] = "sum"
    laws: ClassVar[tuple[str, ...]] = (LAPLACE,)

    of: str
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.by)) != len(self.by) or self.of in self.by:
            raise ParameterError("a sum has a column twice", HINT)


@dataclass(frozen=True, kw_only=True)
class RankScore:
    """Scores of the edges of a number's cells as its quantile of a share numerator / denominator.

    Edge e, from 0 to C, scores -|denominator * below - numerator * n|. Here n is the number of rows whose number is
    not missing, and `below` how many of these are in cells before e. A coming row changes each score by numerator or
    by denominator - numerator at most, up or down.
    """

    kind: ClassVar[str] = "rank-score"
    laws: ClassVar[tuple[str, ...]] = (PERMUTE_AND_FLIP, EXPONENTIAL)

    of: str
    numerator: int
    denominator: int

    def __post_init__(self) -> None:
        if not 0 < self.numerator < self.denominator <= MOST_RANKS:
            raise ParameterError(
                f"a quantile has a share above 0 and below 1 with a denominator of {MOST_RANKS} at most", HINT
            )


@dataclass(frozen=True, kw_only=True)
class ModeScore:
    """Scores of the values of a column as its most frequent one: how many rows have each, missing as the last value.

    A coming row adds 1 to one score.
    """

    kind: ClassVar[str] = "mode-score"
    laws: ClassVar[tuple[str, ...]] = (PERMUTE_AND_FLIP, EXPONENTIAL)

    of: str


MOST_RANKS = 10_000
Query: TypeAlias = Count | Sum | RankScore | ModeScore


def columns_of(query: Query) -> tuple[str, ...]:
    """Return the names of the columns that a query reads."""
    match query:
        case Count(by=by):
            return by
        case Sum(of=of, by=by):
            return (*by, of)
        case RankScore(of=of) | ModeScore(of=of):
            return (of,)
