# SPDX-License-Identifier: Apache-2.0
"""Exact tables of all columns and pairs of one view of the rows: never published, never compared with anything secret.

One pass counts them split by the classes of the target; the view in which all columns are alike follows by sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.dp_trees.counted_once import refuse_other_totals
from anonkit.dp_trees.marginals.column_layout import ColumnLayout, Pair
from anonkit.dp_trees.marginals.table_counts import OneWayCounts, PairCounts
from anonkit.dp_trees.questions import Counter


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactTables:
    """Counts of a view.

    Privacy
    -------
    Private: each table is moved by one row in one cell, and is used under noise, or in a private choice, alone.
    """

    layout: ColumnLayout
    columns: tuple[IntArray, ...]
    """Of each column, shape (classes, values)."""
    pairs: Mapping[Pair, IntArray]
    """Of each pair that may be measured, shape (classes, values, values)."""

    @classmethod
    def counted(cls, layout: ColumnLayout, pairs: Sequence[Pair], counter: Counter) -> ExactTables:
        """Count all tables of a view.

        Raises
        ------
        GuaranteeError
            Rows were counted more or less often than they are charged for; the code is wrong then.
        """
        single = OneWayCounts(layout=layout)
        columns = tuple(single.split(counter.sum_up(single)))
        rows = columns[0].sum(axis=1)
        refuse_other_totals("rows used", min(int(rows.sum()), counter.n_rows), int(rows.sum()))
        for table in columns:
            refuse_other_totals("table of a column", table.sum(axis=1), rows)
        double = PairCounts(layout=layout, groups=[np.arange(size) for size in layout.sizes], pairs=pairs)
        tables = double.split(counter.sum_up(double)) if pairs else {}
        for table in tables.values():
            refuse_other_totals("table of a pair", table.sum(axis=(1, 2)), rows)
        return cls(layout=layout, columns=columns, pairs=tables)

    @property
    def class_rows(self) -> IntArray:
        """Rows of each class, shape (classes,)."""
        return np.asarray(self.columns[0].sum(axis=1))

    def pooled(self) -> ExactTables:
        """Return the view in which a target is a column like others, the last; the same where nothing is split."""
        if not self.layout.anchored:
            return self
        layout = replace(self.layout, anchored=False)
        last = len(self.columns)
        together = {pair: table.sum(axis=0, keepdims=True) for pair, table in self.pairs.items()}
        with_target = {(at, last): table.T[np.newaxis] for at, table in enumerate(self.columns)}
        return ExactTables(
            layout=layout,
            columns=(*(table.sum(axis=0, keepdims=True) for table in self.columns), self.class_rows[np.newaxis]),
            pairs=dict(sorted({**together, **with_target}.items())),
        )

    def errors_of_independence(self) -> dict[Pair, float]:
        """Return the error of independence of each pair."""
        return {pair: error_of_independence(table) for pair, table in self.pairs.items()}

    def grouped(self, pair: Pair, groups: Sequence[IntArray]) -> IntArray:
        """Return the table of a pair by groups of values, shape (classes, groups, groups)."""
        first, second = (membership(groups[column]) for column in pair)
        # sums of integers below 2**53: floats represent them exactly
        return np.rint(first.T @ self.pairs[pair].astype(np.float64) @ second).astype(np.int64)


def error_of_independence(table: IntArray) -> float:
    """Return the sum of absolute differences from independence within classes, in rows.

    Parameters
    ----------
    table : int array, shape (classes, values, values)

    Privacy
    -------
    With the margins of the table itself: a row more changes the sum by less than 4. Its own cell moves by 1 less
    its expectation, its row and column by what their expectation moves, all others by a hair (docs/proofs).
    """
    return float(np.abs(table - _independent(table)).sum())


def least_error(table: IntArray) -> float:
    """Return how far the rows of a column are from classes of the same shares at each of its values, in rows.

    The sum of absolute differences between counts and the rows of each value times the shares of the classes, for the
    shares that make it least.

    Parameters
    ----------
    table : int array, shape (classes, values)

    Returns
    -------
    float
        From 0, where the column says nothing of its class, to less than twice the rows.

    Privacy
    -------
    A row more changes the sum by at most 2, whatever the shares: by 1 - p in its own class and value, and by the shares
    of the other classes, 1 - p again. So does its least (docs/proofs). With the shares of the table itself, as in
    `ExactTables.errors_of_independence`, it would be nearly 4: they move too.

    Notes
    -----
    For each class the sum is convex in its share and bends where that is its part of the rows of a value. The shares
    add up to 1: they grow from 0, the pieces of least slope first.
    """
    rows = table.sum(axis=0)
    counts, rows = table[:, rows > 0].astype(np.float64), rows[rows > 0].astype(np.float64)
    bends = counts / rows
    order = np.argsort(bends, axis=1, kind="stable")
    bends = np.pad(np.take_along_axis(bends, order, axis=1), ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1)))
    passed = np.pad(np.cumsum(rows[order], axis=1), ((0, 0), (1, 0)))
    slopes, lengths = (2 * passed - rows.sum()).ravel(), np.diff(bends, axis=1).ravel()
    order = np.argsort(slopes, kind="stable")
    slopes, lengths = slopes[order], lengths[order]
    taken = np.clip(1 - (np.cumsum(lengths) - lengths), 0, lengths)
    return float(rows.sum() + (slopes * taken).sum())


def membership(groups: IntArray) -> FloatArray:
    """Return 1 where a value is in a group, shape (values, groups)."""
    return np.asarray(groups[:, np.newaxis] == np.arange(int(groups.max()) + 1), dtype=np.float64)


def _independent(table: IntArray) -> FloatArray:
    rows = np.maximum(table.sum(axis=(1, 2), keepdims=True), 1)
    return np.asarray(table.sum(axis=2, keepdims=True) * table.sum(axis=1, keepdims=True) / rows)
