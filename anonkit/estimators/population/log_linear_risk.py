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

import numpy as np
from numpy.typing import NDArray

MOST_CELLS = 4_000_000
"""Cells of the full table above which the model of all pairs is not fitted."""
_MOST_ROUNDS = 60


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


def main_effects(columns: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
    """Return the rows expected in the cell of each row, were all columns independent, shape (n_rows,).

    Parameters
    ----------
    columns : sequence of int64 arrays, shape (n_rows,)
        Codes of each column, at least 0; at least one column.
    """
    n_rows = columns[0].size
    expected = np.full(n_rows, float(n_rows))
    for codes in columns:
        expected *= (np.bincount(codes) / n_rows)[codes]
    return expected


def all_pairs(columns: Sequence[NDArray[np.int64]]) -> NDArray[np.float64] | None:
    """Return the rows expected in the cell of each row by the model with all interactions of two columns.

    Fitted by iterative proportional fitting of the full table; None where that has more than `MOST_CELLS` cells. A
    table of one or two columns fits exactly.

    Parameters
    ----------
    columns : sequence of int64 arrays, shape (n_rows,)
        Codes of each column, at least 0; at least one column.
    """
    shape = tuple(int(codes.max(initial=0)) + 1 for codes in columns)
    if math.prod(shape) > MOST_CELLS:
        return None
    n_rows, axes = columns[0].size, range(len(shape))
    pairs: list[tuple[int, ...]] = list(combinations(axes, min(2, len(shape))))
    margins = []
    for pair in pairs:
        others = tuple(axis for axis in axes if axis not in pair)
        sizes = [shape[axis] for axis in pair]
        counted = np.bincount(np.ravel_multi_index([columns[a] for a in pair], sizes), minlength=math.prod(sizes))
        kept = [shape[axis] if axis in pair else 1 for axis in axes]
        margins.append((others, counted.reshape(kept).astype(np.float64)))
    fitted = np.full(shape, n_rows / math.prod(shape))
    for _ in range(_MOST_ROUNDS):
        worst = 0.0
        for others, wanted in margins:
            reached = fitted.sum(axis=others, keepdims=True)
            worst = max(worst, float(np.abs(reached - wanted).max()))
            fitted *= np.divide(wanted, reached, out=np.zeros_like(wanted), where=reached > 0)
        if worst < 1e-4:
            break
    return np.asarray(fitted[tuple(columns)], np.float64)
