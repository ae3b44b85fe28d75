"""A copy that a descriptor lists is compared with the data whatever its hash says, and nothing in it runs."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.bundle.release_place import COPIES, Place
from anonkit.checks.validation import copy_checks
from anonkit.datasets import bank_customers
from anonkit.errors import MissingDependencyError, ReleaseFormatError

TABLE = bank_customers(60, seed=3)
ENDLESS = "WITH RECURSIVE n(x) AS (VALUES(1) UNION ALL SELECT x FROM n) SELECT x FROM n"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with a copy in every form, made once."""
    folder = tmp_path_factory.mktemp("kept")
    made = anonkit.release(TABLE, method="mondrian", k=5, target="customer_value", utility=False, ledger=None)
    release = made.save(folder / "0" / "out.csv")
    for number, suffix in enumerate(list(COPIES.values())[1:], 1):
        release = release.save(folder / str(number) / f"out{suffix}")
    return folder / str(len(COPIES) - 1)


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    """A copy of that folder, which a test may change."""
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    return tmp_path


def forged(folder: Path, form: str, **changed: Any) -> dict[str, Any]:
    """State the hash and the size of a copy as it is now, and what else is given; return how checks come out."""
    copy, path = folder / f"out{COPIES[form]}", folder / "out.datapackage.json"
    document = json.loads(path.read_text())
    entry = next(resource for resource in document["resources"] if resource["name"] == form)
    if copy.is_file():
        entry |= {"hash": f"sha256:{sha256(copy.read_bytes()).hexdigest()}", "anonkit:bytes": copy.stat().st_size}
    entry |= changed
    path.write_text(json.dumps(document))
    return {check.name: check.observed for check in anonkit.validate(folder / "out.parquet").checks if not check.passed}


def test_every_form_is_compared(folder: Path) -> None:
    """The release as it was made passes, and each of its copies has a check."""
    validation = anonkit.validate(folder / "out.parquet")
    assert validation.passed
    assert {f"copy:{form}" for form in COPIES} <= {check.name for check in validation.checks}


@pytest.mark.quick_cases("csv", "xlsx", "sqlite", "dta")
@pytest.mark.parametrize("form", COPIES)
def test_a_file_of_no_form_is_found_though_its_hash_is_stated(form: str, folder: Path) -> None:
    """A forger of the copy can restate the descriptor too: the rows are compared."""
    (folder / f"out{COPIES[form]}").write_bytes(b"age\n36\n" if form != "xlsx" else b"PK")
    assert set(forged(folder, form)) == {f"copy:{form}"}


def test_one_other_cell_is_found_though_its_hash_is_stated(folder: Path) -> None:
    """The first comparison that fails is reported."""
    copy = folder / "out.csv"
    copy.write_bytes(copy.read_bytes().replace(b"high", b"low", 1))
    assert forged(folder, "csv") == {"copy:csv": "other cells"}


def test_data_of_which_there_can_be_no_copy_are_the_same_as_none(folder: Path) -> None:
    """A forged file of data with a list in a cell is of no form, so that no copy can hold what it holds."""
    data, descriptor = folder / "out.parquet", json.loads((folder / "out.datapackage.json").read_text())
    table = pq.read_table(data)
    lists = pa.array([[1]] * len(table))
    pq.write_table(table.set_column(0, table.column_names[0], lists), data)
    found = {check.observed for check in copy_checks(Place.of(data), descriptor)}
    assert "unreadable" in found
    assert "the same" not in found


def test_a_copy_that_is_gone_is_missed(folder: Path) -> None:
    """A descriptor that lists it describes another release."""
    (folder / "out.csv").unlink()
    assert forged(folder, "csv")["copy:csv"] == "absent"


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    """A file that is not a regular one is not opened, under any name of a descriptor."""
    (folder / "out.csv").unlink()
    os.mkfifo(folder / "out.csv")
    with pytest.raises(ReleaseFormatError, match="is not a regular file"):
        forged(folder, "csv")


@pytest.mark.parametrize("changed", [{"path": "else.csv"}, {"mediatype": "text/plain"}, {"format": "tsv"}])
def test_what_a_descriptor_says_of_a_copy_is_checked(changed: dict[str, str], folder: Path) -> None:
    """Path, form and media type are those of the form."""
    shutil.copy(folder / "out.csv", folder / "else.csv")
    assert "descriptor" in forged(folder, "csv", **changed)


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE more (x)"],
        ["ALTER TABLE released RENAME TO r", "CREATE VIEW released AS SELECT * FROM r"],
        ["DROP TABLE released", f"CREATE VIEW released AS {ENDLESS}"],
        ["ALTER TABLE released ADD COLUMN x TEXT AS (hex(zeroblob(900000000)))"],
        ["DROP TABLE released", "CREATE TABLE released (a, b TEXT AS (hex(zeroblob(900000000))))"],
        ["DROP TABLE released"],
    ],
)  # fmt: skip
def test_only_the_plain_table_of_an_sqlite_copy_is_read(statements: list[str], folder: Path) -> None:
    """Views without end and columns that are computed are found by their definitions, and are not evaluated."""
    with contextlib.closing(sqlite3.connect(folder / "out.sqlite")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    assert forged(folder, "sqlite") == {"copy:sqlite": "unreadable"}


def test_a_log_beside_an_sqlite_copy_is_no_part_of_the_release(folder: Path) -> None:
    """SQLite would read it with the file that was hashed: other rows than those that were checked."""
    (folder / "out.sqlite-wal").write_bytes(b"")
    assert forged(folder, "sqlite") == {"copy:sqlite": "unreadable"}


def test_nothing_is_made_beside_a_copy_that_is_read(folder: Path) -> None:
    """A file of SQLite that asks for a log is read without one."""
    with contextlib.closing(sqlite3.connect(folder / "out.sqlite")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    before = {path.name for path in folder.iterdir()}
    forged(folder, "sqlite")
    assert {path.name for path in folder.iterdir()} == before


def test_a_copy_that_cannot_be_read_here_is_not_called_wrong(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library that reads it the extra is named, exit code 4."""
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(MissingDependencyError, match=r"anonkit\[stats\]"):
        anonkit.validate(folder / "out.parquet")
