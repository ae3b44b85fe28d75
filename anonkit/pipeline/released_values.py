# SPDX-License-Identifier: Apache-2.0
"""Distinct values of the quasi-identifiers in a released table, for the report and to drop columns of one value.

A recoding can make labels that no row shows, because their rows were left out. The report's values are counted in
the table. A column in which every row shows the same has no information; it is dropped, and the report states so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from anonkit.checks.table_scans import combined
from anonkit.errors import GuaranteeError
from anonkit.k_anonymity.recoded_sample import released_names
from anonkit.pipeline.released_centroids import shown_centroids
from anonkit.policy.declaration import Policy
from anonkit.protocols import Draft
from anonkit.report.blocks import ReportColumn

ONE_VALUE = "every released row shows the same value"
"""Why the report states that a column was dropped."""
_HOW_RELEASED: tuple[Literal["detail", "released_values", "values"], ...] = ("detail", "released_values", "values")
"""Keys of a column's entry that say how it was released."""
_COUNTED_AT_ONCE = 64
"""Columns whose values one query counts: DuckDB holds 5 MB for each, however few its values are, and may have 1 GB."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Settled:
    """A draft as its written table is described, and the columns that leave it."""

    draft: Draft
    constant: tuple[str, ...]
    """Quasi-identifiers that have one value in the table."""
    schema: pa.Schema
    """Columns of the table without these."""


def as_written(draft: Draft, spool: Path, policy: Policy) -> Settled:
    """Count the values of the released quasi-identifiers, and leave out those that have one.

    A batch keeps the columns of the earlier release: whoever reads both expects the same table.

    Parameters
    ----------
    spool : Path
        The private Parquet file, or folder, of the draft's rows.

    Raises
    ------
    GuaranteeError
        No column is left to be released.
    """
    params: Mapping[str, Any] = draft.params
    recoded = set(released_names(params["recoding"]))
    names = [name for name in draft.data.schema.names if name in recoded]
    listed = [column["name"] for column in draft.columns if "values" in column and column["name"] in names]
    counts, values = _counted(spool, names, listed)
    constant = tuple(name for name in names if counts[name] == 1 and name not in draft.shown_before)
    left = [name for name in draft.data.schema.names if name not in constant]
    keys = {policy.unit, *(candidate.key for candidate in policy.candidates)}
    if not any(name not in keys for name in left):
        raise GuaranteeError(
            "no column can be released: every quasi-identifier would show one value, and there is nothing else",
            "allow more suppression, or ask for a smaller k",
        )
    columns = [_entry(column, counts, values, constant) for column in draft.columns]
    params = {**params, "recoding": shown_centroids(_without(params["recoding"], constant), spool)}
    schema = pa.schema([draft.data.schema.field(name) for name in left])
    return Settled(draft=replace(draft, columns=columns, params=params), constant=constant, schema=schema)


def _counted(
    spool: Path, names: Sequence[str], listed: Sequence[str]
) -> tuple[dict[str, int], dict[str, set[str | None]]]:
    """Count the distinct values of some columns, missing among them, and list those of some."""
    with combined(spool, names) as lines:
        connection, source = lines.connection, lines.source
        cells = {name: lines.column(name) for name in names}
        parts = [f"count(DISTINCT {own}) + (count({own}) < count(*))::BIGINT" for own in cells.values()]
        counts: list[int] = []
        for first in range(0, len(parts), _COUNTED_AT_ONCE):
            some = ", ".join(parts[first : first + _COUNTED_AT_ONCE])
            counts += connection.execute(f"SELECT {some} FROM {source}").fetchall()[0]
        values = {
            name: {row[0] for row in connection.execute(f"SELECT DISTINCT {cells[name]} FROM {source}").fetchall()}
            for name in listed
        }
    return dict(zip(names, map(int, counts), strict=True)), values


def _entry(
    entry: ReportColumn, counts: Mapping[str, int], values: Mapping[str, set[str | None]], constant: Sequence[str]
) -> ReportColumn:
    """Return the entry of a column in the report."""
    name = entry["name"]
    if name in constant:
        dropped: ReportColumn = {**entry, "action": "dropped", "reason": ONE_VALUE}
        for key in _HOW_RELEASED:
            dropped.pop(key, None)
        return dropped
    if name not in counts:
        return entry
    out: ReportColumn = {**entry, "released_values": counts[name]}
    if name in values:
        out["values"] = [value for value in entry["values"] if value in values[name]]
    return out


def _without(recoding: Mapping[str, Any], constant: Sequence[str]) -> Mapping[str, Any]:
    """Return a recoding column by column without some; the splits of a local one need all their axes."""
    if recoding["kind"] != "global":
        return recoding
    return {**recoding, "columns": [column for column in recoding["columns"] if column["name"] not in constant]}
