# SPDX-License-Identifier: Apache-2.0
"""The rows of a table as batches of codes for the tree grower: small ones kept, large ones coded anew for each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.domain_codes import codes_of_cells, refuse_texts
from anonkit.protocols import Engine, Source
from anonkit.trees.attributes import TreeSchema
from anonkit.trees.questions import CodedBatch

KEPT_BYTES = 256 << 20
"""Codes that are kept in memory between passes."""
_ROWS_AT_ONCE = 1 << 18


@dataclass(frozen=True, kw_only=True)
class CodedRows:
    """Batches of codes of the public domains, in row order; opened anew with each call.

    Raises
    ------
    PolicyError
        A cell is outside its declared domain; the message names the column.
    """

    source: Source
    schema: TreeSchema
    keep: NDArray[np.bool_] | None = None
    """Rows that are used; all when None."""

    def __call__(self) -> Iterator[CodedBatch]:
        """Yield the batches; rows that are not used are left out and not numbered."""
        attributes = self.schema.attributes
        refuse_texts(self.source.schema, [one.name for one in attributes if one.is_number])
        width = np.uint8 if self.schema.most_codes <= 1 << 8 else np.int32
        names = [*(one.name for one in attributes), self.schema.target]
        read, used = 0, 0
        for batch in self.source.batches(names):
            labels = codes_of_cells(batch, self.schema.target, self.schema.classes)
            codes = np.empty((len(attributes), batch.num_rows), dtype=width)
            for at, one in enumerate(attributes):
                codes[at] = codes_of_cells(batch, one.name, one.domain)
            if self.keep is not None:
                kept = self.keep[read : read + batch.num_rows]
                codes, labels = codes[:, kept], labels[kept]
            read += batch.num_rows
            yield from _pieces(CodedBatch(codes=codes, labels=labels.astype(np.int32), first_row=used))
            used += labels.size


def _pieces(batch: CodedBatch) -> Iterator[CodedBatch]:
    """Divide a batch so that what is worked on stays near the processor."""
    for start in range(0, batch.n_rows, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        yield CodedBatch(
            codes=np.ascontiguousarray(batch.codes[:, part]),
            labels=batch.labels[part],
            first_row=batch.first_row + start,
        )


def kept_in_memory(open_batches: CodedRows) -> Callable[[], Iterable[CodedBatch]]:
    """Return the batches held in memory when they are small enough, else the means to code them again."""
    held: list[CodedBatch] = []
    size = 0
    for batch in open_batches():
        size += batch.codes.nbytes + batch.labels.nbytes
        if size > KEPT_BYTES:
            return open_batches
        held.append(batch)
    return lambda: held


def first_rows_of_units(engine: Engine, source: Source, unit: str, most: int) -> NDArray[np.bool_]:
    """Return which rows are among the first so many of their unit, shape (n_rows,).

    Privacy
    -------
    Whether a row is used depends on rows of its own unit alone, so that leaving out a unit moves no other row. Rows
    without a unit are one unit together.
    """
    codes = engine.encode(source, [unit])[0].codes
    order = np.argsort(codes, kind="stable")
    ascending = codes[order]
    starts = (
        np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]])) if codes.size else np.zeros(0, int)
    )
    rank = np.arange(codes.size) - np.repeat(starts, np.diff(np.append(starts, codes.size)))
    keep = np.zeros(codes.size, dtype=bool)
    keep[order] = rank < most
    return keep
