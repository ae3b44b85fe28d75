"""Tables in files of SQLite and DuckDB: replaced when forced, without a cell of what was there before."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.bundle.exports.export_files import Target
from anonkit.bundle.exports.opened_targets import ReleasedTable, form_of
from anonkit.errors import EngineError, ParameterError
from anonkit.pipeline.exporting import validate_export
from anonkit.policy.declaration import Policy
from tests.bundle.test_opened_targets import FORMS, OF_DAY, written
from tests.pipeline.test_exporting import names


@pytest.mark.slow
def test_what_stands_there_is_replaced_only_when_forced(release: Path, tmp_path: Path) -> None:
    """A file, a table and the table of sidecars; other tables of a database stay."""
    base = tmp_path / "open.db"
    with closing(sqlite3.connect(base)) as connection, connection:
        connection.execute("CREATE TABLE other (a)")
        connection.execute("CREATE TABLE half_anonkit (a)")
    for target in ("out.csv", f"sqlite:///{base}", f"duckdb:///{tmp_path / 'o.duckdb'}?table=people"):
        place: Any = target if "://" in target else tmp_path / target
        anonkit.export(release, place)
        with pytest.raises(ParameterError, match="exists") as caught:
            anonkit.export(release, place)
        assert "force" in str(caught.value)
        anonkit.export(release, place, force=True)
        assert validate_export(place, release).passed
    with pytest.raises(ParameterError, match="exists"):
        anonkit.export(release, f"sqlite:///{base}?table=half")
    with closing(sqlite3.connect(base)) as connection:
        found = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert found == {"other", "half_anonkit", "released", "released_anonkit"}


@pytest.mark.quick_cases("sqlite")
@pytest.mark.parametrize("suffix", ["sqlite", "duckdb"])
def test_a_name_of_a_database_is_the_address_of_its_table(suffix: str, release: Path, tmp_path: Path) -> None:
    """`out.sqlite` is the table `released` of that file, and either of the two is compared with the release."""
    made = anonkit.export(release, tmp_path / f"out.{suffix}")

    address = f"{suffix}:///{tmp_path}/out.{suffix}"
    assert (made.form, made.sidecars) == (suffix, "released_anonkit")
    assert (Target.of(address).path, Target.of(address).table) == (tmp_path / f"out.{suffix}", "released")
    for target in (tmp_path / f"out.{suffix}", address):
        assert validate_export(target, release).passed
    with pytest.raises(ParameterError, match="exists"):
        anonkit.export(release, address)


def test_columns_that_only_parquet_holds_are_refused(tmp_path: Path) -> None:
    """A list, a binary; in SQLite an integer beyond its 64 bits."""
    pq.write_table(pa.table({"a": [[1]]}), tmp_path / "t.parquet")
    with pytest.raises(ParameterError, match="only the Parquet file"):
        _ = ReleasedTable(data=tmp_path / "t.parquet").schema
    pq.write_table(pa.table({"a": pa.array([2**63], pa.uint64())}), tmp_path / "t.parquet")
    with (
        closing(form_of(Target.of(f"sqlite:///{tmp_path}/a.db"))) as form,
        pytest.raises(ParameterError, match="'a' has whole numbers"),
    ):
        form.write(ReleasedTable(data=tmp_path / "t.parquet"), {})
    assert names(tmp_path) == {"t.parquet"}


def test_a_file_that_is_no_database_and_a_folder_that_is_none(release: Path, tmp_path: Path) -> None:
    """Exit 3, one line, the file as it was."""
    (tmp_path / "a.db").write_text("no database, for sure" * 100)
    (tmp_path / "file").write_text("")
    for target in (f"sqlite:///{tmp_path}/a.db", f"duckdb:///{tmp_path}/a.db", str(tmp_path / "file" / "o.csv")):
        with pytest.raises(EngineError):
            anonkit.export(release, target)
    assert (tmp_path / "a.db").read_text().startswith("no database")
    with pytest.raises(EngineError, match="does not exist"):
        validate_export(tmp_path / "absent.csv", release)


def _marked(folder: Path, mark: str) -> Path:
    """Make a release whose cells can be found in the bytes of a file."""
    table = pa.table({"age": [20, 30] * 1000, "note": [f"{mark}{at % 5:03d}{'x' * 40}" for at in range(2000)]})
    policy = Policy.from_dict({"columns": {"age": {"role": "quasi_identifier"}, "note": {"role": "insensitive"}}})
    output = folder / f"{mark}.parquet"
    anonkit.release(table, method="mondrian", k=5, policy=policy, output=output, ledger=None)
    return output


@pytest.mark.quick_cases("sqlite-a file with another table")
@pytest.mark.parametrize("others", [False, True], ids=["a file of ours", "a file with another table"])
@pytest.mark.parametrize("form", ["sqlite", "duckdb"])
def test_a_replaced_export_leaves_no_cell(tmp_path: Path, form: str, others: bool) -> None:
    """A file that holds nothing else is written anew; of another one the old cells are gone too, or it is said."""
    import duckdb

    old, new = (_marked(tmp_path, mark) for mark in ("zqoldzq", "zqnewzq"))
    base = tmp_path / "data.base"
    target = f"{form}:///{base}?table=people"
    anonkit.export(old, target)
    if others:
        with closing(sqlite3.connect(base) if form == "sqlite" else duckdb.connect(str(base))) as connection:
            connection.execute("CREATE TABLE mine (a INTEGER)")
            connection.execute("INSERT INTO mine VALUES (7)")
            connection.commit()
    made = anonkit.export(new, target, force=True)
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.name.startswith("data.base"))
    assert b"zqnewzq" in raw
    assert (b"zqoldzq" in raw) <= made.remains
    assert made.remains == (others and form == "duckdb")
    assert validate_export(target, new).passed
    with closing(sqlite3.connect(base) if form == "sqlite" else duckdb.connect(str(base))) as connection:
        assert connection.execute("SELECT count(*) FROM people").fetchone() == (2000,)
        if others:
            assert connection.execute("SELECT a FROM mine").fetchall() == [(7,)]


def test_times_of_day_are_what_other_programs_read(tmp_path: Path) -> None:
    """A TIME in DuckDB, texts of ISO 8601 in SQLite and CSV; nanoseconds are cut, never rounded up."""
    for target in FORMS:
        written(tmp_path, pa.table(OF_DAY), target)
    with closing(duckdb.connect(str(tmp_path / "o.duckdb"))) as base:
        assert base.execute("SELECT micros, nanos FROM t").fetchall() == [
            (time(0), time(0)),
            (time(12, 0, 1, 5), time(0, 0, 0, 1)),
            (None, None),
            (time(23, 59, 59, 999_999), time(23, 59, 59, 999_999)),
        ]
    with closing(sqlite3.connect(tmp_path / "o.db")) as base:
        assert base.execute("SELECT nanos FROM t LIMIT 1 OFFSET 1").fetchone() == ("00:00:00.000001",)
    assert "00:00:00.000001" in (tmp_path / "o.csv").read_text().splitlines()[2]
