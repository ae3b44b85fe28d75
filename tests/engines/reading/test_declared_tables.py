"""Texts listed in `missing_values` are missing in every source, before columns get their types.

Cells that are no coordinates or no moments: refused by column and rule, never quoted, never lost unsaid.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.domains.dates_and_times import CalendarKind, CalendarReader
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import GuaranteeError, PolicyError
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy

N = 60
SECRET = "northoftown"
BOX = [52.0, 13.0, 53.0, 14.0]


def table(latitudes: dict[int, Any], longitudes: dict[int, Any]) -> pa.Table:
    """People around one place, some cells exchanged; texts, as of a text file."""
    lat = [str(latitudes.get(at, 52.4 + at % 5 / 50)) for at in range(N)]
    lon = [str(longitudes.get(at, 13.4 + at % 7 / 50)) for at in range(N)]
    return pa.table({"lat": lat, "lon": lon, "y": ["ab"[at % 2] for at in range(N)]})


def policy(**more: Any) -> Policy:
    """One place, a target."""
    return Policy.from_dict(
        {
            "columns": {"y": {"role": "target", "categories": ["a", "b"]}},
            "places": {"home": {"latitude": "lat", "longitude": "lon", **more}},
        }
    )


def released(source: pa.Table, declared: Policy, **asked: Any) -> Any:
    """A release in memory."""
    return anonkit.release(source, policy=declared, ledger=None, utility=False, **asked)


@pytest.mark.parametrize("method", ["mondrian", "rfka"])
@pytest.mark.parametrize("more", [{}, {"box": BOX}, {"box": BOX, "outside": "refuse"}], ids=str)
@pytest.mark.parametrize(
    ("latitudes", "longitudes", "words"),
    [
        ({3: SECRET}, {}, "column 'lat' has 1 cells that are no coordinates"),
        ({}, {4: SECRET, 5: "13,41"}, "column 'lon' has 2 cells that are no coordinates"),
        ({3: 90.5}, {}, "column 'lat' has 1 cells"),
        ({}, {3: -181}, "column 'lon' has 1 cells"),
        ({}, {3: "inf"}, "column 'lon' has 1 cells"),
    ],
)
def test_cells_that_are_no_coordinates_refuse_the_table(
    method: str, more: dict[str, Any], latitudes: dict[int, Any], longitudes: dict[int, Any], words: str
) -> None:
    """A word, a decimal comma, degrees beyond the globe: the column is named, the cell is not."""
    with pytest.raises(PolicyError, match=words) as caught:
        released(table(latitudes, longitudes), policy(**more), method=method, k=5)
    assert SECRET not in str(caught.value)
    assert caught.value.hint is not None
    assert "13,41" not in str(caught.value)


def test_such_places_are_missing_where_that_is_declared() -> None:
    """And reported to the owner with what lies beyond the box."""
    made = released(table({3: SECRET}, {5: 999}), policy(outside="missing"), method="mondrian", k=5)

    assert made.to_arrow().num_rows > 0


def test_under_differential_privacy_a_cell_decides_about_its_own_row_alone() -> None:
    """No refusal, which would disclose one cell: the place is missing."""
    declared = policy(box=BOX, resolutions=[3])
    asked = {"method": "rr", "epsilon": 1.0, "seed": 5}

    plain = released(table({}, {}), declared, **asked).to_arrow()
    strange = released(table({3: SECRET}, {}), declared, **asked).to_arrow()

    assert plain.num_rows == strange.num_rows


def test_a_place_without_a_name_is_refused() -> None:
    """Its column would have none."""
    for name in ("", " "):
        with pytest.raises(PolicyError, match="a place has no name"):
            Policy.from_dict({"places": {name: {"latitude": "lat", "longitude": "lon"}}})


def test_an_offset_of_a_day_or_more_is_no_moment() -> None:
    """Hours up to 23 and minutes up to 59, with a colon or without, by ISO 8601 and by a format."""
    reader = CalendarReader(kind=CalendarKind.DATETIME)
    texts = ["+23:59", "-23:59", "+25:00", "-24:00", "+01:60", "+2400", "Z", ""]
    cells = pa.array([f"2020-02-02T10:00:00{text}" for text in texts])
    assert reader.places(cells)[1].tolist() == [True, True, False, False, False, False, True, True]
    for kind, form, start in (
        (CalendarKind.DATETIME, "%Y-%m-%d %H:%M%z", "2020-02-02 10:00"),
        (CalendarKind.TIME, "%H:%M%z", "10:00"),
    ):
        reader = CalendarReader(kind=kind, format=form)
        assert reader.places(pa.array([f"{start}+25:00", f"{start}+02:00"]))[1].tolist() == [False, True]


@pytest.mark.quick_cases("mondrian-date")
@pytest.mark.parametrize("kind", ["date", "datetime", "time"])
@pytest.mark.parametrize("method", ["mondrian", "rfka"])
def test_durations_are_no_moments_and_not_dropped(method: str, kind: str) -> None:
    """Declared as dates or times they are refused, in every role; undeclared they are numbers like others."""
    cells = {
        "age": [20 + at % 9 for at in range(N)],
        "stay": pa.array([at * 1_000_000 for at in range(N)], pa.duration("us")),
        "y": ["ab"[at % 2] for at in range(N)],
    }
    for role in ("quasi_identifier", "sensitive", "insensitive"):
        declared = Policy.from_dict({"columns": {"stay": {"type": kind, "role": role}, "y": {"role": "target"}}})
        with pytest.raises((PolicyError, GuaranteeError), match="'stay'"):
            released(pa.table(cells), declared, method=method, k=5)
    made = released(pa.table(cells), Policy.from_dict({"columns": {"y": {"role": "target"}}}), method=method, k=5)
    assert next(column for column in made.report["columns"] if column["name"] == "stay")["role"] != "identifier"


@pytest.mark.slow
def test_clocks_are_no_addresses_of_computers() -> None:
    """Texts of hours, minutes and seconds; addresses with :: or eight groups still are."""
    for cells, role in (
        ([f"{at % 24:02}:{at % 60:02}:10" for at in range(N)], "quasi_identifier"),
        ([f"2001:db8::{at % 50:x}:1" for at in range(N)], "identifier"),
        ([f"2001:db8:0:0:0:ff00:42:{at % 50:x}" for at in range(N)], "identifier"),
    ):
        source = pa.table({"age": [20 + at % 9 for at in range(N)], "x": cells, "y": ["ab"[at % 2] for at in range(N)]})
        made = released(source, Policy.from_dict({"columns": {"y": {"role": "target"}}}), method="mondrian", k=5)
        assert next(column for column in made.report["columns"] if column["name"] == "x")["role"] == role


CELLS: dict[str, list[str | None]] = {
    "age": ["N", "17", "n.a.", "40", None, "N"],
    "pay": ["1.5", "N", "2", "3", "4", "5"],
    "zip": ["01067", "N", "10115", "1", "2", "3"],
    "when": ["2024-02-29", "N", "2024-03-01", None, None, None],
    "job": ["cook", "N", "n.a.", "", "N ", "cook"],
}
WANTED = {
    "age": [None, 17, None, 40, None, None],
    "pay": [1.5, None, 2.0, 3.0, 4.0, 5.0],
    "zip": ["01067", None, "10115", "1", "2", "3"],
    "when": ["2024-02-29", None, "2024-03-01", None, None, None],
    "job": ["cook", None, None, "", "N ", "cook"],
}
LISTED = Policy(missing_values=("N", "n.a."))


def _delimited(path: Path, delimiter: str) -> Path:
    table = pa.table(CELLS)
    options = pacsv.WriteOptions(delimiter=delimiter, quoting_style="none", include_header=True)
    filled = [column.fill_null("N") for column in table.columns]  # an empty cell would be a text of its own here
    pacsv.write_csv(pa.table(filled, names=table.column_names), path, options)
    return path


def _json_lines(path: Path, *, numbers: bool) -> Path:
    rows = pa.table(CELLS).to_pylist()
    if numbers:  # as most tools write them: numbers as numbers, the words among them as texts
        rows = [
            {
                name: float(cell) if name in ("age", "pay") and cell and cell[0].isdigit() else cell
                for name, cell in row.items()
            }
            for row in rows
        ]
        rows = [{**row, "age": row["age"] if isinstance(row["age"], str | None) else int(row["age"])} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _parquet(path: Path) -> Path:
    pq.write_table(pa.table(CELLS), path)
    return path


def _folder(path: Path) -> Path:
    path.mkdir()
    pq.write_table(pa.table(CELLS).slice(0, 2), path / "0.parquet")
    pq.write_table(pa.table(CELLS).slice(2), path / "1.parquet")
    return path


SOURCES: dict[str, Callable[[Path], Any]] = {
    "CSV": lambda at: _delimited(at / "t.csv", ","),
    "TSV": lambda at: _delimited(at / "t.tsv", "\t"),
    "JSON Lines": lambda at: _json_lines(at / "t.jsonl", numbers=False),
    "JSON Lines with numbers": lambda at: _json_lines(at / "t.jsonl", numbers=True),
    "Parquet": lambda at: _parquet(at / "t.parquet"),
    "folder": lambda at: _folder(at / "t"),
    "Arrow": lambda at: pa.table(CELLS),
    "pandas": lambda at: pd.DataFrame(CELLS),
    "Polars": lambda at: pl.DataFrame(CELLS),
}


def read(engine: Any, source: Any, policy: Policy) -> pa.Table:
    """All cells of a source."""
    opened = engine.scan(source, policy)
    return pa.Table.from_batches(opened.batches(), schema=opened.schema)


def plain(table: pa.Table) -> dict[str, list[Any]]:
    """Cells, days as texts."""
    cells = {name: table.column(name).to_pylist() for name in CELLS}
    return {**cells, "when": [None if day is None else str(day) for day in cells["when"]]}


@pytest.mark.parametrize("source", SOURCES)
def test_listed_texts_are_missing_and_the_rest_is_typed_as_in_csv(source: str, tmp_path: Path) -> None:
    """The same cells and types from every source: numbers and days where nothing else is left, codes stay texts."""
    with LocalEngine() as engine:
        table = read(engine, SOURCES[source](tmp_path), LISTED)
    assert plain(table) == WANTED
    kinds = {name: table.schema.field(name).type for name in CELLS}
    assert kinds["age"] == pa.int64()
    assert kinds["pay"] == pa.float64()
    assert kinds["zip"] == kinds["job"] == pa.string()
    assert kinds["when"] == pa.date32()


@pytest.mark.parametrize("first", ["words", "numbers"])
def test_parts_of_a_file_that_hold_listed_texts_alone_show_no_type(first: str, tmp_path: Path) -> None:
    """Words in one part of a JSON Lines file, numbers in the next, in either order."""
    parts = {"words": '{"a":"N","b":"x"}\n' * 40, "numbers": '{"a":7,"b":"x"}\n' * 40}
    order = sorted(parts, reverse=first == "words")
    path = tmp_path / "t.jsonl"
    path.write_text("".join(parts[name] for name in order))
    with patch("anonkit.engines.reading.json_lines._BLOCK", 256), LocalEngine() as engine:
        table = read(engine, path, LISTED)
    assert table.column("a").null_count == 40
    assert table.schema.field("a").type == pa.int64()


@pytest.mark.parametrize("source", ["JSON Lines", "Parquet", "Arrow", "pandas", "Polars"])
def test_the_default_leaves_tables_with_types_as_they_are(source: str, tmp_path: Path) -> None:
    """Without a list of one's own an empty text is a value there, and no column changes its type."""
    with LocalEngine() as engine:
        assert plain(read(engine, SOURCES[source](tmp_path), Policy())) == CELLS


