# SPDX-License-Identifier: Apache-2.0
"""A mixture whose components are the cells of one table: of three columns, and of the target where it splits nothing.

Within a cell columns are independent of each other, and have their own shares among the values of the cell. Function of
noisy counts, at no privacy loss.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.dp_trees.marginals.mixture_rounding import in_units, without_values
from anonkit.dp_trees.marginals.noisy_readings import ColumnLayout
from anonkit.dp_trees.marginals.table_fit import Mixture
from anonkit.dp_trees.marginals.tree_pairs import MeasuredTable, nearest_shares
from anonkit.dp_trees.marginals.triple_choice import ChosenTriple
from anonkit.published.product_mixtures import ClassMixture


def mixtures_of_triple(
    layout: ColumnLayout,
    columns: FloatArray,
    chosen: ChosenTriple,
    table: MeasuredTable,
    empty: IntArray,
    class_rows: FloatArray,
) -> tuple[ClassMixture, ...]:
    """Return the mixture of each class that splits the tables.

    Parameters
    ----------
    layout : ColumnLayout
    columns : float array, shape (classes, all values)
        Shares of the values of each column.
    chosen, table
        The triple, and its noisy table, shape (classes, cells): with one class its cells are by the target first.
    empty : int64 array
        Values among those of all columns that no row shall have.
    class_rows : float array, shape (classes,)
    """
    places, groups = list(chosen.columns), list(chosen.groups)
    if not layout.anchored:
        last = len(layout.sizes) - 1
        places, groups = [last, *places], [np.arange(layout.sizes[last]), *groups]
    shares = nearest_shares(table.counts, np.maximum(class_rows, 1.0))
    out = []
    for own, of_cells, rows in zip(columns, shares, class_rows, strict=True):
        base = without_values(Mixture(weights=np.ones(1), shares=own[np.newaxis]), empty, layout.offsets)
        split = mixture_of_cells(layout, base.shares[0], places, groups, of_cells, empty)
        out.append(in_units(split, layout.offsets, rows))
    return tuple(out)


def mixture_of_cells(
    layout: ColumnLayout, own: FloatArray, columns: Sequence[int], groups: Sequence[IntArray], shares: FloatArray,
    empty: IntArray,
) -> Mixture:  # fmt: skip
    """Return the mixture of one class.

    Parameters
    ----------
    layout : ColumnLayout
    own : float array, shape (all values,)
        Shares of the values of each column.
    columns, groups
        The columns of the table, and for each the group of each value.
    shares : float array, shape (cells,)
        Of the cells, the groups of the last column first to change.
    empty : int64 array
        Values among those of all columns that no row shall have.
    """
    sizes = tuple(int(group.max()) + 1 for group in groups)
    out = np.repeat(own[np.newaxis], shares.size, axis=0)
    for at, column, group in zip(np.unravel_index(np.arange(shares.size), sizes), columns, groups, strict=True):
        place = layout.values(column)
        possible = ~np.isin(np.arange(place.start, place.stop), empty)
        inside = (group == at[:, np.newaxis]) & possible
        part = np.where(inside, own[place], 0.0)
        whole = part.sum(axis=1, keepdims=True)
        evenly = inside / inside.sum(axis=1, keepdims=True)
        out[:, place] = np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), evenly)
    return Mixture(weights=shares, shares=out)
