"""Exported tables against their release: every form round-trips, and no change of a row, column or type passes."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import duckdb
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgresql import Server

from anonkit.bundle.exports.export_files import Target
from anonkit.bundle.exports.opened_targets import ReleasedTable, form_of
from anonkit.checks.exported_rows import export_checks

SIDECARS = {"datapackage.json": b'{"resources": [{"name": "data"}]}', "params.json": b"{}"}
TARGETS = (
    "out.csv",
    "out.tsv",
    "out.xlsx",
    "out.arrow",
    "sqlite:///{}/out.db?table=t",
    "duckdb:///{}/out.duckdb?table=t",
)

AWKWARD = pa.table(
    {
        "text": ["=1+1", "-5", "'=x", "", None, "a\r\nb", 'q"u,o\tte', "@x", "_x0041_", "ü＝", "\tx", "n\nn"],
        "=whole": pa.array([1, -5, None, 0, 2**62, -(2**62), 7, 8, 9, 10, 11, 12], pa.int64()),
        "float": [0.1, -0.0, None, 1e300, float("inf"), float("-inf"), 1 / 3, 5.0, -2.5, 1e-9, 123456.789, 3.0],
        "single": pa.array([0.1, None, 2.5, 3, 4, 5, 6, 7, 8, 9, 10, 11], pa.float32()),
        "truth": [True, False, None] * 4,
        "day": [date(1850, 1, 1), date(1900, 2, 28), date(1900, 3, 1), None, *[date(2024, 2, 29)] * 8],
        "time": [datetime(1999, 5, 1, 12, 30, 1, 5), None] * 6,
        "zone": [datetime(1999, 5, 1, 12, 30, tzinfo=UTC), None] * 6,
        "money": [Decimal("1.50"), None, Decimal("-99999999999999999.25")] * 4,
        "big": pa.array([2**63 - 1, None, 3, 4] * 3, pa.uint64()),
        "small": pa.array([-128, None, 3, 4] * 3, pa.int8()),
        "label": pa.array(["[1, 2)", None, "*"] * 4).dictionary_encode(),
        "nothing": pa.nulls(12),
        "clock": pa.array([time(12, 30, 10), time(0, 0, 0, 5), None] * 4, pa.time64("us")),
    }
)


def released(folder: Path, table: pa.Table) -> ReleasedTable:
    """The rows of a table, as a release has them."""
    pq.write_table(table, folder / "release.parquet")
    return ReleasedTable(data=folder / "release.parquet")


def exported(folder: Path, rows: ReleasedTable, target: str) -> str:
    """Export, and return the target."""
    target = target.format(folder) if "{}" in target else target if "://" in target else str(folder / target)
    with closing(form_of(Target.of(target))) as form:
        form.exists()
        form.write(rows, SIDECARS)
        assert failed_of(form, rows) == []  # before it is put in place
        form.commit()
    return target


def failed_of(form: Any, rows: ReleasedTable) -> list[str]:
    """The checks that fail."""
    return [check.name for check in export_checks(form, rows) if not check.passed]


def failed(target: str, rows: ReleasedTable) -> list[str]:
    """The checks of a target that fail."""
    with closing(form_of(Target.of(target))) as form:
        return failed_of(form, rows)


@pytest.mark.parametrize("target", TARGETS)
def test_every_form_holds_what_the_release_holds(target: str, tmp_path: Path) -> None:
    """Formulas, quotes, line ends, no text against empty text, all types, on the first and a second look."""
    rows = released(tmp_path, AWKWARD)

    assert failed(exported(tmp_path, rows, target), rows) == []


@pytest.mark.quick_cases("out.csv", "out.xlsx", "sqlite*")
@pytest.mark.parametrize("target", TARGETS)
def test_changed_missing_and_added_rows_and_columns_are_found(target: str, tmp_path: Path) -> None:
    """One cell of every column, a row less, one twice, one in the place of another; any order is the same."""
    rows = released(tmp_path, AWKWARD)
    place = exported(tmp_path, rows, target)
    other = tmp_path / "other"
    other.mkdir()
    order = released(other, AWKWARD.take(list(reversed(range(12)))))
    assert failed(place, order) == []

    changes: dict[str, pa.Table] = {"less": AWKWARD.slice(1), "twice": pa.concat_tables([AWKWARD, AWKWARD.slice(3, 1)])}
    changes["instead"] = pa.concat_tables([AWKWARD.slice(1), AWKWARD.slice(3, 1)])
    for at, name in enumerate(AWKWARD.column_names):
        cells = AWKWARD.column(name).combine_chunks()
        if name == "nothing":
            moved = pa.array(["x", *[None] * 11])
        else:
            moved = cells.take([*range(11), 2 if cells[11] == cells[1] else 1])
        changes[name] = AWKWARD.set_column(at, AWKWARD.schema.field(at).with_type(moved.type), moved)
    for change, table in changes.items():
        there = failed(place, released(other, table))
        assert "exported_cells" in there, change
        assert ("exported_rows" in there) == (change in ("less", "twice"))


@pytest.mark.parametrize("target", TARGETS)
def test_names_order_and_types_of_columns_are_compared(target: str, tmp_path: Path) -> None:
    """Renamed, exchanged, left out; where the form has types, another type alone is enough."""
    rows = released(tmp_path, AWKWARD)
    place = exported(tmp_path, rows, target)
    names = AWKWARD.column_names

    for table in (
        AWKWARD.rename_columns(["other", *names[1:]]),
        AWKWARD.select(names[::-1]),
        AWKWARD.select(names[1:]),
    ):
        assert failed(place, released(tmp_path, table)) == ["exported_columns"]
    wider = AWKWARD.set_column(10, "small", AWKWARD.column("small").cast(pa.int32()))
    typed = target.endswith(".arrow") or target.startswith("duckdb")
    assert failed(place, released(tmp_path, wider)) == (["exported_types"] if typed else [])


def test_missing_and_empty_are_two_things_but_in_a_sheet(tmp_path: Path) -> None:
    """Stated on the page: a sheet has no empty texts."""
    empty, missing = (pa.table({"a": ["x", cell], "b": [1, 2]}) for cell in ("", None))
    for target in TARGETS:
        place = exported(tmp_path, released(tmp_path, empty), target)
        expected = [] if target.endswith("xlsx") else ["exported_cells"]
        assert failed(place, released(tmp_path, missing)) == expected


def test_a_sheet_keeps_fifteen_digits(tmp_path: Path) -> None:
    """Numbers that differ after fifteen digits are equal in a sheet, and different in every other form."""
    for target in TARGETS:
        place = exported(tmp_path, released(tmp_path, pa.table({"x": [0.1 + 0.2, 1.0]})), target)
        expected = [] if target.endswith("xlsx") else ["exported_cells"]
        assert failed(place, released(tmp_path, pa.table({"x": [0.3, 1.0]}))) == expected
        assert failed(place, released(tmp_path, pa.table({"x": [0.3000001, 1.0]}))) == ["exported_cells"]


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(numbers=st.lists(st.floats(allow_nan=False), min_size=40, max_size=60))
def test_any_numbers_round_trip(numbers: list[float], tmp_path: Path) -> None:
    """To the last bit in text and SQLite, to 15 digits in a sheet."""
    rows = released(tmp_path, pa.table({"x": [*numbers, -0.8218955743190175, 0.1 + 0.2]}))
    for target in ("out.csv", "out.xlsx", TARGETS[4]):
        assert failed(exported(tmp_path, rows, target), rows) == []


@pytest.mark.slow
def test_a_number_between_two_of_fifteen_digits_round_trips(tmp_path: Path) -> None:
    """Rounded once: what is written with 16 digits and then read with 15 is rounded twice, and another number."""
    numbers = np.random.default_rng(1).normal(size=5_000)
    rows = released(tmp_path, pa.table({"x": numbers}))

    assert failed(exported(tmp_path, rows, "out.xlsx"), rows) == []


def test_a_single_column_with_missing_cells_round_trips(tmp_path: Path) -> None:
    """In a text file of one column a missing cell is an empty line."""
    rows = released(tmp_path, pa.table({"a": pa.array([1, None, None, 3, None])}))

    for one in TARGETS:
        assert failed(exported(tmp_path, rows, one), rows) == []


def test_no_cell_of_a_text_file_begins_a_formula_wherever_it_is_cut(tmp_path: Path) -> None:
    """At any mark that a spreadsheet may take for the end of a cell; texts without a sign there stay as they are."""
    signs = ("=", "+", "-", "@", "＝")
    cells = [f"a{mark}{lead}{sign}1+1" for mark in ";,|\t\r\n" for lead in ("", '"', "'") for sign in signs]
    plain = ["a; b", "[1, 2)", "[-1, -2)", "a-b;c=d", "x,y", "-"]
    rows = released(tmp_path, pa.table({"n": range(len(cells)), "a": cells, "b;=b": cells[::-1]}))
    for target in ("out.csv", "out.tsv"):
        place = exported(tmp_path, rows, target)
        text = Path(place).read_bytes().decode()
        for mark in ";|" + (",\r\n" if target == "out.tsv" else "\t\r\n"):
            parts = [part.lstrip('"') for part in text.split(mark)]
            assert not [part for part in parts if part.startswith(signs)], (target, mark)
        assert failed(place, rows) == []
    text = Path(exported(tmp_path, released(tmp_path, pa.table({"a": plain})), "out.csv")).read_text()
    expected = [*plain[:-1], "'-"]
    assert text.splitlines()[1:] == [f'"{cell}"' for cell in expected]


TEXTS = st.one_of(st.none(), st.text(st.sampled_from("='+-@\t\r\n\",;| aé_x0\u202e"), max_size=6))


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(cells=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6), number=st.integers(0, 10**9))
def test_any_texts_round_trip_and_any_other_text_is_found(
    cells: list[tuple[str | None, str | None]], number: int, tmp_path: Path
) -> None:
    """Any strings of a release round-trip; exchanging one cell for another string is noticed."""
    columns = [[row[at] for row in cells] for at in (0, 1)]
    schema = pa.schema([("a", pa.string()), ("b", pa.string())])
    rows = released(tmp_path, pa.table(columns, schema=schema))
    changed = [*columns[0][:-1], f"{columns[0][-1] or ''}{number}"]
    for target in ("out.csv", "out.tsv", "out.xlsx"):
        place = exported(tmp_path, rows, target)
        assert failed(place, rows) == []
        other = released(tmp_path, pa.table([changed, columns[1]], schema=schema))
        assert failed(place, other) == ["exported_cells"]
        rows = released(tmp_path, pa.table(columns, schema=schema))


def rewritten(path: Path, change: Callable[[str], str]) -> None:
    """Change the text of the sheet in an Excel file."""
    new = path.with_suffix(".new")
    with ZipFile(path) as old, ZipFile(new, "w") as archive:
        for name in old.namelist():
            content = old.read(name)
            archive.writestr(name, change(content.decode()) if name.endswith("sheet1.xml") else content)
    shutil.move(new, path)


def test_a_sheet_is_what_openpyxl_reads_too(tmp_path: Path) -> None:
    """Texts are texts and no formulas, numbers numbers, dates dates; names are in the first row."""
    rows = released(tmp_path, AWKWARD)
    book = openpyxl.load_workbook(exported(tmp_path, rows, "out.xlsx"))
    cells = list(book.active.iter_rows(values_only=True))

    assert list(cells[0]) == AWKWARD.column_names
    assert all(cell.data_type != "f" for row in book.active.iter_rows() for cell in row)
    assert [row[0] for row in cells[1:5]] == ["=1+1", "-5", "'=x", None]
    assert [row[1] for row in cells[1:6]] == [1, -5, None, 0, str(2**62)]
    assert cells[1][5] == "1850-01-01"
    assert cells[3][5] == datetime(1900, 3, 1)
    assert [row[4] for row in cells[1:4]] == [True, False, None]


def test_a_sheet_that_openpyxl_wrote_again_is_the_same(tmp_path: Path) -> None:
    """Another program's file has its texts in a table of their own."""
    table = pa.table({"a": ["=1", "b", None], "n": [1, None, 3], "d": [date(2020, 1, 1)] * 3, "t": [True, None, False]})
    rows = released(tmp_path, table)
    place = exported(tmp_path, rows, "out.xlsx")
    openpyxl.load_workbook(place).save(place)

    assert failed(place, rows) == []


