"""The attribute that a row answers: uniform, a function of the key and the row alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.errors import ParameterError
from anonkit.mechanisms.randomizers import answered_attribute

KEY = bytes(range(32))


@given(st.integers(1, 40), st.integers(0, 10**6), st.integers(0, 50), st.integers(1, 50))
def test_a_row_is_asked_alike_in_every_batch(n_attributes: int, first: int, lead: int, n: int) -> None:
    """Other rows of the batch do not change the attribute; each attribute occurs."""
    whole = answered_attribute(KEY, 0, first, lead + n, n_attributes)
    assert np.array_equal(answered_attribute(KEY, 0, first + lead, n, n_attributes), whole[lead:])
    assert 0 <= whole.min() <= whole.max() < n_attributes


def test_attributes_are_asked_evenly() -> None:
    """Of 90,000 rows each of nine attributes has 10,000, within five standard deviations (94 each)."""
    counts = np.bincount(answered_attribute(KEY, 0, 0, 90_000, 9), minlength=9)
    assert np.abs(counts - 10_000).max() < 5 * 95


def test_nothing_cannot_be_asked() -> None:
    """There must be an attribute."""
    with pytest.raises(ParameterError, match="at least 1"):
        answered_attribute(KEY, 0, 0, 10, 0)
