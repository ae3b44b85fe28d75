"""From codes and groups to recodings that can be published."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.coded_columns import CodedColumn
from anonkit.engines.reading.column_encoding import coded_column, encode
from anonkit.k_anonymity.coded_axes import grouping_of, one_hot_grouping
from anonkit.k_anonymity.supported_parts import Pooled, cut_parts, holder_counts, pool_rare
from anonkit.published.recoding import GlobalRecoding

CELLS = st.lists(st.sampled_from(["a", "b", "c", "rare", "rarer", None]), min_size=1, max_size=60)


def _coded(cells: list[str | None] | list[int | None], kind: pa.DataType) -> CodedColumn:
    (encoded,) = encode([pa.record_batch({"x": pa.array(cells, kind)})], [pa.field("x", kind)])
    return coded_column("x", kind, encoded)


@given(CELLS, st.integers(2, 6))
def test_values_below_k_are_pooled_and_never_listed(cells: list[str | None], k: int) -> None:
    """At least k rows have a listed value, and k the pool too; missing is apart where k rows are missing."""
    pooled = pool_rare(_coded(cells, pa.string()), k)
    for cell, code in zip(cells, pooled.codes, strict=True):
        value = pooled.values[code]
        assert value == cell or (isinstance(value, Pooled) and (cell is not None or value.with_missing))
    if len(cells) >= k:
        assert holder_counts(pooled.codes, pooled.size, ()).min() >= k
    rare = [cell for cell in set(cells) if cells.count(cell) < k]
    assert not set(rare) & set(pooled.values)


@given(st.lists(st.integers(-50, 50) | st.none(), min_size=8, max_size=60), st.integers(2, 8))
def test_parts_of_an_ordered_column_hold_k_rows(cells: list[int | None], k: int) -> None:
    """Every part has k rows, missing alone or beside others; a column is left alone where every value has."""
    column = _coded(cells, pa.int64())
    parts = cut_parts(column, k)
    assert holder_counts(parts.codes, parts.size, ()).min() >= k
    if holder_counts(column.codes, column.size, ()).min() >= k:
        assert parts is column


def test_pooling_counts_people_when_told() -> None:
    """Three rows of one person are one person; the pool is of two people, so it takes the last listed value in."""
    column = _coded(["a", "a", "a", "b", "b", "b", "c", "c"], pa.string())
    units = np.array([1, 1, 1, 2, 3, 4, 5, 6])
    assert list(pool_rare(column, 2, [units]).values) == ["b", Pooled()]


@given(CELLS, st.integers(2, 4), st.data())
def test_a_grouping_applied_to_the_cells_gives_the_groups(cells: list[str | None], k: int, data: st.DataObject) -> None:
    """Two cells get one label exactly when their codes are in one group."""
    pooled = pool_rare(_coded(cells, pa.string()), k)
    groups = np.array(data.draw(st.lists(st.integers(0, 2), min_size=pooled.size, max_size=pooled.size)))
    recoding = GlobalRecoding(columns=(grouping_of(pooled, groups),))
    out, unknown = recoding.apply(pa.record_batch({"x": pa.array(cells, pa.string())}))
    labels = out["x"].to_pylist()

    assert not unknown.any()
    for i, a in enumerate(labels):
        for j, b in enumerate(labels):
            assert (a == b) == (groups[pooled.codes[i]] == groups[pooled.codes[j]])


@given(st.lists(st.integers(-50, 50) | st.none(), min_size=1, max_size=40), st.data())
def test_cut_points_between_groups_do_not_move_rows(cells: list[int | None], data: st.DataObject) -> None:
    """Round cut points separate exactly the rows the search separated."""
    column = _coded(cells, pa.int64())
    steps = data.draw(st.lists(st.integers(0, 1), min_size=column.size, max_size=column.size))
    groups = np.cumsum(steps)
    recoding = GlobalRecoding(columns=(grouping_of(column, groups),))
    labels = recoding.apply(pa.record_batch({"x": pa.array(cells, pa.int64())}))[0]["x"].to_pylist()

    for i, a in enumerate(labels):
        for j, b in enumerate(labels):
            assert (a == b) == (groups[column.codes[i]] == groups[column.codes[j]])


@given(CELLS, st.integers(2, 4))
def test_only_held_values_stand_in_a_published_axis(cells: list[str | None], k: int) -> None:
    """No value that fewer than k rows hold is written into params.json."""
    pooled = pool_rare(_coded(cells, pa.string()), k)
    listed = grouping_of(pooled, np.arange(pooled.size)).to_dict()["values"]
    assert all(cells.count(value) >= k for value in listed)


def test_one_hot_keeps_accepted_values_and_stars_the_rest() -> None:
    """The paper's granularity: accepted bits stay, everything else is one star."""
    column = _coded(["a", "b", "c", None], pa.string())
    recoding = GlobalRecoding(columns=(one_hot_grouping(column, [1]),))
    out, _ = recoding.apply(pa.record_batch({"x": ["a", "b", "c", None, "new"]}))

    assert out["x"].to_pylist() == ["*", "b", "*", "*", "*"]
    assert recoding.to_dict()["columns"][0]["values"] == ["b"]


def test_one_hot_may_keep_missing() -> None:
    """Missing is one more value, and its bit can be accepted."""
    column = _coded(["a", "b", None], pa.string())
    recoding = GlobalRecoding(columns=(one_hot_grouping(column, [0, 2]),))
    assert recoding.apply(pa.record_batch({"x": ["a", "b", None]}))[0]["x"].to_pylist() == ["a", "*", None]
