# SPDX-License-Identifier: Apache-2.0
"""The choice of a plan: which view, and how many pairs, by the public rule and a few noisy readings.

A reading is a number in whole steps with discrete Laplace noise: how much the target depends on the columns, which one
row moves by 2 at most, and what the pairs of a forest would save, which it moves by less than 4 for each pair. The rule
(`budget_rules.view_rule`) asks for readings and sees nothing else of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from anonkit.budget_rules.marginal_rule import Forecast
from anonkit.budget_rules.model_queries import ModelQuery, PairsDependence, TargetDependence
from anonkit.budget_rules.spike_rule import Amount
from anonkit.budget_rules.view_rule import ReadingQuery, ViewPlan, view_plan
from anonkit.domains.coded_columns import FloatArray
from anonkit.dp_trees.marginals.exact_tables import ExactTables, least_error
from anonkit.dp_trees.marginals.noisy_readings import ColumnLayout, Pair, Reading, reading_draw
from anonkit.dp_trees.marginals.remaining_budget import RemainingBudget
from anonkit.mechanisms.accounting import draw_units
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class ViewChoice:
    """The plan of a view, the readings that led to it, and the budget that they leave."""

    plan: ViewPlan
    readings: tuple[Reading, ...]
    left: RemainingBudget
    """Remaining budget for tables and choices."""


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
    reader = _ReadingTaker(exact, max(rows, 1.0), whole=whole, randomness=randomness, left=left)
    split = reader.forecasts[True] if exact.layout.anchored else None
    plan = view_plan(reader.forecasts[False], split, whole / (1 << 52), reader)
    return ViewChoice(plan=plan, readings=tuple(reader.readings), left=reader.left)


class _ReadingTaker:
    """Takes the readings that the rule asks for, and keeps what is left after them."""

    def __init__(
        self, exact: ExactTables, rows: float, *, whole: int, randomness: Randomness, left: RemainingBudget
    ) -> None:
        self.left, self._whole, self._randomness = left, whole, randomness
        self.readings: list[Reading] = []
        self._exact = {False: exact.pooled(), True: exact}
        self.forecasts = {split: forecast_of(own.layout, tuple(own.pairs), rows) for split, own in self._exact.items()}

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """Budget of the tables after the readings so far."""
        return self.left.amounts

    def read(self, planned: ReadingQuery) -> float:
        """Charge a reading, draw it, and return it in rows."""
        query: ModelQuery = TargetDependence()
        if planned.joined is None:
            value = self._dependence()
        else:
            errors = np.array(list(self._exact[planned.is_split].errors_of_independence().values()))
            value = saved(self.forecasts[planned.is_split], planned.edges, planned.joined, errors)
            query = PairsDependence(pairs=planned.edges)
        draw = reading_draw(planned.purpose, int(self._whole * Fraction(planned.share)), query)
        self.left = self.left.after(draw_units(draw))
        reading = Reading.of(draw, value, UniformStream(self._randomness.child(planned.purpose)))
        self.readings.append(reading)
        return reading.rows

    def _dependence(self) -> float:
        """Return the mean distance of columns from independence of the target, in rows."""
        return float(np.mean([least_error(table) for table in self._exact[True].columns]))


def saved(forecast: Forecast, edges: int, joined: Amount, errors: FloatArray) -> float:
    """Return the error that the tables of the best forest of so many pairs save over independence, in rows.

    Parameters
    ----------
    forecast : Forecast
    edges : int
    joined : Amount
        For columns and pairs.
    errors : float array, shape (n_pairs,)
        Error of independence of each pair; private.

    Notes
    -----
    Changes no faster than the errors of so many pairs together. The sum over a forest has one root of a sum of
    squares for each of its pairs, of which one square is that of its error, and public numbers beside it; the
    largest of such sums changes no faster than each. The greedy choice finds it: forests of so many edges are the
    bases of a matroid.
    """
    columns, tables = forecast.between(edges, joined), forecast.pair_noise(edges, joined)
    gained = np.hypot(errors, columns) - np.hypot(tables, columns)
    return forecast.best_forest(dict(zip(forecast.pairs, gained.tolist(), strict=True)), edges)


def forecast_of(layout: ColumnLayout, pairs: tuple[Pair, ...], rows: float) -> Forecast:
    """Return the forecast of a view."""
    return Forecast(sizes=layout.sizes, classes=layout.classes, pairs=pairs, rows=rows, targets=layout.anchored)
