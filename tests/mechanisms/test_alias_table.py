"""The alias table: every outcome has exactly its words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.errors import ParameterError
from anonkit.mechanisms.alias_table import AliasTable

WORDS = np.arange(1 << 16, dtype=np.uint16)


@st.composite
def weights(draw: st.DrawFn) -> list[list[int]]:
    """One to three distributions over 2 to 40 outcomes in 65,536 words, zeros among them."""
    size = draw(st.integers(2, 40))
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        cuts = sorted(draw(st.lists(st.integers(0, 1 << 16), min_size=size - 1, max_size=size - 1)))
        rows.append(np.diff([0, *cuts, 1 << 16]).tolist())
    return rows


@settings(max_examples=60, deadline=None)
@given(weights())
def test_every_outcome_has_exactly_its_words(rows: list[list[int]]) -> None:
    """All 65,536 words drawn from every distribution: the counts are the weights."""
    table = AliasTable.of(rows, 16)
    for number, row in enumerate(rows):
        drawn = table.draw(WORDS, np.full(WORDS.shape, number))
        assert np.bincount(drawn, minlength=len(row)).tolist() == row
    assert np.array_equal(table.draw(WORDS), table.draw(WORDS, np.zeros(WORDS.shape, dtype=np.int64)))


@pytest.mark.parametrize("word_bits", [32, 64])
def test_the_ends_of_wide_words_are_exact(word_bits: int) -> None:
    """In each column the word before the limit has the first outcome, the limit the second, and sums are whole."""
    width, total = 1 << (word_bits - 2), 1 << word_bits
    row = [1, total // 2 + 7, total - total // 2 - 8 - width // 3, width // 3]
    table = AliasTable.of([row], word_bits)
    counted = [0] * len(row)
    for column in range(4):
        start = column * width
        limit = max(int(table.limits[column]), start)
        counted[table.outcomes[2 * column]] += limit - start
        counted[table.outcomes[2 * column + 1]] += start + width - limit
        edge = np.array([limit, start + width - 1], dtype=table.limits.dtype)
        assert set(table.draw(edge).tolist()) == {int(table.outcomes[2 * column + 1])}
    assert counted == row


def test_weights_that_do_not_add_up_are_refused() -> None:
    """One word too few."""
    with pytest.raises(ParameterError, match="add up"):
        AliasTable.of([[1, (1 << 16) - 2]], 16)


def test_tables_too_many_for_starts_are_drawn_all_the_same() -> None:
    """Of very many distributions the first bits of a word are not looked up; every outcome has exactly its words."""
    size, n_rows = 300, 1 << 10
    row = [(1 << 16) // size] * size
    row[-1] += (1 << 16) - sum(row)
    table = AliasTable.of([row] * n_rows, 16)
    assert table._start_bits <= table.column_bits
    assert np.bincount(table.draw(WORDS, np.full(WORDS.shape, n_rows - 1)), minlength=size).tolist() == row
