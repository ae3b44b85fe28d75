"""All pairs that follow from some: along a tree those of the joint distribution, in a circle all that are known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from anonkit.dp_trees.marginals.mixture_fit import Completion, expected_squares, group_matrix
from anonkit.dp_trees.marginals.tree_pairs import Margins
from tests.dp_trees.marginals.joint_distributions import SIZES, joint_of, margin, margins_of_joints
from tests.dp_trees.marginals.tables_of_pairs import layout_of

TREES = {
    "a path": [(0, 1), (1, 2), (2, 3)],
    "a star": [(0, 1), (0, 2), (0, 3)],
    "two parts": [(0, 2), (1, 3)],
    "no edge": [],
}
QUIET = np.zeros(2)


def pair_of(completion: Completion, pair: tuple[int, int]) -> np.ndarray:
    """The shares of one pair."""
    first, second = (completion.layout.values(column) for column in pair)
    return completion.all_pairs()[:, first, second]


@pytest.mark.parametrize("name", TREES)
def test_all_pairs_are_those_of_the_joint_distribution(name: str) -> None:
    """Brute force over all 24 cells, for two classes at once; a thousandth of each pair is left to noise."""
    joints = [joint_of(TREES[name], seed) for seed in (1, 2)]
    layout = layout_of(SIZES, 2)
    completion = Completion(layout, margins_of_joints(joints))
    for pair in TREES[name]:
        completion.learn(pair, np.stack([margin(joint, *pair) for joint in joints]), QUIET)
    completion.settle(2)
    found = completion.all_pairs()
    for first, second in itertools.combinations(range(4), 2):
        wanted = np.stack([margin(joint, first, second) for joint in joints])
        assert found[:, layout.values(first), layout.values(second)] == pytest.approx(wanted, abs=1e-5)
        assert found[:, layout.values(second), layout.values(first)] == pytest.approx(
            wanted.transpose(0, 2, 1), abs=1e-5
        )
    for at in range(4):
        assert found[:, layout.values(at), layout.values(at)].sum(axis=2) == pytest.approx(
            completion.margins.values[at]
        )


def test_rows_of_groups_are_the_sums_of_their_values() -> None:
    """Groups that are not adjacent, and a column of one value."""
    joints = [joint_of([(0, 1), (1, 2)], seed) for seed in (1, 2)]
    alone = margins_of_joints(joints)
    groups = (np.array([1, 0]), *(np.arange(size) % 2 for size in SIZES[1:]), np.zeros(1, dtype=np.int64))
    margins = Margins(totals=np.array([30.0, 5.0]), values=(*alone.values, np.ones((2, 1))), groups=groups)
    completion = Completion(layout_of([*SIZES, 1], 2), margins)
    completion.learn((0, 1), np.stack([margin(joint, 0, 1) for joint in joints]), QUIET)
    pairs = completion.rows_of_groups()
    assert list(pairs) == list(itertools.combinations(range(5), 2))
    for (first, second), rows in pairs.items():
        wanted = np.zeros_like(rows)
        for one, other in itertools.product(range(groups[first].size), range(groups[second].size)):
            wanted[:, groups[first][one], groups[second][other]] += (
                pair_of(completion, (first, second))[:, one, other] * margins.totals
            )
        assert rows == pytest.approx(wanted)


def test_all_pairs_of_a_circle_are_kept() -> None:
    """Six tables of any joint distribution, learned one by one: after some rounds each is what it is known to be."""
    draw = np.random.default_rng(5)
    joints = [draw.dirichlet(np.ones(24)).reshape(SIZES) for _ in range(2)]
    completion = Completion(layout_of(SIZES, 2), margins_of_joints(joints))
    pairs = list(itertools.combinations(range(4), 2))
    tables = {pair: np.stack([margin(joint, *pair) for joint in joints]) for pair in pairs}
    for pair in pairs:
        completion.learn(pair, tables[pair], QUIET)
    completion.settle(60)
    for pair in pairs:
        assert pair_of(completion, pair) == pytest.approx(tables[pair], abs=1e-3)


def test_what_noise_explains_is_not_taken_over() -> None:
    """A table no further from independence than its noise: the pair stays independent. Half as much noise: half."""
    joints = [joint_of([(0, 1)], seed) for seed in (1, 2)]
    margins = margins_of_joints(joints)
    table = np.stack([margin(joint, 0, 1) for joint in joints])
    alone = np.stack([np.multiply.outer(margin(joint, 0), margin(joint, 1)) for joint in joints])
    kept = [int(shares.sum(axis=0).argmax()) for shares in margins.values[:2]]
    block = np.delete(np.delete(table - alone, kept[0], axis=1), kept[1], axis=2)
    squares = (block**2).sum(axis=(1, 2))
    for part, noise in ((0.0, squares), (0.5, squares / 2)):
        completion = Completion(layout_of(SIZES, 2), margins)
        completion.learn((0, 1), table, noise)
        assert pair_of(completion, (0, 1)) == pytest.approx(alone + part * (table - alone), abs=1e-6)


def test_tables_that_contradict_each_other_leave_shares() -> None:
    """Three columns of which any two are said to be opposite: no distribution is like that; nothing breaks."""
    half = np.full((1, 2), 0.5)
    margins = Margins(totals=np.ones(1), values=(half,) * 3, groups=(np.arange(2),) * 3)
    completion = Completion(layout_of([2, 2, 2]), margins)
    opposite = np.array([[[0.0, 0.5], [0.5, 0.0]]])
    for pair in ((0, 1), (0, 2), (1, 2)):
        completion.learn(pair, opposite, np.full(1, 1e-4))
    completion.settle(20)
    found = completion.all_pairs()
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found[0].sum() == pytest.approx(9)


def test_a_value_that_no_row_has_leads_nowhere() -> None:
    """A share of 0: nothing is divided by it, and its pairs stay 0."""
    margins = Margins(
        totals=np.ones(1),
        values=(np.array([[1.0, 0.0]]), np.array([[0.3, 0.7]])),
        groups=(np.arange(2), np.arange(2)),
    )
    table = np.array([[[0.3, 0.7], [0.0, 0.0]]])
    completion = Completion(layout_of([2, 2]), margins)
    completion.learn((0, 1), table, np.zeros(1))
    assert pair_of(completion, (0, 1)) == pytest.approx(table, abs=1e-6)


def test_squares_of_noise_are_a_quarter_of_those_that_were_drawn() -> None:
    """In shares of the rows of each class."""
    assert expected_squares(6, 4.0, np.array([2.0, 10.0])) == pytest.approx([1.5, 0.06])


def test_groups_stand_column_by_column() -> None:
    """Each value in one group, of its own column."""
    found = group_matrix((3, 2), (np.array([0, 1, 1]), np.array([0, 1])))
    assert found.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
