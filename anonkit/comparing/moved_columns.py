# SPDX-License-Identifier: Apache-2.0
"""Effect of a release on the columns of its rows: the dropped ones, and the distance of the others' distributions."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from anonkit.bundle.stored_release import Release
from anonkit.engines.engine_choice import Local
from anonkit.engines.reading.settled_tables import declared_table
from anonkit.pipeline.column_changes import BeforeAndAfter
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy

_SHARE, _DEVIATIONS = "share of the rows", "standard deviations"


def moved_columns(release: Release, rows: pa.Table, policy: Policy) -> list[dict[str, Any]]:
    """Return the distance by which the distribution of every column moved, the farthest first within a measure.

    Parameters
    ----------
    release : Release
    rows : Table
        Those it was made of, with cells as the policy declares them.
    policy : Policy
        With a role for every column.

    Returns
    -------
    list of dict
        `name`; `measure`: "share of the rows" that would have to change, or "standard deviations"; `value`. Columns
        that did not move are left out, and so are randomized answers: as they are, they are those of the noise.
    """
    compared = BeforeAndAfter(source=rows, released=release.to_arrow(), params=release.params, policy=policy)
    found = []
    as_they_are = [column for column in release.report["columns"] if column["action"] not in ("randomized", "dropped")]
    for change in compared.changes(as_they_are):
        distance = change.get("distance")
        if distance is None:
            continue
        in_deviations = distance.get("in_standard_deviations")
        measure = _DEVIATIONS if "in_standard_deviations" in distance else _SHARE
        value = distance["value"] if measure == _SHARE else in_deviations
        if value:
            found.append({"name": change["name"], "measure": measure, "value": round(float(value), 4)})
    return sorted(found, key=lambda entry: (entry["measure"], -entry["value"]))


def lost_columns(release: Release) -> list[str]:
    """Return the columns that no file shows any more; those that name people are never meant to be shown."""
    return [
        column["name"]
        for column in release.report["columns"]
        if column["action"] == "dropped" and column["role"] not in (Role.IDENTIFIER, Role.UNIT)
    ]


def settled_rows(rows: pa.Table, policy: Policy) -> pa.Table:
    """Return rows with their cells as the policy declares them: as places and parts of the calendar are released."""
    with Local().opened() as engine:
        table, _ = declared_table(engine.scan(rows, policy), policy, engine)
        return pa.Table.from_batches(table.batches(), schema=table.schema)
