# SPDX-License-Identifier: Apache-2.0
"""The guide of a search: out-of-bag class probabilities in place of the target.

Each row's guide is its out-of-bag class probabilities, on a few axes. A row's own label has no part in them, so a
search guided by them does not chase the noise of the labels. Rows without a label have no guide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import BoolArray, FloatArray, IntArray

_AXES = 4  # principal axes of the class probabilities
_NEGLIGIBLE = 1e-9  # share of the variance of the first axis
_UNITS = 2**16  # the axes are found from probabilities rounded to these parts
_QUANTUM = 2.0**-24  # the guide is rounded to multiples of it: its sums are then exact, in whatever order


def each_axis(axes: FloatArray, work: Callable[[FloatArray], NDArray[np.number]], width: int) -> FloatArray:
    """Work on every axis of a guide alike; shape (n_axes, width), also without any axis."""
    return np.array([work(axis) for axis in axes], dtype=np.float64).reshape(len(axes), width)


@dataclass(frozen=True, kw_only=True, eq=False)
class Guide:
    """Sums of the guide, out-of-bag class probabilities on a few axes, over the rows behind each entry.

    Multiples of 2**-24, so that sums are exact in floats and the same in any order of the rows.
    """

    rows: FloatArray
    """Rows with a known guide, shape (n_entries,)."""
    sums: FloatArray
    """Sum of the guide over them, shape (n_axes, n_entries)."""

    def at(self, entries: NDArray[np.integer] | BoolArray) -> Guide:
        """Return the guide of some entries."""
        return Guide(rows=self.rows[entries], sums=self.sums[:, entries])

    def over(self, groups: IntArray, n_groups: int) -> Guide:
        """Return the guide summed over groups of entries."""
        return Guide(
            rows=np.bincount(groups, self.rows, minlength=n_groups).astype(np.float64),
            sums=each_axis(self.sums, lambda axis: np.bincount(groups, axis, minlength=n_groups), n_groups),
        )

    @property
    def explained(self) -> FloatArray:
        """Squared length of the sum over its rows: what each entry adds to the variance between entries."""
        return np.asarray((self.sums**2).sum(axis=0) / np.maximum(self.rows, 1.0))


def guide_of(probabilities: FloatArray, entry: IntArray, n_entries: int) -> tuple[Guide, float]:
    """Return the guide of the distinct rows and its total sum of squares.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
        Class probabilities of the rows of the table; NaN where there is no guide.
    entry : ndarray of shape (n_rows,)
        Distinct row that each row is, in [0, n_entries).
    """
    known = ~np.isnan(probabilities).any(axis=1)
    axes = _principal_axes(probabilities[known])
    guide = Guide(rows=np.ones(axes.shape[1]), sums=axes)
    return guide.over(entry[known], n_entries), math.fsum((axes**2).ravel().tolist())


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Shares of a guide's variance that lie between the classes of two recodings of the same rows."""

    first: float
    """At most 1: R², adjusted for the number of classes, so that few classes and many are comparable."""
    second: float
    error: float
    """Standard error of their difference, over rows."""


def compared(probabilities: FloatArray, first: IntArray, second: IntArray) -> Compared:
    """Return what two recodings explain of a guide.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_guides)
        Class probabilities of the rows of the table; NaN where there is no guide.
    first, second : ndarray of shape (n_rows,)
        Class of each row, from 0; rows that are left out are one.

    Returns
    -------
    Compared
        The same for any order of the rows; zeros where the guide does not vary, or a class a row is all that there is.
    """
    known = ~np.isnan(probabilities).any(axis=1)
    axes = _principal_axes(probabilities[known])
    total, n_rows = float(np.sort(axes**2, axis=None).sum()), axes.shape[1]
    if total <= 0:
        return Compared(first=0.0, second=0.0, error=0.0)
    shares, squares = [], []
    for classes in (first[known].astype(np.int64), second[known].astype(np.int64)):
        held = np.bincount(classes)
        means = np.array([np.bincount(classes, axis) for axis in axes]) / np.maximum(held, 1)
        squares.append(((axes - means[:, classes]) ** 2).sum(axis=0))
        freedom = n_rows - int((held > 0).sum())
        within = float(np.sort(squares[-1]).sum())
        shares.append(1 - within * (n_rows - 1) / (total * freedom) if freedom > 0 else 0.0)
    apart = np.sort(squares[0] - squares[1])
    return Compared(first=shares[0], second=shares[1], error=float(apart.std()) * math.sqrt(n_rows) / total)


def _principal_axes(probabilities: FloatArray) -> FloatArray:
    """Return class probabilities about their mean on their principal axes, shape (n_axes, n_rows).

    Every number is the same for any order of the rows: moments are sums of integers, projections are summed class
    by class.
    """
    n_rows, n_classes = probabilities.shape
    if n_rows == 0 or n_classes < 2:
        return np.zeros((0, n_rows))
    units = np.rint(probabilities * _UNITS)
    mean = units.sum(axis=0) / n_rows
    spread, directions = np.linalg.eigh((units.T @ units) / n_rows - np.outer(mean, mean))
    leading = directions[:, ::-1][:, :_AXES].T[spread[::-1][:_AXES] > max(_NEGLIGIBLE * spread[-1], _NEGLIGIBLE)]
    axes = np.zeros((len(leading), n_rows))
    for at in range(n_classes):
        axes += leading[:, at : at + 1] * (probabilities[:, at] - mean[at] / _UNITS)
    return np.asarray(np.rint(axes / _QUANTUM) * _QUANTUM)
