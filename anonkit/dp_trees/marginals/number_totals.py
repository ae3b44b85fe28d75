# SPDX-License-Identifier: Apache-2.0
"""Columns of numbers in a fitted mixture: nobody in cells that seem empty, and the others as often as the tables say.

A mean and a deviation depend most on the cells that lie far away, and rare values are fitted last. Post-processing of
noisy tables, at no privacy loss.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.domains.attribute_domains import Grid
from anonkit.dp_trees.empty_cells import kept_cells
from anonkit.dp_trees.marginals.column_layout import ColumnLayout
from anonkit.dp_trees.marginals.measured_tables import Margins, MeasuredTable
from anonkit.dp_trees.marginals.mixture_rounding import without_values
from anonkit.dp_trees.marginals.product_mixture import Mixture

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
        kept = kept_cells(cells, deviation)
        if kept.all():
            continue
        rows[: domain.cells] *= kept
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
