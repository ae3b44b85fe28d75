# SPDX-License-Identifier: Apache-2.0
"""The triple of dp-marginals as a release states it, against its public rule.

Whether the best pair is read, whether a triple is chosen, among which, for how much and in which cells it is counted
follows from the policy, the number of rows and the reading. Which triple, or none, is chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anonkit.budget_rules.triple_rule import TripleRule
from anonkit.checks.central_params import PublicFacts, integers
from anonkit.errors import ReleaseFormatError

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
