# SPDX-License-Identifier: Apache-2.0
"""A noise statement: draws of noise on answers to queries, and what is released of them; frozen, without any loss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from anonkit.domains.attribute_domains import Categories, Grid
from anonkit.errors import ParameterError
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.statements.queries import HINT, Count, ModeScore, Query, RankScore, Sum, columns_of

FORMAT = "anonkit-statement-1"
MOST_CELLS = 1 << 22
"""Numbers that all draws of a statement publish together, at most."""
_LARGEST_RATE = 64 << RATE_BITS


@dataclass(frozen=True, kw_only=True)
class StatedColumn:
    """A column that queries read, and its public domain."""

    name: str
    domain: Categories | Grid

    @property
    def is_number(self) -> bool:
        """True for equal cells over bounds."""
        return isinstance(self.domain, Grid)


@dataclass(frozen=True, kw_only=True)
class Restriction:
    """The rows that have one value of a column; draws on different values of it read different rows."""

    column: str
    code: int
    """Place of the value in the domain of the column, from 0; missing is the last."""


@dataclass(frozen=True, kw_only=True)
class Draw:
    """One draw of noise on the answer to one query.

    Composition follows from the restrictions. A row pays for each draw whose rows it is among: draws that can read the
    same row add up (sequential composition), draws on different values of one column do not (parallel composition).

    Raises
    ------
    ParameterError
        The law is not one for the query, or the rate is out of its range.
    """

    name: str
    """Names the draw among those of its statement, in any words."""
    query: Query
    law: str
    rate: int
    """In units of 2**-52: P(noise) falls by exp(-rate) for each step that a number is moved, or a score is lower."""
    where: tuple[Restriction, ...] = ()

    def __post_init__(self) -> None:
        if self.law not in self.query.laws:
            known = " or ".join(self.query.laws)
            raise ParameterError(f"draw {self.name!r}: the law of a {self.query.kind} is {known}, not {self.law}", HINT)
        if not 1 <= self.rate < _LARGEST_RATE:
            raise ParameterError(f"draw {self.name!r}: its rate is outside the range of the noise", HINT)
        if len({each.column for each in self.where}) != len(self.where):
            raise ParameterError(f"draw {self.name!r}: two restrictions are of one column", HINT)


@dataclass(frozen=True, kw_only=True)
class CellRows:
    """The released table has as many rows of each cell of a contingency table as its noisy count, at least 0."""

    kind: ClassVar[str] = "cell-rows"

    of: str
    """Name of the draw, a `Count` of all rows."""


@dataclass(frozen=True, kw_only=True)
class ValueLines:
    """The released table lists the published values, a line each; it has no rows of people."""

    kind: ClassVar[str] = "value-lines"


Shown: TypeAlias = CellRows | ValueLines


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Everything that a release draws from its rows, and what it shows.

    It is made from public facts alone, before any row is read. Each draw is made once, with noise of its own, and
    publishes its value.

    Raises
    ------
    ParameterError
        Names repeat, a query reads a column or a value that is not declared, or there are too many cells.
    """

    columns: tuple[StatedColumn, ...]
    draws: tuple[Draw, ...]
    shows: Shown
    adjacency: str
    """Neighbour relation of tables, in the words of the promise."""
    rows_per_unit: int
    """Most rows of one unit that are used."""

    def __post_init__(self) -> None:
        names = [draw.name for draw in self.draws]
        if not names or len(set(names)) != len(names) or len(self.domains) != len(self.columns):
            raise ParameterError("a statement has draws and columns of different names, and one draw at least", HINT)
        for draw in self.draws:
            self._check(draw)
        largest = max((domain.size for domain in self.domains.values()), default=0)
        if max(largest, sum(self.numbers_of(draw) for draw in self.draws)) > MOST_CELLS:
            raise ParameterError(
                f"the tables have more than {MOST_CELLS:,} cells together", "fewer columns, bins or categories"
            )
        if isinstance(self.shows, CellRows):
            shown = next((draw for draw in self.draws if draw.name == self.shows.of), None)
            if shown is None or not isinstance(shown.query, Count) or shown.where or not shown.query.by:
                raise ParameterError("rows are those of the cells of a contingency table of all rows", HINT)

    def _check(self, draw: Draw) -> None:
        """Refuse a draw that reads what is not declared."""
        unknown = {*columns_of(draw.query), *(each.column for each in draw.where)} - set(self.domains)
        if unknown:
            raise ParameterError(f"draw {draw.name!r} reads a column that the statement does not declare", HINT)
        if any(not 0 <= each.code < self.domains[each.column].size for each in draw.where):
            raise ParameterError(f"draw {draw.name!r} is restricted to a value outside the domain of its column", HINT)
        if isinstance(draw.query, Sum | RankScore):
            domain = self.domains[draw.query.of]
            if not isinstance(domain, Grid) or domain.cells < 2:
                raise ParameterError(f"draw {draw.name!r} needs a column with bounds and two cells at least", HINT)

    @cached_property
    def domains(self) -> Mapping[str, Categories | Grid]:
        """Public domain of each column, by name."""
        return {column.name: column.domain for column in self.columns}

    def cells_of(self, by: Sequence[str]) -> int:
        """Return how many combinations of values some columns have."""
        return math.prod(self.domains[name].size for name in by)

    def numbers_of(self, draw: Draw) -> int:
        """Return how many numbers a draw publishes: the cells of a table, or 1 for a choice."""
        match draw.query:
            case Count(by=by) | Sum(by=by):
                return self.cells_of(by)
            case RankScore() | ModeScore():
                return 1


def shows_no_rows(params: Mapping[str, Any]) -> bool:
    """Return True if params are those of a statement that publishes figures and no rows of people."""
    return params.get("format") == FORMAT and params["statement"]["shows"]["kind"] == ValueLines.kind


@dataclass(frozen=True, kw_only=True)
class Value:
    """The published value of a draw: noisy numbers in the order of the cells, or the index of the chosen candidate."""

    draw: str
    numbers: tuple[int, ...]
