"""Tables, views and queries of a real PostgreSQL server: right to the digit, once, and without a word of the server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from pathlib import Path

import pytest
from engines.snapshots.live import quotes_nothing, read
from postgresql import PASSWORD, QUOTED, Server

from anonkit.engines.snapshots.addresses import address_of
from anonkit.engines.snapshots.postgresql_tables import live_table
from anonkit.errors import ParameterError, SourceError
from anonkit.policy.declaration import Policy

MARKER = "a-cell-of-somebody"
SECRETS = (MARKER, MARKER.replace("-", "_"), PASSWORD, QUOTED, "a-wrong-secret", "DROP TABLE", "50000")


@pytest.fixture(scope="module")
def server(postgresql: Server) -> Server:
    """The server, with tables to be read."""
    with postgresql.connect() as connection:
        for statement in (
            "DROP SCHEMA IF EXISTS live CASCADE",
            "CREATE SCHEMA live",
            "CREATE TYPE live.mood AS ENUM ('sad', 'ok')",
            "CREATE DOMAIN live.age AS integer CHECK (VALUE > 0)",
            """CREATE TABLE live.typed (small int2, whole int4, large int8, single float4, double float8, truth bool,
               words text, short varchar(20), padded char(5), day date, clock time, moment timestamp,
               zoned timestamptz, free numeric, price numeric(12, 2), salary money, number oid, mood live.mood,
               age live.age, id uuid, place inet, span interval)""",
            f"""INSERT INTO live.typed VALUES (1, 2, 9223372036854775807, 1.5, 0.1, true, '{MARKER}', 'x', 'ab',
               '2020-02-29', '12:30', '2020-02-29 12:30', '2020-02-29 12:30+02', 12345678901234567890, 1.50, 12.5,
               4000000000, 'ok', 3, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '10.0.0.1', '1 day')""",
            """INSERT INTO live.typed (small, day, clock, moment, zoned, free, double, single) VALUES (2, 'infinity',
               '24:00', '-infinity', 'infinity', 'NaN', 'NaN', 'NaN')""",
            "INSERT INTO live.typed (small, free) VALUES (3, 12345678901234567891)",
            "CREATE VIEW live.grown AS SELECT words, age FROM live.typed WHERE age IS NOT NULL",
            'CREATE TABLE live."Odd.Name" ("A ""quoted"" column" integer)',
            'INSERT INTO live."Odd.Name" VALUES (7)',
            'CREATE TABLE live."user" (a integer)',
            'INSERT INTO live."user" VALUES (5)',
            f"CREATE TABLE live.many AS SELECT g AS id, '{MARKER}' || repeat('x', 200) AS words"
            " FROM generate_series(1, 60000) g",
        ):
            connection.execute(statement)
    return postgresql


def _at(server: Server, table: str) -> str:
    return f"{server.address}?table={table}"


def test_every_type_is_read_to_its_last_digit(server: Server) -> None:
    """Numbers of 20 digits stay two numbers, a zone becomes UTC, money is no count of cents."""
    first, second, third = read(_at(server, "live.typed")).to_pylist()
    assert first == {
        "small": 1,
        "whole": 2,
        "large": 9223372036854775807,
        "single": 1.5,
        "double": 0.1,
        "truth": True,
        "words": MARKER,
        "short": "x",
        "padded": "ab",
        "day": date(2020, 2, 29),
        "clock": time(12, 30),
        "moment": datetime(2020, 2, 29, 12, 30),
        "zoned": datetime(2020, 2, 29, 10, 30, tzinfo=UTC),
        "free": "12345678901234567890",
        "price": 1.5,
        "salary": 12.5,
        "number": 4_000_000_000,
        "mood": "ok",
        "age": 3,
        "id": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "place": "10.0.0.1/32",
        "span": "P1D",
    }
    assert {name for name, cell in second.items() if cell is not None} == {"small"}
    assert third["free"] == "12345678901234567891"


def test_types_hold_where_every_cell_is_missing(server: Server) -> None:
    """A column's type is the server's: it does not depend on the rows that are read."""
    rows = "SELECT small, whole, day, free FROM live.typed WHERE small = {}"
    all_missing, filled = (read(server.address, query=rows.format(n)) for n in (2, 1))
    assert [str(kind) for kind in all_missing.schema.types[:3]] == ["int16", "int32", "date32[day]"]
    assert all_missing.schema.types[:3] == filled.schema.types[:3]


@pytest.mark.quick_cases("LIVE.Grown-rows1", "%22live%22.%22user%22-rows3", "live.%22Odd.Name%22-rows2")
@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("live.grown", [{"words": MARKER, "age": 3}]),
        ("LIVE.Grown", [{"words": MARKER, "age": 3}]),
        ("live.%22Odd.Name%22", [{'A "quoted" column': 7}]),
        ("%22live%22.%22user%22", [{"a": 5}]),
        ("live.user", [{"a": 5}]),
    ],
)
def test_tables_are_named_as_in_sql(server: Server, table: str, rows: list[dict[str, object]]) -> None:
    """A view, a schema, names in quotes, a table that is called as a keyword; names without quotes fold."""
    assert read(_at(server, table)).to_pylist() == rows


@pytest.mark.parametrize(
    "query",
    ["SELECT a FROM live.user;", "/* all */ SELECT a FROM live.user -- of them", "WITH x AS (SELECT 5 AS a) TABLE x"],
)
def test_a_query_is_read_in_place_of_a_table(server: Server, query: str) -> None:
    """One SELECT statement, with comments and a semicolon as people write them."""
    assert read(server.address, query=query).to_pylist() == [{"a": 5}]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("DELETE FROM live.user", "no SELECT"),
        ("SELECT 1 AS a; DROP TABLE live.user", "one SELECT statement"),
        ("SELECT 1) AS x; DROP TABLE live.user; SELECT * FROM (SELECT 1", "one SELECT statement"),
        ("WITH x AS (DELETE FROM live.user RETURNING a) SELECT * FROM x", "changes something|more than a SELECT"),
        ("SELECT nextval('live.numbers') AS a", "changes something|more than a SELECT"),
        ("SELECT a, a FROM live.user", "columns 1 and 2 have the same name"),
        ('SELECT a AS x, a AS "x" FROM live.user', "columns 1 and 2 have the same name"),
        ("SELECT '\\x00'::bytea AS a", "column 'a' has a PostgreSQL type"),
        ("SELECT '{}'::json AS a", "column 'a' has a PostgreSQL type"),
        pytest.param("SELECT '<a/>'::xml AS a", "column 'a' has a PostgreSQL type", marks=pytest.mark.slow),
        ("SELECT ARRAY[1] AS a", "column 'a' has a PostgreSQL type"),
        pytest.param("SELECT ARRAY['ok'::live.mood] AS a", "column 'a' has a PostgreSQL type", marks=pytest.mark.slow),
        pytest.param("SELECT int4range(1, 2) AS a", "column 'a' has a PostgreSQL type", marks=pytest.mark.slow),
        pytest.param("SELECT point(1, 2) AS a", "column 'a' has a PostgreSQL type", marks=pytest.mark.slow),
        pytest.param("SELECT ROW(1, 2) AS a", "column 'a' has a PostgreSQL type", marks=pytest.mark.slow),
        (f"SELECT '{MARKER}'::integer AS a", "failed on what the query computes"),
        ("SELECT words::integer AS a FROM live.typed", "ended before the last row"),
        ("SELECT 1 / (id - 50000) AS a, words FROM live.many", "ended before the last row"),
        (f"SELECT {MARKER.replace('-', '_')} FROM live.user", "no column"),
        ("SELECT * FROM live.nobody", "no such table"),
    ],
)
def test_no_other_statement_is_carried_out(server: Server, query: str, said: str) -> None:
    """A statement that changes, that is two, whose columns are no cells or that fails is refused; nothing is quoted."""
    with server.connect() as connection:
        connection.execute("CREATE SEQUENCE IF NOT EXISTS live.numbers")
    with pytest.raises((SourceError, ParameterError), match=said) as caught:
        read(server.address, query=query)
    quotes_nothing(caught.value, *SECRETS)
    assert read(_at(server, "live.user")).num_rows == 1


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda a, s: a.replace(QUOTED, "a-wrong-secret"), "refuses the user or the password"),
        (lambda a, s: a.replace("owner:", "nobody:"), "refuses the user or the password"),
        (lambda a, s: a.replace("/postgres", "/nothing"), "no database of this name"),
        (lambda a, s: a.replace(str(s.port), "1"), "cannot be reached"),
        (lambda a, s: a.replace("127.0.0.1", "nowhere.invalid"), "cannot be reached"),
        (lambda a, s: f"{a}&sslmode=require", "encrypted connection"),
        (lambda a, s: f"{a}&nonsense=1", "not well-formed"),
    ],
)
def test_why_a_server_is_not_read_is_reported(server: Server, edit: object, said: str) -> None:
    """Bad credentials, no database, no server, no encryption, no such setting: one line each, without the password."""
    with pytest.raises(SourceError, match=said) as caught:
        read(edit(_at(server, "live.user"), server))  # type: ignore[operator]
    quotes_nothing(caught.value, *SECRETS)


def test_a_table_that_a_role_may_not_read_is_refused(server: Server) -> None:
    """The server's own rights decide, and its words are not repeated."""
    with server.connect() as connection:
        connection.execute("DROP ROLE IF EXISTS stranger")
        connection.execute("CREATE ROLE stranger LOGIN PASSWORD 'a-wrong-secret'")
        connection.execute("GRANT USAGE ON SCHEMA live TO stranger")
    address = _at(server, "live.typed").replace(f"owner:{QUOTED}", "stranger:a-wrong-secret")
    with pytest.raises(SourceError, match="does not allow this user") as caught:
        read(address)
    quotes_nothing(caught.value, *SECRETS)