def test_numbers_days_and_categories_are_listed_by_their_text(tmp_path: Path) -> None:
    """A code for missing in a column that has a type: -9 as an integer, a float or a decimal, a day, a category."""
    table = pa.table(
        {
            "i": pa.array([-9, 9], pa.int16()),
            "f": [-9.0, 9.5],
            "d": pa.array([-9, 9]).cast(pa.decimal128(21, 2)),
            "t": pa.array(["9999-12-31", "2024-02-29"]).cast(pa.date32()),
            "b": [True, False],
            "c": pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["a", "-9"])),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    policy = Policy(missing_values=("-9", "9999-12-31", "true"))
    with LocalEngine() as engine:
        for source in (table, tmp_path / "t.parquet"):
            found = read(engine, source, policy)
            assert [column.null_count for column in found.columns] == [1] * 6
            assert all(column[0].as_py() is None for column in found.columns)
            assert found.schema.field("i").type == pa.int16()
            assert found.column("c").combine_chunks().dictionary.to_pylist() == ["a"]


def test_declared_types_see_no_listed_text(tmp_path: Path) -> None:
    """A column declared a number is one although listed texts are in it; other texts are refused as before."""
    policy = Policy(columns={"age": Column(name="age", bounds=(0, 99))}, missing_values=("N", "n.a."))
    whole = Policy(columns={"age": Column(name="age", type=ColumnType.INTEGER)}, missing_values=("N", "n.a."))
    with LocalEngine() as engine:
        for numbers in (False, True):
            path = _json_lines(tmp_path / "t.jsonl", numbers=numbers)
            assert read(engine, path, policy).column("age").to_pylist() == WANTED["age"]
        assert read(engine, _delimited(tmp_path / "t.csv", ","), whole).column("age").to_pylist() == WANTED["age"]


