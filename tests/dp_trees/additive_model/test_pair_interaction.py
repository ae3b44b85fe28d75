"""The choice of a pair that leads the tree: what one row moves, what it costs, what it finds, what a release says."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.budget_rules.tree_rule import choice_share, rule_for
from anonkit.dp_trees.additive_model.pair_prequeries import CHOICE, Interaction, PairInteraction, PairQuestions
from anonkit.mechanisms.accounting import draw_units, sensitivity_of, units_of
from anonkit.published.statements.noise_statement import PERMUTE_AND_FLIP
from anonkit.published.tree_model import Split, TreeSchema
from anonkit.randomness import Randomness
from tests.dp_trees.additive_model.test_pair_prequeries import counter_of_rows
from tests.dp_trees.tables import attribute, schema_of
from tests.mechanisms.test_private_selection import law_of_permute_and_flip

THREE = schema_of(*(attribute(name, 2, Split.ONE_VS_REST) for name in "abc"))
MIXED = schema_of(
    attribute("a", 2, Split.ONE_VS_REST), attribute("b", 3, Split.ONE_VS_REST), attribute("n", 12, Split.CUT)
)
ROWS = 1024.0
"""Public number of rows of tables that have far fewer: with it every pair is looked at."""


def question_of(schema: TreeSchema, rows: float = ROWS, epsilon: float = 4.0) -> PairInteraction:
    """A choice among all pairs of a schema."""
    return PairInteraction(schema=schema, rows=rows, epsilon=epsilon)


def gains(question: PairInteraction, rows: list[tuple[int, ...]]) -> np.ndarray:
    """The gains of a table of rows, the class last."""
    return question.gains(question.tables(counter_of_rows(question.schema, rows)))


CELLS = list(itertools.product((0, 1), repeat=4))


def test_no_small_table_moves_a_gain_by_more_than_a_row_and_some_move_two_of_them_apart() -> None:
    """All tables of three attributes of two values, two classes and up to three rows: a width of a row is refuted."""
    question, widest = question_of(THREE), 0
    assert len(question.rule.candidates) == 3
    known = {
        rows: gains(question, list(rows))
        for number in range(5)
        for rows in itertools.combinations_with_replacement(CELLS, number)
    }
    for rows, before in known.items():
        for more in CELLS if len(rows) < 4 else ():
            moved = known[tuple(sorted([*rows, more]))] - before
            assert np.abs(moved).max() <= 1
            widest = max(widest, int(max(moved.max(), 0) - min(moved.min(), 0)))
    assert widest == 2  # what no pair scores, a public number, moves by none
    assert sensitivity_of(question.draw(1 << 40).query) == 2


ROW = st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 11), st.integers(0, 1))


@settings(max_examples=100, deadline=None)
@given(st.lists(ROW, max_size=14), ROW)
def test_one_row_moves_the_gains_of_numbers_and_categories_by_one_at_most(
    rows: list[tuple[int, ...]], more: tuple[int, ...]
) -> None:
    """For any rows, one row moves each gain by one at most."""
    question = question_of(MIXED)
    assert len(question.rule.candidates) == 3
    assert np.abs(gains(question, [*rows, more]) - gains(question, rows)).max() <= 1


def test_the_law_of_the_choice_on_neighbours_is_within_its_price() -> None:
    """All tables of up to three rows: permute-and-flip's law by enumeration, of no pair and of three."""
    question = question_of(THREE)
    draw = question.draw(units_of(1.0))
    rate, none = draw.rate / (1 << 52), question.least_gain(draw)
    laws: dict[tuple[int, ...], np.ndarray] = {}

    def law(rows: tuple[tuple[int, ...], ...]) -> np.ndarray:
        # all pairs are raised alike, as by many rows more: gains of few rows lie so far below none that none is sure
        scores = (none, *(gains(question, list(rows)) - nothing + none).tolist())
        if scores not in laws:
            laws[scores] = law_of_permute_and_flip(list(scores), rate)
        return laws[scores]

    nothing, worst = gains(question, []), 0.0
    known = {rows: law(rows) for n in range(4) for rows in itertools.combinations_with_replacement(CELLS, n)}
    for rows, own in known.items():
        for more in CELLS if len(rows) < 3 else ():
            worst = max(worst, float(np.abs(np.log(own / known[tuple(sorted([*rows, more]))])).max()))
    assert 0.3 < worst <= 1.0 + 1e-9


