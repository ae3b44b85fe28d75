"""A copied Parquet file: the same rows and types under other metadata."""

from __future__ import annotations

import datetime
import decimal
import hashlib
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.engines.writing.part_files import write_parquet
from anonkit.engines.writing.relabelling import RelabelInto, relabelled
from anonkit.errors import EngineError

TABLE = pa.table(
    {
        "category": pa.array(["x", "y", None] * 5).dictionary_encode(),
        "text": ["u", "v", "w"] * 5,
        "number": [1.5, None, 3.0] * 5,
        "small": pa.array([1, 2, 3] * 5, pa.int8()),
        "large": pa.array([2**63] * 15, pa.uint64()),
        "flag": [True, False, None] * 5,
        "day": [datetime.date(2020, 1, 31)] * 15,
        "moment": pa.array([datetime.datetime(2020, 1, 1)] * 15, pa.timestamp("ms", tz="UTC")),
        "amount": [decimal.Decimal("1.50")] * 15,
        "nothing": pa.nulls(15),
    }
)


@pytest.mark.parametrize("rows", [0, 15])
def test_rows_types_and_metadata_are_those_of_a_file_written_anew(tmp_path: Path, rows: int) -> None:
    """Row groups, types and statistics are kept; pyarrow and DuckDB read it like the original."""
    table, labels = TABLE.slice(0, rows), {"anonkit": "{}"}
    first, copy, anew = (tmp_path / f"{name}.parquet" for name in ("first", "copy", "anew"))
    write_parquet([table.slice(0, 7), table.slice(7)], table.schema, first, {})
    write_parquet([table.slice(0, 7), table.slice(7)], table.schema, anew, labels)

    assert relabelled(first, copy, labels) == rows
    read, expected = pq.read_table(copy), pq.read_table(anew)
    assert read.equals(expected)
    assert read.schema.equals(expected.schema, check_metadata=True)
    assert dict(pq.read_metadata(copy).metadata) == dict(pq.read_metadata(anew).metadata)
    assert pq.read_metadata(copy).num_row_groups == pq.read_metadata(first).num_row_groups
    assert duckdb.sql(f"SELECT count(*) FROM '{copy}'").fetchall() == [(rows,)]
    if rows:
        assert pq.read_metadata(copy).row_group(1).column(2).statistics.max == 3.0


def test_a_file_that_is_no_parquet_leaves_no_copy(tmp_path: Path) -> None:
    """The error is one of the engine, and nothing is in the place."""
    (tmp_path / "first.parquet").write_bytes(b"PAR1")
    with pytest.raises(EngineError):
        relabelled(tmp_path / "first.parquet", tmp_path / "copy.parquet", {})
    assert not (tmp_path / "copy.parquet").exists()


def test_a_copy_is_told_by_its_rows_and_its_hash(tmp_path: Path) -> None:
    """Made twice, it is the same; what cannot be made leaves nothing."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    write_parquet([TABLE], TABLE.schema, tmp_path / "in" / "part-00000.parquet", {})
    (tmp_path / "in" / "part-00001.parquet").write_bytes(b"PAR1")
    copy = RelabelInto(folder=tmp_path / "out", metadata={"anonkit": "{}"})

    told = copy(tmp_path / "in" / "part-00000.parquet")
    made = tmp_path / "out" / "part-00000.parquet"
    assert told == (15, hashlib.sha256(made.read_bytes()).hexdigest())
    assert copy(tmp_path / "in" / "part-00000.parquet") == told
    assert pq.read_metadata(made).metadata[b"anonkit"] == b"{}"
    with pytest.raises(EngineError):
        copy(tmp_path / "in" / "part-00001.parquet")
    assert list((tmp_path / "out").iterdir()) == [made]
