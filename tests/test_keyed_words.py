"""Random words as a function of key, stream and row number."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.errors import ParameterError
from anonkit.mechanisms.asked_attributes import asked_attribute
from anonkit.mechanisms.code_randomizers import choose, row_blocks
from anonkit.randomness import keyed_words

KEY = bytes(range(32))


@given(
    st.integers(0, 2**40),
    st.integers(0, 50),
    st.integers(0, 50),
    st.sampled_from([16, 32, 64]),
    st.integers(1, 5),
)
def test_a_row_has_the_same_words_in_any_batch(first: int, lead: int, n: int, bits: int, per_row: int) -> None:
    """The words of rows in the middle of a long batch are those of a batch that starts there."""
    whole = keyed_words(KEY, 3, first, lead + n, word_bits=bits, per_row=per_row)
    part = keyed_words(KEY, 3, first + lead, n, word_bits=bits, per_row=per_row)
    assert np.array_equal(whole[lead:], part)


def test_streams_and_keys_do_not_share_words() -> None:
    """Another attribute, and another release, draw other words."""
    words = keyed_words(KEY, 0, 0, 4096)
    for other in (keyed_words(KEY, 1, 0, 4096), keyed_words(bytes(32), 0, 0, 4096)):
        assert np.mean(words == other) < 0.001


def test_words_are_uniform() -> None:
    """Each bit of 100,000 words is set half of the time, within 5 standard errors."""
    words = keyed_words(KEY, 0, 7, 100_000).reshape(-1)
    bits = (words[:, np.newaxis] >> np.arange(32, dtype=np.uint32)) & 1
    assert np.all(np.abs(bits.mean(axis=0) - 0.5) < 5 * 0.5 / np.sqrt(100_000))


@given(st.integers(0, 200_000))
def test_blocks_cover_every_row_once(n: int) -> None:
    """Blocks follow each other without gap or overlap."""
    blocks = list(row_blocks(n))
    assert sum(block.stop - block.start for block in blocks) == n
    assert all(first.stop == second.start for first, second in pairwise(blocks))


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int32, np.int64, np.uint64])
def test_choosing_by_bits_is_where(kind: type) -> None:
    """The branchless choice agrees with `numpy.where` for every integer type, extremes included."""
    limits = np.iinfo(kind)
    values = np.array([limits.min, limits.max, 0, 1, limits.max // 2], dtype=kind)
    chosen, otherwise = np.meshgrid(values, values)
    for condition in (np.zeros(chosen.shape, dtype=bool), np.eye(5, dtype=bool), np.ones(chosen.shape, dtype=bool)):
        assert np.array_equal(choose(condition, chosen, otherwise), np.where(condition, chosen, otherwise))


def test_the_asked_attribute_is_uniform_and_keyed() -> None:
    """Each of seven attributes is asked of a seventh of the rows, the same ones in any batch."""
    asked = asked_attribute(KEY, 5, 0, 70_000, 7)
    assert np.array_equal(asked[1000:], asked_attribute(KEY, 5, 1000, 69_000, 7))
    assert np.all(np.abs(np.bincount(asked, minlength=7) - 10_000) < 5 * 93)


def test_impossible_places_are_refused() -> None:
    """Streams and rows outside their range, word sizes and numbers of attributes that do not exist."""
    for stream, row in ((-1, 0), (2**32, 0), (0, -1)):
        with pytest.raises(ParameterError, match="stream"):
            keyed_words(KEY, stream, row, 1)
    with pytest.raises(ParameterError, match="word_bits"):
        keyed_words(KEY, 0, 0, 1, word_bits=8)
    with pytest.raises(ParameterError, match="n_attributes"):
        asked_attribute(KEY, 0, 0, 1, 0)
