# SPDX-License-Identifier: Apache-2.0
"""The draws of dp-marginals: its public rule followed with the noisy readings of a release.

What is drawn follows from the noisy number of rows and from what was read of the target and of the pairs, in this
order; a reading that the rule does not require is as wrong as one that is missing.

So do the best pair that is read, the choice of a triple, its candidates, its cost and the cells in which it is counted.
Which triple is chosen, or none, is chance.

A column of drawn rows may show missing cells by a threshold of noisy counts, worked out independently: a release that
states so counts missing as none where its noisy count is not above three deviations of its own noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from anonkit.budget_rules import marginal_choice_rule
from anonkit.budget_rules import marginal_rule as rule
from anonkit.budget_rules.marginal_choice_rule import ReadingQuery, TripleRule, view_plan
from anonkit.budget_rules.marginal_rule import Forecast, Pair
from anonkit.budget_rules.model_queries import (
    ModelQuery,
    PairError,
    PairsDependence,
    TargetDependence,
    TargetRelation,
    TripleError,
)
from anonkit.budget_rules.spike_rule import Amount
from anonkit.checks.account_lines import finding_epsilon, finding_lines, gaussian_variance, rho_within
from anonkit.checks.central_account import FLIP, LAPLACE, ExpectedAccount, ExpectedLine, row_epsilon
from anonkit.checks.central_params import (
    ALL_ROWS,
    EXPONENTIAL,
    GAUSSIAN,
    PublicFacts,
    changed_rows,
    changed_squared,
    integers,
)
from anonkit.checks.query_changes import change_of
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

READING, CHOICE, TABLE = "relation of the target to pairs", "triple with the target", "table of the triple"


@dataclass(frozen=True, kw_only=True)
class TriplePlan:
    """The triples that may be chosen."""

    rule: TripleRule
    groups: tuple[tuple[int, ...], ...]
    """For each column of the policy the group of each value."""

    def chosen(self, params: Mapping[str, Any], names: Sequence[str]) -> tuple[int, ...]:
        """Return the numbers of the columns of the published triple; none where none was chosen.

        Raises
        ------
        ReleaseFormatError
            It was none to choose, or there is no choice.
        """
        stated = params.get("triple")
        if (
            not isinstance(stated, Mapping)
            or stated.get("purpose") != CHOICE
            or not isinstance(stated.get("names"), list)
        ):
            raise ReleaseFormatError("the params lack a choice of a triple that the rule requires")
        if not stated["names"]:
            return ()
        for triple in self.rule.triples:
            if [names[at] for at in triple] == stated["names"]:
                return triple
        raise ReleaseFormatError("the params name a triple that was none to choose")

    def cells(self, triple: Sequence[int]) -> int:
        """Return the cells of the table of some columns, in one class."""
        return math.prod(max(self.groups[at]) + 1 for at in triple)


def planned_triples(facts: PublicFacts, rows: float, whole: float) -> TriplePlan | None:
    """Return the plan; None where columns are too few, or rows for the noise.

    Parameters
    ----------
    facts : PublicFacts
        With the target as such.
    rows : float
        Public or noisy, at least 1.
    whole : float
        What a row may lose in all.
    """
    values = tuple(column.domain.size - bool(column.domain.has_missing) for column in facts.attributes)
    rule = TripleRule(values=values, classes=facts.n_classes, rows=rows, epsilon=whole)
    if not rule.most_groups:
        return None
    groups = tuple(
        _groups(size, rule.group_number(at), bool(column.domain.has_missing))
        for at, (size, column) in enumerate(zip(values, facts.attributes, strict=True))
    )
    return TriplePlan(rule=rule, groups=groups)


def _groups(size: int, number: int, has_missing: bool) -> tuple[int, ...]:
    """Return the group of each value: of neighbours, and missing in the last."""
    return (*(at * number // size for at in range(size)), *([number - 1] if has_missing else []))


def wrong_triple(params: Mapping[str, Any], plan: TriplePlan | None, names: Sequence[str], classes: int) -> int:
    """Count what is wrong with the choice and its table.

    Parameters
    ----------
    params : mapping
    plan : TriplePlan, optional
        None where no triple was to be chosen.
    names : sequence of str
        Of the columns of the policy, without the target.
    classes : int
        Of the target.
    """
    if plan is None:
        return int("triple" in params)
    triple, stated = plan.chosen(params, names), params["triple"]
    wrong = int([stated["rate"]] != _rates(params, CHOICE))
    if not triple:
        return wrong + int("table" in stated)
    table = stated["table"]
    wrong += int(integers([table["rate"]]) != _rates(params, TABLE))
    wrong += int([integers(own) for own in table["groups"]] != [list(plan.groups[at]) for at in triple])
    return wrong + int([len(integers(row)) for row in table["counts"]] != [plan.cells(triple)] * classes)


def _rates(params: Mapping[str, Any], purpose: str) -> list[int]:
    return [line["rate"] for line in params["accounting"] if line["purpose"] == purpose]


def measured_triple(params: Mapping[str, Any], *, anchored: bool) -> tuple[np.ndarray[Any, Any], int] | None:
    """Return the noisy counts of the triple by class that splits the tables and cell, and the rate; None without."""
    stated = params.get("triple") or {}
    if "table" not in stated:
        return None
    counts = np.array(stated["table"]["counts"], dtype=np.float64)
    return (counts if anchored else counts.reshape(1, -1)), stated["table"]["rate"]


def expected_of_triple(params: Mapping[str, Any], split: PublicFacts, *, anchored: bool) -> np.ndarray[Any, Any]:
    """Return the rows that the mixtures expect in each cell of the triple, shape as `measured_triple`."""
    stated, names = params["triple"], [column.name for column in split.attributes]
    ends = np.cumsum([0, *(column.domain.size for column in split.attributes)])
    tables = [(name, np.array(own)) for name, own in zip(stated["names"], stated["table"]["groups"], strict=True)]
    if not anchored:
        tables.insert(0, (names[-1], np.arange(split.attributes[-1].domain.size)))
    found = []
    for own in params["mixtures"]:
        weights, shares = np.array(own["weights"]) / (1 << 20), np.array(own["shares"]) / (1 << 16)
        cells = weights[:, np.newaxis] * own["rows"]
        for name, groups in tables:
            at = names.index(name)
            inside = shares[:, ends[at] : ends[at + 1]] @ (groups[:, np.newaxis] == np.arange(groups.max() + 1))
            cells = (cells[:, :, np.newaxis] * inside[:, np.newaxis, :]).reshape(len(weights), -1)
        found.append(cells.sum(axis=0))
    return np.stack(found)


_ABOVE = 3
"""Deviations of its noise that a count of missing must exceed to be shown: part of the format (`missing_above`)."""
_KEY = "missing_above"


def is_thresholded(params: Mapping[str, Any]) -> bool:
    """Return True if a release states that faint counts of missing are none; earlier versions stated nothing.

    Raises
    ------
    ReleaseFormatError
        It says another number of deviations than any version wrote.
    """
    stated = params.get(_KEY)
    if stated is None:
        return False
    if type(stated) not in (int, float) or stated != _ABOVE:
        raise ReleaseFormatError("the params count missing cells by a threshold that anonkit does not write")
    return True


def is_none(tables: Sequence[tuple[Any, int]], *, gaussian: bool) -> bool:
    """Return True if noisy counts of missing are no more than noise makes.

    Parameters
    ----------
    tables : sequence of (nested lists of int, int)
        Of each table that counts missing: its counts, by class, region or value of another column, empty where there
        are none; and the rate of the noise of each, in units of 2**-52.
    gaussian : bool
        The law of the noise; else discrete Laplace.
    """
    weighed, weights = 0.0, 0.0
    for counts, rate in tables:
        flat = np.array(counts, dtype=np.float64).reshape(-1)
        loss = rate / 2**52
        variance = gaussian_variance(rate) if gaussian else 2 * math.exp(-loss) / math.expm1(-loss) ** 2
        if flat.size:
            weighed += float(flat.sum()) / (flat.size * variance)
            weights += 1 / (flat.size * variance)
    return weighed <= _ABOVE * math.sqrt(weights)


def forest_checks(params: Mapping[str, Any], facts: PublicFacts, missing: Mapping[str, int]) -> Iterator[Check]:
    """Check that rows of a forest are missing in no column whose count of missing is within its noise.

    Parameters
    ----------
    params, facts
    missing : mapping of str to int
        Rows in which each column is missing.
    """
    if not is_thresholded(params):
        return
    (line,) = (line for line in params["accounting"] if line["purpose"] == "histograms by class")
    for at, column in enumerate(facts.attributes):
        if not column.domain.has_missing:
            continue
        counts = [region[at][-1] for region in params["histograms"] if region[at]]
        if is_none([(counts, line["rate"])], gaussian=line["mechanism"] == GAUSSIAN):
            shown = missing[column.name]
            yield Check(name=f"missing:{column.name}", passed=shown == 0, observed=shown, required=0)


def shown_in_mixtures(params: Mapping[str, Any], split: PublicFacts, *, gaussian: bool) -> int:
    """Count the columns whose mixtures show missing although its count is within the noise.

    Parameters
    ----------
    params : mapping
        Its tables and mixtures fit the columns.
    split : PublicFacts
        With the columns that have tables.
    """
    if not is_thresholded(params):
        return 0
    ends = np.cumsum([column.domain.size for column in split.attributes]) - 1
    wrong = 0
    for column, table, end in zip(split.attributes, params["tables"], ends.tolist(), strict=True):
        estimates = [([row[-1] for row in table["counts"]], table["rate"])]
        if table["groups"].count(table["groups"][-1]) == 1:
            for pair in params["pairs"]:
                if column.name in pair["names"]:
                    of_last = np.take(pair["counts"], table["groups"][-1], axis=1 + pair["names"].index(column.name))
                    estimates.append((of_last, pair["rate"]))
        if column.domain.has_missing and is_none(estimates, gaussian=gaussian):
            wrong += any(component[end] for own in params["mixtures"] for component in own["shares"])
    return wrong


_MOST_ROWS = 1 << 36
"""Rows that a release may have: a noisy number beyond is none."""
_UNITS = 1 << 52


@dataclass(frozen=True, kw_only=True)
class ExpectedTables:
    """The tables that must have been measured."""

    anchored: bool
    """True when the classes of the target split all tables."""
    candidates: tuple[Pair, ...]
    """Pairs of columns that may be measured, by number."""
    edges: int
    """Pairs of the forest that is chosen at once; none where columns alone are measured."""
    tied: bool
    """True when one of them is of the target, which could split the tables and does not."""
    further: int
    """Pairs that are chosen one by one after it."""
    readings: tuple[tuple[str, float, ModelQuery], ...]
    """Purpose, share of epsilon and query of each reading."""
    is_gaussian: bool
    """True where noise is Gaussian, and costs are of rho."""
    triples: TriplePlan | None = None
    """Triples of which one was chosen, or none; None where no choice is made."""
    cells: int = 0
    """Cells of the table of the chosen triple, for each class that splits the tables."""
    costs: tuple[float, float, float, float, float]
    """Tables of columns, choices of edges, tables of edges, further choices, further tables: of one row, in all."""


def delta_may_pay(facts: PublicFacts) -> bool:
    """Return True if Gaussian noise is less on the largest tree, were rows without end: else there is no delta."""
    if not facts.delta:
        return False
    split, whole = split_facts(facts, anchored=False), row_epsilon(facts)
    sizes = tuple(column.domain.size for column in split.attributes)
    amounts = (Amount(law=LAPLACE, loss=whole), _in_rho(facts, whole))
    return marginal_choice_rule.delta_may_pay(sizes, _candidates(split), amounts)


def _in_rho(facts: PublicFacts, left: float) -> Amount:
    return Amount(law=GAUSSIAN, loss=rho_within(left * changed_rows(facts), facts.delta) / changed_squared(facts))


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
    """The readings of a release, looked up one after another as the rule asks for them."""

    def __init__(self, params: Mapping[str, Any], facts: PublicFacts, units: int) -> None:
        self.stated = [(str(one["purpose"]), integers([one["steps"]])[0]) for one in params["readings"]]
        self.queries: list[tuple[str, float, ModelQuery]] = []
        self._facts, self._whole, self._left = facts, units, units
        self._delta_may_pay = delta_may_pay(facts)

    def spend(self, units: int) -> None:
        """Take so many units of a row off."""
        self._left -= units

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """Remaining loss of a row: in epsilon, and in rho where a delta may pay."""
        amounts = (Amount(law=LAPLACE, loss=self._left / _UNITS),)
        return (*amounts, _in_rho(self._facts, self._left / _UNITS)) if self._delta_may_pay else amounts

    def read(self, reading: ReadingQuery) -> float:
        """Return a published reading, in rows."""
        query = PairsDependence(pairs=reading.edges) if reading.edges else TargetDependence()
        return self.take(reading.purpose, reading.share, query)

    def take(self, purpose: str, share: float, query: ModelQuery) -> float:
        """Return the published reading, in rows, and charge it."""
        at = len(self.queries)
        self.queries.append((purpose, share, query))
        if at >= len(self.stated) or self.stated[at][0] != purpose:
            raise ReleaseFormatError("the params lack a reading that the rule requires")
        self.spend_share(share, query)
        return self.stated[at][1] / 256

    def spend_share(self, share: float, query: ModelQuery) -> None:
        """Take off what a draw costs, whose rate is rounded down."""
        width = change_of(query)
        self.spend(int(self._whole * Fraction(share)) // width * width)


def expected_measurements(facts: PublicFacts, params: Mapping[str, Any]) -> ExpectedTables:
    """Follow the rule: which readings there are, what is measured, and for how much.

    Where domains were looked for, the rule is that of what this left of epsilon and delta.
    """
    facts = after_search(facts, params)
    units = math.floor(Fraction(row_epsilon(facts)) * _UNITS)
    readings, number = _Readings(params, facts, units), facts.whole("n_rows", 0, _MOST_ROWS)
    if not number:
        (number,) = integers([params["rows"]["count"]])
        readings.spend(int(units * rule.ROWS_SHARE))
    rows = max(float(number), 1.0)
    may_split = facts.has_target and not facts.target.domain.fine and rule.splits_tables(facts.n_classes)
    may_split = may_split and _pairs_fit(facts)
    finest = _candidates(split_facts(facts, anchored=may_split))
    last = len(facts.attributes)
    alike = tuple(sorted((*finest, *((at, last) for at in range(last))))) if may_split else finest
    views = {False: _view(facts, rows, alike, False), True: _view(facts, rows, finest, True)}
    chosen = view_plan(views[False], views[True] if may_split else None, units / _UNITS, readings)
    view, edges, gain = views[chosen.is_split], chosen.edges, chosen.gain
    triples, cells = None, 0
    looked_for = may_split and bool(finest) and not chosen.tied and gain < marginal_choice_rule.LITTLE_GAIN
    if looked_for and is_thresholded(params):  # earlier versions looked for none
        triples = _triples(facts, rows, units / _UNITS, readings)
    if triples is not None and (named := triples.chosen(params, [column.name for column in facts.attributes])):
        edges, gain = 0, 0.0
        cells = triples.cells(named) * (1 if chosen.is_split else facts.n_classes)
    if len(readings.queries) != len(readings.stated):
        raise ReleaseFormatError("the params hold a reading that the rule does not ask for")
    amount = view.quietest(edges, readings.amounts)
    further = view.further(edges, amount, gain)
    stages = rule.stages_of(view.sizes, view.classes, edges, further, amount.law, chosen.tie)
    one, choice, tree, later, pairs = (amount.loss * part / sum(stages.weights) for part in stages.weights)
    if amount.law == GAUSSIAN:  # a choice is dearer than a table where rows are replaced: see the account
        dearer = changed_rows(facts) ** 2 / changed_squared(facts)
        choice, later = choice / dearer, later / dearer
    return ExpectedTables(
        anchored=chosen.is_split, candidates=view.pairs, edges=stages.at_once, tied=chosen.tied, further=stages.later,
        readings=tuple(readings.queries), is_gaussian=amount.law == GAUSSIAN, costs=(one, choice, tree, later, pairs),
        triples=triples, cells=cells,
    )  # fmt: skip


def _triples(facts: PublicFacts, rows: float, whole: float, readings: _Readings) -> TriplePlan | None:
    """Return the triples of which one is chosen, or none, after the reading that decides."""
    plan = planned_triples(facts, rows, whole)
    if plan is None or not plan.rule.is_little(readings.take(READING, plan.rule.reading_share, TargetRelation())):
        return None
    readings.spend_share(plan.rule.choice_share, TripleError())
    return plan


def _view(facts: PublicFacts, rows: float, pairs: tuple[Pair, ...], is_split: bool) -> Forecast:
    split = split_facts(facts, anchored=is_split)
    sizes = tuple(column.domain.size for column in split.attributes)
    return Forecast(sizes=sizes, classes=split.n_classes, pairs=pairs, rows=rows, targets=is_split)


def expected_tables(facts: PublicFacts, params: Mapping[str, Any]) -> ExpectedAccount:
    """Return one line for the rows where they were counted, one a reading, one a column, and those of pairs."""
    found, whole = expected_measurements(facts, params), row_epsilon(after_search(facts, params))
    split = split_facts(facts, anchored=found.anchored)
    counted = [] if facts.whole("n_rows", 0, _MOST_ROWS) else [
        ExpectedLine(purpose="number of rows", mechanism=LAPLACE, cost=whole * float(rule.ROWS_SHARE))
    ]  # fmt: skip
    read = [
        ExpectedLine(purpose=purpose, mechanism=LAPLACE, query=query, cost=whole * share)
        for purpose, share, query in found.readings
    ]
    word = "class x {}" if found.anchored else "rows by {}"
    law = GAUSSIAN if found.is_gaussian else LAPLACE
    names = [word.format(column.name) for column in split.attributes]
    sizes = [column.domain.size for column in split.attributes]
    if found.cells:
        names, sizes = [*names, TABLE], [*sizes, found.cells]
    weights = rule.column_weights(sizes, law)
    columns = [
        ExpectedLine(purpose=name, mechanism=law, cost=found.costs[0] * weight / sum(weights))
        for name, weight in zip(names, weights, strict=True)
    ]
    if found.triples is not None:
        paid = whole * found.triples.rule.choice_share
        read.append(ExpectedLine(purpose=CHOICE, mechanism=FLIP, query=TripleError(), cost=paid))
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
        purpose=purpose, mechanism=mechanism, query=PairError(), times=range(times, times + 1), cost=cost,
        in_rho=found.is_gaussian,
    )  # fmt: skip


def _table(purpose: str, law: str, times: int, cost: float) -> ExpectedLine:
    return ExpectedLine(purpose=purpose, mechanism=law, times=range(times, times + 1), cost=cost)


def _candidates(split: PublicFacts) -> tuple[Pair, ...]:
    """Return the pairs that may be measured: all of them, or none where there are too many values for memory."""
    return tuple(combinations(range(len(split.attributes)), 2)) if _pairs_fit(split) else ()


def _pairs_fit(split: PublicFacts) -> bool:
    """Return True if all pairs of values fit into memory: else columns alone are measured."""
    return rule.pairs_fit([column.domain.size for column in split.attributes], split.n_classes)


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
