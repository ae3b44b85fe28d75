# SPDX-License-Identifier: Apache-2.0
"""The one attribute each row answers about, where a record spends its whole epsilon on a single answer."""

from __future__ import annotations

import numpy as np

from anonkit.domains.coded_columns import IntArray
from anonkit.errors import ParameterError
from anonkit.randomness import keyed_words

ANSWERED_STREAM = 2**32 - 2
"""Stream of the noise key for the choice of attributes; no attribute has it: attribute i has stream i."""


def answered_attribute(key: bytes, stream: int, first_row: int, n_rows: int, n_attributes: int) -> IntArray:
    """Return the one attribute each row answers, uniform in [0, n_attributes), shape (n_rows,).

    The choice is a function of key and row number only, never of the data, so it may be published and costs no
    privacy loss: a record then answers one attribute with the whole ε instead of every attribute with a share.
    """
    if n_attributes < 1:
        raise ParameterError(f"n_attributes ({n_attributes}) must be at least 1")
    words = keyed_words(key, stream, first_row, n_rows, word_bits=64).reshape(-1)
    # (high 32 bits × n) >> 32: off by at most n / 2**32 from uniform, which the data has no part in
    return (((words >> np.uint64(32)) * np.uint64(n_attributes)) >> np.uint64(32)).astype(np.int64)
