# SPDX-License-Identifier: Apache-2.0
"""A noisy reading of the dependence of attributes within classes, which decides whether weights and a tree pay.

Where attributes are independent within classes, the naive Bayes classifier of their histograms is the best there is:
weights and a tree could add nothing but noise. Whatever is wrong with it shows as a dependence within classes, an
interaction too: given the class, one of its two attributes depends on the other. One pair may depend much, as the two
of an interaction, or many pairs a little, as where one factor is behind all attributes: the reading covers both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from anonkit.domains.array_types import IntArray
from anonkit.dp_trees.additive_model.class_pairs import ClassPairs
from anonkit.dp_trees.marginals.column_layout import Pair
from anonkit.dp_trees.marginals.dependency_tree import STEPS
from anonkit.dp_trees.marginals.exact_tables import error_of_independence
from anonkit.dp_trees.marginals.noisy_readings import Reading, reading_draw
from anonkit.mechanisms.accounting import AccountedDraw
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.randomness import Randomness

PURPOSE = "dependence within classes"
_MANY = 4
"""Pairs of a small dependence that count as one of a large: the sum over as many pairs as would join all attributes is
divided by it. By less, a row would move it further; by more, one factor behind many attributes would not show."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassDependence(ClassPairs):
    """The statistic of the reading: distances from independence within classes, of pairs with enough rows.

    The largest of them, or a quarter of the sum of the largest, one fewer than there are attributes, if that is more.
    """

    @property
    def _summed(self) -> int:
        return min(len(self.groups) - 1, len(self.pairs))

    @property
    def moved(self) -> float:
        """By how many rows one row moves what is read, at most."""
        return 2 * max(1.0, self._summed / _MANY)

    def draw(self, units: int) -> AccountedDraw:
        """Return the line of the account, for so many units of 2**-52 of epsilon: two steps more, for rounding."""
        return reading_draw(PURPOSE, units, math.ceil(self.moved * STEPS) + 2)

    def distance(self, tables: Mapping[Pair, IntArray]) -> float:
        """Return what is read, in rows; 0 where chance explains all.

        Parameters
        ----------
        tables : mapping
            For each pair its counts, shape (classes, groups, groups).

        Privacy
        -------
        Private: to be read with noise. An error of independence moves by less than 4 when a row comes or goes, half of
        it by less than 2; what chance makes of it is a public number. The sum of the k largest of such numbers is the
        largest of the sums of k of them, and moves by less than 2 k.
        """
        distances = [0.0]
        for pair in self.pairs:
            distances.append(
                max(0.0, error_of_independence(tables[pair]) / 2 - self.rule.chance(self.rule.cells(pair)))
            )
        largest = sorted(distances, reverse=True)
        return max(largest[0], math.fsum(largest[: self._summed]) / _MANY)

    def read(self, draw: AccountedDraw, tables: Mapping[Pair, IntArray], randomness: Randomness) -> Reading:
        """Return the distance with the noise of a draw."""
        return Reading.of(draw, self.distance(tables), UniformStream(randomness.child(PURPOSE)))
