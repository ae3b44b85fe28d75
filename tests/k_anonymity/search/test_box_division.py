"""Division of a box along a hierarchy: nodes with enough rows, at the coarsest level that separates them."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.k_anonymity.search.box_division import divide, per_row

LEVELS = [np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0])]


def divided(codes: list[int], rows: list[float], floor: float) -> tuple[list[int], int, int]:
    """Parts, level and number of nodes of one box."""
    found = divide(
        np.zeros(len(codes), dtype=np.int64), np.array(codes), np.array(rows), np.array(rows),
        np.zeros((len(codes), 1)), LEVELS, np.array([floor]), (1.0, 1.0),
    )  # fmt: skip
    return found.part.tolist(), int(found.level[0]), int(found.n_nodes[0])


@pytest.mark.parametrize(
    ("codes", "rows", "floor", "expected"),
    [
        ([0, 1, 2, 3], [5, 5, 9, 9], 5, ([1, 1, 0, 0], 1, 2)),  # halves, the one with most rows first
        ([0, 1], [5, 6], 5, ([1, 0], 0, 2)),  # one half alone: its values
        ([0, 1, 2, 3], [2, 2, 9, 9], 3, ([1, 1, 0, 0], 1, 2)),
        ([0, 1, 2, 3], [1, 1, 9, 9], 5, ([0, 0, 0, 0], 1, 0)),  # what is left would be too few
    ],
)
def test_nodes_with_enough_rows_are_distinguished(
    codes: list[int], rows: list[float], floor: float, expected: tuple[list[int], int, int]
) -> None:
    """And what is left of the box has enough rows, too, or the smallest node stays with it."""
    assert divided(codes, rows, floor) == expected


def test_a_guide_that_differs_between_parts_is_worth_its_variance() -> None:
    """The gain of halves whose guides are opposite is that of the sums of squares."""
    guide = np.array([[4.0], [4.0], [-4.0], [-4.0]])
    rows = np.full(4, 4.0)
    found = divide(np.zeros(4, dtype=np.int64), np.arange(4), rows, rows, guide, LEVELS, np.array([4.0]), (1.0, 0.0))
    assert found.score.tolist() == [8**2 / 8 * 2]
    assert per_row(np.array([3.0, 5.0]), np.array([2.0, 0.0])).tolist() == [1.5, 5.0]
