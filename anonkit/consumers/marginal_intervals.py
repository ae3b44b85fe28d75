# SPDX-License-Identifier: Apache-2.0
"""Answers of the noisy tables of a release to counting queries: counts with the interval that their noise leaves.

A table with all columns of a query answers it by sums of its cells; whole columns are summed away. Which table
is read follows from what was chosen before its own noise was drawn, so the noise of what is read is noise of its law,
and an interval misses the true count as rarely as it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.errors import ReleaseFormatError
from anonkit.published.marginal_tables import OneWayTable, PairTable
from anonkit.published.noise_intervals import count_margin, gaussian_margin, margin, scale_of
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE, noise_variance
from anonkit.published.product_mixtures import ProductMixtures

MEASURED, TOGETHER, MODEL = "measured", "together", "model"
"""Read from noisy cells; at most what was measured of it together with others; not measured."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyCells:
    """Noisy counts over the groups of the values of some columns.

    Raises
    ------
    ReleaseFormatError
        The groups do not fit the counts.
    """

    names: tuple[str, ...]
    counts: IntArray
    """One axis a column."""
    groups: tuple[IntArray, ...]
    """For each column the group of each value, shape (values,)."""
    rate: int
    """Of the noise, in units of 2**-52."""
    law: str = LAPLACE
    """Of the noise."""

    def __post_init__(self) -> None:
        shape = tuple(int(own.max(initial=-1)) + 1 for own in self.groups)
        if self.counts.shape != shape or self.rate < 1:
            raise ReleaseFormatError("a noisy table of the params does not fit its columns")


@dataclass(frozen=True, kw_only=True, eq=False)
class MarginalCounts:
    """Counts of the cells of a question, all arrays of one shape."""

    counts: FloatArray
    """Unbiased where `basis` says measured, below 0 where noise made them so."""
    lower: FloatArray
    upper: FloatArray
    """Ends of the interval, not below 0."""
    basis: NDArray[np.object_]
    """`measured` or `together`."""


def noisy_cells(
    mixtures: ProductMixtures, tables: Sequence[OneWayTable], pairs: Sequence[PairTable]
) -> tuple[list[NoisyCells], list[NoisyCells]]:
    """Return the tables of columns, and of pairs, with what splits them as a column."""
    target = mixtures.schema.target
    split = mixtures.anchored and target is not None
    sizes = mixtures.schema.sizes
    anchor = (np.arange(len(mixtures.classes)),) if split else ()
    before = (str(target),) if split else ()
    grouped = {table.name: table.groups for table in tables}
    if set(grouped) != set(mixtures.names) or any(own.size != sizes[name] for name, own in grouped.items()):
        raise ReleaseFormatError("the noisy tables of the params are not of the columns of the release")

    def cells(names: Sequence[str], counts: IntArray, groups: Sequence[IntArray], rate: int) -> NoisyCells:
        shown = counts if split else counts.sum(axis=0)  # one class of all rows
        return NoisyCells(names=(*before, *names), counts=shown, groups=(*anchor, *groups), rate=rate, law=mixtures.law)

    columns = [cells((table.name,), table.counts, (np.arange(sizes[table.name]),), table.rate) for table in tables]
    return columns, [
        cells(table.names, table.counts, [grouped[name] for name in table.names], table.rate) for table in pairs
    ]


def answer(
    columns: Sequence[NoisyCells],
    pairs: Sequence[NoisyCells],
    names: Sequence[str],
    allowed: Mapping[str, BoolArray],
    level: float,
) -> MarginalCounts | None:
    """Return the noisy counts of each combination of values, among rows with allowed values.

    Parameters
    ----------
    columns, pairs
        Noisy tables of single columns and of pairs, as `noisy_cells` returns them.
    names : sequence of str
        The columns of the query.
    allowed : mapping of str to bool array
        Columns on which the rows are conditioned.
    level : float
        Confidence of each interval on its own, in (0, 1).

    Returns
    -------
    Answer or None
        None where no table holds all these columns.
    """
    involved = {*names, *allowed}
    chosen = [table for table in columns if involved <= set(table.names)]
    chosen = chosen or [table for table in pairs if involved <= set(table.names)][:1]
    if not chosen:
        return None
    # what splits all tables alone is in each of them: they answer together, weighted by precision
    known = [_summed(table, names, allowed) for table in chosen]
    precisions = [
        1 / (noise_variance(table.rate, table.law) * one.draws) for table, one in zip(chosen, known, strict=True)
    ]
    weights = [own / sum(precisions) for own in precisions]
    counts = sum(weight * one.counts for weight, one in zip(weights, known, strict=True))
    parts = list(zip(weights, chosen, known, strict=True))
    if chosen[0].law == GAUSSIAN:
        far = gaussian_margin(tuple((weight, table.rate, one.draws) for weight, table, one in parts), 1 - level)
    elif len(known) == 1:
        far = float(count_margin(chosen[0].rate, known[0].draws, level))
    else:
        far = margin(tuple((weight * scale_of(table.rate), one.draws) for weight, table, one in parts), 1 - level)
    exact, upper = known[0].exact, np.maximum(counts + far, 0.0)
    outside = np.zeros(exact.shape, dtype=bool)
    for axis, name in enumerate(names):
        if name in allowed:
            outside |= np.expand_dims(~allowed[name], [at for at in range(len(names)) if at != axis])
    return MarginalCounts(
        counts=np.where(outside, 0.0, counts),
        lower=np.where(exact & ~outside, np.maximum(counts - far, 0.0), 0.0),
        upper=np.where(outside, 0.0, upper),
        basis=np.where(exact | outside, MEASURED, TOGETHER).astype(object),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sums:
    """Sums of the noisy cells of a table, one a cell of the question."""

    counts: FloatArray
    exact: BoolArray
    """False where the count covers more than the query."""
    draws: int
    """Cells that were added up for each."""


def _summed(table: NoisyCells, names: Sequence[str], allowed: Mapping[str, BoolArray]) -> _Sums:
    """Return the sums: over all groups of a column outside the query, or over those of its allowed values."""
    counts, draws, whole = table.counts.astype(np.float64), 1, True
    for axis, (name, groups) in enumerate(zip(table.names, table.groups, strict=True)):
        if name in names:
            continue
        wanted = allowed.get(name, np.ones(groups.size, dtype=bool))
        touched = np.unique(groups[wanted])
        whole = whole and bool(wanted[np.isin(groups, touched)].all())
        counts = np.take(counts, touched, axis=axis).sum(axis=axis, keepdims=True)
        draws *= touched.size
    axes = [axis for axis, name in enumerate(table.names) if name in names]
    counts = counts.reshape([counts.shape[axis] for axis in axes])
    shown = [table.names[axis] for axis in axes]
    counts = counts.transpose([shown.index(name) for name in names])
    groups_of = [table.groups[table.names.index(name)] for name in names]
    exact = np.full((1,) * len(names), whole)
    for axis, groups in enumerate(groups_of):
        alone = np.bincount(groups)[groups] == 1
        exact = exact & np.expand_dims(alone, [at for at in range(len(names)) if at != axis])
    return _Sums(
        counts=counts[np.ix_(*groups_of)], exact=np.broadcast_to(exact, [g.size for g in groups_of]), draws=draws
    )
