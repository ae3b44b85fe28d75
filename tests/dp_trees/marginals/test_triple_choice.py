"""The choice of a triple with the target: what one row moves, its price, what it finds, and the rows that follow."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.budget_rules.marginal_choice_rule import TripleRule
from anonkit.budget_rules.model_queries import TargetRelation, TripleError
from anonkit.dp_trees.marginals.exact_tables import ExactTables, TripleCounts
from anonkit.dp_trees.marginals.measurement_plan import ColumnLayout
from anonkit.dp_trees.marginals.private_choices import (
    CHOICE,
    READING,
    best_pair,
    chosen_triple,
    groups_of,
    relation,
    scores_of,
)
from anonkit.dp_trees.questions import BatchCounter
from anonkit.mechanisms.accounting import STEPS, draw_units, rate_within, sensitivity_of, units_of
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.published.noisy_tables import groups_of_values
from anonkit.published.statements.noise_statement import PERMUTE_AND_FLIP, Draw
from anonkit.randomness import Randomness
from tests.dp_trees.marginals.tables_of_pairs import batch_of, drawn, layout_of, learned
from tests.mechanisms.test_private_selection import law_of_permute_and_flip

FOUR = layout_of([2, 2, 2, 2], 2)
SMALL = TripleRule(values=(2, 2, 2, 2), classes=2, rows=1024.0, epsilon=40.0)
"""A rule for many more rows than the tables have: with it all triples are candidates."""
Rows = tuple[tuple[int, ...], ...]


def paid(epsilon: float) -> Draw:
    """The line of a choice for so much."""
    rate = rate_within(units_of(epsilon), sensitivity_of(TripleError()))
    return Draw(name=CHOICE, law=PERMUTE_AND_FLIP, rate=rate, query=TripleError())


def batch(rows: Rows) -> Any:
    """Rows as a batch, the class last."""
    codes = np.array(rows, dtype=np.int64).reshape(len(rows), 5).T
    return batch_of(codes[:-1], codes[-1])


def tables_of(layout: ColumnLayout, rule: TripleRule, rows: Rows) -> dict[Any, np.ndarray]:
    """The tables of all candidates."""
    counts = TripleCounts(layout=layout, groups=groups_of(layout, rule.most_groups), triples=list(rule.triples))
    return dict(counts.split(counts.count(batch(rows))))


@pytest.mark.quick_cases("2-3-4")
@pytest.mark.parametrize(("classes", "cells", "most"), [(2, 3, 4), (3, 2, 4), (4, 2, 3)])
def test_rows_that_come_and_go_move_a_relation_by_one_each(classes: int, cells: int, most: int) -> None:
    """All tables of up to so many rows: one row by one at most and by nearly one, two rows by two, replaced by two."""
    single = [np.eye(classes * cells, dtype=np.int64)[at].reshape(classes, cells) for at in range(classes * cells)]
    known: dict[bytes, float] = {}

    def of(table: np.ndarray) -> float:
        return known.setdefault(table.tobytes(), relation(table))

    moved, replaced = 0.0, 0.0
    for number in range(most + 1):
        for rows in itertools.combinations_with_replacement(range(classes * cells), number):
            table = sum((single[at] for at in rows), np.zeros((classes, cells), dtype=np.int64))
            after = [of(table + one) for one in single]
            moved = max(moved, *(abs(one - of(table)) for one in after))
            replaced = max(replaced, max(after) - min(after))
            twice = max(abs(of(table + 2 * one) - of(table)) for one in single)
            assert twice <= 2 + 1e-9
    assert 0.6 < moved <= 1 + 1e-9
    assert replaced <= 2 + 1e-9


CELLS = list(itertools.product((0, 1), repeat=4))


def scores(rows: Rows) -> np.ndarray:
    """The scores of all triples of a table of three columns and a fourth, which is constant, in steps."""
    found = scores_of(SMALL, tables_of(FOUR, SMALL, tuple((*row[:3], 0, row[3]) for row in rows)), 0.0)
    return np.asarray(found)


def small_tables() -> dict[Rows, np.ndarray]:
    """The scores of all tables of up to three rows."""
    return {
        rows: scores(rows) for number in range(4) for rows in itertools.combinations_with_replacement(CELLS, number)
    }


def test_no_small_table_moves_a_score_by_more_than_a_row_and_a_step() -> None:
    """All tables of three columns of two values, two classes and up to two rows, and one row more."""
    known, widest = small_tables(), 0
    for rows, before in known.items():
        for more in CELLS if len(rows) < 3 else ():
            moved = known[tuple(sorted([*rows, more]))] - before
            assert np.abs(moved).max() <= STEPS + 1
            widest = max(widest, int(max(moved.max(), 0) - min(moved.min(), 0)))
    assert STEPS < 2 * widest <= 2 * sensitivity_of(TripleError())
    assert sensitivity_of(TripleError()) == 2 * (STEPS + 1)


ROW = st.tuples(*(st.integers(0, 1) for _ in range(4)), st.integers(0, 1))


@settings(max_examples=50, deadline=None)
@given(st.lists(ROW, max_size=14), ROW)
def test_one_row_moves_scores_and_the_reading_by_a_row_each(rows: list[tuple[int, ...]], more: tuple[int, ...]) -> None:
    """Of four columns: the scores of all four triples, and what is read of the best pair."""
    before, after = (scores_of(SMALL, tables_of(FOUR, SMALL, tuple(own)), 3.0) for own in (rows, [*rows, more]))
    assert np.abs(after - before).max() <= STEPS + 1
    read = []
    for own in (rows, [*rows, more]):
        held = batch(tuple(own))
        exact = ExactTables.counted(FOUR, FOUR.pairs, BatchCounter(lambda held=held: [held]))  # type: ignore[misc]
        read.append(best_pair(SMALL, exact, groups_of(FOUR, SMALL.most_groups)))
    assert abs(read[1] - read[0]) <= 1 + 1e-9
    assert sensitivity_of(TargetRelation()) == STEPS + 2


def test_the_law_of_the_choice_on_neighbours_is_within_its_price() -> None:
    """All tables of up to three rows: permute-and-flip's law by enumeration, of no triple and of four."""
    rate, known = paid(1.0).rate / (1 << 52), small_tables()
    nothing, laws, worst = known[()], {}, 0.0

    def law(rows: Rows) -> np.ndarray:
        # all triples are raised alike, as by many rows more: of few rows none is always taken
        own = (0, *(known[rows] - nothing).tolist())
        if own not in laws:
            laws[own] = law_of_permute_and_flip(list(own), rate)
        return np.asarray(laws[own])

    for rows in known:
        for more in CELLS if len(rows) < 3 else ():
            worst = max(worst, float(np.abs(np.log(law(rows) / law(tuple(sorted([*rows, more]))))).max()))
    assert 0.2 < worst <= 1.0 + 1e-9


