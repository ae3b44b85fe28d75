"""`anonkit export`: only verified releases leave, whole or not at all, and no secret or cell is shown."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from postgresql import PASSWORD, QUOTED, Server

import anonkit
from anonkit.bundle.exports.export_files import Target
from anonkit.bundle.exports.opened_targets import ReleasedTable, form_of
from anonkit.bundle.exports.sheets import MOST_COLUMNS, MOST_LETTERS, MOST_ROWS
from anonkit.cli import anonkit as command_line
from anonkit.cli.boundary import run
from anonkit.errors import EngineError, GuaranteeError, MissingDependencyError, ParameterError
from anonkit.pipeline.exporting import validate_export
from anonkit.policy.declaration import Policy

TABLE = anonkit.datasets.bank_customers(300, seed=2)
FILES = ("out.csv", "out.tsv", "out.xlsx", "out.arrow", "out.feather")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, made once."""
    folder = tmp_path_factory.mktemp("kept")
    anonkit.release(TABLE, method="mondrian", k=5, target="customer_value", output=folder / "out.parquet", ledger=None)
    return folder


@pytest.fixture
def release(kept: Path, tmp_path: Path) -> Path:
    """A copy of the release that a test may change."""
    shutil.copytree(kept, tmp_path / "r")
    return tmp_path / "r" / "out.parquet"


def names(folder: Path) -> set[str]:
    """Everything in a folder, hidden things too."""
    return {path.name for path in folder.iterdir()}


@pytest.mark.quick_cases("out.csv")
@pytest.mark.parametrize("name", FILES)
def test_a_file_has_its_sidecars_beside_it(name: str, release: Path) -> None:
    """Params and report byte by byte, and a descriptor with the hash of each file; the release's own stay."""
    before = names(release.parent)

    made = anonkit.export(release, release.parent / name)

    added = {name, *(f"{name}.{sidecar}.json" for sidecar in ("params", "report", "datapackage"))}
    assert names(release.parent) == before | added
    for sidecar in ("params", "report"):
        copy = release.parent / f"{name}.{sidecar}.json"
        assert copy.read_bytes() == (release.parent / f"out.{sidecar}.json").read_bytes()
    described = json.loads((release.parent / f"{name}.datapackage.json").read_text())
    for resource in described["resources"]:
        assert resource["hash"] == f"sha256:{sha256((release.parent / resource['path']).read_bytes()).hexdigest()}"
    assert described["resources"][0]["path"] == name
    assert made.rows == pq.read_metadata(release).num_rows
    assert validate_export(release.parent / name, release).passed


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


@pytest.mark.parametrize("harm", ["changed", "sidecar", "seeded", "plain", "unreadable", "gone"])
def test_only_a_release_that_validates_leaves(harm: str, release: Path, tmp_path: Path) -> None:
    """A changed file, one that is not for release, a plain table, a damaged one: exit 1, nothing written."""
    if harm == "changed":
        table = pq.read_table(release)
        pq.write_table(table.slice(1), release)
    elif harm == "sidecar":
        report = release.with_suffix(".report.json")
        report.write_text(report.read_text().replace('"k": 5', '"k": 50', 1))
    elif harm == "seeded":
        shutil.rmtree(release.parent)
        release.parent.mkdir()
        anonkit.release(TABLE, method="mondrian", k=5, target="customer_value", output=release, seed=1, ledger=None)
    elif harm == "plain":
        for path in release.parent.glob("*.json"):
            path.unlink()
    elif harm == "unreadable":
        release.write_bytes(b"PAR1")
    else:
        release.unlink()
    before = names(tmp_path)

    with pytest.raises(ParameterError if harm == "gone" else GuaranteeError):
        anonkit.export(release, tmp_path / "new.csv")
    assert names(tmp_path) == before


