"""Random words as a function of key, stream and row number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.errors import ParameterError
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


def test_impossible_places_are_refused() -> None:
    """Streams and rows outside their range, and word sizes that do not exist."""
    for stream, row in ((-1, 0), (2**32, 0), (0, -1)):
        with pytest.raises(ParameterError, match="stream"):
            keyed_words(KEY, stream, row, 1)
    with pytest.raises(ParameterError, match="word_bits"):
        keyed_words(KEY, 0, 0, 1, word_bits=8)
