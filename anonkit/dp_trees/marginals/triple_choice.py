# SPDX-License-Identifier: Apache-2.0
"""The private choice of three columns that speak of the target together, where no pair does: one triple, or none.

The score of a triple is half of how far its rows are from classes of the same shares in each cell, less public numbers
(what chance makes of it, and what the best pair was read to have). One row moves it by one at most, up or down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from anonkit.budget_rules import triple_rule
from anonkit.budget_rules.model_queries import TargetRelation, TripleError
from anonkit.budget_rules.triple_rule import TripleRule
from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import IntArray
from anonkit.dp_trees.grower import refuse_other_totals
from anonkit.dp_trees.marginals.exact_tables import ExactTables, TripleCounts, least_error
from anonkit.dp_trees.marginals.noisy_readings import ColumnLayout, Reading, Triple, reading_draw
from anonkit.dp_trees.marginals.view_choice import ViewChoice, forecast_of
from anonkit.dp_trees.questions import Counter
from anonkit.mechanisms.accounting import draw_units, rate_within
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.mechanisms.private_selection import permute_and_flip
from anonkit.mechanisms.query_sensitivity import STEPS, sensitivity_of
from anonkit.published.marginal_tables import groups_of_values
from anonkit.published.statements.draws import PERMUTE_AND_FLIP, Draw
from anonkit.randomness import Randomness

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
    if not layout.anchored or not exact.pairs or choice.plan.tied or choice.plan.gain >= triple_rule.LITTLE_GAIN:
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
