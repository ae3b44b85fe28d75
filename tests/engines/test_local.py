"""The local engine gives the answers of the pandas engine, whatever the table and wherever it is held."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from awkward import Awkward, awkward_tables
from hypothesis import given
from hypothesis import strategies as st
from oracle import PandasEngine, cells

from anonkit.engines import ENGINES, LocalEngine, open_engine
from anonkit.errors import EngineError, ParameterError, SourceError
from anonkit.mechanisms.keyed_words import keyed_words
from anonkit.policy import Policy
from anonkit.protocols import Engine, Source
from anonkit.randomness import Randomness

PUBLIC = Policy()
ORACLE = PandasEngine()


@pytest.fixture(scope="module", params=["memory", "disk"])
def engine(request: pytest.FixtureRequest) -> Iterator[LocalEngine]:
    """An engine that holds tables in memory, and one that has none: it spills every table and counts in DuckDB."""
    with ExitStack() as stack:
        if request.param == "disk":
            stack.enter_context(patch("anonkit.engines.local._IN_MEMORY", 16))
            stack.enter_context(patch("anonkit.engines.local._CODES_IN_MEMORY", -1))
        yield stack.enter_context(LocalEngine())


def whole(source: Source) -> pa.Table:
    """Read all of a source."""
    return pa.Table.from_batches(source.batches(), source.schema)


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return rows of comparable cells."""
    return list(zip(*map(cells, table.columns), strict=True))


def some_columns(data: st.DataObject, names: list[str]) -> list[str]:
    """Draw columns of a table, in any order, maybe none."""
    return data.draw(st.lists(st.sampled_from(names), unique=True))


@given(table=awkward_tables())
def test_a_scan_keeps_cells_types_and_category_order(engine: LocalEngine, table: Awkward) -> None:
    """What was scanned is the table in canonical types: NaN is missing, -0.0 is 0.0, nothing else changes."""
    source = engine.scan(table.given, PUBLIC)
    read = whole(source)

    assert source.schema == table.held.schema
    assert source.n_rows == table.held.num_rows
    assert rows(read) == rows(table.held)
    for field in read.schema:
        if pa.types.is_floating(field.type):
            column = read.column(field.name)
            assert not pc.any(pc.is_nan(column)).as_py()
            assert not any(str(cell) == "-0.0" for cell in column.to_pylist())


@given(table=awkward_tables())
def test_codes_are_those_of_the_oracle(engine: LocalEngine, table: Awkward) -> None:
    """Distinct values that occur, ascending or in category order, missing last."""
    names = table.given.column_names
    got = engine.encode(engine.scan(table.given, PUBLIC), names)
    wanted = ORACLE.encode(ORACLE.scan(table.held, PUBLIC), names)
    for one, other in zip(got, wanted, strict=True):
        assert (one.name, one.ordered) == (other.name, other.ordered)
        assert list(one.values) == list(other.values)
        assert list(map(type, one.values)) == [type(value) if type(value).__name__ != "Timestamp" else type(mine) for mine, value in zip(one.values, other.values, strict=True)]
        assert one.codes.dtype == np.int32
        assert np.array_equal(one.codes, other.codes)


@given(table=awkward_tables(), data=st.data())
def test_counts_are_those_of_the_oracle(engine: LocalEngine, table: Awkward, data: st.DataObject) -> None:
    """Every combination of every set is counted once, missing among its values."""
    names = table.given.column_names
    sets = [tuple(some_columns(data, names)) for _ in range(data.draw(st.integers(1, 3)))]
    got = engine.count_sets(engine.scan(table.given, PUBLIC), sets)
    wanted = ORACLE.count_sets(ORACLE.scan(table.held, PUBLIC), sets)
    for columns, one, other in zip(sets, got, wanted, strict=True):
        assert one.column_names == [*columns, "count"]
        assert Counter(rows(one)) == Counter(rows(other))


@given(table=awkward_tables(), data=st.data())
def test_counts_come_in_the_order_of_their_combinations(engine: LocalEngine, table: Awkward, data: st.DataObject) -> None:
    """The same table gives the same counts in the same order, or seeded noise could not be reproduced."""
    columns = tuple(some_columns(data, table.given.column_names))
    (counted,) = engine.count_sets(engine.scan(table.given, PUBLIC), [columns])
    with LocalEngine() as other:
        (again,) = other.count_sets(other.scan(table.held, PUBLIC), [columns])
    assert counted.equals(again)