@pytest.mark.slow
def test_an_audit_of_the_choice_stays_below_its_price_and_finds_some_of_it() -> None:
    """Two tables one row apart, by whether a triple was chosen; fixed seeds, alpha 1e-3."""
    epsilon, rule = 2.0, TripleRule(values=(2, 2, 2, 1), classes=2, rows=1024.0, epsilon=40.0)
    rows: Rows = tuple((a, b, c, 0, a ^ b ^ c) for a, b, c in itertools.product((0, 1), repeat=3) for _ in range(4))
    layout, draw, seen = FOUR, paid(epsilon), []
    tables = [tables_of(layout, rule, own) for own in (rows, (*rows, (0, 0, 0, 0, 1)))]
    level = int(scores_of(rule, tables[0], 0.0)[0]) / STEPS  # pairs that had as much leave the triple level with none
    for at, own in enumerate(tables):
        words = [UniformStream(Randomness.seeded(seed).child(CHOICE)) for seed in range(at * 3_000, (at + 1) * 3_000)]
        seen.append(np.array([chosen_triple(rule, own, level, draw, one) is not None for one in words], dtype=np.int64))
    found = lower_bound(seen[0], seen[1]).lower_bound
    assert 0.1 * epsilon < found <= epsilon


@pytest.mark.parametrize(("values", "most"), [(2, 4), (3, 2), (5, 4), (16, 4), (64, 2)])
def test_groups_are_neighbours_of_about_one_size_and_missing_is_in_the_last(values: int, most: int) -> None:
    """None is empty."""
    groups = groups_of_values(values, has_missing=True, most=most)
    assert groups[-1] == groups[-2] == min(values, most) - 1
    sizes = np.bincount(groups[:-1])
    assert set(np.diff(groups).tolist()) <= {0, 1}
    assert sizes.max() - sizes.min() <= 1
    assert groups_of_values(values, has_missing=False, most=most).tolist() == groups[:-1].tolist()


