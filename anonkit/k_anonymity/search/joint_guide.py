# SPDX-License-Identifier: Apache-2.0
"""The guide of a search without a target: the columns themselves, each predicted by the others.

A cut by one column keeps its own variance and that part of every other column's which the two have in common, so that
detail goes where it explains most of the joint distribution: the multi-output criterion of regression trees (Segal
1992), with all columns as outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.domains.coded_columns import CodedColumn

_VALUES = 8  # values of a category that the guide distinguishes
_AXES = 64  # outputs at most: memory is rows by these, whatever the number of columns
_STEPS = 2.0**20  # the guide is rounded to parts of the spread of a column, so that sums are exact


def joint_guide(columns: Sequence[CodedColumn], rows: FloatArray) -> FloatArray:
    """Return what guides in place of a target, for each entry.

    Parameters
    ----------
    columns : sequence of CodedColumn
        Shape (n_entries,) each, in an order that does not depend on that in the table.
    rows : FloatArray
        Rows of each entry, shape (n_entries,).

    Returns
    -------
    FloatArray
        Shape (n_entries, n_outputs), at most 64 outputs, each column's of total variance 1, multiples of 2**-20.
    """
    per_column = max(_AXES // max(len(columns), 1), 1)
    outputs = [_outputs(column, rows, per_column) for column in columns[:_AXES]]
    return np.concatenate([np.empty((rows.size, 0)), *outputs], axis=1)


def _outputs(column: CodedColumn, rows: FloatArray, most: int) -> FloatArray:
    """Return the outputs of one column: the rank of a number, or which of its commonest values a category is."""
    codes = column.codes.astype(np.int64)
    if column.ordered:
        values = _ranks(codes, rows, column.size)[:, None]
    else:
        place, n_told = _by_frequency(codes, rows, column.size), max(min(_VALUES, most, column.size - 1), 1)
        values = np.stack([place == value for value in range(n_told)], axis=1).astype(np.float64)
    weight = rows.sum()
    centred = values - (rows[:, None] * values).sum(axis=0) / weight
    spread = float((rows[:, None] * centred**2).sum() / weight)
    return np.rint(centred / np.sqrt(spread) * _STEPS) / _STEPS if spread > 0 else np.empty((rows.size, 0))


def _ranks(codes: IntArray, rows: FloatArray, size: int) -> FloatArray:
    """Return the mean rank of each code among all rows, in [0, 1]; missing, the last code, ranks last."""
    held = np.bincount(codes, rows, minlength=size)
    return np.asarray(((np.cumsum(held) - held / 2) / held.sum())[codes])


def _by_frequency(codes: IntArray, rows: FloatArray, size: int) -> IntArray:
    """Renumber codes so that the commonest among the rows is 0."""
    place = np.empty(size, dtype=np.int64)
    place[np.argsort(-np.bincount(codes, rows, minlength=size), kind="stable")] = np.arange(size)
    return np.asarray(place[codes])


def relatedness(columns: Sequence[CodedColumn]) -> dict[str, float]:
    """Return how much of the other columns each one explains: mean R² over their outputs, in [0, 1].

    Parameters
    ----------
    columns : sequence of CodedColumn
        Shape (n_rows,) each.
    """
    columns = sorted(columns, key=lambda column: column.name)
    rows = np.ones(columns[0].codes.size)
    outputs = [_outputs(column, rows, _VALUES) for column in columns]
    told = {}
    for at, column in enumerate(columns):
        codes = column.codes.astype(np.int64)
        held = np.maximum(np.bincount(codes, minlength=column.size), 1)
        shares = [_explained(codes, held, other) for to, other in enumerate(outputs) if to != at and other.shape[1]]
        told[column.name] = float(np.mean(shares)) if shares else 0.0
    return told


def _explained(codes: IntArray, held: IntArray, output: FloatArray) -> float:
    """Return the share of the variance of an output between the values of a column, less that of chance."""
    between = sum(float((np.bincount(codes, axis, minlength=held.size) ** 2 / held).sum()) for axis in output.T)
    share, chance = between / codes.size, (np.unique(codes).size - 1) / max(codes.size - 1, 1)
    return max((share - chance) / max(1.0 - chance, 1e-9), 0.0)
