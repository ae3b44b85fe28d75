"""A release is validated in few readings of its data: opens of the file are counted by the system's own events."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from checks.forgeries import SMALL, Files

import anonkit
from anonkit.checks import class_counts, table_scans
from anonkit.checks.disclosure import measure
from anonkit.errors import EngineError

OPENED, CLOSED, IS_FOLDER = 0x20, 0x10, 0x40000000
"""Events of inotify. Closes are between two opens of one file, which otherwise would be one event."""
_EVENT = struct.Struct("iIII")
MOST = 4
"""Opens of the data, at most: one for hash, footer and first rows, and three by DuckDB, which copies the file once."""


def opens_of(folder: Path, work: Callable[[], object]) -> Counter[str]:
    """Return how often each file of a folder is opened while some work is done."""
    system = ctypes.CDLL(None)
    events = system.inotify_init1(os.O_NONBLOCK)
    system.inotify_add_watch(events, os.fsencode(folder), OPENED | CLOSED)
    try:
        work()
        content = os.read(events, 1 << 22)
    finally:
        os.close(events)
    found: Counter[str] = Counter()
    while content:
        _, kind, _, size = _EVENT.unpack_from(content)
        name, content = content[_EVENT.size : _EVENT.size + size], content[_EVENT.size + size :]
        if kind & OPENED and not kind & IS_FOLDER:
            found[name.rstrip(b"\0").decode()] += 1
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="counts events of Linux")
@pytest.mark.parametrize("method", sorted(SMALL))
def test_the_data_is_opened_a_few_times(releases: dict[str, Files], tmp_path: Path, method: str) -> None:
    """The number of readings does not grow with the questions about its rows."""
    data = releases[method].write(tmp_path)

    opened = opens_of(tmp_path, lambda: anonkit.validate(data))

    assert 0 < opened["out.parquet"] <= MOST


def test_a_copy_is_gone_after_the_validation(releases: dict[str, Files], tmp_path: Path) -> None:
    """DuckDB has no rows of a release when the result is there."""
    data = releases["mondrian"].write(tmp_path)

    assert anonkit.validate(data).passed

    for database in table_scans._OPEN.values():
        assert database.cursor().execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]


def test_a_file_beyond_the_limit_is_read_anew_for_each_question(
    releases: dict[str, Files], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found as sound as its copy is."""
    data = releases["mondrian"].write(tmp_path)
    copied = anonkit.validate(data)

    monkeypatch.setattr(table_scans, "_MOST_CELLS", 0)

    assert anonkit.validate(data) == copied


def test_a_block_within_a_block_reads_the_same_copy(tmp_path: Path) -> None:
    """The copy is made at the first question, and the file may be gone at the second."""
    data = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"q": ["a", "a", "b"]}), data)

    with table_scans.copied_once():
        with table_scans.copied_once(), table_scans.opened(data) as lines:
            assert lines.connection.execute(f"SELECT count(*) FROM {lines.source}").fetchall() == [(3,)]
        data.unlink()
        with table_scans.opened(data) as lines:
            assert lines.connection.execute(f"SELECT count(*) FROM {lines.source}").fetchall() == [(3,)]


@pytest.mark.parametrize(("different", "rows"), [(3, 6), (20_000, 20_000)], ids=["few", "many"])
def test_few_combinations_are_counted_once_for_all_questions(tmp_path: Path, different: int, rows: int) -> None:
    """A long file of few combinations is copied as these, with the number of their rows; of others there are the rows.

    Row by row the same file is read as it is.
    """
    data, numbers = tmp_path / "rows.parquet", np.arange(20_000)
    values = pa.array([at or None for at in (numbers % different).tolist()])
    table = pa.table({"n": values, "r": numbers % 4 == 0, "q": numbers % 3 == 0})
    pq.write_table(table, data)

    with table_scans.copied_once():
        for names in (["q"], ["n", "q"], ["n"]):
            with table_scans.combined(data, names) as lines:
                keys = ", ".join(map(lines.column, names))
                found = lines.connection.execute(
                    f"SELECT {keys}, {lines.rows()} FROM {lines.source} GROUP BY ALL"
                ).fetchall()
                assert _number(lines) == rows
            assert Counter({line[:-1]: line[-1] for line in found}) == Counter(
                zip(*(table.column(name).to_pylist() for name in names), strict=True)
            )
        with pytest.raises(EngineError), table_scans.combined(data, ["R"]):
            pass
        with table_scans.opened(data, ["n"]) as lines:
            assert _number(lines) == 20_000


def test_a_file_without_rows_has_no_combinations(tmp_path: Path) -> None:
    """Its columns are there all the same."""
    data = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"q": pa.array([], pa.string())}), data)

    with table_scans.copied_once(), table_scans.combined(data, ["q"]) as lines:
        assert _number(lines) == 0


def test_a_file_whose_rows_are_damaged_is_refused(tmp_path: Path) -> None:
    """Its footer is whole: the failure shows where its combinations are looked for, and refuses it where it is read."""
    data = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"q": ["a", "a", "b"]}), data, compression="none")
    damaged = bytearray(data.read_bytes())
    damaged[4:44] = b"\xff" * 40
    data.write_bytes(damaged)

    with table_scans.copied_once(), pytest.raises(EngineError), table_scans.combined(data, ["q"]) as lines:
        _number(lines)


def _number(lines: table_scans.Lines) -> int:
    return int(lines.connection.execute(f"SELECT count(*) FROM {lines.source}").fetchall()[0][0])


def test_a_database_that_failed_is_replaced_with_its_copies(tmp_path: Path) -> None:
    """The next question about a file copies it into the database that is there then."""
    data = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"q": ["a", "a", "b"]}), data)

    with table_scans.copied_once():
        for _ in range(2):
            with table_scans.opened(data) as lines:
                assert lines.connection.execute(f"SELECT count(*) FROM {lines.source}").fetchall() == [(3,)]
            table_scans._Database.of(None).forget()


@pytest.mark.parametrize(
    ("name", "names"), [("rows.csv", ["q", "r"]), ("rows.parquet", ["q", "Q"])], ids=["text", "names that are alike"]
)
def test_a_file_that_cannot_be_copied_is_read(tmp_path: Path, name: str, names: list[str]) -> None:
    """Text, and columns that DuckDB would rename, are read anew for each question."""
    table, data = pa.table([["a", "b"], ["c", "c"]], names=names), tmp_path / name
    (pq.write_table if data.suffix == ".parquet" else pyarrow.csv.write_csv)(table, data)

    with table_scans.copied_once(), table_scans.opened(data, names[1:]) as lines:
        found = lines.connection.execute(f"SELECT DISTINCT {lines.column(names[1])} FROM {lines.source}").fetchall()

    assert found == [("c",)]


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    """By whoever reads it, as outside of the block."""
    data = tmp_path / "rows.parquet"
    data.write_bytes(b"none")

    with table_scans.copied_once(), pytest.raises(EngineError), table_scans.opened(data):
        pass


def test_values_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts end where a class ends, and one class may be more than a part."""
    table = pa.table({"q": ["a"] * 3 + ["b"] * 2 + ["c"], "s": [1, 2, 3, 1, 2, 5]})
    whole = measure(table, ["q"], sensitive=["s"])

    monkeypatch.setattr(class_counts, "_PAIRS", 2)

    assert measure(table, ["q"], sensitive=["s"]) == whole