@given(table=awkward_tables(), data=st.data(), k=st.integers(1, 4))
def test_class_sizes_are_those_of_the_oracle(
    engine: LocalEngine, table: Awkward, data: st.DataObject, k: int
) -> None:
    """Classes, rows below k and the histogram, by rows and by people."""
    names = table.given.column_names
    columns = some_columns(data, names)
    unit = data.draw(st.sampled_from([None, *names]))
    got = engine.class_sizes(engine.scan(table.given, PUBLIC), columns, k, unit)
    assert got == ORACLE.class_sizes(ORACLE.scan(table.held, PUBLIC), columns, k, unit)


@given(table=awkward_tables(), seed=st.integers(0, 5), n=st.integers(0, 14))
def test_a_sample_is_that_of_the_oracle(engine: LocalEngine, table: Awkward, seed: int, n: int) -> None:
    """The same key draws the same rows on every engine, in source order."""
    got = engine.sample(engine.scan(table.given, PUBLIC), n, Randomness.seeded(seed))
    wanted = ORACLE.sample(ORACLE.scan(table.held, PUBLIC), n, Randomness.seeded(seed))
    assert got.n_rows == min(n, table.given.num_rows)
    assert rows(whole(got)) == rows(wanted.table)


def _noisy(batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
    """Drop rows and add noise, both as functions of the row number."""
    words = keyed_words(bytes(32), 0, first_row, batch.num_rows, word_bits=64).reshape(-1)
    out = batch.append_column("noise", pa.array(words >> np.uint64(8)))
    return out.filter(pa.array(words % np.uint64(3) != 0))


@given(table=awkward_tables(), seed=st.integers(0, 5) | st.none())
def test_mapped_rows_are_written_as_by_the_oracle(engine: LocalEngine, table: Awkward, seed: int | None) -> None:
    """Noise belongs to the row number, dropped rows are gone, and the written order is a function of the key."""
    randomness = None if seed is None else Randomness.seeded(seed)
    schema = table.held.schema.append(pa.field("noise", pa.uint64()))
    got = engine.map_batches(engine.scan(table.given, PUBLIC), _noisy, schema)
    wanted = ORACLE.map_batches(ORACLE.scan(table.held, PUBLIC), _noisy, schema)
    with tempfile.TemporaryDirectory() as folder:
        mine, theirs = Path(folder, "mine.parquet"), Path(folder, "theirs.parquet")
        n_rows = engine.write(got, mine, metadata={"key": "value"}, randomness=randomness)
        ORACLE.write(wanted, theirs, metadata={"key": "value"}, randomness=randomness)
        one, other = pq.read_table(mine), pq.read_table(theirs)

    assert n_rows == got.n_rows == wanted.n_rows
    assert one.schema.equals(other.schema, check_metadata=True)
    assert rows(one) == rows(other)


@given(table=awkward_tables())
def test_what_is_written_is_scanned_as_it_was(engine: LocalEngine, table: Awkward) -> None:
    """Canonical types are those Parquet gives back: a second scan sees the table of the first."""
    source = engine.scan(table.given, PUBLIC)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        engine.write(source, path, metadata={}, randomness=None)
        again = engine.scan(path, PUBLIC)
        assert again.schema == source.schema
        assert rows(whole(again)) == rows(whole(source))
        for one, other in zip(*(engine.encode(each, source.schema.names) for each in (source, again)), strict=True):
            assert list(one.values) == list(other.values)


@given(table=awkward_tables(), data=st.data())
def test_a_parquet_file_is_counted_as_the_table_in_it(engine: LocalEngine, table: Awkward, data: st.DataObject) -> None:
    """Reading a file directly in SQL, or through Arrow, gives the counts of the table that was written to it."""
    columns = tuple(some_columns(data, table.given.column_names))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        pq.write_table(table.held, path, row_group_size=max(1, data.draw(st.integers(1, 5))))
        source = engine.scan(path, PUBLIC)
        sizes = engine.class_sizes(source, columns, 2)
        (counted,) = engine.count_sets(source, [columns])
    (wanted,) = ORACLE.count_sets(ORACLE.scan(table.held, PUBLIC), [columns])
    assert Counter(rows(counted)) == Counter(rows(wanted))
    assert sizes == ORACLE.class_sizes(ORACLE.scan(table.held, PUBLIC), columns, 2)
