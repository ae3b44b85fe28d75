# SPDX-License-Identifier: Apache-2.0
"""Coarser steps of a published recoding: what rows show whose group is too small in the next batch.

The steps are a function of the published recoding alone, so that which groups merge with which is known before any row
of the next batch is read.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anonkit.published.recoding.axes import MASK, Grouping, IntervalAxis, KeptAxis
from anonkit.published.recoding.recodings import GlobalRecoding, LocalRecoding, Recoding

Labels = tuple[str | None, ...]


def with_levels(recoding: Recoding) -> Recoding:
    """Return a recoding that says of itself that rows may show coarser steps, its levels written out."""
    if isinstance(recoding, LocalRecoding):
        return replace(recoding, merged=True)
    columns = tuple(
        column if isinstance(column, KeptAxis) else replace(column, coarser=levels_above(column))
        for column in recoding.columns
    )
    return GlobalRecoding(columns=columns, merged=True)


def coarser_steps(recoding: Recoding) -> tuple[Recoding, ...]:
    """Return a recoding and its coarser and coarser steps, down to the one that leaves nothing but kept columns.

    Of a local recoding every step shows the boxes one split of the tree further up. Of a global one every step
    takes the column with the fewest groups, the last of several, one level up: a search divides most the column that
    informs most.
    """
    return _local_steps(recoding) if isinstance(recoding, LocalRecoding) else _global_steps(recoding)


def levels_above(column: Grouping) -> tuple[Labels, ...]:
    """Return the labels of the parts at every level above a grouping, the last `*` alone.

    The declared levels where the recoding has them. Else neighbouring intervals are joined two and two, from the lowest
    on; of categories, which have no public order, there is nothing between the groups and `*`.
    """
    if column.coarser is not None:
        return column.coarser
    levels: list[Labels] = []
    joined = _joined(column.axis, column.labels)
    while joined is not None:
        levels.append(joined)
        joined = _joined(column.axis, joined)
    everything = (MASK,) * column.axis.size
    return (*levels, everything) if column.labels != everything else ()


def _joined(axis: object, labels: Labels) -> Labels | None:
    """Return the labels after joining neighbouring intervals two and two; None where that would leave one or none."""
    if not isinstance(axis, IntervalAxis) or axis.named is not None or MASK in labels:
        return None
    n_intervals = len(axis.cuts) + 1
    order = list(dict.fromkeys(labels[:n_intervals]))
    runs = 1 + sum(labels[at] != labels[at - 1] for at in range(1, n_intervals))
    if len(order) < 3 or runs != len(order):
        return None
    pair = {label: at // 2 for at, label in enumerate(order)}
    members: dict[int, list[int]] = {}
    for part, label in enumerate(labels):
        if label in pair:  # missing that is alone stays so
            members.setdefault(pair[label], []).append(part)
    texts = {number: axis.label(parts) for number, parts in members.items()}
    return tuple(texts[pair[label]] if label in pair else label for label in labels)


def _global_steps(recoding: GlobalRecoding) -> tuple[GlobalRecoding, ...]:
    if recoding.centroids is not None:
        return (recoding,)  # coarser combinations have no centroids
    levels = [[] if isinstance(column, KeptAxis) else [*levels_above(column)] for column in recoding.columns]
    columns, steps = list(recoding.columns), [recoding]
    while True:
        left = [
            (len(set(column.labels)), number, column)
            for number, column in enumerate(columns)
            if isinstance(column, Grouping) and levels[number]
        ]
        if not left:
            return tuple(steps)
        _, number, column = min(left, key=lambda one: (one[0], -one[1]))
        next_level, *levels[number] = levels[number]
        columns[number] = replace(column, labels=next_level)
        steps.append(replace(recoding, columns=tuple(columns)))


def _local_steps(recoding: LocalRecoding) -> tuple[LocalRecoding, ...]:
    depth = np.zeros(len(recoding.nodes), dtype=np.int64)
    for number, node in enumerate(recoding.nodes):  # children come after their parent
        if node is not None:
            depth[list(node.children)] = depth[number] + 1
    steps = [recoding]
    for limit in range(int(depth.max(initial=0)) - 1, -1, -1):
        nodes = tuple(None if depth[at] >= limit else node for at, node in enumerate(recoding.nodes))
        steps.append(replace(recoding, nodes=nodes))
    return tuple(steps)
