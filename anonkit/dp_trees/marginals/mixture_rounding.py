# SPDX-License-Identifier: Apache-2.0
"""A mixture in whole units: what is published, and what rows are drawn from.

Columns of numbers in a fitted mixture: nobody in cells that seem empty, and the others as often as the tables say.

A mean and a deviation depend most on the cells that lie far away, and rare values are fitted last. Post-processing of
noisy tables, at no privacy loss.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import Grid
from anonkit.dp_trees.marginals.noisy_readings import ColumnLayout
from anonkit.dp_trees.marginals.table_fit import Mixture
from anonkit.dp_trees.marginals.tree_pairs import Margins, MeasuredTable
from anonkit.dp_trees.microdata import supported_cells
from anonkit.published.product_mixtures import SHARE_UNITS, WEIGHT_UNITS, ClassMixture


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