def _rows(kind: str, n: int = 4_000) -> tuple[list[tuple[int, ...]], TreeSchema]:
    """Four attributes: two on which the class depends together, each by itself, or none."""
    schema = schema_of(
        attribute("a", 3, Split.ONE_VS_REST), attribute("n", 8, Split.CUT), attribute("m", 8, Split.CUT),
        attribute("b", 2, Split.ONE_VS_REST),
    )  # fmt: skip
    draw = np.random.default_rng(11)
    codes = np.stack([draw.integers(0, one.codes, n) for one in schema.attributes])
    labels = draw.integers(0, 2, n)
    if kind == "a chessboard":
        labels = (codes[1] // 2 + codes[2] // 2) % 2
    elif kind == "words":
        labels = (codes[0] == 1) ^ (codes[3] == 1)
    elif kind == "each by itself":
        labels = (codes[1] >= 4) | ((draw.random(n) < 0.2) & (codes[0] == 1))
    labels = np.where(draw.random(n) < 0.1, 1 - labels, labels).astype(np.int64)
    return [tuple(row) for row in np.vstack([codes, labels]).T.tolist()], schema


@pytest.mark.parametrize(
    ("kind", "pair"), [("a chessboard", (1, 2)), ("words", (0, 3)), ("each by itself", None), ("nothing", None)]
)
def test_two_on_which_the_class_depends_together_are_chosen(kind: str, pair: tuple[int, int] | None) -> None:
    """In nine of ten releases; where each says what it says by itself, or nothing, none are."""
    rows, schema = _rows(kind)
    asked = PairQuestions.of(
        rule_for(epsilon=1.0, rows=len(rows), attributes=4, classes=2), schema, epsilon=1.0, rows=float(len(rows))
    )
    assert 0 < asked.for_choice < Fraction(3, 100)
    counter = counter_of_rows(schema, rows)
    found = [asked.measure(counter, units_of(1.0), Randomness.seeded(seed)).interaction for seed in range(20)]
    assert sum(one is not None and one.pair == pair for one in found) >= 18


def _calls(work: Callable[[], object]) -> int:
    """The number of functions that a piece of work calls: its cost, on any machine."""
    calls = 0

    def seen(*event: object) -> None:
        nonlocal calls
        calls += event[1] in ("call", "c_call")

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def test_what_is_looked_at_grows_with_the_pairs_and_not_with_the_attributes_besides() -> None:
    """Twice as many attributes are four times as many pairs."""

    def work(wide: int) -> object:
        schema = schema_of(*(attribute(f"a{at:03d}", 2, Split.ONE_VS_REST) for at in range(wide)))
        return question_of(schema).rule.candidates

    few, many = (_calls(partial(work, wide)) for wide in (40, 80))
    assert many < 5 * few


def test_pairs_are_not_looked_for_where_none_could_be_asked_about() -> None:
    """If one pair would cost too much already, or the owner set the depth of trees, a thousand are not listed."""
    rule = rule_for(epsilon=0.5, rows=1_500, attributes=3, classes=2)
    for told in (
        {"rows": 1_000.0},
        {"rows": 1e6, "is_free": False},
        {"rows": 1e6, "in_cells": True},
        {"rows": 1e6, "trees": 2},
    ):
        asked = PairQuestions.of(rule, THREE, epsilon=0.5, **told)  # type: ignore[arg-type]
        assert asked.for_choice == 0
        assert "candidates" not in vars(asked.interaction.rule)
    assert PairQuestions.of(rule, THREE, epsilon=0.5, rows=1e6).for_choice > 0


def test_what_a_choice_costs_follows_from_epsilon_rows_and_pairs() -> None:
    """So much that a pair that gains nothing is chosen seldom; at most six in a hundred, else nothing is measured."""
    told = {"epsilon": 1.0, "rows": 10_000.0, "pairs": 45}
    exact = 2 / 0.15 * (math.log(46) + 2) / 10_000
    assert float(choice_share(**told)) == pytest.approx(max(exact, 0.01), abs=1e-5)  # type: ignore[arg-type]
    assert choice_share(epsilon=1.0, rows=1_400.0, pairs=45) == Fraction(math.ceil(1e5 * exact * 10 / 1.4), 10**5)
    assert choice_share(epsilon=1.0, rows=1_290.0, pairs=45) == 0
    assert choice_share(epsilon=1.0, rows=1e6, pairs=0) == 0
    assert choice_share(epsilon=1.0, rows=1e6, pairs=45, trees=2) == 0
    draw = question_of(THREE).draw(units_of(0.01))
    assert (draw.law, sensitivity_of(draw.query)) == (PERMUTE_AND_FLIP, 2)
    assert units_of(0.01) - 2 < draw_units(draw) <= units_of(0.01)


@pytest.mark.slow
def test_a_grid_is_none_that_would_have_routes_for_more_codes_than_can_be_held() -> None:
    """Every node of a tree has a place for each code of its widest attribute: two million words are too wide."""
    pair = attribute("a", 2, Split.ONE_VS_REST), attribute("n", 64, Split.CUT)
    wide, wider = (
        schema_of(*pair, attribute("w", size, Split.ONE_VS_REST)) for size in (2**26 // 128 + 1, 2**26 // 32 + 1)
    )
    chosen = Interaction(draw=question_of(THREE).draw(1 << 40), pair=(0, 1), names=("a", "n"))
    assert (0, 1) in question_of(wide, rows=1e9).rule.candidates
    assert question_of(wider, rows=1e9).rule.candidates == ()
    fine = chosen.grid(schema_of(*pair), 1e9)
    coarse = chosen.grid(wide, 1e9)
    assert fine is not None
    assert coarse is not None
    assert (fine.cells, coarse.cells) == (2 * 32, 2 * 16)


@pytest.mark.parametrize("more", [{"in_cells": True}, {"trees": 3}, {"is_free": False}])
def test_no_pair_leads_cells_nor_several_trees_nor_the_owners_depth(more: dict[str, object]) -> None:
    """There is one way to say how a tree grows."""
    _, schema = _rows("nothing", 10)
    rule = rule_for(epsilon=1.0, rows=4_000, attributes=4, classes=2)
    asked = PairQuestions.of(rule, schema, epsilon=1.0, rows=4_000.0, **more)  # type: ignore[arg-type]
    assert asked.for_choice == 0


@pytest.mark.slow
def test_an_audit_of_the_choice_stays_below_its_price_and_finds_some_of_it() -> None:
    """Two tables one row apart, by whether a pair was chosen; fixed seeds, alpha 1e-3."""
    question, epsilon = question_of(THREE, rows=128.0), 2.0
    rows = [(0, 0, 0, 0), (0, 1, 0, 1), (1, 0, 0, 1), (1, 1, 0, 0)] * 12
    more = (0, 0, 0, 1)  # against what all others say: it raises what one attribute gets right, and no more
    draw = question.draw(units_of(epsilon))
    tables = [question.tables(counter_of_rows(THREE, table)) for table in (rows, [*rows, more])]
    seen = [
        np.array([
            question.choose(draw, own, Randomness.seeded(seed)).pair is not None
            for seed in range(at * 3_000, (at + 1) * 3_000)
        ]).astype(np.int64)
        for at, own in enumerate(tables)
    ]  # fmt: skip
    found = lower_bound(seen[0], seen[1]).lower_bound
    assert 0.2 * epsilon < found <= epsilon


def test_the_line_of_the_account_has_a_name() -> None:
    """The line of the account has a name that a reader finds."""
    assert question_of(THREE).draw(1 << 40).name == CHOICE == "interacting pair"
