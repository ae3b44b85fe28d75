# SPDX-License-Identifier: Apache-2.0
"""Counting queries of columns, pairs and triples of columns by class: integer sums over batches of codes.

The answers are exact counts of the private table: they are compared with public models and noised, and kept nowhere.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from anonkit.domains.array_types import IntArray
from anonkit.dp_trees.marginals.column_layout import ColumnLayout, Pair, Triple
from anonkit.dp_trees.questions import CodedBatch


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
