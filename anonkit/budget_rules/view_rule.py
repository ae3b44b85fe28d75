# SPDX-License-Identifier: Apache-2.0
"""The public rule of a view: whether the target splits all tables, and how many pairs are measured.

It compares public forecasts with a few noisy readings, one after another. The readings are values that the release
publishes: a method draws each as the rule comes to it, and a check looks it up. So both follow the same code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
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
