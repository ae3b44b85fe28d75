"""Parquet tables read in pieces by executors."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.engines.reading.parquet_tables import open_parquet
from anonkit.engines.reading.splits import ParquetSplits
from anonkit.errors import EngineError
from anonkit.policy.declaration import Policy

SIZES = (7, 0, 1, 30, 2, 2, 2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of many sizes, row groups of three rows, a key in the name of the folder."""
    row = 0
    for at, size in enumerate(SIZES):
        place = tmp_path / f"year={2000 + at % 2}"
        place.mkdir(exist_ok=True)
        rows = pa.table({"row": pa.array(range(row, row + size), pa.int64()), "text": [f"t{n}" for n in range(size)]})
        pq.write_table(rows, place / f"{at}.parquet", row_group_size=3)
        row += size
    return tmp_path


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 10, 1000])
def test_pieces_hold_every_row_under_its_number(folder: Path, rows: int) -> None:
    """Large files are divided at row groups, small ones put together; single columns may be requested."""
    files = open_parquet(folder, Policy())
    splits = ParquetSplits.of(files, files.schema, rows)
    whole = pa.Table.from_batches(files.batches(), files.schema)
    found = [each for split in reversed(range(splits.n_splits)) for each in splits.read(split)]
    assert sum(batch.num_rows for batch, _ in found) == whole.num_rows == sum(SIZES)
    for batch, first in found:
        assert batch.equals(whole.slice(first, batch.num_rows).combine_chunks().to_batches()[0])
    assert splits.n_splits <= -(-sum(SIZES) // rows) + len(SIZES)
    narrow = [batch for batch, _ in splits.read(0, ["year", "row"])]
    assert narrow[0].schema.names == ["year", "row"]


def test_pieces_may_be_the_files(folder: Path) -> None:
    """One each, however small or large, also one without rows; every row under its number."""
    files = open_parquet(folder, Policy())
    splits = ParquetSplits.of(files, files.schema, 4).by_file()
    whole = pa.Table.from_batches(files.batches(), files.schema)
    assert splits.n_splits == len(SIZES)
    sizes = [part.n_rows for part in files.parts]
    for at, size in enumerate(sizes):
        found = list(splits.read(at))
        rows = pa.Table.from_batches([batch for batch, _ in found], files.schema)
        assert rows.equals(whole.slice(sum(sizes[:at]), size))
        assert not found or found[0][1] == sum(sizes[:at])


def test_an_executor_that_does_not_see_the_files_says_so(folder: Path) -> None:
    """In our words, and without a path's cells."""
    files = open_parquet(folder, Policy())
    splits = ParquetSplits.of(files, files.schema, 1000)
    for file in folder.glob("*/*.parquet"):
        file.unlink()
    with pytest.raises(EngineError, match="does not see the files"):
        list(splits.read(0))
