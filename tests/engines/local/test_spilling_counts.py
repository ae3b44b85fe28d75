"""Counting in DuckDB needs no pandas, whose import took a fifth of the time of counting 5 million rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_CODE = """
import sys
from anonkit.engines.local import local_engine
from anonkit.policy.declaration import Policy

local_engine._CODES_IN_MEMORY = -1
with local_engine.LocalEngine(memory_limit="100MB") as engine:
    source = engine.scan(sys.argv[1], Policy())
    sizes = engine.class_sizes(source, ["a", "b"], 2)
    for table in engine.count_sets(source, [("a", "b"), ("b",)]):
        print(list(map(list, zip(*(column.to_pylist() for column in table.columns)))))
print(sizes.smallest, "pandas" in sys.modules)
"""


def _printed(table: pa.Table, folder: Path) -> list[str]:
    pq.write_table(table, folder / "rows.parquet")
    command = [sys.executable, "-c", _CODE, str(folder / "rows.parquet")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_sets_are_counted_without_pandas(tmp_path: Path) -> None:
    """Two sets and the classes of a file are counted, and pandas has not been imported."""
    table = pa.table({"a": pa.array([1, 1, 2], pa.int32()), "b": pa.array([5, 5, 6], pa.int32())})
    assert _printed(table, tmp_path) == ["[[1, 5, 2], [2, 6, 1]]", "[[5, 2], [6, 1]]", "1 False"]


def test_sets_of_no_row_have_no_count(tmp_path: Path) -> None:
    """A file without rows has empty counts for every set."""
    table = pa.table({"a": pa.array([], pa.int32()), "b": pa.array([], pa.int32())})
    assert _printed(table, tmp_path)[:2] == ["[]", "[]"]