def test_a_password_comes_from_the_driver_s_own_places(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PGPASSWORD and the password file serve an address without a password."""
    bare = _at(server, "live.user").replace(f":{QUOTED}", "")
    with pytest.raises(SourceError, match="refuses the user or the password"):
        read(bare)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert read(bare).num_rows == 1
    monkeypatch.delenv("PGPASSWORD")
    keys = tmp_path / "passwords"
    escaped = PASSWORD.replace("\\", "\\\\").replace(":", "\\:")
    keys.write_text(f"127.0.0.1:{server.port}:postgres:owner:{escaped}\n", encoding="utf-8")
    keys.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(keys))
    assert read(bare).num_rows == 1


def test_what_is_written_meanwhile_is_not_seen(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows are those of one state: a writer who commits after the first batch changes none of them."""
    changed = ("UPDATE live.many SET id = -id", "DELETE FROM live.many WHERE id < -9")
    _meanwhile(monkeypatch, lambda: _execute(server, *changed))
    try:
        table = read(server.address, query="SELECT * FROM live.many")
    finally:
        _execute(server, "DROP TABLE live.many", _MANY)
    assert table.num_rows == 60_000
    assert min(table.column("id").to_pylist()) == 1


_MANY = (
    f"CREATE TABLE live.many AS SELECT g AS id, '{MARKER}' || repeat('x', 200) AS words"
    " FROM generate_series(1, 60000) g"
)


def test_a_connection_that_is_lost_midway_leaves_nothing(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends the session after the first batch: a refusal, and the private copy is deleted."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'anonkit'"
    _meanwhile(monkeypatch, lambda: _execute(server, ended))
    with pytest.raises(SourceError, match="was lost before the last row") as caught:
        read(_at(server, "live.many"))
    quotes_nothing(caught.value, *SECRETS)
    assert list(tmp_path.iterdir()) == []


def _execute(server: Server, *statements: str) -> None:
    with server.connect() as connection:
        for statement in statements:
            connection.execute(statement)


def _meanwhile(monkeypatch: pytest.MonkeyPatch, action: object) -> None:
    """Let something happen after the first batch was read, and before the others are."""
    from anonkit.engines.snapshots import postgresql_tables

    written = postgresql_tables.written_copy

    def interrupted(batches: Iterator[object], *others: object) -> object:
        def late() -> Iterator[object]:
            yield next(batches)
            action()  # type: ignore[operator]
            yield from batches

        return written(late(), *others)  # type: ignore[arg-type]

    monkeypatch.setattr(postgresql_tables, "written_copy", interrupted)


def test_an_address_shows_no_password(server: Server) -> None:
    """Neither the table nor what made it shows a secret of its address."""
    table = live_table(address_of(f"{server.address}?table=a&password={QUOTED}"), Policy())
    for shown in (repr(table), str(table), repr(table.address)):
        assert QUOTED not in shown
        assert PASSWORD not in shown


@pytest.mark.parametrize("how", [{}, {"query": "SELECT 1 AS a", "table": "people"}])
def test_a_table_or_a_query_is_required(server: Server, how: dict[str, str]) -> None:
    """Neither is refused, and so are both."""
    table = how.pop("table", None)
    with pytest.raises(ParameterError, match=r"names (no|more than one) table"):
        read(server.address + (f"?table={table}" if table else ""), **how)
