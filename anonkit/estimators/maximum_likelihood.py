# SPDX-License-Identifier: Apache-2.0
"""Maximum-likelihood distribution behind randomized answers by Newton's method, in tens of steps (EM: thousands).

The log-likelihood of the answers is concave in the shares. Its maximum on the simplex is approached from inside, along
the maxima of log-likelihood + μ Σ ln(share) for falling μ (Boyd & Vandenberghe, Convex Optimization, 2004, §11).
"""

from __future__ import annotations

import numpy as np

from anonkit.domains.array_types import FloatArray
from anonkit.published.one_thread import one_thread

LARGEST = 400
"""Shares estimated together at most: a step solves that many linear equations."""

_BARRIERS = tuple(10.0**-power for power in range(6))
_MOST_STEPS = 40  # at each barrier; about five are taken
_CLOSE = 0.01  # share of what the barrier costs that the Newton decrement may leave
_LEAST = 1e-300


@one_thread()
def likeliest_shares(counts: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return the maximum-likelihood shares behind the answer counts.

    Parameters
    ----------
    counts : array, shape (n_answers,)
        Not negative; a sum of 0 gives equal shares.
    matrix : array, shape (n_shares, n_answers)
        Probability of each answer under each true value.

    Returns
    -------
    array, shape (n_shares,)
        Positive, adding up to 1; the log-likelihood of all answers is within `n_shares` / 100,000 of the highest.
    """
    size = len(matrix)
    shares = np.full(size, 1 / size)
    given = counts > 0
    seen, answers = counts[given], matrix[:, given]
    if size == 1 or not given.any():
        return shares
    for barrier in _BARRIERS:
        for _ in range(_MOST_STEPS):
            shares, decrement = _newton_step(shares, seen, answers, barrier)
            if decrement < _CLOSE * barrier * size:
                break
    return np.asarray(shares / shares.sum())


def _newton_step(shares: FloatArray, seen: FloatArray, answers: FloatArray, barrier: float) -> tuple[FloatArray, float]:
    """Return better shares with the same sum, and the Newton decrement: twice what a whole step promises to gain."""
    expected = shares @ answers
    slope = answers @ (seen / expected) + barrier / shares
    curvature = (answers * (seen / expected**2)) @ answers.T
    curvature[np.diag_indices(len(shares))] += barrier / shares**2
    solved = np.linalg.solve(curvature, np.stack([slope, np.ones_like(slope)], axis=1))
    step = solved[:, 0] - solved[:, 0].sum() / solved[:, 1].sum() * solved[:, 1]
    decrement = float(slope @ step)
    falling = step < 0
    length = min(1.0, 0.99 * float(np.min(-shares[falling] / step[falling]))) if falling.any() else 1.0
    before = _objective(shares, seen, answers, barrier)
    while length > 1e-9:
        ahead = shares + length * step
        if _objective(ahead, seen, answers, barrier) >= before + 0.1 * length * decrement:
            return ahead, decrement
        length /= 2
    return shares, 0.0  # rounding leaves nothing to gain


def _objective(shares: FloatArray, seen: FloatArray, answers: FloatArray, barrier: float) -> float:
    expected = np.maximum(shares @ answers, _LEAST)
    return float(seen @ np.log(expected) + barrier * np.log(np.maximum(shares, _LEAST)).sum())
