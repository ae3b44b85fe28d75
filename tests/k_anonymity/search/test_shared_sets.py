"""Whole sets of rows: numbered, suppressed and cut as counting by hand says."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.box_tree import grow_boxes
from anonkit.k_anonymity.search.equivalence import AtLeastK, Partition
from anonkit.k_anonymity.search.greedy_selection import suppressed_rows
from anonkit.k_anonymity.search.shared_sets import GrowingSets, SharedSets, set_numbers
from anonkit.k_anonymity.search.top_down_specialization import specialize

Rows = list[tuple[int, int, int]]
ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(1, 2)), min_size=1, max_size=25)
"""Entries: person, class, rows."""


def sets_of(people: list[int], classes: list[int], weights: list[int]) -> dict[int, frozenset[tuple[int, int]]]:
    """Return the multiset of classes of every person, by hand."""
    counted: dict[int, Counter[int]] = {}
    for person, of, weight in zip(people, classes, weights, strict=True):
        counted.setdefault(person, Counter())[of] += weight
    return {person: frozenset(counts.items()) for person, counts in counted.items()}


def arrays(rows: Rows) -> tuple[np.ndarray, Partition]:
    """Return the people of some entries, dense, and their partition."""
    people, classes, weights = (np.array(column) for column in zip(*rows, strict=True))
    return np.unique(people, return_inverse=True)[1], Partition(classes, 4, weights)


@given(ROWS)
def test_two_people_have_one_number_when_they_have_one_multiset(rows: Rows) -> None:
    """Numbers are equal exactly where the multisets of classes, counted by hand, are equal."""
    people, partition = arrays(rows)
    number, n_sets = set_numbers(people, int(people.max()) + 1, partition)
    by_hand = sets_of(people.tolist(), partition.classes.tolist(), [weight for *_, weight in rows])

    for one in by_hand:
        for other in by_hand:
            assert (number[one] == number[other]) == (by_hand[one] == by_hand[other])
    assert set(number.tolist()) == set(range(n_sets))


@given(ROWS, st.integers(2, 3))
def test_people_with_a_rare_set_go_with_all_their_rows_and_the_rest_is_shared(rows: Rows, k: int) -> None:
    """Exactly the people whose multiset fewer than k have are suppressed; afterwards every multiset is shared by k."""
    people, partition = arrays(rows)
    by_hand = sets_of(people.tolist(), partition.classes.tolist(), [weight for *_, weight in rows])
    holders = Counter(by_hand.values())

    gone = suppressed_rows(partition, [AtLeastK(k, people), SharedSets(k, people)])

    assert gone.tolist() == [holders[by_hand[person]] < k for person in people.tolist()]
    marked = SharedSets(k, people).violated(partition, ~gone)
    assert set(np.flatnonzero(marked).tolist()) == set(partition.classes[gone].tolist())


@given(ROWS, st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=6))
def test_cutting_one_box_after_the_other_keeps_every_set_shared(rows: Rows, cuts: list[tuple[int, int]]) -> None:
    """A cut is made exactly when every multiset of boxes is shared by two people after it, whatever was cut before."""
    people, partition = arrays(rows)
    weights = np.array([weight for *_, weight in rows])
    by_number = Counter(sum(weights[people == person]) for person in set(people.tolist()))
    if min(by_number.values()) < 2:
        return
    sets = GrowingSets(SharedSets(2, people), weights)
    box = np.zeros(people.size, dtype=np.int64)
    for number, (target, threshold) in enumerate(cuts, start=1):
        here = np.flatnonzero(box == target)
        part = (partition.classes[here] >= threshold).astype(np.int64)
        if here.size == 0 or len(set(part.tolist())) < 2:
            continue
        after = box.copy()
        after[here[part == 1]] = number
        wanted = min(Counter(sets_of(people.tolist(), after.tolist(), weights.tolist()).values()).values()) >= 2

        assert sets.divide(here, part) == wanted
        box = after if wanted else box


def table(seed: int) -> tuple[list[CodedColumn], np.ndarray, np.ndarray]:
    """Return columns of people and of visits, labels, and the people: 60 with one to three rows."""
    random = np.random.default_rng(seed)
    people = np.repeat(np.arange(60), np.tile([1, 2, 3], 20))
    age, ward = random.integers(0, 6, 60)[people], random.integers(0, 4, people.size)
    columns = [
        CodedColumn(name="age", codes=age.astype(np.int32), values=list(range(6)), ordered=True),
        CodedColumn(name="ward", codes=ward.astype(np.int32), values=list("abcd"), ordered=False),
    ]
    return columns, ((age + 2 * (ward == 1) + random.integers(0, 3, people.size)) > 4).astype(np.int64), people


@pytest.mark.quick_cases("0")
@pytest.mark.parametrize("seed", range(2))
def test_boxes_leave_every_set_of_rows_shared(seed: int) -> None:
    """At least k people have each multiset of mondrian's boxes, nobody suppressed; by rows alone it is not so."""
    columns, labels, people = table(seed)
    for whole in (True, False):
        asked = [AtLeastK(4, people), *([SharedSets(4, people)] if whole else [])]
        _, boxes = grow_boxes(columns, labels, asked)
        rarest = min(Counter(sets_of(people.tolist(), boxes.classes.tolist(), [1] * people.size).values()).values())

        assert (rarest >= 4) == whole
        assert boxes.n_classes > 1


@pytest.mark.parametrize("limit", [0, 12])
def test_specialization_leaves_every_set_of_rows_shared(limit: int) -> None:
    """rfka's search: people with a rare multiset are marked, at most the limit, and what stays is shared by k."""
    columns, labels, people = table(5)
    probabilities = np.stack([1 - labels, labels], axis=1).astype(float)
    found = specialize(
        columns, probabilities, {"age": 1.0, "ward": 1.0}, [AtLeastK(4, people), SharedSets(4, people)], limit
    )
    kept = ~found.suppressed
    shown = [
        np.zeros(people.size, dtype=np.int64) if groups is None else groups[column.codes]
        for column, groups in ((column, found.groups[column.name]) for column in columns)
    ]
    classes = (shown[0] * 100 + shown[1])[kept]

    assert found.suppressed.sum() <= limit
    assert any(groups is not None for groups in found.groups.values())
    assert min(Counter(sets_of(people[kept].tolist(), classes.tolist(), [1] * classes.size).values()).values()) >= 4
    assert not set(people[kept].tolist()) & set(people[~kept].tolist())
