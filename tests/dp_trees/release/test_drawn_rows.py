"""Rows drawn from noisy counts: every piece is the same whenever and wherever it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from anonkit.domains.array_types import IntArray
from anonkit.domains.attribute_domains import Categories, Grid
from anonkit.dp_trees.release import row_pieces as pieces
from anonkit.dp_trees.release.drawn_rows import DrawnPiece
from anonkit.engines import LocalEngine
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness


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
PIECE = DrawnPiece(
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
