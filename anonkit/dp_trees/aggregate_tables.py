# SPDX-License-Identifier: Apache-2.0
"""Published aggregates of a trusted owner: the planned measurements, their exact sums, and the tidy table.

**The plan** of measurements for requested tables, and the budget of each, is a function of public facts alone. A table
whose columns are among those of another of its kind is added up from it, and not measured: the two agree then, and both
are more exact than if they shared the budget (the noise of a table added up from m cells grows as the square root of m,
which is what its own share would have cost it, and the larger table keeps that share).

**The sums** over the rows are integers and exact, in one pass, wherever the rows are: to be noised before anything
else.

**The tidy table** has a line for each group and statistic; the report's entry of its columns is here too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.budget_rules.model_queries import ModelQuery, PlaceHalves, PlaceSum, Table
from anonkit.domains.cell_values import codes_of_cells, numbers_of_cells, refuse_kinds
from anonkit.domains.coded_columns import BoolArray, Codes, FloatArray, IntArray
from anonkit.domains.rounding_grid import RoundingGrid
from anonkit.dp_trees.aggregate_requests import Request
from anonkit.dp_trees.grower import refuse_other_totals
from anonkit.errors import ParameterError, PolicyError, did_you_mean
from anonkit.mechanisms.accounting import rate_within, sensitivity_of, shares
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import NumericAttribute, PublicAttribute, public_attribute
from anonkit.protocols import Engine, Source, is_too_large
from anonkit.published.aggregates import (
    OTHER,
    AddedColumn,
    AggregateFigure,
    Aggregates,
    AggregateTable,
    GroupColumn,
    MeasuredQuantity,
    Statistic,
    parts_of,
)
from anonkit.published.noisy_tables import LAPLACE
from anonkit.published.statements.noise_statement import Draw
from anonkit.report.blocks import ReportColumn, column_entry

MOST_CELLS = 1 << 22
"""Numbers of all measurements together."""
FIXED = ("table", "of", "statistic", "value", "low", "high")
"""Columns that every tidy table has; a column by which tables are divided has another name."""
_KINDS = {
    Statistic.COUNT: MeasuredQuantity.COUNTS,
    Statistic.SUM: MeasuredQuantity.SUM,
    Statistic.MEAN: MeasuredQuantity.HALVES,
    Statistic.QUANTILE: MeasuredQuantity.POINTS,
}


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A measurement that is going to be made."""

    kind: MeasuredQuantity
    by: tuple[GroupColumn, ...]
    of: NumericAttribute | None
    grid: RoundingGrid | None
    weight: float

    @property
    def cells(self) -> int:
        """Number of groups."""
        return math.prod(column.domain.size for column in self.by)

    @property
    def numbers(self) -> int:
        """Number of values that get noise."""
        return self.cells * parts_of(self.kind, self.grid)

    @property
    def query(self) -> ModelQuery:
        """Query of all values together."""
        if self.grid is None or self.kind is MeasuredQuantity.POINTS:
            return Table()
        kind = PlaceHalves if self.kind is MeasuredQuantity.HALVES else PlaceSum
        return kind(low=self.grid.low, high=self.grid.high)

    @property
    def share(self) -> Fraction:
        """Its share of the budget against that of others: the square root of its groups, times its weight."""
        return Fraction(self.weight * math.sqrt(self.cells))

    @property
    def purpose(self) -> str:
        """Purpose of the draw, in words."""
        what = {
            MeasuredQuantity.COUNTS: "counts",
            MeasuredQuantity.SUM: "sum",
            MeasuredQuantity.HALVES: "sum and count",
            MeasuredQuantity.POINTS: "histogram",
        }
        of = "" if self.of is None else f" of {self.of.name}"
        by = "".join(f"{' by' if at == 0 else ' x'} {column.name}" for at, column in enumerate(self.by))
        return f"{what[self.kind]}{of}{by}"


