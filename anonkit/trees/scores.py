# SPDX-License-Identifier: Apache-2.0
"""How good a split is: integer scores whose sensitivity is proved, and float measures for counts with noise.

A score maps the class counts of the children, shape (..., children, classes), to whole steps of a public grid. Its
`width` is the width of the range in which one row that comes can move the scores of all candidate splits: what a
private choice pays per step (see `anonkit.mechanisms.private_selection`). A row is in one child only, so the range of
one child is the range of the sum. The tests recompute every width by brute force.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

STEP_BITS = 8
"""Scores that are not whole numbers of rows are in steps of 2**-8."""
LARGEST_TABLE = 1 << 28
"""No table of more rows is taken: entropies have a sensitivity that grows with the rows."""

_STEPS = 1 << STEP_BITS


@dataclass(frozen=True, kw_only=True)
class Score:
    """A score with its sensitivity."""

    name: str
    of: Callable[[IntArray], IntArray]
    """Class counts of the children, shape (..., children, classes), to steps, shape (...)."""
    width: Callable[[int, int], int]
    """Classes and a public bound on the rows to the width of the changes that one row makes, in steps."""


def _max_class(children: IntArray) -> IntArray:
    return np.asarray(children.max(axis=-1).sum(axis=-1), dtype=np.int64)


def _gini(children: IntArray) -> IntArray:
    """Return -sum of rows * Gini, each child rounded towards 0: rounding down keeps both monotony and width exactly."""
    rows = children.sum(axis=-1)
    impure = rows * rows - (children * children).sum(axis=-1)
    quotient, rest = np.divmod(impure, np.maximum(rows, 1))
    steps = (quotient << STEP_BITS) + (rest << STEP_BITS) // np.maximum(rows, 1)
    return np.asarray(-steps.sum(axis=-1), dtype=np.int64)


def _n_entropy(children: IntArray) -> FloatArray:
    """Return the sum of rows * entropy in bits over the children, shape (...)."""
    counts = children.astype(np.float64)
    rows = counts.sum(axis=-1)
    return np.asarray((_x_log_x(rows) - _x_log_x(counts).sum(axis=-1)).sum(axis=-1))


def _x_log_x(x: FloatArray) -> FloatArray:
    return np.asarray(x * np.log2(np.maximum(x, 1.0)))


def _entropy(children: IntArray) -> IntArray:
    return np.asarray(-np.rint(_n_entropy(children) * _STEPS), dtype=np.int64)


def _entropy_width(classes: int, max_rows: int) -> int:
    """Return the width: a row adds between 0 and log2(N + 1) + 1/ln 2 bits, and rounding moves either end by a step."""
    return math.ceil((math.log2(max_rows + 1) + 1 / math.log(2)) * _STEPS) + 2


def _mean_entropy(children: IntArray) -> IntArray:
    rows = np.maximum(children.sum(axis=(-1, -2)), 1)
    lowest = -_entropy_steps(children.shape[-1])
    return np.asarray(np.clip(-np.rint(_n_entropy(children) / rows * _STEPS), lowest, 0), dtype=np.int64)


def _entropy_steps(classes: int) -> int:
    return math.ceil(math.log2(max(classes, 2)) * _STEPS)


MAX_CLASS = Score(name="max-class", of=_max_class, width=lambda classes, max_rows: 1)
"""Rows of the commonest class, summed over the children. A row that comes adds 0 or 1."""
GINI = Score(name="gini", of=_gini, width=lambda classes, max_rows: 2 << STEP_BITS)
"""-n Gini, summed over the children. A row that comes lowers it, by less than 2."""
ENTROPY = Score(name="entropy", of=_entropy, width=_entropy_width)
"""-n entropy in bits, summed over the children: n times the information gain, up to what all splits share."""
INFORMATION_GAIN = Score(
    name="information-gain", of=_mean_entropy, width=lambda classes, max_rows: 2 * _entropy_steps(classes)
)
"""Information gain in bits, not weighted by rows, up to what all splits share. Only its range [0, log2 m] bounds it."""

SCORES = {score.name: score for score in (GINI, MAX_CLASS, ENTROPY, INFORMATION_GAIN)}


def noisy_information_gain(children: FloatArray) -> FloatArray:
    """Return the information gain in bits, n-weighted, from noisy counts; negative counts count as 0.

    Parameters
    ----------
    children : float array, shape (n, splits, children, classes)

    Returns
    -------
    float array, shape (n, splits)
    """
    counts = np.maximum(children, 0.0)
    together = counts.sum(axis=2, keepdims=True)
    return np.asarray(_n_entropy_of(together) - _n_entropy_of(counts))


def noisy_gain_ratio(children: FloatArray) -> FloatArray:
    """Return information gain over split information (C4.5), from noisy counts only: it has no bounded sensitivity."""
    counts = np.maximum(children, 0.0)
    rows = counts.sum(axis=-1)
    total = rows.sum(axis=-1)
    split = _x_log_x(total) - _x_log_x(rows).sum(axis=-1)
    gain = noisy_information_gain(children)
    return np.asarray(np.where(split > 1e-9, gain / np.maximum(split, 1e-9), 0.0))


def _n_entropy_of(counts: FloatArray) -> FloatArray:
    rows = counts.sum(axis=-1)
    return np.asarray((_x_log_x(rows) - _x_log_x(counts).sum(axis=-1)).sum(axis=-1))


def sulq_information(children: FloatArray) -> FloatArray:
    """Return the sum of N_jc log2(N_jc / N_j), N_j being noisy counts of their own, the last along the classes' axis.

    Friedman & Schuster 2010, algorithm 1, after Blum et al. 2005. Terms of counts that are not positive are left out.
    """
    counts, totals = children[..., :-1], children[..., -1:]
    usable = (counts > 0) & (totals > 0)
    ratio = np.where(usable, counts, 1.0) / np.where(usable, np.broadcast_to(totals, counts.shape), 1.0)
    return np.asarray(np.where(usable, counts * np.log2(ratio), 0.0).sum(axis=(-1, -2)))
