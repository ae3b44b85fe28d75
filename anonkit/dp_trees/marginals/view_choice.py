# SPDX-License-Identifier: Apache-2.0
"""The choice of a plan: which view, and how many pairs, by the public rule and a few noisy readings.

A reading is a number in whole steps with discrete Laplace noise: how much the target depends on the columns, which one
row moves by 2 at most, and what the pairs of a forest would save, which it moves by less than 4 for each pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from anonkit.dp_trees.marginals import marginal_rule as rule
from anonkit.dp_trees.marginals.column_layout import ColumnLayout, Pair
from anonkit.dp_trees.marginals.dependency_tree import STEPS, spanning_edges
from anonkit.dp_trees.marginals.exact_tables import ExactTables, least_error
from anonkit.dp_trees.marginals.marginal_rule import Forecast
from anonkit.dp_trees.marginals.noisy_readings import DEPENDENCE_WIDTH, Reading, reading_draw
from anonkit.dp_trees.marginals.remaining_budget import Amount, RemainingBudget
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE
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
class ViewChoice:
    """The chosen tables to measure."""

    anchored: bool
    """True where the classes of the target split all tables."""
    edges: int
    """Pairs of the forest; 0: columns alone."""
    tied: bool = False
    """True where the first of them is one with the target."""
    tie: float = 0.0
    """Share of what is left for the one pair with the target that is measured though none was read to gain; else 0."""
    gain: float = 0.0
    """Noisy estimate of the forest's gain, as a distance; 0 where nothing was read."""
    readings: tuple[Reading, ...]
    left: RemainingBudget
    """Remaining budget for tables and choices."""
    amount: Amount
    """The part of it that is spent: the epsilon, or the rho, whichever is less noise."""


def chosen_view(
    exact: ExactTables, rows: float, left: RemainingBudget, whole: int, randomness: Randomness
) -> ViewChoice:
    """Choose the plan.

    Parameters
    ----------
    exact : ExactTables
        Of the finest view: split by the target where it may split.
    rows : float
        Number of rows, public or noisy.
    left : RemainingBudget
        What may still be lost.
    whole : int
        What a row may lose in all, in units of 2**-52 of epsilon.
    randomness : Randomness

    Privacy
    -------
    Every comparison is of public numbers and noisy readings; each reading is charged.
    """
    pooled = _Seen.of(exact.pooled(), max(rows, 1.0))
    noise = pooled.quiet_distance(0, left)
    reader = _ReadingTaker(whole=whole, noise=noise, randomness=randomness, left=left)
    if not pooled.exact.pairs or noise > rule.MOST_NOISE:
        return reader.chosen(pooled, _NO_GAIN)
    view, asked, speaks = pooled, 0, False
    if exact.layout.anchored:
        divided = _Seen.of(exact, max(rows, 1.0))
        joins = _asks_for_one_tree(pooled, divided, left)
        gain = reader.gained(pooled, (pooled.spanning,)) if joins else _NO_GAIN
        if gain.edges and gain.distance > rule.SPLIT_COST_REPAID * (divided.quiet_distance(0, left) - noise):
            return reader.chosen(pooled, gain)
        free = rule.FREE_BESIDE_TREE if gain.edges else rule.FREE_SPLIT
        pays, gain_of_split, speaks = _split_pays(pooled, divided, left, reader, free)
        if gain.edges and (not pays or gain.distance > gain_of_split):
            return reader.chosen(pooled, gain, speaks=speaks)
        view, asked = divided if pays else pooled, pooled.spanning if joins else 0
    base = view.quiet_distance(0, left)
    edges, joined = view.spanning, view.forecast.quietest(view.spanning, reader.left.amounts)
    if edges and joined.law == LAPLACE and view.forecast.distance(edges, joined) - base > rule.FULL_TREE_NOISE:
        edges = (edges + 1) // 2
    gain = reader.gained(view, sorted({edges, min(edges, rule.FEW_PAIRS)} - {0, asked}))
    return reader.chosen(view, gain, speaks=speaks)


def _asks_for_one_tree(pooled: _Seen, divided: _Seen, left: RemainingBudget) -> bool:
    """Return whether one tree is read before a split: noise is Gaussian, and too much of it for a split."""
    law = pooled.forecast.quietest(pooled.spanning, left.amounts).law
    return law == GAUSSIAN and divided.quiet_distance(divided.spanning, left) > rule.GAUSSIAN_SPLIT_NOISE


def _split_pays(
    pooled: _Seen, divided: _Seen, left: RemainingBudget, reader: _ReadingTaker, free: float
) -> tuple[bool, float, bool]:
    """Return whether the target shall split the tables, what that was read to gain, and whether columns speak of it.

    Where nothing was read it gains 0, and they do not.

    Parameters
    ----------
    pooled, divided : _Seen
        The view in which all columns are alike, and that of the split.
    left : RemainingBudget
        What was left before any reading.
    reader : _Reader
    free : float
        Cost up to which it pays without a look.
    """
    cost = divided.quiet_distance(0, left) - reader.noise
    if cost <= free:
        return True, 0.0, False
    rows, columns = pooled.forecast.rows, range(len(divided.exact.columns))
    share, scale = rule.dependence_share(reader.noise, cost, reader.epsilon * rows)
    chance = float(np.mean([pooled.forecast.chance(at, divided.exact.layout.classes) for at in columns]))
    need = math.hypot(max(rule.SPLIT_RATIO * cost, rule.SPLIT_SCALES * scale), chance)
    if need > rule.MOST_SPLIT_NEED or scale > rule.MOST_SPLIT_NOISE:
        return False, 0.0, False
    dependence = float(np.mean([least_error(table) for table in divided.exact.columns]))
    found = reader.read("dependence on the target", share, dependence, DEPENDENCE_WIDTH) / 2 / rows
    speaks = found >= math.hypot(rule.SPEAKING_SCALES * scale, chance)
    return found >= need, pooled.forecast.gain_of_split(found, chance) - cost, speaks


