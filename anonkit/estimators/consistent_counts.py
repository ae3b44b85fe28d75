# SPDX-License-Identifier: Apache-2.0
"""Consistent counts from noisy histograms: none negative, and one size of each class for all attributes."""

from __future__ import annotations

import numpy as np

from anonkit.domains.array_types import FloatArray
from anonkit.estimators.response_inversion import project_to_simplex
from anonkit.published.noisy_tables import NoisyTable, NoisyTables


def consistent_counts(tables: NoisyTables, table: NoisyTable) -> FloatArray:
    """Return counts that are not negative and have the class sizes as sums, nearest to the noisy ones.

    Parameters
    ----------
    tables : NoisyTables
        All histograms of the release: together they say how large the classes are.
    table : NoisyTable
        The one whose counts are asked for.

    Returns
    -------
    array, shape (n_classes, domain size)
        A class without rows has none.

    Privacy
    -------
    Post-processing of noisy counts: no privacy loss.
    """
    sizes = np.maximum(tables.class_sizes[0], 0)[:, np.newaxis]
    shares = np.divide(table.counts, sizes, out=np.zeros(table.counts.shape), where=sizes > 0)
    return np.asarray(sizes * project_to_simplex(shares))
