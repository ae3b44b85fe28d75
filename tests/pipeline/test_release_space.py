"""A disk that is full before noise is drawn: nothing is drawn, nothing charged; one that fills later is charged.

Outputs: what cannot be written is refused before any data is opened.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from ledger.claims import environment
from pyarrow import csv

import anonkit
from anonkit.bundle import private_files
from anonkit.datasets import bank_customers, bank_customers_policy, bank_customers_policy_toml
from anonkit.errors import EngineError, ParameterError
from anonkit.ledger import Ledger
from anonkit.ledger.ledger_place import users_ledger
from anonkit.methods import make_method
from anonkit.pipeline.release_space import ROWS_UNKNOWN, Output, bytes_wanted
from anonkit.policy.declaration import Policy


def test_an_output_is_made_of_paths(tmp_path: Path) -> None:
    """Texts become places and paths; without one the release stays in memory."""
    output = Output.at(str(tmp_path / "a.parquet"), sign="key.pem", owner_report="mine", force=True)
    assert output.place is not None
    assert (output.place.folder, output.place.stem) == (tmp_path, "a")
    assert (output.sign, output.owner_report, output.force) == (Path("key.pem"), Path("mine"), True)
    assert Output.at(None) == Output()


@pytest.mark.parametrize(
    ("name", "options", "seeded", "said"),
    [
        (None, {"part_rows": 3}, False, "in memory is one file"),
        (None, {"sign": "key.pem"}, False, "in memory is not signed"),
        ("a.parquet", {"sign": "key.pem"}, True, "seeded release"),
        ("a.parquet", {"owner_report": "."}, False, "is the folder of the release"),
    ],
)
def test_what_cannot_be_written_so_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str | None,
    options: dict[str, Any],
    seeded: bool,
    said: str,
) -> None:
    """Each by its own rule, before a key or a table is read."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError) as refused:
        Output.at(name, **options).refuse_unwritable(seeded=seeded)
    assert said in str(refused.value)


def test_a_release_that_is_there_may_be_replaced_or_rehearsed(tmp_path: Path) -> None:
    """With force, and where nothing is written; else it is in the way, and it is said how it came to be."""
    (tmp_path / "there.parquet").write_bytes(b"")
    for options in ({"force": True}, {"dry_run": True}):
        Output.at(tmp_path / "there.parquet", **options).refuse_existing()
    with pytest.raises(ParameterError, match=r"exists(?s:.)*it was made of other rows; force=True"):
        Output.at(tmp_path / "there.parquet").refuse_existing("it was made of other rows")


def test_a_file_holds_at_least_one_row() -> None:
    """0 rows would be no file."""
    with pytest.raises(ParameterError, match="part_rows"):
        Output(part_rows=0)


@pytest.fixture
def ten() -> pa.Table:
    """Ten customers."""
    return bank_customers(10, seed=1)


def full(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    """Leave so many bytes free on every disk."""
    state = SimpleNamespace(f_blocks=10**9, f_bavail=free, f_frsize=1)
    monkeypatch.setattr(private_files.os, "statvfs", lambda folder: state)


@pytest.mark.parametrize("method", ["rr", "dp-marginals"])
def test_a_full_disk_is_seen_before_noise_is_drawn(
    method: str, ten: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is charged, and the same release is made once there is room."""
    policy, out = bank_customers_policy(), tmp_path / "out" / "a.parquet"
    with monkeypatch.context() as patched:
        full(patched, 1000)
        with pytest.raises(EngineError, match="before noise is drawn: 0 MB are free") as refused:
            anonkit.release(ten, output=out, method=method, epsilon=1.0, policy=policy)
    assert "booked" not in str(refused.value)
    assert not out.parent.exists()
    assert not users_ledger().may_be_there or Ledger(users_ledger()).standing("bank-customers").epsilon == 0
    anonkit.release(ten, output=out, method=method, epsilon=1.0, policy=policy)
    assert Ledger(users_ledger()).standing("bank-customers").epsilon == pytest.approx(1.0)


def test_a_plan_and_classes_want_no_space(ten: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither costs a budget: a release of classes that finds no room can be run again."""
    full(monkeypatch, 1000)
    policy = bank_customers_policy()
    anonkit.release(ten, output=tmp_path / "a.parquet", method="rr", epsilon=1.0, policy=policy, dry_run=True)
    anonkit.release(ten, output=tmp_path / "b.parquet", method="mondrian", k=5, policy=policy)


def test_what_is_wanted_follows_from_what_is_public() -> None:
    """No row decides where their number is private; where it is public, a cell has eight bytes at most."""
    counted: list[int] = []

    def count() -> int:
        counted.append(1)
        return 1_000_000

    def wanted(method: str, policy: Policy, **more: Any) -> int:
        made = make_method(method, {"epsilon": 1.0, **more}, None)
        return bytes_wanted(made, made.guarantee(policy), policy, count)

    table = bank_customers(300, seed=1)
    policy = bank_customers_policy().resolve(table.column_names)
    assert wanted("dp-forest", policy) == ROWS_UNKNOWN
    assert wanted("dp-marginals", policy) == ROWS_UNKNOWN
    assert counted == []
    stated = wanted("dp-marginals", policy, n_rows=1_000_000)
    assert counted == []
    released = sum(column.is_released for column in policy.columns.values())
    assert stated == 16_000_000 + 8_000_000 * released


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of half a megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)], capture_output=True)
    if made.returncode:
        pytest.skip("no file system can be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.slow
def test_a_disk_that_is_full_takes_no_budget(small_disk: Path, tmp_path: Path) -> None:
    """The command, on a real disk without room: exit code 3, a line that says so, an empty ledger; then elsewhere."""
    csv.write_csv(bank_customers(2000, seed=1), tmp_path / "in.csv")
    (tmp_path / "policy.toml").write_text(bank_customers_policy_toml(), encoding="utf-8")
    (small_disk / "filled").write_bytes(bytes(450_000))

    def released(output: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "anonkit", "release", str(tmp_path / "in.csv"), str(output)]
        command += ["--policy", str(tmp_path / "policy.toml"), "--method", "rr", "--epsilon", "1"]
        given = {**environment(), "ANONKIT_LEDGER": str(tmp_path / "ledger")}
        return subprocess.run(command, capture_output=True, text=True, env=given)

    refused = released(small_disk / "out.parquet")
    assert refused.returncode == 3, refused.stderr
    assert "before noise is drawn" in refused.stderr
    assert "booked" not in refused.stderr
    assert [path.name for path in small_disk.iterdir()] == ["filled"]
    made = released(tmp_path / "out.parquet")
    assert made.returncode == 0, made.stderr
    report = json.loads((tmp_path / "out.report.json").read_text(encoding="utf-8"))
    assert report["ledger"]["release_of_dataset"] == 1
