# SPDX-License-Identifier: Apache-2.0
"""The public rule of dp-marginals: its constants, the shares of epsilon, and the errors that it expects of a plan.

A plan is a view (all columns alike, or split by the classes of the target) and a number of pairs. What it costs in
noise follows from epsilon, from the number of rows (public, or counted with noise) and from the sizes of the domains,
with shares that fall like 1 / j in place of those of the values. What it gains depends on the table and is read with
noise, where a reading can pay. Constants were chosen on 33 tables, none of them Adult.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from anonkit.domains.array_types import FloatArray
from anonkit.dp_trees.marginals.column_layout import Pair
from anonkit.dp_trees.marginals.left_loss import Amount
from anonkit.published.noisy_tables import LAPLACE

ROWS_SHARE = Fraction(1, 100)
"""Share of epsilon for the noisy count of the rows, when their number is not public."""
MOST_NOISE = 0.3
"""Expected distance of independent columns from which on nothing else is looked at."""
FREE_SPLIT = 0.003
"""Expected distance that splitting by the target may cost without a look at whether it pays."""
SPLIT_RATIO = 3.0
"""Dependence on the target that pays for a split, in its cost."""
MOST_SPLIT_NEED = 0.06
"""Dependence on the target beyond which it is not worth asking for."""
SPLIT_CLARITY = 3.0
"""How much larger than its noise the dependence that is asked for must be."""
READING_SHARE = 0.05
"""Share of epsilon for a reading at most."""
READING_PRICE = 0.004
"""What a reading may cost the columns at most, as a distance."""
READING_ROWS = 2000.0
"""Epsilon of the reading of a gain times the rows at most: more of it tells no more."""
GAIN_SCALES = 2.0
"""Scales of its noise that a gain must reach."""
MOST_DROP = 0.07
"""Expected loss by pairs, were there nothing to gain, above which a gain is not asked for."""
FULL_TREE_NOISE = 0.02
"""Expected loss by noise up to which all columns are joined; above it half of the pairs are measured."""
EDGE_SHARE = 0.03
"""Share of what is left for the choices of pairs."""
COLUMN_WEIGHT = 0.5
"""Weight of a column in the division of what is left."""
RARE_DEVIATIONS = 4.0
"""Values with a noisy count below so many standard deviations are counted together in pairs."""
NOISE_TAKEN_OFF = 0.5
"""Part of the expected noise of a table that is taken off the score of its pair."""
COMPONENTS = 200
"""Components of the mixture of a class at most."""
ROWS_A_COMPONENT = 10
"""Rows of a class for each of its components at least."""
FIT_STEPS = (40, 60)
"""Steps of the fit of the mixture at most, to all pairs as they follow and to noisy tables; at least half of them."""
FIT_WORK = 1 << 23
"""Steps times pairs of values, about, where that is more than half of the steps."""
COMPLETION_ROUNDS = 3
"""How often the completion of pairs goes through those that were measured again, when all of them are."""
MOST_VALUE_PAIRS = 1 << 21
"""Pairs of values of all columns times classes that a mixture is fitted to at most."""
UNMEASURED_WEIGHT = 2.0
"""Weight of a pair that was not measured in the fit, where the pair that is known best has 1."""
MOST_SPLIT_CLASSES = 16
"""Classes of a target that splits tables at most."""
FURTHER_NOISE = 0.008
"""Expected distance by noise at which as many pairs beside the tree are measured as there are columns."""
GAUSSIAN_FURTHER_NOISE = 0.016
"""The same under Gaussian noise, which grows with the root of the number of tables only."""
MOST_FURTHER = 2.0
"""Pairs beside the tree for each column at most; below a half there are none."""
_CELL, _PAIR_CELL, _PATH, _MODEL = 0.8, 0.5, 0.3, 0.8


def column_weights(sizes: Sequence[int], law: str) -> list[float]:
    """Return how tables of columns share what a row may lose: the least noise over all of their cells in sum.

    The noise of a table falls like 1 / epsilon, or like 1 / the root of rho: so does its weight rise, like the root of
    its cells, or like the root of their square's cube root.
    """
    return [math.sqrt(size) if law == LAPLACE else size ** (2 / 3) for size in sizes]


def stage_shares(sizes: Sequence[int], classes: int, edges: int, law: str = LAPLACE) -> tuple[float, float, float]:
    """Return the shares of tables of columns, of choices of edges, and of tables of edges.

    Parameters
    ----------
    sizes : sequence of int
        Values of each column.
    classes : int
        Classes that split the tables; 1 where none do.
    edges : int
        Pairs of the forest; 0: all of it is for the columns.
    law : {"discrete-laplace", "discrete-gaussian"}
        What is shared: epsilon, or rho.
    """
    if not edges:
        return 1.0, 0.0, 0.0
    count, roots = len(sizes), column_weights(sizes, law)
    if law == LAPLACE:
        columns = COLUMN_WEIGHT * math.sqrt(count - 1) * math.sqrt(classes) * sum(roots)
        pair = math.sqrt(classes) * ((sum(roots) ** 2 - sum(sizes)) / (count * (count - 1)))
    else:  # the classes split all tables alike
        columns = (COLUMN_WEIGHT**2 * (count - 1)) ** (2 / 3) * sum(roots)
        pair = (sum(roots) ** 2 - sum(root * root for root in roots)) / (count * (count - 1))
    pairs = edges * pair
    left = 1 - EDGE_SHARE
    return left * columns / (columns + pairs), EDGE_SHARE, left * pairs / (columns + pairs)


def divided(edges: int, further: int) -> tuple[int, int]:
    """Return how many pairs are chosen at once, as a forest, and how many after that, one by one, each by all before.

    Parameters
    ----------
    edges : int
        Pairs of the forest that the plan was forecast with.
    further : int
        Pairs that it can afford beside it.
    """
    at_once = (edges + 1) // 2
    return at_once, edges - at_once + further


def pair_shares(choices: float, tables: float, at_once: int, later: int) -> tuple[float, float, float, float]:
    """Return the shares of choices and tables of the pairs at once, and of those after them: each pair has as much."""
    part = later / max(at_once + later, 1)
    return choices * (1 - part), tables * (1 - part), choices * part, tables * part


@dataclass(frozen=True, kw_only=True, eq=False)
class Forecast:
    """The error that is expected of plans of one view, as the mean over pairs of sums of absolute differences.

    Where there are no pairs it is the mean over columns.
    """

    sizes: tuple[int, ...]
    """Values of each column of the view."""
    classes: int
    """Classes that split its tables; 1 where none do."""
    pairs: tuple[Pair, ...]
    """Pairs of columns that may be measured."""
    rows: float
    """Number of rows, public or noisy; at least 1."""
    targets: bool = field(default=False)
    """True where the pairs with a target that splits the tables count too."""

    @cached_property
    def _ends(self) -> tuple[list[int], list[int]]:
        return [first for first, _ in self.pairs], [second for _, second in self.pairs]

    def _falling(self, column: int) -> FloatArray:
        """Return the public stand-in for the rows of the values of a column."""
        ranks = 1 / np.arange(1, self.sizes[column] + 1)
        return np.asarray(self.rows * ranks / ranks.sum())

    def column_noise(self, edges: int, amount: Amount) -> FloatArray:
        """Return the expected error of each column, shape (n_columns,)."""
        share, _, _ = stage_shares(self.sizes, self.classes, edges, amount.law)
        weights = column_weights(self.sizes, amount.law)
        cell = _CELL * math.sqrt(self.classes)
        scales = [cell * amount.noise(share * weight / sum(weights)) for weight in weights]
        return np.array([np.minimum(scale, self._falling(at)).sum() for at, scale in enumerate(scales)])

    def table_noise(self, scale: float) -> FloatArray:
        """Return the expected error of the table of each pair at a scale of noise, shape (n_pairs,)."""
        most = _PAIR_CELL * scale * math.sqrt(self.classes)
        falling = [self._falling(column) for column in range(len(self.sizes))]
        return np.array([np.minimum(most, np.outer(falling[a], falling[b]) / self.rows).sum() for a, b in self.pairs])

    def error(self, edges: int, amount: Amount, gains: FloatArray | None = None) -> float:
        """Return the expected error of a plan.

        Parameters
        ----------
        edges : int
            Pairs of the forest; 0: columns alone.
        amount : Amount
            For all tables and choices.
        gains : float array, shape (n_pairs,), optional
            Error of independence of each pair; none without.

        Notes
        -----
        Changes no faster than the mean of `gains`: of each pair the error is the root of a sum of squares of which
        one is that of its gain times a factor of at most 1, and the least sum over all forests of so many edges is a
        minimum of such sums. The greedy choice of edges by what they save finds it: forests of so many edges are the
        bases of a matroid.
        """
        noise = self.column_noise(edges, amount)
        if not self.pairs:
            return float(noise.mean())
        first, second = self._ends
        columns = np.minimum(noise[first] + noise[second], 2 * self.rows)
        known = np.zeros(len(self.pairs)) if gains is None else gains
        extra, number = (float(noise.sum()), len(self.sizes)) if self.targets else (0.0, 0)
        if not edges:
            return float((np.hypot(known, columns).sum() + extra) / (len(self.pairs) + number))
        tables = self.table_noise(amount.noise(stage_shares(self.sizes, self.classes, edges, amount.law)[2] / edges))
        joined = edges / (len(self.sizes) - 1)
        model = 1 - (1 - _MODEL) * joined**2
        without = np.sqrt((model * known) ** 2 + columns**2 + (_PATH * joined * tables.mean()) ** 2)
        saved = without - np.hypot(tables, columns)
        return float((without.sum() - self._best(saved, edges) + extra) / (len(self.pairs) + number))

    def _best(self, saved: FloatArray, edges: int) -> float:
        """Return the largest sum over the edges of a forest of so many."""
        part, total, left = list(range(len(self.sizes))), 0.0, edges
        for at in np.argsort(-saved, kind="stable").tolist():
            one, other = (part[column] for column in self.pairs[at])
            if one != other and left:
                part = [one if own == other else own for own in part]
                total += float(saved[at])
                left -= 1
        return total

    def further(self, edges: int, amount: Amount) -> int:
        """Return how many pairs beside a tree of so many edges are worth their noise; more of them the less it is."""
        columns = len(self.sizes)
        if edges < max(columns - 1, 1):
            return 0
        noise = FURTHER_NOISE if amount.law == LAPLACE else GAUSSIAN_FURTHER_NOISE
        a_column = min(MOST_FURTHER, noise / self.distance(edges, amount))
        return min(round(a_column * columns), len(self.pairs) - edges) if a_column >= 0.5 else 0

    def distance(self, edges: int, amount: Amount) -> float:
        """Return the expected distance by noise alone, in total variation."""
        return self.error(edges, amount) / 2 / self.rows

    def quietest(self, edges: int, amounts: Sequence[Amount]) -> Amount:
        """Return the amount that is less noise; the first of several that are as much."""
        return min(amounts, key=lambda amount: self.distance(edges, amount))
