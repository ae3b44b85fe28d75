# SPDX-License-Identifier: Apache-2.0
"""Exact tables of all columns and pairs of one view of the rows: never published, never compared with anything secret.

One pass counts them split by the classes of the target; the view in which all columns are alike follows by sums.

Counting queries of columns, pairs and triples of columns by class: integer sums over batches of codes.

The answers are exact counts of the private table: they are compared with public models and noised, and kept nowhere.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.dp_trees.grower import refuse_other_totals
from anonkit.dp_trees.marginals.measurement_plan import ColumnLayout, Pair, Triple
from anonkit.dp_trees.questions import CodedBatch, Counter


@dataclass(frozen=True, kw_only=True)
class OneWayCounts:
    """Counts of class by value, one column after the other: what every row adds to. See `questions.RowSums`.

    Privacy
    -------
    A row is in one cell of each table: it changes each by 1 in all (sensitivity 1).
    """

    layout: ColumnLayout

    @property
    def size(self) -> int:
        """Number of counts."""
        return self.layout.classes * int(self.layout.offsets[-1])

    def count(self, batch: CodedBatch) -> IntArray:
        """Return the counts of a batch, shape (size,)."""
        labels, classes = self.layout.labels(batch), self.layout.classes
        tables = [
            np.bincount(labels * size + codes, minlength=classes * size)
            for size, codes in zip(self.layout.sizes, self.layout.codes(batch), strict=True)
        ]
        return np.concatenate(tables).astype(np.int64)

    def split(self, counts: IntArray) -> Iterator[IntArray]:
        """Yield the table of each column, shape (classes, values)."""
        ends = np.cumsum([self.layout.classes * size for size in self.layout.sizes])
        for flat, size in zip(np.split(counts, ends[:-1]), self.layout.sizes, strict=True):
            yield flat.reshape(self.layout.classes, size)


@dataclass(frozen=True, kw_only=True, eq=False)
class _GroupedCounts(ABC):
    """Counts of class by groups of some columns, one table after the other.

    Values of a column are counted in groups, which are public or which earlier noisy tables determine.
    """

    layout: ColumnLayout
    groups: Sequence[IntArray] = field(repr=False)
    """For each column the group of each of its values, shape (values,)."""

    @property
    @abstractmethod
    def shapes(self) -> Sequence[tuple[int, ...]]:
        """Shape of each table; classes come first."""

    @property
    def size(self) -> int:
        """Number of counts."""
        return sum(map(math.prod, self.shapes))

    def _sizes(self) -> list[int]:
        """Return the number of groups of each column."""
        return [int(group.max()) + 1 for group in self.groups]

    def _coded(self, batch: CodedBatch) -> list[IntArray]:
        """Return the group of each row, for each column."""
        return [group[codes] for group, codes in zip(self.groups, self.layout.codes(batch), strict=True)]

    def _tables(self, counts: IntArray) -> Iterator[IntArray]:
        """Yield each table."""
        shapes = self.shapes
        ends = np.cumsum([math.prod(shape) for shape in shapes], dtype=np.int64)
        for flat, shape in zip(np.split(counts, ends[:-1]), shapes, strict=False):  # of no table there is one part
            yield flat.reshape(shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class PairCounts(_GroupedCounts):
    """Counts of class by group by group, one pair after the other. See `questions.RowSums`.

    Privacy
    -------
    A row is in one cell of the table of each pair: it changes each by 1 in all (sensitivity 1).
    """

    pairs: Sequence[Pair] = field(repr=False)
    """Pairs that are counted."""

    @property
    def shapes(self) -> list[tuple[int, int, int]]:
        """Shape of the table of each pair: classes, groups, groups."""
        sizes = self._sizes()
        return [(self.layout.classes, sizes[first], sizes[second]) for first, second in self.pairs]

    def count(self, batch: CodedBatch) -> IntArray:
        """Return the counts of a batch, shape (size,)."""
        labels = self.layout.labels(batch)
        coded, tables = self._coded(batch), []
        above, rows = -1, labels
        for (first, second), (classes, first_groups, second_groups) in zip(self.pairs, self.shapes, strict=True):
            if first != above:  # pairs of one first column are together: class and group are one number for all
                above, rows = first, labels * first_groups + coded[first]
            cells = rows * second_groups
            cells += coded[second]
            tables.append(np.bincount(cells, minlength=classes * first_groups * second_groups))
        return np.concatenate([np.zeros(0, dtype=np.int64), *tables]).astype(np.int64, copy=False)

    def split(self, counts: IntArray) -> dict[Pair, IntArray]:
        """Return the table of each pair, shape (classes, groups, groups)."""
        return dict(zip(self.pairs, self._tables(counts), strict=True))


@dataclass(frozen=True, kw_only=True, eq=False)
class TripleCounts(_GroupedCounts):
    """Counts of class by cell of triples of columns, one after the other. See `questions.RowSums`.

    Privacy
    -------
    A row is in one cell of the table of each triple: it changes each by 1 in all (sensitivity 1).
    """

    triples: Sequence[Triple] = field(repr=False)

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """Shape of the table of each triple: classes, cells."""
        sizes = self._sizes()
        return [(self.layout.classes, sizes[a] * sizes[b] * sizes[c]) for a, b, c in self.triples]

    def count(self, batch: CodedBatch) -> IntArray:
        """Return the counts of a batch, shape (size,)."""
        coded, sizes = self._coded(batch), self._sizes()
        labels, above, tables = self.layout.labels(batch), (-1, -1), []
        rows = labels
        for (first, second, third), (classes, cells) in zip(self.triples, self.shapes, strict=True):
            if (first, second) != above:  # triples of two first columns are together
                above = first, second
                rows = ((labels * sizes[first] + coded[first]) * sizes[second] + coded[second]) * sizes[third]
                size = sizes[third]
            elif sizes[third] != size:
                rows, size = rows // size * sizes[third], sizes[third]
            tables.append(np.bincount(rows + coded[third], minlength=classes * cells))
        return np.concatenate([np.zeros(0, dtype=np.int64), *tables]).astype(np.int64, copy=False)

    def split(self, counts: IntArray) -> Iterator[tuple[Triple, IntArray]]:
        """Yield each triple and its table, shape (classes, cells)."""
        yield from zip(self.triples, self._tables(counts), strict=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class JointCounts(_GroupedCounts):
    """Counts of class by cell of all columns together. See `questions.RowSums`.

    Privacy
    -------
    A row is in one cell of the table: it changes it by 1 (sensitivity 1).
    """

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shape of the table: classes, groups of each column."""
        return [(self.layout.classes, *self._sizes())]

    def count(self, batch: CodedBatch) -> IntArray:
        """Return the counts of a batch, shape (size,)."""
        cells = self.layout.labels(batch)
        for size, codes in zip(self._sizes(), self._coded(batch), strict=True):
            cells = cells * size + codes
        return np.bincount(cells, minlength=self.size).astype(np.int64, copy=False)


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
    """Return the distance of a column from classes of the same shares at each of its values, in rows.

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
