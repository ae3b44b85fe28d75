"""Whole tables for commands that open plain files themselves: a path stays a path, others are read."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pyarrow as pa

from anonkit.engines.snapshots.whole_tables import whole_table


def test_a_plain_file_stays_a_path_and_a_database_is_read(tmp_path: Path) -> None:
    """With an option of how to read it, a file is read too."""
    path, database = tmp_path / "in.csv", tmp_path / "people.db"
    path.write_text("a;b\n1;x\n2;y\n")
    assert whole_table(str(path)) == str(path)
    read = whole_table(str(path), delimiter=";")
    assert isinstance(read, pa.Table)
    assert read.column_names == ["a", "b"]
    with sqlite3.connect(database) as connection:
        connection.execute("create table people (a integer)")
        connection.execute("insert into people values (1), (2)")
    rows = whole_table(f"sqlite:///{database}?table=people")
    assert isinstance(rows, pa.Table)
    assert rows.column("a").to_pylist() == [1, 2]
