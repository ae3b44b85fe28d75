# SPDX-License-Identifier: Apache-2.0
"""Tables of texts in a private Parquet file: every cell a text or missing, typed as the cells of CSV are.

A workbook or a set of CSV files is copied so. Which texts mean missing, and which columns are numbers, is told by the
same code as for a CSV file, so that a cell means the same in either.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from anonkit.engines.reading.batches import BATCH_ROWS
from anonkit.engines.reading.failures import shielded, shielded_iterator
from anonkit.engines.reading.file_tables import FileTable
from anonkit.engines.reading.names import check_names
from anonkit.engines.reading.sources import spill_is_gone
from anonkit.engines.reading.text_cells import TextCells
from anonkit.engines.reading.untyped import Untyped
from anonkit.policy.declaration import Policy


def open_text_rows(table: FileTable, policy: Policy) -> Untyped:
    """Open a table of texts.

    Raises
    ------
    SourceError
        Its columns cannot be distinguished by name.
    EngineError
        The copy is not there any more.
    """
    path = str(table.path)
    names = shielded(lambda: pq.read_schema(path).names, spill_is_gone)
    check_names(names)
    listed = pa.array(policy.missing_values, pa.string())
    cells = {name: TextCells.of(policy.column(name), cell_by_cell=policy.cell_by_cell) for name in names}

    def batches() -> Iterator[pa.RecordBatch]:
        with shielded(lambda: pq.ParquetFile(path), spill_is_gone) as file:
            for batch in shielded_iterator(file.iter_batches(BATCH_ROWS), spill_is_gone):
                arrays = [_without(column, listed) for column in batch.columns]
                yield pa.RecordBatch.from_arrays(arrays, names=names)

    return Untyped(names=names, open=batches, cells_of=cells.__getitem__, knows_missing=True)


def _without(texts: pa.StringArray, listed: pa.StringArray) -> pa.StringArray:
    """Return texts with those that are listed missing."""
    return pc.if_else(pc.is_in(texts, value_set=listed), pa.scalar(None, pa.string()), texts) if len(listed) else texts
