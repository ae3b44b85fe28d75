# SPDX-License-Identifier: Apache-2.0
"""Effect of coarser values of one column on a table: fewer unique rows, for how many bits of detail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.estimators.minimal_uniques import class_sizes, sizes_alone
from anonkit.k_anonymity.declared_detail import Hierarchy
from anonkit.k_anonymity.search.hierarchy_levels import automatic_ladder
from anonkit.policy.column_declarations import Column

Codes = NDArray[np.integer[Any]]


@dataclass(frozen=True, kw_only=True)
class Coarsening:
    """A column with less detail, and the table as it would be then."""

    column: str
    to: str
    """Coarser level; no cell value."""
    k: int
    """Rows, or people, in the smallest class."""
    uniques: int
    """Classes of one row, or person."""
    lost_bits: float
    """Detail that is lost: the entropy of the column before, less that after, in bits a row."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedQuasiIdentifiers:
    """Rows of a table as codes of its quasi-identifiers."""

    columns: Sequence[NDArray[np.int32]]
    rows: NDArray[np.int64]
    """Multiplicity of each in the table."""
    people: NDArray[np.int32] | None
    """Person of each, where people are counted."""

    def sizes(self, columns: Sequence[Codes]) -> NDArray[np.int64]:
        """Return the sizes of the classes by some columns."""
        return sizes_alone(columns, self.rows, self.people)


def levels_of(column: Any, declared: Column) -> list[tuple[str, NDArray[np.int32]]]:
    """Return the coarser levels of a column, each as how coarse it is and the group of every code.

    They are those that the policy declares. Where it declares none they are ranges of about equally many rows, or the
    commonest values with all others together.

    Parameters
    ----------
    column : CodedColumn
        As an engine encodes it.
    """
    hierarchy = Hierarchy.of(column, declared)
    if hierarchy is None:
        found = automatic_ladder(column).levels[1:]
        kind = "ranges" if column.ordered else "groups, rare values together"
        return [(f"{int(groups.max()) + 1} {kind}", groups) for groups in found]
    levels = hierarchy.ladder.levels[1:]
    names = [f"bins of {width:g}" for width in hierarchy.widths] or [
        f"level {level} of what is declared" for level in range(1, len(levels) + 1)
    ]
    return list(zip(names, levels, strict=True))


def coarsenings(
    table: CodedQuasiIdentifiers,
    names: Sequence[str],
    levels: Sequence[Sequence[tuple[str, NDArray[np.int32]]]],
    uniques: int,
) -> list[Coarsening]:
    """Return the best coarsening of each column, the one first that removes most unique rows a bit of detail.

    Parameters
    ----------
    names, levels : sequence, shape (n_columns,)
        Of each column; leaving it out is a level that every column has.
    uniques : int
        Classes of one row, or person, as the table is.

    Returns
    -------
    list
        One a column at most; none that removes no unique row.
    """
    best: list[tuple[float, Coarsening]] = []
    for name, codes, others, coarser in zip(
        names, table.columns, _without_each(table.columns, table.rows.size), levels, strict=True
    ):
        full = _entropy(codes, table.rows)
        dropped = ("left out", np.zeros(int(codes.max(initial=0)) + 1, np.int32))
        found = []
        for to, groups in (*coarser, dropped):
            recoded = groups[codes]
            sizes = table.sizes([*others, recoded])
            left = int(np.count_nonzero(sizes == 1))
            lost = max(full - _entropy(recoded, table.rows), 0.0)
            if left < uniques:
                made = Coarsening(column=name, to=to, k=int(sizes.min()), uniques=left, lost_bits=lost)
                found.append(((uniques - left) / max(lost, 1e-9), made))
        best += sorted(found, key=lambda each: -each[0])[:1]
    return [made for _, made in sorted(best, key=lambda each: -each[0])]


def _without_each(columns: Sequence[NDArray[np.int32]], n_rows: int) -> Iterator[list[Codes]]:
    """Yield for each column two that together separate what all others do: those before it, and those after it."""
    ones = np.ones(n_rows, np.int64)
    behind: list[list[Codes]] = [[]]
    for codes in columns[:0:-1]:
        behind.append([class_sizes([codes, *behind[-1]], ones)[0]])
    before: list[Codes] = []
    for codes, later in zip(columns, reversed(behind), strict=True):
        yield [*before, *later]
        before = [class_sizes([*before, codes], ones)[0]]


def _entropy(codes: Codes, rows: NDArray[np.int64]) -> float:
    """Return the entropy of a column, in bits a row."""
    counts = np.bincount(codes, weights=rows)
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
