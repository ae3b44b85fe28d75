# SPDX-License-Identifier: Apache-2.0
"""The public rule of dp-marginals: its constants, the shares of epsilon, and the errors that it expects of a plan.

A plan is a view (all columns alike, or split by the classes of the target) and a number of pairs. What it costs in
noise follows from epsilon, from the number of rows (public, or counted with noise) and from the sizes of the domains,
with shares that fall like 1 / j in place of those of the values. What it gains depends on the table and is read with
noise, where a reading can pay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anonkit.budget_rules.spike_rule import GAUSSIAN, LAPLACE, Amount

FloatArray = NDArray[np.float64]
Pair = tuple[int, int]
"""Two columns by number, the lower first."""

# The constants were chosen on 33 tables, none of them Adult, those of readings on Car, breast cancer and fourteen
# others (docs/methods/details/dp_marginals.md, "The rule"); where a comment says so, on others. Those of Gaussian noise
# were set after a look at Adult ("With a delta" there). `python recipes/benchmarks/siblings.py` measures the method.
ROWS_SHARE = Fraction(1, 100)
"""Share of epsilon for the noisy count of the rows, when their number is not public."""
MOST_NOISE = 0.3
"""Expected distance of independent columns from which on nothing else is looked at."""
FREE_SPLIT = 0.008
"""Expected distance that splitting by the target may add, beside that of chance, without a look at whether it pays.
Chosen on simulated tables (`python recipes/benchmarks/split_by_target.py simulated`; "A place for the target" on the
page)."""
FREE_BESIDE_TREE = 0.003
"""The same, chance left out, where one tree of all columns was read to gain, in which the target has a place too."""
SPLIT_RATIO = 3.0
"""Dependence on the target that pays for a split, in its cost."""
SPLIT_SCALES = 2.5
"""Scales of its noise that a dependence on the target must reach."""
SPLIT_FINENESS = 5.0
"""Scales of its noise that what pays for a split has, where epsilon allows: what pays twice over is hardly missed."""
MOST_SPLIT_NEED = 0.3
"""Dependence on the target beyond which it is not worth asking for."""
MOST_SPLIT_NOISE = 0.12
"""Scale of the noise of the reading of it above which the reading is too inaccurate to be taken."""
SPLIT_READING_NOISE = 0.01
"""Scale of the noise of the reading of it, as a distance, below which more epsilon adds nothing."""
READING_SHARE = 0.05
"""Share of epsilon for a reading at most."""
READING_PRICE = 0.004
"""Most cost of the reading of a dependence to the columns, as a distance."""
GAIN_PRICE = 0.002
"""Most cost of the reading of a gain to the columns, as a distance."""
GAIN_NOISE = 0.001
"""Scale of the noise of the reading of a gain, as a distance, below which more epsilon adds nothing."""
MOST_GAIN_NOISE = 0.01
"""Scale above which it is too inaccurate to be taken."""
GAIN_SCALES = 1.5
"""Scales of its noise that a gain must reach."""
FEW_PAIRS = 2
"""Pairs of a second reading, where a forest has more."""
TYPICAL_DEPENDENCE = 0.15
"""Public substitute for the distance of a pair from independence beyond chance, in its rows."""
FULL_TREE_NOISE = 0.02
"""Expected loss by noise up to which all columns are joined; above it half of the pairs are measured."""
EDGE_SHARE = 0.03
"""Share of what is left for the choices of pairs."""
COLUMN_WEIGHT = 0.5
"""Weight of a column in the division of what is left."""
RARE_DEVIATIONS = 4.0
"""Values with a noisy count below so many standard deviations are counted together in pairs."""
MISSING_DEVIATIONS = 2.0
"""Missing has a group of its own from so many on: its few cells are counted by all tables of the column then."""
NOISE_TAKEN_OFF = 0.5
"""Part of the expected noise of a table that is taken off the score of its pair."""
COMPONENTS = 300
"""Components of the mixture of a class at most."""
ROWS_A_COMPONENT = 10
"""Rows of a class for each of its components at least."""
FIT_STEPS = (40, 60)
"""Steps of the fit of the mixture at most, to all pairs as they follow and to noisy tables; at least half of them."""
FIT_WORK = 1 << 23
"""Steps times pairs of values, about, where that is more than half of the steps."""
COMPLETION_ROUNDS = 3
"""Passes of the completion of pairs through those that were measured again, when all of them are."""
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
GAUSSIAN_SPLIT_NOISE = 0.03
"""Expected distance by Gaussian noise of a full tree split by the target, above which one tree of all columns is read
for too: it measures the target's own pairs where they matter."""
SPLIT_COST_REPAID = 0.5
"""Part of what a split by the target costs, above which the gain of such a tree is taken at once."""
THROUGH_TARGET = 1.2
"""Gain of a pair of columns by a split, in the product of how far each depends on the target."""
PATHS = {LAPLACE: 0.5, GAUSSIAN: 0.7}
"""Gain of a tree beside that of its own pairs, as a part of that, by the law of noise: pairs follow along it."""
GAUSSIAN_COST = 0.4
"""Part of what pairs are expected to cost the columns that they do cost under Gaussian noise: their tables show the
columns too."""
FURTHER_GAIN = 0.01
"""Gain of the forest, as it was read, from which on there are pairs beside it."""
MOST_FURTHER = 2.0
"""Pairs beside the tree for each column at most; below a half there are none."""
SPEAKING_SCALES = 1.0
"""Scales of its noise beyond chance from which on a dependence on the target, too little for a split, earns a pair."""
MOST_TIE_NOISE = 0.2
"""Expected distance by noise of the table of a pair up to which a target that splits no tables has one at least."""
TIE_SHARE = 0.1
"""Share of what is left for that pair at most: one half for its choice, one for its table."""
TIE_PRICE = 0.006
"""Most cost of that pair to the columns, as a distance; its table gives a part of it back."""
_CELL, _PAIR_CELL, _PATH, _CHANCE = 0.8, 0.5, 0.3, 0.8