@dataclass(frozen=True, kw_only=True)
class AggregatePlan:
    """All measurements and tables of a release: public facts alone."""

    measurements: tuple[Planned, ...]
    tables: tuple[AggregateTable, ...]

    @property
    def columns(self) -> tuple[GroupColumn, ...]:
        """All columns by which tables are divided, sorted by name."""
        columns = {column.name: column for planned in self.measurements for column in planned.by}
        return tuple(columns[name] for name in sorted(columns))

    @property
    def numbers(self) -> tuple[AddedColumn, ...]:
        """All columns that are added up, sorted by name."""
        numbers = {planned.of.name: planned.of for planned in self.measurements if planned.of is not None}
        return tuple(
            AddedColumn(
                name=name,
                bounds=numbers[name].bounds,
                has_missing=numbers[name].has_missing,
                values=numbers[name].values,
            )
            for name in sorted(numbers)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read, sorted by name."""
        return tuple(sorted({column.name for column in self.columns} | {column.name for column in self.numbers}))

    def draws(self, units: int) -> tuple[Draw, ...]:
        """Return the lines of the account for a row that may lose so many units of 2**-52."""
        parts = shares(units, [planned.share for planned in self.measurements])
        return tuple(
            Draw(
                name=planned.purpose,
                law=LAPLACE,
                rate=rate_within(part, sensitivity_of(planned.query)),
                query=planned.query,
            )
            for planned, part in zip(self.measurements, parts, strict=True)
        )


def planned(requests: Sequence[Request], policy: Policy, *, bins: int, points: int) -> AggregatePlan:
    """Plan what is measured; without requests the counts of every column by itself.

    Parameters
    ----------
    requests : sequence of Request
    policy : Policy
    bins : int
        Equal bins of a number by which a table is divided.
    points : int
        Places at most of the grid of a number whose quantiles are requested.

    Raises
    ------
    PolicyError
        A column is not in the table, is not released, has no public domain, or is no number where one is added up.
    ParameterError
        There would be too many cells.
    """
    queries = requests or [Request(statistic=Statistic.COUNT, by=(name,)) for name in _released(policy)]
    if not queries:
        raise PolicyError("no column is declared that could be counted", "`anonkit init` drafts a policy")
    names = sorted({name for request in queries for name in (*request.by, *([request.of] if request.of else []))})
    declared = {name: _attribute(name, policy) for name in names}
    groups = {name: _group(declared[name], bins) for request in queries for name in request.by}
    wanted = [_wanted(request, groups, declared, points) for request in queries]
    measured, hosts = _shared(wanted)
    weights = [0.0] * len(measured)
    for own, host in zip(wanted, hosts, strict=True):
        weights[host] = max(weights[host], own.weight)
    plan = AggregatePlan(
        measurements=tuple(replace(each, weight=weight) for each, weight in zip(measured, weights, strict=True)),
        tables=tuple(
            AggregateTable(
                name=request.table,
                statistic=request.statistic,
                by=request.by,
                of=request.of,
                levels=request.levels,
                weight=request.weight,
                measured=host,
            )
            for request, host in zip(queries, hosts, strict=True)
        ),
    )
    if sum(each.numbers for each in plan.measurements) > MOST_CELLS:
        raise ParameterError(
            f"the tables would have more than {MOST_CELLS:,} cells with noise",
            "fewer columns at a time, fewer or broader categories, or fewer bins",
        )
    return plan


def _released(policy: Policy) -> list[str]:
    return sorted(policy.names(Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.TARGET))


def _attribute(name: str, policy: Policy) -> PublicAttribute:
    """Return the public domain of a requested column; a target is a column as any other here."""
    column: Column | None = policy.columns.get(name)
    if column is None:
        hint = did_you_mean(name, policy.columns) if policy.columns else "`anonkit init` drafts a policy"
        raise PolicyError(f"column {name!r} of an aggregate is not in the table, or not declared", hint)
    if column.role not in (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.TARGET):
        raise PolicyError(
            f"column {name!r} of an aggregate has role {column.role}: it is not released",
            "quasi-identifiers, sensitive attributes and the target can be counted and added up",
        )
    if column.role is Role.TARGET:
        column = replace(column, role=Role.QUASI_IDENTIFIER)
    return public_attribute(column, policy.missing)


def _group(attribute: PublicAttribute, bins: int) -> GroupColumn:
    if attribute.name in FIXED:
        raise PolicyError(
            f"a table cannot be divided by a column called {attribute.name!r}, which the tidy table has itself",
            "rename it in the source",
        )
    if isinstance(attribute, NumericAttribute):
        return GroupColumn(name=attribute.name, domain=attribute.grid(bins))
    if OTHER in attribute.domain.values:
        raise PolicyError(
            f"column {attribute.name!r} declares a category {OTHER!r}, which is what missing cells are called",
            "give the category another name",
        )
    return GroupColumn(name=attribute.name, domain=attribute.domain)


def _wanted(
    request: Request, groups: Mapping[str, GroupColumn], declared: Mapping[str, PublicAttribute], points: int
) -> Planned:
    """Return the measurement that a request would need by itself."""
    kind, by = _KINDS[request.statistic], tuple(groups[name] for name in request.by)
    if request.of is None:
        return Planned(kind=kind, by=by, of=None, grid=None, weight=request.weight)
    of = declared[request.of]
    if not isinstance(of, NumericAttribute):
        raise PolicyError(
            f"column {of.name!r} is no number with public bounds: it has no {request.statistic}",
            "bounds = [low, high] in the policy, or count it",
        )
    is_points = kind is MeasuredQuantity.POINTS
    grid = RoundingGrid.of_points(*of.bounds, points, of.values) if is_points else RoundingGrid.fine(*of.bounds)
    return Planned(kind=kind, by=by, of=of, grid=grid, weight=request.weight)


def _shared(wanted: Sequence[Planned]) -> tuple[list[Planned], list[int]]:
    """Return the measurements that the others can be added up from, and for each the one that it is read off.

    That is the one with the fewest cells, the first of several. A table has few columns, so that all that can be added
    up from it are named: the time is linear in the number of tables.
    """
    own = [(each.kind, *_names(each)) for each in wanted]
    within = {part for each in {*own} for part in _sums_of(*each) if part != each}
    at_of = {each: at for at, each in reversed([*enumerate(own)]) if each not in within}
    measured = [wanted[at] for at in sorted(at_of.values())]
    hosts: dict[_Wanted, int] = {}
    for at in sorted(range(len(measured)), key=lambda at: (measured[at].cells, at)):
        for part in _sums_of(measured[at].kind, *_names(measured[at])):
            hosts.setdefault(part, at)
    return measured, [hosts[each] for each in own]


_Wanted = tuple[MeasuredQuantity, str | None, frozenset[str]]


def _names(planned: Planned) -> tuple[str | None, frozenset[str]]:
    return None if planned.of is None else planned.of.name, frozenset(column.name for column in planned.by)


def _sums_of(kind: MeasuredQuantity, of: str | None, names: frozenset[str]) -> Iterator[_Wanted]:
    """Yield all that can be added up from a measurement, itself included: sums from the halves of a mean, too."""
    for size in range(len(names) + 1):
        for some in itertools.combinations(sorted(names), size):
            yield kind, of, frozenset(some)
            if kind is MeasuredQuantity.HALVES:
                yield MeasuredQuantity.SUM, of, frozenset(some)


_MEANING = {
    "table": "name of the table",
    "of": "column that is added up",
    "statistic": "what the value is",
    "value": "with noise, unbiased for counts and sums",
    "low": "lower end of the interval",
    "high": "upper end of the interval",
}


def tidy_table(aggregates: Aggregates, lines: Sequence[AggregateFigure]) -> pa.Table:
    """Return the lines as a table; a column by which a table is not divided is empty in its lines."""
    groups: dict[str, dict[int, str]] = {column.name: {} for column in aggregates.columns}
    for at, line in enumerate(lines):
        for name, group in line.groups.items():
            groups[name][at] = group
    texts = {
        "table": dict(enumerate(line.table for line in lines)),
        **groups,
        "of": {at: line.of for at, line in enumerate(lines) if line.of is not None},
        "statistic": dict(enumerate(line.statistic for line in lines)),
    }
    numbers = {name: [getattr(line, name) for line in lines] for name in ("value", "low", "high")}
    return pa.table(
        {
            **{name: _coded(cells, len(lines)) for name, cells in texts.items()},
            **{name: pa.array(cells, pa.float64()) for name, cells in numbers.items()},
        }
    )


def _coded(cells: Mapping[int, str], n_lines: int) -> pa.DictionaryArray:
    """Return a column by the lines in which it is not empty: of thousands of columns each is in a few."""
    named = pa.array(cells.values(), pa.string()).dictionary_encode()
    codes, empty = np.zeros(n_lines, dtype=np.int32), np.ones(n_lines, dtype=bool)
    at = np.fromiter(cells, dtype=np.int64, count=len(cells))
    codes[at], empty[at] = named.indices.to_numpy(), False
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=empty), named.dictionary)


def described_columns(aggregates: Aggregates) -> list[dict[str, Any]]:
    """Return the description of the columns of the tidy table, for the params."""
    groups = [{**column.to_params(), "shows": "group"} for column in aggregates.columns]
    first, *rest = FIXED
    return [_fixed(first), *groups, *map(_fixed, rest)]


def _fixed(name: str) -> dict[str, Any]:
    return {"name": name, "type": "number" if name in ("value", "low", "high") else "category", "shows": _MEANING[name]}


def column_entries(policy: Policy, aggregates: Aggregates, added_up: Sequence[str]) -> list[ReportColumn]:
    """Return the `columns` block of the report.

    Parameters
    ----------
    policy : Policy
    aggregates : Aggregates
    added_up : sequence of str
        Columns of which sums, means or quantiles are published.
    """
    own = {column["name"]: _fixed_entry(column["name"]) for column in described_columns(aggregates)}
    sizes = {column.name: column.domain.size for column in aggregates.columns}
    others: list[ReportColumn] = []
    for name, column in policy.columns.items():
        entry = column_entry(
            name, str(column.role), "synthesized" if name in sizes else "dropped", is_sensitive=column.is_sensitive
        )
        if name in sizes:
            own[name] = {**entry, "released_values": sizes[name]}
        elif name in added_up:
            others.append({**entry, "reason": "only sums, means or quantiles of it are published, with noise"})
        elif column.role in (Role.IDENTIFIER, Role.UNIT):
            others.append({**entry, "reason": "identifiers are never released"})
        else:
            others.append({**entry, "reason": "it is in no requested table"})
    return [*own.values(), *others]


def _fixed_entry(name: str) -> ReportColumn:
    return {"name": name, "role": "insensitive", "action": "synthesized", "reason": _MEANING.get(name, "")}


def cell_sums(source: Source, engine: Engine, plan: AggregatePlan, keep: NDArray[np.bool_] | None) -> list[IntArray]:
    """Return the true values of each measurement, shape (n_cells, parts) each.

    Parameters
    ----------
    source : Source
    engine : Engine
        Adds them up where the rows are, when these do not fit into memory.
    plan : AggregatePlan
    keep : bool array, optional
        Rows that are used; all when None.

    Raises
    ------
    PolicyError
        A column with bounds is of a type that holds no numbers.
    GuaranteeError
        A row was counted more or less often than it is charged for; the code is wrong then.

    Privacy
    -------
    Exact sums of the source: to be noised before anything else.
    """
    refuse_kinds(source.schema, [each.of.name for each in plan.measurements if each.of is not None])
    add = CellSums(plan)
    if keep is None and is_too_large(source, engine):
        flat = engine.add_up(source, add, list(plan.names), add.size)
    else:
        flat, read = np.zeros(add.size, dtype=np.int64), 0
        for batch in source.batches(list(plan.names)):
            used = batch if keep is None else batch.filter(pa.array(keep[read : read + batch.num_rows]))
            flat, read = flat + add(used, read), read + batch.num_rows
    n_rows = source.n_rows if keep is None else int(keep.sum())
    return [_not_too_many(sums, each, n_rows) for sums, each in zip(add.divided(flat), plan.measurements, strict=True)]


def _not_too_many(sums: IntArray, measured: Planned, n_rows: int) -> IntArray:
    """Return sums; refuse those that more rows went into than there are, or that a row went into in parts."""
    if measured.kind is MeasuredQuantity.COUNTS:
        refuse_other_totals(measured.purpose, int(sums.sum()), n_rows)
    if measured.kind is MeasuredQuantity.POINTS:
        refuse_other_totals(measured.purpose, min(int(sums.sum()), n_rows), int(sums.sum()))
    if measured.kind is MeasuredQuantity.HALVES and measured.grid is not None:
        whole, rest = divmod(int(sums.sum()), measured.grid.steps)
        refuse_other_totals(measured.purpose, rest + max(whole - n_rows, 0), 0)
    return sums


@dataclass(frozen=True)
class CellSums:
    """Batch function that adds up the contributions of the rows of a batch to each measurement, flat, in order.

    Privacy
    -------
    What a row adds is a function of its own cells and of the plan, in integers: exact in any order.
    """

    plan: AggregatePlan

    @property
    def size(self) -> int:
        """Number of values it returns."""
        return sum(each.numbers for each in self.plan.measurements)

    def __call__(self, batch: pa.RecordBatch, row: int) -> IntArray:
        """Return the sums, shape (size,)."""
        columns = {
            column.name: codes_of_cells(batch, column.name, column.domain).astype(np.int64)
            for column in self.plan.columns
        }
        numbers: dict[str, FloatArray] = {}
        parts = []
        for each in self.plan.measurements:
            cells = np.zeros(batch.num_rows, dtype=np.int64)
            for column in each.by:
                cells = cells * column.domain.size + columns[column.name]
            if each.of is not None and each.of.name not in numbers:
                numbers[each.of.name] = _numbers(batch, each.of)
            parts.append(_sums(each, cells, None if each.of is None else numbers[each.of.name]))
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def divided(self, flat: NDArray[np.int64]) -> list[IntArray]:
        """Return the part of each measurement, shape (n_cells, parts) each."""
        ends = np.cumsum([each.numbers for each in self.plan.measurements])
        return [
            sums.reshape(each.cells, parts_of(each.kind, each.grid))
            for sums, each in zip(np.split(flat, ends[:-1]), self.plan.measurements, strict=True)
        ]


def _numbers(batch: pa.RecordBatch, of: NumericAttribute) -> FloatArray:
    """Return the numbers of a column within its bounds, NaN for missing; the lower bound where nothing can be missing.

    So do the codes of a domain without missing (`anonkit.domains.cell_values`). In a column of multiples of a step,
    such as integers, a cell that is none counts as the nearest.
    """
    numbers = numbers_of_cells(batch, of.name, of.bounds)
    if of.values is not None:
        numbers = of.values.nearest(numbers)
    return numbers if of.has_missing else np.where(np.isnan(numbers), of.bounds[0], numbers)


def _sums(measured: Planned, cells: Codes, numbers: FloatArray | None) -> IntArray:
    grid = measured.grid
    if numbers is None or grid is None:
        return np.bincount(cells, minlength=measured.cells).astype(np.int64)
    present: BoolArray = ~np.isnan(numbers)
    at, steps = cells[present], grid.rounded(numbers[present])
    if measured.kind is MeasuredQuantity.POINTS:
        places = at * grid.places + steps - grid.low
        return np.bincount(places, minlength=measured.numbers).astype(np.int64)
    if measured.kind is MeasuredQuantity.SUM:
        return _added(measured.cells, at, steps)
    halves: list[Any] = [_added(measured.cells, at, part) for part in (steps - grid.low, grid.high - steps)]
    return np.stack(halves, axis=1).reshape(-1)


def _added(size: int, cells: Codes, steps: IntArray) -> IntArray:
    """Return the sum of steps in each cell, in integers: sums of floats would depend on the order of rows."""
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, cells, steps)
    return total
