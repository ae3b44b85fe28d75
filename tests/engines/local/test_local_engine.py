"""The local engine gives the answers of the pandas engine, for any table in any kind of memory."""

from __future__ import annotations

import base64
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal
from itertools import islice
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
from anonkit.engines.reading.sources import LocalSource, mapped_source
from anonkit.errors import EngineError, ParameterError, SourceError
from anonkit.policy.declaration import Policy
from anonkit.protocols import COUNT, Engine, Source
from anonkit.randomness import Randomness, keyed_words

PUBLIC = Policy()
ORACLE = PandasEngine()


@pytest.fixture(scope="module", params=["memory", "disk"])
def engine(request: pytest.FixtureRequest) -> Iterator[LocalEngine]:
    """An engine that holds tables in memory, and one that has none: it spills every table and counts in DuckDB."""
    with ExitStack() as stack:
        if request.param == "disk":
            stack.enter_context(patch("anonkit.engines.local.local_engine._IN_MEMORY", 16))
            stack.enter_context(patch("anonkit.engines.local.local_engine._CODES_IN_MEMORY", -1))
            stack.enter_context(patch("anonkit.engines.local.local_engine._SAMPLED_AT_ONCE", 3))
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
    """The scan has the table in canonical types: NaN is missing, -0.0 is 0.0, nothing else changes."""
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
        assert {type(value).__module__ for value in one.values} <= {"builtins", "datetime"}
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
        assert one.column_names == [*columns, COUNT]
        assert Counter(rows(one)) == Counter(rows(other))


@given(table=awkward_tables(), data=st.data())
def test_counts_come_in_the_order_of_their_combinations(
    engine: LocalEngine, table: Awkward, data: st.DataObject
) -> None:
    """The same table gives the same counts in the same order, or seeded noise could not be reproduced."""
    columns = tuple(some_columns(data, table.given.column_names))
    (counted,) = engine.count_sets(engine.scan(table.given, PUBLIC), [columns])
    with LocalEngine() as other:
        (again,) = other.count_sets(other.scan(table.held, PUBLIC), [columns])
    assert counted.equals(again)


@given(table=awkward_tables(), data=st.data(), k=st.integers(1, 4))
def test_class_sizes_are_those_of_the_oracle(engine: LocalEngine, table: Awkward, data: st.DataObject, k: int) -> None:
    """Classes, rows below k and the histogram, by rows and by people."""
    names = table.given.column_names
    columns = some_columns(data, names)
    unit = data.draw(st.sampled_from([None, *names]))
    got = engine.class_sizes(engine.scan(table.given, PUBLIC), columns, k, unit)
    assert got == ORACLE.class_sizes(ORACLE.scan(table.held, PUBLIC), columns, k, unit)


@given(table=awkward_tables(), data=st.data(), k=st.integers(1, 4))
def test_small_classes_are_those_of_the_oracle(
    engine: LocalEngine, table: Awkward, data: st.DataObject, k: int
) -> None:
    """The classes below k with their rows, by rows and by people, and no other class."""
    names = table.given.column_names
    columns = some_columns(data, names)
    unit = data.draw(st.sampled_from([None, *names]))
    got = engine.small_classes(engine.scan(table.given, PUBLIC), columns, k, unit)
    wanted = ORACLE.small_classes(ORACLE.scan(table.held, PUBLIC), columns, k, unit)
    assert got.column_names == [*columns, COUNT]
    assert Counter(rows(got)) == Counter(rows(wanted))


@given(table=awkward_tables(), data=st.data())
def test_people_of_combinations_are_those_of_the_oracle(
    engine: LocalEngine, table: Awkward, data: st.DataObject
) -> None:
    """Distinct units of every combination, in the order in which their rows are counted, in memory and in SQL."""
    names = table.given.column_names
    columns, unit = some_columns(data, names), data.draw(st.sampled_from(names))
    source = engine.scan(table.given, PUBLIC)
    got = engine.count_people(source, columns, unit)
    assert Counter(rows(got)) == Counter(rows(ORACLE.count_people(ORACLE.scan(table.held, PUBLIC), columns, unit)))
    if columns:
        assert got.columns[:-1] == engine.count_sets(source, [tuple(columns)])[0].columns[:-1]
        assert engine._counter.count_people(source, columns, unit).equals(got)


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


# --- what the oracle does not tell -------------------------------------------------------------------------------


def test_the_engine_keeps_its_protocol(spark: Any) -> None:
    """`open_engine` knows every name of `ENGINES`, and returns an Engine."""
    for name in ENGINES:
        with open_engine(name) as engine:
            assert isinstance(engine, Engine)
            assert engine.name == name


