# SPDX-License-Identifier: Apache-2.0
"""Large tables: the recoding is searched on a keyed sample, extended to unseen values, and recounted on all rows.

A recoding whose classes hold k rows of a sample has classes of at least k rows in the table. Only combinations that
the sample hardly shows can be too small: they are counted by the engine, and their rows are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anonkit.protocols import Engine, Progress, Source, is_too_large, sample_to_search
from anonkit.published.recoding import (
    CategoryAxis,
    GlobalRecoding,
    Grouping,
    IntervalAxis,
    KeptAxis,
    LocalRecoding,
    Recoding,
    unique_labels,
)
from anonkit.randomness import Randomness
from anonkit.report.blocks import Json


def searched_rows(source: Source, engine: Engine, rng: Randomness, progress: Progress) -> Source:
    """Return the table itself, or a keyed sample of its rows where it is too large for memory."""
    if not is_too_large(source, engine):
        return source
    progress("drawing a sample", 0.0)
    return sample_to_search(source, engine, rng.child("search"))


def sample_details(sample: Source, source: Source) -> dict[str, Json]:
    """Return the entry about the sample in the report."""
    return {
        "rows": sample.n_rows,
        "of": source.n_rows,
        "how": "keyed by row number, each row alike; the search saw these rows only",
        "effect": "importances and cuts are those of the sample: their ranks move by chance where they are close; "
        f"classes hold about {source.n_rows / sample.n_rows:.3g} times as many rows as k requires",
    }


def sample_note(sample: Source, source: Source) -> str:
    """Describe the number of rows on which the detail was chosen."""
    return f"The detail was chosen on {sample.n_rows:,} of {source.n_rows:,} rows."


def opened(recoding: Recoding) -> Recoding:
    """Return the recoding with a place for values, and for missing, that the sample it was found on did not have.

    In a global recoding they are groups of their own; in a local one they go right at every cut.
    """
    if isinstance(recoding, GlobalRecoding):
        return GlobalRecoding(columns=tuple(_opened_column(column) for column in recoding.columns))
    axes = tuple(_opened_axis(axis) for axis in recoding.axes)
    nodes = []
    for node in recoding.nodes:
        if node is not None:
            old, new = recoding.axes[node.axis], axes[node.axis]
            left = tuple(new.size - 1 if old.has_missing and part == old.size - 1 else part for part in node.left)
            node = replace(node, left=left)
        nodes.append(node)
    return LocalRecoding(axes=axes, nodes=tuple(nodes))


def _opened_axis(axis: IntervalAxis | CategoryAxis) -> IntervalAxis | CategoryAxis:
    if isinstance(axis, CategoryAxis):
        return replace(axis, has_other=True, has_missing=True)
    return replace(axis, has_missing=True)


def _opened_column(column: KeptAxis | Grouping) -> KeptAxis | Grouping:
    if isinstance(column, KeptAxis):
        return column
    axis, labels = column.axis, list(column.labels)
    missing = labels.pop() if axis.has_missing else None
    groups = _groups(labels)
    if isinstance(axis, CategoryAxis) and not axis.has_other:
        labels, groups = [*labels, axis.other_label], [*groups, len(labels)]
    owners = [*groups, next((g for g, label in zip(groups, labels, strict=True) if label == missing), len(labels))]
    return Grouping(axis=_opened_axis(axis), labels=unique_labels([*labels, missing], owners))


def _groups(labels: Sequence[str | None]) -> list[int]:
    """Return one number a group: the place of its first label."""
    return [labels.index(label) for label in labels]
