# SPDX-License-Identifier: Apache-2.0
"""The parts of its column that each label of a recoding means, labels of coarser steps among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from anonkit.published.recoding.axes import CategoryAxis, Grouping, IntervalAxis
from anonkit.published.recoding.narrowed import BoxRoutes
from anonkit.published.recoding.recodings import GlobalRecoding, Recoding

Labels = Mapping[str | None, frozenset[int]]
"""The parts of its axis that each label of a column means."""


def labels_of(recoding: Recoding) -> dict[str, tuple[IntervalAxis | CategoryAxis, Labels]]:
    """Return the axis of every recoded column, and the parts of its labels; kept columns are left out.

    The labels of coarser steps are among them where rows may show such.
    """
    if isinstance(recoding, GlobalRecoding):
        return {
            column.name: (column.axis, _parts_of_labels([column.labels, *(column.coarser or ())]))
            for column in recoding.columns
            if isinstance(column, Grouping)
        }
    # a box further up has labels of its own, which rows of the next batch may show: all nodes are looked at
    found = BoxRoutes.of([axis.size for axis in recoding.axes], recoding.nodes).node_parts(inner=True)
    shown: list[dict[str | None, frozenset[int]]] = [{} for _ in recoding.axes]
    narrowed = ((),) * len(recoding.axes) if recoding.narrowed is None else recoding.narrowed.sets
    for axis, sets, narrow, labels in zip(recoding.axes, found.sets, narrowed, shown, strict=True):
        for members in (*(one.tolist() for one in sets), *narrow):
            label = axis.label(members)
            labels[label] = labels.get(label, frozenset()) | frozenset(members)
    return {axis.name: (axis, labels) for axis, labels in zip(recoding.axes, shown, strict=True)}


def _parts_of_labels(levels: Iterable[Sequence[str | None]]) -> Labels:
    found: dict[str | None, frozenset[int]] = {}
    for level in levels:
        of_level: dict[str | None, set[int]] = {}
        for part, label in enumerate(level):
            of_level.setdefault(label, set()).add(part)
        for label, parts in of_level.items():  # the finest level that has a label defines it
            found.setdefault(label, frozenset(parts))
    return found
