"""Least diverse divisions of people who hold several values: hand-made classes, and brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonkit.k_anonymity.search.class_values import ValueHistograms, histograms_of_rows


def test_rows_are_divided_as_they_are() -> None:
    """The division of people with one row each is the histogram, in descending order."""
    held = histograms_of_rows(np.array([[1.0, 5.0, 0.0], [2.0, 2.0, 2.0]]))
    assert held.division().tolist() == [[5.0, 1.0, 0.0], [2.0, 2.0, 2.0]]
    assert np.allclose(held.shares, [[1 / 6, 5 / 6, 0], [1 / 3] * 3])
    assert held.everybody.tolist() == [6.0, 6.0]


def test_the_commonest_value_takes_as_many_people_as_hold_it() -> None:
    """Four people who hold 3, 2 and 2 values: three of the commonest, one of the next."""
    held = ValueHistograms(np.array([2.0, 3.0, 2.0]), np.array(4.0))
    assert held.division().tolist() == [3.0, 1.0, 0.0]


@given(st.lists(st.sets(st.integers(0, 2), min_size=1), min_size=1, max_size=5))
def test_no_division_is_less_diverse(people: list[set[int]]) -> None:
    """For any choice of one value a person the most common ones have no more people in all."""
    counts = np.array([sum(value in held for held in people) for value in range(3)], dtype=float)
    least = np.cumsum(ValueHistograms(counts, np.array(float(len(people)))).division())
    for chosen in product(*people):
        sizes = np.sort(np.bincount(chosen, minlength=3))[::-1]
        assert (np.cumsum(sizes) <= least + 1e-9).all()


def test_near_numbers_are_one_value() -> None:
    """Values up to an end are grouped, those that most hold first; further ones are apart."""
    held = histograms_of_rows(np.array([1.0, 3.0, 1.0, 4.0]))
    ends = np.array([2, 3, 4, 4])  # a value and the next one are near
    assert held.grouped(ends).tolist() == [5.0, 4.0]
    assert held.within(ends).counts.tolist() == [4.0, 4.0, 5.0, 4.0]
    assert float(held.apart(ends)) == 2.0
    assert float(held.apart(np.array([1, 2, 3, 4]))) == 4.0
