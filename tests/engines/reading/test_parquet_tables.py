"""Parquet tables read in pieces by executors.

Folders whose files hold deleted rows: refused, whichever way their tool marks them and wherever one enters.

Data frames, Parquet files and folders: types, missing cells and category order come through.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.engines import LocalEngine
from anonkit.engines.reading.parquet_tables import open_parquet
from anonkit.engines.reading.sources import ParquetSplits
from anonkit.errors import EngineError, SourceError
from anonkit.policy.column_declarations import Column, ColumnType
from anonkit.policy.declaration import Policy
from anonkit.protocols import COUNT
from anonkit.randomness import Randomness

MARKS = {
    "_delta_log/00000000000000000000.json": "Delta Lake",
    ".hoodie/hoodie.properties": "Apache Hudi",
    "metadata/v1.metadata.json": "Apache Iceberg",
}


def lake_table(folder: Path, mark: str) -> Path:
    """Return a folder with Parquet files in partitions, and the log of a tool beside them."""
    for part in ("year=2024", "year=2025"):
        (folder / part).mkdir(parents=True)
        pq.write_table(pa.table({"name": ["Ada"], "age": [36]}), folder / part / "0.parquet")
    (folder / mark).parent.mkdir()
    (folder / mark).write_text("{}")
    return folder


@pytest.mark.parametrize(("mark", "kind"), MARKS.items())
@pytest.mark.parametrize("entry", ["", "year=2024", "year=2024/0.parquet"])
def test_a_lake_table_is_refused_wherever_one_enters(tmp_path: Path, mark: str, kind: str, entry: str) -> None:
    """The folder, a partition of it, one of its files: the message says whose table it is and what to do."""
    table = lake_table(tmp_path / "people", mark)
    with pytest.raises(SourceError, match=f"a table of {kind}") as told:
        LocalEngine().scan(table / entry, Policy())
    assert told.value.hint is not None
    assert "snapshot" in told.value.hint


@pytest.mark.parametrize("mark", MARKS)
def test_a_folder_above_a_lake_table_is_refused(tmp_path: Path, mark: str) -> None:
    """Its files would be read together with the plain ones."""
    lake_table(tmp_path / "all" / "people", mark)
    pq.write_table(pa.table({"name": ["Bob"], "age": [41]}), tmp_path / "all" / "1.parquet")
    with pytest.raises(SourceError, match="holds a table of"):
        LocalEngine().scan(tmp_path / "all", Policy())


def test_a_plain_folder_is_read_with_any_files_beside_it(tmp_path: Path) -> None:
    """Markers of Spark and a folder called metadata mean nothing; neither does a lake table next to it."""
    lake_table(tmp_path / "people", "_delta_log/0.json")
    plain = tmp_path / "plain"
    (plain / "metadata").mkdir(parents=True)
    pq.write_table(pa.table({"age": [1, 2]}), plain / "0.parquet")
    pq.write_table(pa.table({"age": [3]}), plain / "metadata" / "1.parquet")
    (plain / "_SUCCESS").write_text("")
    assert LocalEngine().scan(plain, Policy()).n_rows == 3


@pytest.mark.slow
@pytest.mark.parametrize("mark", MARKS)
def test_spark_refuses_places_that_only_it_can_name(spark: Any, tmp_path: Path, mark: str) -> None:
    """A URL is looked at through Spark, as `s3a://` places are; a path like the local engine."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    table = lake_table(tmp_path / "people", mark)
    with SparkEngine(session=spark) as engine:
        for data in (f"file://{table}", str(table)):
            with pytest.raises(SourceError, match="a table of"):
                engine.scan(data, Policy())
        plain = tmp_path / "plain"
        plain.mkdir()
        pq.write_table(pa.table({"age": [1, 2]}), plain / "0.parquet")
        assert engine.scan(f"file://{plain}", Policy()).n_rows == 2


ENGINE = LocalEngine()
ORDER = ["low", "mid", "high"]


def read(data: Any, policy: Policy | None = None) -> pa.Table:
    """Scan a table and read all of it."""
    source = ENGINE.scan(data, policy or Policy())
    return pa.Table.from_batches(source.batches(), source.schema)


def written(data: Any, path: Path) -> pa.Table:
    """Scan a table, pass it through a map, write it shuffled, and read what was written."""
    source = ENGINE.scan(data, Policy())
    mapped = ENGINE.map_batches(source, lambda batch, row: batch, source.schema)
    ENGINE.write(mapped, path, metadata={}, randomness=Randomness.seeded(3))
    return read(path)


DAY = datetime.date(2024, 2, 29)
MOMENT = datetime.datetime(2024, 2, 29, 12, 30)
LEVELS = pd.CategoricalDtype(ORDER, ordered=True)

