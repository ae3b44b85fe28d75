# SPDX-License-Identifier: Apache-2.0
"""Synthetic rows drawn from noisy counts, as a table of the engine, chunk by chunk.

Nothing grows with the rows but the release itself: a piece is drawn when it is written, by whoever writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from anonkit.domains.array_types import IntArray
from anonkit.domains.attribute_domains import Categories, Grid
from anonkit.dp_trees.release.row_pieces import piece_sizes, rows_of_piece
from anonkit.dp_trees.release.ruled_rows import RuledRows
from anonkit.dp_trees.release.synthesized import described
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Source
from anonkit.published.cell_places import places_of_cells, shown_domain
from anonkit.published.released_cells import cells_of_codes
from anonkit.randomness import Randomness


class SyntheticRowsOfCells(Protocol):
    """Picklable function that draws the synthetic rows of cells in a task."""

    def __call__(self, numbers: IntArray, randomness: Randomness) -> Sequence[IntArray]:
        """Return the codes of each released column for so many rows of each cell, shape (n_rows,) each."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class PlacedRows:
    """Draws rows by their cells, and of a number one of the places in its cell.

    Privacy
    -------
    Post-processing of noisy counts: no privacy loss.
    """

    rows: SyntheticRowsOfCells
    """Draws cells."""
    counted: Mapping[str, Categories | Grid]
    """Domains of the columns as `rows` draws them, in its order."""
    shown: Mapping[str, Categories | Grid]
    """The same columns as they are released."""

    def __call__(self, numbers: IntArray, randomness: Randomness) -> list[IntArray]:
        """Return the codes of each column as it is released."""
        words = UniformStream(randomness.child("places"))
        drawn = zip(self.counted, self.rows(numbers, randomness), strict=True)
        return [places_of_cells(own, self.counted[name], self.shown[name], words) for name, own in drawn]


def shown_domains(counted: Mapping[str, Categories | Grid], target: str | None) -> dict[str, Categories | Grid]:
    """Return the domains in which columns are released; a number to predict is shown as the middle of its cell."""
    return {name: own if name == target else shown_domain(own) for name, own in counted.items()}


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnPiece:
    """Draws a piece of a table.

    Privacy
    -------
    Post-processing of noisy counts: no privacy loss. The randomness is secret all the same, and never shown.
    """

    rows: SyntheticRowsOfCells
    numbers: IntArray
    """Rows of each cell."""
    domains: Mapping[str, Categories | Grid]
    """Public domains of the released columns, in the order in which `rows` has them."""
    policy: Policy
    """Orders the columns."""
    randomness: Randomness = field(repr=False)
    ruled: RuledRows | None = None
    """The public rules that rows keep, and the columns that follow from others."""

    def __call__(self, piece: int) -> pa.RecordBatch:
        """Return the rows of a piece."""
        return self._batch(
            rows_of_piece(self.numbers, piece, len(self.domains)), self.randomness.child(f"piece {piece}")
        )

    def empty(self) -> pa.RecordBatch:
        """Return the table without rows: columns, types and categories."""
        return self._batch(np.zeros_like(self.numbers), self.randomness.child("no piece"))

    def _batch(self, numbers: IntArray, randomness: Randomness) -> pa.RecordBatch:
        drawn = self.rows(numbers, randomness)
        codes = dict(zip(self.domains, drawn, strict=True))
        if self.ruled is not None:
            codes = self.ruled.complete(codes, UniformStream(randomness.child("public rules")))
        columns = [cells_of_codes(codes[name], self._released[name]) for name in self._names]
        return pa.RecordBatch.from_arrays(columns, names=self._names)

    @property
    def _names(self) -> list[str]:
        return [name for name in self.policy.columns if name in self._released]

    @property
    def _released(self) -> Mapping[str, Categories | Grid]:
        """The domains of all columns, those that follow from others too."""
        return self.domains if self.ruled is None else {**self.domains, **self.ruled.determined}

    def described(self) -> list[dict[str, Any]]:
        """Return the description of the columns, for the params."""
        return [described(name, self._released[name]) for name in self._names]

    def source(self, engine: Engine) -> Source:
        """Return the table."""
        return engine.draw(self, piece_sizes(self.numbers, len(self.domains)), self.empty())
