"""MDAV: the groups of an independent plain implementation, points taken whole, blocks beyond a size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.k_anonymity.search.microaggregation import blocks, mdav, means_of, microaggregated


def plain_groups(points: Any, k: int) -> list[list[int]]:
    """Group rows by the definition of Domingo-Ferrer and Torra (2005), distance by distance; of ties the first."""
    left, groups = list(range(len(points))), []

    def distance(row: int, point: Any) -> float:
        return float(((points[row] - point) ** 2).sum())

    def farthest(point: Any) -> int:
        return max(left, key=lambda row: (distance(row, point), -row))

    def take(row: int) -> None:
        near = sorted(left, key=lambda other: (distance(other, points[row]), other))[:k]
        groups.append(near)
        for one in near:
            left.remove(one)

    while len(left) >= 3 * k:
        first = farthest(points[left].mean(axis=0))
        second = farthest(points[first])
        take(first)
        take(second)
    if len(left) >= 2 * k:
        take(farthest(points[left].mean(axis=0)))
    return [*groups, left]


def loss(points: Any, groups: Any) -> float:
    """Return 100 SSE / SST: the information that the means of groups lose."""
    own = points - np.array([points[groups == group].mean(axis=0) for group in range(groups.max() + 1)])[groups]
    return float(100 * (own**2).sum() / ((points - points.mean(axis=0)) ** 2).sum())


def ones(points: Any) -> Any:
    """Return a weight of one row for each point."""
    return np.ones(len(points), np.int64)


def as_sets(groups: Any) -> set[frozenset[int]]:
    """Return groups as sets of rows."""
    return {frozenset(np.flatnonzero(groups == group).tolist()) for group in range(groups.max() + 1)}


@pytest.mark.parametrize(("n_rows", "n_columns", "k"), [(7, 2, 3), (11, 1, 4), (60, 3, 3), (157, 4, 10), (9, 2, 9)])
def test_the_groups_are_those_of_a_plain_implementation(n_rows: int, n_columns: int, k: int) -> None:
    """Row by row, on random points without ties."""
    for seed in range(8):
        points = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
        assert as_sets(microaggregated(points, ones(points), k)) == {frozenset(one) for one in plain_groups(points, k)}


@pytest.mark.slow
def test_the_loss_of_a_generated_table_is_that_of_a_plain_implementation() -> None:
    """A table of 400 rows as of a business survey: lognormal amounts with a common size, and an age of the firm."""
    draws = np.random.default_rng(42)
    size = draws.normal(size=400)
    points = np.column_stack(
        [*(np.exp(size + draws.normal(scale=s, size=400)) for s in (0.3, 0.6)), draws.uniform(0, 60, 400)]
    )
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    for k, figure in ((3, 7.5926), (5, 11.0663), (10, 15.6552)):
        groups = microaggregated(points, ones(points), k)
        plain = np.empty(400, np.int64)
        for number, members in enumerate(plain_groups(points, k)):
            plain[members] = number
        assert loss(points, groups) == pytest.approx(loss(points, plain), rel=1e-12)
        assert loss(points, groups) == pytest.approx(figure, abs=1e-4)


@given(
    st.lists(
        st.tuples(st.integers(-20, 20), st.integers(-3, 3), st.integers(1, 6)),
        min_size=1,
        max_size=60,
        unique_by=lambda p: p[:2],
    ),
    st.integers(2, 6),
)
def test_every_group_has_k_rows_and_points_are_whole(rows: list[tuple[int, int, int]], k: int) -> None:
    """Of weighted points with many ties too; of single rows no group has more than 2 k - 1."""
    points, weights = np.array([row[:2] for row in rows], float), np.array([row[2] for row in rows])
    groups, n_groups = mdav(points, weights, k)
    sizes = np.bincount(groups, weights, minlength=n_groups)
    assert groups.shape == weights.shape
    assert sizes.min() >= min(k, weights.sum())
    single = np.bincount(microaggregated(points, ones(points), k))
    assert single.min() >= min(k, len(rows))
    assert single.max() < 2 * k or len(rows) < 2 * k


def test_heavy_points_draw_in_what_is_left() -> None:
    """Fewer than k rows that are left join the nearest group."""
    points, weights = np.array([[0.0], [1.0], [10.0]]), np.array([9, 1, 9])
    assert as_sets(mdav(points, weights, 5)[0]) == {frozenset({0, 1}), frozenset({2})}


@pytest.mark.parametrize("most", [50, 64, 1000])
def test_blocks_are_every_point_once_and_none_is_larger(most: int) -> None:
    """Halves along the column of most variance."""
    points = np.random.default_rng(5).normal(size=(1000, 2)) * [1.0, 3.0]
    found = list(blocks(points, ones(points), most))
    assert sorted(np.concatenate(found).tolist()) == list(range(1000))
    assert max(map(len, found)) <= most
    assert min(map(len, found)) >= most // 2
    if most == 1000:
        return
    first = points[np.concatenate(found[: len(found) // 2]), 1]
    assert first.max() <= points[np.concatenate(found[len(found) // 2 :]), 1].min() or len(found) > 2


def test_blocks_lose_little_and_groups_keep_k() -> None:
    """Of 2,000 points in eight blocks: the loss grows by less than a tenth of itself."""
    points = np.random.default_rng(6).normal(size=(2000, 3))
    whole = microaggregated(points, ones(points), 5)
    cut = microaggregated(points, ones(points), 5, block=256)
    assert np.bincount(cut).min() >= 5
    assert loss(points, whole) <= loss(points, cut) <= 1.1 * loss(points, whole)


def test_a_block_holds_several_groups_however_large_k_is() -> None:
    """Blocks are not cut below eight times k."""
    points = np.random.default_rng(7).normal(size=(400, 1))
    assert np.bincount(microaggregated(points, ones(points), 40, block=10)).min() >= 40


def test_means_are_weighted() -> None:
    """By hand: (1 · 0 + 3 · 4) / 4 = 3."""
    found = means_of(np.array([[0.0], [4.0], [7.0]]), np.array([1, 3, 2]), np.array([0, 0, 1]), 2)
    assert found.tolist() == [[3.0], [7.0]]
