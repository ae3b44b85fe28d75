# SPDX-License-Identifier: Apache-2.0
"""A mixture moved nearer to noisy tables as they were drawn: least squares, each table by its precision.

The noise of a cell has one variance, whatever the cell counts: least squares weigh it as it is, where a likelihood of
shares would take the noise of an almost empty cell for news. Post-processing of noisy counts, at no privacy loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.dp_trees.marginals.column_layout import ColumnLayout, Pair
from anonkit.dp_trees.marginals.measured_tables import Margins, MeasuredTable
from anonkit.dp_trees.marginals.pair_completion import group_matrix
from anonkit.dp_trees.marginals.product_mixture import Mixture, shares_of_columns

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

Matrix = NDArray[np.float32]


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
    """Return what there is to come near to.

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
