# SPDX-License-Identifier: Apache-2.0
"""Runs of cells of a number in which noisy counts show nobody, such as those far above most rows.

What noise leaves in many empty cells is little by itself, but moves a mean and a deviation far. A run of cells, one of
the halves, quarters, … of the range, is empty where its sum does not exceed the noise of a sum, while its neighbour of
the same width has clearly more. A cell in it that exceeds the noise by itself is not empty, nor are neighbouring runs
that exceed it together. Post-processing of noisy counts, at no privacy loss.
"""

from __future__ import annotations

import math

import numpy as np

from anonkit.domains.array_types import BoolArray, FloatArray
from anonkit.dp_trees.microdata import consistent

_ABOVE = 2.0
"""Standard deviations of its noise that what is not empty is above."""
_ABOVE_AT_BOUNDS = 0.0
"""The same of the first and the last cell: all that lies beyond the bounds counts there."""
_SHORTEST = 1 / 8
"""Part of the cells that an empty run has, at least: what is near to many rows may well have a few."""
_CLEARLY = 4.2
"""Standard deviations of its noise that a neighbour has more, at least."""
_TOGETHER = 3.0
"""Standard deviations of its noise that the sum of neighbouring empty runs is not above: else rows are in them."""
_FEWEST_CELLS, _FEWEST_ROWS = 12, 8.0
"""Nothing is empty among fewer cells, or with fewer rows, in standard deviations of the noise of all of them."""


def kept_cells(counts: FloatArray, deviation: float) -> BoolArray:
    """Return which cells may have rows, shape (cells,).

    Parameters
    ----------
    counts : float array, shape (cells,)
        Noisy rows of the cells of a number, in their order.
    deviation : float
        Of the noise of each.
    """
    kept = np.ones(counts.size, dtype=bool)
    if counts.size < _FEWEST_CELLS or counts.sum() < _FEWEST_ROWS * deviation * math.sqrt(counts.size):
        return kept
    _cut(counts, deviation, 0, counts.size, kept)
    _keep_measured_runs(counts, deviation, kept)
    limits = np.full(counts.size, _ABOVE)
    limits[[0, -1]] = _ABOVE_AT_BOUNDS
    return np.asarray(kept | (counts > limits * deviation))


def without_empty(counts: FloatArray, deviation: float) -> FloatArray:
    """Return counts that are not negative, 0 in empty cells, and add up to the noisy ones; see `kept_cells`."""
    kept, out = kept_cells(counts, deviation), np.zeros(counts.size)
    total, own = max(float(counts.sum()), 0.0), np.maximum(counts[kept], 0.0)
    if own.sum() > 0:
        out[kept] = consistent(counts[kept] + (total - counts[kept].sum()) * own / own.sum())
    return out


def _cut(counts: FloatArray, deviation: float, first: int, after: int, kept: BoolArray) -> None:
    """Mark the empty half of a run that is not empty, and go on in a half that is not."""
    if after - first < max(2 * _SHORTEST * counts.size, 4):
        return
    middle = (first + after) // 2
    halves = ((first, middle), (middle, after))
    sums = [float(counts[low:high].sum()) for low, high in halves]
    noise = [deviation * math.sqrt(high - low) for low, high in halves]
    if all(own <= _ABOVE * part for own, part in zip(sums, noise, strict=True)):
        return
    for at, (low, high) in enumerate(halves):
        other = sums[1 - at] * (high - low) / (after - first - (high - low))
        if sums[at] > _ABOVE * noise[at]:
            _cut(counts, deviation, low, high, kept)
        elif other - sums[at] > _CLEARLY * noise[at]:
            kept[low:high] = False


def _keep_measured_runs(counts: FloatArray, deviation: float, kept: BoolArray) -> None:
    """Unmark neighbouring runs that are each within their noise, and together clearly above it."""
    ends = np.flatnonzero(np.diff(np.concatenate([[True], kept, [True]]).astype(np.int8)))
    for first, after in ends.reshape(-1, 2).tolist():
        if counts[first:after].sum() > _TOGETHER * deviation * math.sqrt(after - first):
            kept[first:after] = True