def test_an_engine_that_is_not_there_is_refused() -> None:
    """Its name is said."""
    with pytest.raises(ParameterError, match=r"engine \(lokal\) is not known"):
        open_engine("lokal")


def test_a_small_table_needs_no_duckdb() -> None:
    """Scanning, counting and writing ten rows imports no engine for big tables: a loop of thousands is practical."""
    code = """
import sys, tempfile
from pathlib import Path
import pyarrow as pa
from anonkit.engines import open_engine
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness
assert "pyarrow" in sys.modules and "numpy" in sys.modules
with open_engine("local") as engine, tempfile.TemporaryDirectory() as folder:
    source = engine.scan(pa.table({"a": list(range(10))}), Policy())
    engine.class_sizes(source, ["a"], 2)
    engine.count_sets(source, [("a",)])
    engine.encode(source, ["a"])
    engine.write(source, Path(folder, "x.parquet"), metadata={}, randomness=Randomness.secure())
assert "duckdb" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_the_engines_is_cheap() -> None:
    """The package of engines knows their names without importing Arrow."""
    code = "import sys, anonkit.engines; sys.exit('pyarrow' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_number_of_rows_of_a_mapped_table_is_exact(engine: LocalEngine) -> None:
    """After a map that drops rows, `n_rows` counts what is left, and a sample has the requested size."""
    source = engine.scan(pa.table({"a": range(1000)}), PUBLIC)
    schema = source.schema.append(pa.field("noise", pa.uint64()))
    mapped = engine.map_batches(source, _noisy, schema)
    assert mapped.n_rows == whole(mapped).num_rows < 1000
    assert engine.sample(mapped, 600, Randomness.seeded(1)).n_rows == 600


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_keep_number_and_order_however_many_threads_work(threads: int) -> None:
    """Each batch gets the number of its first row and comes out in its place; a reader may stop, a batch may fail."""
    batches = pa.table({"a": range(40)}).to_batches(max_chunksize=4)
    source = LocalSource(batches[0].schema, lambda columns: iter(batches), at_most=40)
    begun = []

    def number(batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        begun.append(row)
        if row == 32:
            raise SourceError("the function's own message")
        return pa.record_batch({"a": pa.array(range(row, row + batch.num_rows))})

    mapped, before = mapped_source(source, number, source.schema), pa.cpu_count()
    pa.set_cpu_count(threads)
    try:
        reading = mapped.batches()
        assert next(reading).column("a").to_pylist() == [0, 1, 2, 3]
        reading.close()  # type: ignore[attr-defined]
        assert max(begun) <= 4 * (threads + 1)
        with pytest.raises(SourceError, match="the function's own message"):
            list(mapped.batches())
        rows = [cell for batch in islice(mapped.batches(), 8) for cell in batch.column("a").to_pylist()]
        assert rows == list(range(32))
    finally:
        pa.set_cpu_count(before)


def test_a_batch_function_must_keep_to_its_schema(engine: LocalEngine) -> None:
    """A map that returns other types than declared is refused before anything is written."""
    source = engine.scan(pa.table({"a": [1, 2]}), PUBLIC)
    mapped = engine.map_batches(source, lambda batch, row: batch, pa.schema([("a", pa.string())]))
    with pytest.raises(EngineError, match="other columns or types"):
        engine.encode(mapped, ["a"])


def test_errors_of_a_batch_function_come_out_of_every_verb(engine: LocalEngine, tmp_path: Path) -> None:
    """The caller of every verb sees the error of the function, and no half file."""

    def fail(batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        raise SourceError("the function's own message")

    source = engine.scan(pa.table({"a": [1, 2]}), PUBLIC)
    mapped = engine.map_batches(source, fail, source.schema)
    for verb in (
        lambda: engine.encode(mapped, ["a"]),
        lambda: engine.count_sets(mapped, [("a",)]),
        lambda: engine.class_sizes(mapped, ["a"], 2),
        lambda: engine.sample(mapped, 1, Randomness.seeded(1)),
        lambda: engine.write(mapped, tmp_path / "x.parquet", metadata={}, randomness=None),
        lambda: engine.write(mapped, tmp_path / "x.parquet", metadata={}, randomness=Randomness.seeded(1)),
    ):
        with pytest.raises(SourceError, match="the function's own message"):
            verb()
    assert list(tmp_path.iterdir()) == []


@given(st.permutations(["low", "mid", "high", "top"]), st.data())
def test_category_order_survives_batches_with_dictionaries_of_their_own(
    engine: LocalEngine, order: list[str], data: st.DataObject
) -> None:
    """Batches that each list some categories in the common order give the codes of that order."""
    parts = data.draw(st.lists(st.lists(st.sampled_from(order), min_size=1, unique=True), min_size=1, max_size=4))
    kind = pa.dictionary(pa.int32(), pa.string(), ordered=True)
    batches = []
    for part in parts:
        listed = sorted(part, key=order.index)
        array = pa.DictionaryArray.from_arrays(pa.array(range(len(listed))), pa.array(listed), ordered=True)
        batches.append(pa.record_batch([array.cast(kind)], names=["a"]))
    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", kind)]), batches)
    (column,) = engine.encode(engine.scan(reader, PUBLIC), ["a"])

    cells_back = [column.values[code] for code in column.codes]
    assert cells_back == [category for part in parts for category in sorted(part, key=order.index)]
    for part in parts:
        places = [column.values.index(category) for category in sorted(part, key=order.index)]
        assert places == sorted(places)


def test_dictionaries_that_contradict_each_other_or_themselves_are_read_all_the_same(engine: LocalEngine) -> None:
    """No common order: that of first sight. A category twice, or missing among the categories: one, and missing."""
    kind = pa.dictionary(pa.int32(), pa.string())
    parts = [(["x", "y"], [0, 1]), (["y", "x"], [0, 1]), ([None, "z", "z"], [2, 0, 1])]
    batches = [
        pa.record_batch([pa.DictionaryArray.from_arrays(pa.array(at, pa.int32()), pa.array(texts))], names=["a"])
        for texts, at in parts
    ]
    source = engine.scan(pa.RecordBatchReader.from_batches(pa.schema([("a", kind)]), batches), PUBLIC)
    (column,) = engine.encode(source, ["a"])
    assert list(column.values) == ["x", "y", "z", None]
    assert column.codes.tolist() == [0, 1, 1, 0, 2, 3, 2]
    assert engine.class_sizes(source, ["a"], 2).histogram == ((1, 1), (2, 3))


@pytest.mark.parametrize("shuffled", [False, True])
def test_categories_that_no_row_holds_are_not_written(engine: LocalEngine, tmp_path: Path, shuffled: bool) -> None:
    """The dictionary of a written column lists what is in its rows, in order: not the values of suppressed rows."""
    categories = pa.array([f"secret {at}" if at % 2 else f"open {9 - at}" for at in range(10)])
    column = pa.DictionaryArray.from_arrays(pa.array(range(10)), categories, ordered=True)
    source = engine.scan(pa.table({"a": column}), PUBLIC)
    kept = engine.map_batches(source, _without_secrets, source.schema)
    path = tmp_path / "x.parquet"
    engine.write(kept, path, metadata={}, randomness=Randomness.seeded(1) if shuffled else None)

    written = pq.read_table(path).column("a").combine_chunks()
    assert written.dictionary.to_pylist() == ["open 9", "open 7", "open 5", "open 3", "open 1"]
    assert written.type.ordered
    for at in range(pq.read_metadata(path).num_row_groups):
        assert pq.read_metadata(path).row_group(at).column(0).statistics is None


@pytest.mark.parametrize("shuffled", [False, True])
def test_categories_may_become_many_on_the_way(engine: LocalEngine, tmp_path: Path, shuffled: bool) -> None:
    """Later batches bring more categories than one byte, and than two, can number: every cell comes back."""
    batches = [
        pa.record_batch({"a": pa.DictionaryArray.from_arrays(pa.array([0, None, size - 1], pa.int32()), texts)})
        for size in (3, 200, 40_000)
        for texts in [pa.array([f"{size} {at}" for at in range(size)])]
    ]
    source = engine.scan(pa.RecordBatchReader.from_batches(batches[0].schema, batches), PUBLIC)
    path = tmp_path / "x.parquet"
    engine.write(source, path, metadata={}, randomness=Randomness.seeded(1) if shuffled else None)
    written = pq.read_table(path).column("a").to_pylist()
    wanted = pa.Table.from_batches(batches).column("a").to_pylist()
    assert sorted(map(str, written)) == sorted(map(str, wanted)) if shuffled else written == wanted


def _without_secrets(batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
    return batch.filter(pc.invert(pc.starts_with(batch.column("a").cast(pa.string()), "secret")))


def test_the_file_tells_nothing_but_its_rows(engine: LocalEngine, tmp_path: Path) -> None:
    """No pandas index, no metadata of the source, no field notes: only the types and what the caller gave."""
    table = pa.table({"a": pa.array(["x", "y"])}).replace_schema_metadata({"pandas": "secret", "origin": "secret"})
    table = table.cast(pa.schema([pa.field("a", pa.string(), metadata={"note": "secret"})], table.schema.metadata))
    path = tmp_path / "x.parquet"
    engine.write(engine.scan(table, PUBLIC), path, metadata={"ours": "1"}, randomness=None)

    assert set(pq.read_metadata(path).metadata) == {b"ours", b"ARROW:schema"}
    assert pq.read_schema(path).metadata == {b"ours": b"1"}
    assert pq.read_schema(path).field("a").metadata is None
    assert b"secret" not in base64.b64decode(pq.read_metadata(path).metadata[b"ARROW:schema"])


def test_nothing_of_the_input_order_survives(engine: LocalEngine, tmp_path: Path) -> None:
    """Neither place nor neighbourhood in the written file follows the input: rank correlations are those of chance."""
    n = 20_000
    source = engine.scan(pa.table({"row": np.arange(n)}), PUBLIC)
    engine.write(source, tmp_path / "x.parquet", metadata={}, randomness=Randomness.seeded(7))
    written = pq.read_table(tmp_path / "x.parquet").column("row").to_numpy()

    bound = 5 / np.sqrt(n)  # five standard deviations
    assert sorted(written) == list(range(n))
    assert abs(np.corrcoef(np.arange(n), written)[0, 1]) < bound
    assert abs(np.corrcoef(written[:-1], written[1:])[0, 1]) < bound
    assert np.mean(np.abs(np.diff(written)) == 1) < 10 / n


def test_the_written_order_follows_the_key(engine: LocalEngine, tmp_path: Path) -> None:
    """One key gives one order in memory and on disk; another key, or none, gives another."""
    source = engine.scan(pa.table({"row": np.arange(5_000), "text": [f"t{at % 7}" for at in range(5_000)]}), PUBLIC)
    orders = {}
    for name, randomness in {"a": 1, "again": 1, "b": 2, "none": None}.items():
        drawn = None if randomness is None else Randomness.seeded(randomness)
        engine.write(source, tmp_path / name, metadata={}, randomness=drawn)
        orders[name] = pq.read_table(tmp_path / name).column("row").to_pylist()
    words = keyed_words(Randomness.seeded(1).key("shuffle"), 0, 0, 5_000, word_bits=64).reshape(-1)

    assert orders["a"] == orders["again"] == np.argsort(words).tolist()
    assert orders["none"] == list(range(5_000))
    assert orders["a"] != orders["b"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2], pa.timestamp("ns", "UTC")),
        pa.array([0, 1], pa.time64("ns")),
        pa.array([0, 1], pa.duration("ns")),
        pa.array([Decimal("0.1"), Decimal("0.10000000000000000001")]),
        pa.array([2**60, 0], pa.timestamp("s")),
        pa.array([10**7, 0], pa.date32()),
    ],
    ids=["timestamp", "time", "duration", "decimal", "far timestamp", "far date"],
)
def test_values_finer_or_farther_than_pythons_are_never_merged(
    engine: LocalEngine, column: pa.Array, tmp_path: Path
) -> None:
    """Two values are never merged silently: encoding refuses, or keeps fine ones; counting and writing go on."""
    is_fine = pa.types.is_decimal(column.type) or getattr(column.type, "unit", "") == "ns"
    try:
        source = engine.scan(pa.table({"x": column}), PUBLIC)
    except SourceError as error:  # beyond the unit Parquet has
        assert not is_fine
        assert "column 'x'" in error.message  # noqa: PT017
        return
    if is_fine:
        assert engine.encode(source, ["x"])[0].size == 2
    else:
        with pytest.raises(SourceError, match="column 'x' holds values finer or farther"):
            engine.encode(source, ["x"])
    assert engine.class_sizes(source, ["x"], 2).classes == 2
    engine.write(source, tmp_path / "x.parquet", metadata={}, randomness=None)
    assert engine.scan(tmp_path / "x.parquet", PUBLIC).schema == source.schema


def test_many_columns_are_counted_at_once(engine: LocalEngine) -> None:
    """More columns than one grouping number has bits for are counted in several queries."""
    table = pa.table({f"c{at}": [at % 2, 1, 1] for at in range(130)})
    source = engine.scan(table, PUBLIC)
    sets = [(name, "c0") for name in table.column_names]
    for columns, counted in zip(sets, engine.count_sets(source, sets), strict=True):
        assert sum(counted.column(counted.num_columns - 1).to_pylist()) == 3, columns
    (wide,) = engine.count_sets(source, [tuple(table.column_names)])
    assert wide.column(COUNT).to_pylist() == [1, 2]
    assert engine.class_sizes(source, table.column_names, 2).histogram == ((1, 1), (2, 1))
