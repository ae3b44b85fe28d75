"""Boxes that differ only by chance are put together again; the others stay as they were grown."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from k_anonymity.search.coded_tables import coded

from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.box_growth import BoxGrowth, BoxNodes
from anonkit.k_anonymity.search.box_pruning import _between, _cheapest, _generations, supported_cuts, with_a_cut_of
from anonkit.k_anonymity.search.box_tree import grow_boxes
from anonkit.k_anonymity.search.equivalence import AtLeastK, DistinctL, NumberedRows
from anonkit.k_anonymity.search.hierarchy_levels import Ladder
from anonkit.k_anonymity.search.out_of_sample_predictions import Predicted, soft_labels


def _columns(n_rows: int, seed: int = 0) -> list[CodedColumn]:
    """Two numbers and two categories, all independent."""
    rng = np.random.default_rng(seed)
    return [
        coded("age", rng.integers(0, 40, n_rows), size=40, ordered=True),
        coded("hours", rng.integers(0, 12, n_rows), size=12, ordered=True),
        coded("job", rng.integers(0, 6, n_rows), size=6),
        coded("place", rng.integers(0, 9, n_rows), size=9),
    ]


@pytest.mark.quick_cases("0")
@pytest.mark.parametrize("seed", range(3))
def test_a_target_of_pure_noise_puts_nothing_together(seed: int) -> None:
    """If forests predict nothing of unseen rows, no cut is better than another, and all stay."""
    columns, rng = _columns(2000, seed), np.random.default_rng(seed + 10)
    tree, boxes = grow_boxes(columns, rng.integers(0, 2, 2000), [AtLeastK(10)])
    assert boxes.n_classes == tree.n_leaves > 100


@pytest.mark.slow
def test_a_numeric_target_of_pure_noise_puts_nothing_together() -> None:
    """The same of numbers."""
    rng = np.random.default_rng(3)
    tree, _ = grow_boxes(_columns(2000), np.zeros(2000, dtype=int), [AtLeastK(10)], numbers=rng.random(2000))
    assert tree.n_leaves > 100


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_tells_stays_and_what_is_chance_beside_it_goes(n_classes: int) -> None:
    """A target that follows one column: the rows are distinguished by it, in some of the boxes that k allows."""
    columns, rng = _columns(3000), np.random.default_rng(1)
    truth = columns[0].codes * n_classes // 40
    labels = np.where(rng.random(3000) < 0.3, rng.integers(0, n_classes, 3000), truth)
    tree, boxes = grow_boxes(columns, labels, [AtLeastK(10)])
    majority = np.array([np.bincount(truth[boxes.classes == box]).max() for box in range(boxes.n_classes)])
    assert majority.sum() > 0.97 * 3000
    unjudged, _ = grow_boxes(columns, labels, [AtLeastK(10)], jointly=True)
    assert n_classes <= tree.n_leaves < 0.4 * unjudged.n_leaves


def test_boxes_of_which_little_is_known_stay() -> None:
    """Forty rows show nothing, for or against: detail is not given up for that."""
    rng = np.random.default_rng(0)
    columns = _columns(40)
    guided, _ = grow_boxes(columns, rng.integers(0, 2, 40), [AtLeastK(4)])
    assert guided.n_leaves >= 6


def test_without_two_classes_nothing_is_put_together() -> None:
    """Nothing is known of a target that all rows share: detail is all there is to keep."""
    assert grow_boxes(_columns(300), np.zeros(300, dtype=int), [AtLeastK(10)])[0].n_leaves > 15


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_boxes_left_are_boxes_that_the_growth_went_through(seed: int, k: int) -> None:
    """None is left amid a division along a hierarchy, and each meets the requirements, people's values too."""
    rng = np.random.default_rng(seed)
    n_rows = 200
    leaf = rng.integers(0, 9, n_rows)
    columns = [coded("tree", leaf, size=9), coded("number", rng.integers(0, 5, n_rows), size=5, ordered=True)]
    ladders = {"tree": Ladder("tree", (np.arange(9), np.arange(9) // 3))}
    people, secret = rng.integers(0, 120, n_rows), rng.integers(0, 3, n_rows)
    asked = [AtLeastK(k, people), DistinctL(secret, 2, units=people)]
    labels = (leaf // 3 + rng.integers(0, 3, n_rows)) // 3
    rows = NumberedRows.of(columns, asked)
    told = soft_labels(rows.columns, rows.entry, labels, 0)
    growth = BoxGrowth(rows.columns, rows.whole, told.sums, rows.requirements, ladders)
    growth.grow()
    kept = supported_cuts(growth.splits, growth.node, rows.weights, told)
    children = np.append(growth.splits.left[kept], growth.splits.left[kept] + 1)
    leaves = children[~kept[children]]
    assert not growth.splits.amid[leaves].any()
    _, boxes = grow_boxes(columns, labels, asked, ladders)
    assert not any(one.violated(boxes, np.ones(n_rows, dtype=bool)).any() for one in asked)


@given(st.integers(0, 10**6), st.integers(2, 8))
def test_a_cut_that_comes_back_brings_what_it_needs_and_no_more(seed: int, k: int) -> None:
    """Every cut above it, and all parts of a division along a hierarchy; what stayed stays."""
    rng = np.random.default_rng(seed)
    leaf = rng.integers(0, 27, 300)
    columns = [coded("number", rng.integers(0, 5, 300), size=5, ordered=True), coded("tree", leaf, size=27)]
    ladders = {"tree": Ladder("tree", (np.arange(27), np.arange(27) // 3, np.arange(27) // 9))}
    asked = [AtLeastK(k)]
    rows = NumberedRows.of(columns, asked)
    guide = np.rint(rng.normal(size=(rows.weights.size, 1)) * 100)
    growth = BoxGrowth(rows.columns, rows.whole, guide, rows.requirements, ladders)
    growth.grow()
    splits = growth.splits
    stays = np.zeros(splits.column.size, dtype=bool)
    for number in rng.permutation(2).tolist():
        back = with_a_cut_of(splits, stays, number)
        there = splits.column == number
        assert (back & there).any() == there.any()
        assert back[stays].all()
        assert all(splits.parent[node] < 0 or back[splits.parent[node]] for node in np.flatnonzero(back))
        children = np.append(splits.left[back], splits.left[back] + 1)
        assert not splits.amid[children[~back[children]]].any()
        assert np.array_equal(with_a_cut_of(splits, back, number), back)
        stays = back


def _random_splits(seed: int) -> BoxNodes:
    """Grow a small tree of any shape."""
    rng, splits = np.random.default_rng(seed), BoxNodes()
    for _ in range(4):
        leaves = np.flatnonzero(splits.column < 0)
        chosen = rng.choice(leaves, size=min(leaves.size, 2), replace=False)
        splits.add(np.sort(chosen), np.zeros(chosen.size, dtype=int))
    return splits


@given(st.integers(0, 10**6), st.floats(0.0, 3.0))
def test_the_cheapest_division_is_the_best_of_all(seed: int, cost: float) -> None:
    """No other set of cuts from the root on keeps more after paying for each."""
    splits, rng = _random_splits(seed), np.random.default_rng(seed)
    inner = np.flatnonzero(splits.column >= 0)
    kept = np.zeros(splits.column.size)
    kept[inner] = rng.exponential(1.0, inner.size)
    found = _cheapest(splits, _generations(splits), kept, cost)
    best = 0.0
    for chosen in itertools.product([False, True], repeat=inner.size):
        cuts = np.zeros(kept.size, dtype=bool)
        cuts[inner] = chosen
        if all(splits.parent[node] < 0 or cuts[splits.parent[node]] for node in np.flatnonzero(cuts)):
            best = max(best, float((kept - cost)[cuts].sum()))
    assert float((kept - cost)[found].sum()) == pytest.approx(best)
    assert all(splits.parent[node] < 0 or found[splits.parent[node]] for node in np.flatnonzero(found))


def test_what_a_cut_adds_is_what_its_sides_have_more_than_the_whole() -> None:
    """Squares of sums by rows, over the two sides and the whole."""
    splits = BoxNodes()
    splits.add(np.zeros(1, dtype=int), np.zeros(1, dtype=int))
    assert _between(splits, np.array([5.0, 4.0, 3.0])).tolist() == [2.0, 0.0, 0.0]


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10**6))
def test_rows_of_a_pruned_tree_are_where_those_of_the_whole_tree_were(seed: int) -> None:
    """Each box of the smaller tree is made of whole boxes of the larger one, and rows are found in it."""
    rng = np.random.default_rng(seed)
    columns = _columns(150, seed)
    tree, boxes = grow_boxes(columns, np.zeros(150, dtype=int), [AtLeastK(5)])
    inner = tree.column >= 0
    kept = inner & (rng.random(inner.size) < 0.8)
    for node in np.flatnonzero(inner):
        kept[[tree.left[node], tree.left[node] + 1]] &= kept[node]
    smaller, of_node = tree.with_cuts(kept)
    node_of_box = of_node[np.flatnonzero(tree.column < 0)]
    codes = [column.codes for column in columns]
    assert (smaller.leaf[node_of_box][boxes.classes] == smaller.assign(codes)).all()
    assert smaller.n_leaves == kept.sum() + 1
    assert smaller.listed_from[-1] == smaller.listed.size


def test_nothing_told_keeps_every_cut() -> None:
    """Without a guide there is nothing to judge by."""
    splits = BoxNodes()
    splits.add(np.zeros(1, dtype=int), np.zeros(1, dtype=int))
    assert supported_cuts(splits, np.array([1, 2]), np.ones(2), Predicted.nothing(2)).tolist() == [True, False, False]