def test_cells_of_another_type_in_a_sheet_are_found(tmp_path: Path) -> None:
    """A formula, a text in the place of a number, a number in that of a text, cells beside the table, all of it."""
    table = pa.table(
        {"a": ["b", "c"], "n": [1, 2], "f": [1.0, 2.5], "d": [date(2020, 1, 1)] * 2, "t": [True, False]}
        | {"m": [Decimal("1.5")] * 2}
    )
    rows = released(tmp_path, table)
    cells: list[tuple[str, Any]] = [
        ("A2", "=1+1"), ("A2", 5), ("B2", "1"), ("B2", "x"), ("B2", 1.5), ("B2", True), ("C2", "1.5"), ("C2", "x"),
        ("C2", True), ("D2", "2020-01-01"), ("D2", "later"), ("D2", 10**9), ("D2", True), ("E2", 1), ("E2", "true"),
        ("F2", 1.5), ("G2", "x"), ("G3", 1),
    ]  # fmt: skip
    for at, value in cells:
        place = exported(tmp_path, rows, "out.xlsx")
        book = openpyxl.load_workbook(place)
        book.active[at] = value
        book.save(place)
        assert failed(place, rows) == ["exported_cells"], (at, value)
    place = exported(tmp_path, rows, "out.xlsx")
    rewritten(Path(place), lambda text: text.replace('<row r="3"', '<row r="9"'))
    assert failed(place, rows) == ["exported_rows", "exported_cells"]


