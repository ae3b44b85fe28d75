# SPDX-License-Identifier: Apache-2.0
"""The score of a scheme for a table: an integer of known sensitivity to one row.

A private choice depends on scores alone, so their sensitivity matters. A class of n rows counts as max(0, n - s)
rows, s being about as many as are needed for it to be shown: that changes by one at most when a row comes. With a
target,

    score = sum over groups of  sum over its classes y of  n_y**2 / n,

where groups are what the scheme makes of the columns, n_y the rows of a class of the target that count in the group, n
their sum, and all rows that do not count are one more group. It is the number of rows whose class would be guessed by
drawing from the group's own shares. As a row comes, one n_y of one group grows by one. The derivative, 2 p_y - sum p**2
for shares p, is between -1 and 1: so the score moves by one at most, up or down. Without a target the score is the
number of rows that count times the detail that the scheme shows, in [0, 1], and can only grow, by one at most.

Scores are in steps of 2**-10 of a row. Each group's part is rounded down to a step; a row moves one group's part by a
row, an integer number of steps, at most, so that the rounding adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from anonkit.domains.array_types import IntArray
from anonkit.domains.coded_columns import combine
from anonkit.k_anonymity.public_levels import PublicLevels, Scheme

STEP_BITS = 10
"""A score is in units of 2**-10 of a row."""


def width_of_scores(has_target: bool) -> int:
    """Return the width, in steps, of the range in which one row moves the scores: what a private choice pays for."""
    return (2 if has_target else 1) << STEP_BITS


def scores_of(
    schemes: Sequence[Scheme],
    levels: Sequence[PublicLevels],
    codes: IntArray,
    labels: IntArray | None,
    counts: IntArray,
    needed: int,
) -> IntArray:
    """Return the score of every scheme, shape (n_schemes,).

    Parameters
    ----------
    schemes : sequence of Scheme
        Those that show the same columns come together.
    levels : sequence of PublicLevels
        Of each column.
    codes : int64 array, shape (n_columns, n_entries)
        Parts of the distinct rows at the finest levels.
    labels : int64 array, shape (n_entries,), optional
        Class of the target of each; None without a target.
    counts : int64 array, shape (n_entries,)
        Rows that are so.
    needed : int
        Rows of a class that do not count.

    Privacy
    -------
    Computed from the exact table: for a private choice alone.
    """
    scores = []
    for shown, alike in groupby(schemes, key=lambda scheme: _shown(scheme, levels)):
        # the distinct rows of these columns alone: far fewer, and every level of them is made from these
        parts = [codes[at] for at in shown]
        cells, n_cells = combine([*parts, *([] if labels is None else [labels])], counts.size)
        rows, first = np.zeros(n_cells, dtype=np.int64), np.zeros(n_cells, dtype=np.int64)
        np.add.at(rows, cells, counts)
        first[cells] = np.arange(counts.size)
        fewer = {at: part[first] for at, part in zip(shown, parts, strict=True)}
        classes = None if labels is None else labels[first]
        for scheme in alike:
            groups = [levels[at].groups[scheme[at]][fewer[at]] for at in shown]
            detail = sum(own.detail(level) for own, level in zip(levels, scheme, strict=True)) / len(levels)
            scores.append(
                _detail_score(groups, rows, needed, detail)
                if classes is None
                else _class_score(groups, classes, rows, needed)
            )
    return np.array(scores, dtype=np.int64)


def _shown(scheme: Scheme, levels: Sequence[PublicLevels]) -> tuple[int, ...]:
    return tuple(at for at, level in enumerate(scheme) if level < levels[at].n_levels)


def _that_count(groups: Sequence[IntArray], rows: IntArray, needed: int) -> tuple[IntArray, IntArray]:
    """Return the class of each entry, and the rows that count of every class."""
    cells, n_cells = combine(groups, rows.size)
    held = np.zeros(n_cells, dtype=np.int64)
    np.add.at(held, cells, rows)
    return cells, np.maximum(held - needed, 0)


def _detail_score(groups: Sequence[IntArray], rows: IntArray, needed: int, detail: float) -> int:
    _, that_count = _that_count(groups, rows, needed)
    return int(that_count.sum()) * int(detail * (1 << STEP_BITS))


def _class_score(groups: Sequence[IntArray], classes: IntArray, rows: IntArray, needed: int) -> int:
    cells, that_count = _that_count([*groups, classes], rows, needed)
    group_of, n_groups = combine(groups, rows.size) if groups else (np.zeros(rows.size, dtype=np.int64), 1)
    n_classes = int(classes.max(initial=0)) + 1
    table = np.zeros((n_groups + 1, n_classes), dtype=np.int64)
    table[group_of, classes] = that_count[cells]
    total = np.zeros(n_classes, dtype=np.int64)
    np.add.at(total, classes, rows)
    table[-1] = total - table.sum(axis=0)  # all the rest is one more group
    held = np.maximum(table.sum(axis=1), 1)
    whole, rest = np.divmod((table * table).sum(axis=1), held)
    return int(((whole << STEP_BITS) + (rest << STEP_BITS) // held).sum())
