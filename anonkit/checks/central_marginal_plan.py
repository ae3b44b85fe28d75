# SPDX-License-Identifier: Apache-2.0
"""The draws of dp-marginals rebuilt from public facts and noisy readings: a second copy of its rule.

The method's own rule and plan are not read. What is drawn follows from the noisy number of rows and from what was read
of the target and of the pairs, in this order; a reading that the rule does not ask for is as wrong as one that lacks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from anonkit.checks.central_marginal_noise import Amount, NoiseView, Pairs, cell_power
from anonkit.checks.central_params import (
    ALL_ROWS,
    EXPONENTIAL,
    GAUSSIAN,
    PublicFacts,
    changed_rows,
    changed_squared,
    integers,
)
from anonkit.checks.central_plans import (
    FLIP,
    LAPLACE,
    ExpectedAccount,
    ExpectedLine,
    row_epsilon,
)
from anonkit.checks.central_triples import (
    CHOICE,
    CHOICE_WIDTH,
    READING,
    TABLE,
    TriplePlan,
    is_little,
    planned_triples,
)
from anonkit.checks.finding_lines import finding_epsilon, finding_lines
from anonkit.checks.gaussian_lines import rho_within
from anonkit.checks.missing_cells import is_thresholded
from anonkit.errors import ReleaseFormatError

ROWS_PART = 100
"""A noisy number of rows costs this part of epsilon."""
_WIDTH = 512
"""Steps of 2**-8 by which a row may move the errors of all pairs, up or down."""
_ROWS_A_PAIR, _ROWS_OF_TARGET = 4, 2
"""Rows by which a row may move what is read of a pair, and of the target; rounding moves a reading by a step at either
end."""
_MOST_VALUES = 1 << 21
_MOST_ROWS = 1 << 36
_MOST_CLASSES = 16
_FREE_SPLIT, _FREE_BESIDE_TREE = 0.08, 0.003
"""Expected distance by noise that tables split by the target may cost unread, and where one tree was read to gain."""


@dataclass(frozen=True, kw_only=True)
class ExpectedTables:
    """The tables that must have been measured."""

    anchored: bool
    """True when the classes of the target split all tables."""
    candidates: Pairs
    """Pairs of columns that may be measured, by number."""
    edges: int
    """Pairs of the forest that is chosen at once; none where columns alone are measured."""
    tied: bool
    """True when one of them is of the target, which could split the tables and does not."""
    further: int
    """Pairs that are chosen one by one after it."""
    readings: tuple[tuple[str, float, int], ...]
    """Purpose and share of epsilon of each reading, and by how many rows a row may move it."""
    is_gaussian: bool
    """True where noise is Gaussian, and costs are of rho."""
    triples: TriplePlan | None = None
    """Triples of which one was chosen, or none; None where no choice is made."""
    cells: int = 0
    """Cells of the table of the chosen triple, for each class that splits the tables."""
    costs: tuple[float, float, float, float, float]
    """Tables of columns, choices of edges, tables of edges, further choices, further tables: of one row, in all."""


def delta_may_pay(facts: PublicFacts) -> bool:
    """Return whether Gaussian noise is less on the largest tree, were rows without end: else there is no delta."""
    if not facts.delta:
        return False
    split = split_facts(facts, anchored=False)
    view, whole = _view(facts, 1e30, _candidates(split), False), row_epsilon(facts)
    return view.quiet(view.spanning(), [(False, whole), _in_rho(facts, whole)])[0]


def _in_rho(facts: PublicFacts, left: float) -> Amount:
    return True, rho_within(left * changed_rows(facts), facts.delta) / changed_squared(facts)


def _amounts(facts: PublicFacts, left: float) -> list[Amount]:
    """Return what the epsilon that is left of a row, and delta, are worth: in epsilon, and in rho."""
    amounts = [(False, left)]
    if delta_may_pay(facts):
        amounts.append(_in_rho(facts, left))
    return amounts


def split_facts(facts: PublicFacts, *, anchored: bool) -> PublicFacts:
    """Return the facts with the columns that have tables as attributes, and with what splits them as the target."""
    if anchored:
        return facts
    extra = (facts.target,) if facts.has_target else ()
    return replace(facts, attributes=(*facts.attributes, *extra), target=ALL_ROWS, has_target=False)


def after_search(facts: PublicFacts, params: Mapping[str, Any]) -> PublicFacts:
    """Return the facts with the epsilon and the delta that are left when domains were looked for; or as they were."""
    if not finding_lines(params):
        return facts
    epsilon = facts.number("epsilon") - float(finding_epsilon(params)) * changed_rows(facts)
    return replace(facts, parameters={**facts.parameters, "epsilon": epsilon, "delta": facts.delta / 2})


class _Readings:
    """The readings of a release, taken one after another as the rule asks for them."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.stated = [(str(one["purpose"]), integers([one["steps"]])[0]) for one in params["readings"]]
        self.asked: list[tuple[str, float, int]] = []

    def take(self, purpose: str, share: float, moved: int) -> float:
        """Return what was read, in rows."""
        at = len(self.asked)
        self.asked.append((purpose, share, moved))
        if at >= len(self.stated) or self.stated[at][0] != purpose:
            raise ReleaseFormatError("the params lack a reading that the rule requires")
        return self.stated[at][1] / 256


