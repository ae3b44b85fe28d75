# SPDX-License-Identifier: Apache-2.0
"""Scans of one process: they share a database, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from shutil import rmtree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.checks.table_scans import scanned
from anonkit.errors import EngineError


def _sum(table: pa.Table | Path) -> int:
    with scanned(table) as (connection, source):
        return int(connection.execute(f"SELECT sum(n) FROM {source}").fetchone()[0])


def test_scans_side_by_side_see_their_own_tables() -> None:
    """Two tables in memory are under one name in two scans, and a table that one makes is not there in the other."""
    with scanned(pa.table({"n": [1, 2]})) as (one, first), scanned(pa.table({"n": [30]})) as (other, second):
        one.execute("CREATE TEMP TABLE found AS SELECT 1 AS n")

        assert one.execute(f"SELECT sum(n) FROM {first}").fetchone() == (3,)
        assert other.execute(f"SELECT sum(n) FROM {second}").fetchone() == (30,)
        tables = "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'found'"
        assert other.execute(tables).fetchone() == (0,)


def test_a_file_is_read_as_it_is_now(tmp_path: Path) -> None:
    """A file of the same name, size and time with other cells is no file that was read before."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"n": [1, 2, 3]}), path, compression="none", use_dictionary=False)
    state = path.stat()
    before = _sum(path)
    pq.write_table(pa.table({"n": [1, 2, 4]}), path, compression="none", use_dictionary=False)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))

    assert path.stat().st_size == state.st_size
    assert (before, _sum(path)) == (6, 7)


def test_a_failed_scan_leaves_no_trace(tmp_path: Path) -> None:
    """An unreadable table is refused, and the next scan counts."""
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"no Parquet")
    with pytest.raises(EngineError):
        _sum(path)

    assert _sum(pa.table({"n": [5]})) == 5


def test_want_of_memory_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count for which memory and temporary files do not do says so, and not that a column is missing."""
    monkeypatch.setattr("anonkit.checks.table_scans._MEMORY", "1MB")
    monkeypatch.setattr("anonkit.checks.table_scans._OPEN", {})
    table = pa.table({"n": [f"value {at}" for at in range(100_000)]})
    with pytest.raises(EngineError, match="needs more memory") as refused, scanned(table) as (connection, source):
        connection.execute(f"SELECT count(*) FROM (SELECT n FROM {source} GROUP BY n ORDER BY n)").fetchall()
    assert "TMPDIR" in (refused.value.hint or "")


def test_rows_that_were_spilled_stay_on_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scan that spills to disk writes into a private folder, which is removed at its end."""
    monkeypatch.setattr("anonkit.checks.table_scans._MEMORY", "12MB")
    monkeypatch.setattr("anonkit.checks.table_scans._OPEN", {})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"n": pa.array(range(2_000_000))}), path)
    with scanned(path, threads=1) as (connection, source):
        connection.execute(
            f"CREATE TEMP TABLE kept AS SELECT n, hash(n) AS h, hash(h) AS i, hash(i) AS j FROM {source}"
        )
        (folder,) = tmp_path.glob("anonkit-raw-*")
        spilled = len(list(folder.iterdir()))

    assert spilled > 1
    assert not folder.exists()
    assert _sum(pa.table({"n": [5]})) == 5


def test_a_private_folder_that_somebody_deleted_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleting temporary files breaks neither the running count nor the next."""
    monkeypatch.setattr("anonkit.checks.table_scans._OPEN", {})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scanned(pa.table({"n": [1]})) as (connection, source), scanned(pa.table({"n": [2]})) as (other, second):
        (folder,) = tmp_path.glob("anonkit-raw-*")
        rmtree(folder)
        assert connection.execute(f"SELECT n FROM {source}").fetchone() == (1,)
        assert other.execute(f"SELECT n FROM {second}").fetchone() == (2,)

    assert _sum(pa.table({"n": [5]})) == 5
    assert len(list(tmp_path.glob("anonkit-raw-*"))) == 1


def test_a_forked_process_opens_its_own_database() -> None:
    """A process that was forked does not wait for threads that it does not have."""
    assert _sum(pa.table({"n": [5]})) == 5
    child = os.fork()
    if child == 0:
        right = _sum(pa.table({"n": [7]})) == 7
        os._exit(0 if right else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
