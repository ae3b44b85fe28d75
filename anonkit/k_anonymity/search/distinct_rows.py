# SPDX-License-Identifier: Apache-2.0
"""Distinct rows with their multiplicities: searches for a recoding work on them instead of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anonkit.domains.coded_columns import CodedColumn, FloatArray, IntArray, combine, count_combinations
from anonkit.k_anonymity.search.equivalence import Partition, Requirement
from anonkit.k_anonymity.search.hierarchy_levels import Groups


@dataclass(frozen=True, kw_only=True, eq=False)
class DistinctRows:
    """A table in which rows that are alike in everything a search looks at are counted instead of repeated.

    Entries are in ascending order of their codes, columns in order of their names, so nothing depends on the
    order of rows and columns in the table.
    """

    columns: tuple[CodedColumn, ...]
    """The columns of the entries, each of shape (n_entries,)."""
    requirements: tuple[Requirement, ...]
    """The requirements on the entries."""
    whole: Partition
    """All entries, with their weights, in one class."""

    @classmethod
    def of(cls, columns: Sequence[CodedColumn], requirements: Sequence[Requirement]) -> DistinctRows:
        """Count the distinct rows of at least one column: O(n_rows) a column and one sort."""
        if any(requirement.attributes for requirement in requirements):
            return NumberedRows.of(columns, requirements)
        columns = sorted(columns, key=lambda column: column.name)
        codes, weights = count_combinations([column.codes for column in columns], columns[0].codes.size)
        return cls(
            columns=tuple(replace(column, codes=own) for column, own in zip(columns, codes, strict=True)),
            requirements=tuple(requirements),
            whole=Partition.whole(weights.size, weights),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberedRows(DistinctRows):
    """Distinct rows that say which of them each row of the table is."""

    entry: IntArray
    """Entry of each row of the table, shape (n_rows,)."""

    @property
    def weights(self) -> FloatArray:
        """Number of rows of each entry, shape (n_entries,)."""
        return np.bincount(self.entry, minlength=self.whole.classes.size).astype(np.float64)

    @classmethod
    def of(cls, columns: Sequence[CodedColumn], requirements: Sequence[Requirement]) -> NumberedRows:
        """Give the distinct rows of at least one column numbers: O(n_rows) a column and one sort."""
        columns = sorted(columns, key=lambda column: column.name)
        looked_at = [values for requirement in requirements for values in requirement.attributes]
        n_rows = columns[0].codes.size
        entry, n_entries = combine([*(column.codes for column in columns), *looked_at], n_rows)
        example = np.empty(n_entries, dtype=np.int64)
        example[entry] = np.arange(n_rows)
        return cls(
            columns=tuple(replace(column, codes=column.codes[example]) for column in columns),
            requirements=tuple(requirement.at(example) for requirement in requirements),
            whole=Partition.whole(n_entries, np.bincount(entry, minlength=n_entries)),
            entry=entry,
        )


def released_partition(columns: Sequence[CodedColumn], groups: Mapping[str, Groups | None]) -> Partition:
    """Return the equivalence classes of a table, row by row, when each column is released by its groups.

    Columns whose groups are None are dropped.
    """
    released = []
    for column in columns:
        of_code = groups[column.name]
        if of_code is not None:
            released.append(of_code[column.codes])
    return Partition.of(released, columns[0].codes.size)
