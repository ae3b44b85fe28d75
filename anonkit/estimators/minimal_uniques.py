# SPDX-License-Identifier: Apache-2.0
"""Minimal sample uniques, SUDA and DIS-SUDA scores: which few columns make a row unique, and how special it is.

A minimal sample unique is a set of columns by whose values a row is alone, while it is not by any smaller part of them.
Distinction and separation of a set of columns are how well they distinguish the rows of a table.

References
----------
M. J. Elliot, A. M. Manning and R. W. Ford (2002). A computational algorithm for handling the special uniques problem.
Int. J. Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 493-509.
C. J. Skinner and M. J. Elliot (2002). A measure of disclosure risk for microdata. J. Royal Statistical Society B 64(4),
855-867.
R. Motwani and Y. Xu (2007). Efficient algorithms for masking and finding quasi-identifiers. VLDB.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import combine, count_combinations, distinct_in_groups


def distinction_and_separation(histogram: Iterable[tuple[int, int]]) -> tuple[float, float]:
    """Return the distinction and separation of rows by columns, from the histogram of (class size, number of classes).

    Returns
    -------
    distinction : float
        Classes over rows, in (0, 1].
    separation : float
        Share of the pairs of rows that the columns distinguish, in [0, 1]; 1 for a table of one row.
    """
    found = [(int(size), int(count)) for size, count in histogram]
    rows, classes = sum(size * count for size, count in found), sum(count for _, count in found)
    pairs = rows * (rows - 1)
    alike = sum(size * (size - 1) * count for size, count in found)
    return classes / rows, 1.0 if not pairs else 1 - alike / pairs


LARGEST_SET = 3
"""Columns of the largest sets that are looked at."""
_PLACES = 8
"""Combinations a row, at most, that have a place each."""
_THREADS = 2
_MOST_FACTORIAL = 171
"""Columns M of which (M - 1)! is a float."""
_MOST_ROWS = 5 * 10**9
"""Rows that are counted at most, over all sets of columns."""
_ROWS_OF_A_SET = 1_500
"""Rows that are counted in the time that a set takes besides."""
_NO_ROW = np.zeros(0, np.uint8)


@dataclass(frozen=True, kw_only=True)
class DistinguishingSet:
    """A set of columns with its distinction and separation of the rows of a table."""

    columns: tuple[int, ...]
    """Their places, ascending."""
    unique_rows: int
    """Rows that are alone by these columns; people where these are counted."""
    minimal: int
    """Those of them that are not alone by a smaller part of the columns."""
    distinction: float
    """Classes over rows, in (0, 1]."""
    separation: float
    """Share of the pairs of rows that differ in one of the columns, in [0, 1]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MinimalUniques:
    """The minimal sample uniques of a table, up to a size."""

    sets: Sequence[DistinguishingSet]
    """Every set that was looked at, small ones first; none that contains columns by which every row is alone."""
    scores: NDArray[np.float64]
    """SUDA score of each row, shape (n_rows,): (M - m)! for each of its minimal sample uniques of m of M columns.

    Divided by (M - 1)! where that is no float, of 172 columns or more: shares and DIS-SUDA scores are the same.
    """
    column_scores: NDArray[np.float64]
    """For each column the sum of the scores of those minimal sample uniques that hold it, shape (M,)."""

    def of_size(self, size: int) -> int:
        """Return the number of minimal sample uniques of so many columns."""
        return sum(each.minimal for each in self.sets if len(each.columns) == size)

    @property
    def column_shares(self) -> NDArray[np.float64]:
        """Share of each column in the scores of all rows, in [0, 1], shape (M,); zeros where no row is unique.

        A minimal sample unique counts for each of its columns, so that the shares add up to more than 1.
        """
        total = float(self.scores.sum())
        return self.column_scores / total if total else np.zeros_like(self.column_scores)


def distinct_rows(columns: Sequence[NDArray[np.int32]]) -> tuple[list[NDArray[np.int32]], NDArray[np.int64]]:
    """Return the distinct rows of coded columns, and the number of rows of the table with each."""
    return count_combinations(columns, columns[0].size)


