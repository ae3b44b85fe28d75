"""The rule of a view: which readings it asks for, and what it decides by their answers.

The rule of triples: few public candidates, groups that rows suffice for, and a score that chance hardly reaches.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.budget_rules.marginal_choice_rule import (
    DEPENDENCE,
    LITTLE,
    MOST_COUNTS,
    MOST_TRIPLES,
    ReadingQuery,
    TripleRule,
    ViewPlan,
    delta_may_pay,
    purpose_of_gain,
    view_plan,
)
from anonkit.budget_rules.marginal_rule import READING_SHARE, Forecast
from anonkit.budget_rules.spike_rule import GAUSSIAN, LAPLACE, Amount


@given(
    st.lists(st.integers(1, 70), max_size=45), st.integers(2, 16), st.integers(1, 10**7), st.sampled_from([0.1, 1.0])
)
def test_candidates_are_few_and_of_the_columns_with_fewest_values(
    values: list[int], classes: int, rows: int, epsilon: float
) -> None:
    """At most 5,000 triples, none of a column of one value, and 64 cells each at most."""
    rule = TripleRule(values=tuple(values), classes=classes, rows=float(rows), epsilon=epsilon)
    candidates = list(rule.triples)
    assert len(candidates) == rule.number <= MOST_TRIPLES
    assert len(candidates) * rows <= 1 << 30
    assert len(candidates) * 64 * classes <= MOST_COUNTS
    chosen = [values[at] for at in rule.columns]
    assert min(chosen, default=2) > 1
    others = [own for at, own in enumerate(values) if own > 1 and at not in rule.columns]
    assert max(chosen, default=0) <= min(others, default=70)
    if rule.most_groups:
        assert rule.most_groups in (2, 4)
        assert max(rule.cells(one) for one in candidates) <= rule.most_groups**3
        assert rule.least(rule.most_groups**3) > 0
        assert rule.epsilon * rule.rows >= 4_999


def test_few_rows_for_the_noise_have_no_triples_and_more_have_halves_before_quarters() -> None:
    """By public facts alone."""
    found = [
        TripleRule(values=(16,) * 30, classes=2, rows=rows, epsilon=1.0).most_groups
        for rows in (5_000.0, 6_000.0, 20_000.0)
    ]
    assert found == [0, 2, 4]
    assert TripleRule(values=(16, 1, 5), classes=2, rows=1e6, epsilon=1.0).most_groups == 0
    share = TripleRule(values=(2,) * 10, classes=2, rows=1e6, epsilon=1.0)
    assert share.choice_share < 0.001
    assert share.reading_share == pytest.approx(200 / 1e6)


def test_a_triple_must_exceed_chance_and_its_noise() -> None:
    """More cells, more of both; what is read of the best pair is little up to a twentieth of the rows."""
    rule = TripleRule(values=(16, 2, 3, 9), classes=2, rows=20_000.0, epsilon=1.0)
    assert [rule.group_number(at) for at in range(4)] == [4, 2, 3, 4]
    assert rule.cells((0, 1, 2)) == 24
    assert rule.chance(24) < rule.least(24) < rule.least(48) < rule.rows
    assert rule.chance(4 * 24) == pytest.approx(2 * rule.chance(24))
    assert rule.is_little(LITTLE * 20_000)
    assert not rule.is_little(LITTLE * 20_000 + 1)


def test_the_choice_has_a_share_whose_noise_is_within_its_margin() -> None:
    """Of a thousand candidates none that is a margin below the best is taken, but one time in fifty about."""
    rule = TripleRule(values=(2,) * 20, classes=2, rows=20_000.0, epsilon=1.0)
    assert rule.number == 1140
    assert rule.choice_share < 0.03
    assert rule.least(8) - rule.chance(8) > 0.04 * rule.rows


@dataclass(kw_only=True)
class Answers:
    """Readings with these answers, in rows; 0 for all others."""

    amounts: tuple[Amount, ...]
    by_purpose: Mapping[str, float]
    asked: list[ReadingQuery] = field(default_factory=list)

    def read(self, reading: ReadingQuery) -> float:
        """Look up an answer."""
        self.asked.append(reading)
        return self.by_purpose.get(reading.purpose, 0.0)


def amounts_of(epsilon: float, delta: float) -> tuple[Amount, ...]:
    """All of epsilon, and with a delta about as much in rho."""
    rho = (Amount(law=GAUSSIAN, loss=epsilon**2 / 4 / math.log(1 / delta)),) if delta else ()
    return (Amount(law=LAPLACE, loss=epsilon), *rho)


def pairs_of(columns: int) -> tuple[tuple[int, int], ...]:
    """All of them."""
    return tuple(itertools.combinations(range(columns), 2))


def planned(
    sizes: list[int], classes: int, rows: float, epsilon: float, delta: float, by_purpose: Mapping[str, float]
) -> tuple[ViewPlan, list[ReadingQuery]]:
    """The plan for columns of these sizes, and a target with so many classes, if any; and what was asked for it."""
    every = (*sizes, classes) if classes else tuple(sizes)
    pooled = Forecast(sizes=every, classes=1, pairs=pairs_of(len(every)), rows=rows)
    split = Forecast(sizes=tuple(sizes), classes=classes, pairs=pairs_of(len(sizes)), rows=rows, targets=True)
    answers = Answers(amounts=amounts_of(epsilon, delta), by_purpose=by_purpose)
    return view_plan(pooled, split if classes else None, epsilon, answers), answers.asked


TARGET = ([10] * 9, 10, 3e3, 0.5, 0.0)
"""A target that is asked for a dependence: a split would cost something."""
TREE = ([10] * 12, 2, 3e4, 0.1, 1e-9)
"""Gaussian noise affords a tree of all columns, which is read first."""


@pytest.mark.parametrize(
    ("facts", "by_purpose", "decided", "asked"),
    [
        (([4] * 3, 0, 100.0, 0.01, 0.0), {}, (False, 0, False), []),
        (([5], 0, 1e4, 1.0, 0.0), {}, (False, 0, False), []),
        (([4] * 5, 0, 1e4, 1.0, 0.0), {}, (False, 0, False), [2, 4]),
        (([4] * 5, 0, 1e4, 1.0, 0.0), {"gain of 4 pairs": 5e3}, (False, 4, False), [2, 4]),
        (([4] * 5, 0, 1e4, 1.0, 0.0), {"gain of 2 pairs": -5e3}, (False, 0, False), [2]),
        (([4] * 5, 2, 1e4, 1.0, 0.0), {}, (True, 0, False), [2, 4]),
        (TARGET, {}, (False, 0, False), [0, 2]),
        (TARGET, {DEPENDENCE: 6e3}, (True, 0, False), [0, 2]),
        (([10] * 12, 16, 3e3, 1.0, 0.0), {DEPENDENCE: 900.0}, (False, 1, True), [0, 2]),
        (([16] * 9, 6, 3e3, 0.3, 0.0), {DEPENDENCE: 6e3}, (False, 0, False), [2]),
        (([16] * 6, 16, 300.0, 1.0, 0.0), {"gain of 2 pairs": 150.0}, (False, 0, False), []),
        (TREE, {"gain of 12 pairs": 1e5}, (False, 12, False), [12]),
        (TREE, {}, (False, 0, False), [12, 0, 2]),
        (TREE, {DEPENDENCE: 6e3}, (True, 0, False), [12, 0, 2]),
        (([10] * 12, 10, 3e3, 1.0, 1e-9), {"gain of 12 pairs": 6e3}, (False, 12, False), [12, 0]),
    ],
)  # fmt: skip
def test_public_facts_and_answers_decide(
    facts: tuple[list[int], int, float, float, float],
    by_purpose: Mapping[str, float],
    decided: tuple[bool, int, bool],
    asked: list[int],
) -> None:
    """The target may split all tables, so many pairs are measured, the first may be its own; pairs are asked for."""
    plan, readings = planned(*facts, by_purpose)
    assert (plan.is_split, plan.edges, plan.tied) == decided
    assert [reading.edges for reading in readings] == asked


@given(
    st.lists(st.integers(2, 40), min_size=1, max_size=12), st.sampled_from([0, 2, 5, 16]),
    st.floats(50, 1e6), st.floats(0.02, 5), st.sampled_from([0.0, 1e-9]), st.lists(st.floats(-1, 2), min_size=4),
)  # fmt: skip
def test_whatever_is_answered_few_readings_are_paid_and_a_forest_is_planned(
    sizes: list[int], classes: int, rows: float, epsilon: float, delta: float, shares: list[float]
) -> None:
    """At most four, each for a twentieth of epsilon at most, each for another purpose; the same answers, the same plan.

    No target splits tables and has the first pair besides; a share for that pair is taken where it is the only one.
    """
    columns = len(sizes) + bool(classes)
    purposes = [DEPENDENCE, *(purpose_of_gain(pairs) for pairs in range(1, columns + 1))]
    by_purpose = {name: shares[at % len(shares)] * rows for at, name in enumerate(purposes)}
    plan, asked = planned(sizes, classes, rows, epsilon, delta, by_purpose)
    assert (plan, asked) == planned(sizes, classes, rows, epsilon, delta, by_purpose)
    assert len({one.purpose for one in asked}) == len(asked) <= 4
    assert all(0 < one.share <= READING_SHARE for one in asked)
    assert 0 <= plan.edges < columns
    assert not (plan.is_split and (plan.tied or not classes))
    assert (plan.tie > 0) == (plan.tied and plan.gain == 0)
    assert plan.tie == 0 or plan.edges == 1
    assert plan.amount in amounts_of(epsilon, delta)


@pytest.mark.parametrize(("columns", "pays"), [(1, False), (4, False), (30, True)])
def test_a_delta_pays_with_many_columns(columns: int, pays: bool) -> None:
    """Gaussian noise grows with the root of the number of tables; no delta, no such noise."""
    facts = (10,) * columns, pairs_of(columns)
    assert delta_may_pay(*facts, amounts_of(1.0, 1e-9)) is pays
    assert not delta_may_pay(*facts, amounts_of(1.0, 0.0))


def test_no_two_readings_begin_alike() -> None:
    """The account is searched for a line by what it begins with."""
    names = [purpose_of_gain(pairs) for pairs in range(1, 700)]
    assert not any(other.startswith(name) for name, other in itertools.permutations(names[:60], 2))
