# SPDX-License-Identifier: Apache-2.0
"""A mixture in whole units: what is published, and what rows are drawn from."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.dp_trees.marginals.product_mixture import Mixture
from anonkit.published.product_mixtures import SHARE_UNITS, WEIGHT_UNITS, ClassMixture


def in_units(mixture: Mixture, offsets: IntArray, rows: float) -> ClassMixture:
    """Return a mixture in whole units, components without any left out.

    Parameters
    ----------
    mixture : Mixture
    offsets : int64 array, shape (n_columns + 1,)
        Where the values of each column begin.
    rows : float
        Rows of the class by the noisy tables; below 0 counts as 0.
    """
    weights = whole_parts(mixture.weights[np.newaxis], WEIGHT_UNITS)[0]
    kept = weights > 0
    parts = np.split(mixture.shares[kept], offsets[1:-1], axis=1)
    return ClassMixture(
        rows=max(round(rows), 0),
        weights=weights[kept],
        shares=np.concatenate([whole_parts(part, SHARE_UNITS) for part in parts], axis=1),
    )


def without_values(mixture: Mixture, values: IntArray, offsets: IntArray) -> Mixture:
    """Return a mixture in which some values do not occur; their shares go to the others of their column.

    Parameters
    ----------
    mixture : Mixture
    values : int64 array
        Among the values of all columns, not all of a column.
    offsets : int64 array, shape (n_columns + 1,)
        Where the values of each column begin.

    Notes
    -----
    In proportion to what these have, in a component where they have nothing in proportion to what they have in all.
    """
    shares = mixture.shares.copy()
    for first, after in pairwise(offsets.tolist()):
        gone = np.isin(np.arange(first, after), values)
        if not gone.any():
            continue
        own = shares[:, first:after]
        own[:, gone] = 0.0
        whole, of_all = own.sum(axis=1, keepdims=True), mixture.weights @ own
        of_all = of_all if of_all.sum() > 0 else (~gone).astype(np.float64)
        own[:] = np.where(whole > 0, own / np.where(whole > 0, whole, 1.0), of_all / of_all.sum())
    return Mixture(weights=mixture.weights, shares=shares)


def whole_parts(shares: FloatArray, units: int) -> IntArray:
    """Return integers in proportion to shares that add up to `units` in each row: largest remainders first.

    Parameters
    ----------
    shares : float array, shape (n, m)
        At least 0, with a positive sum in each row.
    """
    exact = shares / shares.sum(axis=1, keepdims=True) * units
    whole = np.floor(exact).astype(np.int64)
    order = np.argsort(whole - exact, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(shares.shape[1]), shares.shape), axis=1)
    return np.asarray(whole + (rank < units - whole.sum(axis=1, keepdims=True)), dtype=np.int64)
