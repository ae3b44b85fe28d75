"""Rows drawn from noisy cells, and the cells themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.dp_trees.leaf_cells import ROWS_WITHOUT_COUNTS, cells_of, label_of
from anonkit.dp_trees.microdata import UniformRows, consistent, rounded, rows_by_cell
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.published.tree_attributes import Split
from anonkit.published.tree_model import LeafContent, Node, PublishedForest
from anonkit.randomness import Randomness
from tests.dp_trees.tables import attribute, schema_of

SCHEMA = schema_of(attribute("a", 3), attribute("n", 4, Split.CUT, missing=True))


def forest_of(*leaves: LeafContent) -> PublishedForest:
    """One tree: n <= 1 against the rest, and the rest by a."""
    nodes = (
        Node(attribute=1, at=1, children=(1, 2)),
        Node(leaf=leaves[0]),
        Node(attribute=0, children=(3, 4, 5)),
        *(Node(leaf=leaf) for leaf in leaves[1:]),
    )
    return PublishedForest(schema=SCHEMA, trees=(nodes,), rows_per_tree={"kind": "disjoint", "trees": 1})


COUNTED = forest_of(*(LeafContent(counts=counts) for counts in ((40, -3), (0, 25), (10, 5), (-4, 2))))


def test_cells_are_the_codes_that_lead_to_a_leaf() -> None:
    """Boxes partition the domain, and are said in words."""
    cells = cells_of(COUNTED)
    assert cells.volumes().sum() == pytest.approx(1)
    words = [[label_of(one, allowed[leaf]) for one, allowed in zip(SCHEMA.attributes, cells.allowed, strict=True)]
             for leaf in range(cells.size)]  # fmt: skip
    assert words == [["*", "[0, 2)"], ["a0", "[2, 4]|missing"], ["a1", "[2, 4]|missing"], ["a2", "[2, 4]|missing"]]


def test_rows_lie_in_their_cells_and_are_as_many_as_the_counts_say() -> None:
    """75 rows in sum; none in a class that the noise made negative."""
    cells, randomness = cells_of(COUNTED), Randomness.seeded(1)
    numbers = rows_by_cell(cells, 1.0, UniformStream(randomness))
    labels, _, codes = UniformRows(allowed=cells.allowed, n_classes=2)(numbers, randomness)
    assert abs(labels.size - 75) <= 1
    left = codes <= 1
    assert not (labels[left] == 1).any()
    assert abs(int(left.sum()) - 38) <= 2
    assert set(codes[~left]) <= {2, 3, 4}


def test_labels_without_counts_stand_for_a_public_number_of_rows() -> None:
    """Spread evenly over the domain."""
    cells = cells_of(forest_of(*(LeafContent(label=label) for label in (0, 1, 1, 0))))
    by_class = rows_by_cell(cells, 0.1, UniformStream(Randomness.seeded(2))).reshape(-1, 2).sum(axis=0)
    assert abs(by_class.sum() - ROWS_WITHOUT_COUNTS / 10) <= 1
    assert by_class[1] / by_class.sum() == pytest.approx(3 / 5 * 2 / 3, abs=0.01)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30))
def test_consistent_counts_keep_the_sum_and_are_not_negative(counts: list[int]) -> None:
    """The total stays unbiased however many cells are empty; larger noisy counts stay larger."""
    found = consistent(np.array(counts, dtype=float))
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(max(sum(counts), 0))
    order = np.argsort(counts)
    assert (np.diff(found[order]) >= -1e-9).all()


@given(st.lists(st.floats(0, 20), min_size=1, max_size=40))
def test_rounding_keeps_each_weight_and_the_sum_within_one(weights: list[float]) -> None:
    """Systematic sampling."""
    found = rounded(np.array(weights), UniformStream(Randomness.seeded(3)))
    assert (np.abs(found - np.array(weights)) < 1 + 1e-6).all()
    assert abs(found.sum() - sum(weights)) < 1 + 1e-6


def test_no_rows_at_all_is_an_answer() -> None:
    """A forest whose noisy total is not positive represents an empty table."""
    cells = cells_of(forest_of(*(LeafContent(counts=(-5, 1)) for _ in range(4))))
    assert rows_by_cell(cells, 1.0, UniformStream(Randomness.seeded(4))).sum() == 0