def expected_measurements(facts: PublicFacts, params: Mapping[str, Any]) -> ExpectedTables:
    """Work the rule out again: which readings there are, what is measured, and for how much.

    Where domains were looked for, the rule is that of what this left of epsilon and delta.
    """
    facts = after_search(facts, params)
    whole = row_epsilon(facts)
    number, left = facts.whole("n_rows", 0, _MOST_ROWS), whole
    if not number:
        (number,) = integers([params["rows"]["count"]])
        left -= whole / ROWS_PART
    rows, readings = max(float(number), 1.0), _Readings(params)
    splits = facts.has_target and not facts.target.domain.fine and 2 <= facts.n_classes <= _MOST_CLASSES
    splits = splits and _can_hold(facts)
    anchored, candidates, (gain, edges), speaks = _decided(facts, rows, whole, left, splits, readings)
    view, tie, before = _view(facts, rows, candidates, anchored), 0.0, left
    left -= whole * sum(share for _, share, _ in readings.asked)
    tied = speaks and not anchored and edges < view.spanning()
    if tied and not edges:
        tie = min(0.1, 0.006 / view.least(0, _amounts(facts, before)))
        tied = view.of_last(view.quiet(1, _amounts(facts, left)), tie / 2) <= 0.2
    edges = max(edges, int(tied))
    triples, cells = None, 0
    if splits and not tied and gain < 0.01 and is_thresholded(params):  # earlier versions looked for none
        triples, spent = _triples(facts, rows, whole, readings)
        left -= spent
    if triples is not None and (chosen := triples.chosen(params, [column.name for column in facts.attributes])):
        edges, gain = 0, 0.0
        cells = triples.cells(chosen) * (1 if anchored else facts.n_classes)
    if len(readings.asked) != len(readings.stated):
        raise ReleaseFormatError("the params hold a reading that the rule does not ask for")
    amount = view.quiet(edges, _amounts(facts, left))
    gaussian, loss = amount
    further, (columns, choice, tree) = 0, view.parts(edges, gaussian)
    if tied and tie:
        columns, choice, tree = 1 - tie, tie / 2, tie / 2
    if gain >= 0.01 and edges == len(view.sizes) - 1:
        a_column = min(2.0, (0.016 if gaussian else 0.008) / view.distance(edges, amount))
        further = min(round(a_column * len(view.sizes)), len(candidates) - edges) if a_column >= 0.5 else 0
    further += edges // 2  # the other half of a forest is chosen at once
    edges -= edges // 2
    behind = further / max(edges + further, 1)
    parts = (columns, choice * (1 - behind), tree * (1 - behind), choice * behind, tree * behind)
    one, choice, tree, later, pairs = (loss * part / sum(parts) for part in parts)
    if gaussian:  # a choice is dearer than a table where rows are replaced: see the account
        dearer = changed_rows(facts) ** 2 / changed_squared(facts)
        choice, later = choice / dearer, later / dearer
    return ExpectedTables(
        anchored=anchored, candidates=candidates, edges=edges, tied=tied, further=further,
        readings=tuple(readings.asked), is_gaussian=gaussian, costs=(one, choice, tree, later, pairs),
        triples=triples, cells=cells,
    )  # fmt: skip


