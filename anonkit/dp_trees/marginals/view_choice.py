# SPDX-License-Identifier: Apache-2.0
"""The choice of a plan: which view, and how many pairs, by the public rule and at most three noisy readings.

A reading is a number in whole steps with discrete Laplace noise: how much the columns depend on the target, which one
row moves by less than 4, and what the pairs of a forest would save, which it moves by less than 4 for each pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from anonkit.dp_trees.marginals import marginal_rule as rule
from anonkit.dp_trees.marginals.column_layout import Layout, Pair
from anonkit.dp_trees.marginals.dependency_tree import STEPS, spanning_edges
from anonkit.dp_trees.marginals.exact_tables import ExactTables
from anonkit.dp_trees.marginals.left_loss import Amount, Left
from anonkit.dp_trees.marginals.marginal_rule import Forecast
from anonkit.mechanisms.accounting import LAPLACE, Draw, rate_within
from anonkit.mechanisms.discrete_laplace import Words, noisy_counts
from anonkit.published.noisy_tables import GAUSSIAN
from anonkit.randomness import Randomness

_ENDLESS_ROWS = 1e30
"""So many that noise alone decides."""


def reading_width(pairs: int) -> int:
    """Return the steps by which one row moves a reading of so many pairs: less than 4 rows for each, and rounding."""
    return 4 * pairs * STEPS + 2


def purpose_of_gain(pairs: int) -> str:
    """Return what a reading of so many pairs is called; no name begins as another does."""
    return f"gain of {pairs} pairs" if pairs > 1 else "gain of one pair"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A noisy reading, and its line of the account."""

    draw: Draw
    steps: int
    """What was read, in steps."""

    @property
    def rows(self) -> float:
        """What was read, in rows."""
        return self.steps / STEPS

    def to_params(self) -> dict[str, Any]:
        """Return the reading, ready for JSON."""
        return {"purpose": self.draw.purpose, "rate": self.draw.rate, "steps": self.steps}


@dataclass(frozen=True, kw_only=True)
class ViewChoice:
    """What shall be measured."""

    anchored: bool
    """True where the classes of the target split all tables."""
    edges: int
    """Pairs of the forest; 0: columns alone."""
    gain: float = 0.0
    """What the forest was read to gain, as a distance; 0 where nothing was."""
    readings: tuple[Reading, ...]
    left: Left
    """What is left for tables and choices."""
    amount: Amount
    """The part of it that is spent: the epsilon, or the rho, whichever is less noise."""


def chosen_view(exact: ExactTables, rows: float, left: Left, whole: int, randomness: Randomness) -> ViewChoice:
    """Choose the plan.

    Parameters
    ----------
    exact : ExactTables
        Of the finest view: split by the target where it may split.
    rows : float
        Number of rows, public or noisy.
    left : Left
        What may still be lost.
    whole : int
        What a row may lose in all, in units of 2**-52 of epsilon.
    randomness : Randomness

    Privacy
    -------
    Every comparison is of public numbers and noisy readings; each reading is charged.
    """
    rows, epsilon = max(rows, 1.0), whole / (1 << 52)
    pooled = exact.pooled()
    alike = forecast_of(pooled.layout, tuple(pooled.pairs), rows)
    quiet = alike.quietest(0, left.amounts)
    noise = alike.distance(0, quiet)
    if not pooled.pairs or noise > rule.MOST_NOISE:
        return ViewChoice(anchored=False, edges=0, readings=(), left=left, amount=quiet)
    readings: list[Reading] = []

    def read(purpose: str, share: float, value: float, pairs: int = 1) -> float:
        """Charge a reading, draw it, and return it in rows."""
        nonlocal left
        width = reading_width(pairs)
        draw = Draw(
            purpose=purpose, mechanism=LAPLACE, rate=rate_within(int(whole * Fraction(share)), width), sensitivity=width
        )
        left = left.after(draw.units)
        exactly = np.array([round(value * STEPS)], dtype=np.int64)
        words = Words(randomness.child(purpose))
        readings.append(Reading(draw=draw, steps=int(noisy_counts(exactly, draw.rate, words)[0])))
        return readings[-1].rows

    anchored, base = False, noise
    if exact.layout.anchored:
        split = _quiet_distance(forecast_of(exact.layout, tuple(exact.pairs), rows), 0, left)
        share = min(rule.READING_SHARE, rule.READING_PRICE / noise)
        scale = 2 / (share * epsilon * rows)
        last, classes = len(exact.columns), exact.layout.classes
        chance = float(np.mean([alike.chance(column, classes) for column in range(last)]))
        need = math.hypot(max(rule.SPLIT_RATIO * (split - noise), rule.SPLIT_SCALES * scale), chance)
        if split - noise <= rule.FREE_SPLIT:
            anchored = True
        elif need <= rule.MOST_SPLIT_NEED and scale <= rule.MOST_SPLIT_NOISE:
            errors = pooled.errors_of_independence()
            dependence = float(np.mean([errors[at, last] for at in range(last)]))
            anchored = read("dependence on the target", share, dependence) / 2 / rows >= need
        base = split if anchored else noise
    view = exact if anchored else pooled
    forecast = forecast_of(view.layout, tuple(view.pairs), rows)
    most = spanning_edges(tuple(view.pairs), len(view.columns))
    edges = most
    if most and _quiet_distance(forecast, most, left) - base > rule.FULL_TREE_NOISE:
        edges = (most + 1) // 2
    amounts, apart = left.amounts, np.array(list(view.errors_of_independence().values()))
    alone, best, chosen = forecast.quietest(0, amounts), 0.0, 0
    for asked in sorted({edges, min(edges, rule.FEW_PAIRS)} - {0}):
        a_pair = forecast.as_distance(4 * asked) / epsilon  # scale of the noise, were all of epsilon the share
        share = min(rule.READING_SHARE, rule.GAIN_PRICE / noise, a_pair / rule.GAIN_NOISE)
        scale = a_pair / share
        if scale > rule.MOST_GAIN_NOISE:
            continue
        joined = forecast.quietest(asked, amounts)
        saved = read(purpose_of_gain(asked), share, forecast.saved(asked, joined, apart), asked)
        gain = forecast.as_distance(saved) - forecast.cost_to_columns(asked, alone, joined)
        if gain > max(best, rule.GAIN_SCALES * scale):
            best, chosen = gain, asked
        if gain < -rule.GAIN_SCALES * scale:  # where the best two lose, more of them lose more
            break
    amount = forecast.quietest(chosen, left.amounts)
    return ViewChoice(anchored=anchored, edges=chosen, gain=best, readings=tuple(readings), left=left, amount=amount)


def _quiet_distance(forecast: Forecast, edges: int, left: Left) -> float:
    """Return the expected distance by noise alone, under the quieter law."""
    return forecast.distance(edges, forecast.quietest(edges, left.amounts))


def delta_may_pay(layout: Layout, pairs: tuple[Pair, ...], left: Left) -> bool:
    """Tell whether Gaussian noise is the less of both on the largest tree that there could be, were rows without end.

    A function of public facts alone: where it is not, no delta is spent, and none is promised.
    """
    forecast = forecast_of(layout, pairs, _ENDLESS_ROWS)
    return forecast.quietest(spanning_edges(pairs, len(layout.sizes)), left.amounts).law == GAUSSIAN


def forecast_of(layout: Layout, pairs: tuple[Pair, ...], rows: float) -> Forecast:
    """Return the forecast of a view."""
    return Forecast(sizes=layout.sizes, classes=layout.classes, pairs=pairs, rows=rows, targets=layout.anchored)
