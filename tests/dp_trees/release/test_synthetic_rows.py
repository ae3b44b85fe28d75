"""Rows drawn from noisy counts: every piece is the same whenever and wherever it is drawn.

Pieces of the rows of cells: all rows, each once, never more than fit.

Columns drawn from noisy counts: cells, descriptions, entries of the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.dp_trees.release import synthetic_rows as pieces
from anonkit.dp_trees.release.synthetic_rows import (
    PIECE_ROWS,
    PieceSampler,
    column_entries,
    piece_sizes,
    rows_of_piece,
    rows_together,
)
from anonkit.engines import LocalEngine
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.published.released_codes import cells_of_codes
from anonkit.randomness import Randomness


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
    """As many as fit into memory, whatever the table."""
    assert rows_together(columns) * columns <= max(PIECE_ROWS * 32, columns)
    assert rows_together(columns) == (PIECE_ROWS if columns <= 32 else 2**23 // columns)


GRID = Grid(lower=0.0, upper=4.0, cells=4, has_missing=True)
WORDS = Categories(values=("u", "v"), has_missing=True)
POLICY = Policy(
    columns={
        "id": Column(name="id", role=Role.IDENTIFIER),
        "n": Column(name="n", bounds=(0.0, 4.0)),
        "note": Column(name="note", role=Role.INSENSITIVE),
        "w": Column(name="w", categories=("u", "v")),
    }
)


def test_codes_become_middles_of_bins_words_and_gaps() -> None:
    """The last code is missing, in numbers as in categories."""
    assert cells_of_codes(np.array([0, 3, 4]), GRID).to_pylist() == [0.5, 3.5, None]
    words = cells_of_codes(np.array([1, 0, 2]), WORDS)
    assert words.to_pylist() == ["v", "u", None]
    assert pa.types.is_dictionary(words.type)


def test_the_report_names_what_was_drawn_and_what_was_not_and_why() -> None:
    """Identifiers never, other columns because nothing was counted of them; the count of cells last."""
    entries = column_entries(POLICY, {"n": 5, "w": 3}, ["n", "w", "count"])
    assert [(one["name"], one["action"]) for one in entries] == [
        ("id", "dropped"),
        ("n", "synthesized"),
        ("note", "dropped"),
        ("w", "synthesized"),
        ("count", "synthesized"),
    ]
    assert entries[0]["reason"] == "identifiers are never released"
    assert "only what is synthesized" in entries[2]["reason"]
    assert [one.get("released_values") for one in entries] == [None, 5, None, 3, None]


@dataclass(frozen=True)
class Coins:
    """Two cells; a code of each column follows from the cell, another one is drawn."""

    def __call__(self, numbers: IntArray, randomness: Randomness) -> Sequence[IntArray]:
        """Return three columns."""
        cell = np.repeat(np.arange(numbers.size), numbers)
        return [cell, UniformStream(randomness).below(np.full(cell.size, 5)), 2 - cell]


DOMAINS = {
    "kind": Categories(values=("a", "b")),
    "size": Grid(lower=0, upper=4, cells=4, has_missing=True),
    "other": Categories(values=("x", "y", "z")),
}
PIECE = PieceSampler(
    rows=Coins(),
    numbers=np.array([25, 12]),
    domains=DOMAINS,
    policy=Policy(columns={name: Column(name=name) for name in ("gone", "size", "kind", "other")}),
    randomness=Randomness.seeded(1),
)


def test_pieces_are_drawn_alike_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """37 rows in pieces of 10: as many of each cell as requested, other codes in each piece, all the same once more."""
    monkeypatch.setattr(pieces, "PIECE_ROWS", 10)
    with LocalEngine() as engine:
        source = PIECE.source(engine)
        first, again = (pa.Table.from_batches(source.batches(), source.schema) for _ in range(2))
        assert source.n_rows == first.num_rows == 37
        assert first.equals(again)
        assert first.column_names == ["size", "kind", "other"]
        assert first.column("kind").to_pylist() == ["a"] * 25 + ["b"] * 12
        assert first.column("other").to_pylist() == ["z"] * 25 + ["y"] * 12
        assert set(first.column("size").to_pylist()) == {0.5, 1.5, 2.5, 3.5, None}
        assert first.column("size").slice(0, 10) != first.column("size").slice(10, 10)
        held = engine.keep(source)
        assert pa.Table.from_batches(held.batches(), held.schema).equals(first)


def test_the_randomness_is_not_shown() -> None:
    """Neither in words nor as a key."""
    assert "andomness" not in repr(PIECE)
    assert PIECE.empty().num_rows == 0


def test_columns_stand_and_are_described_in_the_order_of_the_policy() -> None:
    """The released columns have the policy's order, for any order of sampling."""
    assert [(one["name"], one["type"]) for one in PIECE.described()] == [
        ("size", "number"),
        ("kind", "category"),
        ("other", "category"),
    ]
