"""The Spark engine gives the answers of the local engine and of the pandas engine, whatever the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from oracle import PandasEngine, cells

from anonkit.engines import LocalEngine
from anonkit.errors import EngineError, PolicyError, SourceError
from anonkit.policy.declaration import Policy
from anonkit.protocols import COUNT, Source
from anonkit.randomness import Randomness, keyed_words

PUBLIC = Policy()
ORACLE = PandasEngine()
NAN = float("nan")

ADVERSARIAL = pa.table(
    {
        "zip": ["01234", "1234", None, " a", "a ", "NA", "", "1234"],
        "Age": pa.array([3, None, 3, 255, 0, 0, 7, 3], pa.uint8()),
        "age": [0.0, -0.0, NAN, None, 1.5, float("inf"), 1.5, 0.0],
        "a.b": [True, False, None, True, True, False, None, True],
        "quo`ted": [Decimal("1.10"), Decimal("1.10"), None, Decimal("-0.01"), None, Decimal("0.00"), None, None],
        "day": pa.array([0, -719162, 2932896, None, 0, 1, 1, 0], pa.date32()),
        "time": pa.array([1, 2, None, 1, 1, 0, 0, 1], pa.time64("ns")),
        "at": pa.array([1, -1, None, 1, 1, 0, 2**50, 1], pa.timestamp("us", "Europe/Berlin")),
        "naive": pa.array([1, -1, None, 1, 1, 0, 2**40, 1], pa.timestamp("ms")),
        "_metadata": pa.array([2**64 - 1, 0, None, 1, 1, 0, 5, 1], pa.uint64()),
        "kind": pa.array(["x", "y", None, "x", "é", "日本", "x", "x"]).dictionary_encode(),
        "one": ["1"] * 8,
    }
)
"""Every type, and cells that each engine distinguishes or confuses in its own way."""

DIRECT = [name for name in ADVERSARIAL.column_names if name != "time"]
"""Columns Spark reads from Parquet itself."""


@pytest.fixture(scope="module")
def engine(spark: Any) -> Iterator[Any]:
    """The engine in the session of the tests."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    with SparkEngine(session=spark) as opened:
        yield opened


