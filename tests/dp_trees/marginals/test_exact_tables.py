"""Counts of columns and of pairs by class: additive, exact, and moved by one row in one cell of each table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.dp_trees.marginals.exact_tables import OneWayCounts, PairCounts
from anonkit.dp_trees.marginals.measurement_plan import ColumnLayout
from tests.dp_trees.marginals.tables_of_pairs import batch_of, layout_of

SIZES = [3, 2, 4]
GROUPS = [np.array([0, 1, 1]), np.array([0, 1]), np.array([0, 2, 1, 2])]
LAYOUTS = {
    "no target": layout_of(SIZES),
    "a target that splits": layout_of(SIZES, 2),
    "a target among the columns": layout_of(SIZES, 2, anchored=False),
}


def table(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Any rows."""
    draw = np.random.default_rng(seed)
    return np.stack([draw.integers(0, size, n) for size in SIZES]), draw.integers(0, 2, n)


def queries_of(layout: ColumnLayout) -> tuple[OneWayCounts, PairCounts]:
    """Both queries, of all columns and all pairs."""
    groups = GROUPS if len(layout.sizes) == len(SIZES) else [*GROUPS, np.array([0, 1])]
    return OneWayCounts(layout=layout), PairCounts(layout=layout, groups=groups, pairs=layout.pairs)


@pytest.mark.parametrize("name", LAYOUTS)
def test_counts_are_those_of_a_loop_over_the_rows(name: str) -> None:
    """Cell by cell, for columns and for pairs of groups."""
    layout = LAYOUTS[name]
    codes, labels = table(200, 1)
    columns = list(codes) if layout.anchored or layout.schema.target is None else [*codes, labels]
    splits = labels if layout.anchored else np.zeros(200, dtype=int)
    one_ways, pairs = queries_of(layout)
    batch = batch_of(codes, labels if layout.schema.target is not None else None)
    for column, found in zip(columns, one_ways.split(one_ways.count(batch)), strict=True):
        for label, value in np.ndindex(*found.shape):
            assert found[label, value] == ((splits == label) & (column == value)).sum()
    for (first, second), found in pairs.split(pairs.count(batch)).items():
        grouped = [pairs.groups[at][columns[at]] for at in (first, second)]
        for label, one, other in np.ndindex(*found.shape):
            assert found[label, one, other] == ((splits == label) & (grouped[0] == one) & (grouped[1] == other)).sum()


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(LAYOUTS)), st.integers(0, 40), st.integers(0, 40))
def test_one_row_moves_one_cell_of_each_table_and_batches_add_up(name: str, rows: int, cut: int) -> None:
    """Sensitivity 1 a table, whatever the other rows are."""
    layout = LAYOUTS[name]
    codes, labels = table(rows + 1, rows)
    for query in queries_of(layout):
        whole, without = (query.count(batch_of(codes[:, :n], labels[:n])) for n in (rows + 1, rows))
        assert np.abs(whole - without).sum() == len(list(query.split(whole)))
        assert set(np.unique(whole - without)) <= {0, 1}
        parts = [batch_of(codes[:, :cut], labels[:cut]), batch_of(codes[:, cut:], labels[cut:])]
        assert np.array_equal(sum(query.count(part) for part in parts), whole)


def test_no_pair_is_no_count() -> None:
    """A table of one column has columns alone."""
    layout = layout_of([3])
    query = PairCounts(layout=layout, groups=[np.array([0, 1, 2])], pairs=())
    counts = query.count(batch_of(np.array([[0, 1, 1]])))
    assert counts.size == query.size == 0
    assert query.split(counts) == {}
