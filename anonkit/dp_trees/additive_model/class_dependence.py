# SPDX-License-Identifier: Apache-2.0
"""How far attributes depend on each other within classes, read with noise: which model pays is chosen by it.

Where attributes are independent within classes, the naive Bayes classifier of their histograms is the best there is:
weights and a tree could add nothing but noise. Whatever is wrong with it shows as a dependence within classes, an
interaction too: given the class, one of its two attributes tells of the other. One pair may depend much, as the two
of an interaction, or many pairs a little, as where one factor stands behind all attributes: both are looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations

import numpy as np

from anonkit.domains.array_types import IntArray
from anonkit.domains.attribute_domains import Grid
from anonkit.dp_trees.counted_once import refuse_other_totals
from anonkit.dp_trees.marginals.column_layout import Layout, Pair
from anonkit.dp_trees.marginals.dependency_tree import STEPS
from anonkit.dp_trees.marginals.exact_tables import error_of_independence
from anonkit.dp_trees.marginals.noisy_readings import Reading, reading_draw
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
_MOST_CELLS_COUNTED = 1 << 21
"""Cells of all pairs together that are counted at once: those of the smallest tables."""
_MANY = 4
"""Pairs of a small dependence that count as one of a large: the sum over as many pairs as would join all attributes is
divided by it. By less, a row would move it further; by more, one factor behind many attributes would not show."""
_CHANCE = 0.4
"""Distance that chance makes of independent rows, times the root of cells over rows: half of the root of 2 / pi."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassDependence:
    """What is read: distances of pairs from independence within classes, where they have rows enough.

    The largest of them, or a quarter of the sum of the largest, one fewer than there are attributes, if that is more.
    """

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
        every = sorted(combinations(range(len(self.groups)), 2), key=self._cells)
        counted = accumulate(map(self._cells, every))
        return tuple(
            sorted(
                pair
                for pair, cells in zip(every, counted, strict=True)
                if self._cells(pair) * _ROWS_A_CELL <= self.rows and cells <= _MOST_CELLS_COUNTED
            )
        )

    @property
    def _summed(self) -> int:
        return min(len(self.groups) - 1, len(self.pairs))

    @property
    def moved(self) -> float:
        """By how many rows one row moves what is read, at most."""
        return 2 * max(1.0, self._summed / _MANY)

    def draw(self, units: int) -> Draw:
        """Return the line of the account, for so many units of 2**-52 of epsilon: two steps more, for rounding."""
        return reading_draw(PURPOSE, units, math.ceil(self.moved * STEPS) + 2)

    def distance(self, counter: Counter) -> float:
        """Return what is read, in rows; 0 where chance explains all.

        Privacy
        -------
        Private: to be read with noise. An error of independence moves by less than 4 when a row comes or goes, half of
        it by less than 2; what chance makes of it is a public number. The sum of the k largest of such numbers is the
        largest of the sums of k of them, and moves by less than 2 k.
        """
        schema = MarginalSchema(
            attributes=self.schema.attributes, target=self.schema.target, classes=self.schema.classes
        )
        counts = PairCounts(layout=Layout(schema=schema, anchored=True), groups=self.groups, pairs=self.pairs)
        distances = [0.0]
        for pair, table in counts.split(counter.sum_up(counts)).items():
            refuse_other_totals("table of a pair", int(table.sum()), counter.n_rows)
            distances.append(max(0.0, error_of_independence(table) / 2 - self.chance(pair)))
        largest = sorted(distances, reverse=True)
        return max(largest[0], math.fsum(largest[: self._summed]) / _MANY)

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
