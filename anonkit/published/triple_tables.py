# SPDX-License-Identifier: Apache-2.0
"""Published noisy table of three columns with the target: class by cell, in few public cells of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anonkit.documents import ParamsPart
from anonkit.domains.array_types import IntArray
from anonkit.published.noisy_tables import LAPLACE, noise_variance


@dataclass(frozen=True, kw_only=True, eq=False)
class TripleTable(ParamsPart, keys=("groups", "rate", "counts")):
    """Noisy counts of class by cell of three columns."""

    names: tuple[str, ...]
    groups: tuple[IntArray, ...]
    """For each of the three columns the group of each value, shape (values,)."""
    counts: IntArray
    """Shape (classes, cells): groups of the first by groups of the second by groups of the third."""
    rate: int
    """Of the noise, in units of 2**-52."""
    law: str = LAPLACE
    """Of the noise."""

    @property
    def variance(self) -> float:
        """Variance of the noise of one cell."""
        return noise_variance(self.rate, self.law)


def groups_of_values(values: int, *, has_missing: bool, most: int) -> IntArray:
    """Return the group of each value of a column: neighbours together, in at most so many groups of about one size.

    Parameters
    ----------
    values : int
        Values of the column, without missing.
    has_missing : bool
        Whether missing is one more: it is in the last group.
    most : int
    """
    number = min(values, most)
    groups = np.arange(values) * number // values
    return np.append(groups, number - 1) if has_missing else groups


def cells_of(groups: Sequence[IntArray], codes: Sequence[IntArray]) -> IntArray:
    """Return the cell of each row in the table of some columns.

    Parameters
    ----------
    groups : sequence of int array, shape (values,)
    codes : sequence of int array, shape (n_rows,)
    """
    cells = np.zeros(len(codes[0]), dtype=np.int64)
    for group, own in zip(groups, codes, strict=True):
        cells = cells * (int(group.max()) + 1) + group[own]
    return cells
