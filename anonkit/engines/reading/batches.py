# SPDX-License-Identifier: Apache-2.0
"""Streams of record batches, and the bound on the rows in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

BATCH_ROWS = 1 << 17


def sliced(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of at most `BATCH_ROWS`."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS)


def gather(batches: Iterator[pa.RecordBatch], n_bytes: int) -> tuple[list[pa.RecordBatch], bool]:
    """Take batches until they hold more than so many bytes; return them, and whether the stream has ended."""
    kept = []
    size = 0
    for batch in batches:
        kept.append(batch)
        size += batch.nbytes
        if size > n_bytes:
            return kept, False
    return kept, True


def grouped(batches: Iterator[pa.RecordBatch], schema: pa.Schema, n_bytes: int) -> Iterator[pa.Table]:
    """Yield the same rows in tables of about so many bytes, one at least."""
    complete = False
    while not complete:
        kept, complete = gather(batches, n_bytes)
        yield pa.Table.from_batches(kept, schema)


def drained(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a list, each removed from the list first so that its memory can be freed."""
    batches.reverse()
    while batches:
        yield batches.pop()
