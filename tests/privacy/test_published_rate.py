"""The published rate of eDPRF's permute-and-flip: its loss enumerated, and audited from outside.

The paper flips with exp(epsilon q / (2 D)). The scores of both of its choices only move one way when a row comes, so
the loss is half of what it claims, and all of that half is used.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.mechanisms.accounting import draw_epsilon
from anonkit.methods.edprf import EDPRF
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from tests.mechanisms.test_private_selection import law_of_permute_and_flip
from tests.privacy.test_trees import NO_ROW, ONE_ROW, ONE_VALUE, PAIRS, forests_of, symbols
from tests.privacy.test_trees import POLICY as AUDITED

EPSILON = 2.0
POLICY = Policy(
    columns={
        "a": Column(name="a", categories=("0", "1")),
        "b": Column(name="b", categories=("0", "1")),
        "y": Column(name="y", role=Role.TARGET, categories=("0", "1")),
    }
)
METHOD = EDPRF(epsilon=EPSILON, trees=1, depth=2, leaf="label", rate="published")
ROWS = tuple(itertools.product((0, 1), repeat=3))
"""All rows (a, b, y)."""


def _gini(counts: list[int]) -> int:
    """Minus rows * Gini in steps of 2**-8, rounded towards 0."""
    rows = sum(counts)
    return -((rows * rows - sum(count * count for count in counts)) * 256 // rows) if rows else 0


def _counts(table: dict[tuple[int, int, int], int], column: int, value: int) -> list[int]:
    return [sum(n for row, n in table.items() if row[column] == value and row[2] == label) for label in (0, 1)]


def law_of_trees(table: dict[tuple[int, int, int], int], rates: tuple[float, float]) -> dict[tuple[int, ...], float]:
    """The exact probability of every tree: a split, then the labels of its two leaves."""
    at_split, at_leaf = rates
    scores = [sum(_gini(_counts(table, column, value)) for value in (0, 1)) for column in (0, 1)]
    law = {}
    for column, chance in enumerate(law_of_permute_and_flip(scores, at_split)):
        labels = [law_of_permute_and_flip(_counts(table, column, value), at_leaf) for value in (0, 1)]
        for left, right in itertools.product((0, 1), repeat=2):
            law[column, left, right] = chance * labels[0][left] * labels[1][right]
    return law


def _loss(table: dict[tuple[int, int, int], int], row: tuple[int, int, int], rates: tuple[float, float]) -> float:
    """The loss of a row that comes: the largest log ratio of any tree, either way."""
    more = {**table, row: table.get(row, 0) + 1}
    first, second = law_of_trees(table, rates), law_of_trees(more, rates)
    return max(abs(math.log(first[tree] / second[tree])) for tree in first)


def _tables() -> list[dict[tuple[int, int, int], int]]:
    small = [
        {row: chosen.count(row) for row in set(chosen)}
        for size in range(4)
        for chosen in itertools.combinations_with_replacement(ROWS, size)
    ]
    # rows far from ties: there the whole loss shows
    return [*small, {(0, 0, 0): 40, (1, 1, 0): 40}, {(0, 0, 0): 60, (0, 1, 0): 30, (1, 0, 1): 60, (1, 1, 1): 30}]


def test_half_of_the_claim_is_lost_and_no_more() -> None:
    """Every table of up to three rows and every row that comes: at most epsilon / 2, and most of it far from ties."""
    plan = METHOD.plan(POLICY)
    rates = (plan.split_draws(0)[0].rate / 2**52, plan.leaf_draws(1)[0].rate / 2**52)
    losses = [_loss(table, row, rates) for table in _tables() for row in ROWS]
    true = plan.accounting.epsilon
    assert true == pytest.approx(EPSILON / 2)
    assert 0.6 * true < max(losses) <= true + 1e-12
    label = [
        abs(math.log(law_of_permute_and_flip([0, n], rates[1])[0] / law_of_permute_and_flip([0, n + 1], rates[1])[0]))
        for n in range(40)
    ]
    assert max(label) == pytest.approx(draw_epsilon(plan.leaf_draws(1)[0]))


def test_an_audit_finds_the_half_and_not_the_claim() -> None:
    """Clopper-Pearson limits at 1e-3 over labels of one row and of none: 0.7 of what is accounted, and no more."""
    plan = METHOD.plan(ONE_VALUE)
    shown = [
        np.array(
            [
                trees[0][0].leaf.label  # type: ignore[union-attr]
                for trees in forests_of(plan, table, 8_000, seed)
            ]
        )
        for seed, table in enumerate((ONE_ROW, NO_ROW))
    ]
    found, true = lower_bound(shown[0], shown[1]).lower_bound, plan.accounting.epsilon
    assert 0.7 * true <= found <= true == pytest.approx(METHOD.epsilon / 2)


def test_no_tree_tells_more_than_the_half() -> None:
    """The same limits over whole trees, of leaves far from a tie with and without a row."""
    plan = METHOD.plan(AUDITED)
    table, neighbour, at = PAIRS["leaves far from a tie"]
    row, label = table[0][:, at], int(table[1][at])
    shown = [
        symbols(forests_of(plan, one, 3_000, seed), row, label, plan) for seed, one in enumerate((table, neighbour))
    ]
    assert lower_bound(shown[0], shown[1]).lower_bound <= plan.accounting.epsilon
