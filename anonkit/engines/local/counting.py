# SPDX-License-Identifier: Apache-2.0
"""Counts of code combinations in memory, and the form in which every engine returns counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.coded_columns import combine, distinct_in_groups
from anonkit.engines.reading.encoding import Encoded
from anonkit.protocols import COUNT, ClassSizes


def count_combinations(columns: Mapping[str, Encoded], names: Sequence[str], n_rows: int) -> pa.Table:
    """Count the rows of every combination of some columns."""
    groups = _Groups.of([columns[name].codes for name in names], n_rows)
    return groups.table(columns, names, groups.sizes())


def small_combinations(
    columns: Mapping[str, Encoded], names: Sequence[str], n_rows: int, k: int, unit: str | None
) -> pa.Table:
    """Return the combinations of some columns that fewer than k rows (distinct units) hold, with their rows."""
    groups = _Groups.of([columns[name].codes for name in names], n_rows)
    sizes = groups.sizes() if unit is None else groups.sizes(columns[unit].codes)
    if unit is not None:  # rows without one count for nobody
        nobodys = columns[unit].codes == len(columns[unit].values)
        sizes = sizes - (np.bincount(groups.of_row[nobodys], minlength=groups.number) > 0)
    return groups.table(columns, names, groups.sizes(), np.flatnonzero(sizes < k))


def people_of_combinations(
    columns: Mapping[str, Encoded], names: Sequence[str], n_rows: int, units: NDArray[np.int32]
) -> pa.Table:
    """Count the distinct units of every combination of some columns."""
    groups = _Groups.of([columns[name].codes for name in names], n_rows)
    return groups.table(columns, names, groups.sizes(units))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Groups:
    """Rows by their combination of several coded columns."""

    of_row: NDArray[np.int64]
    """Shape (n_rows,), dense in [0, number)."""
    number: int

    @classmethod
    def of(cls, codes: Sequence[NDArray[np.int32]], n_rows: int) -> _Groups:
        of_row, number = combine(codes, n_rows)
        return cls(of_row=of_row, number=number)

    def sizes(self, units: NDArray[np.int32] | None = None) -> NDArray[np.int64]:
        """Rows of each group, or its distinct units, shape (number,)."""
        if units is not None:
            return distinct_in_groups(self.of_row, self.number, units.astype(np.int64))
        return np.bincount(self.of_row, minlength=self.number)

    def table(
        self,
        columns: Mapping[str, Encoded],
        names: Sequence[str],
        counts: NDArray[np.int64],
        groups: NDArray[np.int64] | slice = slice(None),
    ) -> pa.Table:
        """Return the combinations of some groups, each with its count."""
        member = np.zeros(self.number, dtype=np.int64)  # a row of each group
        member[self.of_row] = np.arange(self.of_row.size)
        arrays = [columns[name].values.take(_places(columns[name], member[groups])) for name in names]
        return count_table(names, arrays, pa.array(counts[groups], pa.int64()))


def _places(column: Encoded, rows: NDArray[np.int64]) -> pa.Array:
    codes = column.codes[rows]
    return pa.array(codes, mask=codes == len(column.values))


def count_table(names: Sequence[str], arrays: Sequence[pa.Array | pa.ChunkedArray], counts: pa.Array) -> pa.Table:
    """Return counts in the order of their combinations, missing last: the same on every engine and in every run."""
    table = pa.Table.from_arrays([*arrays, counts], names=[*map(str, range(len(names))), COUNT])
    if names:
        table = table.sort_by([(str(at), "ascending") for at in range(len(names))])
    return table.rename_columns([*names, COUNT])


def count_classes(
    codes: Sequence[NDArray[np.int32]], n_rows: int, k: int, units: NDArray[np.int32] | None
) -> ClassSizes:
    """Count the equivalence classes of coded columns."""
    groups = _Groups.of(codes, n_rows)
    members = groups.sizes()
    sizes = members if units is None else groups.sizes(units)
    values, inverse, classes = np.unique(sizes, return_inverse=True, return_counts=True)
    rows = np.bincount(inverse.reshape(-1), weights=members, minlength=values.size)
    return class_sizes(values.tolist(), classes.tolist(), rows.astype(np.int64).tolist(), k)


def class_sizes(sizes: Sequence[int], classes: Sequence[int], rows: Sequence[int], k: int) -> ClassSizes:
    """Return class sizes from a histogram: the sizes ascending, the classes and the rows of each."""
    return ClassSizes(
        rows=sum(rows),
        classes=sum(classes),
        smallest=min(sizes, default=0),
        rows_below_k=sum(n for size, n in zip(sizes, rows, strict=True) if size < k),
        histogram=tuple(zip(sizes, classes, strict=True)),
    )