PANDAS: dict[str, tuple[Callable[[], pd.Series], pa.DataType, list[Any]]] = {
    "numbers with NaN": (lambda: pd.Series([1.5, np.nan, -0.0]), pa.float64(), [1.5, None, 0.0]),
    "integers": (lambda: pd.Series([3, 1, 2], dtype="int16"), pa.int16(), [3, 1, 2]),
    "nullable integers": (lambda: pd.Series([3, None, 2], dtype="Int32"), pa.int32(), [3, None, 2]),
    "Arrow integers": (lambda: pd.Series([3, None, 2], dtype="uint8[pyarrow]"), pa.uint8(), [3, None, 2]),
    "booleans": (lambda: pd.Series([True, None, False], dtype="boolean"), pa.bool_(), [True, None, False]),
    "texts": (lambda: pd.Series(["01234", None, "NA"]), pa.string(), ["01234", None, "NA"]),
    "objects": (lambda: pd.Series(["x", np.nan, None], dtype=object), pa.string(), ["x", None, None]),
    "nothing": (lambda: pd.Series([None, None, None], dtype=object), pa.string(), [None, None, None]),
    "days": (lambda: pd.Series([DAY, None, DAY], dtype=object), pa.date32(), [DAY, None, DAY]),
    "moments": (
        lambda: pd.Series([MOMENT, pd.NaT, MOMENT], dtype="datetime64[us]"),
        pa.timestamp("us"),
        [MOMENT, None, MOMENT],
    ),
    "ordered categories": (
        lambda: pd.Series(["mid", None, "low"], dtype=LEVELS),
        pa.dictionary(pa.int32(), pa.string(), ordered=True),
        ["mid", None, "low"],
    ),
    "categories": (
        lambda: pd.Series(pd.Categorical(["b", None, "a"], categories=["c", "b", "a"])),
        pa.dictionary(pa.int32(), pa.string()),
        ["b", None, "a"],
    ),
    "numbered categories": (lambda: pd.Series(pd.Categorical([3, 1, 3])), pa.int64(), [3, 1, 3]),
}


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_columns_keep_type_missing_and_values(tmp_path: Path, name: str) -> None:
    """Any missing cell of pandas is missing, and the type survives writing."""
    make, kind, cells = PANDAS[name]
    frame = pd.DataFrame({"a": make().set_axis([30, 10, 20])})
    table = read(frame)
    assert table.column_names == ["a"], "an index is not a column"
    assert table.schema.field("a").type == kind
    assert table.column("a").to_pylist() == cells
    back = written(frame, tmp_path / "x.parquet")
    assert back.schema == table.schema
    assert sorted(map(str, back.column("a").to_pylist())) == sorted(map(str, cells))


def _level_tables() -> dict[str, Any]:
    levels = pd.Series(["mid", None, "low"], dtype=LEVELS)
    arrow = pa.table({"a": pa.array(levels)})
    return {
        "pandas": pd.DataFrame({"a": levels}),
        "Polars": pl.DataFrame({"a": pl.Series(["mid", None, "low"], dtype=pl.Enum(ORDER))}),
        "Arrow table": arrow,
        "Arrow batch": arrow.to_batches()[0],
        "Arrow stream": arrow.to_reader(),
    }


@pytest.mark.parametrize("name", _level_tables())
def test_category_order_survives_from_every_kind_of_frame(tmp_path: Path, name: str) -> None:
    """Categories are coded, counted and written in their own order, without those no row holds."""
    source = ENGINE.scan(_level_tables()[name], Policy())
    (column,) = ENGINE.encode(source, ["a"])
    assert list(column.values) == ["low", "mid", None]
    assert column.codes.tolist() == [1, 2, 0]
    assert not column.ordered
    ENGINE.write(source, tmp_path / "x.parquet", metadata={}, randomness=None)
    frame = pd.read_parquet(tmp_path / "x.parquet")
    assert frame["a"].cat.categories.tolist() == ["low", "mid"]
    assert frame["a"].cat.ordered
    assert frame["a"].tolist()[::2] == ["mid", "low"]


def test_polars_and_arrow_texts_are_one_type() -> None:
    """Large strings, string views and strings are texts; NaN is missing in Polars too."""
    frame = pl.DataFrame({"a": ["x", None], "b": [float("nan"), -0.0]})
    table = read(frame)
    assert table.schema == pa.schema([("a", pa.string()), ("b", pa.float64())])
    assert table.to_pydict() == {"a": ["x", None], "b": [None, 0.0]}


# --- Parquet -----------------------------------------------------------------------------------------------------


