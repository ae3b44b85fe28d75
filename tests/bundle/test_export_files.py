"""Names that a database cannot hold are refused by name before it is touched; a target is spelled as a source is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from postgresql import Server

import anonkit
from anonkit.bundle.exports.export_files import Target
from anonkit.bundle.exports.opened_targets import ReleasedTable, form_of
from anonkit.errors import ParameterError, SourceError

SERVER = "postgresql://u@127.0.0.1:1/d"
SQLITE, DUCKDB = "sqlite:///{}/o.db", "duckdb:///{}/o.duckdb"
LONG = "ü" * 32
"""64 bytes in UTF-8."""


def refusal(target: str, names: list[str], folder: Path) -> ParameterError:
    """Return the refusal of an export of these columns; no server is contacted and no file made."""
    pq.write_table(pa.table([pa.array([1])] * len(names), names=names), folder / "release.parquet")
    rows = ReleasedTable(data=folder / "release.parquet")
    with closing(form_of(Target.of(target.format(folder)))) as form, pytest.raises(ParameterError) as caught:
        form.write(rows, {"params.json": b"{}"})
    assert {path.name for path in folder.iterdir()} == {"release.parquet"}
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("target", "names", "words"),
    [
        (SERVER, ["a", LONG], "64 bytes, PostgreSQL holds 63"),
        (SERVER, ["a", "xmin"], "column 'xmin' has the name of one that every table of PostgreSQL has"),
        (SERVER, [str(at) for at in range(1601)], "1601 columns, a table of PostgreSQL holds 1600"),
        (SQLITE, ["Age", "b", "age"], "column 'age' is to SQLite the same name as 'Age'"),
        (DUCKDB, ["Age", "b", "age"], "column 'age' is to DuckDB the same name as 'Age'"),
        (SQLITE, [str(at) for at in range(2001)], "2001 columns, a table of SQLite holds 2000"),
        *((one, ["a", ""], "column '' has no name") for one in (SERVER, SQLITE, DUCKDB)),
        *((one, ["a", "b\0c"], "U+0000 in its name") for one in (SERVER, SQLITE, DUCKDB)),
    ],
)
def test_columns_that_a_database_cannot_hold_are_refused_by_name(
    target: str, names: list[str], words: str, tmp_path: Path
) -> None:
    """Too long, of the system, too many, one name in two spellings, none, with U+0000: one line and a hint."""
    assert words in refusal(target, names, tmp_path).message


@pytest.mark.parametrize("target", [SQLITE, DUCKDB])
def test_names_that_a_database_distinguishes_are_kept(target: str, tmp_path: Path) -> None:
    """Capitals beyond A to Z, 300 letters, quotes, points, blanks."""
    names = ["Ä", "ä", "x" * 300, 'q"u.o te', "select"]
    pq.write_table(pa.table([pa.array([1])] * 5, names=names), tmp_path / "release.parquet")
    with closing(form_of(Target.of(target.format(tmp_path)))) as form:
        form.write(ReleasedTable(data=tmp_path / "release.parquet"), {})
        form.commit()
    with closing(form_of(Target.of(target.format(tmp_path)))) as form:
        assert [name for name, _ in form.columns()] == names


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (f"{SERVER}?table={'x' * 56}", "'" + "x" * 56 + "_anonkit' has a name of 64 bytes"),
        (f"{SERVER}?table={LONG}", "64 bytes"),
        (f"{SERVER}?table=t&schema={LONG}", "64 bytes"),
        (f"{SERVER}?table=a.b.c", "no schema that PostgreSQL writes to"),
        (f"{SERVER}?table=a.b&schema=c", "more than one schema"),
        (f"{SERVER}?table=a%00b", "U\\+0000"),
        ("sqlite:///o.db?table=SQLite_x", "keeps to itself"),
        ("sqlite:///o.db?table=temp.x", "no schema that SQLite writes to"),
        ("sqlite:///o.db?table=a%00b", "U\\+0000"),
        ("duckdb:///o.duckdb?table=a.b.c", "no schema that DuckDB writes to"),
        ("duckdb:///o.duckdb?table=%22%22", "not well-formed"),
        ("duckdb:///o.duckdb?table=a.", "not well-formed"),
    ],
)
def test_tables_that_a_database_cannot_hold_are_refused(given: str, words: str) -> None:
    """The table and the one of its sidecars, as soon as the address is read."""
    with pytest.raises(ParameterError, match=words) as caught:
        Target.of(given)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("given", "schema", "table"),
    [
        ("postgresql://h/d?table=People", None, "people"),
        ("postgresql://h/d?table=%22People%22", None, "People"),
        ("POSTGRES://h/d?table=Open.People", "open", "people"),
        ("postgresql://h/d?table=People&schema=Open", "open", "people"),
        ("postgresql://h/d?table=%22Odd.Schema%22.%22Odd%22%22Name%22", "Odd.Schema", 'Odd"Name'),
        ("postgresql://h/d?table=Odd%20name", None, "Odd name"),
        ("sqlite:///o.db?table=People", None, "People"),
        ("sqlite:///o.db?table=main.people", None, "people"),
        ("sqlite:///o.db?table=%22a.b%22", None, "a.b"),
        ("duckdb:///o.duckdb?table=open.people", "open", "people"),
    ],
)
def test_a_table_is_spelled_as_a_source_is(given: str, schema: str | None, table: str) -> None:
    """Schemas behind a point, quotes as in SQL, lower case in PostgreSQL."""
    target = Target.of(given)

    assert (target.schema, target.table) == (schema, table)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, made once."""
    out = tmp_path_factory.mktemp("names") / "out.parquet"
    table = anonkit.datasets.bank_customers(100, seed=2)
    anonkit.release(table, method="mondrian", k=5, target="customer_value", output=out, ledger=None)
    return out


