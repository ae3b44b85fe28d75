"""Rows on their way to a secret order through tasks, played here without a cluster."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from anonkit.engines.reading.splits import DrawnSplits
from anonkit.engines.writing import ordered_parts
from anonkit.engines.writing.ordered_parts import Deal, Sort, Store, StoredRows, StoredSplits, part_path
from anonkit.engines.writing.row_maps import MappedRows
from anonkit.engines.writing.shuffling import row_words

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


SPLITS = DrawnSplits(draw=piece, schema=SCHEMA, sizes=[piece(at).num_rows for at in range(-(-N // PIECE))])
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
    monkeypatch.setattr(ordered_parts, "_IN_A_MESSAGE", 17)
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
