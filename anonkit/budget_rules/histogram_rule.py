# SPDX-License-Identifier: Apache-2.0
"""The law of the noise of histograms by class: discrete Laplace, or with a delta discrete Gaussian where that is less.

A row is in the histogram of every measured attribute. Under Laplace noise their epsilons add up, and the noise of a
cell grows with their number; under Gaussian noise their rho adds up, and the noise grows with the root of it. So the
same budget pays for more histograms of the same noise: their number decides the law of the noise, and how many are
measured.
"""

from __future__ import annotations

_ONE = 1 << 52
_MORE = 2
"""Factor on the number of histograms of the same noise: docs/methods/details/dp_forest.md names the tables."""
LEAST_RATE = 1 << 12
"""Least rho of one histogram, in units of 2**-52: Gaussian noise is not drawn any wider."""


def gaussian_histograms(units: int, rho_units: int, asked: int, attributes: int) -> int:
    """Return the number of histograms to measure with Gaussian noise; 0 where Laplace noise is drawn.

    Gaussian noise is drawn where more histograms than were planned have no more of it than these have of Laplace
    noise. Twice as many are measured then: for few rows, more attributes help more than less noise does.

    Parameters
    ----------
    units : int
        Loss of a row in all histograms together, in units of 2**-52 of epsilon.
    rho_units : int
        The rho of a row that this epsilon and delta come to, in units of 2**-52; 0 without a delta.
    asked : int
        Histograms with Laplace noise, 1 or more.
    attributes : int
        Histograms that there can be.
    """
    quiet = as_quiet(units, rho_units, asked)
    return min(_MORE * quiet, attributes) if quiet > asked else 0


def as_quiet(units: int, rho_units: int, histograms: int) -> int:
    """Return how many histograms of Gaussian noise have no more of it than so many of Laplace noise; 0 where none do.

    Parameters are those of `gaussian_histograms`.

    Notes
    -----
    A cell has the variance 2 (histograms / epsilon)**2 under Laplace noise, and histograms / (2 rho) under Gaussian.
    """
    if not rho_units:
        return 0
    found = 4 * histograms**2 * rho_units * _ONE // units**2
    return found if rho_units >= _MORE * found * LEAST_RATE else 0


def delta_may_pay(units: int, rho_units: int, attributes: int) -> bool:
    """Return whether Gaussian noise is less were all of epsilon spent on histograms, and all attributes measured.

    A function of public facts alone: where it is not, no delta is spent, and none is promised. Parameters are those of
    `gaussian_histograms`.
    """
    return as_quiet(units, rho_units, max(1, attributes)) > attributes
