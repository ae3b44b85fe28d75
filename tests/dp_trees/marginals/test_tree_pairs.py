"""Rows that represent a tree, against its joint distribution."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from anonkit.dp_trees.marginals.tree_pairs import order_of, rows_of_tree
from tests.dp_trees.marginals.joint_distributions import SIZES, joint_of, margin, margins_of_joints
from tests.dp_trees.marginals.tables_of_pairs import layout_of


def test_rows_of_a_tree_stand_for_it_and_are_the_same_each_time() -> None:
    """20,000 of them have the pairs of the tree; nothing is drawn in secret."""
    edges = [(0, 1), (1, 2), (2, 3)]
    joint = joint_of(edges, 1)
    layout = layout_of(SIZES)
    margins = margins_of_joints([joint])
    tables = {pair: margin(joint, *pair)[np.newaxis] for pair in edges}
    rows, again = (rows_of_tree(layout, order_of(edges, 4), tables, margins, 20_000)[0] for _ in range(2))
    assert np.array_equal(rows, again)
    for first, second in itertools.combinations(range(4), 2):
        seen = np.bincount(rows[:, first] * SIZES[second] + rows[:, second], minlength=SIZES[first] * SIZES[second])
        assert seen / 20_000 == pytest.approx(margin(joint, first, second).reshape(-1), abs=0.02)
