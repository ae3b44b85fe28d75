# SPDX-License-Identifier: Apache-2.0
"""Synthetic rows divided into chunks of bounded size, each of which can be drawn independently.

Cells stand one after another, and pieces cut them wherever a piece is full. What is drawn in a piece depends on the
counts and on the number of the piece alone, whoever draws it and however often.
"""

from __future__ import annotations

import numpy as np

from anonkit.domains.array_types import IntArray

PIECE_ROWS = 1 << 18
"""Rows drawn together."""


def piece_sizes(numbers: IntArray) -> list[int]:
    """Return the rows of each piece, given the rows of each cell."""
    n_rows = int(numbers.sum())
    return [min(PIECE_ROWS, n_rows - first) for first in range(0, n_rows, PIECE_ROWS)]


def rows_of_piece(numbers: IntArray, piece: int) -> IntArray:
    """Return how many rows of each cell are in a piece, shape (n_cells,)."""
    first = piece * PIECE_ROWS
    return np.asarray(np.diff(np.clip(np.cumsum(numbers), first, first + PIECE_ROWS), prepend=first), dtype=np.int64)
