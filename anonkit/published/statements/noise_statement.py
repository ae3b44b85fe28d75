# SPDX-License-Identifier: Apache-2.0
"""A noise statement: draws of noise on answers to queries, and what is released of them; frozen, without any loss.

Queries of a noise statement: functions of the codes of rows in declared public domains.

Each says in its docstring what one row adds to its answer. A query has no sensitivity of its own: whoever accounts for
it derives that from these words (`anonkit.mechanisms.statement_loss`, `anonkit.checks.stated`).

Statements and values as JSON and back, by the declaration of their fields: no key is written out by hand.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import UnionType
from typing import Any, ClassVar, TypeAlias, get_args, get_origin, get_type_hints

from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import ParameterError, ReleaseFormatError, refusing_damage
from anonkit.published.exact_losses import RATE_BITS

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


_DAMAGED = "the params hold no statement of noise that anonkit writes"


def to_params(statement: Statement, values: tuple[Value, ...]) -> dict[str, Any]:
    """Return the blocks `format`, `statement` and `values` of params, ready for JSON."""
    return {"format": FORMAT, "statement": to_json(statement), "values": to_json(values)}


def from_params(params: Mapping[str, Any]) -> tuple[Statement, tuple[Value, ...]]:
    """Read a statement and its values from params.

    Raises
    ------
    ReleaseFormatError
        The params hold none, or one that contradicts itself.
    """
    with refusing_damage(_DAMAGED, contradictions=True):
        statement: Statement = _read(Statement, params["statement"])
        values: tuple[Value, ...] = _read(tuple[Value, ...], params["values"])
    sizes = {value.draw: len(value.numbers) for value in values}
    if len(values) != len(sizes) or sizes != {draw.name: statement.numbers_of(draw) for draw in statement.draws}:
        raise ReleaseFormatError("the values of the params are not those of its draws")
    return statement, values


def to_json(value: Any) -> Any:
    """Return a frozen value as JSON: an object of its fields, with its `kind` where several could be in its place."""
    if isinstance(value, Categories | Grid):
        return {"type": "number" if isinstance(value, Grid) else "category", **value.to_params()}
    if dataclasses.is_dataclass(value):
        kind: str | None = getattr(type(value), "kind", None)
        fields = {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return fields if kind is None else {"kind": kind, **fields}
    return [to_json(entry) for entry in value] if isinstance(value, tuple) else value


def _read(kind: Any, raw: Any) -> Any:
    """Return the value of a declared type from its JSON."""
    if kind == Categories | Grid:
        return (Grid if raw["type"] == "number" else Categories).from_params(raw)
    if isinstance(kind, UnionType):
        chosen = next((member for member in get_args(kind) if member.kind == raw["kind"]), None)  # None is no type
        return _read(chosen, {key: value for key, value in raw.items() if key != "kind"})
    if get_origin(kind) is tuple:
        return tuple(_read(get_args(kind)[0], entry) for entry in raw)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        types = get_type_hints(kind)
        return kind(**{field.name: _read(types[field.name], raw[field.name]) for field in dataclasses.fields(kind)})
    if type(raw) is not kind:
        raise TypeError
    return raw