@pytest.fixture(scope="module", params=["memory", "folder"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The adversarial table in memory (copied by the engine to one file), and in many files (read where they are)."""
    if request.param == "memory":
        return ADVERSARIAL
    folder = tmp_path_factory.mktemp("tables é +%20")
    part = ADVERSARIAL.select(DIRECT)
    for at, start in enumerate(range(0, part.num_rows, 3)):
        pq.write_table(part.slice(start, 3), folder / f"{at}.parquet")
    pq.write_table(part.slice(0, 0), folder / "9.parquet")
    return folder


def whole(source: Source) -> pa.Table:
    """Read all of a source."""
    return pa.Table.from_batches(source.batches(), source.schema)


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return rows of comparable cells; categories as texts."""
    plain = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    return list(zip(*map(cells, plain), strict=True))


@pytest.mark.quick_cases("folder")
def test_a_scan_keeps_cells_types_and_order(engine: Any, table: Any) -> None:
    """Every cell, every type and the order of the rows are those of the local engine."""
    with LocalEngine() as local:
        wanted = local.scan(table, PUBLIC)
        source = engine.scan(table, PUBLIC)
        assert source.schema == wanted.schema
        assert source.n_rows == wanted.n_rows == 8
        assert rows(whole(source)) == rows(whole(wanted))


@pytest.mark.quick_cases("memory")
def test_counts_are_those_of_both_other_engines(engine: Any, table: Any) -> None:
    """Combinations, class sizes and small classes, by rows and by people, to the last unit and in the same order."""
    source = engine.scan(table, PUBLIC)
    names = source.schema.names
    sets = [("zip",), ("age", "zip"), (), ("Age", "age", "kind"), tuple(names), ("day", "at", "naive"), ("a.b",)]
    with LocalEngine() as local:
        mine = local.scan(table, PUBLIC)
        held = ORACLE.scan(whole(mine), PUBLIC)
        for got, wanted, other in zip(
            engine.count_sets(source, sets), local.count_sets(mine, sets), ORACLE.count_sets(held, sets), strict=True
        ):
            assert got.equals(wanted)
            assert Counter(rows(got)) == Counter(rows(other))
        for columns, unit, k in ((names, None, 2), (["one"], "zip", 9), ([], None, 1), (["Age", "age"], "kind", 2)):
            got = engine.class_sizes(source, columns, k, unit)
            assert got == local.class_sizes(mine, columns, k, unit) == ORACLE.class_sizes(held, columns, k, unit)
            small = engine.small_classes(source, columns, k, unit)
            assert small.equals(local.small_classes(mine, columns, k, unit))
            if unit is not None:
                assert engine.count_people(source, columns, unit).equals(local.count_people(mine, columns, unit))


def test_nothing_to_count_is_counted(engine: Any, table: Any) -> None:
    """No sets at all, and the empty set alone."""
    source = engine.scan(table, PUBLIC)
    assert engine.count_sets(source, []) == []
    assert engine.count_sets(source, [()])[0].to_pydict() == {COUNT: [8]}


def test_codes_are_those_of_the_local_engine(engine: Any, table: Any) -> None:
    """Distinct values ascending, categories in their own order, missing last."""
    names = ["zip", "Age", "age", "kind", "day", "a.b"]
    with LocalEngine() as local:
        mine = local.scan(table, PUBLIC)
        for got, wanted in zip(
            engine.encode(engine.scan(table, PUBLIC), names), local.encode(mine, names), strict=True
        ):
            assert got.codes.tolist() == wanted.codes.tolist()
            assert list(got.values) == list(wanted.values)


def _sized(batch: pa.RecordBatch, first_row: int) -> np.ndarray[Any, Any]:
    numbers = np.arange(first_row, first_row + batch.num_rows)
    return np.array([batch.num_rows, numbers.sum(), batch.column(0).null_count])


@pytest.mark.quick_cases("folder")
def test_counts_of_batches_add_up(engine: Any, table: Any) -> None:
    """Rows, row numbers and missing cells are those of the table, however it is divided into tasks."""
    total = engine.add_up(engine.scan(table, PUBLIC), _sized, ["zip"], 3)
    assert total.tolist() == [8, sum(range(8)), 1]


@pytest.mark.slow
def test_awkward_shapes_are_counted_alike(engine: Any, tmp_path: Path) -> None:
    """A skewed group, columns of hardly anything but missing cells, ten thousand categories."""
    n, rng = 30_000, np.random.default_rng(1)
    table = pa.table(
        {
            "skewed": np.where(np.arange(n) % 50, "everybody", rng.integers(0, 40, n).astype(str)),
            "nothing": pa.nulls(n, pa.string()),
            "rarely": pa.array(rng.integers(0, 5, n), mask=rng.random(n) < 0.999),
            "many": (rng.zipf(1.3, n) % 10_000).astype(str),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=4_000)
    sets = [("skewed",), ("nothing", "rarely"), ("many",)]
    with LocalEngine() as local:
        mine, source = local.scan(tmp_path / "t.parquet", PUBLIC), engine.scan(tmp_path / "t.parquet", PUBLIC)
        for got, wanted in zip(engine.count_sets(source, sets), local.count_sets(mine, sets), strict=True):
            assert got.equals(wanted)
        names = ["skewed", "rarely", "many"]
        assert engine.class_sizes(source, names, 3) == local.class_sizes(mine, names, 3)
        assert engine.small_classes(source, names, 3).equals(local.small_classes(mine, names, 3))


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, pytest.param(3_000, marks=pytest.mark.slow)])
def test_many_small_files_are_one_table(engine: Any, tmp_path: Path, n: int) -> None:
    """Rows are numbered over all files, in the order of the files' names."""
    for at in range(n):
        pq.write_table(pa.table({"row": [2 * at, 2 * at + 1], "zip": ["a", None]}), tmp_path / f"{at:05d}.parquet")
    with LocalEngine() as local:
        for each in (engine, local):
            mapped = each.map_batches(each.scan(tmp_path, PUBLIC), _noisy, NOISY)
            each.write(mapped, tmp_path / f"_{each.name}", metadata={}, randomness=Randomness.seeded(1))
    assert (tmp_path / "_spark").read_bytes() == (tmp_path / "_local").read_bytes()


def _noisy(batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
    words = keyed_words(bytes(32), 0, first_row, batch.num_rows, word_bits=64).reshape(-1)
    text = pa.DictionaryArray.from_arrays(pa.array((words % 3).astype(np.int32)), pa.array(["c", "a", "b"]))
    return pa.RecordBatch.from_arrays(
        [pa.array(words >> np.uint64(8)), text, batch.column("zip")], names=["noise", "text", "zip"]
    )


NOISY = pa.schema([("noise", pa.uint64()), ("text", pa.dictionary(pa.int32(), pa.string())), ("zip", pa.string())])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 4])
def test_a_mapped_table_is_written_as_by_the_local_engine(
    engine: Any, table: Any, tmp_path: Path, seed: int | None
) -> None:
    """Noise and secret order are functions of the row number: the files are equal to the last byte."""
    written = []
    with LocalEngine() as local:
        for each in (engine, local):
            mapped = each.map_batches(each.scan(table, PUBLIC), _noisy, NOISY)
            randomness = None if seed is None else Randomness.seeded(seed)
            assert each.write(mapped, tmp_path / each.name, metadata={"a": "b"}, randomness=randomness) == 8
            written.append((tmp_path / each.name).read_bytes())
    assert written[0] == written[1]


