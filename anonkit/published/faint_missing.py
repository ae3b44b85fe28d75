# SPDX-License-Identifier: Apache-2.0
"""The rule by which missing cells of a column count: only where their noisy count exceeds its noise.

Missing is one more value of every column, and noise alone would make some in columns where nothing is missing. So it
is counted as none where its noisy count is not above a few standard deviations of its own noise. Post-processing of
noisy counts, at no privacy loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from anonkit.domains.array_types import IntArray

MISSING_ABOVE = 3.0
"""Standard deviations of its noise that the count of missing must be above."""
KEY = "missing_above"
"""Key of the params with their number; releases of earlier versions, which count all of it, lack it."""


def is_faint(tables: Sequence[tuple[IntArray, float]], above: float) -> bool:
    """Return True if missing is counted as none.

    Parameters
    ----------
    tables : sequence of (int array, float)
        For each table that counts the rows in which the column is missing, its counts of them (of any shape: in each
        class, or region and class; empty where none were counted), and the variance of the noise of one.
    above : float
        Standard deviations of the noise of the mean of their sums, weighted by precision, that it must be above; 0:
        they count as they are.
    """
    if not above:
        return False
    told = [(float(counts.sum()), variance * counts.size) for counts, variance in tables if counts.size]
    precision = sum(1 / noise for _, noise in told)
    return sum(rows / noise for rows, noise in told) <= above * math.sqrt(precision)
