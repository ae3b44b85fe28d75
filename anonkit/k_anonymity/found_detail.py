# SPDX-License-Identifier: Apache-2.0
"""Columns without a declared hierarchy: a search may use only values and cuts that k rows (people) share.

A recoding is published, so its lists and cuts disclose facts of the source, suppressed rows included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import CodedColumn
from anonkit.domains.interval_ends import Point
from anonkit.k_anonymity.search.supported_cuts import declared_cuts, equal_width_cuts, heavy_cuts

Holders = Sequence[NDArray[np.int64]]
"""Possible person of each row, shape (n_rows,), -1 for nobody: the person, or the value of each candidate for it. None
where every row is a person. What k people hold, k values of each hold."""


@dataclass(frozen=True)
class Pooled:
    """Placeholder for all values of a column that are not listed."""

    with_missing: bool = False
    """True when fewer than k rows are missing: they are indistinguishable from the rest of the pool."""

    def __repr__(self) -> str:
        return "<pooled>"


@dataclass(frozen=True)
class Stretch:
    """Placeholder for the values of an ordered column between two neighbouring cuts."""

    low: Point | None
    """The cut at its lower end; None for the lowest part, which has none."""
    with_missing: bool = False
    """True when fewer than k rows are missing: they are indistinguishable from the rest of this part."""


def held_by(codes: NDArray[np.integer], n_codes: int, holders: Holders) -> NDArray[np.int64]:
    """Count the rows (distinct holders, where they are fewest) that have each code, shape (n_codes,)."""
    whole = codes.astype(np.int64)
    if not holders:
        return np.bincount(whole, minlength=n_codes).astype(np.int64)
    counts = []
    for units in holders:
        somebodys = units >= 0
        n_units = int(units.max(initial=0)) + 1
        pairs = np.unique(whole[somebodys] * n_units + units[somebodys])
        counts.append(np.bincount(pairs // n_units, minlength=n_codes).astype(np.int64))
    return np.asarray(np.minimum.reduce(counts))


def _holders(column: CodedColumn, which: NDArray[np.bool_], holders: Holders) -> int:
    rows = which[column.codes]
    if not holders:
        return int(rows.sum())
    return min(int(np.unique(units[rows & (units >= 0)]).size) for units in holders)


def pool_rare(column: CodedColumn, k: int, holders: Holders = ()) -> CodedColumn:
    """Merge the values of a categorical column that fewer than k rows (people) hold into one code that k rows hold.

    Where they are fewer together, the listed values that fewest hold join them. Missing joins them too, unless k rows
    are missing. Codes become: listed values in their order, the pool if there is one, missing last.
    """
    if column.ordered:
        return column
    held = held_by(column.codes, column.size, holders)
    missing = np.zeros(column.size, dtype=bool)
    if column.missing is not None:
        missing[column.missing] = True
    pooled = held < k
    if not pooled.any():
        return column
    while _holders(column, pooled, holders) < k and not pooled.all():
        rest = np.flatnonzero(~pooled & ~missing)
        pooled[rest[np.argmin(held[rest])] if rest.size else column.missing] = True
    listed = np.flatnonzero(~pooled & ~missing)
    recode = np.full(column.size, listed.size, dtype=np.int32)
    recode[listed] = np.arange(listed.size, dtype=np.int32)
    own = missing & ~pooled
    recode[own] = listed.size + 1
    values: list[object] = [column.values[at] for at in listed.tolist()]
    values.append(Pooled(with_missing=bool((missing & pooled).any())))
    return replace(column, codes=recode[column.codes], values=[*values, *([None] if own.any() else [])])


def cut_parts(
    column: CodedColumn,
    k: int,
    holders: Holders = (),
    *,
    bins: int | None = None,
    bounds: tuple[float, float] | None = None,
) -> CodedColumn:
    """Merge the values of an ordered column into parts of k rows (people) each; no cut discloses fewer.

    Parameters
    ----------
    column : CodedColumn
        Ordered.
    bins : int, optional
        Merge further, into about so many bins of equal width: of the public bounds, or of what the cuts span.
    bounds : (low, high), optional
        Public bounds, used for bins only.

    Returns
    -------
    CodedColumn
        Its values are stretches; the column as it is where every value is a part of its own. Missing is a code of its
        own where k rows are missing, and else joins the highest part.
    """
    n_values = column.size - (column.missing is not None)
    if not column.ordered or n_values == 0:
        return column
    if bins is not None and bounds is not None:
        cuts = declared_cuts(column, bounds, bins, k, holders)
    else:
        cuts = heavy_cuts(column, k, holders)
        if bins is not None:
            cuts = [cuts[at] for at in equal_width_cuts([point for _, point in cuts], bins)]
    present = np.arange(column.size) < n_values
    tells_missing = _holders(column, ~present, holders) >= k and _holders(column, present, holders) >= k
    if bins is None and len(cuts) == n_values - 1 and (tells_missing or column.missing is None):
        return column
    part = np.searchsorted([at for at, _ in cuts], np.arange(column.size), side="right").astype(np.int32)
    values: list[object] = [Stretch(None), *(Stretch(point) for _, point in cuts)]
    if tells_missing:
        part[n_values:] = len(values)
        values.append(None)
    elif column.missing is not None:
        part[n_values:] = len(cuts)
        values[-1] = Stretch(cuts[-1][1] if cuts else None, with_missing=True)
    return replace(column, codes=part[column.codes], values=values)
