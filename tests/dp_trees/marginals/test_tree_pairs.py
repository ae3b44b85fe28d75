"""Pairs along a tree in closed form, against the joint distribution of the tree, cell by cell."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from anonkit.dp_trees.marginals.measured_tables import Margins
from anonkit.dp_trees.marginals.tree_pairs import all_pairs, order_of, rows_of_tree
from tests.dp_trees.marginals.tables_of_pairs import layout_of

SIZES = [2, 3, 2, 2]
TREES = {
    "a path": [(0, 1), (1, 2), (2, 3)],
    "a star": [(0, 1), (0, 2), (0, 3)],
    "two parts": [(0, 2), (1, 3)],
    "no edge": [],
}


def joint_of(edges: list[tuple[int, int]], seed: int) -> np.ndarray:
    """A distribution over all four columns in which each depends on the others through the tree alone."""
    draw = np.random.default_rng(seed)
    out = np.ones(SIZES)
    for step in order_of(edges, len(SIZES)):
        shape = [1] * len(SIZES)
        shape[step.column] = SIZES[step.column]
        axes = SIZES[step.column] if step.parent is None else (SIZES[step.parent], SIZES[step.column])
        table = draw.dirichlet(np.ones(SIZES[step.column]), size=None if step.parent is None else SIZES[step.parent])
        if step.parent is not None:
            shape[step.parent] = SIZES[step.parent]
            table = table if step.parent < step.column else table.T
        assert np.prod(axes) == table.size
        out = out * table.reshape(shape)
    return out


def margin(joint: np.ndarray, *columns: int) -> np.ndarray:
    """The joint distribution of some columns, in order."""
    return joint.sum(axis=tuple(at for at in range(len(SIZES)) if at not in columns))


@pytest.mark.parametrize("name", TREES)
def test_all_pairs_are_those_of_the_joint_distribution(name: str) -> None:
    """Brute force over all 24 cells, for two classes at once."""
    edges = TREES[name]
    joints = [joint_of(edges, seed) for seed in (1, 2)]
    layout = layout_of(SIZES, 2)
    margins = Margins(
        totals=np.array([1.0, 1.0]),
        values=tuple(np.stack([margin(joint, at) for joint in joints]) for at in range(4)),
        groups=tuple(np.arange(size) for size in SIZES),
    )
    tables = {pair: np.stack([margin(joint, *pair) for joint in joints]) for pair in edges}
    found = all_pairs(layout, order_of(edges, 4), tables, margins)
    for first, second in itertools.combinations(range(4), 2):
        wanted = np.stack([margin(joint, first, second) for joint in joints])
        assert found[:, layout.values(first), layout.values(second)] == pytest.approx(wanted)
        assert found[:, layout.values(second), layout.values(first)] == pytest.approx(wanted.transpose(0, 2, 1))
    for at in range(4):
        assert found[:, layout.values(at), layout.values(at)].sum(axis=2) == pytest.approx(margins.values[at])


def test_rows_of_a_tree_stand_for_it_and_are_the_same_each_time() -> None:
    """20,000 of them have the pairs of the tree; nothing is drawn in secret."""
    edges = TREES["a path"]
    joint = joint_of(edges, 1)
    layout = layout_of(SIZES)
    margins = Margins(
        totals=np.array([1.0]),
        values=tuple(margin(joint, at)[np.newaxis] for at in range(4)),
        groups=tuple(np.arange(size) for size in SIZES),
    )
    tables = {pair: margin(joint, *pair)[np.newaxis] for pair in edges}
    rows, again = (rows_of_tree(layout, order_of(edges, 4), tables, margins, 20_000)[0] for _ in range(2))
    assert np.array_equal(rows, again)
    for first, second in itertools.combinations(range(4), 2):
        seen = np.bincount(rows[:, first] * SIZES[second] + rows[:, second], minlength=SIZES[first] * SIZES[second])
        assert seen / 20_000 == pytest.approx(margin(joint, first, second).reshape(-1), abs=0.02)


def test_a_value_that_no_row_has_leads_nowhere() -> None:
    """A parent's value of share 0: its children follow their own column, and nothing is divided by zero."""
    layout = layout_of([2, 2])
    margins = Margins(
        totals=np.array([1.0]),
        values=(np.array([[1.0, 0.0]]), np.array([[0.3, 0.7]])),
        groups=(np.arange(2), np.arange(2)),
    )
    tables = {(0, 1): np.array([[[0.3, 0.7], [0.0, 0.0]]])}
    found = all_pairs(layout, order_of([(0, 1)], 2), tables, margins)
    assert found[0, layout.values(0), layout.values(1)] == pytest.approx(tables[0, 1][0])
