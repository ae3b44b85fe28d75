# SPDX-License-Identifier: Apache-2.0
"""Public rules of dp-marginals that follow noisy readings: the view, the number of pairs, and the triple.

Public forecasts are compared with a few noisy readings, one after another. The readings are values that the release
publishes: a method draws each as the rule comes to it, and a check looks it up. So both follow the same code.

*View*: the target splits all tables or not, and so many pairs are measured.

*Triple*: a target may depend on three columns together and on no two of them (a parity). Where pairs were read to gain
little, a reading shows whether any pair speaks of the target; where none does, one triple is chosen privately, or none.
Candidates, their cells, what chance makes of them and what is paid follow from epsilon, from the number of rows
(public, or counted with noise) and from the sizes of the domains.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Protocol

import numpy as np

from anonkit.budget_rules import marginal_rule as rule
from anonkit.budget_rules.marginal_rule import Forecast, Pair, forest_of
from anonkit.budget_rules.spike_rule import GAUSSIAN, LAPLACE, Amount

DEPENDENCE = "dependence on the target"
_ENDLESS_ROWS = 1e30
"""So many that noise alone decides."""


@dataclass(frozen=True, kw_only=True)
class ReadingQuery:
    """A reading that the rule asks for."""

    purpose: str
    share: float
    """Of epsilon of a row."""
    is_split: bool
    """True where it is of tables that the classes of the target split."""
    edges: int = 0
    """Pairs whose gain is read; 0: the dependence of columns on the target."""
    joined: Amount | None = None
    """Budget of the tables of columns and of these pairs; None for a dependence."""


class PublishedReadings(Protocol):
    """The readings of a release, in the order in which the rule asks for them, and the budget that they leave."""

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """Budget of tables after the readings so far, in epsilon, and in rho where a delta may pay."""

    def read(self, reading: ReadingQuery) -> float:
        """Return a published reading, in rows."""


@dataclass(frozen=True, kw_only=True)
class ViewPlan:
    """The tables to measure."""

    is_split: bool
    """True where the classes of the target split all tables."""
    edges: int
    """Pairs of the forest; 0: columns alone."""
    tied: bool = False
    """True where the first of them is one with the target."""
    tie: float = 0.0
    """Share of what is left for the one pair with the target that is measured though none was read to gain; else 0."""
    gain: float = 0.0
    """Noisy estimate of the forest's gain, as a distance; 0 where nothing was read."""
    amount: Amount
    """Budget of the tables, under the law that is less noise."""


@dataclass(frozen=True, kw_only=True)
class _Gain:
    """Noisy estimate of the gain of pairs."""

    distance: float
    edges: int
    """Number of those pairs; 0 where no gain exceeds the noise."""


_NO_GAIN = _Gain(distance=0.0, edges=0)


def view_plan(pooled: Forecast, split: Forecast | None, epsilon: float, readings: PublishedReadings) -> ViewPlan:
    """Return the plan.

    Parameters
    ----------
    pooled : Forecast
        Of the view in which all columns are alike, the target among them.
    split : Forecast, optional
        Of the view that the target splits; None where it may not.
    epsilon : float
        What a row may lose in all.
    readings : PublishedReadings
    """
    amounts = readings.amounts
    noise = _quiet_distance(pooled, 0, amounts)
    if not pooled.pairs or noise > rule.MOST_NOISE:
        return _chosen(pooled, _NO_GAIN, noise, readings)
    view, already_read, speaks = pooled, 0, False
    if split is not None:
        cost = _quiet_distance(split, 0, amounts) - noise
        joins = _reads_one_tree(pooled, split, amounts)
        gain = _gained(pooled, [pooled.spanning], noise, epsilon, readings) if joins else _NO_GAIN
        if gain.edges and gain.distance > rule.SPLIT_COST_REPAID * cost:
            return _chosen(pooled, gain, noise, readings)
        added = pooled.beside_chance(noise, cost)
        is_free = cost <= rule.FREE_BESIDE_TREE if gain.edges else added <= rule.FREE_SPLIT
        pays, gain_of_split = True, 0.0
        if not is_free:
            pays, gain_of_split, speaks = _split_pays(pooled, split, noise, cost, epsilon, readings)
        if gain.edges and (not pays or gain.distance > gain_of_split):
            return _chosen(pooled, gain, noise, readings, speaks=speaks)
        view, already_read = split if pays else pooled, pooled.spanning if joins else 0
    base = _quiet_distance(view, 0, amounts)
    edges, joined = view.spanning, view.quietest(view.spanning, readings.amounts)
    if edges and joined.law == LAPLACE and view.distance(edges, joined) - base > rule.FULL_TREE_NOISE:
        edges = (edges + 1) // 2
    numbers = sorted({edges, min(edges, rule.FEW_PAIRS)} - {0, already_read})
    return _chosen(view, _gained(view, numbers, noise, epsilon, readings), noise, readings, speaks=speaks)


def purpose_of_gain(pairs: int) -> str:
    """Return the purpose of a reading of so many pairs; no name begins as another does."""
    return f"gain of {pairs} pairs" if pairs > 1 else "gain of one pair"