def class_sizes(
    columns: Sequence[NDArray[np.integer[Any]]], rows: NDArray[np.int64], people: NDArray[np.int32] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class of each row by some columns, shape (n_rows,), and the size of each class, shape (n_classes,).

    The size is in rows of the table or, where they are given, in people. By no columns all rows are one class.
    """
    groups, n_groups = combine(columns, rows.size)
    if people is not None:
        return groups, distinct_in_groups(groups, n_groups, people.astype(np.int64))
    return groups, np.bincount(groups, weights=rows, minlength=n_groups).astype(np.int64)


def minimal_sample_uniques(
    columns: Sequence[NDArray[np.int32]],
    rows: NDArray[np.int64],
    people: NDArray[np.int32] | None = None,
    *,
    largest: int = LARGEST_SET,
    progress: Callable[[float], None] = lambda share: None,
) -> MinimalUniques:
    """Find the minimal sample uniques of a table, and score its rows.

    Parameters
    ----------
    columns : sequence of int arrays, shape (n_rows,)
        Codes of each column, at least 0; at least one column and one row. Missing is a code like any other.
    rows : int64 array, shape (n_rows,)
        Multiplicity of each row in the table, at least 1: equal rows may be passed once.
    people : int array, shape (n_rows,), optional
        Codes of the person whom each row belongs to: a set then makes somebody unique by whose values nobody else has
        rows. Each of `rows` is 1 then.
    largest : int
        Columns of the largest sets.
    progress : callable
        Called with the share of the sets that have been looked at.

    Notes
    -----
    A row that is alone by some columns is alone by more of them, and no other row is counted with it there. Such rows
    are left out where larger sets are counted, and a set is not counted at all where every row has been left out.
    """
    search = _UniqueRows(columns=columns, rows=rows, people=people)
    number = len(columns)
    sizes = range(1, min(largest, number) + 1)
    total, done = sum(math.comb(number, size) for size in sizes), 0
    scores, of_columns = np.zeros(rows.size), np.zeros(number)
    sets: list[DistinguishingSet] = []
    smaller: dict[tuple[int, ...], NDArray[np.uint8]] = {}
    for size in sizes:
        alone_by: dict[tuple[int, ...], NDArray[np.uint8]] = {}
        worth = _score(number, size)
        every = list(combinations(range(number), size))
        looks = partial(search.look, smaller=smaller)
        with ThreadPoolExecutor(_THREADS) as pool:  # numpy lets others work while it counts
            for chosen, looked in zip(every, pool.map(looks, every), strict=True):
                done += 1
                if size < sizes[-1]:
                    alone_by[chosen] = looked.alone
                if looked.found is None:
                    continue
                new = np.flatnonzero(np.unpackbits(looked.new, count=rows.size))
                scores[new] += worth
                of_columns[list(chosen)] += worth * new.size
                sets.append(looked.found)
                progress(done / total)
        smaller = alone_by
    return MinimalUniques(sets=sets, scores=scores, column_scores=of_columns)


def _score(columns: int, size: int) -> float:
    """Return (columns - size)!, over (columns - 1)! where that is no float."""
    if columns <= _MOST_FACTORIAL:
        return float(math.factorial(columns - size))
    return 1 / math.perm(columns - 1, size - 1)


def affordable_size(columns: int, rows: int) -> int:
    """Return the size of the largest sets of columns that can be enumerated in some minutes: 1 to `LARGEST_SET`.

    Parameters
    ----------
    columns, rows : int
        Of the table, at least 1; equal rows may count once.
    """
    size, looks = 1, columns
    while size < min(LARGEST_SET, columns):
        looks += math.comb(columns, size + 1)
        if looks * (rows + _ROWS_OF_A_SET) > _MOST_ROWS:
            break
        size += 1
    return size


@dataclass(frozen=True, kw_only=True, eq=False)
class _Looked:
    """Findings on a set; rows are packed, a bit each."""

    found: DistinguishingSet | None
    """None where every row is alone by a smaller part of the columns."""
    new: NDArray[np.uint8]
    """Rows that are alone by the set, and by no smaller part of it."""
    alone: NDArray[np.uint8]
    """Rows that are alone by the set or by a part of it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _UniqueRows:
    """Rows, and how many of them are alone by some columns."""

    columns: Sequence[NDArray[np.int32]]
    rows: NDArray[np.int64]
    people: NDArray[np.int32] | None

    def unpacked(self, parts: Sequence[NDArray[np.uint8]]) -> NDArray[np.bool_]:
        """Return a mask of the rows that are unique by any of some sets."""
        packed: NDArray[np.uint8] = np.zeros((self.rows.size + 7) // 8, np.uint8)
        for part in parts:
            packed = packed | part
        return np.unpackbits(packed, count=self.rows.size).astype(bool)

    def look(self, chosen: tuple[int, ...], smaller: Mapping[tuple[int, ...], NDArray[np.uint8]]) -> _Looked:
        """Return the figures of a set, by which rows are alone by sets of a column less."""
        before = self.unpacked([smaller[part] for part in combinations(chosen, len(chosen) - 1) if part])
        if before.all():
            return _Looked(found=None, new=_NO_ROW, alone=np.packbits(before))
        found, alone = self._figures_of(chosen, before)
        return _Looked(found=found, new=np.packbits(alone & ~before), alone=np.packbits(alone | before))

    def _figures_of(
        self, chosen: tuple[int, ...], before: NDArray[np.bool_]
    ) -> tuple[DistinguishingSet, NDArray[np.bool_]]:
        """Return the figures of a set, and which rows are alone by it."""
        columns = [self.columns[at] for at in chosen]
        if self.people is not None:  # several rows of one person may be alone together, so that none is left out
            groups, sizes = class_sizes(columns, self.rows, self.people)
            alone = sizes[groups] == 1
            new = np.unique(groups[alone & ~before]).size
            return _figures(chosen, sizes, 0, new), alone
        left: Any = np.flatnonzero(~before) if before.any() else slice(None)
        sizes, here = _sizes_by_row([codes[left] for codes in columns], self.rows[left])
        alone = before.copy()
        alone[left] = here
        left_out, new = int(np.count_nonzero(before)), int(np.count_nonzero(sizes == 1))
        return _figures(chosen, sizes, left_out, new), alone


def _sizes_by_row(
    columns: Sequence[NDArray[np.integer[Any]]], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the size of each class by some columns, in any order, and which rows are a class of one row."""
    placed = _counts_in_places(columns, rows)
    if placed is None:
        groups, sizes = class_sizes(columns, rows)
        return sizes, sizes[groups] == 1
    counts, key = placed
    return counts[counts > 0].astype(np.int64), (counts == 1)[key]


def sizes_alone(
    columns: Sequence[NDArray[np.integer[Any]]], rows: NDArray[np.int64], people: NDArray[np.int32] | None = None
) -> NDArray[np.int64]:
    """Return the sizes of `class_sizes`, in any order, without the class of each row: in half the time."""
    placed = None if people is not None else _counts_in_places(columns, rows)
    if placed is None:
        return class_sizes(columns, rows, people)[1]
    counts, _ = placed
    return counts[counts > 0].astype(np.int64)


def _counts_in_places(
    columns: Sequence[NDArray[np.integer[Any]]], rows: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
    """Return the rows of every combination that columns could have, and the combination of each row; None of too many.

    Classes need no numbers of their own where each combination has a place in an array of counts.
    """
    widths = [int(codes.max(initial=0)) + 1 for codes in columns]
    places = math.prod(widths)
    if not columns or places > _PLACES * rows.size:
        return None
    key = columns[0].astype(np.int64)
    for codes, width in zip(columns[1:], widths[1:], strict=True):
        key *= width
        key += codes
    return np.bincount(key, weights=None if rows.max(initial=1) == 1 else rows, minlength=places), key


def _figures(chosen: tuple[int, ...], sizes: NDArray[np.int64], left_out: int, minimal: int) -> DistinguishingSet:
    values, counts = np.unique(sizes, return_counts=True)
    histogram = [*zip(values.tolist(), counts.tolist(), strict=True), (1, left_out)]
    distinction, separation = distinction_and_separation(histogram)
    return DistinguishingSet(
        columns=chosen,
        unique_rows=int(np.count_nonzero(sizes == 1)) + left_out,
        minimal=minimal,
        distinction=distinction,
        separation=separation,
    )


def dis_score(uniques: int, pairs: int, fraction: float) -> float:
    """Return DIS: the estimated probability that a match with a sample unique is right, in [0, 1].

    Parameters
    ----------
    uniques, pairs : int
        Classes of one and of two rows, by all columns.
    fraction : float
        Sampling fraction, in (0, 1].

    Returns
    -------
    float
        f n1 / (f n1 + 2 (1 - f) n2); 0 where no row is unique.
    """
    if not uniques:
        return 0.0
    return fraction * uniques / (fraction * uniques + 2 * (1 - fraction) * pairs)


def dis_suda_scores(scores: NDArray[np.float64], dis: float, n_columns: int) -> NDArray[np.float64]:
    """Return the DIS-SUDA score of each row: DIS shared out among unique rows by their SUDA scores.

    Parameters
    ----------
    scores : float64 array, shape (n_rows,)
        SUDA scores; 0 where a row is not unique.
    dis : float
        `dis_score` of the table, in [0, 1].
    n_columns : int
        M, the columns that were looked at.

    Returns
    -------
    float64 array, shape (n_rows,)
        1 / (1 + (U / DIS - U) / (S^Q sum_j S_j^-Q)) with U unique rows and Q = 1 + (8 - M) / 20; 0 for a row without a
        score. In [0, 1].
    """
    shared, unique = np.zeros_like(scores), scores > 0
    if not unique.any() or not dis:
        return shared
    number, power = int(np.count_nonzero(unique)), 1 + (8 - n_columns) / 20
    relative = scores[unique] / scores[unique].max()  # the largest is 1: factorials to a power stay finite
    weight = relative**power * float((relative**-power).sum())
    shared[unique] = 1 / (1 + (number / dis - number) / weight)
    return shared
