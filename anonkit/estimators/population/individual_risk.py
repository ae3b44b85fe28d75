# SPDX-License-Identifier: Apache-2.0
"""Risk of each person against a population, by the weights of a sample: the expected share of the right match.

References
----------
R. Benedetti and L. Franconi (1998). Statistical and technological solutions for controlled data dissemination.
"""

from __future__ import annotations

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
