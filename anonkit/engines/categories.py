# SPDX-License-Identifier: Apache-2.0
"""The categories of a dictionary column over all its batches, in one order, without those that do not occur."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

MISSING = -1
"""Number of a missing cell."""


class Categories:
    """Numbers the categories of a column by first sight, and orders them when all batches were seen.

    Every batch brings a dictionary of its own. The common order keeps the order of each of them; when they
    contradict each other, it is the order of first sight.

    Privacy
    -------
    A dictionary lists categories that no row holds: values of suppressed rows, for one. They are left out.
    """

    __slots__ = ("_before", "_last", "_last_numbers", "_numbers", "_settled", "_used")

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._before: dict[str, set[str]] = {}  # for each category, those right before it in some dictionary
        self._used = np.zeros(0, dtype=bool)
        self._last: pa.Array | None = None
        self._last_numbers = np.array([MISSING], dtype=np.int32)
        self._settled: list[str] | None = None

    def look(self, array: pa.DictionaryArray) -> NDArray[np.int32]:
        """Return the number of every cell, shape (len(array),), `MISSING` where there is none."""
        if self._last is None or not array.dictionary.equals(self._last):
            self._meet(array.dictionary.to_pylist())
            self._last = array.dictionary
        indices: NDArray[Any] = pc.fill_null(array.indices, MISSING).to_numpy(zero_copy_only=False)
        numbers: NDArray[np.int32] = self._last_numbers[indices]  # index -1 is the last entry: missing
        if not self._used.all():
            self._used |= np.bincount(numbers + 1, minlength=self._used.size + 1)[1:] > 0
            self._settled = None
        return numbers

    def _meet(self, texts: list[str]) -> None:
        for text in texts:
            self._numbers.setdefault(text, len(self._numbers))
            self._before.setdefault(text, set())
        for earlier, later in pairwise(texts):
            self._before[later].add(earlier)
        self._used = np.concatenate([self._used, np.zeros(len(self._numbers) - self._used.size, dtype=bool)])
        self._settled = None
        self._last_numbers = np.array([*map(self._numbers.__getitem__, texts), MISSING], dtype=np.int32)

    @property
    def values(self) -> list[str]:
        """The categories that occur, in order."""
        if self._settled is None:
            try:
                order = list(TopologicalSorter(self._before).static_order())
            except CycleError:
                order = list(self._numbers)
            self._settled = [text for text in order if self._used[self._numbers[text]]]
        return self._settled

    @property
    def codes(self) -> NDArray[np.int32]:
        """Place in `values` by number; the last entry, that of `MISSING`, is `len(values)`."""
        values = self.values
        codes = np.full(len(self._numbers) + 1, len(values), dtype=np.int32)
        codes[[self._numbers[text] for text in values]] = np.arange(len(values), dtype=np.int32)
        return codes


class CategoryColumns:
    """The dictionary columns of a table, as numbers on their way to disk, as categories at the end.

    Parameters
    ----------
    schema : pyarrow.Schema
        Names and types of the table: its dictionaries are categories.
    moved : pyarrow.Schema, optional
        Names and types of its batches, where texts may be folded: those dictionaries pass as they are.
    """

    def __init__(self, schema: pa.Schema, moved: pa.Schema | None = None) -> None:
        self._moved = moved or schema
        self._of = {at: Categories() for at, column in enumerate(schema) if pa.types.is_dictionary(column.type)}
        self.stored_schema = self._moved
        """Names and types while categories are numbers."""
        for at in self._of:
            self.stored_schema = self.stored_schema.set(at, schema.field(at).with_type(pa.int32()))

    def __bool__(self) -> bool:
        return bool(self._of)

    def numbered(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches with numbers for categories."""
        for batch in batches:
            columns = batch.columns
            for at, categories in self._of.items():
                columns[at] = pa.array(categories.look(columns[at]))
            yield pa.RecordBatch.from_arrays(columns, schema=self.stored_schema)

    def restored(self, table: pa.Table) -> pa.Table:
        """Return a table with categories for numbers, when all batches were seen."""
        columns = table.columns
        for at, categories in self._of.items():
            codes = categories.codes[columns[at].to_numpy()]
            values = pa.array(categories.values, pa.string())
            absent = codes == len(values)
            indices = pa.array(codes, mask=absent if absent.any() else None)
            columns[at] = pa.DictionaryArray.from_arrays(indices, values, ordered=self._moved.field(at).type.ordered)
        return pa.Table.from_arrays(columns, schema=self._moved)
