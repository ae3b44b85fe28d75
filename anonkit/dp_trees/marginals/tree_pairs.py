# SPDX-License-Identifier: Apache-2.0
"""Rows that represent a tree of pairs: the start of the fit of a mixture.

Along a tree every column depends on the rest through its neighbours alone (Chow, Liu 1968), so a row is
drawn column by column, each given its parent. Post-processing of noisy counts, at no privacy loss.

Estimates from noisy tables of the same rows together: rows per class, and the shares of each column's values.

Everything here is post-processing of noisy counts, at no privacy loss.

Noisy counts of the bins of a number, smoothed over neighbouring bins as far as that is expected to pay.

The noise is known, so that what smoothing costs and saves can be estimated from the noisy counts alone (after Stein
1981): wave by wave, what is left of its square beyond the noise would be lost with it. Where neighbours differ by more
than noise, nothing is smoothed. Post-processing of noisy counts, at no privacy loss.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap

import numpy as np

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.dp_trees.marginals.measurement_plan import ColumnLayout, Pair
from anonkit.randomness import keyed_words

_STRENGTHS = tuple(10.0**power for power in np.arange(-1.0, 4.5, 0.5))
"""Weights of the squares of second differences; without any nothing is smoothed."""


def smoothed(counts: FloatArray, variance: float) -> tuple[FloatArray, FloatArray]:
    """Return smoothed counts, and the variance of the noise that is left in each bin.

    Parameters
    ----------
    counts : float array, shape (classes, bins)
        Noisy counts of neighbouring bins, all classes smoothed alike; their sums are kept.
    variance : float
        Of the noise of a count.
    """
    classes, bins = counts.shape
    waves = np.arange(bins)
    basis = np.cos(np.pi * np.outer(waves + 0.5, waves) / bins) * np.sqrt(np.where(waves == 0, 1, 2) / bins)
    found, noise = counts @ basis, classes * variance
    signal = np.maximum((found**2).sum(axis=0) - noise, 0.0)
    differences = (2 - 2 * np.cos(np.pi * waves / bins)) ** 2
    factors = np.stack([np.ones(bins), *(1 / (1 + strength * differences) for strength in _STRENGTHS)])
    best = factors[int(((1 - factors) ** 2 @ signal + noise * (factors**2).sum(axis=1)).argmin())]
    return (found * best) @ basis.T, variance * (basis**2 @ best**2)


_FEWEST_ROWS = 1.0
"""Rows of a class at least, as far as shares are concerned: noise may leave it none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredTable:
    """A noisy table."""

    counts: IntArray
    """Shape (classes, values), or (classes, groups, groups)."""
    variance: float
    """Of the noise of one cell."""
    rate: int = 0
    """Of the noise, in units of 2**-52."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Margins:
    """Rows per class, and in each class the shares of the values and of the groups of each column."""

    totals: FloatArray
    """Shape (classes,), at least 1 each."""
    values: tuple[FloatArray, ...]
    """For each column the shares of its values, shape (classes, values)."""
    groups: tuple[IntArray, ...]
    """For each column the group of each value, shape (values,)."""

    def grouped(self, column: int) -> FloatArray:
        """Return the shares of the groups of a column, shape (classes, groups)."""
        return _in_groups(self.values[column], self.groups[column])

    def within(self, column: int) -> FloatArray:
        """Return the share of each value in its group, shape (classes, values)."""
        own, groups = self.values[column], self.groups[column]
        sizes = np.bincount(groups)
        whole = _in_groups(own, groups)[:, groups]
        evenly = np.broadcast_to(1 / sizes[groups], own.shape)
        return np.where(whole > 0, own / np.where(whole > 0, whole, 1.0), evenly)

    def spread(self, pair: Pair, shares: FloatArray) -> FloatArray:
        """Return the shares of pairs of values, from those of pairs of groups, shape (classes, values, values)."""
        first, second = pair
        groups, others = self.groups[first], self.groups[second]
        by_value = shares[:, groups][:, :, others]
        return np.asarray(by_value * self.within(first)[:, :, np.newaxis] * self.within(second)[:, np.newaxis, :])

    def independent(self, pair: Pair) -> FloatArray:
        """Return the expected rows of the pairs of groups where columns are independent within a class."""
        first, second = (self.grouped(column) for column in pair)
        return np.asarray(self.totals[:, np.newaxis, np.newaxis] * first[:, :, np.newaxis] * second[:, np.newaxis, :])


def rare_together(table: MeasuredTable, deviations: float, of_missing: float | None = None) -> IntArray:
    """Return the group of each value: one of its own for a frequent value; two or more others share the last.

    Parameters
    ----------
    table : Measured
        Of one column.
    deviations : float
        A value is frequent when its noisy count reaches so many standard deviations of its noise.
    of_missing : float, optional
        The same of the last value, where that is missing.

    Returns
    -------
    int64 array, shape (values,)
    """
    counts = table.counts.sum(axis=0)
    least = np.full(counts.size, deviations)
    least[-1] = deviations if of_missing is None else of_missing
    rare = counts < least * np.sqrt(table.variance * len(table.counts))
    if rare.sum() < 2:
        return np.arange(rare.size)
    groups = np.cumsum(~rare) - 1
    return np.where(rare, int((~rare).sum()), groups).astype(np.int64)


def margins_of(one_ways: Sequence[MeasuredTable], groups: Sequence[IntArray], bins: Sequence[int]) -> Margins:
    """Return the margins by the tables of single columns: totals by precision, and the nearest shares.

    Parameters
    ----------
    one_ways, groups
        Noisy table, and group of each value, of each column.
    bins : sequence of int
        How many of a column's values, the first ones, are neighbouring bins of a number: they are smoothed.
    """
    totals = _totals(one_ways)
    return Margins(
        totals=totals,
        values=tuple(
            shrunk_shares(*_smooth_bins(table, number), totals) for table, number in zip(one_ways, bins, strict=True)
        ),
        groups=tuple(groups),
    )


def refined(margins: Margins, one_ways: Sequence[MeasuredTable], pairs: Mapping[Pair, MeasuredTable]) -> Margins:
    """Return the margins by the tables of columns and of pairs: every table is evidence of its own margins.

    Parameters
    ----------
    margins : Margins
        From the tables of columns: within a group they alone say how the values share.
    one_ways, pairs
        Noisy tables.

    Notes
    -----
    Sums of noisy cells are combined by the inverse of their variances, then the nearest shares are taken.
    """
    totals = _totals([*one_ways, *pairs.values()])
    tops = [_base(table, group) for table, group in zip(one_ways, margins.groups, strict=True)]
    for pair, table in pairs.items():
        for side, column in enumerate(pair):
            across = 2 - side  # what is summed away: the groups of the other column
            noise = table.variance * table.counts.shape[across]
            tops[column].append((table.counts.sum(axis=across), np.full(table.counts.shape[1 + side], noise)))
    values = []
    for column, known in enumerate(tops):
        weights = np.stack([1 / noise for _, noise in known])
        sums = np.stack([counts for counts, _ in known])
        rows = np.einsum("tg,tcg->cg", weights, sums) / weights.sum(axis=0)
        shares = shrunk_shares(rows, 1 / weights.sum(axis=0), totals)
        values.append(shares[:, margins.groups[column]] * margins.within(column))
    return Margins(totals=totals, values=tuple(values), groups=margins.groups)


def shrunk_shares(counts: FloatArray, noise: FloatArray, totals: FloatArray) -> FloatArray:
    """Return the shares of the values of a column: nearest to the counts, drawn together as far as noise parts them.

    Where the counts are no further from all alike, or from each other over the classes, than their noise makes, they
    say nothing of it (James, Stein 1961, with the positive part).

    Parameters
    ----------
    counts : float array, shape (classes, n)
    noise : float array, shape (n,)
        Variance of the noise of each count.
    totals : float array, shape (classes,)
        Rows of each class, at least 1.
    """
    size, rows = counts.shape[1], float(totals.sum())
    if size == 1:
        return np.ones(counts.shape)
    spread = float(len(totals) * noise.sum() * (1 - 1 / size))
    pooled = counts.sum(axis=0)
    level = pooled - (pooled.sum() - rows) / size
    signal = _signal_share(spread, float(((level - rows / size) ** 2).sum()))
    cut = np.maximum(pooled, 0.0)
    cut = cut / cut.sum() if cut.sum() > 0 else np.full(size, 1 / size)
    shrunken = rows / size + signal * (level - rows / size)
    whole = np.array([rows])
    near, nearer = (nearest_shares(own[np.newaxis], whole)[0] for own in (pooled, shrunken))
    together = signal * near + (1 - signal) * (cut + nearer) / 2
    if len(totals) == 1:
        return np.asarray(together[np.newaxis])
    alike = totals[:, np.newaxis] * together
    own = counts - (counts.sum(axis=1) - totals)[:, np.newaxis] / size
    apart = math.sqrt(_signal_share((len(totals) - 1) / len(totals) * spread, float(((own - alike) ** 2).sum())))
    return nearest_shares(alike + apart * (own - alike), totals)


def _signal_share(noise: float, found: float) -> float:
    """Return the part of squared differences that noise does not explain."""
    return max(0.0, 1 - noise / found) if found > 0 else 0.0


def nearest_shares(counts: FloatArray | IntArray, totals: FloatArray) -> FloatArray:
    """Return the shares, none negative and 1 in sum, that are nearest to noisy counts over the rows of their class.

    One amount is taken from all counts of a class, and what would be below 0 is 0 (Duchi et al., ICML 2008).

    Parameters
    ----------
    counts : array, shape (classes, n)
    totals : float array, shape (classes,)
    """
    rough = counts / totals[:, np.newaxis]
    falling = -np.sort(-rough, axis=1)
    surplus = (np.cumsum(falling, axis=1) - 1) / np.arange(1, rough.shape[1] + 1)
    last = (falling > surplus).sum(axis=1, keepdims=True) - 1
    shares = np.maximum(rough - np.take_along_axis(surplus, last, axis=1), 0.0)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def rows_per_class(tables: Sequence[MeasuredTable]) -> FloatArray:
    """Return the rows of each class by all tables together, weighted by precision, shape (classes,); maybe below 0."""
    weights = np.array([1 / (table.variance * table.counts[0].size) for table in tables])
    sums = np.stack([table.counts.reshape(len(table.counts), -1).sum(axis=1) for table in tables])
    return np.asarray(weights @ sums / weights.sum())


def _even(table: MeasuredTable) -> FloatArray:
    return np.full(table.counts.shape[1], table.variance)


def _smooth_bins(table: MeasuredTable, bins: int) -> tuple[FloatArray, FloatArray]:
    """Return the counts of a column, of which the first ones are bins, and the variance of the noise of each."""
    counts, noise = table.counts.astype(np.float64), _even(table)
    if bins:
        counts[:, :bins], noise[:bins] = smoothed(counts[:, :bins], table.variance)
    return counts, noise


def _totals(tables: Sequence[MeasuredTable]) -> FloatArray:
    return np.maximum(rows_per_class(tables), _FEWEST_ROWS)


def _base(table: MeasuredTable, groups: IntArray) -> list[tuple[FloatArray, FloatArray]]:
    """Return the rows of the groups by the column's own table, and the variance of each."""
    noise: FloatArray = np.bincount(groups).astype(np.float64) * table.variance
    return [(_in_groups(table.counts.astype(np.float64), groups), noise)]


