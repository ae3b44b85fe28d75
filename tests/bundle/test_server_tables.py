"""Tables on a server: whole or not at all, closed halfway, and no secret shown."""

from __future__ import annotations

from contextlib import closing
from datetime import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from postgresql import PASSWORD, QUOTED, Server

import anonkit
from anonkit.bundle.exports.export_files import Target
from anonkit.bundle.exports.opened_targets import ReleasedTable, form_of
from anonkit.bundle.exports.server_tables import DUCKDB, POSTGRESQL, SQLITE, exported_type, sql_type
from anonkit.errors import EngineError, ParameterError
from anonkit.pipeline.exporting import validate_export
from tests.bundle.test_opened_targets import OF_DAY, failed, written


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


def test_a_server_holds_times_of_day(tmp_path: Path, postgresql: Server) -> None:
    """As times without a zone; nanoseconds are cut there as everywhere."""
    place, rows = written(tmp_path, pa.table(OF_DAY), f"{postgresql.address}?table=times_of_day")

    with closing(form_of(Target.of(place))) as form:
        assert failed(form, rows) == []
    with closing(postgresql.connect()) as base:
        assert base.execute("SELECT nanos FROM times_of_day OFFSET 1 LIMIT 1").fetchone() == (time(0, 0, 0, 1),)
        base.execute("DROP TABLE times_of_day, times_of_day_anonkit")


KINDS = (
    pa.bool_(), pa.int8(), pa.uint16(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.date32(),
    pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.time64("us"), pa.decimal128(9, 2),
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_type_of_duckdb_is_read_back_as_it_was(kind: pa.DataType) -> None:
    """By DuckDB itself; each database has a name for each type that leaves."""
    with closing(duckdb.connect()) as base:
        base.execute(f"CREATE TABLE t (a {sql_type(kind, DUCKDB)})")
        (read,) = base.sql("SELECT a FROM t").to_arrow_table().schema.types
    assert exported_type("a", read) == kind
    assert sql_type(kind, SQLITE)
    assert sql_type(kind, POSTGRESQL)


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        (pa.dictionary(pa.int8(), pa.large_string()), pa.string()),
        (pa.date64(), pa.date32()),
        (pa.timestamp("ns", "Europe/Berlin"), pa.timestamp("us", "UTC")),
        (pa.time32("s"), pa.time64("us")),
        (pa.null(), pa.string()),
    ],
)
def test_a_type_leaves_as_one_that_all_forms_have(kind: pa.DataType, left: pa.DataType) -> None:
    """Strings for categories, days for dates, microseconds for times; of others only Parquet has them."""
    assert exported_type("a", kind) == left
    for unknown in (pa.list_(pa.int8()), pa.binary()):
        with pytest.raises(ParameterError, match="'a' is of type"):
            exported_type("a", unknown)