def dependence_share(noise: float, cost: float, amount: float) -> tuple[float, float]:
    """Return the share of epsilon for the reading of a dependence, and the scale of its noise as a distance.

    No more than makes the noise small beside what the cost of the split asks for.

    Parameters
    ----------
    noise : float
        Expected distance of the columns alone.
    cost : float
        Expected distance that splitting by the target costs.
    amount : float
        epsilon times rows.
    """
    enough = 1 / amount / max(SPLIT_RATIO * cost / SPLIT_FINENESS, SPLIT_READING_NOISE)
    share = min(READING_SHARE, READING_PRICE / noise, enough)
    return share, 1 / (share * amount)


def column_weights(sizes: Sequence[int], law: str) -> list[float]:
    """Return the shares of a row's loss for tables of columns: the least noise over all of their cells in sum.

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


def tie_share(noise: float) -> float:
    """Return the share of what is left for a pair of the target, where no pairs were read to gain.

    Parameters
    ----------
    noise : float
        Expected distance of the columns alone.
    """
    return min(TIE_SHARE, TIE_PRICE / noise)


def divided(edges: int, further: int) -> tuple[int, int]:
    """Return the number of pairs that are chosen at once, as a forest, and of those after that, each by all before.

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


@dataclass(frozen=True, kw_only=True)
class Stages:
    """The pairs that are measured, and the division of what may be lost among columns and pairs."""

    at_once: int
    """Pairs of the forest that is chosen at once."""
    later: int
    """Pairs that are chosen one by one after it."""
    weights: tuple[float, float, float, float, float]
    """Of tables of columns, choices at once, their tables, later choices, their tables."""


def stages_of(sizes: Sequence[int], classes: int, edges: int, further: int, law: str, tie: float = 0.0) -> Stages:
    """Return the division of what may be lost.

    Parameters
    ----------
    sizes, classes, edges, law
        As for `stage_shares`.
    further : int
        Pairs beside the forest.
    tie : float
        Share of a pair with the target that is the only one and was not read to gain; else 0.
    """
    columns, choice, tables = stage_shares(sizes, classes, edges, law)
    if tie:
        columns, choice, tables = 1 - tie, tie / 2, tie / 2
    at_once, later = divided(edges, further)
    return Stages(at_once=at_once, later=later, weights=(columns, *pair_shares(choice, tables, at_once, later)))


def pairs_fit(sizes: Sequence[int], classes: int) -> bool:
    """Return True if the tables of all pairs of columns fit into memory, for every class."""
    return classes * sum(sizes) ** 2 <= MOST_VALUE_PAIRS


def splits_tables(classes: int) -> bool:
    """Return True if a target of so many classes may split all tables."""
    return 2 <= classes <= MOST_SPLIT_CLASSES