def test_a_folder_is_read_in_the_order_of_its_files(tmp_path: Path) -> None:
    """Plain files one after the other, subfolders too; markers of other tools are skipped."""
    (tmp_path / "sub").mkdir()
    for at, name in enumerate(["part-0.parquet", "part-1.parquet", "sub/part-2.parquet", "without-ending"]):
        pq.write_table(pa.table({"row": [3 * at, 3 * at + 1, 3 * at + 2]}), tmp_path / name)
    for name in ("_SUCCESS", ".part-0.parquet.crc"):
        (tmp_path / name).write_text("no Parquet")
    source = ENGINE.scan(tmp_path, Policy())
    assert source.n_rows == 12
    assert read(tmp_path).column("row").to_pylist() == list(range(12))


def test_files_of_a_folder_may_differ_where_one_type_holds_all(tmp_path: Path) -> None:
    """Smaller integers widen, a column that is not in a file is missing there; columns go by name."""
    pq.write_table(pa.table({"a": pa.array([1], pa.int8()), "b": ["x"]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"b": pa.array([None], pa.null()), "a": pa.array([2**40])}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": pa.array([3], pa.int32())}), tmp_path / "2.parquet")
    table = read(tmp_path)
    assert table.schema == pa.schema([("a", pa.int64()), ("b", pa.string())])
    assert table.to_pydict() == {"a": [1, 2**40, 3], "b": ["x", None, None]}
    source = ENGINE.scan(tmp_path, Policy())
    assert ENGINE.class_sizes(source, ["b"], 2).histogram == ((1, 1), (2, 1))


def test_keys_of_a_partitioned_folder_are_columns(tmp_path: Path) -> None:
    """Keys are typed as text cells are: 01234 stays a code; missing and escaped keys are understood."""
    places = [
        "zip=01234/year=2023",
        "zip=99999/year=2024",
        "zip=__HIVE_DEFAULT_PARTITION__/year=2024",
        "zip=a%2Fb/year=2025",
    ]
    for at, place in enumerate(places):
        (tmp_path / place).mkdir(parents=True)
        pq.write_table(pa.table({"row": [at]}), tmp_path / place / "part.parquet")
    table = read(tmp_path)
    assert table.schema == pa.schema([("row", pa.int64()), ("zip", pa.string()), ("year", pa.int64())])
    assert sorted(table.to_pylist(), key=lambda row: row["row"]) == [
        {"row": 0, "zip": "01234", "year": 2023},
        {"row": 1, "zip": "99999", "year": 2024},
        {"row": 2, "zip": None, "year": 2024},
        {"row": 3, "zip": "a/b", "year": 2025},
    ]
    source = ENGINE.scan(tmp_path, Policy())
    assert [column.size for column in ENGINE.encode(source, ["year", "zip"])] == [3, 4]
    assert ENGINE.class_sizes(source, ["year"], 2).histogram == ((1, 2), (2, 1))
    assert [batch.schema.names for batch in source.batches(["zip"])] == [["zip"]] * 4
    declared = Policy(columns={"year": Column(name="year", type=ColumnType.STRING)})
    assert read(tmp_path, declared).schema.field("year").type == pa.string()


def test_a_key_of_another_type_than_declared_is_refused(tmp_path: Path) -> None:
    """Partition keys keep to the policy as cells do."""
    (tmp_path / "year=often").mkdir()
    pq.write_table(pa.table({"row": [1]}), tmp_path / "year=often" / "part.parquet")
    with pytest.raises(SourceError, match=r"column 'year': .* is not of type integer"):
        ENGINE.scan(tmp_path, Policy(columns={"year": Column(name="year", type=ColumnType.INTEGER)}))


@pytest.mark.parametrize("place", ["zip=01234/it's [a-z] *", "zip=01234", "plain"])
def test_sql_reads_a_file_by_its_own_name(tmp_path: Path, place: str) -> None:
    """Wildcards in the path, and keys in a folder's name, are nothing special for a single file."""
    folder = tmp_path / place
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"a": ["x", "x", None], "zip": ["9", "9", "9"]}), folder / "t.parquet")
    pq.write_table(pa.table({"a": ["y"], "zip": ["8"]}), folder / "other.parquet")
    source = ENGINE.scan(folder / "t.parquet", Policy())
    (counted,) = ENGINE._counter.count_sets(source, [("zip", "a")])
    assert counted.to_pydict() == {"zip": ["9", "9"], "a": ["x", None], COUNT: [2, 1]}


