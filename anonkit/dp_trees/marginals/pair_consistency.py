# SPDX-License-Identifier: Apache-2.0
"""Noisy pair tables made shares that agree with the columns: none negative, and the margins as all tables say.

Post-processing of noisy counts, at no privacy loss.
"""

from __future__ import annotations

import numpy as np

from anonkit.domains.array_types import FloatArray
from anonkit.dp_trees.marginals.column_layout import Pair
from anonkit.dp_trees.marginals.measured_tables import Margins, MeasuredTable, nearest_shares

_ROUNDS = 20
_FAINT = 1e-9
"""Share of independence that is mixed in, so that fitting to margins can reach them from a table of zeros."""


def consistent_pair(pair: Pair, table: MeasuredTable, margins: Margins) -> FloatArray:
    """Return the shares of a pair of columns, by value.

    Parameters
    ----------
    pair : pair of int
    table : Measured
        Its noisy table, by group.
    margins : Margins

    Returns
    -------
    float array, shape (classes, values, values)
        Adds up to 1 in each class.
    """
    classes, *shape = table.counts.shape
    shares = nearest_shares(table.counts.reshape(classes, -1), margins.totals).reshape(classes, *shape)
    return margins.spread(pair, fitted_to_margins(shares, *(margins.grouped(column) for column in pair)))


def fitted_to_margins(shares: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Return the shares with other margins that keep their odds ratios: iterative proportional fitting.

    Parameters
    ----------
    shares : float array, shape (classes, m, n)
    rows, columns : float array, shape (classes, m) and (classes, n)
        The margins wanted.
    """
    out = (1 - _FAINT) * shares + _FAINT * rows[:, :, np.newaxis] * columns[:, np.newaxis, :]
    for _ in range(_ROUNDS):
        out = out * _ratio(rows, out.sum(axis=2))[:, :, np.newaxis]
        out = out * _ratio(columns, out.sum(axis=1))[:, np.newaxis, :]
    return np.asarray(out / out.sum(axis=(1, 2), keepdims=True))


def _ratio(wanted: FloatArray, found: FloatArray) -> FloatArray:
    return np.divide(wanted, found, out=np.zeros(wanted.shape), where=found > 0)
