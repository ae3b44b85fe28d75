"""The secret order of rows: that of their words, whatever way they are sorted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.engines.writing.shuffling import _order


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
