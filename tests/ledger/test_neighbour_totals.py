"""Losses of several releases added up: at least the joint loss of all of them, or no bound.

The small tables are enumerated, so that the joint loss is exact: mechanisms draw independently, so the loss of a
joint outcome is the sum of their losses, and the worst outcome is the worst of each.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.ledger.neighbour_totals import (
    BookedLoss,
    Total,
    neighbours_named,
    of_group,
    total,
    total_of,
    totals,
    totals_words,
    usual_neighbours,
)
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE, Neighbours

ROW_MORE, ROW_OTHER = Neighbours(adjacency=ADD_OR_REMOVE), Neighbours(adjacency=REPLACE)
PERSON_MORE = Neighbours(adjacency=ADD_OR_REMOVE, unit="who")
PERSON_OTHER = Neighbours(adjacency=REPLACE, unit="who")
KINDS = (ROW_MORE, ROW_OTHER, PERSON_MORE, PERSON_OTHER)

Row = tuple[int, int]
"""A person, 0 or 1, and a bit."""
Table = tuple[Row, ...]
PEOPLE, BITS, MOST = (0, 1), (0, 1), 4
TABLES: list[Table] = [
    rows
    for size in range(MOST + 1)
    for rows in itertools.combinations_with_replacement(itertools.product(PEOPLE, BITS), size)
]


def without(table: Table, row: Row) -> Table:
    """Return a table with one row less."""
    at = table.index(row)
    return table[:at] + table[at + 1 :]


def of_person(table: Table, person: int) -> Table:
    """Return the rows of one person."""
    return tuple(row for row in table if row[0] == person)


def are_neighbours(one: Table, two: Table, kind: Neighbours) -> bool:
    """Return by definition whether two tables are neighbours of a kind."""
    if kind.unit is None:
        smaller, larger = sorted((one, two), key=len)
        if kind is ROW_MORE:
            return len(larger) == len(smaller) + 1 and any(without(larger, row) == smaller for row in larger)
        return len(one) == len(two) and any(without(one, a) == without(two, b) for a in one for b in two)
    others = {person: [tuple(row for row in table if row[0] != person) for table in (one, two)] for person in PEOPLE}
    if kind is PERSON_MORE:
        return any(
            rest[0] == rest[1] and (not of_person(one, person)) != (not of_person(two, person))
            for person, rest in others.items()
        )
    # a person goes and another comes, who may bear the same name
    return any(
        rest_of_one == rest_of_two and bool(of_person(one, a)) and bool(of_person(two, b))
        for a in PEOPLE
        for b in PEOPLE
        for rest_of_one, rest_of_two in [(others[a][0], others[b][1])]
    )


PAIRS = {
    kind: [(one, two) for one, two in itertools.combinations(TABLES, 2) if are_neighbours(one, two, kind)]
    for kind in KINDS
}


@dataclass(frozen=True)
class Mechanism:
    """One release: what it books, and the exact loss between two tables."""

    booked: BookedLoss
    between: Callable[[Table, Table], float]


def counting(scale: float, kind: Neighbours, cap: int, *, reports_cap: bool) -> Mechanism:
    """A noisy count of ones: geometric noise, so that the loss of an outcome is a step of `scale` for each one more.

    Of a person `cap` rows are counted, the first of the sorted ones. The number of people is not used.
    """

    def ones(table: Table) -> int:
        return sum(bit for person in PEOPLE for _, bit in sorted(of_person(table, person), reverse=True)[:cap])

    changed = {ROW_MORE: 1, ROW_OTHER: 1, PERSON_MORE: cap, PERSON_OTHER: cap}[kind]
    enforced = cap if reports_cap else None
    booked = BookedLoss(epsilon=scale * changed, neighbours=kind, people="who", cap=enforced)
    return Mechanism(booked, lambda one, two: scale * abs(ones(one) - ones(two)))


def answering(epsilon: float) -> Mechanism:
    """Randomized response of every row's bit, in any order: the number of rows is published, and whose they are not."""

    def between(one: Table, two: Table) -> float:
        if len(one) != len(two):
            return math.inf
        keep = 1 / (1 + math.exp(-epsilon))
        worst = 0.0
        n = len(one)
        of_one, of_two = (sum(bit for _, bit in table) for table in (one, two))

        def chance(ones: int, shown: int) -> float:
            return sum(
                math.comb(ones, both) * keep**both * (1 - keep) ** (ones - both)
                * math.comb(n - ones, shown - both) * (1 - keep) ** (shown - both) * keep ** (n - ones - shown + both)
                for both in range(max(0, shown - (n - ones)), min(ones, shown) + 1)
            )  # fmt: skip

        for shown in range(n + 1):
            worst = max(worst, abs(math.log(chance(of_one, shown) / chance(of_two, shown))))
        return worst

    return Mechanism(BookedLoss(epsilon=epsilon, neighbours=ROW_OTHER, people="who"), between)


def histories(seed: int) -> Iterator[list[Mechanism]]:
    """Random histories of one to five releases."""
    draws = random.Random(seed)
    for _ in range(200):
        history = []
        for _ in range(draws.randint(1, 5)):
            scale, cap = draws.choice((0.1, 0.25, 0.7, 1.3)), draws.randint(1, 3)
            if draws.random() < 0.25:
                history.append(answering(scale))
            else:
                kind = draws.choice(KINDS)
                capped = draws.random() < 0.5 or kind.unit is not None
                history.append(counting(scale, kind, cap if capped else MOST, reports_cap=capped))
        yield history