def test_sql_tells_names_apart_as_we_do(tmp_path: Path) -> None:
    """Upper and lower case, quotes and braces in names; NaN and -0.0 in cells."""
    table = pa.table({"A": [1.0, float("nan"), -0.0], "a": [0.0, -0.0, None], 'q"{x}': ["x", "x", "y"]})
    for names in (["A", 'q"{x}'], ["a", "A"], ['q"{x}', "A", "a"]):
        pq.write_table(table.select(names), tmp_path / "t.parquet")
        source = ENGINE.scan(tmp_path / "t.parquet", Policy())
        (counted,) = ENGINE._counter.count_sets(source, [("A",)])
        assert counted.to_pydict() == {"A": [0.0, 1.0, None], COUNT: [1, 1, 1]}
        assert str(counted.column("A")[0]) == "0.0"
        assert ENGINE._counter.class_sizes(source, ["A"], 2, None).histogram == ((1, 3),)


def test_columns_with_dots_are_no_paths(tmp_path: Path) -> None:
    """A column a is read alone, though there is one named a.b beside it."""
    pq.write_table(pa.table({"a": [1], "a.b": ["x"], "a.b.c": [2.5]}), tmp_path / "t.parquet")
    source = ENGINE.scan(tmp_path / "t.parquet", Policy())
    for name, cell in {"a": 1, "a.b": "x", "a.b.c": 2.5}.items():
        (batch,) = source.batches([name])
        assert batch.to_pydict() == {name: [cell]}
        assert [*ENGINE.encode(source, [name])[0].values] == [cell]


def test_decimals_of_whole_hundreds_are_whole_numbers(tmp_path: Path) -> None:
    """Parquet has no scale below 0: the same numbers are held with scale 0, and can be written."""
    table = pa.table({"a": pa.array([100, None, -300], pa.int64()).cast(pa.decimal128(19)).cast(pa.decimal128(19, -2))})
    source = ENGINE.scan(table, Policy())
    assert source.schema.types == [pa.decimal128(21, 0)]
    ENGINE.write(source, tmp_path / "t.parquet", metadata={}, randomness=None)
    assert [None if cell is None else int(cell) for cell in pq.read_table(tmp_path / "t.parquet")["a"].to_pylist()] == [
        *(100, None, -300)
    ]


SIZES = (7, 0, 1, 30, 2, 2, 2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of many sizes, row groups of three rows, a key in the name of the folder."""
    row = 0
    for at, size in enumerate(SIZES):
        place = tmp_path / f"year={2000 + at % 2}"
        place.mkdir(exist_ok=True)
        rows = pa.table({"row": pa.array(range(row, row + size), pa.int64()), "text": [f"t{n}" for n in range(size)]})
        pq.write_table(rows, place / f"{at}.parquet", row_group_size=3)
        row += size
    return tmp_path


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 10, 1000])
def test_pieces_hold_every_row_under_its_number(folder: Path, rows: int) -> None:
    """Large files are divided at row groups, small ones put together; single columns may be requested."""
    files = open_parquet(folder, Policy())
    splits = ParquetSplits.of(files, files.schema, rows)
    whole = pa.Table.from_batches(files.batches(), files.schema)
    found = [each for split in reversed(range(splits.n_splits)) for each in splits.read(split)]
    assert sum(batch.num_rows for batch, _ in found) == whole.num_rows == sum(SIZES)
    for batch, first in found:
        assert batch.equals(whole.slice(first, batch.num_rows).combine_chunks().to_batches()[0])
    assert splits.n_splits <= -(-sum(SIZES) // rows) + len(SIZES)
    narrow = [batch for batch, _ in splits.read(0, ["year", "row"])]
    assert narrow[0].schema.names == ["year", "row"]


def test_pieces_may_be_the_files(folder: Path) -> None:
    """One each, however small or large, also one without rows; every row under its number."""
    files = open_parquet(folder, Policy())
    splits = ParquetSplits.of(files, files.schema, 4).by_file()
    whole = pa.Table.from_batches(files.batches(), files.schema)
    assert splits.n_splits == len(SIZES)
    sizes = [part.n_rows for part in files.parts]
    for at, size in enumerate(sizes):
        found = list(splits.read(at))
        rows = pa.Table.from_batches([batch for batch, _ in found], files.schema)
        assert rows.equals(whole.slice(sum(sizes[:at]), size))
        assert not found or found[0][1] == sum(sizes[:at])


def test_an_executor_that_does_not_see_the_files_says_so(folder: Path) -> None:
    """In our words, and without a path's cells."""
    files = open_parquet(folder, Policy())
    splits = ParquetSplits.of(files, files.schema, 1000)
    for file in folder.glob("*/*.parquet"):
        file.unlink()
    with pytest.raises(EngineError, match="does not see the files"):
        list(splits.read(0))
