# SPDX-License-Identifier: Apache-2.0
"""Risk of sample uniques by log-linear models: how many are population uniques, and how many would be matched rightly.

References
----------
C. J. Skinner and D. J. Holmes (1998). Estimating the re-identification risk per record in microdata. J. Official
Statistics 14(4), 361-372.
C. Skinner and N. Shlomo (2008). Assessing identification risk in survey microdata using log-linear models. JASA
103(483), 989-1001.

Risk of each person against a population, by the weights of a sample: the expected share of the right match.

References
----------
R. Benedetti and L. Franconi (1998). Statistical and technological solutions for controlled data dissemination.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LARGE = 20  # rows from which on the terms of the series fall fast enough, whatever the fraction
_CLOSE = 0.2
_TERMS = 60


def individual_risk(rows: NDArray[np.int64], people: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return E[1/F | f] of each class: the expected risk that a person of it is found in the population.

    Parameters
    ----------
    rows : int64 array, shape (n_classes,)
        Rows of each class in the sample, f, at least 1.
    people : float64 array, shape (n_classes,)
        Estimated people of each class in the population: the sum of the weights of its rows, at least `rows`.

    Returns
    -------
    float64 array, shape (n_classes,)
        In (0, 1]. With p = rows / people, and F given f negative binomial, it is
        p^f / f * 2F1(f, f; f + 1; 1 - p). The sum over all rows of a table is the expected number of people found.

    Raises
    ------
    ValueError
        A class has no row, or fewer people than rows.

    Notes
    -----
    Euler's transformation makes this p / f * 2F1(1, 1; f + 1; 1 - p), which overflows for no f: scipy evaluates it for
    small classes, and its series for large ones, whose terms fall like 1 / binomial(f + k, k). Classes of one
    and of two rows have closed forms.
    """
    f, population = np.asarray(rows, np.float64), np.asarray(people, np.float64)
    if (f < 1).any() or not (population >= f).all():
        raise ValueError("a class has at least one row, and at least as many people as rows")
    p, q = f / population, (population - f) / population
    with np.errstate(divide="ignore", invalid="ignore"):
        odds, logarithm = p / q, -np.log(p)
        one, two = odds * logarithm, odds - odds**2 * logarithm
    # close to q = 0 the closed forms cancel out, and the series of any class converges at once
    closed, large = (f <= 2) & (q > _CLOSE), (f >= _LARGE) | (q <= _CLOSE)
    risk = np.where(f == 1, one, two)
    risk[large] = p[large] / f[large] * _series(f[large], q[large])
    rest = ~(closed | large)
    if rest.any():
        from scipy.special import hyp2f1

        risk[rest] = p[rest] / f[rest] * hyp2f1(1.0, 1.0, f[rest] + 1, q[rest])
    return np.asarray(risk, np.float64)


def _series(f: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 2F1(1, 1; f + 1; q), term by term."""
    total, term = np.ones_like(f), np.ones_like(f)
    for k in range(1, _TERMS):
        term = term * (k * q / (f + k))
        total += term
    return total


def household_risk(risk: NDArray[np.float64], household: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each person the risk that anybody of their household is found, 1 - prod(1 - risk).

    Parameters
    ----------
    risk : float64 array, shape (n_people,)
        Risk of each person, in [0, 1].
    household : int64 array, shape (n_people,)
        Number of each person's household, at least 0.

    Returns
    -------
    float64 array, shape (n_people,)
        In [0, 1]; the same for all of a household.
    """
    with np.errstate(divide="ignore"):
        unfound = np.bincount(household, weights=np.log1p(-np.asarray(risk, np.float64)))
    return -np.expm1(unfound[household])


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
        margin_shape = [shape[axis] if axis in pair else 1 for axis in axes]
        margins.append(
            (others, np.bincount(cells, minlength=math.prod(sizes)).reshape(margin_shape).astype(np.float64))
        )
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
