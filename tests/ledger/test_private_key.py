"""The ledger's key: beside the ledger or in the environment, never inside; without it nothing is booked."""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import BudgetError, GuaranteeError, LedgerError
from anonkit.ledger import NAME, Ledger
from anonkit.ledger.legacy_fingerprints import legacy_fingerprint
from anonkit.ledger.private_key import VARIABLE, key_file
from anonkit.policy.declaration import Policy


@pytest.fixture(scope="module")
def ten() -> pa.Table:
    """Ten customers."""
    return bank_customers(10, seed=1)


def draw(table: pa.Table, output: Path) -> anonkit.Release:
    """Release with randomized answers, under no name."""
    unnamed = replace(bank_customers_policy(), dataset=None)
    return anonkit.release(table, method="rr", epsilon=1.0, policy=unnamed, output=output)


@pytest.mark.usefixtures("ledger_beside")
def test_the_key_is_not_in_the_ledger(ten: pa.Table, tmp_path: Path) -> None:
    """Neither its bytes nor its digits are in the file, which its owner alone reads."""
    draw(ten, tmp_path / "a.parquet")
    path = tmp_path / NAME
    key = Ledger(path).key
    content = path.read_bytes()
    assert key not in content
    assert key.hex().encode() not in content
    assert bytes.fromhex(key_file(path).read_text(encoding="ascii")) == key
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, key_file(path))] == [0o600, 0o600]


@pytest.mark.usefixtures("ledger_beside")
def test_a_ledger_that_others_may_read_is_closed(ten: pa.Table, tmp_path: Path) -> None:
    """A copy came with looser modes: opening it takes them back."""
    draw(ten, tmp_path / "a.parquet")
    files = [tmp_path / NAME, key_file(tmp_path / NAME)]
    for each in files:
        each.chmod(0o644)
    assert len(Ledger(tmp_path / NAME).key) == 32
    assert [stat.S_IMODE(each.stat().st_mode) for each in files] == [0o600, 0o600]


@pytest.mark.usefixtures("ledger_beside")
def test_without_its_key_nothing_is_booked_and_budgets_are_still_shown(ten: pa.Table, tmp_path: Path) -> None:
    """Exit code 3 and a hint; no new key is made, since no table would be known under it."""
    draw(ten, tmp_path / "a.parquet")
    key_file(tmp_path / NAME).unlink()
    with pytest.raises(LedgerError, match="has lost its key") as refused:
        draw(ten, tmp_path / "b.parquet")
    assert refused.value.exit_code == 3
    assert VARIABLE in str(refused.value.hint)
    assert not key_file(tmp_path / NAME).exists()
    assert not (tmp_path / "b.parquet").exists()
    assert Ledger(tmp_path / NAME).datasets()[0].epsilon > 0


@pytest.mark.usefixtures("ledger_beside")
@pytest.mark.parametrize("what", ["ab" * 32, "open sesame", "", "ff" * 31, "\u00e9"])
def test_another_key_or_none_at_all_is_refused(ten: pa.Table, tmp_path: Path, what: str) -> None:
    """Under another key nothing would be recognized, so a wrong key is detected, and not shown."""
    draw(ten, tmp_path / "a.parquet")
    key_file(tmp_path / NAME).write_text(what, encoding="utf-8")
    with pytest.raises(LedgerError, match=r"is not that of the ledger|holds no key") as refused:
        draw(ten, tmp_path / "b.parquet")
    assert not what or what not in str(refused.value)


