# SPDX-License-Identifier: Apache-2.0
"""Relation of a target to other columns, as published noisy tables show it beyond chance and the law of their noise.

Rows that are drawn from tables without such a relation predict the target hardly better than its commonest value, and a
reader has to know. Counts of independent columns are those of their margins, up to chance and noise: what is beyond
both shows a relation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from anonkit.domains.array_types import FloatArray, IntArray

Table = tuple[IntArray | FloatArray, float]
"""Noisy counts of class by code, shape (classes, codes), and the variance of the noise of a cell."""
_BEYOND = 3.0
"""Standard deviations above the mean of a table without a relation from which on it shows one; of many tables more."""
_LEAST = 1e-9
_SQUARE_VARIANCE = 5.0
"""Variance of the square of a standardised cell: of Laplace noise, the widest of those that are drawn."""


def excess(table: Table) -> float:
    """Return by how many standard deviations the counts of a table differ from those of independent columns.

    Parameters
    ----------
    table : pair of array and float
    """
    counts, variance = np.asarray(table[0], dtype=np.float64), table[1]
    if min(counts.shape) < 2:
        return -math.inf
    classes, codes = (_shares(counts.sum(axis=axis)) for axis in (1, 0))
    expected = np.outer(classes, codes) * max(float(counts.sum()), 0.0)
    squares = (counts - expected) ** 2 / np.maximum(expected + variance, _LEAST)
    return float((squares.sum() - counts.size) / math.sqrt(_SQUARE_VARIANCE * counts.size))


def _shares(counts: FloatArray) -> FloatArray:
    """Return noisy counts as shares, none below 0."""
    there = np.maximum(counts, 0.0)
    return np.asarray(there / max(float(there.sum()), _LEAST), dtype=np.float64)


def is_explained(tables: Iterable[Table]) -> bool:
    """Return True if one of the tables shows a relation that chance and noise would show in few releases."""
    found = [excess(table) for table in tables]
    return bool(found) and max(found) > _BEYOND + math.sqrt(2 * math.log(len(found)))


def notes_on_target(target: str | None, tables: Sequence[Table]) -> tuple[str, ...]:
    """Return what a reader has to know of a target that the released rows do not explain; nothing where they do.

    Parameters
    ----------
    target : str, optional
        None where none is declared.
    tables : sequence of (counts, variance)
        All published tables of the target with something else; none: it was measured with nothing.

    Privacy
    -------
    A function of what is published.
    """
    if target is None or is_explained(tables):
        return ()
    why = (
        "the noisy counts show no relation of it to another column that noise and chance would not show"
        if tables
        else "no table of it with another column was measured"
    )
    return (
        f"The rows explain nothing of the target {target!r}: {why}. A model learned from them predicts hardly more "
        "than its commonest value.",
    )
