# SPDX-License-Identifier: Apache-2.0
"""Tables of pairs of attributes by class: which are looked at, in which groups of values, and how they are counted.

Nothing is published of them but noisy readings and private choices; which tables there are is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anonkit.domains.array_types import IntArray
from anonkit.domains.attribute_domains import Grid
from anonkit.dp_trees.counted_once import refuse_other_totals
from anonkit.dp_trees.marginals.column_layout import ColumnLayout, Pair
from anonkit.dp_trees.marginals.table_counts import PairCounts
from anonkit.dp_trees.questions import Counter
from anonkit.published.marginal_tables import MarginalSchema
from anonkit.published.tree_attributes import Attribute, TreeSchema

MOST_CELLS = 8
"""Cells of a number that are distinguished."""
ROWS_A_CELL = 16
"""Rows for each cell of the table of a pair by class, at least: chance alone makes sparser tables look dependent."""
_MOST_CELLS_COUNTED = 1 << 21
"""Cells of all pairs together that are counted at once: those of the smallest tables."""
CHANCE = 0.4
"""Distance that chance makes of independent rows, times the root of cells over rows: half of the root of 2 / pi."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassPairs:
    """The pairs of attributes that have rows enough for a table by class."""

    schema: TreeSchema
    rows: float
    """Number of rows, public or noisy."""

    @cached_property
    def groups(self) -> tuple[IntArray, ...]:
        """For each attribute the group of each of its codes, shape (codes,)."""
        return tuple(map(groups_of, self.schema.attributes))

    @cached_property
    def sizes(self) -> IntArray:
        """Number of groups of each attribute, shape (attributes,)."""
        return np.array([int(groups.max()) + 1 for groups in self.groups], dtype=np.int64)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs that are looked at, by public facts and the number of rows alone."""
        first, second = np.triu_indices(len(self.groups), 1)
        cells = self.schema.n_classes * self.sizes[first] * self.sizes[second]
        (enough,) = np.nonzero(cells * ROWS_A_CELL <= self.rows)
        smallest = enough[np.argsort(cells[enough], kind="stable")]
        kept = np.sort(smallest[np.cumsum(cells[smallest]) <= _MOST_CELLS_COUNTED])
        return tuple(zip(first[kept].tolist(), second[kept].tolist(), strict=True))

    @property
    def layout(self) -> ColumnLayout:
        """The attributes as columns that the classes split."""
        schema = MarginalSchema(
            attributes=self.schema.attributes, target=self.schema.target, classes=self.schema.classes
        )
        return ColumnLayout(schema=schema, anchored=True)

    def tables(self, counter: Counter) -> dict[Pair, IntArray]:
        """Count the rows of each pair by class, shape (classes, groups, groups), in one pass.

        Privacy
        -------
        Private: a row is in one cell of each table. They are read with noise, or chosen by, alone.
        """
        counts = PairCounts(layout=self.layout, groups=self.groups, pairs=self.pairs)
        tables = counts.split(counter.sum_up(counts))
        for table in tables.values():
            refuse_other_totals("table of a pair", int(table.sum()), counter.n_rows)
        return tables

    def cells(self, pair: Pair) -> int:
        """Return the number of cells of the table of a pair by class."""
        return self.schema.n_classes * int(self.sizes[pair[0]] * self.sizes[pair[1]])

    def chance(self, pair: Pair) -> float:
        """Return what chance makes of the distance of a pair from independence at most, in rows."""
        return CHANCE * math.sqrt(self.cells(pair) * self.rows)


def groups_of(attribute: Attribute, most: int = MOST_CELLS) -> IntArray:
    """Return the group of each code: neighbouring cells of a number together; missing stays apart.

    Parameters
    ----------
    attribute : Attribute
    most : int
        Cells of a number that are distinguished.

    Returns
    -------
    int array, shape (codes,)
        From 0 on; a group of its own for each category.
    """
    codes = np.arange(attribute.codes)
    if not isinstance(attribute.domain, Grid):
        return codes
    cells = attribute.domain.cells
    few = min(cells, most)
    return np.where(codes < cells, np.minimum(codes, cells - 1) * few // cells, few)