def _triples(facts: PublicFacts, rows: float, whole: float, readings: _Readings) -> tuple[TriplePlan | None, float]:
    """Return the triples of which one is chosen, or none; and what the reading before it and the choice cost."""
    plan = planned_triples(facts, rows, whole)
    if plan is None:
        return None, 0.0
    if not is_little(readings.take(READING, plan.reading, 1), rows):
        return None, plan.reading * whole
    return plan, (plan.reading + plan.choice) * whole


def _decided(
    facts: PublicFacts, rows: float, whole: float, left: float, splits: bool, readings: _Readings
) -> tuple[bool, Pairs, tuple[float, int], bool]:
    """Return whether the target splits tables, pairs that may be measured, gain and pairs of the forest.

    And last, whether columns were read to speak of the target.
    """
    columns = len(facts.attributes)
    finest = _candidates(split_facts(facts, anchored=splits))
    alike_pairs = tuple(sorted((*finest, *((at, columns) for at in range(columns))))) if splits else finest
    if not alike_pairs:
        return False, (), (0.0, 0), False
    amounts = _amounts(facts, left)
    alike, split = _view(facts, rows, alike_pairs, False), _view(facts, rows, finest, True) if splits else None
    noise = alike.least(0, amounts)
    if noise > 0.3:
        return False, alike_pairs, (0.0, 0), False
    anchored, base, asked, speaks = False, noise, 0, False
    if split is not None:
        own, whole_tree = split.least(0, amounts), alike.spanning()
        joins = alike.quiet(whole_tree, amounts)[0] and split.least(split.spanning(), amounts) > 0.03
        found, spent = _joined(alike, [whole_tree] if joins else [], amounts, noise, whole, readings)
        if found[1] and found[0] > 0.5 * (own - noise):
            return False, alike_pairs, found, False
        left -= spent
        anchored, through = own - noise <= (_FREE_BESIDE_TREE if found[1] else _FREE_SPLIT), 0.0
        noisiest = max(3.0 * (own - noise) / 5, 0.01)
        share = min(0.05, 0.004 / noise, 1 / noisiest / whole / rows)
        scale, chance = 1 / (share * whole * rows), alike.by_chance(split.classes)
        need = math.hypot(max(3.0 * (own - noise), 2.5 * scale), chance)
        if not anchored and need <= 0.3 and scale <= 0.12:
            told = readings.take("dependence on the target", share, _ROWS_OF_TARGET) / 2 / rows
            anchored, speaks = told >= need, told >= math.hypot(scale, chance)
            beyond = math.sqrt(max(told * abs(told) - chance * chance, 0.0))
            through = (2 * beyond + 1.2 * (columns - 1) * beyond**2) / (columns + 1) - (own - noise)
            left -= share * whole
        if found[1] and (not anchored or found[0] > through):
            return False, alike_pairs, found, speaks
        asked, amounts = whole_tree if joins else 0, _amounts(facts, left)
        base = own if anchored else noise
    view, candidates = (split, finest) if split is not None and anchored else (alike, alike_pairs)
    most = view.spanning()
    laplace = not view.quiet(most, amounts)[0]
    edges = (most + 1) // 2 if most and laplace and view.least(most, amounts) - base > 0.02 else most
    numbers = [number for number in ([2, edges] if edges > 2 else [edges]) if number not in {0, asked}]
    return anchored, candidates, _joined(view, numbers, amounts, noise, whole, readings)[0], speaks


def _joined(
    view: NoiseView, numbers: Sequence[int], amounts: Sequence[Amount], noise: float, whole: float, readings: _Readings
) -> tuple[tuple[float, int], float]:
    """Return what was read to gain most, and how many pairs that is of, or nothing and none; and what readings cost."""
    found, spent = (0.0, 0), 0.0
    for edges in numbers:
        one = 2 * edges / view.counted() / view.rows / whole
        share = min(0.05, 0.002 / noise, one / 0.001)
        if one / share > 0.01:
            continue
        purpose = f"gain of {edges} pairs" if edges > 1 else "gain of one pair"
        saved = readings.take(purpose, share, _ROWS_A_PAIR * edges) / view.counted() / 2 / view.rows
        spent += share * whole
        quiet = view.quiet(edges, amounts)
        worth = 1 + (0.7 if quiet[0] else 0.5) * edges / (len(view.sizes) - 1)
        taken = view.taken(edges, view.quiet(0, amounts), quiet) * (0.4 if quiet[0] else 1.0)
        gain, least = worth * saved - taken, 1.5 * worth * one / share
        if gain > max(found[0], least):
            found = gain, edges
        if gain < -least:
            break
    return found, spent


