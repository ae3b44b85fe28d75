# SPDX-License-Identifier: Apache-2.0
"""A mixture of product distributions fitted to noisy tables, and its published form in integers.

All of it is post-processing of noisy counts, at no privacy loss.

**The start** fits all pairs of columns at once, by weighted EM steps. With P the shares of all values in each component
(one row a component) and w the weights of the components, all pair tables together are one matrix, P' diag(w) P: a step
is three matrix products, there is no graph to compile, and any pair may have been measured.

**The completion** of largest entropy, to second order, gives all pairs of columns from some of them. Values of columns
as indicators have a covariance matrix, and the tables of pairs are its blocks. Of all matrices with the blocks that are
known, the one of largest determinant has no partial covariance anywhere else (Dempster 1972: covariance selection).
Along a tree that is the closed form of Chow and Liu, exactly; with circles of pairs it stays as cheap, where a
graphical model would not.

**The fit** moves the mixture nearer to the noisy tables as they were drawn: least squares, each table by its precision.
The noise of a cell has one variance, whatever the cell counts: least squares weigh it as it is, where a likelihood of
shares would take the noise of an almost empty cell for news.

**The published form** is in whole units. In columns of numbers nobody is in cells that seem empty, and the others are
as frequent as the tables say: a mean and a deviation depend most on the cells that lie far away, and rare values are
fitted last.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import Grid
from anonkit.dp_trees.marginals.measurement_plan import ColumnLayout, Pair
from anonkit.dp_trees.marginals.tree_pairs import Margins, MeasuredTable
from anonkit.dp_trees.microdata import supported_cells
from anonkit.published.product_mixtures import SHARE_UNITS, WEIGHT_UNITS, ClassMixture

_SMALLEST_SHARE = 1e-12
_START = 0.7
"""Share of the columns as they are that a component starts with; the rest is its row."""
_COLUMNS = 3.0
"""Weight of a column's own shares, where the pair that is known best has 1."""
_RELAXATION = 1.8
"""Power of the factors of an EM step: steps are longer than the plain ones, which creep."""

Matrix = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixture:
    """A mixture of products."""

    weights: FloatArray
    """Shape (components,), adds up to 1."""
    shares: FloatArray
    """Shape (components, all values): for each column they add up to 1."""


def fitted_mixture(
    pairs: FloatArray, weights: FloatArray, columns: FloatArray, rows: IntArray, offsets: IntArray, steps: int
) -> Mixture:
    """Return the mixture that fits pair tables.

    Parameters
    ----------
    pairs : float array, shape (values, values)
        Shares of all pairs of values of all columns.
    weights : float array, the same shape
        How much each counts; 0 for pairs of values of one column.
    columns : float array, shape (values,)
        Shares of the values of each column.
    rows : int64 array, shape (components, n_columns)
        A row for each component to start from.
    offsets : int64 array, shape (n_columns + 1,)
        Where the values of each column begin.
    steps : int
        Steps of the fit.

    Notes
    -----
    The weighted log-likelihood of the pairs has an EM step that multiplies each share of a component by the mean ratio
    of wanted to fitted pairs, as of non-negative matrix factorization (Lee, Seung 2000).
    """
    components = len(rows)
    starts, sizes = offsets[:-1], np.diff(offsets)
    own = np.repeat(columns[np.newaxis], components, axis=0) * _START + 1e-6
    np.put_along_axis(own, rows + starts, np.take_along_axis(own, rows + starts, axis=1) + 1 - _START, axis=1)
    shares = shares_of_columns(own.astype(np.float32), starts, sizes)
    mixing = np.full(components, 1 / components, dtype=np.float32)
    wanted: Matrix = (weights * np.maximum(pairs, 0)).astype(np.float32)
    alone: Matrix = (_COLUMNS * columns).astype(np.float32)
    power = np.float32(_RELAXATION)
    for _ in range(steps):
        found = shares.T @ (shares * mixing[:, np.newaxis])
        ratio = wanted / np.maximum(found, np.float32(_SMALLEST_SHARE))
        factor = shares @ ratio
        factor += alone / np.maximum(mixing @ shares, np.float32(_SMALLEST_SHARE))
        gain = np.einsum("kv,kv->k", shares, factor)
        np.maximum(factor, np.float32(_SMALLEST_SHARE), out=factor)
        shares = shares_of_columns(np.maximum(shares * factor**power, np.float32(_SMALLEST_SHARE)), starts, sizes)
        mixing = mixing * (gain / (mixing @ gain)) ** power
        mixing /= mixing.sum()
    return Mixture(weights=mixing.astype(np.float64), shares=shares.astype(np.float64))


