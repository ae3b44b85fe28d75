"""Rows that show the centroid of their group.

Means of groups of every small table: no group below k, no mean that a rule withholds, units and look-ups by hand.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import PandasSource

from anonkit.k_anonymity.numbers_in_groups import RowKeys, group_numbers, rounded, unit_of
from anonkit.k_anonymity.preparing import Prepared
from anonkit.k_anonymity.search.equivalence import AtLeastK
from anonkit.published.recoding import UNKNOWN, GlobalRecoding, UnchangedAxis


def grouped(table: pa.Table, k: int, **more: Any) -> tuple[Any, pa.RecordBatch, Any]:
    """Group the numbers of a table, its strings being categories."""
    names = [field.name for field in table.schema if field.type != pa.string()]
    others = [name for name in table.column_names if name not in names]
    prepared = Prepared(
        columns=[], hierarchies={}, labels=np.zeros(table.num_rows, np.int64), holders=(), k=k,
        requirements=[AtLeastK(k)], notes=(), rows=PandasSource(table),
    )  # fmt: skip
    categories = GlobalRecoding(columns=tuple(UnchangedAxis(name=name) for name in others))
    found = group_numbers(prepared, categories, names, table.column_names, {}, **more)
    batch = table.combine_chunks().to_batches()[0]
    return found, batch, found.recoding.apply(batch)


def test_every_small_table() -> None:
    """All tables of seven numbers among five: k equal cells each, and no shown mean that one person dominates."""
    for numbers in combinations_with_replacement((0.0, 1.0, 2.0, 9.0, 40.0), 7):
        table = pa.table({"x": numbers})
        found, _, (shown, unknown) = grouped(table, 3)
        assert not unknown.any()
        cells = shown["x"].to_pylist()
        assert min(map(cells.count, set(cells))) >= 3
        at = found.recoding.centroid_of[found.recoding.keys.places([], [np.array(numbers)])]
        unit = found.recoding.published.columns[0].unit
        for place in set(at.tolist()):
            group = sorted((x for x, own in zip(numbers, at, strict=True) if own == place), reverse=True)
            mean = found.recoding.published.centroids.means[0][1][place]
            rest, largest, total = sum(group[2:]), group[0], sum(group)
            if mean is not None:
                assert abs(mean - total / len(group)) <= unit / 2 + 1e-9
                assert rest >= largest / 10 - 1e-9
                assert largest <= 0.8 * total + 1e-9
            elif len(group) < 6:  # two groups that show nothing are one class
                assert rest < largest / 10 + 1e-9 or largest > 0.8 * total - 1e-9


def test_the_order_of_rows_and_batches_does_not_matter() -> None:
    """The centroids, and what each row shows, are those of the sorted table."""
    draws = np.random.default_rng(1)
    table = pa.table({"x": draws.integers(0, 30, 80), "sex": draws.choice(["f", "m"], 80), "y": draws.normal(size=80)})
    order = draws.permutation(80)
    first, _, (shown, _) = grouped(table, 4)
    second, _, (again, _) = grouped(table.take(order), 4)
    assert first.recoding.published == second.recoding.published
    for name in table.column_names:
        assert shown[name].take(pa.array(order)).equals(again[name])


def test_rows_in_blocks_are_counted() -> None:
    """Of two sexes with 30 and 50 distinct rows, blocks of 40 cut the second."""
    table = pa.table({"sex": ["f"] * 30 + ["m"] * 50, "x": [float(at) for at in range(80)]})
    found, _, _ = grouped(table, 3, block=40)
    assert found.owner["rows_in_blocks"] == 50
    assert 0 < found.owner["information_loss"] < 0.1


def test_a_row_that_the_table_has_not_is_left_out() -> None:
    """The groups are of the rows of the table and of no other."""
    found, _, _ = grouped(pa.table({"x": [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]}), 3)
    shown, unknown = found.recoding.apply(pa.record_batch({"x": [2.0, 2.5, None]}))
    assert unknown.tolist() == [False, True, True]
    assert shown["x"][0].as_py() == 2.0


@pytest.mark.parametrize(
    ("spread", "unit"), [(0.0, 1.0), (13.6, 1.0), (9.99, 0.1), (10.0, 1.0), (7400.0, 100.0), (0.5, 0.01), (3e-7, 1e-8)]
)
def test_a_unit_leaves_two_digits_of_the_spread(spread: float, unit: float) -> None:
    """A power of ten; 1 of a column of one value."""
    assert unit_of(spread) == unit


def test_means_are_rounded_to_decimals_as_they_are_written() -> None:
    """Multiples of .1 are doubles such as .3, of 25 integers; nothing is -0."""
    assert rounded(np.array([0.31, 0.29, -0.04, 12.36]), 0.1).tolist() == [0.3, 0.3, 0.0, 12.4]
    assert str(rounded(np.array([-0.04]), 0.1)[0]) == "0.0"
    assert rounded(np.array([37.0, 38.0]), 25.0).tolist() == [25.0, 50.0]
    assert rounded(np.array([1.0, 2.2]), 0.75).tolist() == [0.75, 2.25]


CELLS = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0.0, 1.5, -2.0, float("nan")]), st.integers(0, 3))


@given(st.lists(CELLS, min_size=1, max_size=30), st.lists(CELLS, max_size=10))
def test_places_are_those_of_the_sorted_combinations(rows: list[Any], others: list[Any]) -> None:
    """Of every row of the table its own; of other rows theirs, or none."""

    def columns(lines: list[Any]) -> tuple[list[pa.Array], list[Any]]:
        texts = pa.array([line[0] for line in lines], pa.string())
        return [texts], [np.array([line[at] for line in lines], float) for at in (1, 2)]

    def known(line: Any) -> tuple[Any, ...]:
        return (line[0], None if line[1] != line[1] else line[1], line[2])

    keys, at = RowKeys.of(*columns(rows))
    assert keys.size == len(set(map(known, rows)))
    assert keys.places(*columns(rows)).tolist() == at.tolist()
    place = {known(line): number for line, number in zip(rows, at.tolist(), strict=True)}
    assert len(set(place.values())) == keys.size
    assert keys.places(*columns(others)).tolist() == [place.get(known(line), UNKNOWN) for line in others]
