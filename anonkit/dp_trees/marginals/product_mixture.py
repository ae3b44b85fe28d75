# SPDX-License-Identifier: Apache-2.0
"""A mixture of product distributions fitted to all pairs of columns at once, by weighted EM steps.

With P the shares of all values in each component (one row a component) and w the weights of the components, all pair
tables together are one matrix, P' diag(w) P: a step is three matrix products, there is no graph to compile, and any
pair may have been measured. Post-processing of noisy counts, at no privacy loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import FloatArray, IntArray

_TINY = 1e-12
_START = 0.7
"""Share of the columns as they are that a component starts with; the rest is its row."""
_COLUMNS = 3.0
"""Weight of a column's own shares, where the pair that is known best has 1."""
_RELAXATION = 1.8
"""Power of the factors of an EM step: steps are longer than the plain ones, which creep."""

Matrix = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixture:
    """A mixture of products."""

    weights: FloatArray
    """Shape (components,), adds up to 1."""
    shares: FloatArray
    """Shape (components, all values): for each column they add up to 1."""


def fitted_mixture(
    pairs: FloatArray, weights: FloatArray, columns: FloatArray, rows: IntArray, offsets: IntArray, steps: int
) -> Mixture:
    """Return the mixture that fits pair tables.

    Parameters
    ----------
    pairs : float array, shape (values, values)
        Shares of all pairs of values of all columns.
    weights : float array, the same shape
        How much each counts; 0 for pairs of values of one column.
    columns : float array, shape (values,)
        Shares of the values of each column.
    rows : int64 array, shape (components, n_columns)
        A row for each component to start from.
    offsets : int64 array, shape (n_columns + 1,)
        Where the values of each column begin.
    steps : int
        Steps of the fit.

    Notes
    -----
    The weighted log-likelihood of the pairs has an EM step that multiplies each share of a component by the mean ratio
    of wanted to fitted pairs, as of non-negative matrix factorization (Lee, Seung 2000).
    """
    components = len(rows)
    starts, sizes = offsets[:-1], np.diff(offsets)
    own = np.repeat(columns[np.newaxis], components, axis=0) * _START + 1e-6
    np.put_along_axis(own, rows + starts, np.take_along_axis(own, rows + starts, axis=1) + 1 - _START, axis=1)
    shares = shares_of_columns(own.astype(np.float32), starts, sizes)
    mixing = np.full(components, 1 / components, dtype=np.float32)
    wanted: Matrix = (weights * np.maximum(pairs, 0)).astype(np.float32)
    alone: Matrix = (_COLUMNS * columns).astype(np.float32)
    power = np.float32(_RELAXATION)
    for _ in range(steps):
        found = shares.T @ (shares * mixing[:, np.newaxis])
        ratio = wanted / np.maximum(found, np.float32(_TINY))
        factor = shares @ ratio
        factor += alone / np.maximum(mixing @ shares, np.float32(_TINY))
        gain = np.einsum("kv,kv->k", shares, factor)
        np.maximum(factor, np.float32(_TINY), out=factor)
        shares = shares_of_columns(np.maximum(shares * factor**power, np.float32(_TINY)), starts, sizes)
        mixing = mixing * (gain / (mixing @ gain)) ** power
        mixing /= mixing.sum()
    return Mixture(weights=mixing.astype(np.float64), shares=shares.astype(np.float64))


def shares_of_columns(shares: Matrix, starts: IntArray, sizes: IntArray) -> Matrix:
    """Return shares that add up to 1 for each column."""
    sums = np.add.reduceat(shares, starts, axis=1)
    return np.asarray(shares / np.repeat(sums, sizes, axis=1), dtype=np.float32)
