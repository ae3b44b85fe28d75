# SPDX-License-Identifier: Apache-2.0
"""Rows that represent a tree of pairs: the start of the fit of a mixture.

Along a tree every column depends on the rest through its neighbours alone (Chow, Liu 1968), so a row is
drawn column by column, each given its parent. Post-processing of noisy counts, at no privacy loss.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.dp_trees.marginals.column_layout import ColumnLayout, Pair
from anonkit.dp_trees.marginals.measured_tables import Margins
from anonkit.randomness import keyed_words

_PUBLIC_KEY = hashlib.sha256(b"rows that stand for a tree").digest()
"""Key of a public sequence: nothing private hangs on it, and the same tables give the same rows."""
_WORD_BITS = 32


@dataclass(frozen=True, kw_only=True)
class TreeStep:
    """A column in an order in which its parent comes before it."""

    column: int
    parent: int | None
    """None for the first column of a part of the tree."""


def order_of(edges: Sequence[Pair], n_columns: int) -> list[TreeStep]:
    """Return all columns, each after its parent; a column without an edge is a root."""
    beside: list[list[int]] = [[] for _ in range(n_columns)]
    for first, second in edges:
        beside[first].append(second)
        beside[second].append(first)
    steps: list[TreeStep] = []
    seen: set[int] = set()
    for root in range(n_columns):
        if root in seen:
            continue
        seen.add(root)
        waiting = [TreeStep(column=root, parent=None)]
        while waiting:
            step = waiting.pop(0)
            steps.append(step)
            for near in beside[step.column]:
                if near not in seen:
                    seen.add(near)
                    waiting.append(TreeStep(column=near, parent=step.column))
    return steps


def conditional(tables: Mapping[Pair, FloatArray], step: TreeStep, margins: Margins) -> FloatArray:
    """Return the shares of a column's values given its parent's, shape (classes, values of the parent, values)."""
    parent, column = step.parent, step.column
    if parent is None:
        return margins.values[column][:, np.newaxis, :]
    joint = tables[parent, column] if parent < column else tables[column, parent].transpose(0, 2, 1)
    rows = joint.sum(axis=2, keepdims=True)
    alone = np.broadcast_to(margins.values[column][:, np.newaxis, :], joint.shape)
    return np.where(rows > 0, joint / np.where(rows > 0, rows, 1.0), alone)


def rows_of_tree(
    layout: ColumnLayout, steps: Sequence[TreeStep], tables: Mapping[Pair, FloatArray], margins: Margins, number: int
) -> IntArray:
    """Return rows of each class that represent the tree, shape (classes, number, n_columns).

    They are drawn along the tree by a public sequence: the same tables give the same rows, and nothing is secret.
    """
    out = np.zeros((layout.classes, number, len(layout.sizes)), dtype=np.int64)
    for step in steps:
        words = keyed_words(_PUBLIC_KEY, step.column, 0, number, word_bits=_WORD_BITS)
        uniform = (words.reshape(-1).astype(np.float64) + 0.5) / (1 << _WORD_BITS)
        ends = np.cumsum(conditional(tables, step, margins), axis=2)
        for own, reached in zip(out, ends, strict=True):
            given = np.zeros(number, dtype=np.int64) if step.parent is None else own[:, step.parent]
            passed = reached[given] <= (uniform * reached[given, -1])[:, np.newaxis]
            own[:, step.column] = passed[:, :-1].sum(axis=1)
    return out