@pytest.mark.quick_cases("memory")
def test_every_action_draws_the_same_noise(engine: Any, table: Any) -> None:
    """Counting, reading and counting again look at one noisy view of each record."""
    mapped = engine.map_batches(engine.scan(table, PUBLIC), _noisy, NOISY)
    first, second = engine.count_sets(mapped, [("noise", "text")]), engine.count_sets(mapped, [("noise", "text")])
    assert first[0].equals(second[0])
    assert sorted(whole(mapped).column("noise").to_pylist()) == first[0].column("noise").to_pylist()


@pytest.mark.quick_cases("folder-8")
@pytest.mark.parametrize("n", [0, 3, 8, 20])
def test_a_sample_is_that_of_the_local_engine(engine: Any, table: Any, n: int) -> None:
    """The same key draws the same rows on every engine, in source order."""
    with LocalEngine() as local:
        got = engine.sample(engine.scan(table, PUBLIC), n, Randomness.seeded(2))
        wanted = local.sample(local.scan(table, PUBLIC), n, Randomness.seeded(2))
        assert rows(whole(got)) == rows(whole(wanted))


def _refuse(batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
    if batch.num_rows:
        raise PolicyError("column 'zip' has cells outside its declared categories", "correct the policy")
    return batch


def _break(batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
    if batch.num_rows:
        raise ValueError(f"SECRET {batch.column('zip')[0]}")
    return batch


@pytest.mark.quick_cases("memory")
def test_what_fails_in_an_executor_is_said_in_our_words(engine: Any, table: Any, tmp_path: Path) -> None:
    """Our errors arrive as they are; others without a cell in message, cause or context."""
    source = engine.scan(table, PUBLIC)
    with pytest.raises(PolicyError, match="column 'zip' has cells outside") as ours:
        engine.write(engine.map_batches(source, _refuse, source.schema), tmp_path / "x", metadata={}, randomness=None)
    assert ours.value.hint == "correct the policy"
    with pytest.raises(EngineError) as foreign:
        engine.count_sets(engine.map_batches(source, _break, source.schema), [("zip",)])
    seen: BaseException | None = foreign.value
    while seen is not None:
        assert "SECRET" not in str(seen)
        assert "01234" not in str(seen)
        seen = seen.__cause__ or seen.__context__


def _keep_a_few(batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
    return batch.filter(pc.equal(batch.column("zip"), "1234"))


@pytest.mark.slow
def test_a_function_may_drop_rows(engine: Any, table: Any, tmp_path: Path) -> None:
    """The rows that are left are those the local engine keeps."""
    source = engine.scan(table, PUBLIC)
    kept = engine.map_batches(source, _keep_a_few, source.schema)
    assert kept.n_rows == 2
    assert engine.write(kept, tmp_path / "x", metadata={}, randomness=Randomness.seeded(1)) == 2
    assert pq.read_table(tmp_path / "x").column("zip").to_pylist() == ["1234", "1234"]


@pytest.mark.slow
def test_a_data_frame_is_copied_once(engine: Any, spark: Any) -> None:
    """A frame whose cells change with every action is one table: what was drawn first."""
    frame = spark.sql("SELECT id, rand() AS drawn, CAST(id AS INT) AS n, CAST(NULL AS VOID) AS nothing FROM range(50)")
    source = engine.scan(frame.repartition(3), PUBLIC)
    first, second = whole(source), whole(source)
    assert first.equals(second)
    assert first.schema.types == [pa.int64(), pa.float64(), pa.int32(), pa.string()]
    assert sorted(first.column("id").to_pylist()) == list(range(50))


@pytest.mark.slow
def test_times_of_a_data_frame_do_not_depend_on_the_session(engine: Any, spark: Any) -> None:
    """Instants and times of day come as they are in the data frame, whatever the time zone of its session."""
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    frame = spark.sql(
        "SELECT TIMESTAMP_MICROS(1700000000000000) AS a, TIMESTAMP_NTZ '2024-03-10 02:30:00' AS b, "
        "DATE '1500-02-28' AS c"
    )
    (row,) = whole(engine.scan(frame, PUBLIC)).to_pylist()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert row["a"].timestamp() == 1_700_000_000
    assert (str(row["b"]), str(row["c"])) == ("2024-03-10 02:30:00", "1500-02-28")


@pytest.mark.slow
def test_a_table_of_the_catalog_is_read_by_its_name(engine: Any, spark: Any) -> None:
    """A view is copied like a data frame; a name that is nothing is said to be no file."""
    spark.range(5).createOrReplaceTempView("five_rows")
    assert engine.scan("five_rows", PUBLIC).n_rows == 5
    with pytest.raises(SourceError, match="does not exist"):
        engine.scan("no/such file.parquet", PUBLIC)


@pytest.mark.parametrize("sql", ["array(1)", "named_struct('SECRET', 1)", "X'00'", "INTERVAL '1' DAY"])
def test_what_is_no_cell_is_refused(engine: Any, spark: Any, sql: str) -> None:
    """Nested, binary and interval columns are named, with their type and no more."""
    with pytest.raises(SourceError, match="column 'bad' holds values of type") as refused:
        engine.scan(spark.sql(f"SELECT {sql} AS bad"), PUBLIC)
    assert "SECRET" not in refused.value.message


def test_text_files_have_the_types_of_the_local_engine(engine: Any, tmp_path: Path) -> None:
    """CSV has no row numbers in Spark: it is read as the local engine reads it and copied once."""
    (tmp_path / "t.csv").write_text("zip,n,x\n01234,1,0.5\n99999,2,\n,3,-0\n")
    with LocalEngine() as local:
        wanted = whole(local.scan(tmp_path / "t.csv", PUBLIC))
        assert whole(engine.scan(tmp_path / "t.csv", PUBLIC)).equals(wanted)


def test_keys_in_names_of_folders_are_columns(engine: Any, tmp_path: Path) -> None:
    """Partitioned folders: 01234 stays a text, a key that is no value is missing; as on one machine."""
    for at, place in enumerate(["zip=01234/year=2023", "zip=__HIVE_DEFAULT_PARTITION__/year=2024", "zip=a%2Fb/year=2"]):
        (tmp_path / place).mkdir(parents=True)
        pq.write_table(pa.table({"row": [at, at + 10]}), tmp_path / place / "part.parquet")
    with LocalEngine() as local:
        assert whole(engine.scan(tmp_path, PUBLIC)).equals(whole(local.scan(tmp_path, PUBLIC)))


def test_no_private_file_is_left(spark: Any, tmp_path: Path) -> None:
    """Copies and ordered rows are in the scratch until the engine is closed, and the session stays as it was."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    spark.conf.set("spark.anonkit.scratch", str(tmp_path))
    with SparkEngine(session=spark) as opened:
        whole(opened.scan(ADVERSARIAL, PUBLIC))
    assert [path.stat().st_mode & 0o77 for path in tmp_path.iterdir()] == [0] * len(list(tmp_path.iterdir()))
    opened.close()
    assert not list(tmp_path.iterdir())
    assert spark.range(3).count() == 3
    assert spark.conf.get("spark.sql.caseSensitive") == "false"
    assert spark.getActiveSession().conf.get("spark.sql.caseSensitive") == "false"


def test_an_interrupted_job_is_no_failed_one(spark_is_there: None) -> None:
    """Ctrl-C cancels the jobs of Spark, which then says that they failed: it stays an interruption."""
    from anonkit.engines.spark.spark_beside import during

    def interrupted() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("Job 3 cancelled")

    with pytest.raises(KeyboardInterrupt) as stopped:
        during("counting", interrupted)
    assert stopped.value.__context__ is None


def test_a_path_may_be_relative(engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors have working folders of their own."""
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "t.parquet")
    monkeypatch.chdir(tmp_path)
    assert engine.count_sets(engine.scan("t.parquet", PUBLIC), [("a",)])[0].to_pydict() == {
        "a": [1, 2],
        COUNT: [1, 1],
    }
