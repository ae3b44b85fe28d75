"""Pieces of the rows of cells: all rows, each once, never more than fit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonkit.checks.central_rows import _rows_together
from anonkit.dp_trees.release.row_pieces import PIECE_ROWS, piece_sizes, rows_of_piece, rows_together


@given(st.lists(st.integers(0, 3 * PIECE_ROWS), max_size=6), st.sampled_from([1, 32, 33, 500, 2000]))
def test_pieces_hold_every_row_once(numbers: list[int], columns: int) -> None:
    """Cells add up over the pieces; only the last piece is not full."""
    rows = np.array(numbers, dtype=np.int64)
    sizes = piece_sizes(rows, columns)
    parts = [rows_of_piece(rows, piece, columns) for piece in range(len(sizes))]
    assert [int(part.sum()) for part in parts] == sizes
    assert sum(parts, np.zeros(rows.size, dtype=np.int64)).tolist() == numbers
    assert all(size == rows_together(columns) for size in sizes[:-1])


@given(st.integers(1, 10**5))
def test_a_piece_of_a_wide_table_has_fewer_rows(columns: int) -> None:
    """As many as fit into memory, whatever the table; whoever checks the rows knows how many those are."""
    assert rows_together(columns) * columns <= max(PIECE_ROWS * 32, columns)
    assert rows_together(columns) == (PIECE_ROWS if columns <= 32 else 2**23 // columns)
    assert rows_together(columns) == _rows_together(columns)
