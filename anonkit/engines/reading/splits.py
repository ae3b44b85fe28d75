# SPDX-License-Identifier: Apache-2.0
"""Splits of a table, each read by one task: the same cells and row numbers in every engine.

An executor reads Parquet with the code of the local engine, so that there is one meaning of every cell. A piece is
known by its number; what it holds depends on nothing but the files (or, for rows that are drawn, on a key).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from anonkit.engines.reading.canonical import canonical_batches
from anonkit.engines.reading.sources import LocalSource, ParquetRows, restored, sliced
from anonkit.errors import EngineError
from anonkit.protocols import DrawPiece

SPLIT_ROWS = 1 << 18
"""Rows of a task: little to do again when one is lost, enough to be worth starting it."""

Numbered = tuple[pa.RecordBatch, int]
"""A batch, and the number of its first row."""


class TableSplits(Protocol):
    """A table in pieces, numbered from 0; it can be pickled."""

    @property
    def n_splits(self) -> int:
        """Number of pieces."""
        ...

    def read(self, split: int, columns: Sequence[str] | None = None) -> Iterator[Numbered]:
        """Yield the rows of a piece, or some columns of them, in canonical form."""
        ...


@dataclass(frozen=True)
class Range:
    """Rows of one file: all row groups that begin in [start, stop)."""

    part: int
    start: int
    stop: int


@dataclass(frozen=True, kw_only=True, eq=False)
class ParquetSplits:
    """Files in their order, rows in the order of their file."""

    files: ParquetRows
    schema: pa.Schema
    """Names and canonical types; the files may hold c0, c1, … as carriers for them."""
    first_rows: Sequence[int]
    """Number of the first row of each file."""
    splits: Sequence[Sequence[Range]]
    categories: Mapping[str, pa.Array] = field(default_factory=dict)
    """The common categories of dictionary columns, in order; without them each batch has those of its file."""

    @classmethod
    def of(cls, files: ParquetRows, schema: pa.Schema, rows: int) -> ParquetSplits:
        """Divide files into pieces of about so many rows: parts of large ones, several small ones together."""
        splits: list[list[Range]] = []
        left = 0
        for number, part in enumerate(files.parts):
            for start in range(0, part.n_rows, rows):
                stop = min(start + rows, part.n_rows)
                if stop - start > left:
                    splits.append([])
                    left = rows
                splits[-1].append(Range(part=number, start=start, stop=stop))
                left -= stop - start
        first_rows = [0, *accumulate(part.n_rows for part in files.parts)][:-1]
        return cls(files=files, schema=schema, first_rows=first_rows, splits=splits)

    def by_file(self) -> ParquetSplits:
        """Return the same rows in pieces that are a file each."""
        whole = [[Range(part=number, start=0, stop=part.n_rows)] for number, part in enumerate(self.files.parts)]
        return replace(self, splits=whole)

    @property
    def n_splits(self) -> int:
        """Number of pieces."""
        return len(self.splits)

    def read(self, split: int, columns: Sequence[str] | None = None) -> Iterator[Numbered]:
        """Yield the rows of a piece.

        Raises
        ------
        EngineError
            The file is not there.
        """
        names = self.schema.names if columns is None else list(columns)
        projected = pa.schema([self.schema.field(name) for name in names])
        stored = [self.files.schema.field(self.schema.get_field_index(name)) for name in names]
        for row_group in self.splits[split]:
            part = self.files.parts[row_group.part]
            if not Path(part.path).exists():
                raise EngineError("an executor does not see the files of the table", "does every node have the folder?")
            row, batches = self.files.range_batches(part, pa.schema(stored), row_group.start, row_group.stop)
            row += self.first_rows[row_group.part]
            for batch in batches:
                yield restored(batch, projected, self.categories), row
                row += batch.num_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneratedSplits:
    """Rows that are made, not read: a piece is drawn whenever it is needed, and is the same each time."""

    draw: DrawPiece
    schema: pa.Schema
    sizes: Sequence[int]
    """Rows of each piece."""

    @property
    def n_splits(self) -> int:
        """Number of pieces."""
        return len(self.sizes)

    def read(self, split: int, columns: Sequence[str] | None = None) -> Iterator[Numbered]:
        """Yield the rows of a piece.

        Raises
        ------
        EngineError
            The function returned other columns or another number of rows than it declared.
        """
        rows = self.draw(split)
        if not rows.schema.equals(self.schema) or rows.num_rows != self.sizes[split]:
            raise EngineError("a function drew other columns or rows than it declared")
        row = sum(self.sizes[:split])
        for batch in sliced(canonical_batches([rows], self.schema)):
            yield batch if columns is None else batch.select(list(columns)), row
            row += batch.num_rows

    def source(self) -> LocalSource:
        """Return the rows as this machine draws them."""
        n_rows = sum(self.sizes)
        return LocalSource(self.schema, all_of(self), at_most=n_rows, n_rows=n_rows)


def all_of(splits: TableSplits) -> Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]]:
    """Return a reader of all pieces, one after another."""

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        for split in range(splits.n_splits):
            for batch, _ in splits.read(split, columns):
                yield batch

    return read
