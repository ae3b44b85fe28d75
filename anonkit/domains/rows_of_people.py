# SPDX-License-Identifier: Apache-2.0
"""The rows of a person that stay when there are more than may: drawn by secret words, never by their order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, IntArray


def sampled_rows(people: NDArray[np.integer], most: IntArray | int, words: NDArray[np.uint64]) -> BoolArray:
    """Mark of every person the rows with the lowest secret words, shape (n_rows,).

    Parameters
    ----------
    people : int array, shape (n_rows,)
        Number of the person of each row, not negative.
    most : int, or int array of shape (n_people,)
        How many rows stay of each person; 0 or more.
    words : uint64 array, shape (n_rows,)
        One secret, uniform word a row.

    Privacy
    -------
    Which rows of a person stay depends on the words of that person's rows alone. The words are independent, so the
    rows of other people are drawn by the same law whether or not this person is in the table.
    """
    order = np.lexsort((words, people))
    ascending = people[order]
    begins = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]])) if people.size else order
    rank = np.arange(people.size) - np.repeat(begins, np.diff(np.append(begins, people.size)))
    keep = np.zeros(people.size, dtype=bool)
    keep[order] = rank < (most if isinstance(most, int) else most[ascending])
    return keep


@dataclass(frozen=True, eq=False)
class SelectRows:
    """Batch function that leaves out rows by their numbers: it depends on the number of the first row alone."""

    bits: bytes
    """One bit a row of the table, the first row's the highest of the first byte."""

    @classmethod
    def of(cls, keep: BoolArray) -> SelectRows:
        """Keep the marked rows."""
        return cls(np.packbits(keep).tobytes())

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows of a batch that stay."""
        start, end = row // 8, (row + batch.num_rows + 7) // 8
        bits = np.unpackbits(np.frombuffer(self.bits[start:end], dtype=np.uint8))
        return batch.filter(pa.array(bits[row - 8 * start :][: batch.num_rows].astype(bool)))
