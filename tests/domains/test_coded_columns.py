"""Integer codes: sorting, renumbering, combining.

Numbers as Arrow arrays with marks of what is missing.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from anonkit.domains.coded_columns import CodedColumn, array_of, combine, count_combinations, densify, ranked


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.float64])
@given(cells=st.lists(st.tuples(st.integers(0, 100), st.booleans()), max_size=40), step=st.sampled_from([1, 2]))
def test_what_is_not_present_is_missing(kind: type, cells: list[tuple[int, bool]], step: int) -> None:
    """Every number is in its place, whatever the length is and however the numbers lie in memory."""
    values = np.array([value for value, _ in cells], dtype=kind)[::step]
    present = np.array([there for _, there in cells], dtype=bool)[::step]
    made = array_of(values, present)
    made.validate(full=True)
    assert made.equals(pa.array(values, mask=~present))
    assert made.null_count == int((~present).sum())


CODES = hnp.arrays(np.int64, st.integers(0, 40), elements=st.integers(0, 8) | st.integers(0, 2**61))


@given(CODES)
def test_ranked_is_the_stable_sort(codes: np.ndarray) -> None:
    """Small codes, packed with their row number, and huge ones, which do not fit, are sorted alike."""
    order, ascending = ranked(codes)
    assert order.tolist() == np.argsort(codes, kind="stable").tolist()
    assert ascending.tolist() == sorted(codes.tolist())


@given(CODES)
def test_densify_keeps_the_order_and_leaves_no_gap(codes: np.ndarray) -> None:
    """Equal codes stay equal, a smaller code stays smaller, and 0..m-1 all occur."""
    dense, m = densify(codes)
    expected, inverse = np.unique(codes, return_inverse=True)
    assert m == expected.size
    assert dense.tolist() == inverse.tolist()


@given(
    hnp.arrays(np.int64, st.tuples(st.integers(0, 5), st.integers(1, 20)), elements=st.integers(0, 3)),
    st.lists(st.sampled_from([1, 1000, 2**30]), min_size=5, max_size=5),
)
def test_combinations_are_numbered_in_their_order(columns: np.ndarray, scales: list[int]) -> None:
    """Rows are numbered as in the sorted list of distinct rows, also when the product of the sizes overflows."""
    wide = [column * scale for column, scale in zip(columns, scales, strict=False)]
    rows = list(zip(*wide, strict=True)) if len(wide) else [()] * columns.shape[1]
    entry, n_entries = combine(wide, columns.shape[1])
    distinct = sorted(set(rows))
    assert n_entries == len(distinct)
    assert [distinct[number] for number in entry.tolist()] == rows


def test_missing_is_the_last_code_or_none() -> None:
    """A column distinguishes the code of missing from its values."""
    codes = np.zeros(1, dtype=np.int32)
    assert CodedColumn(name="a", codes=codes, values=["x", None], ordered=False).missing == 1
    assert CodedColumn(name="a", codes=codes, values=["x"], ordered=False).missing is None
    assert CodedColumn(name="a", codes=codes[:0], values=[], ordered=False).missing is None


@given(st.integers(0, 60), st.lists(st.sampled_from([1, 3, 1000, 2**20, 2**30]), min_size=1, max_size=5), st.randoms())
def test_combinations_are_counted_as_they_are_numbered(n_rows: int, widths: list[int], draw: Any) -> None:
    """Combinations come in the order of their numbers with the rows of each, in narrow and wide integers alike."""
    table = np.array([[draw.choice([0, width // 2, width - 1]) for width in widths] for _ in range(n_rows)])
    columns = [codes.astype(np.int32) for codes in table.reshape(n_rows, len(widths)).T]
    codes, rows = count_combinations(columns, n_rows)
    expected = Counter(zip(*(column.tolist() for column in columns), strict=True))
    found = list(zip(*(column.tolist() for column in codes), strict=True))
    assert found == sorted(expected)
    assert rows.tolist() == [expected[one] for one in found]
    entry, n_entries = combine(columns, n_rows)
    assert n_entries == len(found)
    assert np.bincount(entry, minlength=n_entries).tolist() == rows.tolist()
    assert all(column.dtype == np.int32 for column in codes)