def test_the_total_is_at_least_the_joint_loss_or_says_no_bound() -> None:
    """Over 200 random histories, all tables of up to four rows of two people, and all four kinds of neighbours."""
    bounded = unbounded = tight = 0
    for history in histories(seed=38):
        for kind in KINDS:
            told = total_of([one.booked for one in history], kind)
            if not told.is_bounded:
                unbounded += 1
                continue
            joint = max(sum(one.between(*pair) for one in history) for pair in PAIRS[kind])
            assert joint <= told.epsilon * (1 + 1e-9), (kind, [one.booked for one in history])
            bounded += 1
            tight += joint > told.epsilon * 0.9
    assert min(bounded, unbounded, tight) > 20


def test_the_pairs_that_were_published_as_bare_sums() -> None:
    """By person plus by row has no bound for a person; randomized rows plus one central release is 3 when replaced."""
    by_person = BookedLoss(epsilon=1.0, neighbours=PERSON_MORE, people="who", cap=10)
    by_row = BookedLoss(epsilon=1.0, neighbours=ROW_MORE, people="who")
    local = BookedLoss(epsilon=1.0, neighbours=ROW_OTHER, people="who")
    assert not total_of([by_person, by_row], PERSON_MORE).is_bounded
    assert total_of([local, by_row], ROW_OTHER) == Total(neighbours=ROW_OTHER, epsilon=3.0, delta=0.0)
    assert not total_of([local, by_row], ROW_MORE).is_bounded
    assert [one.to_dict() for one in totals([local, by_row])] == [
        {"neighbours": "replaced", "unit": None, "epsilon": 3.0, "delta": 0.0},
        {"neighbours": "added or removed", "unit": None, "epsilon": "inf", "delta": 0.0},
    ]
    told = totals_words(totals([local, by_row]))
    assert told == "epsilon 3 for one row replaced; no bound for one row added or removed"
    assert PERSON_OTHER.in_short == "one value of 'who' replaced"


def test_a_cap_is_that_of_the_release_itself() -> None:
    """Ten rows of a person at most, counted row by row: group privacy of ten; of another column it says nothing."""
    capped = BookedLoss(epsilon=0.5, neighbours=ROW_MORE, people="who", cap=10)
    assert total_of([capped], PERSON_MORE).epsilon == 5.0
    assert total_of([capped], PERSON_OTHER).epsilon == 10.0
    assert not total_of([capped], Neighbours(adjacency=ADD_OR_REMOVE, unit="household")).is_bounded


def test_a_delta_grows_with_the_group() -> None:
    """Group privacy: (2 epsilon, (1 + e^epsilon) delta); without bound where nothing is left of it."""
    epsilon, delta = of_group(1.0, 1e-6, 2)
    assert epsilon == 2.0
    assert delta == pytest.approx((1 + math.e) * 1e-6)
    assert delta >= (1 + math.e) * 1e-6
    assert of_group(3.0, 1e-3, 40) == (math.inf, 0.0)
    assert of_group(100.0, 1e-3, 40) == (math.inf, 0.0)
    mixed = [BookedLoss(epsilon=1.0, delta=1e-6, neighbours=ROW_MORE), BookedLoss(epsilon=1.0, neighbours=ROW_OTHER)]
    assert total_of(mixed, ROW_OTHER).delta == delta
    assert "and delta" in totals_words(totals(mixed))


def test_unknown_neighbours_add_up_with_nothing() -> None:
    """Of an older ledger: their number is distinguished, and no total of others pretends to hold."""
    old = BookedLoss(epsilon=2.0, delta=1e-9)
    both = totals([old, BookedLoss(epsilon=1.0, neighbours=ROW_MORE)])
    assert [one.is_bounded for one in both] == [False, True]
    assert both[1].to_dict() == {"neighbours": "unknown", "unit": None, "epsilon": 2.0, "delta": 1e-9}
    assert "epsilon 2 and delta 1e-09 of unknown neighbours" in totals_words(both)


def test_a_budget_is_for_a_person_where_there_was_one_and_for_a_replaced_record_where_any_was() -> None:
    """The default when a budget is set."""
    central, local = BookedLoss(epsilon=1.0, neighbours=ROW_MORE), BookedLoss(epsilon=1.0, neighbours=ROW_OTHER)
    assert usual_neighbours([central], [None]) == ROW_MORE
    assert usual_neighbours([central, local], [None, None]) == ROW_OTHER
    assert usual_neighbours([central], ["who", None]) == PERSON_MORE
    assert usual_neighbours([central, local], [None, "who"]) == PERSON_OTHER


def test_words_name_neighbours() -> None:
    """As ledgers keep them; other words name none."""
    assert neighbours_named("replaced", "who") == PERSON_OTHER
    assert neighbours_named("moved", None) is None


@given(st.lists(st.floats(0, 1e9), max_size=20))
def test_a_sum_is_never_below_what_it_adds(losses: list[float]) -> None:
    """As exact fractions; ten times 0.1 is 1 all the same."""
    from fractions import Fraction

    assert Fraction(repr(total(losses))) >= sum((Fraction(repr(loss)) for loss in losses), Fraction(0))
    assert total([0.1] * 10) == 1.0
    assert total([None, math.inf]) == math.inf
