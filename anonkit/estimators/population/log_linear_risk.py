# SPDX-License-Identifier: Apache-2.0
"""Risk of sample uniques by log-linear models: how many are population uniques, and how many would be matched rightly.

References
----------
C. J. Skinner and D. J. Holmes (1998). Estimating the re-identification risk per record in microdata. J. Official
Statistics 14(4), 361-372.
C. Skinner and N. Shlomo (2008). Assessing identification risk in survey microdata using log-linear models. JASA
103(483), 989-1001.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_CELLS = 4_000_000
"""Cells of the full table above which the model of all pairs is not fitted."""
_MOST_ROUNDS = 60
_CLOSE_ENOUGH = 1e-4  # rows by which a margin may be off


def sample_unique_risk(expected: NDArray[np.float64], fraction: float) -> tuple[float, float]:
    """Return tau 1 and tau 2 of sample uniques.

    Parameters
    ----------
    expected : float64 array, shape (n_uniques,)
        Rows that a model expects in the cell of each sample unique, above 0.
    fraction : float
        Sampling fraction, in (0, 1].

    Returns
    -------
    tau1 : float
        Expected number of sample uniques that are population uniques: sum of exp(-v), v = expected (1 - f) / f.
    tau2 : float
        Expected number of right matches of sample uniques: sum of (1 - exp(-v)) / v.

    Notes
    -----
    Sample counts are Poisson with the expected mean, those of the population Poisson with the mean over the fraction.
    """
    v = np.asarray(expected, np.float64) * ((1 - fraction) / fraction)
    right = np.ones_like(v)
    np.divide(-np.expm1(-v), v, out=right, where=v > 0)
    return float(np.exp(-v).sum()), float(right.sum())


def main_effects(columns: Sequence[NDArray[np.int64]], at: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.float64]:
    """Return the rows that independent columns would have in some cells, shape (n_cells,).

    Parameters
    ----------
    columns : sequence of int64 arrays, shape (n_rows,)
        Codes of each column, at least 0; at least one column and one row.
    at : sequence of int arrays, shape (n_cells,)
        The cells, as codes of each column that its rows have.
    """
    n_rows = columns[0].size
    expected = np.full(at[0].size, float(n_rows))
    for codes, cells in zip(columns, at, strict=True):
        expected *= (np.bincount(codes) / n_rows)[cells]
    return expected


def all_pairs(
    columns: Sequence[NDArray[np.int64]], at: Sequence[NDArray[np.integer[Any]]]
) -> NDArray[np.float64] | None:
    """Return the rows that the model with all interactions of two columns has in some cells, shape (n_cells,).

    Fitted by iterative proportional fitting of the full table; None where that has more than `MOST_CELLS` cells. One or
    two columns fit exactly.

    Parameters
    ----------
    columns, at
        As for `main_effects`.
    """
    shape = tuple(int(codes.max()) + 1 for codes in columns)
    if math.prod(shape) > MOST_CELLS:
        return None
    axes = range(len(shape))
    margins = []
    for pair in combinations(axes, min(2, len(shape))):
        others = tuple(axis for axis in axes if axis not in pair)
        sizes = [shape[axis] for axis in pair]
        cells = np.ravel_multi_index([columns[axis] for axis in pair], sizes)
        kept = [shape[axis] if axis in pair else 1 for axis in axes]
        margins.append((others, np.bincount(cells, minlength=math.prod(sizes)).reshape(kept).astype(np.float64)))
    fitted = np.full(shape, columns[0].size / math.prod(shape))
    for _ in range(_MOST_ROUNDS):
        worst = 0.0
        for others, wanted in margins:
            reached = fitted.sum(axis=others, keepdims=True)
            worst = max(worst, float(np.abs(reached - wanted).max()))
            fitted *= np.divide(wanted, reached, out=np.zeros_like(wanted), where=reached > 0)
        if worst < _CLOSE_ENOUGH:
            break
    return np.asarray(fitted[tuple(at)], np.float64)
