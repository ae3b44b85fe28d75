"""Folders whose files hold deleted rows: refused, whichever way their tool marks them and wherever one enters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.engines import LocalEngine
from anonkit.errors import SourceError
from anonkit.policy.declaration import Policy

MARKS = {
    "_delta_log/00000000000000000000.json": "Delta Lake",
    ".hoodie/hoodie.properties": "Apache Hudi",
    "metadata/v1.metadata.json": "Apache Iceberg",
}


def lake_table(folder: Path, mark: str) -> Path:
    """Return a folder with Parquet files in partitions, and the log of a tool beside them."""
    for part in ("year=2024", "year=2025"):
        (folder / part).mkdir(parents=True)
        pq.write_table(pa.table({"name": ["Ada"], "age": [36]}), folder / part / "0.parquet")
    (folder / mark).parent.mkdir()
    (folder / mark).write_text("{}")
    return folder


@pytest.mark.parametrize(("mark", "kind"), MARKS.items())
@pytest.mark.parametrize("entry", ["", "year=2024", "year=2024/0.parquet"])
def test_a_lake_table_is_refused_wherever_one_enters(tmp_path: Path, mark: str, kind: str, entry: str) -> None:
    """The folder, a partition of it, one of its files: the message says whose table it is and what to do."""
    table = lake_table(tmp_path / "people", mark)
    with pytest.raises(SourceError, match=f"a table of {kind}") as told:
        LocalEngine().scan(table / entry, Policy())
    assert told.value.hint is not None
    assert "snapshot" in told.value.hint


@pytest.mark.parametrize("mark", MARKS)
def test_a_folder_above_a_lake_table_is_refused(tmp_path: Path, mark: str) -> None:
    """Its files would be read together with the plain ones."""
    lake_table(tmp_path / "all" / "people", mark)
    pq.write_table(pa.table({"name": ["Bob"], "age": [41]}), tmp_path / "all" / "1.parquet")
    with pytest.raises(SourceError, match="holds a table of"):
        LocalEngine().scan(tmp_path / "all", Policy())


def test_a_plain_folder_is_read_with_any_files_beside_it(tmp_path: Path) -> None:
    """Markers of Spark and a folder called metadata mean nothing; neither does a lake table next to it."""
    lake_table(tmp_path / "people", "_delta_log/0.json")
    plain = tmp_path / "plain"
    (plain / "metadata").mkdir(parents=True)
    pq.write_table(pa.table({"age": [1, 2]}), plain / "0.parquet")
    pq.write_table(pa.table({"age": [3]}), plain / "metadata" / "1.parquet")
    (plain / "_SUCCESS").write_text("")
    assert LocalEngine().scan(plain, Policy()).n_rows == 3


@pytest.mark.quick_cases("_delta_log*")
@pytest.mark.parametrize("mark", MARKS)
def test_spark_refuses_places_that_only_it_can_name(spark: Any, tmp_path: Path, mark: str) -> None:
    """A URL is looked at through Spark, as `s3a://` places are; a path like the local engine."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    table = lake_table(tmp_path / "people", mark)
    with SparkEngine(session=spark) as engine:
        for data in (f"file://{table}", str(table)):
            with pytest.raises(SourceError, match="a table of"):
                engine.scan(data, Policy())
        plain = tmp_path / "plain"
        plain.mkdir()
        pq.write_table(pa.table({"age": [1, 2]}), plain / "0.parquet")
        assert engine.scan(f"file://{plain}", Policy()).n_rows == 2
