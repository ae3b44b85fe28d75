# SPDX-License-Identifier: Apache-2.0
"""Random words as a function of (key, stream, row number): the noise every engine and batch size agrees on.

One attribute is one stream. A row owns the same words wherever it is computed, so a batch, a Spark stage
that runs twice, or one row alone draw the same noise; two attributes never share a stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.errors import ParameterError
from anonkit.randomness import keystream

BLOCK_ROWS = 1 << 15
"""Rows worked on at a time: words, answers and masks of a block stay in the processor's cache."""

_ALIGNMENT = 16
_TYPES: dict[int, type[np.unsignedinteger[Any]]] = {16: np.uint16, 32: np.uint32, 64: np.uint64}

Words = NDArray[np.unsignedinteger[Any]]


def word_type(word_bits: int) -> type[np.unsignedinteger[Any]]:
    """Return the numpy type of a word of 16, 32 or 64 bits."""
    try:
        return _TYPES[word_bits]
    except KeyError:
        raise ParameterError(f"word_bits ({word_bits}) must be one of {sorted(_TYPES)}") from None


def keyed_words(
    key: bytes, stream: int, first_row: int, n_rows: int, *, word_bits: int = 32, per_row: int = 1
) -> Words:
    """Return the words of rows `first_row .. first_row + n_rows`, shape (n_rows, per_row).

    Parameters
    ----------
    key : bytes
        Secret key of the release (`Randomness.key`), 32 bytes.
    stream : int
        Number of the attribute, in [0, 2**32).
    first_row : int
        Global number of the first row, in [0, 2**63).
    n_rows, per_row : int
        How many rows, and how many words each row owns.
    word_bits : int
        16, 32 or 64.

    Privacy
    -------
    Whoever holds the key can undo the noise. A key serves one release with one set of parameters: the same
    words under other parameters would reveal more than either release alone.
    """
    width = word_type(word_bits)
    if not 0 <= stream < 2**32 or not 0 <= first_row < 2**63:
        raise ParameterError("stream must be in [0, 2**32) and the row number in [0, 2**63)")
    row_bytes = per_row * word_bits // 8
    start = first_row * row_bytes
    lead = start % _ALIGNMENT
    raw = keystream(key, stream, start - lead, lead + n_rows * row_bytes)
    little = np.dtype(width).newbyteorder("<")
    words = np.frombuffer(raw, dtype=little, offset=lead, count=n_rows * per_row)
    return words.astype(width, copy=False).reshape(n_rows, per_row)


def row_blocks(n_rows: int) -> Iterator[slice]:
    """Yield consecutive slices of at most `BLOCK_ROWS` rows."""
    for start in range(0, n_rows, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, n_rows))


def choose(
    condition: NDArray[np.bool_], chosen: NDArray[np.integer[Any]], otherwise: NDArray[np.integer[Any]]
) -> NDArray[np.integer[Any]]:
    """Return `chosen` where the condition holds, else `otherwise`, without a branch per element.

    Both integer arrays have one type and shape. A random condition defeats the processor's branch prediction:
    masking with bits is several times as fast as `numpy.where` here.
    """
    mask = np.negative(condition.astype(chosen.dtype))
    mask &= chosen ^ otherwise
    mask ^= otherwise
    return mask


def asked_attribute(key: bytes, stream: int, first_row: int, n_rows: int, n_attributes: int) -> NDArray[np.int64]:
    """Return the one attribute each row answers, uniform in [0, n_attributes), shape (n_rows,).

    The choice is a function of key and row number only, never of the data, so it may be published and costs no
    privacy loss: a record then answers one attribute with the whole ε instead of every attribute with a share.
    """
    if n_attributes < 1:
        raise ParameterError(f"n_attributes ({n_attributes}) must be at least 1")
    words = keyed_words(key, stream, first_row, n_rows, word_bits=64).reshape(-1)
    # (high 32 bits × n) >> 32: off by at most n / 2**32 from uniform, which the data has no part in
    return (((words >> np.uint64(32)) * np.uint64(n_attributes)) >> np.uint64(32)).astype(np.int64)