def shares_of_columns(shares: Matrix, starts: IntArray, sizes: IntArray) -> Matrix:
    """Return shares that add up to 1 for each column."""
    sums = np.add.reduceat(shares, starts, axis=1)
    return np.asarray(shares / np.repeat(sums, sizes, axis=1), dtype=np.float32)


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
        self._included = np.concatenate(
            [first + own for first, own in zip(layout.offsets[:-1], self._values, strict=True)]
        ).astype(np.int64)
        column_of_included = np.repeat(np.arange(len(layout.sizes)), [own.size for own in self._values])
        self._columns = np.asarray(np.arange(len(layout.sizes))[:, np.newaxis] == column_of_included, dtype=np.float64)
        ends = np.cumsum([0, *(len(values) for values in self._values)]).tolist()
        self._places = [slice(first, last) for first, last in pairwise(ends)]
        self._known: dict[Pair, tuple[FloatArray, FloatArray]] = {}
        self._covariance = np.zeros((layout.classes, ends[-1], ends[-1]))
        for place, values, shares in zip(self._places, self._values, margins.values, strict=True):
            included_shares = np.maximum(shares[:, values], _LEAST_SHARE)
            own = included_shares[:, :, np.newaxis] * (np.eye(len(values)) - included_shares[:, np.newaxis, :])
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
        out = np.empty((len(covariance), self._included.size + len(self._tops), covariance.shape[2]))
        out[:, self._included] = covariance
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
            part = _still_positive(own, change)
            leads = np.linalg.solve(own, covariance[places])
            covariance += leads.T @ (part * change) @ leads


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


_RATE = 0.05
"""Step of a logarithm of a share, first."""
_LAST_RATE = 0.05
"""Part of it that the last step has; steps shorten over the last third."""
_MEMORY, _SQUARES = 0.9, 0.99
"""Parts of the mean gradient, and of its mean square, that a step keeps (Kingma, Ba: Adam, ICLR 2015)."""
_SCALE = np.float32(1e4)
"""Of gradients, against the smallest number that they are divided by."""
_SMALLEST = np.float32(1e-8)
_TINY = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class WantedTables:
    """Targets of the fit of a mixture, in the classes that split the tables."""

    groups: Matrix
    """1 where a value is in a group, shape (all values, all groups)."""
    columns: Matrix
    """Shares of values as they were counted with noise, shape (classes, all values)."""
    column_weights: Matrix
    """Shape (all values,)."""
    pairs: Matrix
    """Shares of pairs of groups: as counted with noise where they were, else as they follow, shape (classes, all
    groups, all groups)."""
    pair_weights: Matrix
    """Shape (all groups, all groups); 0 for pairs of groups of one column."""


def wanted_tables(
    layout: ColumnLayout,
    margins: Margins,
    one_ways: Sequence[MeasuredTable],
    known: Mapping[Pair, MeasuredTable],
    completed: FloatArray,
    unmeasured: float,
) -> WantedTables:
    """Return the targets of the fit.

    Parameters
    ----------
    layout : Layout
    margins : Margins
    one_ways, known
        Noisy tables of columns and of pairs.
    completed : float array, shape (classes, all values, all values)
        All pairs as they follow from those that were measured.
    unmeasured : float
        Weight of a pair that was not measured, where the table with least noise has 1.
    """
    groups = group_matrix(layout.sizes, margins.groups)
    best = min(table.variance for table in known.values())
    pairs = groups.T @ completed @ groups
    weights = np.full(pairs.shape[1:], unmeasured)
    ends = np.cumsum([0, *(int(own.max()) + 1 for own in margins.groups)]).tolist()
    places = [slice(first, last) for first, last in pairwise(ends)]
    for place in places:
        weights[place, place] = 0.0
    for (first, second), table in known.items():
        one, two = places[first], places[second]
        shares = table.counts / margins.totals[:, np.newaxis, np.newaxis]
        pairs[:, one, two], pairs[:, two, one] = shares, shares.transpose(0, 2, 1)
        weights[one, two] = weights[two, one] = best / table.variance
    counted = np.concatenate([table.counts for table in one_ways], axis=1) / margins.totals[:, np.newaxis]
    precisions = [best / table.variance for table in one_ways]
    return WantedTables(
        groups=groups.astype(np.float32),
        columns=counted.astype(np.float32),
        column_weights=np.repeat(precisions, layout.sizes).astype(np.float32),
        pairs=pairs.astype(np.float32),
        pair_weights=weights.astype(np.float32),
    )


