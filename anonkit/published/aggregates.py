# SPDX-License-Identifier: Apache-2.0
"""Published aggregates: what was measured with noise, which tables are made of it, and their layout in the params.

A measurement is one draw of noise on one table of sums over rows; several published tables may be read off one of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from anonkit.documents import ParamsPart
from anonkit.domains.array_types import IntArray
from anonkit.domains.attribute_domains import Categories, Grid, written_step
from anonkit.domains.number_bins import interval_names
from anonkit.domains.rounding_grid import RoundingGrid
from anonkit.domains.whole_values import WholeValues
from anonkit.errors import ParameterError, ReleaseFormatError, refusing_damage

FORMAT = "anonkit-aggregates-1"
OTHER = "other or missing"
"""Name of a group whose cells are missing or outside the declared domain."""


class Statistic(StrEnum):
    """The statistic that a table publishes."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    QUANTILE = "quantile"


class MeasuredQuantity(StrEnum):
    """The quantity that a measurement adds up over the rows of a cell."""

    COUNTS = "counts"
    """One for each row."""
    SUM = "sum"
    """The number, in steps of its grid."""
    HALVES = "halves"
    """The steps from the first place of the grid to the number, and apart from it those from there to the last place.

    Together they are as many steps as the grid has for each row, whatever its number: one draw of that sensitivity
    gives sum, count and mean, with half the variance of two draws of half the budget each."""
    POINTS = "points"
    """One for each row, at the place of its number on a coarse grid: a histogram."""

    @property
    def parts(self) -> int:
        """Numbers that a cell has, unless these are the places of a grid."""
        return 2 if self is MeasuredQuantity.HALVES else 1


@dataclass(frozen=True, kw_only=True)
class GroupColumn:
    """A column by which tables are divided, and its public domain; numbers in equal bins."""

    name: str
    domain: Categories | Grid

    @property
    def labels(self) -> list[str]:
        """Name of each code, as the table has it."""
        if isinstance(self.domain, Grid):
            named = interval_names([float(edge) for edge in self.domain.edges()])
        else:
            named = list(self.domain.values)
        return [*named, *([OTHER] if self.domain.has_missing else [])]

    def to_params(self) -> dict[str, Any]:
        """Return the column, ready for JSON."""
        kind = "number" if isinstance(self.domain, Grid) else "category"
        return {"name": self.name, "type": kind, "domain": self.domain.to_params()}

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Rebuild the column from `to_params()`."""
        kind = Grid if params["type"] == "number" else Categories
        return cls(name=str(params["name"]), domain=kind.from_params(params["domain"]))


@dataclass(frozen=True, kw_only=True)
class AddedColumn:
    """A number that is added up or whose quantiles are published, within public bounds."""

    name: str
    bounds: tuple[float, float]
    """Numbers beyond them count as the nearest."""
    has_missing: bool
    """True where a row without the number is in none of its sums; else it counts as the lower bound."""
    values: WholeValues | None = None
    """The multiples of a step that it holds, such as integers; None: any numbers."""

    def to_params(self) -> dict[str, Any]:
        """Return the column, ready for JSON."""
        step = {} if self.values is None else {"step": written_step(self.values.step)}
        return {"name": self.name, "bounds": list(self.bounds), **step, "has_missing": self.has_missing}

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Rebuild the column from `to_params()`."""
        low, high = (float(bound) for bound in params["bounds"])
        values = None if params.get("step") is None else WholeValues.within(low, high, params["step"])
        return cls(name=str(params["name"]), bounds=(low, high), has_missing=bool(params["has_missing"]), values=values)


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement:
    """One noisy table of sums over rows.

    Raises
    ------
    ParameterError
        The values do not fit the columns, or the rate is not positive.
    """

    kind: MeasuredQuantity
    by: tuple[GroupColumn, ...]
    of: str | None
    """The column that is added up or counted at its places; None for counts."""
    grid: RoundingGrid | None
    """Of that column."""
    rate: int
    """Of the noise, in units of 2**-52."""
    values: IntArray
    """With noise, shape (n_cells, parts): of points the places of the grid."""

    def __post_init__(self) -> None:
        if self.values.shape != (self.cells, parts_of(self.kind, self.grid)) or self.rate < 1:
            raise ParameterError("a noisy table does not fit its columns, or its rate is not positive")

    @property
    def cells(self) -> int:
        """Number of groups."""
        return math.prod(column.domain.size for column in self.by)

    def summed_to(self, names: Sequence[str]) -> IntArray:
        """Return the values by fewer columns, in the order given, added up over the others; shape (n_cells, parts)."""
        own = [column.name for column in self.by]
        shaped = self.values.reshape(*(column.domain.size for column in self.by), -1)
        kept = [own.index(name) for name in names]
        rest = tuple(at for at in range(len(own)) if at not in kept)
        summed = np.moveaxis(shaped, kept, range(len(kept))) if not rest else shaped.transpose(*kept, *rest, len(own))
        added = summed.sum(axis=tuple(range(len(kept), len(own)))) if rest else summed
        return np.asarray(added, dtype=np.int64).reshape(-1, self.values.shape[1])

    def draws_of(self, names: Sequence[str]) -> int:
        """Return how many cells are added up to one of fewer columns."""
        return math.prod(column.domain.size for column in self.by if column.name not in names)

    def to_params(self) -> dict[str, Any]:
        """Return the measurement, ready for JSON."""
        return {
            "kind": str(self.kind),
            "by": [column.name for column in self.by],
            "of": self.of,
            "grid": None if self.grid is None else self.grid.to_params(),
            "rate": self.rate,
            "values": self.values.tolist(),
        }


