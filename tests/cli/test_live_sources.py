"""Databases and lakes at the command line: the same release from everywhere, no output of a password or a cell."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from cli.conftest import table_text
from deltalake import DeltaTable, write_deltalake
from postgresql import PASSWORD, QUOTED, Server

import anonkit
from anonkit.engines.snapshots import postgresql_tables
from anonkit.ledger import Ledger
from anonkit.ledger.booked_releases import ReleaseState
from anonkit.ledger.ledger_place import users_ledger
from anonkit.policy.declaration import Policy

SECRETS = (PASSWORD, QUOTED, "an-owner", "a-query-of-somebody")
GONE = "Person 999"
ROWS = 120


def _rows() -> pa.Table:
    return pacsv.read_csv(pa.py_buffer(table_text(ROWS).encode()))


@pytest.fixture
def places(tmp_path: Path, postgresql: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """One table in every place; where a place can delete, somebody was deleted from it."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    rows = _rows()
    more = pa.concat_tables([rows, pa.Table.from_pylist([{**rows.to_pylist()[0], "name": GONE}], rows.schema)])
    columns = "name text, age integer, zip integer, sex text, illness text, income text"
    cells = [tuple(row.values()) for row in more.to_pylist()]
    Path("people.csv").write_text(table_text(ROWS))
    with sqlite3.connect("people.db") as lite:
        lite.execute(f"CREATE TABLE people ({columns})")
        lite.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", cells)
        lite.execute(f"DELETE FROM people WHERE name = '{GONE}'")
    lite.close()
    with duckdb.connect("people.duckdb") as duck:
        duck.register("rows", more)
        duck.execute("CREATE TABLE people AS FROM rows")
        duck.execute(f"DELETE FROM people WHERE name = '{GONE}'")
    write_deltalake("people_delta", more)
    DeltaTable("people_delta").delete(f"name = '{GONE}'")
    with postgresql.connect() as server:
        server.execute(f"DROP TABLE IF EXISTS people; CREATE TABLE people ({columns})")
        with server.cursor() as cursor, cursor.copy("COPY people FROM STDIN") as copy:
            for row in cells:
                copy.write_row(row)
        server.execute(f"DELETE FROM people WHERE name = '{GONE}'")
    yield {
        "csv": "people.csv",
        "sqlite": "sqlite:///people.db?table=people",
        "duckdb": "duckdb:///people.duckdb?table=people",
        "delta": "people_delta",
        "postgresql": f"{postgresql.address}?table=people",
    }
    with postgresql.connect() as server:
        server.execute("DROP TABLE people")
    assert list((tmp_path / "tmp").iterdir()) == []


POLICY = {
    "columns": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi_identifier"},
        "zip": {"role": "quasi_identifier"},
        "sex": {"role": "quasi_identifier"},
        "illness": {"role": "sensitive"},
        "income": {"role": "target"},
    }
}


@pytest.mark.slow
def test_the_same_table_is_the_same_release_wherever_it_stands(places: dict[str, str]) -> None:
    """Seeded releases of a file, three databases and a lake hold the same rows: nobody who was deleted is counted."""
    tables = {}
    for kind, place in places.items():
        release = anonkit.release(place, method="mondrian", k=3, policy=Policy.from_dict(POLICY), seed=1)
        assert release.report["rows"]["in"] == ROWS
        tables[kind] = sorted(map(str, release.to_arrow().to_pylist()))
    assert all(rows == tables["csv"] for rows in tables.values())


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix != ".duckdb":
            yield path.name, path.read_bytes().decode("utf-8", "replace")


def _is_silent(cli: Any, commands: Iterable[tuple[object, ...]]) -> None:
    """Run commands that end well, and search all that they printed and wrote for a secret."""
    for args in commands:
        ran = cli(*args)
        assert ran.code == 0, (args[0], ran.err)
        assert not [secret for secret in SECRETS if secret in ran.out + ran.err], args[0]
    shown = [name for name, text in _texts(Path()) if any(secret in text for secret in SECRETS)]
    assert shown in ([], ["recipe.toml"])  # the owner wrote it


QUERY = ("--query", "SELECT * FROM people WHERE name <> 'a-query-of-somebody'")
MONDRIAN = ("release", "--method", "mondrian", "--k", "3", "--policy", "policy.toml")


@pytest.mark.slow
def test_a_policy_and_a_release_come_from_an_address(cli: Any, places: dict[str, str]) -> None:
    """init, release and validate, from a table and from a query: no file and no line shows password or query."""
    place = places["postgresql"]
    commands = (
        ("init", place, "--target", "income"),
        (*MONDRIAN, place, "out.parquet"),
        (*MONDRIAN, *QUERY, place.partition("?")[0], "part.parquet"),
        ("validate", "out.parquet"),
    )
    _is_silent(cli, commands)
    assert pq.read_table("part.parquet").num_rows == ROWS


@pytest.mark.slow
def test_every_command_takes_the_address_of_a_database(cli: Any, places: dict[str, str]) -> None:
    """audit, apply, compare and run too."""
    place = places["postgresql"]
    recipe = f'method = "mondrian"\ninput = "{place}"\npolicy = "policy.toml"\noutput = "again.parquet"\n'
    Path("recipe.toml").write_text(f"{recipe}\n[parameters]\nk = 3\n")
    few = ("--attacks", "20")
    commands = (
        ("init", place, "--target", "income"),
        (*MONDRIAN, place, "out.parquet"),
        ("audit", "out.parquet", "--original", place, *few),
        ("audit", "out.parquet", "--original", place.partition("?")[0], *QUERY, *few),
        ("apply", "out.params.json", place, "batch.parquet"),
        ("compare", place, "--policy", "policy.toml", "--target", "income", "--methods", "mondrian", "--k", "3", *few),
        ("run", "recipe.toml"),
    )
    _is_silent(cli, commands)


def test_nothing_is_spent_when_the_connection_is_lost(
    cli: Any, places: dict[str, str], postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 3, no file, no row left behind, and no budget charged; the next call is the first release."""
    written = postgresql_tables.written_copy
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'anonkit'"

    def interrupted(batches: Iterator[pa.RecordBatch], *others: Any) -> Any:
        def late() -> Iterator[pa.RecordBatch]:
            yield next(batches)
            with postgresql.connect() as server:
                server.execute(ended)
            yield from batches

        return written(late(), *others)

    Path("dp.toml").write_text(
        'dataset = "people"\n[columns]\nage = { role = "quasi_identifier", type = "integer", bounds = [20, 60] }\n'
        'income = { role = "target", categories = ["low", "high"] }\nwords = { role = "identifier" }\n'
    )
    rows = "SELECT 20 + g % 40 AS age, 'low' AS income, repeat('x', 250) AS words FROM generate_series(1, {}) g"
    release = ("release", "--method", "dp-nb", "--epsilon", "1", "--policy", "dp.toml", "--query")
    bare = places["postgresql"].partition("?")[0]
    with monkeypatch.context() as patched:
        patched.setattr(postgresql_tables, "written_copy", interrupted)
        ran = cli(*release, rows.format(60_000), bare, "dp.parquet")
    assert ran.code == 3, ran.err
    assert "was lost before the last row" in ran.err
    assert not [secret for secret in SECRETS if secret in ran.out + ran.err]
    assert not list(Path().glob("dp.p*t")) + list(Path().glob("dp.*.json"))
    assert cli(*release, rows.format(600), bare, "dp.parquet").code == 0
    (entry,) = Ledger(users_ledger()).standing("people").entries
    assert entry.state is ReleaseState.COMMITTED
