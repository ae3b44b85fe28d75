# SPDX-License-Identifier: Apache-2.0
"""Scans of one process: they share a database, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from shutil import rmtree
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from part_workers import Elsewhere, without_rows

from anonkit.bundle.data_files import parts_of, read_by
from anonkit.checks import table_scans
from anonkit.checks.disclosure import measure
from anonkit.checks.table_scans import combined, count_combinations, scanned
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


CELLS = pa.table(
    {
        "q": ["a", "a", None, "b", "b", "b", "a", "a"],
        "n": pa.array([1, 1, 2, None, 3, 3, 1, 9], pa.int64()),
        "s": ["x", "y", "x", None, None, "x", "x", "y"],
        "person": ["1", "1", "2", "3", "4", None, "5", "5"],
    }
)


def test_databases_are_closed_as_the_process_ends_but_those_of_another() -> None:
    """A connection that a fork copied has its threads elsewhere."""
    with table_scans.opened(pa.table({"n": [1]})):
        pass
    mine = table_scans._Database.of(None)
    copied = (0, None)
    table_scans._OPEN[copied] = mine
    try:
        table_scans._close_databases()
        assert list(table_scans._OPEN) == [copied]
    finally:
        del table_scans._OPEN[copied]


def folder_of(table: pa.Table, folder: Path, each: int) -> Path:
    """Write a table into files of so many rows; an empty one too."""
    folder.mkdir()
    for at in range(-(-table.num_rows // each) + 1):
        pq.write_table(table.slice(at * each, each), folder / f"part-{at:05d}.parquet")
    return folder


@pytest.mark.quick_cases("names3-missing_is_value3-person", "names1-*")
@pytest.mark.parametrize(
    ("names", "missing_is_value", "unit"),
    [((), (), None), (("q",), ("s", "n"), None), (("q",), (), "person"), (("q", "n"), ("s", "n"), "person")],
)
def test_combinations_give_the_figures_of_rows(
    names: tuple[str, ...], missing_is_value: tuple[str, ...], unit: str | None, tmp_path: Path
) -> None:
    """Classes, diversity, people and the target, however the rows lie in files, none of them read here."""
    asked: dict[str, Any] = {"sensitive": ["s", "n"], "missing_is_value": missing_is_value, "unit": unit, "target": "s"}
    data = folder_of(CELLS, tmp_path / "rows", 3)
    expected = measure(CELLS, names, **asked)
    with read_by(without_rows(data, tmp_path / "there")):
        assert measure(data, names, **asked) == expected


def test_no_row_at_all_gives_no_class(tmp_path: Path) -> None:
    """Of files without rows."""
    data = folder_of(CELLS.slice(0, 0), tmp_path / "rows", 1)
    pq.write_table(CELLS.slice(0, 0), data / "part-00001.parquet")
    with read_by(Elsewhere()):
        assert measure(data, ["q"], target="s") == measure(CELLS.slice(0, 0), ["q"], target="s")


def test_rows_that_are_all_different_are_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their combinations would be as large as they are."""
    monkeypatch.setattr("anonkit.checks.table_scans._FEW", 4)
    data = folder_of(CELLS, tmp_path / "rows", 5)
    assert count_combinations(parts_of(data), ["q", "n", "s"], few=4) is None
    assert count_combinations(parts_of(data), ["q"], few=4) is not None
    with read_by(Elsewhere(tasks=1)), combined(data, ["q", "n", "s"]) as lines:
        assert lines.weight is None
    with read_by(Elsewhere()), combined(data, ["q", "q"]) as lines:
        assert lines.weight is not None


def test_files_in_folders_below_are_read_here(tmp_path: Path) -> None:
    """Their names may be columns; one file, or a table in memory, is read here too."""
    data = folder_of(CELLS, tmp_path / "rows", 5)
    (data / "day=1").mkdir()
    pq.write_table(CELLS, data / "day=1" / "part-00000.parquet")
    with read_by(Elsewhere()):
        for table in (data, data / "part-00000.parquet", CELLS):
            with combined(table, ["q"]) as lines:
                assert lines.weight is None
