"""The dependence of attributes within classes: its tables, its sensitivity, its readings, and their consequences."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.budget_rules.tree_rule import is_dependent, reading_share, rule_for
from anonkit.domains.coded_columns import IntArray
from anonkit.dp_trees.additive_model.pair_prequeries import (
    READING,
    ClassPairs,
    DependenceWithinClasses,
    groups_of,
    rule_of,
    sizes_of,
)
from anonkit.dp_trees.questions import BatchCounter, CodedBatch, RowSums
from anonkit.errors import GuaranteeError
from anonkit.mechanisms.accounting import draw_units, sensitivity_of, units_of
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.published.noisy_tables import LAPLACE
from anonkit.published.tree_model import Split, TreeSchema
from anonkit.randomness import Randomness
from tests.dp_trees.tables import MIXED, attribute, counter_of, schema_of, table_of


@given(st.integers(0, 2**32), st.integers(0, 80), st.integers(0, 80))
def test_each_row_is_counted_once_in_each_table_by_its_class(seed: int, n: int, first: int) -> None:
    """Against a count row by row, in batches of any size."""
    codes, labels = table_of(MIXED, n, seed)
    asked = ClassPairs(schema=MIXED, rows=1e6)
    tables = asked.tables(counter_of(codes, labels, [min(first, n)]))
    assert set(tables) == set(asked.pairs) == {(a, b) for a in range(4) for b in range(a + 1, 4)}
    for (a, b), table in tables.items():
        expected = np.zeros((2, asked.groups[a].max() + 1, asked.groups[b].max() + 1), dtype=np.int64)
        for label, one, other in zip(labels, asked.groups[a][codes[a]], asked.groups[b][codes[b]], strict=True):
            expected[label, one, other] += 1
        assert table.tolist() == expected.tolist()


def test_few_rows_have_no_tables() -> None:
    """By public facts and the number of rows alone."""
    assert ClassPairs(schema=MIXED, rows=10.0).pairs == ()
    assert ClassPairs(schema=MIXED, rows=1e6).rule == rule_of(MIXED, rows=1e6)


def test_a_number_is_in_groups_of_neighbours_and_a_category_by_itself() -> None:
    """Missing has a group of its own, the last."""
    schema = schema_of(attribute("n", 40, Split.CUT, missing=True), attribute("a", 5))
    number, category = groups_of(schema, 4)
    assert number[-1] == number.max() == number[-2] + 1
    assert set(np.diff(number[:-1]).tolist()) == {0, 1}
    assert np.ptp(np.bincount(number[:-1])) <= 1
    assert category.tolist() == [0, 1, 2, 3, 4]
    assert [(one.codes, one.cells, one.has_missing) for one in sizes_of(schema)] == [(41, 40, True), (5, 0, False)]


class Losing(BatchCounter):
    """Sums in which one row of one table is lost."""

    def sum_up(self, sums: RowSums) -> IntArray:
        """Return the sums less one."""
        total = super().sum_up(sums)
        total[np.flatnonzero(total)[0]] -= 1
        return total


def test_a_count_that_lost_a_row_is_a_defect() -> None:
    """Noise on the wrong number of rows would be a release of another table."""
    codes, labels = table_of(MIXED, 50)
    batch = CodedBatch(codes=codes, labels=labels, first_row=0)
    with pytest.raises(GuaranteeError, match="more or less often"):
        ClassPairs(schema=MIXED, rows=1e6).tables(Losing(lambda: [batch]))


PAIR = schema_of(attribute("a", 2, Split.ONE_VS_REST), attribute("b", 2, Split.ONE_VS_REST))
THREE = schema_of(
    attribute("a", 2, Split.ONE_VS_REST), attribute("b", 3, Split.ONE_VS_REST), attribute("n", 12, Split.CUT)
)
ROWS = 1024.0
"""Public number of rows of tables that have far fewer: with it every pair is looked at."""


def counter_of_rows(schema: TreeSchema, rows: list[tuple[int, ...]]) -> BatchCounter:
    """Rows of codes, the class last."""
    cells = np.array(rows, dtype=np.int64).reshape(-1, len(schema.attributes) + 1).T
    batch = CodedBatch(codes=cells[:-1].astype(np.uint8), labels=cells[-1], first_row=0)
    return BatchCounter(lambda: [batch])


def distance(question: DependenceWithinClasses, counter: BatchCounter) -> float:
    """The reading of the rows of a counter, without noise."""
    return question.distance(question.tables(counter))


def read(question: DependenceWithinClasses, rows: list[tuple[int, ...]]) -> float:
    """The reading of a table of few rows.

    Small tables are within chance: what is allowed for it, a public number, is taken away.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("anonkit.budget_rules.pair_rule.CHANCE", 0.0)
        return distance(question, counter_of_rows(question.schema, rows))


