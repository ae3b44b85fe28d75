"""Iceberg tables: what was deleted or replaced is not read, in any form of deleting, or nothing is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines.snapshots.lakes import puffin_of
from engines.snapshots.live import read
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from anonkit.errors import SourceError

PEOPLE = pa.table({"id": pa.array(range(6), pa.int64()), "age": pa.array([30, 41, 41, 50, 62, 30], pa.int64())})


MARKER = "a-cell-of-somebody"


NOW = [(0, 30), (1, 41), (2, 41), (4, 63), (5, 30)]


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(table.column("id").to_pylist(), table.column("age").to_pylist(), strict=True))


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    """A catalog of Iceberg tables in a folder."""
    made = SqlCatalog("tests", uri="sqlite:///:memory:", warehouse=f"file://{tmp_path}")
    made.create_namespace("people")
    yield made
    made.engine.dispose()


def _iceberg(catalog: SqlCatalog, **properties: str) -> Table:
    table = catalog.create_table("people.all", schema=PEOPLE.schema, properties=properties)
    table.append(PEOPLE)
    return table


def _folder(table: Table) -> Path:
    return Path(table.location().removeprefix("file://"))


def test_an_iceberg_table_is_its_current_snapshot(catalog: SqlCatalog) -> None:
    """Deleted people and replaced rows are not read; an earlier snapshot is named by its number."""
    table = _iceberg(catalog)
    first = table.current_snapshot()
    table.delete("id == 3")
    table.overwrite(pa.table({"id": [4], "age": [63]}, schema=PEOPLE.schema), overwrite_filter="id == 4")
    folder = _folder(table)
    assert _rows(read(folder)) == NOW
    assert first is not None
    assert len(_rows(read(f"iceberg:///{folder}?snapshot={first.snapshot_id}"))) == 6
    with pytest.raises(SourceError, match="no snapshot 7"):
        read(f"iceberg:///{folder}?snapshot=7")


def _with_deletes(
    table: Table, monkeypatch: pytest.MonkeyPatch, path: str, content: int, form: str = "parquet"
) -> None:
    """Commit a delete file, which pyiceberg reads and does not write, as Spark or Flink would."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    rows = pa.table({"file_path": [path] * 2, "pos": pa.array([2, 4], pa.int64())})
    place = _folder(table) / "data" / f"deletes-{content}.{form}"
    if form == "puffin":
        place.write_bytes(puffin_of([2, 4], path))
    else:
        pq.write_table(rows, place)
    deletes = DataFile.from_args(
        content=DataFileContent(content),
        file_path=f"file://{place}",
        file_format=FileFormat(form.upper()),
        partition=Record(),
        record_count=2,
        file_size_in_bytes=place.stat().st_size,
        equality_ids=[1] if content == 2 else None,
        column_sizes={}, value_counts={}, null_value_counts={}, nan_value_counts={}, lower_bounds={}, upper_bounds={},
        key_metadata=None, split_offsets=None, sort_order_id=None, spec_id=0,
    )  # fmt: skip
    deletes.spec_id = 0
    _commit(table, deletes, monkeypatch)


def _commit(table: Table, deletes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg import manifest
    from pyiceberg.manifest import ManifestContent
    from pyiceberg.table.update import snapshot as updating

    class DeleteWriter(manifest.ManifestWriterV2):
        """A writer of manifests of deletes."""

        def content(self) -> ManifestContent:
            return ManifestContent.DELETES

        @property
        def _meta(self) -> dict[str, str]:
            return {**super()._meta, "content": "deletes"}

    def writer(*, format_version: int, **arguments: Any) -> Any:
        assert format_version == 2
        return DeleteWriter(**arguments)

    monkeypatch.setattr(updating, "write_manifest", writer)
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(deletes)
    monkeypatch.undo()


@pytest.mark.parametrize("form", ["parquet", "puffin"])
def test_position_deletes_are_honoured(catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """Rows that a delete file, or a deletion vector, names by file and place are not read."""
    table = _iceberg(catalog)
    path = next(iter(table.scan().plan_files())).file.file_path
    _with_deletes(table, monkeypatch, path, 1, form)
    assert [row[0] for row in _rows(read(_folder(table)))] == [0, 1, 3, 5]


def test_deletes_that_name_a_file_in_other_words_are_refused(
    catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library would not find the file under that name, and read the deleted people."""
    table = _iceberg(catalog)
    path = next(iter(table.scan().plan_files())).file.file_path
    _with_deletes(table, monkeypatch, path.removeprefix("file://"), 1)
    with pytest.raises(SourceError, match="cannot be matched with its files"):
        read(_folder(table))


def test_equality_deletes_are_refused(catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library does not apply them: nothing is read, rather than deleted people."""
    table = _iceberg(catalog)
    _with_deletes(table, monkeypatch, "unused", 2)
    with pytest.raises(SourceError, match="equality deletes"):
        read(_folder(table))


def test_an_iceberg_table_that_was_moved_is_refused(catalog: SqlCatalog, tmp_path: Path) -> None:
    """Its metadata names the files of the table that it was copied from."""
    table = _iceberg(catalog)
    moved = tmp_path / "copied"
    _folder(table).rename(moved)
    with pytest.raises(SourceError, match="moved or copied"):
        read(moved)


def test_two_newest_states_of_an_iceberg_table_are_refused(catalog: SqlCatalog) -> None:
    """Two programs wrote at once and one of them lost: a folder does not show which."""
    table = _iceberg(catalog)
    metadata = _folder(table) / "metadata"
    newest = max(metadata.glob("*.metadata.json"))
    number = newest.name.partition("-")[0]
    (metadata / f"{number}-lost.metadata.json").write_bytes(newest.read_bytes())
    with pytest.raises(SourceError, match="2 newest states"):
        read(_folder(table))


def test_an_iceberg_table_whose_files_are_gone_is_refused(catalog: SqlCatalog) -> None:
    """An expired file leaves no table with fewer people, but none."""
    folder = _folder(_iceberg(catalog))
    for path in folder.rglob("*.parquet"):
        path.unlink()
    with pytest.raises(SourceError, match="cannot be read to its last row"):
        read(folder)
