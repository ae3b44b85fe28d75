# SPDX-License-Identifier: Apache-2.0
"""Tables of strings in a private Parquet file: cells that are strings or missing, typed as the cells of CSV are.

A workbook or a set of CSV files is copied so. Which strings mean missing, and which columns are numbers, follows from
the same code as for a CSV file, so that a cell means the same in either. A database may bring types for some columns
and strings for others: those with a type keep it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from anonkit.engines.reading.batches import BATCH_ROWS
from anonkit.engines.reading.canonical import canonical_array, canonical_type
from anonkit.engines.reading.failures import shielded, shielded_iterator
from anonkit.engines.reading.file_tables import FileTable
from anonkit.engines.reading.names import check_names
from anonkit.engines.reading.sources import spill_is_gone
from anonkit.engines.reading.text_cells import TextCells
from anonkit.engines.reading.untyped import Untyped, UntypedCells
from anonkit.policy.declaration import Policy
from anonkit.policy.encodings import COMMA


def open_text_rows(table: FileTable, policy: Policy) -> Untyped:
    """Open a table of strings.

    Raises
    ------
    SourceError
        Its columns cannot be distinguished by name.
    EngineError
        The copy is not there any more.
    """
    path = str(table.path)
    stored = shielded(lambda: pq.read_schema(path), spill_is_gone).remove_metadata()
    names = stored.names
    check_names(names)
    texts = frozenset(names if table.texts is None else table.texts)
    kinds = {field.name: canonical_type(field.name, field.type) for field in stored if field.name not in texts}
    comma = policy.decimal == COMMA and not table.points
    listed = pa.array(policy.missing_values, pa.string())
    cells: dict[str, UntypedCells] = {
        name: _TypedCells(name, safe=not policy.cell_by_cell)
        if name in kinds
        else TextCells.of(policy.column(name), cell_by_cell=policy.cell_by_cell, comma=comma)
        for name in names
    }

    def batches() -> Iterator[pa.RecordBatch]:
        with shielded(lambda: pq.ParquetFile(path), spill_is_gone) as file:
            for batch in shielded_iterator(file.iter_batches(BATCH_ROWS), spill_is_gone):
                arrays = [
                    column if name in kinds else _without(column, listed)
                    for name, column in zip(names, batch.columns, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=names)

    return Untyped(names=names, open=batches, cells_of=cells.__getitem__, kinds=kinds, knows_missing=not kinds)


@dataclass(frozen=True)
class _TypedCells:
    """Cells that brought their type."""

    name: str
    safe: bool

    def fit(self, array: pa.Array, kind: pa.DataType | None) -> tuple[pa.DataType | None, pa.Array]:
        """Return the cells in canonical form. See `anonkit.engines.reading.untyped.UntypedCells.fit`."""
        kind = kind or canonical_type(self.name, array.type)
        return kind, canonical_array(self.name, array, kind, safe=self.safe)


def _without(texts: pa.StringArray, listed: pa.StringArray) -> pa.StringArray:
    """Return strings with those that are listed missing."""
    return pc.if_else(pc.is_in(texts, value_set=listed), pa.scalar(None, pa.string()), texts) if len(listed) else texts
