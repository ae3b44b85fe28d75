"""Folders of Parquet files: whatever the pieces and the parts, the rows of one file in its order.

Rows on their way to a secret order through tasks, played here without a cluster.

A copied Parquet file: the same rows and types under other metadata.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import pickle
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.bundle.data_files import count_rows, part_name, parts_of, read_rows, read_schema
from anonkit.engines.reading.sources import GeneratedSplits, all_of
from anonkit.engines.writing import parquet_files
from anonkit.engines.writing.parquet_files import (
    CountCategories,
    Deal,
    JoinedSplits,
    RelabelInto,
    Sort,
    Store,
    StoredRows,
    StoredSplits,
    WriteFiles,
    part_path,
    relabelled,
    write_folder,
    write_parquet,
    write_part,
)
from anonkit.engines.writing.part_tasks import MappedRows
from anonkit.engines.writing.shuffling import row_words
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


KEY = bytes(range(32))
N, PIECE = 1_000, 130
WORDS = pa.array([f"w{n}" for n in range(3)])
SCHEMA = pa.schema([("n", pa.int64()), ("kind", pa.dictionary(pa.int32(), pa.string())), ("text", pa.string())])
FORM = StoredRows(SCHEMA, {"kind": WORDS})


def piece(number: int) -> pa.RecordBatch:
    """Return rows of a piece, missing cells among them; its dictionary has an order of its own."""
    rows = np.arange(number * PIECE, min((number + 1) * PIECE, N))
    kinds = pa.DictionaryArray.from_arrays(pa.array((rows % 3).astype(np.int32), mask=rows % 7 == 0), WORDS[::-1])
    return pa.RecordBatch.from_arrays(
        [pa.array(rows), kinds, pa.array(rows.astype(str), mask=rows % 5 == 0)], schema=SCHEMA
    )


SPLITS = GeneratedSplits(draw=piece, schema=SCHEMA, sizes=[piece(at).num_rows for at in range(-(-N // PIECE))])
WHOLE = pa.Table.from_batches(map(piece, range(SPLITS.n_splits)))


def tasks(*numbers: int) -> list[pa.RecordBatch]:
    """Return what Spark hands to a task."""
    return [pa.RecordBatch.from_arrays([pa.array(numbers, pa.int64())], ["id"])]


def read(folder: Path, sizes: list[int]) -> pa.Table:
    """Read the parts in order, as texts."""
    splits = StoredSplits(folder=str(folder), form=FORM, sizes=sizes)
    batches = [batch for at in range(splits.n_splits) for batch, _ in splits.read(at)]
    return plain(pa.Table.from_batches(batches, SCHEMA))


def plain(table: pa.Table) -> pa.Table:
    """Return categories as texts."""
    return table.set_column(1, "kind", table.column("kind").cast(pa.string()))


@pytest.mark.parametrize("bits", [0, 3])
def test_parts_one_after_another_are_in_the_order_of_the_words(
    bits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts have the order of the words, for any tasks and message sizes; a task that runs twice leaves one file."""
    monkeypatch.setattr(parquet_files, "_IN_A_MESSAGE", 17)
    deal = pickle.loads(pickle.dumps(Deal(rows=MappedRows(splits=SPLITS), form=FORM, key=KEY, bits=bits)))
    dealt = pa.Table.from_batches([one for at in reversed(range(SPLITS.n_splits)) for one in deal(tasks(at))])
    together = dealt.sort_by("part").to_batches(max_chunksize=3)
    sort = Sort(form=FORM, folder=str(tmp_path))
    told = [pa.Table.from_batches(list(sort(together))) for _ in range(2)]
    assert told[0].equals(told[1])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{at}.arrow" for at in range(1 << bits))
    wanted = plain(WHOLE).take(pa.array(np.argsort(row_words(KEY, 0, N))))
    assert read(tmp_path, told[0].column("n").to_pylist()).equals(wanted.combine_chunks())


def test_pieces_are_stored_as_they_are(tmp_path: Path) -> None:
    """A file a piece, categories as bytes."""
    store = Store(rows=MappedRows(splits=SPLITS), form=FORM, folder=str(tmp_path))
    told = pa.Table.from_batches(list(store(tasks(*range(SPLITS.n_splits)))))
    assert told.column("part").to_pylist() == list(range(SPLITS.n_splits))
    assert read(tmp_path, told.column("n").to_pylist()).equals(plain(WHOLE).combine_chunks())
    assert pa.ipc.open_file(str(part_path(tmp_path, 0))).schema.field("kind").type == pa.int8()


def test_the_key_is_not_shown() -> None:
    """Nor in what a failed task prints of its function."""
    assert str(KEY) not in repr(Deal(rows=MappedRows(splits=SPLITS), form=FORM, key=KEY, bits=1))


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