def delta_may_pay(sizes: tuple[int, ...], pairs: tuple[Pair, ...], amounts: tuple[Amount, ...]) -> bool:
    """Return True if Gaussian noise is the less of both on the largest tree that there could be, were rows without end.

    A function of public facts alone: where it is not, no delta is spent, and none is promised.

    Parameters
    ----------
    sizes : tuple of int
        Values of each column, where the target splits no tables.
    pairs : tuple of pair
        Pairs that may be measured.
    amounts : tuple of Amount
        All that may be lost, in epsilon and in rho.
    """
    forecast = Forecast(sizes=sizes, classes=1, pairs=pairs, rows=_ENDLESS_ROWS)
    return forecast.quietest(len(forest_of(pairs, len(sizes))), amounts).law == GAUSSIAN


def _quiet_distance(view: Forecast, edges: int, amounts: tuple[Amount, ...]) -> float:
    """Return the expected distance by noise alone, under the quieter law."""
    return view.distance(edges, view.quietest(edges, amounts))


def _reads_one_tree(pooled: Forecast, split: Forecast, amounts: tuple[Amount, ...]) -> bool:
    """Return True if one tree is read before a split: noise is Gaussian, and too much of it for a split."""
    law = pooled.quietest(pooled.spanning, amounts).law
    return law == GAUSSIAN and _quiet_distance(split, split.spanning, amounts) > rule.GAUSSIAN_SPLIT_NOISE


def _split_pays(
    pooled: Forecast, split: Forecast, noise: float, cost: float, epsilon: float, readings: PublishedReadings
) -> tuple[bool, float, bool]:
    """Return True if the target shall split the tables, what that was read to gain, and whether columns speak of it."""
    rows, columns = pooled.rows, range(len(split.sizes))
    share, scale = rule.dependence_share(noise, cost, epsilon * rows)
    chance = float(np.mean([pooled.chance(at, split.classes) for at in columns]))
    need = math.hypot(max(rule.SPLIT_RATIO * cost, rule.SPLIT_SCALES * scale), chance)
    if need > rule.MOST_SPLIT_NEED or scale > rule.MOST_SPLIT_NOISE:
        return False, 0.0, False
    found = readings.read(ReadingQuery(purpose=DEPENDENCE, share=share, is_split=True)) / 2 / rows
    speaks = found >= math.hypot(rule.SPEAKING_SCALES * scale, chance)
    return found >= need, pooled.gain_of_split(found, chance) - cost, speaks


def _gained(view: Forecast, numbers: Iterable[int], noise: float, epsilon: float, readings: PublishedReadings) -> _Gain:
    """Read the gain of so many pairs, one number after another, and return the largest significant one."""
    amounts = readings.amounts
    alone, best = view.quietest(0, amounts), _NO_GAIN
    for edges in numbers:
        a_pair = view.as_distance(4 * edges) / epsilon  # scale of the noise, were all of epsilon the share
        share = min(rule.READING_SHARE, rule.GAIN_PRICE / noise, a_pair / rule.GAIN_NOISE)
        if a_pair / share > rule.MOST_GAIN_NOISE:
            continue
        joined = view.quietest(edges, amounts)
        query = ReadingQuery(
            purpose=purpose_of_gain(edges), share=share, is_split=view.targets, edges=edges, joined=joined
        )
        saved = readings.read(query)
        worth, price = view.worth_and_price(edges, joined)
        gain = worth * view.as_distance(saved) - price * view.cost_to_columns(edges, alone, joined)
        least = rule.GAIN_SCALES * worth * a_pair / share
        if gain > max(best.distance, least):
            best = _Gain(distance=gain, edges=edges)
        if gain < -least:  # where the best two lose, more of them lose more
            break
    return best


def _chosen(
    view: Forecast, gain: _Gain, noise: float, readings: PublishedReadings, *, speaks: bool = False
) -> ViewPlan:
    """Return the choice of a view, and of as many pairs as gain.

    A target of which columns speak, and that does not split the tables, has the first pair: else the rows could
    give no evidence of it. Where no pairs gain it is measured if that costs little.
    """
    tied, tie = speaks and not view.targets and gain.edges < view.spanning, 0.0
    if tied and not gain.edges:
        tie = rule.tie_share(noise)
        scale = view.quietest(1, readings.amounts).noise(tie / 2)
        tied = view.noise_of_last(scale) <= rule.MOST_TIE_NOISE
    edges = max(gain.edges, int(tied))
    return ViewPlan(
        is_split=view.targets,
        edges=edges,
        tied=tied,
        tie=tie if tied else 0.0,
        gain=gain.distance,
        amount=view.quietest(edges, readings.amounts),
    )


