# SPDX-License-Identifier: Apache-2.0
"""Counting queries of columns, pairs and triples of columns by class: integer sums over batches of codes.

The answers are exact counts of the private table: they are compared with public models and noised, and kept nowhere.
"""

from __future__ import annotations

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
class PairCounts:
    """Counts of class by group by group, one pair after the other. See `questions.RowSums`.

    Values of a column are counted in groups, which earlier noisy tables determine.

    Privacy
    -------
    A row is in one cell of the table of each pair: it changes each by 1 in all (sensitivity 1).
    """

    layout: ColumnLayout
    groups: Sequence[IntArray] = field(repr=False)
    """For each column the group of each of its values, shape (values,)."""
    pairs: Sequence[Pair] = field(repr=False)
    """Pairs that are counted."""

    @property
    def shapes(self) -> list[tuple[int, int, int]]:
        """Shape of the table of each pair: classes, groups, groups."""
        sizes = [int(group.max()) + 1 for group in self.groups]
        return [(self.layout.classes, sizes[first], sizes[second]) for first, second in self.pairs]

    @property
    def size(self) -> int:
        """Number of counts."""
        return sum(classes * first * second for classes, first, second in self.shapes)

    def count(self, batch: CodedBatch) -> IntArray:
        """Return the counts of a batch, shape (size,)."""
        labels = self.layout.labels(batch)
        coded = [group[codes] for group, codes in zip(self.groups, self.layout.codes(batch), strict=True)]
        tables = []
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
        shapes = self.shapes
        ends = np.cumsum([np.prod(shape, dtype=np.int64) for shape in shapes])
        parts = np.split(counts, ends[:-1]) if shapes else []
        return {pair: flat.reshape(shape) for pair, flat, shape in zip(self.pairs, parts, shapes, strict=True)}


@dataclass(frozen=True, kw_only=True, eq=False)
class TripleCounts:
    """Counts of class by cell of triples of columns, one after the other. See `questions.RowSums`.

    Privacy
    -------
    A row is in one cell of the table of each triple: it changes each by 1 in all (sensitivity 1).
    """

    layout: ColumnLayout
    groups: Sequence[IntArray] = field(repr=False)
    """For each column the group of each of its values."""
    triples: Sequence[Triple] = field(repr=False)

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """Shape of the table of each triple: classes, cells."""
        sizes = [int(group.max()) + 1 for group in self.groups]
        return [(self.layout.classes, sizes[a] * sizes[b] * sizes[c]) for a, b, c in self.triples]

    @property
    def size(self) -> int:
        """Number of counts."""
        return sum(classes * cells for classes, cells in self.shapes)

    def count(self, batch: CodedBatch) -> IntArray:
        """Return the counts of a batch, shape (size,)."""
        coded = [group[codes] for group, codes in zip(self.groups, self.layout.codes(batch), strict=True)]
        sizes = [int(group.max()) + 1 for group in self.groups]
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
        ends = np.cumsum([classes * cells for classes, cells in self.shapes])
        for triple, shape, flat in zip(self.triples, self.shapes, np.split(counts, ends[:-1]), strict=True):
            yield triple, flat.reshape(shape)