def test_what_cannot_be_read_is_no_export(tmp_path: Path) -> None:
    """A damaged file fails the check that it can be read, whatever its form."""
    rows = released(tmp_path, AWKWARD.select(["text", "=whole"]))
    for target in ("out.csv", "out.xlsx", "out.arrow"):
        place = Path(exported(tmp_path, rows, target))
        place.write_bytes(b'text,=whole\n1,2,"3' + place.read_bytes()[100:200])
        assert failed(str(place), rows) == ["exported_file"]
    place = Path(exported(tmp_path, rows, "out.csv"))
    place.write_bytes(place.read_bytes() + b'"more",1,2\n')
    assert failed(str(place), rows) == ["exported_file"]
    for target in TARGETS[4:]:
        where = exported(tmp_path, rows, target)
        assert failed(where.replace("table=t", "table=other"), rows) == ["exported_file"]


def test_cells_that_are_no_values_of_their_column_are_found(tmp_path: Path) -> None:
    """In a CSV a word among the numbers; in SQLite another type of cell, and 2 among the truth values."""
    table = pa.table({"n": [1, 2], "t": [True, False], "s": ["a", "b"], "f": [1.0, 2.0]})
    rows = released(tmp_path, table)
    place = Path(exported(tmp_path, rows, "out.csv"))
    text = place.read_text()
    for old, new in (("1,true", "one,true"), ("true", "yes"), ("1,true", "1.5,true")):
        place.write_text(text.replace(old, new, 1))
        assert failed(str(place), rows) == ["exported_cells"], new
    for change in ("t = 2 WHERE t = 1", "n = 'x' WHERE n = 1", "n = 1.5 WHERE n = 1"):
        where = exported(tmp_path, rows, TARGETS[4])
        with closing(sqlite3.connect(tmp_path / "out.db")) as connection, connection:
            connection.execute("DROP TABLE IF EXISTS old")
            connection.execute("ALTER TABLE t RENAME TO old")
            connection.execute("CREATE TABLE t (n INTEGER, t INTEGER, s TEXT, f REAL)")
            connection.execute("INSERT INTO t SELECT * FROM old")
            connection.execute(f"UPDATE t SET {change}")
        assert failed(where, rows) == ["exported_cells"], change
    where = exported(tmp_path, rows, TARGETS[4])
    with closing(sqlite3.connect(tmp_path / "out.db")) as connection, connection:
        connection.execute("DROP TABLE IF EXISTS old")
        connection.execute("ALTER TABLE t RENAME TO old")
        connection.execute("CREATE TABLE t (n INTEGER, t INTEGER, s BLOB, f REAL)")
        connection.execute("INSERT INTO t SELECT n, t, 7, f FROM old")
    assert failed(where, rows) == ["exported_types", "exported_cells"]


