# SPDX-License-Identifier: Apache-2.0
"""Whole boolean records kept or inverted together, the randomizer of the comparator DTPD.

No method publishes records so, since one known value of a person undoes them; the receiver's side is
``papers.comparators``.
"""

from __future__ import annotations

import numpy as np

from anonkit.domains.coded_columns import BoolArray
from anonkit.mechanisms.randomizers import MatrixRandomizer
from anonkit.published.channels.response_channel import ResponseMatrix
from anonkit.randomness import keyed_words


def flip_records(records: BoolArray, coin: ResponseMatrix, *, key: bytes, stream: int, first_row: int = 0) -> BoolArray:
    """Invert every value of the records for which a coin decides so: a pure function of (key, stream, row, record).

    Parameters
    ----------
    records : bool array, shape (n, n_attributes)
    coin : ResponseMatrix
        Warner's model; its answer 1 to code 0 inverts a record.
    key, stream, first_row
        As in `keyed_words`.

    Privacy
    -------
    ε is infinite as soon as a record has two attributes.
    """
    words = keyed_words(key, stream, first_row, len(records)).reshape(-1)
    inverted = MatrixRandomizer(coin).answer(np.zeros(len(records), dtype=np.int64), words) == 1
    return np.asarray(np.logical_xor(records, inverted[:, np.newaxis]))