Triple = tuple[int, int, int]
"""Three columns by number, the lowest first."""
# Shares and margins are conventions: no experiment is on record that compared others. With them no triple was chosen in
# 600 releases of labels that nothing explains (docs/methods/details/dp_marginals.md, "Measured").
LITTLE_GAIN = 0.01
"""Gain of a forest of pairs, as it was read, from which on no triple is looked for."""
MOST_TRIPLES = 5_000
"""Candidates at most: the columns of fewest values make them."""
MOST_ROW_LOOKS = 1 << 30
"""Candidates times rows at most."""
MOST_COUNTS = 1 << 22
"""Counts of all candidates at most."""
GROUPS = (4, 2)
"""Groups of a column at most: quarters, or halves where quarters have too few rows."""
READING_SHARE = 0.02
"""Share of epsilon for the reading at most."""
READING_SCALES = 200
"""Scales of its noise that the rows are, where epsilon allows."""
LEAST_READING_SCALES = 100
"""Scales below which the reading is too inaccurate to be taken."""
CHOICE_SHARE = 0.03
"""Share of epsilon for the choice at most."""
ENOUGH_MARGIN = 0.04
"""Part of the rows that a triple must exceed chance by for the noise of the choice, where epsilon allows."""
MOST_LEAST = 0.2
"""Part of the rows that it may have to reach in all; where it would be more, no triple is looked for."""
LITTLE = 0.05
"""Part of the rows up to which what is read of the best pair is little: half is all there is of two even classes."""
_MEAN, _DEVIATION = 0.4, 0.3
"""Half of a mean absolute deviation of chance, and of the standard deviation of it, for two even classes."""
_BEYOND = 2.0
"""Standard deviations beyond the largest of all candidates that are expected of chance."""
_ROUNDING = 1 + 1e-9
"""Factor of the rows: no rounding decides if epsilon times rows is exactly as much as is needed."""
_FALSE_HEADS = 4.0
"""Logarithm of the chance, inverse, that noise of the choice alone takes any candidate."""


@dataclass(frozen=True, kw_only=True)
class TripleRule:
    """Candidates, cells and prices."""

    values: tuple[int, ...]
    """Values of each column without missing."""
    classes: int
    """Classes of the target, missing included."""
    rows: float
    """Number of rows, public or noisy; at least 1."""
    epsilon: float
    """Most privacy loss of a row in all."""

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The columns of candidates: those of fewest values, as many as make few enough triples."""
        order = sorted((at for at, own in enumerate(self.values) if own > 1), key=lambda at: (self.values[at], at))
        number = max((one for one in range(len(order) + 1) if self._is_small(math.comb(one, 3))), default=0)
        return tuple(sorted(order[:number]))

    def _is_small(self, triples: int) -> bool:
        counts = triples * max(GROUPS) ** 3 * self.classes
        return triples <= MOST_TRIPLES and triples * self.rows <= MOST_ROW_LOOKS and counts <= MOST_COUNTS

    @property
    def triples(self) -> Iterator[Triple]:
        """The candidates."""
        return combinations(self.columns, 3)

    @property
    def number(self) -> int:
        """Number of candidates."""
        return math.comb(len(self.columns), 3)

    @cached_property
    def most_groups(self) -> int:
        """Groups of a column at most; 0 where no triple is looked for."""
        if self.number == 0 or self.reading_noise * LEAST_READING_SCALES > self.rows * _ROUNDING:
            return 0
        for most in GROUPS:
            widest = sorted(min(self.values[at], most) for at in self.columns)[-3:]
            if self.least(math.prod(widest)) <= MOST_LEAST * self.rows:
                return most
        return 0

    def group_number(self, column: int) -> int:
        """Return the number of groups of a column."""
        return min(self.values[column], self.most_groups)

    def cells(self, columns: tuple[int, ...]) -> int:
        """Return the cells of some columns together."""
        return math.prod(self.group_number(at) for at in columns)

    @property
    def reading_share(self) -> float:
        """Share of epsilon for the reading of the best pair."""
        return min(READING_SHARE, READING_SCALES / (self.epsilon * self.rows))

    @property
    def reading_noise(self) -> float:
        """Scale of its noise, in rows."""
        return 1 / (self.reading_share * self.epsilon)

    @property
    def _margin_for_all(self) -> float:
        """Margin in rows that noise of the choice needs, were all of epsilon spent on it: scores move by a row each."""
        return 2 * (math.log(self.number) + _FALSE_HEADS) / self.epsilon

    @property
    def choice_share(self) -> float:
        """Share of epsilon for the choice."""
        return min(CHOICE_SHARE, self._margin_for_all / (ENOUGH_MARGIN * self.rows))

    def is_little(self, reading: float) -> bool:
        """Return True if the best pair was read to speak so little of the target that a triple is looked for."""
        return reading <= LITTLE * self.rows

    def chance(self, cells: int) -> float:
        """Return an approximate bound on the score by chance of so many cells without any relation, in rows."""
        return _MEAN * math.sqrt((self.classes - 1) * cells * self.rows)

    def least(self, cells: int) -> float:
        """Return the score from which on a triple of so many cells is preferred to none, in rows."""
        largest = _BEYOND + math.sqrt(2 * math.log(self.number))
        spread = _DEVIATION * math.sqrt((self.classes - 1) * self.rows)
        return self.chance(cells) + largest * spread + self._margin_for_all / self.choice_share