def test_a_csv_that_another_program_wrote_is_the_same(tmp_path: Path) -> None:
    """Numbers in another spelling, no quotes where none are needed."""
    rows = released(tmp_path, pa.table({"a": ["x", "y"], "f": [0.5, 100.0], "n": [1, 2]}))
    place = Path(exported(tmp_path, rows, "out.csv"))
    place.write_text("a,f,n\ny,1e2,2\nx,0.50,1\n")

    assert failed(str(place), rows) == []


@pytest.fixture
def server_target(postgresql: Server) -> str:
    """A table on a server."""
    return f"{postgresql.address}?table=people&schema=public"


def test_a_table_on_a_server_holds_what_the_release_holds(
    server_target: str, tmp_path: Path, postgresql: Server
) -> None:
    """All types and texts; a changed, a missing, an added row, and another type of column are found there."""
    rows = released(tmp_path, AWKWARD)
    exported(tmp_path, rows, server_target)

    assert failed(server_target, rows) == []
    with closing(postgresql.connect()) as connection:
        statements = {
            """UPDATE people SET "=whole" = 6 WHERE text = '@x'""": ["exported_cells"],
            "UPDATE people SET text = '' WHERE text IS NULL": ["exported_cells"],
            "DELETE FROM people WHERE text = '@x'": ["exported_rows", "exported_cells"],
            "INSERT INTO people SELECT * FROM people LIMIT 1": ["exported_rows", "exported_cells"],
            "ALTER TABLE people ALTER small TYPE bigint": ["exported_types"],
            "ALTER TABLE people RENAME small TO little": ["exported_columns"],
            "DELETE FROM people": ["exported_rows", "exported_cells"],
        }
        for statement, expected in statements.items():
            exported(tmp_path, rows, server_target)
            connection.execute(statement)
            assert failed(server_target, rows) == expected, statement
        assert connection.execute("SELECT name FROM people_anonkit ORDER BY name").fetchall() == [
            ("datapackage.json",),
            ("params.json",),
        ]
        connection.execute("DROP TABLE people")
    assert failed(server_target, rows) == ["exported_file"]


def test_duckdb_and_arrow_read_their_tables_without_anonkit(tmp_path: Path) -> None:
    """The types a reader expects, and the sidecars in a table beside."""
    rows = released(tmp_path, AWKWARD)
    exported(tmp_path, rows, TARGETS[5])
    exported(tmp_path, rows, "out.arrow")
    with closing(duckdb.connect(str(tmp_path / "out.duckdb"))) as connection:
        assert connection.execute("SELECT count(*), sum(small) FROM t").fetchone() == (12, 3 * (-128 + 7))
        assert {row[0] for row in connection.execute("SELECT name FROM t_anonkit").fetchall()} == set(SIDECARS)
    table = pa.ipc.open_file(str(tmp_path / "out.arrow")).read_all()
    assert table.column("label").type == pa.string()
    assert pc_csv.read_csv(exported(tmp_path, rows, "out.csv")).num_rows == 12
    assert pc.sum(table.column("small")).as_py() == 3 * (-128 + 7)
