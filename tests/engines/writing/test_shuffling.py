"""The secret order of rows: that of their words, whatever way they are sorted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.engines.writing.shuffling import _order, sorted_by


@given(st.lists(st.integers(0, 2**64 - 1), max_size=300, unique=True))
def test_rows_stand_in_the_order_of_their_words(drawn: list[int]) -> None:
    """The order is that of sorting the words in full."""
    words = np.array(drawn, dtype=np.uint64)
    assert np.array_equal(_order(words), np.argsort(words))


@pytest.mark.parametrize("n_rows", [2, 100, 1000])
def test_words_that_differ_in_their_last_bits_only_are_sorted_too(n_rows: int) -> None:
    """Places written over the last bits must not hide which word is smaller."""
    words = np.arange(n_rows, dtype=np.uint64)[::-1] + np.uint64(2**63)
    assert np.array_equal(_order(words), np.arange(n_rows)[::-1])


CELLS = st.none() | st.integers(-50, 50)


@given(st.lists(st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), max_size=9), min_size=1, max_size=3), st.booleans())
def test_a_sorted_row_keeps_its_cells(chunks: list[list[tuple[int | None, ...]]], cut: bool) -> None:
    """Missing cells go with their row, in numbers, texts and categories, in one chunk or several."""
    kinds = (pa.float64(), pa.int8(), pa.string(), pa.dictionary(pa.int8(), pa.string()))
    columns = []
    for at, kind in enumerate(kinds):
        texts = pa.types.is_string(kind) or pa.types.is_dictionary(kind)
        cells = [[None if row[at] is None else str(row[at]) if texts else row[at] for row in rows] for rows in chunks]
        columns.append(pa.chunked_array([pa.array(each, kind) for each in cells]).unify_dictionaries())
    table = pa.table(columns, ["number", "code", "text", "category"]).slice(int(cut))
    words = np.random.default_rng(0).permutation(table.num_rows).astype(np.uint64)
    order = np.argsort(words).tolist()
    ordered = sorted_by(table, words)
    ordered.validate(full=True)
    assert ordered.schema == table.schema
    rows = table.to_pylist()
    assert ordered.to_pylist() == [rows[at] for at in order]
