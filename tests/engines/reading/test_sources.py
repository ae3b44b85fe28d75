"""Rows that can be read repeatedly: batches of any size hold the same rows, and carriers lose nothing.

Pieces of files: every row once, under its number in the table, for any reader of each piece.
"""

from __future__ import annotations

from datetime import date, datetime

import pyarrow as pa
import pytest

from anonkit.engines.reading.sources import (
    GeneratedSplits,
    carrier_type,
    drained,
    folded,
    from_carrier,
    gather,
    grouped,
    repeating,
    table_source,
    to_carrier,
)
from anonkit.errors import EngineError


def test_rows_that_are_drawn_are_those_that_were_declared() -> None:
    """Another number of rows, or other columns, are refused."""
    schema = pa.schema([("n", pa.int64())])
    batch = pa.RecordBatch.from_arrays([pa.array([1, 2], pa.int64())], schema=schema)
    assert [first for _, first in GeneratedSplits(draw=lambda _: batch, schema=schema, sizes=[2, 2]).read(1)] == [2]
    with pytest.raises(EngineError, match="drew other"):
        list(GeneratedSplits(draw=lambda _: batch, schema=schema, sizes=[3]).read(0))


BATCHES = [pa.record_batch({"n": pa.array(range(at, at + 100), pa.int64())}) for at in range(0, 500, 100)]


@pytest.mark.parametrize("n_bytes", [0, 900, 10**9])
def test_groups_hold_the_same_rows(n_bytes: int) -> None:
    """In their order, one group at least."""
    tables = list(grouped(iter(BATCHES), BATCHES[0].schema, n_bytes))
    assert [row for table in tables for row in table.column("n").to_pylist()] == list(range(500))
    taken, ended = gather(iter(BATCHES), n_bytes)
    assert ended == (len(taken) == 5)
    assert len(list(grouped(iter([]), BATCHES[0].schema, n_bytes))) == 1


def test_a_drained_list_is_empty() -> None:
    """Each batch leaves it before it is handed on."""
    batches = list(BATCHES)
    seen = [len(batches) for _ in drained(batches)]
    assert seen == [4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    "array",
    [
        pa.array([0, 255, None], pa.uint8()),
        pa.array([0, 2**64 - 1, None], pa.uint64()),
        pa.array([date(2020, 1, 1), None]),
        pa.array([datetime(2020, 1, 1, 12), None], pa.timestamp("us")),
        pa.array([1.5, None]),
    ],
)
def test_a_carrier_brings_every_value_back(array: pa.Array) -> None:
    """Equal values stay equal, and nothing is rounded."""
    carried = to_carrier(array)
    assert carried.type == carrier_type(array.type)
    assert from_carrier(carried, array.type).equals(array)


def test_categories_travel_as_strings() -> None:
    """And stay so."""
    categories = pa.array(["a", "b", "a"]).dictionary_encode()
    carried = to_carrier(categories)
    assert carried.type == pa.string()
    assert from_carrier(carried, categories.type).to_pylist() == ["a", "b", "a"]


def test_texts_that_repeat_themselves_are_folded() -> None:
    """One dictionary for all chunks of a column, the same cells."""
    table = pa.table({"few": pa.chunked_array([["x", "y"] * 20, ["x"] * 20]), "many": [str(at) for at in range(60)]})
    assert repeating(table) == [0]
    moved = folded(table, repeating(table))
    assert pa.types.is_dictionary(moved.column("few").type)
    assert moved.column("few").to_pylist() == table.column("few").to_pylist()


def test_a_table_is_read_again_and_again() -> None:
    """The same rows each time."""
    source = table_source(pa.Table.from_batches(BATCHES))
    for _ in range(2):
        assert pa.Table.from_batches(source.batches()).column("n").to_pylist() == list(range(500))