def _view(facts: PublicFacts, rows: float, pairs: Pairs, anchored: bool) -> NoiseView:
    split = split_facts(facts, anchored=anchored)
    sizes = tuple(column.domain.size for column in split.attributes)
    return NoiseView(sizes=sizes, classes=split.n_classes, pairs=pairs, rows=rows, target=anchored)


def expected_tables(facts: PublicFacts, params: Mapping[str, Any]) -> ExpectedAccount:
    """Return one line for the rows where they were counted, one a reading, one a column, and those of pairs."""
    found, whole = expected_measurements(facts, params), row_epsilon(after_search(facts, params))
    split = split_facts(facts, anchored=found.anchored)
    counted = [] if facts.whole("n_rows", 0, _MOST_ROWS) else [
        ExpectedLine(purpose="number of rows", mechanism=LAPLACE, cost=whole / ROWS_PART)
    ]  # fmt: skip
    read = [
        ExpectedLine(purpose=purpose, mechanism=LAPLACE, sensitivity=moved * 256 + 2, cost=whole * share)
        for purpose, share, moved in found.readings
    ]
    word = "class x {}" if found.anchored else "rows by {}"
    law, power = (GAUSSIAN if found.is_gaussian else LAPLACE), cell_power(found.is_gaussian)
    names = [word.format(column.name) for column in split.attributes]
    weights = [column.domain.size**power for column in split.attributes]
    if found.cells:
        names, weights = [*names, TABLE], [*weights, found.cells**power]
    columns = [
        ExpectedLine(purpose=name, mechanism=law, cost=found.costs[0] * weight / sum(weights))
        for name, weight in zip(names, weights, strict=True)
    ]
    if found.triples is not None:
        paid = whole * found.triples.choice
        read.append(ExpectedLine(purpose=CHOICE, mechanism=FLIP, sensitivity=CHOICE_WIDTH, cost=paid))
    _, choice, tree, later, pairs = found.costs
    lines = [
        *([_choice("pair of the tree", found, found.edges, choice),
           _table("table of a pair of the tree", law, found.edges, tree)] if found.edges else []),
        *([_choice("further pair", found, found.further, later),
           _table("table of a further pair", law, found.further, pairs)] if found.further else []),
    ]  # fmt: skip
    return ExpectedAccount(lines=(*counted, *read, *columns, *lines))


def _choice(purpose: str, found: ExpectedTables, times: int, cost: float) -> ExpectedLine:
    mechanism = EXPONENTIAL if found.is_gaussian else FLIP
    return ExpectedLine(
        purpose=purpose, mechanism=mechanism, sensitivity=_WIDTH, times=range(times, times + 1), cost=cost,
        in_rho=found.is_gaussian,
    )  # fmt: skip


def _table(purpose: str, law: str, times: int, cost: float) -> ExpectedLine:
    return ExpectedLine(purpose=purpose, mechanism=law, times=range(times, times + 1), cost=cost)


def _candidates(split: PublicFacts) -> Pairs:
    """Return the pairs that may be measured: all of them, or none where there are too many values for memory."""
    return tuple(combinations(range(len(split.attributes)), 2)) if _can_hold(split) else ()


def _can_hold(split: PublicFacts) -> bool:
    """Return whether all pairs of values fit into memory: else columns alone are measured."""
    return split.n_classes * sum(column.domain.size for column in split.attributes) ** 2 <= _MOST_VALUES


def number_of_pair(names: Sequence[str], pair: Sequence[Any]) -> tuple[int, int]:
    """Return the numbers of the columns of a pair.

    Raises
    ------
    ReleaseFormatError
        It names no two different columns, or not in their order.
    """
    first, second = (names.index(name) if name in names else -1 for name in pair)
    if not 0 <= first < second:
        raise ReleaseFormatError("a table of the params is of no pair of columns")
    return first, second
