# SPDX-License-Identifier: Apache-2.0
"""Safe cut points of an ordered column: publishing them discloses nothing about a set of fewer than k rows.

All points at which a column may be cut are in one order that is public, the roundest first
(`anonkit.domains.named_parts`). The line is divided at the first point of the order that has values on both sides, if
at least k rows (people) are on either side; a side with fewer is forgotten, and the other side is looked at alone;
sides with k are divided further. Rows of a forgotten side are never counted again, so they belong to the part beside
them without being listed.

**What the cuts disclose.** Only that certain intervals hold k rows. Take any set I of values that fewer than k rows
have. Every interval H that was looked at and not divided holds k rows, hence a value p outside I; move the rows of I in
H to p, and those of I in forgotten sides to such a p too. In H no point gets k rows on both sides (off the path to p
sides only lose rows, and had fewer than k), forgotten sides stay below k, and sides with k rows contain such an H whole
and keep them. So the same points divide, and the table with nobody in I has the same cuts: whoever knows all of this,
and the cuts, cannot place a value in I. The same holds of anything computed from the cuts alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from anonkit.domains.coded_columns import CodedColumn, IntArray
from anonkit.domains.named_parts import Point, gaps_between, place

_FEW = 4096  # rows whose people are counted before those of all rows are

IsHeavy = Callable[[int, int], bool]
"""Predicate: True where at least k rows (people) have one of the values first, …, last - 1."""


def heavy_borders(roundness: IntArray, is_heavy: IsHeavy) -> list[int]:
    """Return the cuts of values, as the numbers of the values that begin a part, ascending.

    Parameters
    ----------
    roundness : ndarray of shape (n_values - 1,)
        Place of the first point between two neighbouring values in the order of all points; -1 where there is none.
        Of equal places the later gap comes first.
    is_heavy : callable
        Whether k rows have the values of a range.
    """
    last_first = np.where(roundness < 0, np.iinfo(np.int64).max, roundness)[::-1]
    borders: list[int] = []
    waiting = [(0, roundness.size + 1)]
    while waiting:
        first, end = waiting.pop()
        if end - first < 2:
            continue
        gaps = last_first[roundness.size - end + 1 : roundness.size - first]
        at = end - 1 - int(np.argmin(gaps))
        if roundness[at - 1] < 0:
            continue
        left, right = is_heavy(first, at), is_heavy(at, end)
        if left and right:
            borders.append(at)
        waiting += [(first, at)] * left + [(at, end)] * right
    return sorted(borders)


def counter(codes: IntArray, n_values: int, k: int, holders: Sequence[IntArray]) -> IsHeavy:
    """Return a predicate of ranges of codes: True where k rows, or k of each kind of holders, have them.

    Ranges are [first, end). One sort of the rows, then O(rows of the range) per call with holders and O(1) without.
    Rows of holder -1 are held by nobody.
    """
    upto = np.append(0, np.cumsum(np.bincount(codes, minlength=n_values)))
    if not holders:
        return lambda first, end: bool(upto[end] - upto[first] >= k)
    order = np.argsort(codes, kind="stable")
    of_rows = [units[order] for units in holders]

    def is_heavy(first: int, end: int) -> bool:
        here = slice(upto[first], upto[end])
        # most ranges have k people among their first rows: the whole range is sorted only where they have not
        return all(_people(units[here][:_FEW]) >= k or _people(units[here]) >= k for units in of_rows)

    return is_heavy


def _people(units: IntArray) -> int:
    distinct = np.unique(units)
    return int(distinct.size - (distinct[:1] < 0).sum())


def heavy_cuts(column: CodedColumn, k: int, holders: Sequence[IntArray] = ()) -> list[tuple[int, Point]]:
    """Return the finest cuts of an ordered column that disclose nothing of fewer than k rows.

    Returns
    -------
    list of (code, point)
        Codes at which a part begins, ascending, and where the line is cut: above the value before, not above the
        value of the code. Every part has k rows (units); none is returned for a column without k present values.
    """
    values = column.values if column.missing is None else column.values[:-1]
    present = column.codes < len(values)
    gaps = gaps_between(values)
    is_heavy = counter(column.codes[present].astype(np.int64), len(values), k, [units[present] for units in holders])
    return [(at, gaps.point(at - 1)) for at in heavy_borders(gaps.roundness, is_heavy)]


def equal_width_cuts(points: Sequence[Point], n_bins: int) -> list[int]:
    """Choose those of some cuts that divide a column into bins of about equal width (step 1 of paper 001).

    Neither the smallest nor the largest value is used: the outermost parts are taken to be as wide as their
    neighbours, and each edge of `n_bins` equal bins moves to the nearest cut, the lower of two.

    Returns
    -------
    list of int
        Numbers of the points chosen, ascending; fewer than n_bins - 1 where several edges meet in one cut.
    """
    if len(points) < 2:
        return list(range(len(points)))
    # exact, so that a tie between two cuts falls the same way on every machine
    places = [Fraction(place(point)) for point in points]
    low, high = 2 * places[0] - places[1], 2 * places[-1] - places[-2]
    edges = [low + (high - low) * at / n_bins for at in range(1, n_bins)]
    return sorted({min(range(len(places)), key=lambda at: abs(places[at] - edge)) for edge in edges})


def declared_cuts(
    column: CodedColumn, bounds: tuple[float, float], n_bins: int, k: int, holders: Sequence[IntArray] = ()
) -> list[tuple[int, Point]]:
    """Return the edges of equal bins between public bounds, as far as k rows (units) are between each two.

    Returns
    -------
    list of (code, point)
        As `heavy_cuts` does.
    """
    low, high = (Fraction(str(bound)) for bound in bounds)
    edges = [low + (high - low) * at / n_bins for at in range(1, n_bins)]
    whole = all(isinstance(value, int) for value in column.values if value is not None)
    points: list[Point] = [-(-edge.numerator // edge.denominator) if whole else float(edge) for edge in edges]
    values = [place(value) for value in column.values if value is not None]  # type: ignore[arg-type]
    bins = np.array([sum(value >= point for point in points) for value in values], dtype=np.int64)  # type: ignore[operator]
    present = column.codes < len(values)
    codes = column.codes[present].astype(np.int64)
    is_heavy = counter(codes, len(values), k, [units[present] for units in holders])
    borders = heavy_borders(np.where(np.diff(bins) > 0, 0, -1), is_heavy)
    return [(at, points[int(bins[at]) - 1]) for at in borders]