def _in_groups(values: FloatArray, groups: IntArray) -> FloatArray:
    """Return the sums over the values of each group, shape (classes, groups)."""
    return np.stack(list(starmap(np.bincount, ((groups, row) for row in values))))


_PUBLIC_KEY = hashlib.sha256(b"rows that stand for a tree").digest()
"""Key of a public sequence: nothing private hangs on it, and the same tables give the same rows."""
_WORD_BITS = 32


@dataclass(frozen=True, kw_only=True)
class TreeStep:
    """A column in an order in which its parent comes before it."""

    column: int
    parent: int | None
    """None for the first column of a part of the tree."""


def order_of(edges: Sequence[Pair], n_columns: int) -> list[TreeStep]:
    """Return all columns, each after its parent; a column without an edge is a root."""
    beside: list[list[int]] = [[] for _ in range(n_columns)]
    for first, second in edges:
        beside[first].append(second)
        beside[second].append(first)
    steps: list[TreeStep] = []
    seen: set[int] = set()
    for root in range(n_columns):
        if root in seen:
            continue
        seen.add(root)
        waiting = [TreeStep(column=root, parent=None)]
        while waiting:
            step = waiting.pop(0)
            steps.append(step)
            for near in beside[step.column]:
                if near not in seen:
                    seen.add(near)
                    waiting.append(TreeStep(column=near, parent=step.column))
    return steps


