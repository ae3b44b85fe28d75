# SPDX-License-Identifier: Apache-2.0
"""Distinction and separation of a set of columns: how well they distinguish the rows of a table.

References
----------
R. Motwani and Y. Xu (2007). Efficient algorithms for masking and finding quasi-identifiers. VLDB.
"""

from __future__ import annotations

from collections.abc import Iterable


def distinction_and_separation(histogram: Iterable[tuple[int, int]]) -> tuple[float, float]:
    """Return the distinction and separation of rows by columns, from the histogram of (class size, number of classes).

    Returns
    -------
    distinction : float
        Classes over rows, in (0, 1].
    separation : float
        Share of the pairs of rows that the columns distinguish, in [0, 1]; 1 for a table of one row.
    """
    found = [(int(size), int(count)) for size, count in histogram]
    rows, classes = sum(size * count for size, count in found), sum(count for _, count in found)
    pairs = rows * (rows - 1)
    alike = sum(size * (size - 1) * count for size, count in found)
    return classes / rows, 1.0 if not pairs else 1 - alike / pairs
