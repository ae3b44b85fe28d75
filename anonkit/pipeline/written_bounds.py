# SPDX-License-Identifier: Apache-2.0
"""Rows of a draft as they are written where intervals become plain columns: two numbers in place of a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.bundle.bound_columns import BoundColumn, bound_columns
from anonkit.checks.table_scans import combined
from anonkit.errors import GuaranteeError
from anonkit.protocols import Engine, Source


@dataclass(frozen=True, kw_only=True)
class ShownAsBounds:
    """A pure function of a batch: labels become bounds, other columns stay."""

    columns: tuple[BoundColumn, ...]
    whole: frozenset[str]
    """Columns of integers."""

    def schema(self, labelled: pa.Schema) -> pa.Schema:
        """Return names and types of the columns, the bounds where their labels were."""
        bounds = {column.name: column for column in self.columns}
        fields = []
        for field in labelled:
            if field.name in bounds:
                kind = pa.int64() if field.name in self.whole else pa.float64()
                fields += [pa.field(bounds[field.name].low, kind), pa.field(bounds[field.name].high, kind)]
            else:
                fields.append(field)
        return pa.schema(fields)

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the batch as it is written.

        Raises
        ------
        GuaranteeError
            A label has no bounds: the draft shows what its recoding does not have.
        """
        schema, arrays = self.schema(batch.schema), {name: batch.column(name) for name in batch.schema.names}
        for column in self.columns:
            known = pa.array([label for label, _ in column.labels], pa.string())
            at = pc.index_in(arrays.pop(column.name), value_set=known)
            if at.null_count:
                raise GuaranteeError(f"column {column.name!r} shows {at.null_count} cells that have no bounds")
            for name, end in ((column.low, 0), (column.high, 1)):
                kind = schema.field(name).type
                arrays[name] = pa.array([pair[end] for _, pair in column.labels], kind).take(at)
        return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)


def shown_labels(spool: Path, name: str) -> set[str | None]:
    """Return the labels that the rows of a draft show in a column, missing among them."""
    with combined(spool, [name]) as lines:
        found = lines.connection.execute(f"SELECT DISTINCT {lines.column(name)} FROM {lines.source}").fetchall()
    return {row[0] for row in found}


def shown_as_bounds(data: Source, params: Mapping[str, Any], engine: Engine) -> Source:
    """Return rows with the bounds of the params in place of labels; as they are where there are none."""
    columns = bound_columns(params)
    if not columns:
        return data
    whole = frozenset(str(column["name"]) for column in params["columns"] if "int" in column["type"])
    shown = ShownAsBounds(columns=columns, whole=whole)
    return engine.map_batches(data, shown, shown.schema(data.schema), same_rows=True)


def bounds_notes(bounds: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return which columns are the bounds of which, in the words of the report; nothing where labels are written."""
    if bounds is None:
        return ()
    told = "; ".join(f"{name} as {raw['low']} and {raw['high']}" for name, raw in bounds.items())
    return (f"Intervals are written as their lowest and highest value: {told or 'no column has such'}.",)