ODD = ("People", "%22Odd.Name%22", "open.people", "%22Op%22%22en%22.%22P%22")


@pytest.mark.quick_cases("open.people")
@pytest.mark.parametrize("table", ODD)
def test_what_was_exported_is_read_under_the_same_address(table: str, release: Path, tmp_path: Path) -> None:
    """In SQLite and DuckDB."""
    if "." not in table or "Odd" in table:
        source = f"sqlite:///{tmp_path}/o.db?table={table}"
        anonkit.export(release, source)
        assert "customer_value" in anonkit.draft_policy(source)
    with closing(duckdb.connect(str(tmp_path / "o.duckdb"))) as base:
        base.execute('CREATE SCHEMA "open"; CREATE SCHEMA "Op""en"')
    source = f"duckdb:///{tmp_path}/o.duckdb?table={table}"
    anonkit.export(release, source)
    assert "customer_value" in anonkit.draft_policy(source)
    with pytest.raises(ParameterError, match="exists"):
        anonkit.export(release, source)


@pytest.mark.quick_cases("sqlite*")
@pytest.mark.parametrize("target", [SQLITE, DUCKDB])
def test_a_table_in_other_capitals_is_not_replaced_unasked(target: str, release: Path, tmp_path: Path) -> None:
    """To these databases it is the same table: it is there already, and stays."""
    place = target.format(tmp_path)
    kind = sqlite3 if target is SQLITE else duckdb
    with closing(kind.connect(place.partition(":///")[2])) as base:  # type: ignore[attr-defined]
        base.execute("CREATE TABLE Open (a INTEGER)")
        base.commit()
    with pytest.raises(ParameterError, match="exists"):
        anonkit.export(release, f"{place}?table=open")
    anonkit.export(release, f"{place}?table=open", force=True)
    with pytest.raises(ParameterError, match="exists"):
        anonkit.export(release, f"{place}?table=OPEN")


@pytest.mark.slow
def test_a_server_is_written_and_read_under_one_address(release: Path, postgresql: Server, tmp_path: Path) -> None:
    """Folded, in quotes, in a schema; a text with U+0000 is refused with its column, and no word of the text."""
    with closing(postgresql.connect()) as base:
        base.execute('CREATE SCHEMA "open"; CREATE SCHEMA "Op""en"')
    for table in (*ODD, "More&schema=Open"):
        source = f"{postgresql.address}?table={table}"
        anonkit.export(release, source)
        assert "customer_value" in anonkit.draft_policy(source)
    with pytest.raises(SourceError, match="no such table"):
        anonkit.draft_policy(f"{postgresql.address}?table=%22People%22")
    with closing(postgresql.connect()) as base:
        base.execute('DROP SCHEMA "open" CASCADE; DROP SCHEMA "Op""en" CASCADE')
        base.execute('DROP TABLE people, people_anonkit, "Odd.Name", "Odd.Name_anonkit"')
    pq.write_table(pa.table({"a": ["x"], "note": ["secret\0"]}), tmp_path / "release.parquet")
    form = form_of(Target.of(f"{postgresql.address}?table=nul"))
    with closing(form), pytest.raises(ParameterError, match="column 'note' has texts with U\\+0000") as caught:
        form.write(ReleasedTable(data=tmp_path / "release.parquet"), {})
    assert "secret" not in str(caught.value)
