"""Delta tables: what was deleted or replaced is not read, in any form of deleting, or nothing is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from engines.snapshots.lakes import delta_with_vector
from engines.snapshots.live import quotes_nothing, read

from anonkit.errors import ParameterError, SourceError

PEOPLE = pa.table({"id": pa.array(range(6), pa.int64()), "age": pa.array([30, 41, 41, 50, 62, 30], pa.int64())})


MARKER = "a-cell-of-somebody"


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    """A Delta table: person 3 was deleted, and the age of person 4 corrected."""
    folder = tmp_path / "people"
    write_deltalake(str(folder), PEOPLE, partition_by=["age"])
    DeltaTable(str(folder)).delete("id = 3")
    DeltaTable(str(folder)).update(updates={"age": "63"}, predicate="id = 4")
    return folder


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(table.column("id").to_pylist(), table.column("age").to_pylist(), strict=True))


NOW = [(0, 30), (1, 41), (2, 41), (4, 63), (5, 30)]


@pytest.mark.parametrize("spelled", ["{}", "delta:///{}", "{}/"])
def test_a_delta_table_is_what_its_log_says(delta: Path, spelled: str) -> None:
    """Its path or its address: deleted people and replaced rows, which are still in the files, are not read."""
    assert _rows(read(spelled.format(delta))) == NOW


def test_an_earlier_version_of_a_delta_table_is_named_by_its_number(delta: Path) -> None:
    """Version 0 has all people; a version that never was is refused, and so is what is no number."""
    assert len(_rows(read(f"delta:///{delta}?version=0"))) == 6
    assert len(_rows(read(f"delta:///{delta}?version=1"))) == 5
    with pytest.raises(SourceError, match="no version 9"):
        read(f"delta:///{delta}?version=9")
    for wrong, said in (("version=-1", "whole number"), ("snapshot=1", "not known .snapshot.")):
        with pytest.raises(ParameterError, match=said):
            read(f"delta:///{delta}?{wrong}")


@pytest.mark.parametrize("renamed", [False, True])
def test_rows_that_a_deletion_vector_names_are_not_read(tmp_path: Path, renamed: bool) -> None:
    """Deleted without a new file being written: the same file, and a bitmap of its rows in the log."""
    folder = delta_with_vector(tmp_path / "people", PEOPLE, [2, 4], renamed=renamed)
    assert _rows(read(folder)) == [(0, 30), (1, 41), (3, 50), (5, 30)]


def test_a_delta_table_that_requires_more_is_refused(tmp_path: Path) -> None:
    """A feature that readers must know and this one does not may be what deletes a person."""
    folder = delta_with_vector(tmp_path / "people", PEOPLE, [2, 4], "rowsByMoonlight")
    with pytest.raises(SourceError, match=r"rowsByMoonlight|not have a readable table|has no readable table"):
        read(folder)


def test_a_delta_table_whose_files_are_gone_is_refused(delta: Path) -> None:
    """A vacuumed file leaves no table with fewer people, but none."""
    for path in delta.rglob("*.parquet"):
        path.unlink()
    with pytest.raises(SourceError, match="cannot be read to its last row") as caught:
        read(delta)
    quotes_nothing(caught.value, MARKER)
