"""Questions: the answers are the counts, whatever the batches; what no question covers is not returned."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from anonkit.dp_trees.plan import ROWS, Disjoint, TreeRows
from anonkit.dp_trees.questions import WITHOUT_ATTRIBUTE, BatchCounter, CodedBatch, Question, Routing, question_on
from anonkit.randomness import Randomness
from tests.dp_trees.tables import MIXED, counter_of, table_of

KEY = Randomness.seeded(1).key("rows")
CODES = [attribute.codes for attribute in MIXED.attributes]


def routing_of_one_split() -> Routing:
    """Tree 0 is split by attribute 0 into nodes 2, 3, 4; tree 1 is a leaf."""
    child = np.repeat(np.arange(5, dtype=np.int32)[:, np.newaxis], MIXED.most_codes, axis=1)
    child[0, :3] = [2, 3, 4]
    return Routing(attribute=np.zeros(5, dtype=np.int64), child=child, depth=1)


def question(rows: TreeRows) -> Question:
    """Nodes 1 and 3, each by attributes of its own."""
    return question_on(
        np.array([3, 1]),
        np.array([[2, 1], [3, WITHOUT_ATTRIBUTE]]),
        CODES,
        rows=rows,
        key=KEY,
        routing=routing_of_one_split(),
        n_classes=2,
    )


def by_hand(codes: np.ndarray, labels: np.ndarray, inside: np.ndarray, at: int, times: np.ndarray) -> np.ndarray:
    """Count one node by one attribute, row by row."""
    table = np.zeros((CODES[at], 2), dtype=np.int64)
    for row in np.flatnonzero(inside):
        table[codes[at, row], labels[row]] += times[row]
    return table


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("sizes", [(), (1, 0, 130)])
def test_the_answer_is_the_count(kind: str, sizes: tuple[int, ...]) -> None:
    """Against a count by hand, with the rows each tree takes."""
    rows = ROWS[kind](trees=2)
    codes, labels = table_of(MIXED, 300)
    asked = question(rows)
    found = {}
    for at, positions, tables in asked.split(counter_of(codes, labels, sizes).answer(asked), CODES):
        found |= {(at, int(asked.nodes[p])): table for p, table in zip(positions, tables, strict=True)}
    times = np.zeros((2, 300), dtype=np.int64)
    for trees, copies in rows.groups(KEY, 0, 300):
        times[trees, np.arange(300)] += 1 if copies is None else copies
    assert set(found) == {(2, 3), (1, 3), (3, 1)}
    everything = np.ones(300, dtype=bool)
    assert np.array_equal(found[2, 3], by_hand(codes, labels, codes[0] == 1, 2, times[0]))
    assert np.array_equal(found[1, 3], by_hand(codes, labels, codes[0] == 1, 1, times[0]))
    assert np.array_equal(found[3, 1], by_hand(codes, labels, everything, 3, times[1]))


@pytest.mark.parametrize("remembered", [0, 100, 1 << 20])
def test_remembering_places_changes_nothing(remembered: int) -> None:
    """Rows that walk from the root give the counts of rows whose place is known."""
    codes, labels = table_of(MIXED, 300)
    batches = [
        CodedBatch(codes=codes[:, :200].copy(), labels=labels[:200], first_row=0),
        CodedBatch(codes=codes[:, 200:].copy(), labels=labels[200:], first_row=200),
    ]
    counter = BatchCounter(lambda: batches, remembered)
    asked = question(Disjoint(trees=2))
    shallow = question_on(
        np.array([0, 1]), np.full((2, 1), WITHOUT_ATTRIBUTE), CODES, rows=asked.rows, key=KEY,
        routing=Routing(attribute=np.zeros(2, dtype=np.int64), child=np.array([[0] * 7, [1] * 7], np.int32), depth=0),
        n_classes=2,
    )  # fmt: skip
    assert counter.answer(shallow).sum() == 300
    assert np.array_equal(counter.answer(asked), sum(asked.count(batch) for batch in batches))


def test_a_question_travels_without_its_key_in_sight() -> None:
    """It is pickled for another machine, and its repr does not show the key."""
    asked = question(Disjoint(trees=2))
    codes, labels = table_of(MIXED, 50)
    batch = CodedBatch(codes=codes, labels=labels, first_row=0)
    assert np.array_equal(pickle.loads(pickle.dumps(asked)).count(batch), asked.count(batch))
    assert "key" not in repr(asked)


def test_a_counter_serves_one_forest_after_another() -> None:
    """Places of the forest before are forgotten."""
    codes, labels = table_of(MIXED, 300)
    counter = counter_of(codes, labels)
    asked = question(Disjoint(trees=2))
    other = replace(asked, key=Randomness.seeded(2).key("rows"))
    for one in (asked, other, asked):
        assert np.array_equal(counter.answer(one), counter_of(codes, labels).answer(one))