def parts_of(kind: MeasuredQuantity, grid: RoundingGrid | None) -> int:
    """Return how many numbers a cell of a measurement has."""
    return grid.places if kind is MeasuredQuantity.POINTS and grid is not None else kind.parts


@dataclass(frozen=True, kw_only=True)
class AggregateTable(ParamsPart):
    """One published table."""

    name: str
    statistic: Statistic
    by: tuple[str, ...]
    of: str | None
    levels: tuple[Fraction, ...] = ()
    """Of quantiles, ascending, in (0, 1)."""
    weight: float = 1.0
    """Relative share of the budget, against 1 for other tables of its size."""
    measured: int = 0
    """Number of the measurement that it is read off."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Aggregates:
    """The tables of a release and the noisy measurements that they are made of."""

    columns: tuple[GroupColumn, ...]
    """All columns by which tables are divided, sorted by name."""
    numbers: tuple[AddedColumn, ...]
    """All columns that are added up, sorted by name."""
    measurements: tuple[Measurement, ...]
    tables: tuple[AggregateTable, ...]
    confidence: float
    """Of each interval by itself, over the noise, in (0, 1)."""

    def group_names(self, table: AggregateTable) -> Iterator[tuple[str, ...]]:
        """Yield the names of each group of a table, in the order of its cells."""
        return itertools.product(*(self._columns[name].labels for name in table.by))

    @cached_property
    def _columns(self) -> dict[str, GroupColumn]:
        return {column.name: column for column in self.columns}

    def to_params(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "format": FORMAT,
            "groups": [column.to_params() for column in self.columns],
            "numbers": [column.to_params() for column in self.numbers],
            "measurements": [measured.to_params() for measured in self.measurements],
            "tables": [table.to_params() for table in self.tables],
        }

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Rebuild them from params.

        Raises
        ------
        ReleaseFormatError
            The format is another one, a key is missing, or the parts contradict each other.
        """
        if params.get("format") != FORMAT:
            raise ReleaseFormatError(f"the params are not of format {FORMAT}", "that is written by method dp-tables")
        with refusing_damage("the aggregates lack a key or have one of the wrong kind", contradictions=True):
            columns = {column["name"]: GroupColumn.from_params(column) for column in params["groups"]}
            return cls(
                columns=tuple(columns.values()),
                numbers=tuple(AddedColumn.from_params(column) for column in params["numbers"]),
                measurements=tuple(_measurement(each, columns) for each in params["measurements"]),
                tables=tuple(AggregateTable.from_params(table) for table in params["tables"]),
                confidence=int(params["parameters"]["confidence"]) / 100,
            )


def _measurement(params: Mapping[str, Any], columns: Mapping[str, GroupColumn]) -> Measurement:
    return Measurement(
        kind=MeasuredQuantity(params["kind"]),
        by=tuple(columns[name] for name in params["by"]),
        of=params["of"],
        grid=None if params["grid"] is None else RoundingGrid.from_params(params["grid"]),
        rate=int(params["rate"]),
        values=np.array(params["values"], dtype=np.int64),
    )
