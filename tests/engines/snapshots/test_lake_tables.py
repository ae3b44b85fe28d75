"""Lake tables: a part of one is no table, and a folder is read as the kind that it is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from engines.snapshots.live import read

from anonkit.errors import SourceError


def test_a_part_of_a_lake_table_is_refused_as_plain_parquet(tmp_path: Path) -> None:
    """A folder of the table, or one of its files, holds deleted people."""
    delta = tmp_path / "people"
    write_deltalake(str(delta), pa.table({"id": [1, 2, 3], "age": [30, 41, 41]}), partition_by=["age"])
    part = next(path for path in delta.rglob("*.parquet"))
    for place in (part, part.parent, delta.parent):
        with pytest.raises(SourceError, match="Delta Lake: its files hold rows that were deleted"):
            read(place)
    with pytest.raises(SourceError, match="no table of iceberg"):
        read(delta, format="iceberg")