@dataclass(frozen=True, kw_only=True, eq=False)
class _Seen:
    """A view, and what is expected of its plans."""

    exact: ExactTables
    forecast: Forecast
    spanning: int
    """Pairs of a forest that joins all columns which may be joined."""

    @classmethod
    def of(cls, exact: ExactTables, rows: float) -> _Seen:
        pairs = tuple(exact.pairs)
        return cls(
            exact=exact,
            forecast=forecast_of(exact.layout, pairs, rows),
            spanning=spanning_edges(pairs, len(exact.columns)),
        )

    def quiet_distance(self, edges: int, left: RemainingBudget) -> float:
        """Return the expected distance by noise alone, under the quieter law."""
        return self.forecast.distance(edges, self.forecast.quietest(edges, left.amounts))


@dataclass(frozen=True, kw_only=True)
class _Gain:
    """Noisy estimate of the gain of pairs."""

    distance: float
    edges: int
    """Number of those pairs; 0 where no gain exceeds the noise."""


_NO_GAIN = _Gain(distance=0.0, edges=0)


class _ReadingTaker:
    """Takes readings, and keeps what is left after them."""

    def __init__(self, *, whole: int, noise: float, randomness: Randomness, left: RemainingBudget) -> None:
        self.left, self.noise, self.epsilon = left, noise, whole / (1 << 52)
        self._whole, self._randomness = whole, randomness
        self._readings: list[Reading] = []

    def read(self, purpose: str, share: float, value: float, width: int) -> float:
        """Charge a reading that one row moves by so many steps, draw it, and return it in rows."""
        draw = reading_draw(purpose, int(self._whole * Fraction(share)), width)
        self.left = self.left.after(draw.units)
        reading = Reading.of(draw, value, UniformStream(self._randomness.child(purpose)))
        self._readings.append(reading)
        return reading.rows

    def gained(self, view: _Seen, numbers: Sequence[int]) -> _Gain:
        """Ask what so many pairs gain, one number after another, and return the largest gain that shows."""
        forecast, amounts = view.forecast, self.left.amounts
        apart = np.array(list(view.exact.errors_of_independence().values()))
        alone, best = forecast.quietest(0, amounts), _NO_GAIN
        for edges in numbers:
            a_pair = forecast.as_distance(4 * edges) / self.epsilon  # scale of the noise, were all of epsilon the share
            share = min(rule.READING_SHARE, rule.GAIN_PRICE / self.noise, a_pair / rule.GAIN_NOISE)
            if a_pair / share > rule.MOST_GAIN_NOISE:
                continue
            joined = forecast.quietest(edges, amounts)
            saved = self.read(purpose_of_gain(edges), share, forecast.saved(edges, joined, apart), reading_width(edges))
            worth, price = forecast.worth_and_price(edges, joined)
            gain = worth * forecast.as_distance(saved) - price * forecast.cost_to_columns(edges, alone, joined)
            least = rule.GAIN_SCALES * worth * a_pair / share
            if gain > max(best.distance, least):
                best = _Gain(distance=gain, edges=edges)
            if gain < -least:  # where the best two lose, more of them lose more
                break
        return best

    def chosen(self, view: _Seen, gain: _Gain, *, speaks: bool = False) -> ViewChoice:
        """Return the choice of a view, and of as many pairs as gain.

        A target of which columns speak, and that does not split the tables, has the first pair: else the rows could
        give no evidence of it. Where no pairs gain it is measured if that costs little.
        """
        anchored = view.exact.layout.anchored
        tied, tie = speaks and not anchored and gain.edges < view.spanning, 0.0
        if tied and not gain.edges:
            tie = rule.tie_share(self.noise)
            scale = view.forecast.quietest(1, self.left.amounts).noise(tie / 2)
            tied = view.forecast.noise_of_last(scale) <= rule.MOST_TIE_NOISE
        edges = max(gain.edges, int(tied))
        return ViewChoice(
            anchored=anchored,
            edges=edges,
            tied=tied,
            tie=tie if tied else 0.0,
            gain=gain.distance,
            readings=tuple(self._readings),
            left=self.left,
            amount=view.forecast.quietest(edges, self.left.amounts),
        )


def delta_may_pay(layout: ColumnLayout, pairs: tuple[Pair, ...], left: RemainingBudget) -> bool:
    """Return whether Gaussian noise is the less of both on the largest tree that there could be, were rows without end.

    A function of public facts alone: where it is not, no delta is spent, and none is promised.
    """
    forecast = forecast_of(layout, pairs, _ENDLESS_ROWS)
    return forecast.quietest(spanning_edges(pairs, len(layout.sizes)), left.amounts).law == GAUSSIAN


def forecast_of(layout: ColumnLayout, pairs: tuple[Pair, ...], rows: float) -> Forecast:
    """Return the forecast of a view."""
    return Forecast(sizes=layout.sizes, classes=layout.classes, pairs=pairs, rows=rows, targets=layout.anchored)