def forest_of(pairs: Sequence[Pair], n_columns: int) -> list[Pair]:
    """Return the pairs that join two parts of the columns which those before them leave apart."""
    component = list(range(n_columns))
    joined = []
    for first, second in pairs:
        first_part, gone = component[first], component[second]
        if first_part != gone:
            component = [first_part if own == gone else own for own in component]
            joined.append((first, second))
    return joined


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
        """Return the public substitute for the rows of the values of a column."""
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

    def noise_of_last(self, scale: float) -> float:
        """Return the mean error, as a distance, of the tables of pairs with the last column by noise of a scale."""
        last = len(self.sizes) - 1
        of_last = [second == last for _, second in self.pairs]
        return float(self.table_noise(scale)[of_last].mean()) / 2 / self.rows

    def between(self, edges: int, amount: Amount) -> FloatArray:
        """Return the error of each pair by the noise of both columns, shape (n_pairs,)."""
        columns, (first, second) = self.column_noise(edges, amount), self._ends
        return np.asarray(np.minimum(columns[first] + columns[second], 2 * self.rows))

    def pair_noise(self, edges: int, amount: Amount) -> FloatArray:
        """Return the expected error of the table of each pair, were it one of so many, shape (n_pairs,)."""
        return self.table_noise(amount.noise(stage_shares(self.sizes, self.classes, edges, amount.law)[2] / edges))

    @property
    def _number(self) -> int:
        """Pairs that count; those with a target that splits the tables too."""
        return len(self.pairs) + (len(self.sizes) if self.targets else 0)

    def error(self, edges: int, amount: Amount) -> float:
        """Return the expected error of a plan by noise alone.

        Parameters
        ----------
        edges : int
            Pairs of the forest; 0: columns alone.
        amount : Amount
            For all tables and choices.
        """
        noise = self.column_noise(edges, amount)
        if not self.pairs:
            return float(noise.mean())
        errors = self.between(edges, amount)
        total = float(errors.sum()) + (float(noise.sum()) if self.targets else 0.0)
        if edges:
            tables = self.pair_noise(edges, amount)
            without = np.hypot(errors, _PATH * edges / (len(self.sizes) - 1) * tables.mean())
            worth = dict(zip(self.pairs, (without - np.hypot(tables, errors)).tolist(), strict=True))
            total += float((without - errors).sum()) - self.best_forest(worth, edges)
        return total / self._number

    def cost_to_columns(self, edges: int, alone: Amount, joined: Amount) -> float:
        """Return the loss of accuracy of the columns by so many pairs, as a distance: of a table of typical dependence.

        Parameters
        ----------
        edges : int
        alone, joined : Amount
            For columns alone, and for columns and pairs.
        """
        before, after = self.column_noise(0, alone), self.column_noise(edges, joined)
        typical = self._typical
        lost = np.hypot(typical, self.between(edges, joined)) - np.hypot(typical, self.between(0, alone))
        return self.as_distance(float(lost.sum()) + (float((after - before).sum()) if self.targets else 0.0))

    def worth_and_price(self, edges: int, joined: Amount) -> tuple[float, float]:
        """Return the weights of the savings of so many pairs and of their cost to the columns."""
        return 1 + PATHS[joined.law] * edges / (len(self.sizes) - 1), 1.0 if joined.law == LAPLACE else GAUSSIAN_COST

    def chance(self, column: int, classes: int) -> float:
        """Return the distance by chance alone of a column from independence of so many classes."""
        cells = np.sqrt(np.outer(self._falling(column), np.full(classes, 1 / classes))).sum()
        return min(_CHANCE * float(cells) / 2 / self.rows, 1.0)

    def gain_of_split(self, dependence: float, chance: float) -> float:
        """Return the gain of a split by the last column, as a distance: in its own pairs, and in others through it.

        Parameters
        ----------
        dependence, chance : float
            How far columns are from independence of it, as they were read, and by chance: means, as distances.
        """
        beyond = math.sqrt(max(max(dependence, 0.0) ** 2 - chance**2, 0.0))
        others = len(self.sizes) - 1
        return (2 * beyond + THROUGH_TARGET * (others - 1) * beyond**2) / (others + 1)

    @cached_property
    def _chance_of_pairs(self) -> FloatArray:
        """The public substitute for the error of each pair by chance alone, shape (n_pairs,)."""
        falling = [self._falling(column) for column in range(len(self.sizes))]
        chance = [np.sqrt(np.outer(falling[a], falling[b]) / self.rows).sum() for a, b in self.pairs]
        return np.minimum(_CHANCE * np.array(chance), self.rows)

    @property
    def _typical(self) -> FloatArray:
        """The public substitute for the error of independence of each pair: dependence, and the share of chance."""
        return np.hypot(TYPICAL_DEPENDENCE * self.rows, self._chance_of_pairs)

    def beside_chance(self, noise: float, cost: float) -> float:
        """Return the distance that a cost adds to rows in which chance and noise are: the roots of sums of squares.

        Parameters
        ----------
        noise, cost : float
            Expected distances by noise alone: before, and what is added to it.
        """
        chance = float(self._chance_of_pairs.mean()) / 2 / self.rows
        return math.hypot(chance, noise + cost) - math.hypot(chance, noise)

    def as_distance(self, error: float) -> float:
        """Return a sum of errors over pairs as the mean distance that it makes, in total variation."""
        return error / self._number / 2 / self.rows

    @cached_property
    def spanning(self) -> int:
        """Pairs of a forest that joins all columns which may be joined: the same number for each such forest."""
        return len(forest_of(self.pairs, len(self.sizes)))

    def best_forest(self, worth: Mapping[Pair, float], edges: int) -> float:
        """Return the largest sum over the edges of a forest of so many."""
        order = sorted(self.pairs, key=lambda pair: -worth[pair])
        total = 0.0
        for pair in forest_of(order, len(self.sizes))[:edges]:
            total += worth[pair]
        return total

    def further(self, edges: int, amount: Amount, gain: float) -> int:
        """Return the number of pairs worth their noise beside a tree of so many edges; more of them the less it is.

        Parameters
        ----------
        edges : int
        amount : Amount
        gain : float
            Of the tree as it was read, as a distance.
        """
        columns = len(self.sizes)
        if gain < FURTHER_GAIN or edges < max(columns - 1, 1):
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
