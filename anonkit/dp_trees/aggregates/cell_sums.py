# SPDX-License-Identifier: Apache-2.0
"""Exact integer sums over the rows of a table for planned measurements, in one pass, wherever the rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, Codes, FloatArray, IntArray
from anonkit.domains.domain_codes import codes_of_cells, numbers_of_cells, refuse_kinds
from anonkit.dp_trees.aggregates.tidy_tables import AggregatePlan, Planned
from anonkit.dp_trees.grower import refuse_other_totals
from anonkit.policy.public_domains import NumericAttribute
from anonkit.protocols import Engine, Source, is_too_large
from anonkit.published.aggregates import MeasuredQuantity, parts_of


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

    So do the codes of a domain without missing (`anonkit.domains.domain_codes`). In a column of multiples of a step,
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
