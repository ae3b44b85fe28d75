"""Pieces of files: every row once, under its number in the table, for any reader of each piece."""

from __future__ import annotations

import pyarrow as pa
import pytest

from anonkit.engines.reading.splits import GeneratedSplits
from anonkit.errors import EngineError


def test_rows_that_are_drawn_are_those_that_were_declared() -> None:
    """Another number of rows, or other columns, are refused."""
    schema = pa.schema([("n", pa.int64())])
    batch = pa.RecordBatch.from_arrays([pa.array([1, 2], pa.int64())], schema=schema)
    assert [first for _, first in GeneratedSplits(draw=lambda _: batch, schema=schema, sizes=[2, 2]).read(1)] == [2]
    with pytest.raises(EngineError, match="drew other"):
        list(GeneratedSplits(draw=lambda _: batch, schema=schema, sizes=[3]).read(0))
