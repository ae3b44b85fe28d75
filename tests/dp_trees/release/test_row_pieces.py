"""Pieces of the rows of cells: all rows, each once, never more than fit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonkit.dp_trees.release.row_pieces import PIECE_ROWS, piece_sizes, rows_of_piece


@given(st.lists(st.integers(0, 3 * PIECE_ROWS), max_size=6))
def test_pieces_hold_every_row_once(numbers: list[int]) -> None:
    """Cells add up over the pieces; only the last piece is not full."""
    rows = np.array(numbers, dtype=np.int64)
    sizes = piece_sizes(rows)
    parts = [rows_of_piece(rows, piece) for piece in range(len(sizes))]
    assert [int(part.sum()) for part in parts] == sizes
    assert sum(parts, np.zeros(rows.size, dtype=np.int64)).tolist() == numbers
    assert all(size == PIECE_ROWS for size in sizes[:-1])
