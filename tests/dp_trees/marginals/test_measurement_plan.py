"""The private spanning tree: widths of its scores, the law of its choices, and that they are used."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.budget_rules.marginal_rule import forest_of
from anonkit.budget_rules.model_queries import PairError
from anonkit.dp_trees.marginals.measurement_plan import (
    error_steps,
    private_best,
    private_tree,
)
from anonkit.mechanisms.accounting import STEPS, sensitivity_of
from anonkit.mechanisms.exact_samplers import UniformStream, permute_and_flip
from anonkit.randomness import Randomness
from tests.mechanisms.test_private_selection import law_of_permute_and_flip

WIDTH = sensitivity_of(PairError())
ONE = 1 << 52


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=4, max_size=4), st.lists(st.floats(0, 60), min_size=4, max_size=4))
def test_one_row_moves_an_error_by_its_steps_at_most(counts: list[int], model: list[float]) -> None:
    """For any model and any cell of the row: 256 steps, exactly, and both ways occur."""
    table, expected = np.array(counts).reshape(1, 2, 2), np.array(model).reshape(1, 2, 2)
    before = error_steps(table, expected)
    for cell in np.ndindex(*table.shape):
        more = table.copy()
        more[cell] += 1
        assert abs(error_steps(more, expected) - before) <= STEPS


def test_a_row_raises_one_error_and_lowers_another() -> None:
    """So the range of changes is twice the steps: a width of 256 would be refuted."""
    table = np.array([[[3, 0]]])
    moves = [
        error_steps(table + np.array([[[1, 0]]]), model) - error_steps(table, model)
        for model in (np.array([[[9.0, 0.0]]]), np.array([[[1.0, 0.0]]]))
    ]
    assert max(moves) - min(moves) == WIDTH


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_a_tree_joins_all_columns_without_a_circle(columns: int) -> None:
    """One edge less than columns; a forest where pairs are missing."""
    pairs = list(itertools.combinations(range(columns), 2))
    edges = private_tree(dict.fromkeys(pairs, 0), columns, ONE, UniformStream(Randomness.seeded(1)))
    assert len(edges) == len(forest_of(pairs, columns)) == columns - 1
    parts = [{column} for column in range(columns)]
    for first, second in edges:
        one, other = (next(part for part in parts if at in part) for at in (first, second))
        assert one is not other
        parts = [part for part in parts if part is not one and part is not other] + [one | other]
    assert len(parts) == 1
    assert len(forest_of([(0, 1), (2, 3)], 5)) == 2


def test_the_tree_is_the_heaviest_where_noise_is_small() -> None:
    """Kruskal's tree, edge after edge."""
    scores = {(0, 1): 90, (0, 2): 80, (1, 2): 70, (0, 3): 1, (1, 3): 5, (2, 3): 3}
    edges = private_tree(
        {pair: score * STEPS for pair, score in scores.items()}, 4, ONE, UniformStream(Randomness.seeded(2))
    )
    assert edges == [(0, 1), (0, 2), (1, 3)]
    best = private_best(
        {pair: score * STEPS for pair, score in scores.items()}, 2, ONE, UniformStream(Randomness.seeded(2))
    )
    assert best == [(0, 1), (0, 2)]


def law_of_tree(scores: dict[tuple[int, int], int], rate: float) -> dict[tuple[tuple[int, int], ...], float]:
    """The law of the two edges of three columns, by enumeration of permute-and-flip."""
    found: dict[tuple[tuple[int, int], ...], float] = {}
    pairs = list(scores)
    for first, chance in zip(pairs, law_of_permute_and_flip([scores[pair] for pair in pairs], rate), strict=True):
        left = [pair for pair in pairs if pair != first]
        rest = law_of_permute_and_flip([scores[pair] for pair in left], rate)
        for second, then in zip(left, rest, strict=True):
            found[first, second] = found.get((first, second), 0.0) + chance * then
    return found


def test_the_edges_of_three_columns_have_the_law_of_enumeration() -> None:
    """Both edges together, against the formula: 1,500 trees."""
    scores, rate = {(0, 1): 3, (0, 2): 1, (1, 2): 0}, 0.5
    words = UniformStream(Randomness.seeded(3))
    draws = 1_500
    seen = Counter(tuple(private_tree(scores, 3, int(rate * ONE), words)) for _ in range(draws))
    for edges, chance in law_of_tree(scores, rate).items():
        assert seen[edges] / draws == pytest.approx(chance, abs=5 * math.sqrt(chance / draws))


def test_no_row_makes_a_tree_more_likely_than_its_choices_cost() -> None:
    """Every table of three binary columns and four rows, one row more: the exact law of the tree, by enumeration."""
    columns = [(0, 1), (0, 2), (1, 2)]
    rate = 0.002  # a step; two choices of width 512 each
    model = np.full((1, 2, 2), 1.25)
    rows = list(itertools.product((0, 1), repeat=3))
    worst = 0.0

    def law(table: list[tuple[int, ...]]) -> dict[tuple[tuple[int, int], ...], float]:
        scores = {}
        for first, second in columns:
            counts = np.zeros((1, 2, 2), dtype=np.int64)
            for row in table:
                counts[0, row[first], row[second]] += 1
            scores[first, second] = error_steps(counts, model)
        return law_of_tree(scores, rate)

    for chosen in itertools.combinations_with_replacement(rows, 3):
        before = law(list(chosen))
        for more in rows:
            after = law([*chosen, more])
            worst = max(worst, *(abs(math.log(after[edges] / before[edges])) for edges in before))
    assert 0.3 * 2 * WIDTH * rate < worst <= 2 * WIDTH * rate + 1e-9


def test_an_audit_of_the_choices_stays_below_their_price() -> None:
    """Two errors that a row moves apart as far as it can: 20,000 choices show most of the price and not more."""
    price = 1.0
    rate = int(price * ONE) // WIDTH

    def chosen(scores: list[int], seed: int) -> np.ndarray:
        many = np.repeat([[score * STEPS for score in scores]], 20_000, axis=0)
        return permute_and_flip(many, rate, UniformStream(Randomness.seeded(seed)))

    near, far = chosen([3, 1], 1), chosen([2, 2], 2)
    found = lower_bound(near, far)
    assert 0.2 * price < found.lower_bound <= price
