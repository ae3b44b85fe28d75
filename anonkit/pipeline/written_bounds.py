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
from anonkit.k_anonymity.class_means import ClassMeans
from anonkit.k_anonymity.recoded_rows import places_among
from anonkit.protocols import Engine, Source


@dataclass(frozen=True, kw_only=True)
class ShownAsBounds:
    """A pure function of a batch: labels become bounds, other columns stay."""

    columns: tuple[BoundColumn, ...]
    whole: frozenset[str]
    """Columns of integers."""
    means: ClassMeans | None = None
    """The means of classes, where the bounds have such columns."""

    def schema(self, labelled: pa.Schema) -> pa.Schema:
        """Return names and types of the columns, the bounds where their labels were."""
        bounds = {column.name: column for column in self.columns}
        fields = []
        for field in labelled:
            if field.name in bounds:
                kind = pa.int64() if field.name in self.whole else pa.float64()
                fields += [pa.field(bounds[field.name].low, kind), pa.field(bounds[field.name].high, kind)]
                mean = bounds[field.name].mean
                fields += [] if mean is None else [pa.field(mean, pa.float64())]
            else:
                fields.append(field)
        return pa.schema(fields)

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the batch as it is written.

        Raises
        ------
        GuaranteeError
            A label has no bounds: the draft shows what its recoding does not have; or a class has no means.
        """
        means = self._means(batch)
        schema, arrays = self.schema(batch.schema), {name: batch.column(name) for name in batch.schema.names}
        for column in self.columns:
            known = pa.array([label for label, _ in column.labels], pa.string())
            at = pc.index_in(arrays.pop(column.name), value_set=known)
            if at.null_count:
                raise GuaranteeError(f"column {column.name!r} shows {at.null_count} cells that have no bounds")
            for name, end in ((column.low, 0), (column.high, 1)):
                kind = schema.field(name).type
                arrays[name] = pa.array([pair[end] for _, pair in column.labels], kind).take(at)
            if column.mean is not None:
                arrays[column.mean] = means[column.name]
        return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)

    def _means(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """Return the mean that each row shows of each generalized number."""
        if self.means is None:
            return {}
        classes = self.means.classes
        place = places_among({name: batch.column(name) for name in classes.column_names}, classes, batch.num_rows)
        if (place < 0).any():
            raise GuaranteeError(f"{int((place < 0).sum())} rows are in a class without means")
        return {name: pa.array(means[place], from_pandas=True) for name, means in self.means.means.items()}


def shown_labels(spool: Path, name: str) -> set[str | None]:
    """Return the labels that the rows of a draft show in a column, missing among them."""
    with combined(spool, [name]) as lines:
        found = lines.connection.execute(f"SELECT DISTINCT {lines.column(name)} FROM {lines.source}").fetchall()
    return {row[0] for row in found}


def shown_as_bounds(data: Source, params: Mapping[str, Any], engine: Engine, means: ClassMeans | None = None) -> Source:
    """Return rows with the bounds of the params in place of labels, and the means; as they are where there are none."""
    columns = bound_columns(params)
    if not columns:
        return data
    whole = frozenset(str(column["name"]) for column in params["columns"] if "int" in column["type"])
    shown = ShownAsBounds(columns=columns, whole=whole, means=means)
    return engine.map_batches(data, shown, shown.schema(data.schema), same_rows=True)


def bounds_notes(bounds: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the pairs of bounds of columns, in the words of the report; nothing where labels are written."""
    if bounds is None:
        return ()
    pairs = "; ".join(f"{name} as {raw['low']} and {raw['high']}" for name, raw in bounds.items())
    written = f"Intervals are written as their lowest and highest value: {pairs or 'no column has such'}."
    means = [f"{raw['mean']} of {name}" for name, raw in bounds.items() if "mean" in raw]
    return (written, *([f"Rows show the mean of their group, rounded: {'; '.join(means)}."] if means else []))