@pytest.mark.parametrize("frame", ["Arrow", "pandas", "JSON Lines"])
def test_under_differential_privacy_a_listed_cell_is_missing_by_itself(frame: str, tmp_path: Path) -> None:
    """The owner's count of missing cells is that of the listed ones, and one more row changes no other cell."""
    customers = bank_customers(300, seed=3)
    ages = ["N"] * 7 + [str(age) for age in customers.column("age").to_pylist()[7:]]
    table = customers.set_column(customers.column_names.index("age"), "age", pa.array(ages))
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    source = {"Arrow": table, "pandas": table.to_pandas(), "JSON Lines": path}[frame]
    plainly = bank_customers_policy()
    policy = Policy(columns=plainly.columns, missing_values=("", "N"))
    release = anonkit.release(source, method="rr", epsilon=30, policy=policy, ledger=None)
    assert release.owner["cells_not_as_declared"]["age"] == {"missing": 7}


@pytest.mark.slow
def test_spark_reads_listed_texts_alike(spark: Any, tmp_path: Path) -> None:
    """Frames of Spark, Parquet read by executors, and files read by the local engine."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    frame = spark.createDataFrame(
        [tuple(row.values()) for row in pa.table(CELLS).to_pylist()], ", ".join(f"`{name}` string" for name in CELLS)
    )
    with SparkEngine(session=spark) as engine:
        for source in (frame, _parquet(tmp_path / "t.parquet"), _json_lines(tmp_path / "t.jsonl", numbers=True)):
            found = plain(read(engine, source, LISTED))
            assert {name: sorted(map(str, cells)) for name, cells in found.items()} == {
                name: sorted(map(str, cells)) for name, cells in WANTED.items()
            }


def test_units_and_declared_categories_may_be_missing() -> None:
    """A listed unit is nobody, and a listed text outside the categories is missing, not refused."""
    table = pa.table({"id": ["N", "a", "b"] * 4, "sex": ["f", "N", "m"] * 4, "y": ["u", "v", "u"] * 4})
    columns = {
        "id": Column(name="id", role=Role.UNIT),
        "sex": Column(name="sex", categories=("f", "m")),
        "y": Column(name="y", role=Role.TARGET),
    }
    with LocalEngine() as engine:
        found = read(engine, table, Policy(columns=columns, missing_values=("N",)))
    assert found.column("id").null_count == found.column("sex").null_count == 4
