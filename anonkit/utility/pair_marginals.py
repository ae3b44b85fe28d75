# SPDX-License-Identifier: Apache-2.0
"""Error of a release in the joint distribution of every two columns: mean total variation of the 2-way marginals."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.utility.class_utility import codes_of

_BINS = 20
HOW = (
    f"every two columns, numbers in {_BINS} parts of about as many rows, the rarest categories beyond {_BINS} as one; "
    "a released cell is spread evenly over the parts that it stands for; total variation of the two tables, in [0, 1]"
)


def pair_marginals(source: pa.Table, shown: pa.Table, released: NDArray[np.bool_]) -> dict[str, Any] | None:
    """Compare the joint distribution of every two columns in a source and in its release.

    Parameters
    ----------
    source : Table
        True cells of the quasi-identifiers.
    shown : Table
        The same rows as their release shows them; a column that is not released is not in it, and may be anything.
    released : ndarray of shape (n_rows,)
        Rows that are in the release.

    Returns
    -------
    dict or None
        `pairs`, `mean_total_variation`, `worst` and `worst_pair`, and `how`; None for fewer than two columns that have
        two values, or without a released row.

    Privacy
    -------
    Computed from the source: the owner's.
    """
    bins = {name: _bins(source.column(name)) for name in source.column_names}
    names = [name for name, codes in bins.items() if codes.size and codes.max() > 0]
    if len(names) < 2 or not released.any():
        return None
    labels = {name: _labels(shown, name, released.size) for name in names}
    spread = {name: _spread(labels[name], bins[name]) for name in names}
    found = {}
    for pair in combinations(names, 2):
        (one, other), (left, right) = (bins[name] for name in pair), (labels[name][released] for name in pair)
        true = _joint(one, other, one.max() + 1, other.max() + 1)
        shapes = (len(spread[pair[0]]), len(spread[pair[1]]))
        told = spread[pair[0]].T @ _joint(left, right, *shapes) @ spread[pair[1]]
        found[pair] = float(np.abs(true - told).sum() / 2)
    worst = max(found, key=lambda pair: found[pair])
    return {
        "pairs": len(found),
        "mean_total_variation": round(float(np.mean(list(found.values()))), 4),
        "worst": round(found[worst], 4),
        "worst_pair": list(worst),
        "how": HOW,
    }


def _bins(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the part of each cell, shape (n_rows,), dense from 0; missing is the last."""
    codes, sizes = codes_of(column)
    if sizes.size <= _BINS:
        return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.int64)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        place = np.empty(sizes.size, dtype=np.int64)
        place[np.argsort(-sizes, kind="stable")] = np.arange(sizes.size)
        return np.asarray(np.minimum(place, _BINS - 1)[codes])
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.unique((_BINS * before // codes.size)[codes], return_inverse=True)[1], dtype=np.int64)


def _labels(shown: pa.Table, name: str, n_rows: int) -> NDArray[np.int64]:
    """Return the released cell of each row as a code; one for all rows where the column is not released."""
    return codes_of(shown.column(name))[0] if name in shown.column_names else np.zeros(n_rows, dtype=np.int64)


def _spread(labels: NDArray[np.int64], bins: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how a released cell is spread over the parts that occur under it, shape (n_labels, n_bins)."""
    there = _joint(labels, bins, int(labels.max()) + 1, int(bins.max()) + 1) > 0
    return np.asarray(there / np.maximum(there.sum(axis=1, keepdims=True), 1))


def _joint(left: NDArray[np.int64], right: NDArray[np.int64], height: int, width: int) -> NDArray[np.float64]:
    counts = np.bincount(left * width + right, minlength=height * width)
    return np.asarray(counts.reshape(height, width) / left.size, dtype=np.float64)
