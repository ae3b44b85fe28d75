# SPDX-License-Identifier: Apache-2.0
"""Division of a box along a declared hierarchy into the nodes of the next level that enough of its rows are in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray, densify
from anonkit.k_anonymity.search.hierarchy_levels import Groups


@dataclass(frozen=True, kw_only=True, eq=False)
class BestDivision:
    """The best division of each of m boxes along the hierarchy of one column."""

    score: FloatArray
    """Gain of the division, shape (m,); 0 where a box cannot be divided."""
    part: IntArray
    """Part that each group of rows goes to, shape (n_groups,): 0, 1, … for the nodes that are distinguished, the most
    rows first, then one for what is left of the box."""
    level: IntArray
    """Level of the hierarchy at which each box is divided, shape (m,)."""
    n_nodes: IntArray
    """Number of distinguished nodes in each box, shape (m,)."""


def divide(
    box: IntArray,
    code: IntArray,
    rows: FloatArray,
    guiding: FloatArray,
    guide: FloatArray,
    levels: Sequence[Groups],
    floor: FloatArray,
    worth: tuple[float, float],
) -> BestDivision:
    """Divide every box at the coarsest level that separates its rows.

    Nodes with fewer than `floor` rows stay together; where they are fewer than `floor` rows together, the smallest
    other node stays with them.

    Parameters
    ----------
    box, code, rows, guiding, guide : ndarrays
        Groups of rows that share a box and a code of the column, as the growth of boxes has them: box ascending, in
        [0, m); shapes (n_groups,) and, of the last, (n_groups, n_guides).
    levels : sequence of Groups
        The hierarchy, finest level first.
    floor : ndarray of shape (m,)
        Rows each part must have.
    worth : (float, float)
        What a unit of the guide's variance and a code distinguished from a row are worth.
    """
    m = floor.size
    starts = np.searchsorted(box, np.arange(m))
    node, level_of = np.zeros(box.size, dtype=np.int64), np.full(m, -1)
    for level in range(len(levels) - 1, -1, -1):
        group = levels[level][code]
        divides = (level_of < 0) & (np.minimum.reduceat(group, starts) < np.maximum.reduceat(group, starts))
        level_of[divides] = level
        node = np.where(divides[box], group, node)
    piece, n_pieces = densify(box * (int(node.max(initial=0)) + 1) + node)
    of_box = np.empty(n_pieces, dtype=np.int64)
    of_box[piece] = box
    size = np.bincount(piece, rows, minlength=n_pieces).astype(np.float64)
    heavy = _distinguished(of_box, size, floor)
    order = np.lexsort((np.arange(n_pieces), -size, ~heavy, of_box))
    rank = np.empty(n_pieces, dtype=np.int64)
    rank[order] = np.arange(n_pieces) - np.searchsorted(of_box, np.arange(m))[of_box[order]]
    n_nodes = np.bincount(of_box[heavy], minlength=m)
    part = np.where(heavy, rank, n_nodes[of_box])[piece]
    left = np.bincount(of_box[~heavy], size[~heavy], minlength=m)
    possible = (n_nodes >= 1) & (n_nodes + (left > 0) >= 2)
    score = np.where(possible, _score(box, part, rows, guiding, guide, m, worth), 0.0)
    return BestDivision(score=score, part=part, level=level_of, n_nodes=n_nodes)


def _distinguished(of_box: IntArray, size: FloatArray, floor: FloatArray) -> BoolArray:
    """Return a mask of the distinguished nodes, shape (n_pieces,)."""
    heavy = size >= floor[of_box]
    left = np.bincount(of_box[~heavy], size[~heavy], minlength=floor.size)
    short = (left > 0) & (left < floor)
    candidates = np.flatnonzero(heavy & short[of_box])
    smallest = candidates[np.lexsort((-candidates, size[candidates], of_box[candidates]))]
    heavy[smallest[np.flatnonzero(np.diff(of_box[smallest], prepend=-1))]] = False
    return np.asarray(heavy)


def _score(
    box: IntArray,
    part: IntArray,
    rows: FloatArray,
    guiding: FloatArray,
    guide: FloatArray,
    m: int,
    worth: tuple[float, float],
) -> FloatArray:
    side, n_sides = densify(box * (int(part.max(initial=0)) + 1) + part)
    owner = np.empty(n_sides, dtype=np.int64)
    owner[side] = box
    size, codes = np.bincount(side, rows, minlength=n_sides), np.bincount(side, minlength=n_sides)
    guiding_side, guiding_box = np.bincount(side, guiding, minlength=n_sides), np.bincount(box, guiding, minlength=m)
    scores = np.zeros(m)
    for axis in range(guide.shape[1]):
        of_side = per_row(np.bincount(side, guide[:, axis], minlength=n_sides) ** 2, guiding_side)
        whole = per_row(np.bincount(box, guide[:, axis], minlength=m) ** 2, guiding_box)
        scores += np.bincount(owner, of_side, minlength=m) - whole
    apart = size * (np.bincount(box, minlength=m)[owner] - codes)
    return np.asarray(worth[0] * np.maximum(scores, 0.0) + worth[1] * np.bincount(owner, apart, minlength=m))


def per_row(sums: NDArray[Any], rows: NDArray[Any]) -> FloatArray:
    """Return sums over rows, shape (n,) or (n, n_guides), by how many rows there are, shape (n,); 0 where none are."""
    n = np.maximum(rows, 1.0)
    return np.asarray(sums / (n if sums.ndim == 1 else n[:, None]))