def moved(question: DependenceWithinClasses, rows: list[tuple[int, ...]], more: tuple[int, ...]) -> float:
    """By how much one row more moves the distance."""
    return abs(read(question, [*rows, more]) - read(question, rows))


def test_no_small_table_moves_the_distance_by_two_rows() -> None:
    """All tables of two attributes of two values, two classes and up to four rows: a width of a row is refuted."""
    question = DependenceWithinClasses(schema=PAIR, rows=ROWS)
    assert question.pairs == ((0, 1),)
    cells, worst = list(itertools.product((0, 1), repeat=3)), 0.0
    known = {
        rows: read(question, list(rows))
        for number in range(6)
        for rows in itertools.combinations_with_replacement(cells, number)
    }
    for rows, before in known.items():
        for more in cells if len(rows) < 5 else ():
            worst = max(worst, abs(known[tuple(sorted([*rows, more]))] - before))
    assert 2 * worst > 1.0
    assert worst < 2.0
    assert question.moved == 2.0
    assert sensitivity_of(question.draw(1 << 40).query) == 2 * 256 + 2  # and rounding, up and down


def test_of_many_attributes_a_row_moves_a_quarter_of_the_sum() -> None:
    """One factor behind twelve of them: every pair depends a little, eleven are summed, which a row moves by 2 each."""
    schema = schema_of(*(attribute(f"a{at}", 2, Split.ONE_VS_REST) for at in range(12)))
    draw, n = np.random.default_rng(5), 20_000
    labels = draw.integers(0, 2, n)
    behind = draw.normal(size=n)
    codes = np.stack([(0.5 * behind + draw.normal(size=n) + labels > 0.5).astype(np.uint8) for _ in range(12)])
    question = DependenceWithinClasses(schema=schema, rows=float(n))
    batch = CodedBatch(codes=codes, labels=labels, first_row=0)
    assert question.moved == 2 * 11 / 4
    assert sensitivity_of(question.draw(1 << 40).query) == 2 * 11 * 64 + 2
    pair = DependenceWithinClasses(schema=schema_of(*schema.attributes[:2]), rows=float(n))
    one = CodedBatch(codes=codes[:2], labels=labels, first_row=0)
    alone, together = (
        distance(asked, BatchCounter(lambda rows=rows: [rows])) for asked, rows in ((pair, one), (question, batch))
    )
    assert not is_dependent(alone, n)
    assert is_dependent(together, n)
    assert together > 2 * alone


NINE = schema_of(*(attribute(f"a{at}", 2, Split.ONE_VS_REST) for at in range(9)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 1)] * 10), max_size=10), st.tuples(*[st.integers(0, 1)] * 10))
@example([(0,) * 10] * 9, (1,) * 9 + (0,))  # moves the eight by 3.6, and would move all pairs by 16
def test_one_row_moves_what_is_read_of_nine_attributes_by_less_than_four(
    rows: list[tuple[int, ...]], more: tuple[int, ...]
) -> None:
    """Eight pairs of 2 rows, a quarter of them."""
    question = DependenceWithinClasses(schema=NINE, rows=ROWS)
    assert question.moved == 4.0
    assert moved(question, rows, more) < 4.0


CELLS = st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 11), st.integers(0, 1))


@settings(max_examples=100, deadline=None)
@given(st.lists(CELLS, max_size=14), CELLS)
def test_one_row_moves_the_largest_of_several_distances_by_less_than_two(
    rows: list[tuple[int, ...]], more: tuple[int, ...]
) -> None:
    """For any pair, one row moves the largest distance by less than two."""
    question = DependenceWithinClasses(schema=THREE, rows=ROWS)
    assert len(question.pairs) == 3
    assert moved(question, rows, more) < 2.0