def moved_nearer(mixture: Mixture, wanted: WantedTables, at: int, offsets: IntArray, steps: int) -> Mixture:
    """Return a mixture with less squared error, by gradient steps on the logarithms of its shares and weights.

    Parameters
    ----------
    mixture : Mixture
        To begin with.
    wanted : WantedTables
    at : int
        The class.
    offsets : int64 array, shape (n_columns + 1,)
        Where the values of each column begin.
    steps : int
    """
    starts, sizes = offsets[:-1], np.diff(offsets)
    variables = [
        np.log(np.maximum(part, _TINY)).astype(np.float32) for part in (mixture.shares, mixture.weights[:, np.newaxis])
    ]
    means = [np.zeros_like(part) for part in variables]
    squares = [np.zeros_like(part) for part in variables]
    groups, columns, pairs = wanted.groups, wanted.columns[at], wanted.pairs[at]
    for step in range(1, steps + 1):
        shares, weights = _mixture_of(variables, starts, sizes)
        grouped = shares @ groups
        off = wanted.pair_weights * (grouped.T @ (grouped * weights) - pairs)
        by_pairs = (grouped @ off) @ groups.T
        by_columns = wanted.column_weights * (weights[:, 0] @ shares - columns)
        slope = shares * (by_pairs + by_columns)
        slope -= shares * np.repeat(np.add.reduceat(slope, starts, axis=1), sizes, axis=1)
        gain = np.einsum("kv,kv->k", shares, by_pairs) / 2 + shares @ by_columns
        gradients = [weights * slope, weights * (gain - weights[:, 0] @ gain)[:, np.newaxis]]
        rate = _RATE * min(1.0, 3 * (steps - step) / steps + _LAST_RATE)
        for variable, gradient, mean, square in zip(variables, gradients, means, squares, strict=True):
            gradient *= _SCALE
            mean += np.float32(1 - _MEMORY) * (gradient - mean)
            square += np.float32(1 - _SQUARES) * (gradient * gradient - square)
            root = np.sqrt(square / np.float32(1 - _SQUARES**step)) + _SMALLEST
            variable -= np.float32(rate / (1 - _MEMORY**step)) * mean / root
    shares, weights = _mixture_of(variables, starts, sizes)
    return Mixture(weights=weights[:, 0].astype(np.float64), shares=shares.astype(np.float64))


def _mixture_of(variables: Sequence[Matrix], starts: IntArray, sizes: IntArray) -> tuple[Matrix, Matrix]:
    """Return shares, and weights as a column, whose logarithms are the variables but for what they add up to."""
    shares, weights = (np.exp(part) for part in variables)
    return shares_of_columns(shares, starts, sizes), weights / weights.sum()


def in_units(mixture: Mixture, offsets: IntArray, rows: float) -> ClassMixture:
    """Return a mixture in whole units, components without any left out.

    Parameters
    ----------
    mixture : Mixture
    offsets : int64 array, shape (n_columns + 1,)
        Where the values of each column begin.
    rows : float
        Rows of the class by the noisy tables; below 0 counts as 0.
    """
    weights = whole_parts(mixture.weights[np.newaxis], WEIGHT_UNITS)[0]
    used = weights > 0
    parts = np.split(mixture.shares[used], offsets[1:-1], axis=1)
    return ClassMixture(
        rows=max(round(rows), 0),
        weights=weights[used],
        shares=np.concatenate([whole_parts(part, SHARE_UNITS) for part in parts], axis=1),
    )


