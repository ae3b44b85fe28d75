# SPDX-License-Identifier: Apache-2.0
"""The private choices of dp-marginals: the view with its number of pairs, and a triple with its mixture.

**The view** follows from the public rule and a few noisy readings. A reading is a number in whole steps with discrete
Laplace noise: how much the target depends on the columns, which one row moves by 2 at most, and what the pairs of a
forest would save, which it moves by less than 4 for each pair. The rule (`budget_rules.marginal_choice_rule`)
requests readings and sees nothing else of the rows.

**The triple** is three columns that together determine the target, where no pair does: one triple, or none. Its score
is half of how far its rows are from classes of the same shares in each cell, less public numbers (what chance makes of
it, and what the best pair was read to have). One row moves it by one at most, up or down.

**The mixture of a triple** has the cells of its table as components, of three columns, and of the target where it
splits nothing. Within a cell columns are independent of each other, and have their own shares among the values of the
cell. It is a function of noisy counts, at no privacy loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from anonkit.budget_rules import marginal_choice_rule
from anonkit.budget_rules.marginal_choice_rule import ReadingQuery, TripleRule, ViewPlan, view_plan
from anonkit.budget_rules.marginal_rule import Forecast
from anonkit.budget_rules.model_queries import (
    ModelQuery,
    PairsDependence,
    TargetDependence,
    TargetRelation,
    TripleError,
)
from anonkit.budget_rules.spike_rule import Amount
from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.dp_trees.grower import refuse_other_totals
from anonkit.dp_trees.marginals.exact_tables import ExactTables, TripleCounts, least_error
from anonkit.dp_trees.marginals.measurement_plan import (
    ColumnLayout,
    Pair,
    Reading,
    RemainingBudget,
    Triple,
    reading_draw,
)
from anonkit.dp_trees.marginals.mixture_fit import Mixture, in_units, without_values
from anonkit.dp_trees.marginals.tree_pairs import MeasuredTable, nearest_shares
from anonkit.dp_trees.questions import Counter
from anonkit.mechanisms.accounting import STEPS, draw_units, rate_within, sensitivity_of
from anonkit.mechanisms.exact_samplers import UniformStream, permute_and_flip
from anonkit.published.noisy_tables import groups_of_values
from anonkit.published.product_mixtures import ClassMixture
from anonkit.published.statements.noise_statement import PERMUTE_AND_FLIP, Draw
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


READING = "relation of the target to pairs"
CHOICE = "triple with the target"


@dataclass(frozen=True, kw_only=True, eq=False)
class ChosenTriple(ParamsPart, keys=("purpose=draw.name", "rate=draw.rate", "names")):
    """The result of the choice, and its line of the account."""

    draw: Draw
    names: tuple[str, ...] = ()
    """Three columns; empty where none was chosen."""
    columns: tuple[int, ...] = ()
    """Their numbers."""
    groups: tuple[IntArray, ...] = ()
    """For each of them the group of each value."""
    exact: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64), repr=False)
    """Exact counts of class by cell, to be measured under noise; private."""


def relation(table: IntArray) -> float:
    """Return half of how far a table of class by cell is from classes of the same shares in each cell, in rows.

    Parameters
    ----------
    table : int array, shape (classes, cells)

    Privacy
    -------
    A row more moves it by 1 at most, up or down: half of `least_error` (docs/proofs).
    """
    return least_error(table) / 2


def with_triple(
    choice: ViewChoice, exact: ExactTables, rows: float, whole: int, counter: Counter, randomness: Randomness
) -> tuple[ViewChoice, ChosenTriple | None]:
    """Return a choice of tables after that of a triple, and the triple; None where none was looked for.

    Parameters
    ----------
    choice : ViewChoice
    exact : ExactTables
        Of the finest view.
    rows : float
        Number of rows, public or noisy.
    whole : int
        What a row may lose in all, in units of 2**-52 of epsilon.
    counter : Counter
        Holds the rows.
    randomness : Randomness

    Privacy
    -------
    A reading and a choice, each charged before it is drawn; whether the one follows on the other is a function of the
    noisy reading.
    """
    layout = exact.layout
    if (
        not layout.anchored
        or not exact.pairs
        or choice.plan.tied
        or choice.plan.gain >= marginal_choice_rule.LITTLE_GAIN
    ):
        return choice, None
    rule = rule_of(layout, rows, whole / (1 << 52))
    if not rule.most_groups:
        return choice, None
    groups = groups_of(layout, rule.most_groups)
    draw = reading_draw(READING, int(whole * Fraction(rule.reading_share)), TargetRelation())
    reading = Reading.of(draw, best_pair(rule, exact, groups), UniformStream(randomness.child(READING)))
    choice = _spending(replace(choice, readings=(*choice.readings, reading)), draw_units(draw), exact, rows)
    if not rule.is_little(reading.rows):
        return choice, None
    query = TripleError()
    rate = rate_within(int(whole * Fraction(rule.choice_share)), sensitivity_of(query))
    paid = Draw(name=CHOICE, law=PERMUTE_AND_FLIP, rate=rate, query=query)
    counts = TripleCounts(layout=layout, groups=groups, triples=list(rule.triples))
    tables = dict(counts.split(counter.sum_up(counts)))
    for table in tables.values():
        refuse_other_totals("table of a triple", table.sum(axis=1), exact.class_rows)
    chosen = chosen_triple(rule, tables, max(reading.rows, 0.0), paid, UniformStream(randomness.child(CHOICE)))
    triple = ChosenTriple(draw=paid)
    if chosen is not None:
        triple = ChosenTriple(
            draw=paid,
            names=tuple(layout.names[at] for at in chosen),
            columns=chosen,
            groups=tuple(groups[at] for at in chosen),
            exact=tables[chosen],
        )
        choice = replace(choice, plan=replace(choice.plan, edges=0, gain=0.0))
    return _spending(choice, draw_units(paid), exact, rows), triple


def best_pair(rule: TripleRule, exact: ExactTables, groups: Sequence[IntArray]) -> float:
    """Return the dependence of the target on the best pair beyond chance, in rows; its sensitivity is one row."""
    found = []
    for first, second in exact.pairs:
        table = exact.grouped((first, second), groups)
        flat = table.reshape(len(table), -1)
        found.append(relation(flat) - rule.chance(flat.shape[1]))
    return max(found)


def scores_of(rule: TripleRule, tables: Mapping[Triple, IntArray], pairs: float) -> IntArray:
    """Return the scores of all triples, in steps, where none at all scores 0.

    Parameters
    ----------
    rule : TripleRule
    tables : mapping
        Of each triple the counts of class by cell.
    pairs : float
        What the best pair was read to have, in rows: a triple must have as much on top.

    Privacy
    -------
    Private: to be chosen by alone. One row moves each by `STEPS` and one step of rounding at most, up or down.
    """
    least = {
        cells: int(np.ceil((rule.least(cells) + pairs) * STEPS)) for cells in {t.shape[1] for t in tables.values()}
    }
    return np.array([round(relation(own) * STEPS) - least[own.shape[1]] for own in tables.values()], dtype=np.int64)


def chosen_triple(
    rule: TripleRule, tables: Mapping[Triple, IntArray], pairs: float, draw: Draw, words: UniformStream
) -> Triple | None:
    """Choose a triple or none by permute-and-flip; parameters are those of `scores_of`."""
    scores = np.append(0, scores_of(rule, tables, pairs))
    (at,) = permute_and_flip(scores[np.newaxis], draw.rate, words).tolist()
    return list(tables)[at - 1] if at else None


def _spending(choice: ViewChoice, units: int, exact: ExactTables, rows: float) -> ViewChoice:
    """Return the choice with so many units of a row less for its tables."""
    view = exact if choice.plan.is_split else exact.pooled()
    forecast, left = forecast_of(view.layout, tuple(view.pairs), max(rows, 1.0)), choice.left.after(units)
    amount = forecast.quietest(choice.plan.edges, left.amounts)
    return replace(choice, left=left, plan=replace(choice.plan, amount=amount))


def rule_of(layout: ColumnLayout, rows: float, epsilon: float) -> TripleRule:
    """Return the rule for the columns of a view that the target splits."""
    values = tuple(size - missing for size, missing in zip(layout.sizes, _missing_of(layout), strict=True))
    return TripleRule(values=values, classes=layout.classes, rows=max(rows, 1.0), epsilon=epsilon)


def groups_of(layout: ColumnLayout, most: int) -> tuple[IntArray, ...]:
    """Return the group of each value of each column, in at most so many groups."""
    return tuple(
        groups_of_values(size - missing, has_missing=missing, most=most)
        for size, missing in zip(layout.sizes, _missing_of(layout), strict=True)
    )


def _missing_of(layout: ColumnLayout) -> tuple[bool, ...]:
    """Return True if each column has a value for missing, the last."""
    return tuple(layout.schema.domains[name].has_missing for name in layout.names)


def mixtures_of_triple(
    layout: ColumnLayout,
    columns: FloatArray,
    chosen: ChosenTriple,
    table: MeasuredTable,
    empty: IntArray,
    class_rows: FloatArray,
) -> tuple[ClassMixture, ...]:
    """Return the mixture of each class that splits the tables.

    Parameters
    ----------
    layout : ColumnLayout
    columns : float array, shape (classes, all values)
        Shares of the values of each column.
    chosen, table
        The triple, and its noisy table, shape (classes, cells): with one class its cells are by the target first.
    empty : int64 array
        Values among those of all columns that no row shall have.
    class_rows : float array, shape (classes,)
    """
    places, groups = list(chosen.columns), list(chosen.groups)
    if not layout.anchored:
        last = len(layout.sizes) - 1
        places, groups = [last, *places], [np.arange(layout.sizes[last]), *groups]
    shares = nearest_shares(table.counts, np.maximum(class_rows, 1.0))
    out = []
    for own, of_cells, rows in zip(columns, shares, class_rows, strict=True):
        base = without_values(Mixture(weights=np.ones(1), shares=own[np.newaxis]), empty, layout.offsets)
        split = mixture_of_cells(layout, base.shares[0], places, groups, of_cells, empty)
        out.append(in_units(split, layout.offsets, rows))
    return tuple(out)


def mixture_of_cells(
    layout: ColumnLayout, own: FloatArray, columns: Sequence[int], groups: Sequence[IntArray], shares: FloatArray,
    empty: IntArray,
) -> Mixture:  # fmt: skip
    """Return the mixture of one class.

    Parameters
    ----------
    layout : ColumnLayout
    own : float array, shape (all values,)
        Shares of the values of each column.
    columns, groups
        The columns of the table, and for each the group of each value.
    shares : float array, shape (cells,)
        Of the cells, the groups of the last column first to change.
    empty : int64 array
        Values among those of all columns that no row shall have.
    """
    sizes = tuple(int(group.max()) + 1 for group in groups)
    out = np.repeat(own[np.newaxis], shares.size, axis=0)
    for at, column, group in zip(np.unravel_index(np.arange(shares.size), sizes), columns, groups, strict=True):
        place = layout.values(column)
        possible = ~np.isin(np.arange(place.start, place.stop), empty)
        inside = (group == at[:, np.newaxis]) & possible
        part = np.where(inside, own[place], 0.0)
        whole = part.sum(axis=1, keepdims=True)
        evenly = inside / inside.sum(axis=1, keepdims=True)
        out[:, place] = np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), evenly)
    return Mixture(weights=shares, shares=out)