def test_the_environment_holds_the_key_and_no_file_is_made(
    ten: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It wins over a file, and a wrong one is a wrong one there too."""
    monkeypatch.setenv(VARIABLE, secrets.token_hex(32))
    draw(ten, tmp_path / "a.parquet")
    assert not key_file(tmp_path / NAME).exists()
    with pytest.raises(BudgetError, match="randomized before"):
        draw(ten, tmp_path / "b.parquet")
    monkeypatch.setenv(VARIABLE, secrets.token_hex(32))
    with pytest.raises(LedgerError, match=VARIABLE):
        draw(ten, tmp_path / "b.parquet")
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(LedgerError, match="has lost its key"):
        draw(ten, tmp_path / "b.parquet")


# --- ledgers of version 1 ------------------------------------------------------------------------------------

_FIRST = """
CREATE TABLE secret (key BLOB NOT NULL);
CREATE TABLE dataset (name TEXT PRIMARY KEY, budget TEXT);
CREATE TABLE fingerprint (dataset TEXT NOT NULL REFERENCES dataset, n_rows INTEGER NOT NULL, sketch BLOB NOT NULL);
CREATE TABLE release (
    id INTEGER PRIMARY KEY AUTOINCREMENT, dataset TEXT NOT NULL REFERENCES dataset, state TEXT NOT NULL,
    method TEXT NOT NULL, kind TEXT NOT NULL, epsilon TEXT, delta TEXT, k INTEGER, redrawn INTEGER NOT NULL,
    created TEXT NOT NULL, output TEXT, data_sha256 TEXT, params BLOB, process TEXT NOT NULL,
    n_rows INTEGER NOT NULL, sketch BLOB NOT NULL);
PRAGMA user_version = 1;
"""


def first_ledger(path: Path, table: pa.Table) -> bytes:
    """Write a ledger as version 1 did, with one randomized release of a table in it; return its key."""
    key = secrets.token_bytes(32)
    with LocalEngine() as engine:
        marks = legacy_fingerprint(engine.scan(table, Policy()), key)
    with sqlite3.connect(path) as connection:
        connection.executescript(_FIRST)
        connection.execute("INSERT INTO secret VALUES (?)", (key,))
        connection.execute("INSERT INTO dataset VALUES ('old', NULL)")
        connection.execute("INSERT INTO fingerprint VALUES ('old', ?, ?)", (marks.rows, marks.to_bytes()))
        connection.execute(
            "INSERT INTO release VALUES (1, 'old', 'committed', 'rr', 'local-dp', '1.0', NULL, NULL, 1, "
            "'2026-01-01T00:00:00+00:00', NULL, 'x', NULL, '{}', ?, ?)",
            (marks.rows, marks.to_bytes()),
        )
    connection.close()
    return key


def test_a_ledger_of_version_1_gives_its_key_away(ten: pa.Table, tmp_path: Path) -> None:
    """On first opening the key goes to the private file and is overwritten in the ledger; the entries stay."""
    path = tmp_path / NAME
    key = first_ledger(path, ten)
    assert key in path.read_bytes()
    assert Ledger(path).key == key
    assert key not in path.read_bytes()
    assert Ledger(path).datasets()[0].epsilon == 1.0


def test_what_version_1_knew_is_known_again(ten: pa.Table, tmp_path: Path) -> None:
    """A second draw is refused, a table with half of the rows stops, other rows are a new dataset."""
    first_ledger(tmp_path / NAME, ten)
    with pytest.raises(BudgetError, match="randomized before"):
        draw(ten, tmp_path / "a.parquet")
    with pytest.raises(GuaranteeError, match="looks like dataset 'old'"):
        draw(ten.slice(0, 7), tmp_path / "a.parquet")
    draw(bank_customers(10, seed=2), tmp_path / "a.parquet")
    assert [one.dataset for one in Ledger(tmp_path / NAME).datasets()] == ["old", "table"]


def test_a_key_that_stands_in_the_way_is_not_overwritten(ten: pa.Table, tmp_path: Path) -> None:
    """Another ledger's key may be the last copy: the old ledger waits until it is moved."""
    path = tmp_path / NAME
    key = first_ledger(path, ten)
    key_file(path).write_text(secrets.token_hex(32), encoding="ascii")
    with pytest.raises(LedgerError, match="still holds its own"):
        Ledger(path)
    key_file(path).unlink()
    assert Ledger(path).key == key


_OPEN = "import sys; from anonkit.ledger import Ledger; print(Ledger(sys.argv[1]).key.hex())"


@pytest.mark.quick_cases("True")
@pytest.mark.parametrize("old", [False, True])
def test_processes_at_once_agree_on_one_key(ten: pa.Table, tmp_path: Path, old: bool) -> None:
    """A ledger that is made, or brought to this version, by eight processes at once has one key."""
    path = tmp_path / NAME
    if old:
        first_ledger(path, ten)
    environment = {**os.environ, "PYTHONPATH": str(Path(anonkit.__file__).parents[1])}
    asked = [sys.executable, "-c", _OPEN, str(path)]
    running = [subprocess.Popen(asked, stdout=subprocess.PIPE, env=environment, text=True) for _ in range(8)]
    keys = {process.communicate()[0].strip() for process in running}
    assert keys == {Ledger(path).key.hex()}
    copy = [f"{NAME}.version-1"] if old else []
    assert [each.name for each in tmp_path.iterdir() if each.name not in (NAME, key_file(path).name)] == copy
