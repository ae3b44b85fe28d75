# SPDX-License-Identifier: Apache-2.0
"""Synthetic rows divided into chunks of bounded size, each of which can be drawn independently.

Cells follow one after another, and pieces cut them wherever a piece is full. What is drawn in a piece depends on the
counts and on the number of the piece alone, whoever draws it and however often.
"""

from __future__ import annotations

import numpy as np

from anonkit.domains.array_types import IntArray

PIECE_ROWS = 1 << 18
"""Most rows drawn together."""
_PIECE_CELLS = 1 << 23
"""Most cells drawn together: from 33 columns on a piece has fewer rows."""


def rows_together(n_columns: int) -> int:
    """Return how many rows of so many columns a full piece has."""
    return max(1, min(PIECE_ROWS, _PIECE_CELLS // max(n_columns, 1)))


def piece_sizes(numbers: IntArray, n_columns: int) -> list[int]:
    """Return the rows of each piece, given the rows of each cell and the columns of the table."""
    n_rows, full = int(numbers.sum()), rows_together(n_columns)
    return [min(full, n_rows - first) for first in range(0, n_rows, full)]


def rows_of_piece(numbers: IntArray, piece: int, n_columns: int) -> IntArray:
    """Return how many rows of each cell are in a piece, shape (n_cells,)."""
    full = rows_together(n_columns)
    first = piece * full
    return np.asarray(np.diff(np.clip(np.cumsum(numbers), first, first + full), prepend=first), dtype=np.int64)
