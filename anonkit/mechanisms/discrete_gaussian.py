# SPDX-License-Identifier: Apache-2.0
"""The discrete Gaussian law, drawn exactly on secure words, for whole arrays at a time.

P(y) is proportional to exp(-a y**2) with a = rate / 2**52, an integer number of units: sigma**2 = 1 / (2 a). One row
that moves one count by one loses rho = a of zero-concentrated differential privacy (Bun and Steinke 2016), and losses
add up, so that the published rate is the loss itself.

Source: Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020 (arXiv 2004.00010),
algorithm 3: propose by a discrete Laplace law, keep by a coin. Their coin has a rational exponent with a large
denominator. Here the proposal has the rate (2 m - 1) a for a whole m, and is kept with probability
exp(-a (|y| - m) (|y| - m + 1)): the product of both is exp(-a y**2) times a constant, since

    (2 m - 1) |y| + (|y| - m) (|y| - m + 1) = y**2 + m (m - 1),

and the exponent is an integer number of steps, never below 0, each of the rate itself. No number is ever rounded.
"""

from __future__ import annotations

import math

import numpy as np

from anonkit.domains.coded_columns import IntArray
from anonkit.errors import ParameterError
from anonkit.mechanisms.discrete_laplace import UniformStream, bernoulli_exp_exactly, discrete_laplace
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.noisy_tables import GAUSSIAN
from anonkit.published.statements.draws import RATES

LEAST_RATE, RATE_LIMIT = RATES[GAUSSIAN]
"""Standard deviations up to 741,455: beyond, the square of a draw might leave 63 bits."""


def discrete_gaussian(n: int, rate: int, words: UniformStream) -> IntArray:
    """Draw `n` integers with P(y) proportional to exp(-y**2 * rate / 2**52).

    Parameters
    ----------
    n : int
    rate : int
        In units of 2**-52, in [2**12, 2**57).
    words : UniformStream

    Returns
    -------
    int64 array, shape (n,)

    Raises
    ------
    ParameterError
        The rate is outside its range.

    Privacy
    -------
    Added to integer counts which one row changes by vectors of Euclidean length at most L, the sums are
    L**2 * rate / 2**52 zero-concentrated differentially private, exactly (theorem 4 of the source, in its form for
    several counts).
    """
    if not LEAST_RATE <= rate < RATE_LIMIT:
        raise ParameterError(
            f"Gaussian noise of {rate / 2**RATE_BITS:.3g} rho a count is outside its range",
            "spend more, or divide it less",
        )
    # near sigma + 1 about three of four proposals are kept; any m from 1 on leaves the same law
    middle = math.isqrt((1 << (RATE_BITS - 1)) // rate) + 1
    out = np.empty(n, dtype=np.int64)
    filled = 0
    while filled < n:
        proposed = discrete_laplace((n - filled) * 3 // 2 + 8, rate * (2 * middle - 1), words)
        beyond = np.abs(proposed) - middle
        accepted = proposed[bernoulli_exp_exactly(beyond * (beyond + 1), rate, words)][: n - filled]
        out[filled : filled + accepted.size] = accepted
        filled += accepted.size
    return out


def gaussian_counts(counts: IntArray, rate: int, words: UniformStream) -> IntArray:
    """Return counts with independent discrete Gaussian noise, same shape.

    Privacy
    -------
    As `discrete_gaussian`: a table in which one row changes one cell by one loses rate / 2**52 of rho.
    """
    noise = discrete_gaussian(counts.size, rate, words)
    return np.asarray(counts + noise.reshape(counts.shape), dtype=np.int64)
