"""Files with bounds that workers read as labels: the rows are those of one machine, and none of them is read here."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from part_workers import Elsewhere, without_rows

from anonkit.bundle.bound_columns import BoundColumn
from anonkit.bundle.bound_columns import labelled_files as labelled_rows
from anonkit.bundle.data_files import bring_here, each_part, parts_of, read_by
from anonkit.errors import ReleaseFormatError

AGE = BoundColumn(name="age", low="low", high="high", labels=(("< 20", (None, 20)), ("[20, 40)", (20, 40))))
LOWS, HIGHS = [None, 20, 20, None, 7, 20, None], [20, 40, 40, 20, 8, 40, 20]
LABELS = ["< 20", "[20, 40)", "[20, 40)", "< 20", None, "[20, 40)", "< 20"]
"""One row has bounds of no label."""
ROWS = pa.table({"id": range(7), "low": LOWS, "high": HIGHS})
SHOWN = [{"id": at, "age": label} for at, label in enumerate(LABELS)]


def folder_of(folder: Path) -> Path:
    """The rows in three files."""
    folder.mkdir()
    for at in range(3):
        pq.write_table(ROWS.slice(3 * at, 3), folder / f"part-{at:05d}.parquet")
    return folder


def rows_of(part: Path) -> list[dict[str, object]]:
    """The rows of a file, as whoever reads it finds them."""
    return [{"id": row["id"], "age": row["age"]} for row in pq.read_table(part).to_pylist()]


def test_one_machine_reads_labels_of_a_file_and_of_a_folder(tmp_path: Path) -> None:
    """Rows without a label are counted; without bounds the data is read as it is."""
    data = folder_of(tmp_path / "data")
    pq.write_table(ROWS, tmp_path / "one.parquet")
    for place in (data, tmp_path / "one.parquet"):
        with labelled_rows(place, [AGE]) as (labels, strange):
            assert rows_of(labels) == SHOWN
            assert strange == {"age": 1}
        assert not labels.exists()
        with labelled_rows(place, []) as found:
            assert found == (place, {})


def test_workers_make_the_labels_of_the_files_that_they_read(tmp_path: Path) -> None:
    """Names, types and numbers of rows are here; the rows are not, in files as they are and in those with labels."""
    data = folder_of(tmp_path / "data")
    workers = without_rows(data, tmp_path / "there")
    with read_by(workers), labelled_rows(data, [AGE]) as (labels, strange):
        parts = parts_of(labels)
        assert strange == {"age": 1}
        assert [pq.read_metadata(part).num_rows for part in parts] == [3, 3, 1]
        assert set(pq.read_schema(parts[0]).names) == {"id", "age"}
        with pytest.raises(OSError):  # noqa: PT011 -- pyarrow says so in many words
            pq.read_table(parts[0])
        assert [row for rows in each_part(rows_of, parts) for row in rows] == SHOWN
        assert [pq.read_metadata(part).num_rows for part in parts_of(data)] == [3, 3, 1]
    assert not labels.exists()


def test_rows_that_are_read_here_are_made_here(tmp_path: Path) -> None:
    """Files whose rows this machine needs get their labels once."""
    data = folder_of(tmp_path / "data")
    with read_by(Elsewhere()), labelled_rows(data, [AGE]) as (labels, _):
        parts = parts_of(labels)
        for _ in range(2):
            bring_here(parts)
        assert [row for part in parts for row in rows_of(part)] == SHOWN


def test_a_column_that_is_not_there_is_damage(tmp_path: Path) -> None:
    """It is found as the file is read, here or by a worker."""
    data, other = folder_of(tmp_path / "data"), BoundColumn(name="pay", low="l", high="h", labels=())
    for workers in (None, Elsewhere()):
        with read_by(workers), pytest.raises(ReleaseFormatError), labelled_rows(data, [other]):
            pass
