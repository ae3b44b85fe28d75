# SPDX-License-Identifier: Apache-2.0
"""Rows of one table that show the centroid of their group, found by what they hold.

Which rows are a group is no function of the published centroids: a row may be nearer to another centroid than to its
own. So the groups themselves are kept while the release is made, by the distinct combinations of the table; they leave
with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.domain_codes import cell_numbers, cell_texts
from anonkit.published.recoding import UNKNOWN, GlobalRecoding


@dataclass(frozen=True, kw_only=True, eq=False)
class RowKeys:
    """The distinct combinations of strings and numbers of a table, in ascending order, and the place of each of them.

    A combination is looked up column by column: what was found so far and the code of the next cell are one integer.
    """

    texts: tuple[pa.Array, ...]
    """Of each column of strings: its values, ascending."""
    numbers: tuple[FloatArray, ...]
    """Of each column of numbers: its values, ascending, without NaN."""
    pairs: tuple[IntArray, ...]
    """Of each column: the integers of the combinations up to it, ascending."""

    @classmethod
    def of(cls, texts: Sequence[pa.Array], numbers: Sequence[FloatArray]) -> tuple[RowKeys, IntArray]:
        """Return the combinations of some rows, and the place of each row among them, shape (n_rows,)."""
        text_values = tuple(array.unique().drop_null().sort() for array in texts)
        number_values = tuple(np.unique(column[~np.isnan(column)]) for column in numbers)
        keys, at = cls(texts=text_values, numbers=number_values, pairs=()), np.zeros(1, np.int64)
        pairs: list[IntArray] = []
        for codes, width in keys._coded(texts, numbers):
            found, at = np.unique(at * width + codes, return_inverse=True)
            pairs.append(found)
        return cls(texts=text_values, numbers=number_values, pairs=tuple(pairs)), at.reshape(-1)

    @property
    def size(self) -> int:
        """Number of combinations."""
        return int(self.pairs[-1].size)

    def places(self, texts: Sequence[pa.Array], numbers: Sequence[FloatArray]) -> IntArray:
        """Return the place of each row's combination, `UNKNOWN` where the table has no such, shape (n_rows,)."""
        at, known = np.zeros(1, np.int64), np.ones(1, bool)
        for (codes, width), pairs in zip(self._coded(texts, numbers), self.pairs, strict=True):
            pair = at * width + codes
            at = np.minimum(np.searchsorted(pairs, pair), max(pairs.size - 1, 0))
            known = known & (codes != UNKNOWN) & (pairs[at] == pair if pairs.size else False)
        return np.where(known, at, UNKNOWN)

    def _coded(self, texts: Sequence[pa.Array], numbers: Sequence[FloatArray]) -> list[tuple[IntArray, int]]:
        """Return the codes of every column and their number: `UNKNOWN` for other values, the last for missing."""
        coded = []
        for array, values in zip(texts, self.texts, strict=True):
            codes = pc.fill_null(pc.index_in(array, value_set=values), UNKNOWN).to_numpy(zero_copy_only=False)
            missing = array.is_null().to_numpy(zero_copy_only=False)
            coded.append((np.where(missing, len(values), codes).astype(np.int64), len(values) + 1))
        for column, own in zip(numbers, self.numbers, strict=True):
            at = np.minimum(np.searchsorted(own, column), max(own.size - 1, 0))
            same = own[at] == column if own.size else np.zeros(column.size, bool)
            coded.append((np.where(np.isnan(column), own.size, np.where(same, at, UNKNOWN)), own.size + 1))
        return coded


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupedRecoding:
    """The recoding of one table in groups: the centroid of each of its combinations."""

    published: GlobalRecoding
    """The centroids, for `params.json`."""
    keys: RowKeys
    centroid_of: IntArray
    """Place of the centroid of each combination, `UNKNOWN` for those that are left out, shape (keys.size,)."""

    def apply(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
        """Return the released quasi-identifier columns, and which rows are left out or are none of the table."""
        out, unknown = self.published.apart_from_means(batch)
        centroids, names = self.published.centroids, self.published.mean_names
        assert centroids is not None  # noqa: S101 - a recoding in groups has some
        place = self.keys.places(*texts_and_numbers(out, batch, names))
        at = np.where(place == UNKNOWN, UNKNOWN, self.centroid_of[place])
        shown = {**out, **{name: centroids.taken(name, at) for name in names}}
        return {column.name: shown[column.name] for column in self.published.columns}, unknown | (at == UNKNOWN)

    def types(self, schema: pa.Schema) -> dict[str, pa.DataType]:
        """Return the type of every released quasi-identifier."""
        return self.published.types(schema)


def texts_and_numbers(
    shown: dict[str, pa.Array], batch: pa.RecordBatch, means: Sequence[str]
) -> tuple[list[pa.Array], list[FloatArray]]:
    """Return released categories as strings, and the numbers of which means are shown, NaN for missing."""
    texts = [cell_texts(array) for array in shown.values()]
    return texts, [cell_numbers(batch.column(name)) for name in means]
