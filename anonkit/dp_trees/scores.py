# SPDX-License-Identifier: Apache-2.0
"""Split scores: integer scores of proven sensitivity, and float measures for counts that already carry noise.

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

from anonkit.domains.array_types import FloatArray, IntArray

STEP_BITS = 8
"""Scores that are not integer numbers of rows are in steps of 2**-8."""
LARGEST_TABLE = 1 << 28
"""Most rows for which an entropy is scored exactly, unless fewer are declared; see `ENTROPY`."""
_EXACT_SQUARE = (1 << 31) - 1
"""Counts up to this have squares of 64 bits."""

_STEPS = 1 << STEP_BITS


@dataclass(frozen=True, kw_only=True)
class Score:
    """A split score with its sensitivity."""

    name: str
    of: Callable[[IntArray, int], IntArray]
    """Class counts of the children, shape (..., children, classes), and the rows of the width, to steps, shape (...).

    Any table is taken: the width holds for those of more rows, too.
    """
    width: Callable[[int, int], int]
    """Classes and the rows up to which the score is exact to the width of the changes that one row makes, in steps."""


def _max_class(children: IntArray, max_rows: int) -> IntArray:
    return np.asarray(children.max(axis=-1).sum(axis=-1), dtype=np.int64)


def _gini(children: IntArray, max_rows: int) -> IntArray:
    """Return -sum of rows * Gini, each child rounded towards 0: rounding down keeps both monotony and width exactly."""
    rows = children.sum(axis=-1)
    if int(rows.max(initial=0)) > _EXACT_SQUARE:  # Python's integers have no largest one
        children, rows = children.astype(object), rows.astype(object)
    impure = rows * rows - (children * children).sum(axis=-1)
    divisor = np.maximum(rows, 1)
    quotient, rest = impure // divisor, impure % divisor
    steps = quotient * _STEPS + rest * _STEPS // divisor
    return np.asarray(-steps.sum(axis=-1), dtype=np.int64)


def _x_log_x(x: FloatArray) -> FloatArray:
    return np.asarray(x * np.log2(np.maximum(x, 1.0)))


def _entropy(children: IntArray, max_rows: int) -> IntArray:
    """Return -n entropy with f(x) = x log2 x for up to N rows, and a straight line beyond, in whole steps.

    A row that comes adds f(n + 1) - f(n) - (f(c + 1) - f(c)) to a child of n rows, c of its class. f is convex and
    c <= n, so that is at least 0; f rises, so it is at most the steepest slope of f, that of the line, whatever n is.
    """
    rows = children.sum(axis=-1)
    exact = np.minimum(children, max_rows).astype(np.float64)
    within = _x_log_x(np.minimum(rows, max_rows).astype(np.float64)) - _x_log_x(exact).sum(axis=-1)
    beyond = np.maximum(rows - max_rows, 0) - np.maximum(children - max_rows, 0).sum(axis=-1)
    slope = math.ceil(_steepest(max_rows) * _STEPS)
    # each child is rounded by itself and the steps are added as integers: the float error of a child that nobody comes
    # to is the same on neighbouring tables, so that any number of children and rows keeps the width
    return np.asarray(-np.rint(within * _STEPS).astype(np.int64).sum(axis=-1) - slope * beyond.sum(axis=-1))


def _steepest(max_rows: int) -> float:
    """Return a bound on the slope of x log2 x up to N + 1, in bits."""
    return math.log2(max_rows + 1) + 1 / math.log(2)


def _entropy_width(classes: int, max_rows: int) -> int:
    """Return the width: a row adds between 0 and log2(N + 1) + 1/ln 2 bits, and rounding moves either end by a step."""
    return math.ceil(_steepest(max_rows) * _STEPS) + 2


def _mean_entropy(children: IntArray, max_rows: int) -> IntArray:
    rows = np.maximum(children.sum(axis=(-1, -2)), 1)
    lowest = -_entropy_steps(children.shape[-1])
    return np.asarray(
        np.clip(-np.rint(_n_entropy_of(children.astype(np.float64)) / rows * _STEPS), lowest, 0), dtype=np.int64
    )


def _entropy_steps(classes: int) -> int:
    return math.ceil(math.log2(max(classes, 2)) * _STEPS)


MAX_CLASS = Score(name="max-class", of=_max_class, width=lambda classes, max_rows: 1)
"""Rows of the commonest class, summed over the children. A row that comes adds 0 or 1."""
GINI = Score(name="gini", of=_gini, width=lambda classes, max_rows: 2 << STEP_BITS)
"""-n Gini, summed over the children. A row that comes lowers it, by less than 2."""
ENTROPY = Score(name="entropy", of=_entropy, width=_entropy_width)
"""-n entropy in bits, summed over the children: n times the information gain, up to what all splits share.

Its sensitivity grows with the rows it is exact for; a child of more (a larger table, or the copies of a bootstrap) is
scored along a straight line, so that the width holds for any table."""
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
    """Return the gain ratio of C4.5 from noisy counts only, since its sensitivity is unbounded."""
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
