# SPDX-License-Identifier: Apache-2.0
"""The form of a target, opened; and the rows of a release as every form takes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from anonkit.bundle.data_files import count_rows, iter_batches, read_schema
from anonkit.bundle.exports.column_types import exported_type
from anonkit.bundle.exports.embedded_tables import DuckdbTable, SqliteTable
from anonkit.bundle.exports.export_targets import Target
from anonkit.bundle.exports.exported_form import BATCH_ROWS, ExportedForm
from anonkit.bundle.exports.server_tables import ServerTable
from anonkit.bundle.exports.sheets import Sheet
from anonkit.bundle.exports.text_tables import ArrowTable, TabTable, TextTable

_FORMS: dict[str, type[ExportedForm]] = {
    "csv": TextTable,
    "tsv": TabTable,
    "xlsx": Sheet,
    "arrow": ArrowTable,
    "sqlite": SqliteTable,
    "duckdb": DuckdbTable,
    "postgresql": ServerTable,
}


def form_of(target: Target) -> ExportedForm:
    """Return the form of a target, nothing opened yet."""
    return _FORMS[target.form](target)  # type: ignore[call-arg]


@dataclass(frozen=True, kw_only=True)
class ReleasedTable:
    """The rows of a release in the types that every form has; NaN is missing."""

    data: Path

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types.

        Raises
        ------
        ParameterError
            A column is of a type that only the Parquet file can hold.
        """
        return pa.schema([(field.name, exported_type(field.name, field.type)) for field in read_schema(self.data)])

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are."""
        return count_rows(self.data)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order."""
        for batch in iter_batches(self.data, batch_rows=BATCH_ROWS):
            cells = [_cast(column, field.type) for column, field in zip(batch.columns, self.schema, strict=True)]
            yield pa.RecordBatch.from_arrays(cells, schema=self.schema)


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    import pyarrow.compute as pc

    plain = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_nan(plain), pa.scalar(None, kind), plain)
    return plain if plain.type == kind else plain.cast(kind)
