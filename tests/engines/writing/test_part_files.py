"""Folders of Parquet files: whatever the pieces and the parts, the rows of one file in its order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.bundle.data_files import count_rows, part_name, parts_of, read_rows, read_schema
from anonkit.engines.reading.splits import all_of
from anonkit.engines.writing.ordered_parts import StoredRows, StoredSplits, write_part
from anonkit.engines.writing.part_files import CountCategories, JoinedSplits, WriteFiles, write_folder
from anonkit.engines.writing.row_maps import MappedRows
from anonkit.errors import EngineError

GRADES = ["never", "low", "mid", "also never", "high"]


def _table(n: int) -> pa.Table:
    places = pa.array([None if at % 5 == 0 else (1, 2, 4)[at % 3] for at in range(n)], pa.int32())
    return pa.table(
        {
            "grade": pa.DictionaryArray.from_arrays(places, GRADES, ordered=True),
            "text": pa.array([f"t{at % 9}" for at in range(n)], pa.string()),
            "number": pa.array([None if at % 11 == 0 else at / 7 for at in range(n)], pa.float64()),
        }
    )


@pytest.mark.slow
@given(st.lists(st.integers(0, 20), min_size=1, max_size=6), st.integers(1, 30))
def test_pieces_are_cut_into_parts(tmp_path_factory: pytest.TempPathFactory, sizes: list[int], part_rows: int) -> None:
    """Every part is full but the last; a table without rows is one part."""
    table = _table(sum(sizes))
    ends = np.cumsum(sizes).tolist()
    pieces = [table.slice(end - size, size) for end, size in zip(ends, sizes, strict=True)]
    folder = tmp_path_factory.mktemp("parts") / "x"
    assert write_folder(iter(pieces), table.schema, folder, {"k": "v"}, part_rows) == table.num_rows

    counts = [count_rows(part) for part in parts_of(folder)]
    assert all(n == part_rows for n in counts[:-1])
    assert sum(counts) == table.num_rows
    assert all(n > 0 for n in counts) or len(counts) == 1
    assert read_rows(folder).replace_schema_metadata(None).to_pylist() == table.to_pylist()


@pytest.mark.parametrize("each", [1, 2, 5])
def test_executors_write_joined_pieces(each: int, tmp_path: Path) -> None:
    """A file a joined piece, that a repeated task writes anew; categories without rows are left out everywhere."""
    table, sizes = _table(37), [10, 0, 20, 7]
    form = StoredRows(schema=table.schema, categories={"grade": pa.array(GRADES)})
    start = 0
    for number, n in enumerate(sizes):
        write_part(str(tmp_path), number, form.stored, map(form.store, table.slice(start, n).to_batches()))
        start += n
    splits = JoinedSplits(splits=StoredSplits(folder=str(tmp_path), form=form, sizes=sizes), each=each)
    count = CountCategories(sizes={"grade": len(GRADES)})
    seen = sum(count(batch, 0) for batch in all_of(splits)(None))
    assert [name for name, n in zip(GRADES, seen, strict=True) if n] == ["low", "mid", "high"]

    folder = tmp_path / "files"
    folder.mkdir()
    work = WriteFiles(
        rows=MappedRows(splits=splits), schema=table.schema, used={"grade": seen > 0}, metadata={}, folder=str(folder)
    )
    numbers = pa.table({"id": range(splits.n_splits)}).to_batches()
    told = pa.Table.from_batches(work(iter([*numbers, *numbers])))
    assert sorted(path.name for path in folder.iterdir()) == [part_name(at) for at in range(splits.n_splits)]
    assert sum(told.column("n").to_pylist()) == 2 * table.num_rows
    written = read_rows(folder)
    assert written.replace_schema_metadata(None).to_pylist() == table.to_pylist()
    for part in parts_of(folder):
        if count_rows(part):
            grades = read_rows(part).column("grade")
            assert grades.chunk(0).dictionary.to_pylist() == ["low", "mid", "high"]
            assert read_schema(part).field("grade").type.ordered


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """One line, and no folder."""
    table = _table(3)
    with pytest.raises(EngineError, match="No such file"):
        write_folder(iter([table]), table.schema, tmp_path / "nowhere" / "x", {}, 2)
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """It is refused, with all that is in it."""
    (tmp_path / "mine").write_text("kept")
    table = _table(3)
    with pytest.raises(EngineError, match="File exists"):
        write_folder(iter([table]), table.schema, tmp_path, {}, 2)
    assert (tmp_path / "mine").read_text() == "kept"
