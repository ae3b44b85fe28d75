# SPDX-License-Identifier: Apache-2.0
"""Shares of a budget for tables of counts by class, by their sizes; and which law of noise is less on all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from anonkit.budget_rules.amounts import LAPLACE


def table_weights(sizes: Sequence[int], law: str = LAPLACE) -> list[Fraction]:
    """Return how a budget is divided over tables of so many columns, by a public rule.

    Epsilon in proportion to the cube root of the number of columns, rho to the square root: the least noise in sum over
    all cells.
    """
    return [Fraction(size ** (1 / 3 if law == LAPLACE else 1 / 2)) for size in sizes]


def gaussian_pays(sizes: Sequence[int], epsilon: Fraction, rho: Fraction) -> bool:
    """Return whether Gaussian noise of a whole rho has less variance over all cells than Laplace noise of an epsilon.

    A function of public facts: both are divided by `table_weights`, under which the variances of all cells add up to
    (sum of square roots)**2 / (2 rho) and 2 (sum of cube roots)**3 / epsilon**2, times the number of classes.

    Parameters
    ----------
    sizes : sequence of int
        Columns of each table.
    epsilon, rho : Fraction
        What one row may cost in all, either way.
    """
    gaussian = math.fsum(map(math.sqrt, sizes)) ** 2 / (2 * float(rho))
    laplace = 2 * math.fsum(math.pow(size, 1 / 3) for size in sizes) ** 3 / float(epsilon) ** 2
    return gaussian < laplace
