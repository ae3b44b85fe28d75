"""DuckDB files: opened for reading alone, typed as DuckDB types them, without a way to other files."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import duckdb
import pytest
from engines.snapshots.live import quotes_nothing, read

from anonkit.errors import ParameterError, SourceError

MARKER = "a-cell-of-somebody"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A file with a table of many types and a view."""
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"""CREATE TABLE people AS SELECT 1::utinyint AS small, 12345678901234567890123::hugeint AS huge,
            1.50::decimal(12, 2) AS price, DATE '2020-02-29' AS day, '{MARKER}' AS words,
            'ok'::ENUM('sad', 'ok') AS mood,
            '10:00:00+01'::timetz AS clock, INTERVAL 1 DAY AS span, true AS truth, 0.1::double AS double,
            'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid AS id"""
        )
        connection.execute("INSERT INTO people (small, day, double) VALUES (2, 'infinity', 'nan')")
        connection.execute("INSERT INTO people (small, huge) VALUES (3, 12345678901234567890124)")
        connection.execute("CREATE VIEW smalls AS SELECT small FROM people")
        connection.execute('CREATE SCHEMA other; CREATE TABLE other."Odd.Name" AS SELECT 7 AS seven')
    return path


def _at(path: Path, table: str = "people") -> str:
    return f"duckdb:///{path}?table={table}"


def test_every_type_is_read_to_its_last_digit(people: Path) -> None:
    """Integers of 128 bits stay what they are, decimals too; what no other cell has is spelled as DuckDB does."""
    first, second, third = read(_at(people)).to_pylist()
    assert str(first.pop("price")) == "1.50"
    assert first == {
        "small": 1,
        "huge": "12345678901234567890123",
        "day": date(2020, 2, 29),
        "words": MARKER,
        "mood": "ok",
        "clock": "10:00:00+01",
        "span": "1 day",
        "truth": True,
        "double": 0.1,
        "id": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    }
    assert {name for name, cell in second.items() if cell is not None} == {"small"}
    assert third["huge"] == "12345678901234567890124"


def test_columns_whose_names_differ_in_capitals_alone_are_read_each_by_itself(people: Path) -> None:
    """A query may have them, though no table of DuckDB does."""
    alike = 'SELECT small AS "Age", small * 2 AS age, huge AS "AGE" FROM people ORDER BY 1'
    found = read(f"duckdb:///{people}", query=alike)
    assert found.column_names == ["Age", "age", "AGE"]
    assert found.column("Age").to_pylist() == [1, 2, 3]
    assert found.column("age").to_pylist() == [2, 4, 6]
    assert found.column("AGE").to_pylist()[0] == "12345678901234567890123"


def test_views_and_names_in_quotes_are_read(people: Path) -> None:
    """A view, and a table of another schema whose name has a dot."""
    assert read(_at(people, "smalls")).column("small").to_pylist() == [1, 2, 3]
    assert read(_at(people, "other.%22Odd.Name%22")).to_pylist() == [{"seven": 7}]
    assert read(f"duckdb:///{people}", query="FROM smalls WHERE small > 1 -- two").num_rows == 2


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT 1 AS a; DROP TABLE people", "not one SELECT"),
        ("COPY people TO 'x.csv'", "no SELECT"),
        ("SELECT * FROM read_csv('/etc/passwd')", "reads other files"),
        ("SELECT small, small FROM people", "columns 1 and 2 have the same name"),
        ("SELECT [1] AS a", "column 'a' has a DuckDB type"),
        ("SELECT {'b': 1} AS a", "column 'a' has a DuckDB type"),
        ("SELECT 'x'::blob AS a", "column 'a' has a DuckDB type"),
        ("SELECT words::integer AS a FROM people", "does not answer"),
        ("SELECT nothing FROM people", "no column"),
        ("SELECT * FROM nobody", "no such table"),
    ],
)
def test_no_other_statement_is_carried_out(people: Path, query: str, said: str) -> None:
    """A statement that changes data, reads another file, is no table of cells or fails is refused without a quote."""
    with pytest.raises((SourceError, ParameterError), match=said) as caught:
        read(f"duckdb:///{people}", query=query)
    quotes_nothing(caught.value, MARKER, "passwd")


@pytest.mark.slow
def test_nothing_is_shown_of_long_queries(people: Path) -> None:
    """Without a script, as in a notebook, DuckDB shows how far a query is, on stdout: not here."""
    code = (
        "import sys; from engines.snapshots.live import read; "
        "print(read(sys.argv[1], query=\"SELECT current_setting('enable_progress_bar') AS a\").to_pylist())"
    )
    tests = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code, f"duckdb:///{people}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(tests).parent), tests])},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[{'a': False}]\n"


def test_a_file_that_another_program_holds_is_refused(people: Path) -> None:
    """DuckDB lets one program write, or many read: exit 3 in one line that says so."""
    held = f"import duckdb; c = duckdb.connect({str(people)!r}); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", held], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "held\n"
        with pytest.raises(SourceError, match="locked by another program") as caught:
            read(_at(people))
        writer.communicate("\n")
    assert caught.value.exit_code == 3
    assert read(_at(people)).num_rows == 3


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """A file of another kind, and none."""
    (tmp_path / "text.duckdb").write_text("no database " * 999)
    for name, said in (("text.duckdb", "no DuckDB database"), ("none.duckdb", "does not exist")):
        with pytest.raises(SourceError, match=said):
            read(_at(tmp_path / name))
