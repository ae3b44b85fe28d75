"""Rows that are drawn of a person by secret words, and left out by their numbers."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.rows_of_people import SelectRows, sampled_rows


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 4), st.integers(0, 99))
def test_so_many_rows_of_each_person_stay_whose_words_are_lowest(people: list[int], most: int, seed: int) -> None:
    """Of everybody the rows with the lowest words stay, at most so many, none fewer than may."""
    words = np.random.default_rng(seed).permutation(len(people)).astype(np.uint64)
    keep = sampled_rows(np.array(people, dtype=np.int64), most, words)

    for person, n_rows in Counter(people).items():
        mine = [(int(word), bool(kept)) for word, kept, of in zip(words, keep, people, strict=True) if of == person]
        assert [kept for _, kept in sorted(mine)] == [True] * min(most, n_rows) + [False] * max(n_rows - most, 0)


def test_each_person_may_have_a_limit_of_their_own() -> None:
    """With one number a person, each keeps so many."""
    keep = sampled_rows(np.array([0, 0, 0, 1, 1]), np.array([2, 0]), np.arange(5, dtype=np.uint64))

    assert keep.tolist() == [True, True, False, False, False]


def test_what_is_drawn_of_one_person_does_not_depend_on_others() -> None:
    """With the same words a person's rows stay or go alike, wherever they are and whoever else is there."""
    mine = np.array([7, 3, 9], dtype=np.uint64)
    alone = sampled_rows(np.zeros(3, dtype=np.int64), 2, mine)
    for others in product([0, 2], repeat=3):
        people = np.array([others[0], 1, others[1], 1, others[2], 1])
        words = np.array([1, 7, 5, 3, 8, 9], dtype=np.uint64)
        assert sampled_rows(people, 2, words)[1::2].tolist() == alone.tolist()


@pytest.mark.parametrize("step", [1, 3, 8, 20])
def test_rows_are_left_out_by_their_numbers_in_batches_of_any_size(step: int) -> None:
    """For any division of a table into batches the marked rows stay."""
    keep = np.random.default_rng(3).random(50) < 0.5
    table = pa.table({"row": np.arange(50)})
    left = SelectRows.of(keep)
    batches = [left(table.slice(at, step).combine_chunks().to_batches()[0], at) for at in range(0, 50, step)]

    assert pa.Table.from_batches(batches).column("row").to_pylist() == np.flatnonzero(keep).tolist()
