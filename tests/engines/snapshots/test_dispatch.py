"""Sources on their way to rows that stay: what is read in place, what is refused, and files that change meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.engines.snapshots.addresses import address_of, source_at
from anonkit.engines.snapshots.dispatch import is_read_in_place, snapshot
from anonkit.engines.snapshots.whole_tables import whole_table
from anonkit.errors import AnonkitError, SourceError
from anonkit.ledger import Ledger
from anonkit.pipeline.release_path import _ReleaseRun
from anonkit.policy.declaration import Policy

ROWS = pa.table({"age": [20 + at % 9 for at in range(60)], "class": [str(at % 2) for at in range(60)]})


def appended(path: Path) -> None:
    """A row more."""
    with path.open("ab") as file:
        file.write(b"90,1\n")


def rewritten(path: Path) -> None:
    """With the same bytes, at another time."""
    state = path.stat()
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))


def replaced(path: Path) -> None:
    """By another file of the same size and time."""
    state = path.stat()
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(state.st_atime_ns, state.st_mtime_ns))
    other.replace(path)


def untouched(path: Path) -> None:
    """Read, which is no change."""
    path.read_bytes()


def removed(path: Path) -> None:
    """It is gone."""
    path.unlink()


K, DP = {"method": "mondrian", "k": 5}, {"method": "dp-nb", "epsilon": 1.0}
CASES = [
    *((K, "csv", change) for change in (appended, rewritten, replaced, removed)),
    *((how, kind, rewritten) for how, kind in ((K, "parquet"), (K, "folder"), (DP, "csv"))),
    (DP, "csv", untouched),
]


@pytest.mark.parametrize(("how", "kind", "change"), CASES)
def test_a_file_that_changes_is_refused(
    how: dict[str, Any],
    kind: str,
    change: Callable[[Path], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once it was read and before anything is booked; without a change the release is made."""
    source = file = tmp_path / f"rows.{kind}"
    if kind == "folder":
        source.mkdir()
        file = source / "part.parquet"
    (pa_csv.write_csv if kind == "csv" else pq.write_table)(ROWS, str(file))
    ledger = tmp_path / "ledger.sqlite"
    out = tmp_path / "out" / "x.parquet"
    out.parent.mkdir()
    policy = {"columns": {"age": {"bounds": [20, 30], "type": "integer"}, "class": {"categories": ["0", "1"]}}}
    drawn = _ReleaseRun._verified_draft

    def late(self: Any) -> Any:
        draft = drawn(self)
        change(file)
        return draft

    monkeypatch.setattr(_ReleaseRun, "_verified_draft", late)

    def released() -> None:
        given = {
            "target": "class",
            "policy": policy,
            "output": out,
            "ledger": str(ledger),
            "dataset": "d",
            "unit": None,
        }
        anonkit.release(str(source), **given, **how)

    if change is untouched:
        released()
        assert Ledger(str(ledger)).datasets()
        return
    with pytest.raises(SourceError, match="changed while it was read"):
        released()
    assert not list(out.parent.iterdir())
    assert not ledger.exists() or not Ledger(str(ledger)).datasets()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "xlsx"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    """Nobody may write into it, and then no signal ended the wait; standard input is read by its own name."""
    os.mkfifo(tmp_path / f"in.{kind}")
    with pytest.raises(SourceError, match="is a pipe or a device") as refused:
        anonkit.release(tmp_path / f"in.{kind}", method="mondrian", k=2, no_target=True)
    assert "standard input" in str(refused.value.hint)
    with pytest.raises(SourceError, match="is a pipe or a device"):
        whole_table(str(tmp_path / f"in.{kind}"))


def test_a_file_that_is_read_in_place_stays_as_it_was_or_is_refused(tmp_path: Path) -> None:
    """Of a folder every file below it counts, one that comes too; of a table in memory nothing can change."""
    folder = tmp_path / "rows"
    folder.mkdir()
    pq.write_table(ROWS, folder / "a.parquet")
    with LocalEngine() as engine, snapshot(folder) as stays, snapshot(ROWS) as memory:
        assert stays.scan(engine, Policy()).n_rows == memory.scan(engine, Policy()).n_rows == 60
        stays.refuse_changed()
        memory.refuse_changed()
        assert str(folder) not in repr(stays)
        pq.write_table(ROWS, folder / "b.parquet")
        with pytest.raises(SourceError, match="changed while it was read"):
            stays.refuse_changed()


@pytest.mark.parametrize(
    ("name", "how", "in_place"),
    [
        ("t.csv", {}, True),
        ("t.csv", {"delimiter": ";"}, True),
        ("t.parquet", {}, True),
        ("of_parquet", {}, True),
        ("of_csv", {}, False),
        ("*.csv", {}, False),
        ("t.xlsx", {}, False),
        ("-", {"format": "csv"}, False),
        ("sqlite:///t.db?table=t", {}, False),
        ("https://example.org/t.csv", {}, False),
    ],
)
def test_what_may_change_is_copied_and_plain_files_are_not(
    name: str, how: dict[str, Any], in_place: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of text and Parquet, and folders of Parquet, are opened where they are."""
    monkeypatch.chdir(tmp_path)
    for folder, suffix in (("of_parquet", "parquet"), ("of_csv", "csv")):
        Path(folder).mkdir()
        Path(folder, f"t.{suffix}").touch()
    assert is_read_in_place(address_of(source_at(name, **how))) is in_place


def test_a_point_between_figures_is_noticed_once_and_not_beside_a_decimal_comma(tmp_path: Path) -> None:
    """The owner is told of columns in which it may part thousands."""
    path = tmp_path / "t.csv"
    path.write_text("pay;n\n" + "1.234;1\n900;2\n" * 9)
    with LocalEngine() as engine, snapshot(source_at(path, delimiter=";")) as stays:
        stays.scan(engine, Policy())
        assert stays.grouped_by(Policy()) == ("pay",)
        assert stays.grouped_by(Policy(decimal=",")) is None


def test_options_of_another_kind_of_source_are_refused(tmp_path: Path) -> None:
    """A sheet of a text file, names of a Parquet file; a folder that is not there is named."""
    (tmp_path / "t.csv").write_text("a\n1\n")
    pq.write_table(ROWS, tmp_path / "t.parquet")
    for name, how in (
        ("t.csv", {"sheet": "1"}),
        ("t.parquet", {"names": ["a", "b"]}),
        ("t.parquet", {"delimiter": ";"}),
    ):
        with LocalEngine() as engine, pytest.raises(AnonkitError), snapshot(source_at(tmp_path / name, **how)) as stays:
            stays.scan(engine, Policy())
    absent = source_at(tmp_path / "no.csv", delimiter=";")
    with LocalEngine() as engine, snapshot(absent) as stays, pytest.raises(SourceError, match="does not exist"):
        stays.scan(engine, Policy())
