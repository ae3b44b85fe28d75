"""Rows drawn from noisy cells, and the cells themselves.

Cells of a number in which noisy counts show nobody: long runs beside many rows, and none that stands out.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.dp_trees.microdata import (
    ROWS_WITHOUT_COUNTS,
    UniformRows,
    cells_of,
    consistent,
    label_of,
    rounded,
    rows_by_cell,
    supported_cells,
    without_empty,
)
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.published.tree_model import LeafContent, Node, PublishedForest, Split
from anonkit.randomness import Randomness
from tests.dp_trees.tables import attribute, schema_of

TAIL = np.concatenate([np.full(8, 2_000.0), np.zeros(24)])


def test_noise_far_from_all_rows_is_none() -> None:
    """Noise in 24 empty cells moves the mean by more than a third of a cell, and afterwards by little."""
    rng = np.random.default_rng(3)
    before, after, places = [], [], np.arange(32)
    for _ in range(200):
        noisy = TAIL + rng.normal(0, 60, 32)
        shown, cut = without_empty(noisy, 60.0), np.maximum(noisy, 0.0)
        assert shown.min() >= 0
        assert shown.sum() == pytest.approx(noisy.sum())
        before.append(cut @ places / cut.sum() - 3.5)
        after.append(shown @ places / shown.sum() - 3.5)
    assert np.mean(before) > 0.4
    assert abs(np.mean(after)) < 0.15


@pytest.mark.parametrize(
    ("counts", "kept"),
    [
        (np.full(32, 100.0), np.ones(32, dtype=bool)),  # nothing is above the noise, and nothing is clearly less
        (np.full(8, 0.0), np.ones(8, dtype=bool)),
        (np.where(np.arange(8) < 4, 9_000.0, 0.0), np.ones(8, dtype=bool)),  # too few cells for a run
        (TAIL, np.arange(32) < 8),
        (TAIL + 300.0 * (np.arange(32) == 20), (np.arange(32) < 8) | (np.arange(32) == 20)),
        (TAIL + 10.0 * (np.arange(32) == 31), (np.arange(32) < 8) | (np.arange(32) == 31)),  # beyond the bound
    ],
)
def test_cells_that_may_have_rows(counts: np.ndarray, kept: np.ndarray) -> None:
    """By hand, with noise of 100 rows."""
    assert supported_cells(counts, 100.0).tolist() == kept.tolist()


def test_nothing_is_made_of_nothing() -> None:
    """Counts below 0 are none."""
    assert without_empty(np.full(16, -5.0), 10.0).tolist() == [0.0] * 16


STEPS_DOWN = np.concatenate([np.full(4, 2_000.0), np.full(4, 99.0), np.full(8, 70.0), np.full(16, 49.0)])
"""Each run is within two deviations of its own noise, all of them together are 3.3 above theirs."""


def test_runs_that_are_clearly_measured_together_are_kept() -> None:
    """Noise of 100 rows: 28 cells with 1,740 rows, where noise alone makes 529; none where they have 1,580."""
    assert supported_cells(STEPS_DOWN, 100.0).all()
    assert supported_cells(STEPS_DOWN[::-1].copy(), 100.0).all()
    fewer = np.where(np.arange(32) < 16, STEPS_DOWN, 39.0)
    assert supported_cells(fewer, 100.0).sum() <= 5


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
