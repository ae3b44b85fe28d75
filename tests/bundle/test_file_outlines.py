"""Outlines of Parquet files: sizes, types and numbers of rows without a row."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.bundle.data_files import file_digest
from anonkit.bundle.file_outlines import outline_of


def test_an_outline_has_the_footer_and_no_row(tmp_path: Path) -> None:
    """Schema, rows and size are those of the file; whoever reads a row fails, and finds no empty table."""
    whole, hollow = tmp_path / "whole.parquet", tmp_path / "hollow.parquet"
    pq.write_table(pa.table({"id": range(1_000), "name": [f"secret {at}" for at in range(1_000)]}), whole)
    outline = outline_of(whole)
    outline.write(hollow)
    assert outline.sha256 == file_digest(whole)
    assert hollow.stat().st_size == whole.stat().st_size
    assert pq.read_schema(hollow).equals(pq.read_schema(whole))
    assert pq.read_metadata(hollow).num_rows == 1_000
    with pytest.raises((OSError, pa.ArrowException)):
        pq.read_table(hollow)
    with pytest.raises(FileExistsError):
        outline.write(whole)