def test_neighbouring_cells_of_a_number_are_one_group_and_missing_is_apart() -> None:
    """Eight groups at most; categories stay as they are."""
    schema = schema_of(
        attribute("n", 16, Split.CUT, missing=True), attribute("m", 5, Split.CUT), attribute("c", 11, Split.ONE_VS_REST)
    )
    many, few, words = DependenceWithinClasses(schema=schema, rows=1e6).groups
    sizes = [domain.size for domain in (one.domain for one in schema.attributes)]
    assert [many.size, few.size, words.size] == sizes
    cells = schema.attributes[0].domain.size - 1
    assert many.tolist() == [at * 8 // cells for at in range(cells)] + [8]
    assert few.tolist() == list(range(sizes[1]))
    assert words.tolist() == list(range(11))


def test_pairs_with_few_rows_for_each_cell_are_left_out() -> None:
    """By public numbers alone: 16 rows for each cell of the table by class."""
    sizes = {(0, 1): 2 * 3, (0, 2): 2 * 8, (1, 2): 3 * 8}
    for rows in (0.0, 191.0, 192.0, 511.0, 512.0, 768.0):
        expected = tuple(pair for pair, cells in sizes.items() if 2 * cells * 16 <= rows)
        assert DependenceWithinClasses(schema=THREE, rows=rows).pairs == expected


def test_of_large_tables_of_pairs_only_so_many_are_counted_as_can_be_held() -> None:
    """The smallest ones, two million cells together, however many rows there are."""
    sizes = (2, 3, 700, 800, 900)
    schema = schema_of(*(attribute(f"a{at}", size, Split.ONE_VS_REST) for at, size in enumerate(sizes)))
    pairs = DependenceWithinClasses(schema=schema, rows=1e12).pairs
    assert (2, 3) in pairs
    assert (3, 4) not in pairs
    assert sum(2 * sizes[first] * sizes[second] for first, second in pairs) <= 1 << 21
    assert list(pairs) == sorted(pairs)


def _table(kind: str, n: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Three attributes that say much of the class: each by itself, two together, or two the same thing."""
    draw = np.random.default_rng(3)
    labels = draw.integers(0, 2, n)
    said = [np.where(draw.random(n) < 0.8, labels, draw.integers(0, size, n)) for size in (2, 3, 12)]
    if kind == "an interaction":
        said[1] = draw.integers(0, 2, n)
        said[0] = np.where(draw.random(n) < 0.9, labels ^ said[1], draw.integers(0, 2, n))
    elif kind == "twice the same":
        said[1] = np.where(draw.random(n) < 0.7, said[0], said[1])
    return np.stack(said).astype(np.uint8), labels


@pytest.mark.parametrize(
    ("kind", "dependent"), [("each by itself", False), ("an interaction", True), ("twice the same", True)]
)
def test_what_naive_bayes_cannot_tell_is_a_dependence_within_classes(kind: str, dependent: bool) -> None:
    """An interaction is one, too; attributes that all say much of the class are none."""
    codes, labels = _table(kind)
    question = DependenceWithinClasses(schema=THREE, rows=float(labels.size))
    batch = CodedBatch(codes=codes, labels=labels, first_row=0)
    found = distance(question, BatchCounter(lambda: [batch]))
    assert is_dependent(found, labels.size) == dependent
    assert (found == 0) == (not dependent)


def test_a_reading_costs_what_its_line_says_and_nothing_where_none_is_asked_for() -> None:
    """Forty scales of its noise are the rows, at most 3 in 100 of epsilon; none without weights, nor for cells."""
    rule = rule_for(epsilon=1.0, rows=30_000, attributes=10, classes=2)
    assert reading_share(rule, epsilon=1.0, rows=30_000, moved=4.5) == Fraction(600, 100_000)
    assert reading_share(rule, epsilon=1.0, rows=3_600, moved=4.5) == Fraction(3, 100)
    assert reading_share(rule, epsilon=1.0, rows=30_000, moved=4.5, in_cells=True) == 0
    few = rule_for(epsilon=1.0, rows=3_000, attributes=10, classes=2)
    assert few.weights == 0
    assert reading_share(few, epsilon=1.0, rows=3_000, moved=4.5) == 0
    question = DependenceWithinClasses(schema=PAIR, rows=ROWS)
    draw = question.draw(units_of(0.01))
    assert (draw.law, sensitivity_of(draw.query)) == (LAPLACE, 514)
    assert units_of(0.01) - 514 < draw_units(draw) <= units_of(0.01)


def test_a_rule_that_was_told_of_independence_learns_no_weights() -> None:
    """All of the budget for class counts and histograms, each of full weight, and a calibration."""
    told = {"epsilon": 1.0, "rows": 30_000.0, "attributes": 10, "classes": 2}
    before, after = rule_for(**told), rule_for(**told, independent=True)  # type: ignore[arg-type]
    assert before.weights > 0
    assert (after.weights, after.splits, after.depth, after.region_depth) == (0, 0, 0, 0)
    assert (after.attribute_weight, after.measured) == (1.0, 10)
    assert after.slope > 0
    assert after.histograms > before.histograms


@pytest.mark.slow
def test_an_audit_of_the_reading_stays_below_its_price_and_finds_some_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tables one row apart, by whether a reading is above the middle; fixed seeds, alpha 1e-3."""
    monkeypatch.setattr("anonkit.budget_rules.pair_rule.CHANCE", 0.0)
    question, epsilon = DependenceWithinClasses(schema=PAIR, rows=ROWS), 2.0
    rows = [(0, 0, 0), (1, 1, 0), (0, 1, 0)] * 3
    more = (1, 0, 0)
    draw = question.draw(units_of(epsilon))
    counters = [counter_of_rows(PAIR, table) for table in (rows, [*rows, more])]
    exact = [distance(question, counter) for counter in counters]
    middle = sum(exact) / 2
    seen = [
        np.array([
            question.read(draw, own, Randomness.seeded(seed)).rows > middle
            for seed in range(at * 3_000, (at + 1) * 3_000)
        ]).astype(np.int64)
        for at, own in enumerate(map(question.tables, counters))
    ]  # fmt: skip
    found = lower_bound(seen[0], seen[1]).lower_bound
    apart = abs(exact[0] - exact[1]) / 2 * epsilon  # what these two tables can show
    assert 0.3 * apart < found <= epsilon


def _released(kind: str, epsilon: float, **more: object) -> anonkit.Release:
    codes, labels = _table(kind, 6_000)
    names = {"a": "xy", "b": "xyz", "n": "abcdefghijkl"}
    table = pa.table(
        {name: np.array(list(words))[own] for (name, words), own in zip(names.items(), codes, strict=True)}
        | {"t": np.array(["no", "yes"])[labels]}
    )
    columns = {name: Column(name=name, categories=tuple(words)) for name, words in names.items()}
    columns["t"] = Column(name="t", categories=("no", "yes"), role=Role.TARGET)
    policy = Policy(columns=columns)
    return anonkit.release(table, method="dp-forest", epsilon=epsilon, policy=policy, ledger=None, seed=1, **more)


@pytest.mark.parametrize(("kind", "weights"), [("each by itself", False), ("twice the same", True)])
def test_a_release_says_what_was_read_and_what_followed(kind: str, weights: bool) -> None:
    """With a line of the account; weights are learned where they pay."""
    params = _released(kind, 1.0).params
    (line,) = (line for line in params["accounting"] if line["purpose"] == READING)
    told = params["rule"]["dependence"]
    assert (told["purpose"], told["rate"]) == (READING, line["rate"])
    assert params["rule"]["weights"] == ("weights" in params) == weights
    assert is_dependent(told["steps"] / 256, params["rule"]["rows"]) == weights
    assert math.isclose(sum(one["epsilon"] for one in params["accounting"] if not one["ends_path"]), 1.0, rel_tol=0.2)


@pytest.mark.parametrize("more", [{"epsilon": 0.02}, {"epsilon": 1.0, "as_": "cells"}])
def test_where_no_weights_would_be_learned_or_cells_are_released_nothing_is_read(more: dict[str, object]) -> None:
    """The rule says that there is none, and there is no line."""
    params = _released("each by itself", **more).params  # type: ignore[arg-type]
    assert params["rule"]["dependence"] is None
    assert not [line for line in params["accounting"] if line["purpose"] == READING]
