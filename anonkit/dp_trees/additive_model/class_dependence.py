# SPDX-License-Identifier: Apache-2.0
"""How far two attributes depend on each other within classes, read with noise: which model pays is chosen by it.

Where attributes are independent within classes, the naive Bayes classifier of their histograms is the best there is:
weights and a tree could add nothing but noise. Whatever is wrong with it shows as a dependence within classes, an
interaction too: given the class, one of its two attributes tells of the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from anonkit.domains.array_types import IntArray
from anonkit.domains.attribute_domains import Grid
from anonkit.dp_trees.counted_once import refuse_other_totals
from anonkit.dp_trees.marginals.column_layout import Layout, Pair
from anonkit.dp_trees.marginals.exact_tables import error_of_independence
from anonkit.dp_trees.marginals.noisy_readings import DEPENDENCE_WIDTH, Reading, reading_draw
from anonkit.dp_trees.marginals.table_counts import PairCounts
from anonkit.dp_trees.questions import Counter
from anonkit.mechanisms.accounting import Draw
from anonkit.mechanisms.discrete_laplace import Words
from anonkit.published.marginal_tables import MarginalSchema
from anonkit.published.tree_attributes import Attribute, TreeSchema
from anonkit.randomness import Randomness

PURPOSE = "dependence within classes"
_MOST_CELLS = 8
"""Cells of a number that are told apart."""
_ROWS_A_CELL = 16
"""Rows for each cell of the table of a pair by class, at least: chance alone makes sparser tables look dependent."""
_CHANCE = 0.4
"""Distance that chance makes of independent rows, times the root of cells over rows: half of the root of 2 / pi."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassDependence:
    """What is read: of the pairs that have rows enough the largest distance from independence within classes."""

    schema: TreeSchema
    rows: float
    """Number of rows, public or noisy."""

    @cached_property
    def groups(self) -> tuple[IntArray, ...]:
        """For each attribute the group of each of its codes, shape (codes,)."""
        return tuple(map(_groups, self.schema.attributes))

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs that are looked at, by public facts and the number of rows alone."""
        every = combinations(range(len(self.groups)), 2)
        return tuple(pair for pair in every if self._cells(pair) * _ROWS_A_CELL <= self.rows)

    def draw(self, units: int) -> Draw:
        """Return the line of the account, for so many units of 2**-52 of epsilon."""
        return reading_draw(PURPOSE, units, DEPENDENCE_WIDTH)

    def distance(self, counter: Counter) -> float:
        """Return the largest distance from independence, in rows that would have to move; 0 where chance explains all.

        Privacy
        -------
        Private: to be read with noise. An error of independence moves by less than 4 when a row comes or goes, half of
        it by less than 2; what chance makes of it is a public number, and the largest of several numbers moves no
        further than they do.
        """
        schema = MarginalSchema(
            attributes=self.schema.attributes, target=self.schema.target, classes=self.schema.classes
        )
        counts = PairCounts(layout=Layout(schema=schema, anchored=True), groups=self.groups, pairs=self.pairs)
        largest = 0.0
        for pair, table in counts.split(counter.sum_up(counts)).items():
            refuse_other_totals("table of a pair", int(table.sum()), counter.n_rows)
            largest = max(largest, error_of_independence(table) / 2 - self.chance(pair))
        return largest

    def read(self, draw: Draw, counter: Counter, randomness: Randomness) -> Reading:
        """Return the distance with the noise of a draw."""
        return Reading.of(draw, self.distance(counter), Words(randomness.child(PURPOSE)))

    def chance(self, pair: Pair) -> float:
        """Return what chance makes of the distance of a pair at most, in rows."""
        return _CHANCE * math.sqrt(self._cells(pair) * self.rows)

    def _cells(self, pair: Pair) -> int:
        first, second = (int(self.groups[at].max()) + 1 for at in pair)
        return self.schema.n_classes * first * second


def _groups(attribute: Attribute) -> IntArray:
    """Return the group of each code: neighbouring cells of a number together; missing stays apart."""
    codes = np.arange(attribute.codes)
    if not isinstance(attribute.domain, Grid):
        return codes
    cells = attribute.domain.cells
    few = min(cells, _MOST_CELLS)
    return np.where(codes < cells, np.minimum(codes, cells - 1) * few // cells, few)
