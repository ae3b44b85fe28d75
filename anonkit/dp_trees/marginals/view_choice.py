# SPDX-License-Identifier: Apache-2.0
"""The choice of a plan: which view, and how many pairs, by the public rule and at most two noisy readings.

A reading is a number that one row moves by less than 4, in whole steps, with discrete Laplace noise: how much the
columns depend on the target, and how much a forest of pairs would gain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from anonkit.dp_trees.marginals import marginal_rule as rule
from anonkit.dp_trees.marginals.column_layout import Layout, Pair
from anonkit.dp_trees.marginals.dependency_tree import STEPS, spanning_edges
from anonkit.dp_trees.marginals.exact_tables import ExactTables
from anonkit.dp_trees.marginals.marginal_rule import Forecast
from anonkit.mechanisms.accounting import LAPLACE, Draw, rate_within
from anonkit.mechanisms.discrete_laplace import Words, noisy_counts
from anonkit.randomness import Randomness

READING_WIDTH = 4 * STEPS + 2
"""Steps by which one row moves a reading: less than 4 rows, and rounding, which moves either end by one."""


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
    readings: tuple[Reading, ...]
    units: int
    """What is left for tables and choices, in units of 2**-52."""


def chosen_view(exact: ExactTables, rows: float, units: int, whole: int, randomness: Randomness) -> ViewChoice:
    """Choose the plan.

    Parameters
    ----------
    exact : ExactTables
        Of the finest view: split by the target where it may split.
    rows : float
        Number of rows, public or noisy.
    units, whole : int
        What a row may still lose, and what it may lose in all.
    randomness : Randomness

    Privacy
    -------
    Every comparison is of public numbers and noisy readings; each reading is charged.
    """
    rows, epsilon = max(rows, 1.0), whole / (1 << 52)
    pooled = exact.pooled()
    if not pooled.pairs:
        return ViewChoice(anchored=False, edges=0, readings=(), units=units)
    alike = forecast_of(pooled.layout, tuple(pooled.pairs), rows)
    noise = alike.distance(0, units / (1 << 52))
    if noise > rule.MOST_NOISE:
        return ViewChoice(anchored=False, edges=0, readings=(), units=units)
    readings: list[Reading] = []

    def read(purpose: str, share: float, value: Callable[[int], float]) -> float:
        """Charge a reading, draw it, and return it as a distance."""
        nonlocal units
        rate = rate_within(int(whole * Fraction(share)), READING_WIDTH)
        draw = Draw(purpose=purpose, mechanism=LAPLACE, rate=rate, sensitivity=READING_WIDTH)
        units -= draw.units
        exactly = np.array([round(value(units) * STEPS)], dtype=np.int64)
        words = Words(randomness.child(purpose))
        readings.append(Reading(draw=draw, steps=int(noisy_counts(exactly, draw.rate, words)[0])))
        return readings[-1].rows / 2 / rows

    anchored, base = False, noise
    if exact.layout.anchored:
        split = forecast_of(exact.layout, tuple(exact.pairs), rows).distance(0, units / (1 << 52))
        share = min(rule.READING_SHARE, rule.READING_PRICE / noise)
        need = rule.SPLIT_RATIO * (split - noise)
        if split - noise <= rule.FREE_SPLIT:
            anchored = True
        elif need <= rule.MOST_SPLIT_NEED and 2 / (share * epsilon * rows) <= need / rule.SPLIT_CLARITY:
            last = len(exact.columns)
            errors = pooled.errors_of_independence()
            dependence = float(np.mean([errors[at, last] for at in range(last)]))
            anchored = read("dependence on the target", share, lambda _: dependence) >= need
        base = split if anchored else noise
    view = exact if anchored else pooled
    forecast = forecast_of(view.layout, tuple(view.pairs), rows)
    most = spanning_edges(tuple(view.pairs), len(view.columns))
    edges = most
    if most and forecast.distance(most, units / (1 << 52)) - base > rule.FULL_TREE_NOISE:
        edges = (most + 1) // 2
    share = min(rule.READING_SHARE, rule.READING_ROWS / (rows * epsilon), rule.READING_PRICE / noise)
    least = rule.GAIN_SCALES * 2 / (share * epsilon * rows)
    if not edges or forecast.distance(edges, units / (1 << 52)) - base + least > rule.MOST_DROP:
        return ViewChoice(anchored=anchored, edges=0, readings=tuple(readings), units=units)

    def gain(left: int) -> float:
        gains = np.array(list(view.errors_of_independence().values()))
        return forecast.error(0, left / (1 << 52), gains) - forecast.error(edges, left / (1 << 52), gains)

    if read("gain of pairs", share, gain) < least:
        edges = 0
    return ViewChoice(anchored=anchored, edges=edges, readings=tuple(readings), units=units)


def forecast_of(layout: Layout, pairs: tuple[Pair, ...], rows: float) -> Forecast:
    """Return the forecast of a view."""
    return Forecast(sizes=layout.sizes, classes=layout.classes, pairs=pairs, rows=rows, targets=layout.anchored)
