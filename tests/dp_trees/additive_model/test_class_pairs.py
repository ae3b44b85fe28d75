"""Tables of pairs of attributes by class: each row is in one cell of each, and which there are is public."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.coded_columns import IntArray
from anonkit.dp_trees.additive_model.class_pairs import ClassPairs, groups_of, rule_of, sizes_of
from anonkit.dp_trees.questions import BatchCounter, CodedBatch, RowSums
from anonkit.errors import GuaranteeError
from anonkit.published.tree_attributes import Split
from tests.dp_trees.tables import MIXED, attribute, counter_of, schema_of, table_of


@given(st.integers(0, 2**32), st.integers(0, 80), st.integers(0, 80))
def test_each_row_is_counted_once_in_each_table_by_its_class(seed: int, n: int, first: int) -> None:
    """Against a count row by row, in batches of any size."""
    codes, labels = table_of(MIXED, n, seed)
    asked = ClassPairs(schema=MIXED, rows=1e6)
    tables = asked.tables(counter_of(codes, labels, [min(first, n)]))
    assert set(tables) == set(asked.pairs) == {(a, b) for a in range(4) for b in range(a + 1, 4)}
    for (a, b), table in tables.items():
        expected = np.zeros((2, asked.groups[a].max() + 1, asked.groups[b].max() + 1), dtype=np.int64)
        for label, one, other in zip(labels, asked.groups[a][codes[a]], asked.groups[b][codes[b]], strict=True):
            expected[label, one, other] += 1
        assert table.tolist() == expected.tolist()


def test_few_rows_have_no_tables() -> None:
    """By public facts and the number of rows alone."""
    assert ClassPairs(schema=MIXED, rows=10.0).pairs == ()
    assert ClassPairs(schema=MIXED, rows=1e6).rule == rule_of(MIXED, rows=1e6)


def test_a_number_is_in_groups_of_neighbours_and_a_category_by_itself() -> None:
    """Missing has a group of its own, the last."""
    schema = schema_of(attribute("n", 40, Split.CUT, missing=True), attribute("a", 5))
    number, category = groups_of(schema, 4)
    assert number[-1] == number.max() == number[-2] + 1
    assert set(np.diff(number[:-1]).tolist()) == {0, 1}
    assert np.ptp(np.bincount(number[:-1])) <= 1
    assert category.tolist() == [0, 1, 2, 3, 4]
    assert [(one.codes, one.cells, one.has_missing) for one in sizes_of(schema)] == [(41, 40, True), (5, 0, False)]


class Losing(BatchCounter):
    """Sums in which one row of one table is lost."""

    def sum_up(self, sums: RowSums) -> IntArray:
        """Return the sums less one."""
        total = super().sum_up(sums)
        total[np.flatnonzero(total)[0]] -= 1
        return total


def test_a_count_that_lost_a_row_is_a_defect() -> None:
    """Noise on the wrong number of rows would be a release of another table."""
    codes, labels = table_of(MIXED, 50)
    batch = CodedBatch(codes=codes, labels=labels, first_row=0)
    with pytest.raises(GuaranteeError, match="more or less often"):
        ClassPairs(schema=MIXED, rows=1e6).tables(Losing(lambda: [batch]))
