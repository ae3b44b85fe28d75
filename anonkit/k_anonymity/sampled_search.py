# SPDX-License-Identifier: Apache-2.0
"""k-anonymous releases of tables whose rows stay where they are: searched on a sample, counted where the rows are.

A recoding whose classes hold k rows of a sample has classes of at least k rows in the table. Only combinations that
the sample hardly shows can be too small: they are counted by the engine, and their rows are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.errors import GuaranteeError
from anonkit.k_anonymity.class_people import undiverse_classes
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.k_anonymity.recoded_draft import anonymity_params, describe_columns, released_schema
from anonkit.k_anonymity.recoded_rows import (
    DROPPED,
    NOBODY,
    UNKNOWN,
    RecodeRows,
    count_flags,
    needed_columns,
)
from anonkit.k_anonymity.unit_keys import nobody_notes
from anonkit.policy.declaration import Policy
from anonkit.protocols import Draft, Engine, Progress, Source
from anonkit.published.recoding import (
    CategoryAxis,
    GlobalRecoding,
    Grouping,
    IntervalAxis,
    KeptAxis,
    LocalRecoding,
    Recoding,
    recoding_from_dict,
    unique_labels,
)
from anonkit.randomness import Randomness
from anonkit.report.blocks import ColumnFacts, Json, ReportColumn

BoolArray = NDArray[np.bool_]


def draft_from_sample(
    model: AnonymityModel,
    search: Callable[[Source], Draft],
    source: Source,
    policy: Policy,
    *,
    engine: Engine,
    rng: Randomness,
    progress: Progress,
    max_suppression: float,
) -> Draft:
    """Search a recoding on a keyed sample of rows, then apply it to the table and count it there.

    Parameters
    ----------
    search : callable
        Drafts a release of a table that may be held.

    Raises
    ------
    GuaranteeError
        More rows than allowed are in classes that are too small in the table.
    PolicyError
        A quasi-identifier has missing values where the policy allows none, or cells outside its declared domain.

    Privacy
    -------
    The promise is counted on the whole table, by the engine here and once more on the written file. A value is listed
    in the recoding when k rows of the sample hold it, so k rows of the table do.
    """
    progress("drawing a sample", 0.0)
    sample = engine.sample(source, engine.search_rows, rng.child("search"))
    found = search(sample)
    params: Mapping[str, Any] = found.params
    recoding = opened(recoding_from_dict(params["recoding"]))
    applied = apply_recoding(
        model, source, policy, engine=engine, progress=progress, recoding=recoding, max_suppression=max_suppression
    )
    told: dict[str, Json] = {
        "rows": sample.n_rows,
        "of": source.n_rows,
        "how": "keyed by row number, each row alike; the search saw these rows only",
        "effect": "importances and cuts are those of the sample: their ranks move by chance where they are close; "
        f"classes hold about {source.n_rows / sample.n_rows:.3g} times as many rows as k asks for",
    }
    described = describe_columns(recoding)
    return replace(
        found,
        columns=[_described(column, described) for column in found.columns],
        data=applied.data,
        params=anonymity_params(policy, source.schema, model, recoding, max_suppression),
        rows=applied.rows,
        details={**found.details, "search": {**found.details.get("search", {}), "sample": told}},
        notes=[
            *dict.fromkeys((*found.notes, *applied.notes)),
            f"The detail was chosen on {sample.n_rows:,} of {source.n_rows:,} rows.",
        ],
    )


def _described(column: ReportColumn, facts: Mapping[str, ColumnFacts]) -> ReportColumn:
    """Return the entry of a column as its recoding is, which was searched on a sample."""
    return {**column, **facts[column["name"]]} if column["name"] in facts else column


@dataclass(frozen=True, kw_only=True, eq=False)
class Applied:
    """A recoding applied to a table."""

    data: Source
    rows: Mapping[str, Any]
    recoding: Recoding
    notes: tuple[str, ...]


def apply_recoding(
    model: AnonymityModel,
    source: Source,
    policy: Policy,
    *,
    engine: Engine,
    progress: Progress,
    recoding: Recoding,
    max_suppression: float,
) -> Applied:
    """Recode a table where its rows are, and leave out the rows of classes that break the model.

    Only counts, and the classes that are too small, reach this machine; with l, t and the like asked for, the counts
    of the sensitive values in every class do.

    Raises
    ------
    GuaranteeError, PolicyError
        As `draft_from_sample` does.
    """
    progress("checking the table", 0.0)
    flags = count_flags(source, policy, engine, recoding)
    missing, unknown, nobody = (flags.get(kind, 0) for kind in (DROPPED, UNKNOWN, NOBODY))
    usable = source.n_rows - missing - nobody
    needed = needed_columns(policy)
    progress("counting classes", 0.0)
    gone = violating_classes(model, source, policy, engine, recoding)
    n_gone = sum(gone.column("count").to_pylist())
    suppressed = n_gone + unknown
    if suppressed > max_suppression * usable or suppressed >= usable:
        raise GuaranteeError(
            f"{suppressed} of {usable} rows would have to be left out ({unknown} of them for values the recoding does "
            f"not know), {max_suppression:g} of the rows may be",
            "raise --max-suppression, or ask for less",
        )
    schema = released_schema(source.schema, policy, recoding)
    function = RecodeRows(
        recoding=recoding, schema=schema, needed=needed, unit=policy.unit, gone=gone if gone.num_rows else None
    )
    return Applied(
        data=engine.map_batches(source, function, schema),
        recoding=recoding,
        rows={
            "in": source.n_rows,
            "suppressed": suppressed,
            "suppressed_fraction": suppressed / max(usable, 1),
            "suppression_limit": max_suppression,
            "dropped_missing": missing,
            **({"dropped_without_unit": nobody} if nobody else {}),
        },
        notes=nobody_notes(policy, nobody),
    )


# --- classes -------------------------------------------------------------------------------------------------------


def violating_classes(
    model: AnonymityModel, source: Source, policy: Policy, engine: Engine, recoding: Recoding
) -> pa.Table:
    """Return the classes of a recoded table that break the model: released quasi-identifiers, and `count`, the rows."""
    types = recoding.types(source.schema)
    names = [name for name in policy.quasi_identifiers if name in types]
    extra = [name for name in dict.fromkeys((*policy.sensitive, policy.unit)) if name and name not in types]
    kept = [*names, *extra] or source.schema.names[:1]  # a batch without columns has no rows
    if policy.unit is not None:
        types = {**types, policy.unit: pa.string()}
    schema = pa.schema([(name, types.get(name) or source.schema.field(name).type) for name in kept])
    function = RecodeRows(recoding=recoding, schema=schema, needed=needed_columns(policy), unit=policy.unit)
    return undiverse_classes(model, engine.map_batches(source, function, schema), policy, engine, names)


def merged_where_rows_are(
    model: AnonymityModel, source: Source, policy: Policy, engine: Engine, recoding: LocalRecoding
) -> LocalRecoding:
    """Merge boxes with their neighbours until none that rows are in breaks the model."""
    while True:
        gone = violating_classes(model, source, policy, engine, recoding)
        if gone.num_rows == 0 or recoding.nodes[0] is None:
            return recoding
        leaf_of = {labels: leaf for leaf, labels in recoding.boxes().items()}
        broken = zip(*(gone.column(axis.name).to_pylist() for axis in recoding.axes), strict=True)
        recoding = recoding.without([leaf_of[labels] for labels in broken])


# --- values the sample did not have --------------------------------------------------------------------------------


def opened(recoding: Recoding) -> Recoding:
    """Return the recoding with a place for values, and for missing, that the table it was found on did not have.

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