def without_values(mixture: Mixture, values: IntArray, offsets: IntArray) -> Mixture:
    """Return a mixture in which some values do not occur; their shares go to the others of their column.

    Parameters
    ----------
    mixture : Mixture
    values : int64 array
        Among the values of all columns, not all of a column.
    offsets : int64 array, shape (n_columns + 1,)
        Where the values of each column begin.

    Notes
    -----
    In proportion to what these have, in a component where they have nothing in proportion to what they have in all.
    """
    shares = mixture.shares.copy()
    for first, after in pairwise(offsets.tolist()):
        gone = np.isin(np.arange(first, after), values)
        if not gone.any():
            continue
        own = shares[:, first:after]
        own[:, gone] = 0.0
        whole, of_all = own.sum(axis=1, keepdims=True), mixture.weights @ own
        of_all = of_all if of_all.sum() > 0 else (~gone).astype(np.float64)
        own[:] = np.where(whole > 0, own / np.where(whole > 0, whole, 1.0), of_all / of_all.sum())
    return Mixture(weights=mixture.weights, shares=shares)


def whole_parts(shares: FloatArray, units: int) -> IntArray:
    """Return integers in proportion to shares that add up to `units` in each row: largest remainders first.

    Parameters
    ----------
    shares : float array, shape (n, m)
        At least 0, with a positive sum in each row.
    """
    exact = shares / shares.sum(axis=1, keepdims=True) * units
    whole = np.floor(exact).astype(np.int64)
    order = np.argsort(whole - exact, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(shares.shape[1]), shares.shape), axis=1)
    return np.asarray(whole + (rank < units - whole.sum(axis=1, keepdims=True)), dtype=np.int64)


_ROUNDS = 4


def number_totals(
    layout: ColumnLayout, margins: Margins, one_ways: Sequence[MeasuredTable], faint: IntArray
) -> dict[int, FloatArray]:
    """Return the rows of each value of the columns of numbers that have cells that seem empty: 0 in these.

    Others are as frequent as all tables together say; a bound that shares its group with rare values, and exceeds
    the noise, as the table of its column says.

    Parameters
    ----------
    layout, margins, one_ways
    faint : int64 array
        Values that are counted as none, among those of all columns.
    """
    found = {}
    for column, (name, table) in enumerate(zip(layout.names, one_ways, strict=True)):
        domain = layout.schema.domains[name]
        if not isinstance(domain, Grid):
            continue
        rows = margins.totals @ margins.values[column]
        cells = table.counts[:, : domain.cells].sum(axis=0).astype(np.float64)
        deviation = math.sqrt(table.variance * len(table.counts))
        supported = supported_cells(cells, deviation)
        if supported.all():
            continue
        rows[: domain.cells] *= supported
        rows[np.isin(np.arange(rows.size) + int(layout.offsets[column]), faint)] = 0.0
        alone = np.bincount(margins.groups[column])[margins.groups[column]] == 1
        for end in (0, domain.cells - 1):
            if not alone[end] and cells[end] > deviation:
                rows[end] = cells[end]
        if rows.sum() > 0:
            found[column] = rows
    return found


def with_totals(
    mixtures: Sequence[Mixture], rows: FloatArray, totals: Mapping[int, FloatArray], offsets: IntArray
) -> list[Mixture]:
    """Return the mixtures of the classes, with values of some columns as often as wanted in all classes together.

    Parameters
    ----------
    mixtures : sequence of Mixture
        One of each class.
    rows : float array, shape (classes,)
    totals : mapping of int to float array
        Of some columns the rows of each value; one with 0 does not occur.
    offsets : int64 array, shape (n_columns + 1,)
        Where the values of each column begin.
    """
    empty = [np.flatnonzero(wanted <= 0) + offsets[column] for column, wanted in totals.items()]
    gone = np.concatenate([np.zeros(0, dtype=np.int64), *empty])
    out = [without_values(own, gone, offsets) for own in mixtures]
    weights = np.maximum(rows, 0.0)
    for column, wanted in totals.items():
        first, after = int(offsets[column]), int(offsets[column + 1])
        for _ in range(_ROUNDS if wanted.sum() > 0 and weights.sum() > 0 else 0):
            found = sum(
                size * (own.weights @ own.shares[:, first:after]) for size, own in zip(weights, out, strict=True)
            )
            factor = np.where(found > 0, wanted / np.where(found > 0, found, 1.0), 0.0) / wanted.sum() * weights.sum()
            for own in out:
                scaled = own.shares[:, first:after] * factor
                whole = scaled.sum(axis=1, keepdims=True)
                own.shares[:, first:after] = np.where(
                    whole > 0, scaled / np.where(whole > 0, whole, 1.0), own.shares[:, first:after]
                )
    return out
