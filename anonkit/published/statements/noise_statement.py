# SPDX-License-Identifier: Apache-2.0
"""A noise statement: draws of noise on answers to queries, and what is released of them, without any loss.

A draw is a query, a law and a rate; own methods and statements have the same draws, and compose them alike.

Queries are functions of the codes of rows in declared public domains. Each says in its docstring what one row adds to
its answer. A query has no sensitivity of its own: whoever accounts for it derives that from these words
(`anonkit.mechanisms.accounting`, `anonkit.checks.stated`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias

from anonkit.documents import ParamsPart
from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE

PERMUTE_AND_FLIP, EXPONENTIAL = "permute-and-flip", "exponential"
"""Laws by which a candidate is chosen by its score."""
_LARGEST = 64 << RATE_BITS
RATES = {
    LAPLACE: (1, _LARGEST),
    PERMUTE_AND_FLIP: (1, _LARGEST),
    EXPONENTIAL: (1, _LARGEST),
    GAUSSIAN: (1 << 12, 1 << 57),
}
"""Laws, each with the least rate of its noise and the limit of its rates."""
_IN_RHO = {LAPLACE: (False,), PERMUTE_AND_FLIP: (False,), EXPONENTIAL: (False, True), GAUSSIAN: (True,)}
"""Laws whose loss is added up in epsilon (False), in rho (True), or in either."""


@dataclass(frozen=True, kw_only=True)
class Draw:
    """One draw of noise on the answer to one query, or one choice among its scores.

    Draws that can read the same row add up (sequential composition). Draws in a tree read the rows of their node: a row
    pays those of one path.

    Raises
    ------
    ParameterError
        The rate is out of the range of its law, or the loss of the law is not added up so.
    """

    name: str
    """Purpose of the draw, in words."""
    query: Any
    """Query whose answer has the noise, or whose scores are chosen by: a value that says what is counted."""
    law: str
    """Law of the noise, or of the choice."""
    rate: int
    """In units of 2**-52. P(noise) falls by exp(-rate) for each step that a number is moved, or a score is lower; of
    Gaussian noise it is the rho of a row."""
    times: int = 1
    """Number of such draws that read one row."""
    level: int | None = None
    """Level of the tree, 0 at the root; None when it is not drawn in a tree."""
    ends_path: bool = False
    """True for a draw in a leaf: a path has those of one level only, after the other draws of all levels above."""
    in_rho: bool = False
    """True where its loss is added up in rho (zero-concentrated differential privacy), and converted in sum."""
    column: str = ""
    """Column that the budget of the report names; empty: it names the draw."""

    def __post_init__(self) -> None:
        least, limit = RATES.get(self.law, (0, 0))
        if not least <= self.rate < limit:
            raise ParameterError(
                f"draw {self.name!r}: its rate is outside the range of the noise", "spend more, or divide it less"
            )
        if self.in_rho not in _IN_RHO[self.law]:
            raise ParameterError(f"draw {self.name!r}: a loss of this law is not added up so")


@dataclass(frozen=True, kw_only=True)
class Bootstrap(ParamsPart):
    """Every tree takes each row several times: so often as a secret word of row and tree says, independently."""

    trees: int
    weights: tuple[int, ...]
    """Number of the 2**word_bits words that give 0, 1, 2, ... copies."""
    word_bits: int = 32

    def __post_init__(self) -> None:
        if sum(self.weights) != 1 << self.word_bits or min(self.weights) < 0:
            raise ParameterError("the weights of a bootstrap must add up to all words")


@dataclass(frozen=True, kw_only=True)
class Composition(ParamsPart):
    """Neighbouring tables for which draws compose, and the copies of a row that they read."""

    adjacency: str
    rows_per_unit: int
    """Most rows of one unit that are used."""
    bootstrap: Bootstrap | None = None


HINT = "docs/how-to/add-a-noise-method.md lists the queries and laws of noise that are checked"


@dataclass(frozen=True, kw_only=True)
class Count(ParamsPart, keys=("kind", "by")):
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
class Sum(ParamsPart, keys=("kind", "of", "by")):
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
class RankScore(ParamsPart, keys=("kind", "of", "numerator", "denominator")):
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
class ModeScore(ParamsPart, keys=("kind", "of")):
    """Scores of the values of a column as its most frequent one: how many rows have each, missing as the last value.

    A coming row adds 1 to one score.
    """

    kind: ClassVar[str] = "mode-score"
    laws: ClassVar[tuple[str, ...]] = (PERMUTE_AND_FLIP, EXPONENTIAL)

    of: str


MOST_RANKS = 10_000
"""Denominator of the share of a quantile at most: a convention."""
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


FORMAT = "anonkit-statement-1"
MOST_CELLS = 1 << 22
"""Numbers that all draws of a statement publish together, at most."""


@dataclass(frozen=True, kw_only=True)
class TypedDomain(ParamsPart, keys=("type=domain.type", "**domain")):
    """A public domain with its type among its keys."""

    domain: Categories | Grid


@dataclass(frozen=True, kw_only=True)
class StatedColumn(ParamsPart, keys=("name", "domain=typed"), made_by="of_typed"):
    """A column that queries read, and its public domain."""

    name: str
    domain: Categories | Grid

    @classmethod
    def of_typed(cls, *, name: str, domain: TypedDomain) -> Self:
        """Return the column with the domain that the params state."""
        return cls(name=name, domain=domain.domain)

    @property
    def typed(self) -> TypedDomain:
        """The domain as the params have it."""
        return TypedDomain(domain=self.domain)

    @property
    def is_number(self) -> bool:
        """True for equal cells over bounds."""
        return isinstance(self.domain, Grid)


@dataclass(frozen=True, kw_only=True)
class Restriction(ParamsPart):
    """The rows that have one value of a column; draws on different values of it read different rows."""

    column: str
    code: int
    """Place of the value in the domain of the column, from 0; missing is the last."""


@dataclass(frozen=True, kw_only=True)
class StatedDraw(Draw, ParamsPart, keys=("name", "query", "law", "rate", "where")):
    """One draw of noise on the answer to one query, of the rows that have some values.

    Composition follows from the restrictions. A row pays for each draw whose rows it is among: draws that can read the
    same row add up (sequential composition), draws on different values of one column do not (parallel composition).

    Raises
    ------
    ParameterError
        The law is not one for the query, the rate is out of its range, or it is repeated, in a tree or paid in rho.
    """

    query: Query
    where: tuple[Restriction, ...] = ()

    def __post_init__(self) -> None:
        if self.law not in self.query.laws:
            known = " or ".join(self.query.laws)
            raise ParameterError(f"draw {self.name!r}: the law of a {self.query.kind} is {known}, not {self.law}", HINT)
        super().__post_init__()
        if self.times != 1 or self.level is not None or self.ends_path or self.in_rho or self.column:
            # its JSON has no such key: whoever checks would add up less than was spent
            raise ParameterError(f"draw {self.name!r}: it is made once, outside of trees, and paid in epsilon", HINT)
        if len({each.column for each in self.where}) != len(self.where):
            raise ParameterError(f"draw {self.name!r}: two restrictions are of one column", HINT)


@dataclass(frozen=True, kw_only=True)
class CellRows(ParamsPart, keys=("kind", "of")):
    """The released table has as many rows of each cell of a contingency table as its noisy count, at least 0."""

    kind: ClassVar[str] = "cell-rows"

    of: str
    """Name of the draw, a `Count` of all rows."""


@dataclass(frozen=True, kw_only=True)
class ValueLines(ParamsPart, keys=("kind",)):
    """The released table lists the published values, a line each; it has no rows of people."""

    kind: ClassVar[str] = "value-lines"


Shown: TypeAlias = CellRows | ValueLines


@dataclass(frozen=True, kw_only=True)
class Statement(ParamsPart):
    """Everything that a release draws from its rows, and what it shows.

    It is made from public facts alone, before any row is read. Each draw is made once, with noise of its own, and
    publishes its value.

    Raises
    ------
    ParameterError
        Names repeat, a query reads a column or a value that is not declared, or there are too many cells.
    """

    columns: tuple[StatedColumn, ...]
    draws: tuple[StatedDraw, ...]
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

    def _check(self, draw: StatedDraw) -> None:
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
        """Return the number of combinations of values of some columns."""
        return math.prod(self.domains[name].size for name in by)

    def numbers_of(self, draw: StatedDraw) -> int:
        """Return the number of numbers that a draw publishes: the cells of a table, or 1 for a choice."""
        match draw.query:
            case Count(by=by) | Sum(by=by):
                return self.cells_of(by)
            case RankScore() | ModeScore():
                return 1


def shows_no_rows(params: Mapping[str, Any]) -> bool:
    """Return True if params are those of a statement that publishes figures and no rows of people."""
    return params.get("format") == FORMAT and params["statement"]["shows"]["kind"] == ValueLines.kind


@dataclass(frozen=True, kw_only=True)
class Value(ParamsPart):
    """The published value of a draw: noisy numbers in the order of the cells, or the index of the chosen candidate."""

    draw: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ReleasedStatement(
    ParamsPart,
    keys=("format", "statement", "values"),
    damage="the params hold no statement of noise that anonkit writes",
):
    """A statement and the published value of each of its draws.

    Raises
    ------
    ReleaseFormatError
        The values are not those of the draws.
    """

    format: ClassVar[str] = FORMAT
    statement: Statement
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        sizes = {value.draw: len(value.numbers) for value in self.values}
        drawn = {draw.name: self.statement.numbers_of(draw) for draw in self.statement.draws}
        if len(self.values) != len(sizes) or sizes != drawn:
            raise ReleaseFormatError("the values of the params are not those of its draws")
