# SPDX-License-Identifier: Apache-2.0
"""MDAV microaggregation: points in groups of at least k rows that lie close together.

Maximum distance to average vector (Domingo-Ferrer, Mateo-Sanz, IEEE TKDE 14(1), 2002; in this form Domingo-Ferrer,
Torra, Data Mining and Knowledge Discovery 11, 2005). Points are the distinct rows of a table, weighted by how many rows
are alike, so that a group is a function of the row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from anonkit.domains.coded_columns import FloatArray, IntArray

BLOCK = 10_000
"""Most points that are grouped together; more are cut into blocks, unless k needs larger ones."""
_BLOCKS_OF_K = 8
"""Least points, in multiples of k, that are cut."""


def microaggregated(points: FloatArray, weights: IntArray, k: int, *, block: int = BLOCK) -> IntArray:
    """Return the group of every point, shape (n_points,), dense from 0.

    Parameters
    ----------
    points : float array, shape (n_points, n_columns)
        Finite and standardized, no two alike, in an order that does not depend on that of the rows: of points that are
        equally far the first is taken.
    weights : int64 array, shape (n_points,)
        Rows of each point, 1 or more; k or more together.
    k : int
        Least rows of a group.
    block : int
        Most points that are grouped together.
    """
    groups, n_groups = np.zeros(len(points), np.int64), 0
    for members in blocks(points, weights, max(block, _BLOCKS_OF_K * k)):
        own, number = mdav(points[members], weights[members], k)
        groups[members] = own + n_groups
        n_groups += number
    return groups


def blocks(points: FloatArray, weights: IntArray, most: int) -> Iterator[IntArray]:
    """Yield the points of each block: halves along the column of most variance, until none has more than `most`."""
    waiting = [np.arange(len(points))]
    while waiting:
        members = waiting.pop()
        if members.size <= most:
            yield members
            continue
        own, rows = points[members], weights[members]
        spread = rows @ (own - rows @ own / rows.sum()) ** 2
        order = np.argsort(own[:, int(spread.argmax())], kind="stable")
        half = members.size // 2
        waiting += [np.sort(members[order[half:]]), np.sort(members[order[:half]])]


def mdav(points: FloatArray, weights: IntArray, k: int) -> tuple[IntArray, int]:
    """Return the group of every point, and the number of groups.

    While 3 k rows are left, the point r farthest from their mean and the k rows nearest to it are a group, and so are
    the point s farthest from r and the k nearest to that. Of 2 k to 3 k rows r and its neighbours are one, the rest is
    another. Points are taken whole, so a group with many rows alike may be larger than 2 k - 1 rows, and fewer than k
    rows that are left join the nearest groups.
    """
    left = _Left(points, weights)
    groups, n_groups = np.full(len(points), -1, np.int64), 0
    while left.n_rows >= 2 * k:
        both = left.n_rows >= 3 * k
        distances = left.distances(left.farthest(left.distances(left.mean())))
        second = left.number_of(left.farthest_place(distances))
        groups[left.taken(distances, k)] = n_groups
        n_groups += 1
        if both and left.n_rows >= k and groups[second] < 0:
            groups[left.taken(left.distances(points[second]), k)] = n_groups
            n_groups += 1
    rest = np.flatnonzero(groups < 0)
    if left.n_rows >= k or not n_groups:
        groups[rest] = n_groups
        return groups, n_groups + 1
    grouped = groups >= 0
    means = means_of(points[grouped], weights[grouped], groups[grouped], n_groups)
    for point in rest.tolist():
        groups[point] = int(((means - points[point]) ** 2).sum(axis=1).argmin())
    return groups, n_groups


def means_of(points: FloatArray, weights: IntArray, groups: IntArray, n_groups: int) -> FloatArray:
    """Return the mean of every group, shape (n_groups, n_columns)."""
    rows = np.bincount(groups, weights, minlength=n_groups)
    sums = [np.bincount(groups, weights * column, minlength=n_groups) for column in points.T]
    return np.column_stack(sums) / rows[:, None]


class _Left:
    """The points that are in no group yet.

    They are kept in their order; those that were taken stay in the arrays, marked, until they are half of them.
    """

    def __init__(self, points: FloatArray, weights: IntArray) -> None:
        self._numbers = np.arange(len(points))
        self._columns = np.ascontiguousarray(points.T)
        self._weights = weights
        self._gone = np.zeros(len(points))  # 0, or infinity where a point was taken
        self._n_gone = 0
        self.n_rows = int(weights.sum())
        self._sums = self._columns @ weights

    def mean(self) -> FloatArray:
        """Return the mean of the rows, shape (n_columns,)."""
        return np.asarray(self._sums / self.n_rows)

    def distances(self, point: FloatArray) -> FloatArray:
        """Return the squared distances of all points in the arrays from one."""
        found, own = np.zeros(self._numbers.size), np.empty(self._numbers.size)
        for column, at in zip(self._columns, point, strict=True):
            np.subtract(column, at, out=own)
            np.multiply(own, own, out=own)
            found += own
        return found

    def farthest_place(self, distances: FloatArray) -> int:
        """Return the place in the arrays of the first point that is farthest."""
        return int((distances - self._gone).argmax())

    def farthest(self, distances: FloatArray) -> FloatArray:
        """Return the first point that is farthest, shape (n_columns,)."""
        return np.asarray(self._columns[:, self.farthest_place(distances)])

    def number_of(self, place: int) -> int:
        """Return the number of a point."""
        return int(self._numbers[place])

    def taken(self, distances: FloatArray, k: int) -> IntArray:
        """Take the nearest points until they have k rows; return their numbers."""
        near = distances + self._gone
        n_points = self._numbers.size - self._n_gone
        if n_points > k:
            places = np.flatnonzero(near <= np.partition(near, k - 1)[k - 1])
        else:
            places = np.flatnonzero(np.isfinite(near))
        places = places[np.argsort(near[places], kind="stable")]
        places = places[: int(np.searchsorted(np.cumsum(self._weights[places]), k)) + 1]
        numbers, rows = self._numbers[places], self._weights[places]
        self.n_rows -= int(rows.sum())
        self._sums = self._sums - self._columns[:, places] @ rows
        self._gone[places] = np.inf
        self._n_gone += places.size
        if 2 * self._n_gone > self._numbers.size:
            self._compact()
        return np.asarray(numbers)

    def _compact(self) -> None:
        stay = self._gone == 0
        self._numbers, self._weights = self._numbers[stay], self._weights[stay]
        self._columns = np.ascontiguousarray(self._columns[:, stay])
        self._gone, self._n_gone = np.zeros(self._numbers.size), 0
        self._sums = self._columns @ self._weights
