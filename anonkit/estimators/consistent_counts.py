# SPDX-License-Identifier: Apache-2.0
"""Consistent counts from noisy histograms: none negative, and one size of each class for all attributes."""

from __future__ import annotations

import numpy as np

from anonkit.domains.array_types import FloatArray
from anonkit.estimators.response_inversion import project_to_simplex
from anonkit.published.faint_missing import is_faint
from anonkit.published.noisy_tables import NoisyTable, NoisyTables


def consistent_counts(tables: NoisyTables, table: NoisyTable) -> FloatArray:
    """Return counts that are not negative and have the class sizes as sums, nearest to the noisy ones.

    A count of missing that does not exceed its noise is 0, where the release states so.

    Parameters
    ----------
    tables : NoisyTables
        All histograms of the release: together they say how large the classes are.
    table : NoisyTable
        The table whose counts are returned.

    Returns
    -------
    array, shape (n_classes, domain size)
        A class without rows has none.

    Privacy
    -------
    Post-processing of noisy counts: no privacy loss.
    """
    faint = table.domain.has_missing and is_faint([(table.counts[:, -1], table.variance)], tables.missing_above)
    counts = table.counts[:, :-1] if faint else table.counts
    sizes = np.maximum(tables.class_sizes[0], 0)[:, np.newaxis]
    shares = np.divide(counts, sizes, out=np.zeros(counts.shape), where=sizes > 0)
    return np.pad(sizes * project_to_simplex(shares), ((0, 0), (0, int(faint))))
