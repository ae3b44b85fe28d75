"""The number of rows of each person in a release of joined tables."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonkit.k_anonymity.contribution_bounds import level_numbers


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(2, 6), st.none() | st.integers(1, 5))
def test_every_number_of_rows_is_shared_by_k_people(rows: list[int], k: int, most: int | None) -> None:
    """Nobody gets more rows than there are or may be, and k people share every number (all, where they are fewer)."""
    left = level_numbers(np.array(rows), k, most)

    assert all(0 < kept <= min(had, most or had) for kept, had in zip(left.tolist(), rows, strict=True))
    assert min(Counter(left.tolist()).values()) >= min(k, len(rows))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_nothing_is_left_out_where_nobody_is_alone(rows: list[int]) -> None:
    """Numbers that k people share already stay as they are."""
    twice = np.array(rows + rows)

    assert (level_numbers(twice, 2, None) == twice).all()


def test_a_person_alone_with_many_visits_keeps_as_many_as_others_have() -> None:
    """57 visits come down to the next number that somebody has; few people with one visit draw down those with two."""
    assert level_numbers(np.array([57, 3, 3, 3]), 2, None).tolist() == [3, 3, 3, 3]
    assert level_numbers(np.array([1, 2, 2, 2]), 2, None).tolist() == [1, 1, 1, 1]
