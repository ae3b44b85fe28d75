"""SQLite files: every cell by itself, one state of a file that others write to, and nothing but SELECT."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from engines.snapshots.live import quotes_nothing, read
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.engines.snapshots import sqlite_files
from anonkit.errors import AnonkitError, ParameterError, SourceError
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy

MARKER = "a-cell-of-somebody"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A file with a table and a view."""
    path = tmp_path / "people.db"
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER, "zip code" TEXT, share REAL)')
        rows = [(1, 30, "01234", 0.1), (2, 41, "01234", 1e22), (3, None, "99999", None)]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
        connection.execute("CREATE VIEW ages AS SELECT age FROM people")
    connection.close()
    return path


def _at(path: Path, table: str = "people") -> str:
    return f"sqlite:///{path}?table={table}"


def test_a_table_is_read_as_a_text_file_would_be(people: Path) -> None:
    """Integers, numbers with all their digits, zip codes that stay texts, missing cells."""
    table = read(_at(people))
    assert table.to_pydict() == {
        "id": [1, 2, 3],
        "age": [30, 41, None],
        "zip code": ["01234", "01234", "99999"],
        "share": [0.1, 1e22, None],
    }
    assert table.schema.field("age").type == pa.int64()


@pytest.mark.slow
def test_a_word_far_down_a_column_of_numbers_is_read(people: Path) -> None:
    """A driver that types a column by its first rows loses the cell, or fails: here the column is one of texts."""
    with sqlite3.connect(people) as connection:
        connection.executemany("INSERT INTO people (age) VALUES (?)", [(40,)] * 100_000)
        connection.execute(f"INSERT INTO people (age) VALUES ('{MARKER}')")
    connection.close()
    ages = read(_at(people)).column("age").to_pylist()
    assert ages[0] == "30"
    assert ages[-1] == MARKER


@settings(max_examples=20)
@given(
    cells=st.lists(
        st.none()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)
        | st.binary(),
        max_size=20,
    )
)
def test_no_cell_changes_what_another_one_says(tmp_path_factory: pytest.TempPathFactory, cells: list[object]) -> None:
    """Each cell is the text that it is alone in its column, whatever is above and below it."""
    path = tmp_path_factory.mktemp("cells") / "cells.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, cell)")
        connection.executemany("INSERT INTO t (cell) VALUES (?)", [(cell,) for cell in cells])
    connection.close()
    policy = Policy(columns={"cell": Column(name="cell", type="string")}, missing_values=())
    together = read(_at(path, "t"), policy).column("cell").to_pylist()
    assert together == [_alone(cell) for cell in cells]


def _alone(cell: object) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    return f"x'{cell.hex().upper()}'" if isinstance(cell, bytes) else repr(cell)


def test_text_that_is_no_utf8_is_its_own_cell_s_matter(people: Path) -> None:
    """The driver would refuse the table, and quote the cell."""
    with sqlite3.connect(people) as connection:
        connection.execute("INSERT INTO people VALUES (4, 1, CAST(x'61FF' AS TEXT), 1)")
    connection.close()
    assert read(_at(people)).column("zip code").to_pylist()[-1] == "a\ufffd"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"query": "DELETE FROM people"}, "no SELECT"),
        ({"query": "SELECT 1 AS a; DELETE FROM people"}, "one SELECT"),
        ({"query": "WITH x AS (SELECT 1) DELETE FROM people"}, "may only be read"),
        ({"query": "SELECT age, age FROM people"}, "columns 1 and 2 have the same name"),
        ({"query": "SELECT load_extension('x') AS a"}, "may only be read|does not answer"),
        ({"query": "SELECT absent FROM people"}, "no column"),
        ({"query": f"SELECT json_extract('{MARKER}', '$') AS a"}, "does not answer"),
        ({"table": "nobody"}, "no such table"),
        ({"table": 'a"b'}, "not well-formed"),
        ({"table": "people&query=x"}, "not known .query."),
        ({}, "names no table"),
        ({"table": "people", "query": "SELECT 1 AS a"}, "more than one table"),
        ({"table": "people", "sheet": "x"}, "sheet means nothing"),
    ],
)
def test_what_is_not_read_is_refused_in_one_line(people: Path, how: dict[str, str], said: str) -> None:
    """Statements that change, names that are not there, options that mean nothing; and the rows are still there."""
    how = dict(how)
    table = how.pop("table", None)
    with pytest.raises((SourceError, ParameterError), match=said) as caught:
        read(f"sqlite:///{people}" + (f"?table={table}" if table else ""), **how)
    quotes_nothing(caught.value, MARKER)
    assert read(_at(people)).num_rows == 3


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "does not exist"), (b"no database " * 99, "no SQLite database"), (b"cut", "damaged")],
)
def test_a_file_that_is_no_database_is_refused(people: Path, content: bytes | None, said: str) -> None:
    """A file that is absent is not made, one of another kind and one that was cut are distinguished from it."""
    if content == b"cut":
        people.write_bytes(people.read_bytes()[:5000])
    elif content is not None:
        people.write_bytes(content)
    else:
        people.unlink()
    with pytest.raises(SourceError, match=said):
        read(_at(people))
    assert people.exists() == (content is not None)


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_one_state_is_read_while_others_write(people: Path, monkeypatch: pytest.MonkeyPatch, journal: str) -> None:
    """With a write-ahead log the writer goes on and is not seen; without one it has to wait."""
    monkeypatch.setattr(sqlite_files, "_ROWS", 1)
    writer = sqlite3.connect(people, timeout=0, isolation_level=None)
    writer.execute(f"PRAGMA journal_mode = {journal}")
    written = sqlite_files.written_copy
    waited = []

    def interrupted(batches: Iterator[pa.RecordBatch], *others: object) -> object:
        def late() -> Iterator[pa.RecordBatch]:
            yield next(batches)
            yield next(batches)
            try:
                writer.execute("DELETE FROM people WHERE id > 1")
            except sqlite3.OperationalError:
                waited.append(True)
            yield from batches

        return written(late(), *others)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite_files, "written_copy", interrupted)
    assert read(_at(people)).column("id").to_pylist() == [1, 2, 3]
    writer.close()
    assert waited == ([True] if journal == "delete" else [])


def test_a_file_that_a_writer_holds_is_refused(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 3 in one line, and no wait without end."""
    monkeypatch.setattr(sqlite_files, "_PATIENCE", 0.0)
    writer = sqlite3.connect(people, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(SourceError, match="locked by a program") as caught:
        read(_at(people))
    writer.close()
    assert caught.value.exit_code == 3
    assert isinstance(caught.value, AnonkitError)


def test_views_and_odd_names_are_read(people: Path) -> None:
    """A view as a table; names are found whatever their case, as SQLite does."""
    assert read(_at(people, "ages")).column_names == ["age"]
    assert read(_at(people, "main.PEOPLE")).num_rows == 3