def conditional(tables: Mapping[Pair, FloatArray], step: TreeStep, margins: Margins) -> FloatArray:
    """Return the shares of a column's values given its parent's, shape (classes, values of the parent, values)."""
    parent, column = step.parent, step.column
    if parent is None:
        return margins.values[column][:, np.newaxis, :]
    joint = tables[parent, column] if parent < column else tables[column, parent].transpose(0, 2, 1)
    rows = joint.sum(axis=2, keepdims=True)
    alone = np.broadcast_to(margins.values[column][:, np.newaxis, :], joint.shape)
    return np.where(rows > 0, joint / np.where(rows > 0, rows, 1.0), alone)


def rows_of_tree(
    layout: ColumnLayout, steps: Sequence[TreeStep], tables: Mapping[Pair, FloatArray], margins: Margins, number: int
) -> IntArray:
    """Return rows of each class that represent the tree, shape (classes, number, n_columns).

    They are drawn along the tree by a public sequence: the same tables give the same rows, and nothing is secret.
    """
    out = np.zeros((layout.classes, number, len(layout.sizes)), dtype=np.int64)
    for step in steps:
        words = keyed_words(_PUBLIC_KEY, step.column, 0, number, word_bits=_WORD_BITS)
        uniform = (words.reshape(-1).astype(np.float64) + 0.5) / (1 << _WORD_BITS)
        ends = np.cumsum(conditional(tables, step, margins), axis=2)
        for own, reached in zip(out, ends, strict=True):
            given = np.zeros(number, dtype=np.int64) if step.parent is None else own[:, step.parent]
            passed = reached[given] <= (uniform * reached[given, -1])[:, np.newaxis]
            own[:, step.column] = passed[:, :-1].sum(axis=1)
    return out
