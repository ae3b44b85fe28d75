"""C4.5's pruning on noisy counts: the bound by hand, what becomes a leaf, what stays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from anonkit.dp_trees.release.tree_families import pessimistic_errors, pruned
from anonkit.published.tree_model import LeafContent, Node, PublishedForest, Split
from tests.dp_trees.tables import attribute, schema_of

SCHEMA = schema_of(attribute("a", 2), attribute("n", 4, Split.CUT))


def leaf(*counts: int, rows: int | None = None) -> Node:
    """A leaf with counts."""
    return Node(leaf=LeafContent(counts=counts), rows=rows)


def forest_of(*nodes: Node) -> PublishedForest:
    """One tree."""
    return PublishedForest(schema=SCHEMA, trees=(nodes,), rows_per_tree={"kind": "disjoint", "trees": 1})


def split(attribute: int, *children: int, rows: int | None = None) -> Node:
    """A node that is split."""
    return Node(attribute=attribute, children=children, rows=rows)


@pytest.mark.parametrize(("wrong", "rows"), [(0, 6), (1, 16), (5, 20), (30, 100)])
def test_estimated_errors_are_near_the_exact_limit_of_the_binomial(wrong: int, rows: int) -> None:
    """At the upper limit a quarter of samples has no more errors than were seen, up to the normal approximation."""
    limit = pessimistic_errors(np.array([rows - wrong, wrong])) / rows
    assert wrong / rows < limit
    assert binom.cdf(wrong, rows, limit) == pytest.approx(0.25, abs=1e-9 if wrong == 0 else 0.03)


def test_leaves_that_say_the_same_become_one() -> None:
    """A split without a difference costs estimated errors: one leaf with the sums."""
    forest = pruned(forest_of(split(0, 1, 2), leaf(50, 10), leaf(50, 10)))
    assert forest.trees == ((leaf(100, 20),),)


def test_a_split_that_tells_the_classes_apart_stays() -> None:
    """Two pure leaves."""
    forest = forest_of(split(0, 1, 2), leaf(60, 0), leaf(0, 60))
    assert pruned(forest) == forest


def test_only_the_part_that_says_nothing_goes() -> None:
    """The nodes that stay are numbered anew, parents first; counts below 0 are added up as they are."""
    grown = forest_of(split(0, 1, 2), split(1, 3, 4), leaf(0, 80), leaf(40, -3), leaf(30, 1))
    assert pruned(grown).trees == ((split(0, 1, 2), leaf(70, -2), leaf(0, 80)),)


def test_noisy_counts_of_nodes_decide_where_they_were_drawn() -> None:
    """A leaf whose own rows are few weighs little, whatever the noise in its classes."""
    loud = forest_of(split(0, 1, 2, rows=100), leaf(90, 2, rows=100), leaf(2, 40, rows=0))
    assert len(pruned(loud).trees[0]) == 1
    uncounted = forest_of(split(0, 1, 2), leaf(90, 2), leaf(2, 40))
    assert len(pruned(uncounted).trees[0]) == 3


def test_trees_of_labels_stay() -> None:
    """Without counts there is nothing to estimate."""
    labels = forest_of(split(0, 1, 2), Node(leaf=LeafContent(label=0)), Node(leaf=LeafContent(label=0)))
    assert pruned(labels) == labels


COUNTS = st.lists(st.tuples(st.integers(-9, 60), st.integers(-9, 60)), min_size=4, max_size=4)


@given(COUNTS, st.lists(st.integers(-9, 120), min_size=7, max_size=7), st.booleans())
def test_pruning_keeps_the_sums_and_ends(counts: list[tuple[int, int]], rows: list[int], counted: bool) -> None:
    """Any noise: all counts of the table are still there, and pruning a pruned tree changes nothing where none is."""
    number = iter(rows if counted else [None] * 7)
    forest = forest_of(
        split(0, 1, 2, rows=next(number)),
        split(1, 3, 4, rows=next(number)),
        split(1, 5, 6, rows=next(number)),
        *(leaf(*one, rows=next(number)) for one in counts),
    )
    once = pruned(forest)
    left = [node.leaf.counts for node in once.trees[0] if node.leaf is not None and node.leaf.counts is not None]
    assert np.array(left).sum(axis=0).tolist() == np.array(counts).sum(axis=0).tolist()
    if len(once.trees[0]) == 1:
        assert pruned(once) == once
