# SPDX-License-Identifier: Apache-2.0
"""Shares of a recoded column: the rows of the source and of the release with each released value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.published.recoding import CategoryAxis, GlobalRecoding, Grouping, IntervalAxis, Recoding, UnchangedAxis

_FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ShareBar:
    """One released value, or a run of parts of an axis, with the rows behind it."""

    label: str | None
    """None is missing."""
    source_rows: float
    released_rows: float
    others: int = 0
    """Categories of a bar that has no name of its own."""


@dataclass(frozen=True, kw_only=True)
class RecodedShares:
    """The rows of a source and of its release under one recoded column.

    Privacy
    -------
    Counted on the source: for its owner. The labels are those of the recoding, which is published.
    """

    bars: tuple[ShareBar, ...]
    is_spread: bool
    """True where released sets overlap: a released row then counts evenly over the parts of its set."""
    coarseness: float
    """Mean share of the source's rows that a released cell may mean, in (0, 1]; 1 for a dropped column."""


def recoded_shares(
    recoding: Recoding, name: str, source: pa.Array, released: pa.Array, *, most: int
) -> RecodedShares | None:
    """Count the rows of a source and a release by the released values of a column.

    Parameters
    ----------
    source, released : Array
        The column in either table; shape (n_rows,) and (n_released,).
    most : int
        Bars at most where released sets overlap; where they do not, there is one for each released value.

    Returns
    -------
    RecodedShares, or None where the column is released as it is, or not at all.
    """
    counts: dict[str | None, int] = {
        entry["values"]: int(entry["counts"]) for entry in pc.value_counts(released).to_pylist()
    }
    if isinstance(recoding, GlobalRecoding):
        column = next((column for column in recoding.columns if column.name == name), None)
        return None if column is None or isinstance(column, UnchangedAxis) else _grouped(column, source, counts)
    at = next((at for at, axis in enumerate(recoding.axes) if axis.name == name), None)
    if at is None:
        return None
    axis = recoding.axes[at]
    members = dict.fromkeys(region[at] for region in recoding.regions().values())  # boxes share their sets of parts
    sets = {axis.label(sorted(parts)): sorted(parts) for parts in members}
    return _spread(axis, source, counts, sets, most)


def _grouped(column: Grouping, source: pa.Array, counts: Mapping[str | None, int]) -> RecodedShares:
    """Return one bar for each released value: no two of them share a part."""
    rows = _rows_of_parts(column.axis, source)
    before: dict[str | None, float] = dict.fromkeys(column.labels, 0.0)
    for label, n_rows in zip(column.labels, rows, strict=True):
        before[label] += n_rows
    bars = [
        ShareBar(label=label, source_rows=before.get(label, 0.0), released_rows=float(counts.get(label, 0)))
        for label in [*before, *(label for label in counts if label not in before)]
    ]
    return RecodedShares(bars=tuple(bars), is_spread=False, coarseness=_coarseness(before, counts))


def _spread(
    axis: IntervalAxis | CategoryAxis,
    source: pa.Array,
    counts: Mapping[str | None, int],
    sets: Mapping[str | None, Sequence[int]],
    most: int,
) -> RecodedShares:
    """Return runs of parts as bars, a released row evenly over the parts of its set."""
    rows = _rows_of_parts(axis, source)
    after = np.zeros(axis.size)
    for label, n_rows in counts.items():
        parts = list(sets.get(label, ()))
        after[parts] += n_rows / max(len(parts), 1)
    bars = [
        ShareBar(
            label=axis.label(run) if isinstance(axis, IntervalAxis) or len(run) == 1 else "",
            source_rows=float(rows[run].sum()),
            released_rows=float(after[run].sum()),
            others=len(run) if isinstance(axis, CategoryAxis) and len(run) > 1 else 0,
        )
        for run in _runs(axis, rows, most)
    ]
    before = {label: float(rows[list(parts)].sum()) for label, parts in sets.items()}
    return RecodedShares(bars=tuple(bars), is_spread=True, coarseness=_coarseness(before, counts, rows.sum()))


def _runs(axis: IntervalAxis | CategoryAxis, rows: _FloatArray, most: int) -> list[list[int]]:
    """Return the parts as bars: neighbours of about as many rows on an ordered axis, else the commonest and the rest.

    Missing is a bar of its own.
    """
    n_values = axis.size - axis.has_missing
    missing = [[n_values]] if axis.has_missing else []
    if n_values <= most:
        return [*([part] for part in range(n_values)), *missing]
    if isinstance(axis, CategoryAxis):
        order = np.argsort(-rows[:n_values], kind="stable").tolist()
        return [*([part] for part in order[: most - 1]), sorted(order[most - 1 :]), *missing]
    share = np.cumsum(rows[:n_values]) - rows[:n_values] / 2
    bins = np.minimum((share / max(rows[:n_values].sum(), 1.0) * most).astype(np.int64), most - 1)
    return [*(np.flatnonzero(bins == at).tolist() for at in np.unique(bins)), *missing]


def _rows_of_parts(axis: IntervalAxis | CategoryAxis, source: pa.Array) -> _FloatArray:
    """Return the rows of each part, shape (axis.size,); cells that are not covered are in none."""
    codes = axis.codes(source)
    return np.bincount(codes[codes >= 0], minlength=axis.size).astype(np.float64)


def _coarseness(
    before: Mapping[str | None, float], counts: Mapping[str | None, int], n_rows: float | None = None
) -> float:
    """Return the mean over released rows of the share of the source's rows that their cell may mean."""
    total, released = sum(before.values()) if n_rows is None else n_rows, sum(counts.values())
    if not total or not released:
        return 1.0
    return float(sum(n * before.get(label, 0.0) for label, n in counts.items()) / (total * released))