def test_each_row_is_counted_once_in_each_triple_and_batches_add_up() -> None:
    """Against a count row by row; groups of different numbers."""
    sizes, draw = [2, 5, 3, 16], np.random.default_rng(3)
    layout, codes, labels = layout_of(sizes, 3), np.stack([draw.integers(0, size, 400) for size in sizes]), draw
    classes = labels.integers(0, 3, 400)
    groups, triples = groups_of(layout, 4), list(itertools.combinations(range(4), 3))
    counts = TripleCounts(layout=layout, groups=groups, triples=triples)
    whole = counts.count(batch_of(codes, classes))
    parts = sum(counts.count(batch_of(codes[:, part], classes[part])) for part in (slice(0, 99), slice(99, 400)))
    assert whole.size == counts.size
    assert whole.tolist() == parts.tolist()  # type: ignore[union-attr]
    for triple, table in counts.split(whole):
        own = [groups[at][codes[at]] for at in triple]
        number = [int(groups[at].max()) + 1 for at in triple]
        expected = np.zeros((3, *number), dtype=np.int64)
        np.add.at(expected, (classes, *own), 1)
        assert table.tolist() == expected.reshape(3, -1).tolist()


def parity(n: int, sizes: list[int], of: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Independent columns, and the parity of the upper halves of the first so many; none: a coin."""
    draw = np.random.default_rng(seed)
    codes = np.stack([draw.integers(0, size, n) for size in sizes])
    if not of:
        return codes, draw.integers(0, 2, n)
    return codes, np.sum([own >= size / 2 for own, size in zip(codes[:of], sizes, strict=False)], axis=0) % 2


@pytest.mark.parametrize(("size", "delta"), [(2, 0.0), (64, 0.0), (64, 1e-9)])
def test_rows_hold_the_parity_of_three_columns(size: int, delta: float) -> None:
    """The target splits the tables; what is not in the triple stays as it is."""
    codes, labels = parity(20_000, [size] * 8, 3)
    found = learned(layout_of([size] * 8, 2), 1.0, 20_000, batch_of(codes, labels), delta=delta)
    assert found.triple is not None
    assert found.triple.names == ("c0", "c1", "c2")
    assert len(found.triples) == 1
    assert not found.pairs
    assert found.mixtures.anchored
    assert sum(draw.name in (READING, CHOICE, "table of the triple") for draw in found.draws) == 3
    target, *rows = drawn(found)
    rows = np.stack(rows)
    odd = np.sum(rows[:3] >= size / 2, axis=0) % 2
    assert (odd == target).mean() > 0.97
    for own, true in zip(rows, codes, strict=True):
        assert (
            np.abs(np.bincount(own, minlength=size) / own.size - np.bincount(true, minlength=size) / 20_000).sum() < 0.1
        )


@pytest.mark.parametrize("seed", range(3))
def test_a_coin_has_no_triple_and_a_parity_of_two_has_its_pair(seed: int) -> None:
    """Of ten columns of two values; the budget goes back to the tables."""
    codes, labels = parity(20_000, [2] * 10, 0, seed)
    found = learned(layout_of([2] * 10, 2), 1.0, 20_000, batch_of(codes, labels), seed=seed)
    assert found.triple is not None
    assert found.triple.names == ()
    assert found.triples == ()
    assert (1 - 1e-6) * units_of(1.0) < sum(draw_units(draw) for draw in found.draws) <= units_of(1.0)
    codes, labels = parity(20_000, [2] * 10, 2, seed)
    found = learned(layout_of([2] * 10, 2), 1.0, 20_000, batch_of(codes, labels), seed=seed)
    assert found.triple is None
    assert READING not in [draw.name for draw in found.draws]
    assert (0, 1) in [tuple(int(name[1:]) for name in pair.names) for pair in found.pairs]


def test_where_a_pair_speaks_of_the_target_no_triple_is_looked_for() -> None:
    """The reading shows it, where pairs were read to gain little; it is in the account, and nothing else."""
    draw = np.random.default_rng(3)
    labels = draw.integers(0, 2, 20_000)
    codes = np.stack([np.where(draw.random(20_000) < 0.3, labels, draw.integers(0, 2, 20_000)) for _ in range(8)])
    found = learned(layout_of([2] * 8, 2), 1.0, 20_000, batch_of(codes, labels))
    assert found.triple is None
    assert found.choice.readings[-1].draw.name == READING
    assert math.isclose(found.choice.readings[-1].rows, 0.25 * 20_000, rel_tol=0.5)
