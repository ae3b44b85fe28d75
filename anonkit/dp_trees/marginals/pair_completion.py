# SPDX-License-Identifier: Apache-2.0
"""All pairs of columns that follow from some of them: the completion of largest entropy, to second order.

Values of columns as indicators have a covariance matrix, and the tables of pairs are its blocks. Of all matrices with
the blocks that are known, the one of largest determinant has no partial covariance anywhere else (Dempster 1972:
covariance selection). Along a tree that is the closed form of Chow and Liu, exactly; with circles of pairs it stays as
cheap, where a graphical model would not. Post-processing of noisy counts, at no privacy loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.dp_trees.marginals.column_layout import ColumnLayout, Pair
from anonkit.dp_trees.marginals.measured_tables import Margins

_LEAST_SHARE = 1e-9
_RIDGE = 1e-7
"""Added to the variance of every value, so that one that no row has can be divided by."""
_LEFT_OF_NOISE = 0.25
"""Part of the squares of noise that is left when its table is made shares."""
_MOST_TAKEN = 0.999
"""Part of a known block that is taken over at most: the whole of it may leave no variance."""


class Completion:
    """Pairs that are known, and all others as they follow, within the classes that split the tables."""

    def __init__(self, layout: ColumnLayout, margins: Margins) -> None:
        self.layout = layout
        self.margins = margins
        tops = [int(shares.sum(axis=0).argmax()) for shares in margins.values]
        # of each column all values but one: the last follows from the others
        self._values = [np.delete(np.arange(size), top) for size, top in zip(layout.sizes, tops, strict=True)]
        self._tops = np.array(tops)
        self._kept = np.concatenate(
            [first + own for first, own in zip(layout.offsets[:-1], self._values, strict=True)]
        ).astype(np.int64)
        of_kept = np.repeat(np.arange(len(layout.sizes)), [own.size for own in self._values])
        self._columns = np.asarray(np.arange(len(layout.sizes))[:, np.newaxis] == of_kept, dtype=np.float64)
        ends = np.cumsum([0, *(len(values) for values in self._values)]).tolist()
        self._places = [slice(first, last) for first, last in pairwise(ends)]
        self._known: dict[Pair, tuple[FloatArray, FloatArray]] = {}
        self._covariance = np.zeros((layout.classes, ends[-1], ends[-1]))
        for place, values, shares in zip(self._places, self._values, margins.values, strict=True):
            kept = np.maximum(shares[:, values], _LEAST_SHARE)
            own = kept[:, :, np.newaxis] * (np.eye(len(values)) - kept[:, np.newaxis, :])
            self._covariance[:, place, place] = own + _RIDGE * np.eye(len(values))

    def learn(self, pair: Pair, shares: FloatArray, noise: FloatArray) -> None:
        """Take a pair as known, and let the others follow.

        Parameters
        ----------
        pair : pair of int
        shares : float array, shape (classes, values, values)
            With the margins of the columns.
        noise : float array, shape (classes,)
            Expected sum of the squares of what noise adds to the shares.
        """
        block = shares - self._independent(pair)
        self._known[pair] = (block[:, self._values[pair[0]]][:, :, self._values[pair[1]]], noise)
        self._step(pair)

    def settle(self, rounds: int) -> None:
        """Go through the known pairs so many times more: in a circle each step moves the pairs before it."""
        for _ in range(rounds):
            for pair in self._known:
                self._step(pair)

    def pair(self, pair: Pair) -> FloatArray:
        """Return the shares of a pair, shape (classes, values, values); none negative, 1 in sum in each class."""
        first, second = pair
        block = self._covariance[:, self._places[first], self._places[second]]
        out = self._independent(pair)
        rows, columns = self._values[first], self._values[second]
        out[:, rows[:, np.newaxis], columns] += block
        out[:, rows, self._tops[second]] -= block.sum(axis=2)
        out[:, self._tops[first], columns] -= block.sum(axis=1)
        out[:, self._tops[first], self._tops[second]] += block.sum(axis=(1, 2))
        np.maximum(out, 0.0, out=out)
        return np.asarray(out / out.sum(axis=(1, 2), keepdims=True))

    def rows_of_groups(self) -> dict[Pair, FloatArray]:
        """Return the rows expected of every pair by group and group, shape (classes, groups, groups) each."""
        numbers = [int(own.max()) + 1 for own in self.margins.groups]
        ends = np.cumsum([0, *numbers]).tolist()
        of_values = np.concatenate([own + first for own, first in zip(self.margins.groups, ends[:-1], strict=True)])
        order = np.argsort(of_values, kind="stable")
        starts = np.searchsorted(of_values[order], np.arange(ends[-1]))
        half = np.add.reduceat(self.all_pairs()[:, order], starts, axis=1)
        by_group = np.add.reduceat(half.transpose(0, 2, 1)[:, order], starts, axis=1)  # symmetric: rows are columns
        by_group *= self.margins.totals[:, np.newaxis, np.newaxis]
        places = [slice(first, last) for first, last in pairwise(ends)]
        return {
            (first, second): by_group[:, places[first], places[second]]
            for first, second in combinations(range(len(numbers)), 2)
        }

    def all_pairs(self) -> FloatArray:
        """Return the shares of all pairs of values of all columns, shape (classes, all values, all values).

        Symmetric; the block of a column with itself is diagonal.
        """
        layout = self.layout
        alone = np.concatenate(self.margins.values, axis=1)
        starts = layout.offsets[:-1]
        out = self._of_all_values(self._of_all_values(self._covariance).transpose(0, 2, 1))
        out += alone[:, :, np.newaxis] * alone[:, np.newaxis, :]
        np.maximum(out, 0.0, out=out)
        rows = np.add.reduceat(np.add.reduceat(out, starts, axis=1), starts, axis=2)
        out /= np.repeat(np.repeat(rows, layout.sizes, axis=1), layout.sizes, axis=2)
        for at, shares in enumerate(self.margins.values):
            place = layout.values(at)
            out[:, place, place] = shares[:, :, np.newaxis] * np.eye(layout.sizes[at])
        return out

    def _of_all_values(self, covariance: FloatArray) -> FloatArray:
        """Return a covariance with a row for every value: that of a column's left out is the others' taken off."""
        out = np.empty((len(covariance), self._kept.size + len(self._tops), covariance.shape[2]))
        out[:, self._kept] = covariance
        out[:, self.layout.offsets[:-1] + self._tops] = -(self._columns @ covariance)
        return out

    def _independent(self, pair: Pair) -> FloatArray:
        first, second = (self.margins.values[column] for column in pair)
        return np.asarray(first[:, :, np.newaxis] * second[:, np.newaxis, :])

    def _step(self, pair: Pair) -> None:
        """Make the block of a pair what it is known to be, as far as noise does not explain the difference.

        Given the two columns all others stay as they are: the step of iterative proportional fitting, of a covariance.
        """
        first, second = self._places[pair[0]], self._places[pair[1]]
        places = np.r_[first, second]
        size = first.stop - first.start
        blocks, noises = self._known[pair]
        for covariance, block, noise in zip(self._covariance, blocks, noises, strict=True):
            missing = block - covariance[first, second]
            squares = float((missing * missing).sum())
            taken = min(1 - noise / squares, _MOST_TAKEN) if squares > 0 else 0.0
            if taken <= 0:
                continue
            own = covariance[np.ix_(places, places)]
            change = np.zeros_like(own)
            change[:size, size:] = taken * missing
            change[size:, :size] = change[:size, size:].T
            kept = _still_positive(own, change)
            leads = np.linalg.solve(own, covariance[places])
            covariance += leads.T @ (kept * change) @ leads


def _still_positive(covariance: FloatArray, change: FloatArray) -> float:
    """Return the part of a change, 1 if it may be, that leaves a covariance positive definite; 0 where little does."""
    for part in _halves():
        try:
            np.linalg.cholesky(covariance + part * change)
        except np.linalg.LinAlgError:
            continue
        return part
    return 0.0


def _halves() -> Iterator[float]:
    return (0.5**power for power in range(7))


def expected_squares(cells: int, variance: float, totals: FloatArray) -> FloatArray:
    """Return the squares in sum that noise is expected to leave in the shares of a table, shape (classes,).

    A part of those of the noise itself: cells that it makes negative are 0 in a consistent table, and sums are kept.

    Parameters
    ----------
    cells : int
        Of the table, in a class.
    variance : float
        Of the noise of a cell.
    totals : float array, shape (classes,)
        Rows of each class, at least 1.
    """
    squares: FloatArray = _LEFT_OF_NOISE * variance * cells / totals**2
    return squares


def group_matrix(sizes: tuple[int, ...], groups: tuple[IntArray, ...]) -> FloatArray:
    """Return 1 where a value of all columns is in a group of all columns, shape (all values, all groups)."""
    numbers = [int(own.max()) + 1 for own in groups]
    out = np.zeros((sum(sizes), sum(numbers)))
    below = np.repeat(np.cumsum([0, *numbers[:-1]]), sizes)
    out[np.arange(sum(sizes)), below + np.concatenate(groups)] = 1.0
    return out