def test_a_release_that_changed_while_it_was_exported_does_not_leave(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The validated files are those that are put in place."""
    from anonkit.bundle.exports.opened_targets import TextTable

    table, original = pq.read_table(release), TextTable.write

    def written(self: TextTable, rows: ReleasedTable, sidecars: Any) -> None:
        pq.write_table(table.slice(2), release)
        original(self, ReleasedTable(data=release), sidecars)

    monkeypatch.setattr(TextTable, "write", written)
    with pytest.raises(GuaranteeError, match="would not hold the release"):
        anonkit.export(release, tmp_path / "new.csv")
    assert names(tmp_path) == {"r"}


@pytest.mark.parametrize("target", ["o.csv", "o.xlsx", "sqlite:///{}/o.db", "duckdb:///{}/o.duckdb"])
def test_a_write_that_fails_midway_leaves_nothing(
    target: str, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk goes while rows are written: exit 3, and neither the file nor a part of it is there."""
    batches = ReleasedTable.batches

    def lost(self: ReleasedTable) -> Any:
        yield from batches(self)
        raise OSError(5, "secret")

    monkeypatch.setattr(ReleasedTable, "batches", lost)
    with pytest.raises(EngineError) as caught:
        anonkit.export(release, target.format(tmp_path) if "{}" in target else tmp_path / target)
    assert "secret" not in str(caught.value)
    assert names(tmp_path) == {"r"}


@pytest.mark.parametrize(
    ("given", "form"),
    [
        ("a.CSV", "csv"),
        ("a.duckdb", "duckdb"),
        ("duckdb:///a.duckdb", "duckdb"),
        ("sqlite:////tmp/a%20b.db?table=x", "sqlite"),
        ("postgres://u@h/d?table=x&schema=s&sslmode=require", "postgresql"),
    ],
)
def test_a_target_is_read(given: str, form: str) -> None:
    """A file by its suffix, a database by its scheme; parameters that are not about the table go to the server."""
    target = Target.of(given)

    assert target.form == form
    if form == "postgresql":
        assert (target.address, target.table, target.schema) == ("postgresql://u@h/d?sslmode=require", "x", "s")
    if form == "sqlite":
        assert target.path == Path("/tmp/a b.db")


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


@pytest.mark.parametrize(
    "given",
    ["out", "out.parquet", "out.txt", ".csv", "mysql://h/d", "sqlite://h/d", "sqlite:///", "duckdb:///a?x=1",
     "sqlite:///a.db?table=", "sqlite:///a.db?table=t_anonkit", "s3://bucket/a.csv"],
)  # fmt: skip
def test_what_is_no_target_is_refused(given: str) -> None:
    """With the forms that are known."""
    with pytest.raises(ParameterError):
        Target.of(given)


def test_an_address_is_never_shown_with_its_secret(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not in a `repr`, not in an error, not on the command line, whatever fails: exit 3 where no server is."""
    target = f"postgresql://owner:{QUOTED}@127.0.0.1:1/db?table=x"

    assert QUOTED not in repr(Target.of(target))
    for command in (["export", str(release), target], ["validate", target, "--against", str(release)]):
        for more in ([], ["--json"]):
            assert run(command_line, [*command, *more], "anonkit") == 3
            shown = "".join(capsys.readouterr())
            assert QUOTED not in shown
            assert PASSWORD not in shown


@pytest.mark.slow
def test_limits_of_a_sheet_are_refused_with_a_hint(tmp_path: Path) -> None:
    """Rows, columns, letters of a cell, control characters: before anything is put in place, the column named."""
    long = "x" * (MOST_LETTERS + 1)
    tables = {
        f"{MOST_ROWS} rows": pa.table({"a": pa.nulls(MOST_ROWS, pa.int8())}),
        f"{MOST_COLUMNS + 1} columns": pa.table({str(at): [1] for at in range(MOST_COLUMNS + 1)}),
        "'a'": pa.table({"a": [long]}),
        "column 'b'": pa.table({"b": ["secret\x01"]}),
        "name of column 1": pa.table({long: [1]}),
    }
    for words, table in tables.items():
        pq.write_table(table, tmp_path / "t.parquet")
        with (
            closing(form_of(Target.of(tmp_path / "t.xlsx"))) as form,
            pytest.raises(ParameterError, match=words) as caught,
        ):
            form.write(ReleasedTable(data=tmp_path / "t.parquet"), {"datapackage.json": b"{}"})
        assert "CSV" in str(caught.value)
        assert "secret" not in str(caught.value)
        assert names(tmp_path) == {"t.parquet"}
    emoji = "😀" * (MOST_LETTERS // 2)
    pq.write_table(pa.table({"a": [emoji, "x" * MOST_LETTERS]}), tmp_path / "t.parquet")
    with closing(form_of(Target.of(tmp_path / "t.xlsx"))) as form:
        form.write(
            ReleasedTable(data=tmp_path / "t.parquet"), {"datapackage.json": b'{"resources": [{"name": "data"}]}'}
        )


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


def test_a_missing_extra_is_named(release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 4 with the extra to install."""
    for module, target in (("xlsxwriter", str(tmp_path / "o.xlsx")), ("psycopg", "postgresql://h/d")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingDependencyError, match=r"anonkit\[(excel|postgres)\]"):
            anonkit.export(release, target)
    assert names(tmp_path) == {"r"}


def test_the_command_says_what_it_wrote(release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text, JSON and exit codes of export and of validate with --against; no other option goes with that one."""
    target = str(tmp_path / "o.csv")

    def done(*arguments: str) -> tuple[int, str]:
        return run(command_line, arguments, "anonkit"), capsys.readouterr().out

    code, text = done("export", str(release), target, "--json")
    assert (code, json.loads(text)["target"]) == (0, target)
    assert json.loads(text)["rows"] == pq.read_metadata(release).num_rows
    assert done("validate", target, "--against", str(release))[0] == 0
    lines = Path(target).read_text().splitlines(keepends=True)
    Path(target).write_text("".join(lines[:-1]))
    code, text = done("validate", target, "--against", str(release), "--json")
    assert code == 1
    assert "more or fewer rows" in text
    assert done("validate", target, "--against", str(release), "--k", "3")[0] == 2


@pytest.mark.slow
def test_a_killed_export_leaves_the_old_file_or_the_new_one(release: Path, tmp_path: Path) -> None:
    """Killed at any moment: what was there is there, or what was written is, whole; the next one tidies up."""
    target = tmp_path / "to" / "o.csv"
    target.parent.mkdir()
    anonkit.export(release, target)
    old = target.read_bytes()
    code = (
        "import sys, os, signal; from anonkit.bundle import atomic\n"
        "from anonkit.bundle.exports import export_files, text_tables\n"
        "import anonkit\n"
        "step = sys.argv[1]\n"
        "def die(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
        "if step == 'writing': export_files.ExportFile._described = die\n"
        "elif step == 'marking': atomic._sync = die\n"
        "else: atomic._replace = die\n"
        f"anonkit.export({str(release)!r}, {str(target)!r}, force=True)\n"
    )
    for step in ("writing", "marking", "renaming"):
        done = subprocess.run([sys.executable, "-c", code, step], capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert target.read_bytes() == old
        assert validate_export(target, release).passed
    anonkit.export(release, target, force=True)
    assert names(target.parent) == {"o.csv", *(f"o.csv.{one}.json" for one in ("params", "report", "datapackage"))}


# --- a server -----------------------------------------------------------------------------------------------------


def tables_of(server: Server) -> set[str]:
    """The tables of the public schema."""
    with closing(server.connect()) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    return {row[0] for row in rows}


def test_a_table_on_a_server_is_written_and_replaced_when_forced(release: Path, postgresql: Server) -> None:
    """With its sidecars in a table beside; what is there is not touched else."""
    target = f"{postgresql.address}?table=Odd%20name"

    made = anonkit.export(release, target)
    with pytest.raises(ParameterError, match="exists"):
        anonkit.export(release, target)
    anonkit.export(release, target, force=True)

    assert PASSWORD not in repr(made)
    assert QUOTED not in repr(made)
    assert {"Odd name", "Odd name_anonkit"} <= tables_of(postgresql)
    assert validate_export(target, release).passed
    with closing(postgresql.connect()) as connection:
        connection.execute('DELETE FROM "Odd name" WHERE ctid = (SELECT min(ctid) FROM "Odd name")')
        assert not validate_export(target, release).passed
        connection.execute('DROP TABLE "Odd name", "Odd name_anonkit"')


def test_a_table_that_is_read_halfway_can_be_closed(postgresql: Server, tmp_path: Path) -> None:
    """For any interruption of a comparison nothing waits for the rest of the rows, and no file remains."""
    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "t.parquet")
    form = form_of(Target.of(f"{postgresql.address}?table=halfway"))
    form.write(ReleasedTable(data=tmp_path / "t.parquet"), {})
    batches = form.batches()
    next(iter(batches))

    form.close()

    del batches
    assert "halfway" not in tables_of(postgresql)


def test_wrong_credentials_are_refused_without_being_shown(release: Path, postgresql: Server) -> None:
    """A wrong password, and none: exit 3."""
    for secret in (":wr%40ng", ""):
        target = f"postgresql://owner{secret}@127.0.0.1:{postgresql.port}/postgres?table=x"
        with pytest.raises(EngineError) as caught:
            anonkit.export(release, target)
        assert "wr" + "%40ng" not in str(caught.value)
        assert caught.value.exit_code == 3
    with pytest.raises(EngineError):
        anonkit.export(release, f"{postgresql.address}?table=x&schema=nowhere")


def test_a_connection_that_is_lost_midway_leaves_nothing(
    release: Path, postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends the session while rows are sent: exit 3, no table, and the old table stays where one was."""
    batches = ReleasedTable.batches

    def lost(self: ReleasedTable) -> Any:
        for number, batch in enumerate(batches(self)):
            yield batch
            with closing(postgresql.connect()) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = 'anonkit' AND pid <> pg_backend_pid()"
                )
            yield batch.slice(0, 0 if number else batch.num_rows)

    target = f"{postgresql.address}?table=lost"
    with monkeypatch.context() as patched:
        patched.setattr(ReleasedTable, "batches", lost)
        with pytest.raises(EngineError) as caught:
            anonkit.export(release, target)
    assert caught.value.exit_code == 3
    assert not tables_of(postgresql) & {"lost", "lost_anonkit"}
    anonkit.export(release, target)
    with monkeypatch.context() as patched:
        patched.setattr(ReleasedTable, "batches", lost)
        with pytest.raises(EngineError):
            anonkit.export(release, target, force=True)
    assert validate_export(target, release).passed
    with closing(postgresql.connect()) as connection:
        connection.execute("DROP TABLE lost, lost_anonkit")


def _marked(folder: Path, mark: str) -> Path:
    """Make a release whose cells can be found in the bytes of a file."""
    table = pa.table({"age": [20, 30] * 1000, "note": [f"{mark}{at % 5:03d}{'x' * 40}" for at in range(2000)]})
    policy = Policy.from_dict({"columns": {"age": {"role": "quasi_identifier"}, "note": {"role": "insensitive"}}})
    output = folder / f"{mark}.parquet"
    anonkit.release(table, method="mondrian", k=5, policy=policy, output=output, ledger=None)
    return output


@pytest.mark.slow_cases("duckdb-a file of ours", "duckdb-a file with another table")
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
