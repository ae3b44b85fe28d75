"""A ledger in a file: private, made when it is not there, brought up from older versions.

The ledger's key: beside the ledger or in the environment, never inside; without it nothing is booked.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pytest
from ledger.claims import as_version_4, claim, free

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import BudgetError, GuaranteeError, LedgerError
from anonkit.ledger import NAME, Ledger
from anonkit.ledger.account import refuse_overspent
from anonkit.ledger.booked_releases import NO_LIMIT, Allowance, DatasetState, ReleaseState, digest_of_packed, pack
from anonkit.ledger.file_store import VARIABLE, key_file
from anonkit.ledger.ledger_place import LedgerPlace
from anonkit.ledger.recognition import legacy_fingerprint
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


@pytest.mark.slow
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


@pytest.fixture
def where(tmp_path: Path) -> Path:
    """A path: these tests are of files alone."""
    return tmp_path / "ledger.sqlite"


def test_only_its_owner_reads_it(ledger: Ledger, where: Path) -> None:
    """Mode 0600, its key beside it too, and the key stays the same when it is opened again."""
    assert stat.S_IMODE(where.stat().st_mode) == 0o600
    assert stat.S_IMODE(key_file(where).stat().st_mode) == 0o600
    assert Ledger(where).key == ledger.key
    assert len(ledger.key) == 32


@pytest.mark.parametrize("content", [b"not a database" * 100, b""])
def test_what_is_no_ledger_is_refused(tmp_path: Path, content: bytes) -> None:
    """A damaged file stops every release; an empty one becomes a ledger."""
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)
    if content:
        with pytest.raises(LedgerError, match="cannot be used"):
            Ledger(path)
    else:
        assert Ledger(path).datasets() == []


@pytest.mark.parametrize("size", [0, 1, 15, 99])
def test_a_ledger_that_was_cut_is_not_begun_anew(where: Path, size: int) -> None:
    """SQLite takes a file of a byte or none for a new one: what was spent would be forgotten. It is not there."""
    Ledger(where).reserve(claim(), free)
    where.write_bytes(where.read_bytes()[:size])
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"it was cut|cannot be used|is damaged"):
            Ledger(where)
    assert not LedgerPlace.of(where).may_be_there


LIMITED = """
import resource, sys
from anonkit.errors import LedgerError
from anonkit.ledger import Ledger
usual = resource.getrlimit(resource.RLIMIT_FSIZE)
refused = ""
try:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), usual[1]))
    Ledger(sys.argv[1])
except LedgerError as error:
    refused = error.message
print(refused)
"""


@pytest.mark.quick_cases("100")
@pytest.mark.parametrize("size", [100, 8_192])
def test_a_ledger_that_had_no_room_can_be_made_later(where: Path, size: int) -> None:
    """No key is left beside a file without tables, which would be taken for a ledger that was cut."""
    made = subprocess.run(
        [sys.executable, "-c", LIMITED, str(where), str(size)], capture_output=True, check=True, text=True
    )
    assert "cannot be used: it cannot be read or written" in made.stdout
    assert not key_file(where).exists()
    assert Ledger(where).datasets() == []
    assert Ledger(where).reserve(claim(), free)


def test_a_ledger_of_which_pages_are_gone_or_overwritten_is_refused(where: Path, tmp_path: Path) -> None:
    """With any pages missing nothing is charged, and the error is ours. An undamaged ledger is read as it was."""
    ledger = Ledger(where)
    for number in range(12):
        ledger.commit(ledger.reserve(claim(dataset=f"d{number % 3}"), free))
    raw, true = where.read_bytes(), [(one.dataset, one.epsilon) for one in ledger.datasets()]
    pages = range(0, len(raw), 4096)
    damaged = [raw[: at + more] for at in pages[1:] for more in (0, 1, 2048)]
    damaged += [raw[:at] + filling * 4096 + raw[at + 4096 :] for at in pages for filling in (b"\0", b"\xff", b"x")]
    refused = 0
    for number, content in enumerate(damaged):
        path = tmp_path / str(number) / "ledger.sqlite"
        path.parent.mkdir()
        path.write_bytes(content)
        key_file(path).write_text(key_file(where).read_text(encoding="ascii"), encoding="ascii")
        try:
            assert [(one.dataset, one.epsilon) for one in Ledger(path).datasets()] == true
        except LedgerError:
            refused += 1
    assert refused > len(damaged) // 2


def test_a_ledger_of_a_later_version_is_refused(ledger: Ledger, where: Path) -> None:
    """A ledger that a later anonkit wrote may have another meaning."""
    with sqlite3.connect(where) as connection:
        connection.execute("PRAGMA user_version = 6")
    with pytest.raises(LedgerError, match="version 6"):
        Ledger(where)


def test_a_ledger_of_version_4_leaves_a_copy_and_gets_an_id(ledger: Ledger, where: Path) -> None:
    """The copy is beside the ledger, for its owner alone; its recodings are identified by their digests."""
    packed = pack({"method": "mondrian", "model": {"k": 3}, "recoding": {}, "columns": []})
    assert packed is not None
    ledger.commit(ledger.reserve(claim(params=packed, epsilon=None), free))
    with sqlite3.connect(where) as connection:
        as_version_4(connection.execute)
        connection.execute("DROP TABLE ledger")
        connection.execute("PRAGMA user_version = 4")
    before = where.read_bytes()
    reopened = Ledger(where)
    assert len(bytes.fromhex(reopened.name)) == 8
    assert reopened.holds(digest_of_packed(packed))
    copy = where.with_name(f"{where.name}.version-4")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy)) as kept:
        assert kept.execute("PRAGMA user_version").fetchone() == (4,)
        assert kept.execute("SELECT params FROM release").fetchone() == (packed,)
    assert len(copy.read_bytes()) == len(before)
    assert Ledger(where).name == reopened.name


def test_a_budget_of_a_ledger_of_version_4_is_asked_for_anew(ledger: Ledger, where: Path) -> None:
    """The past charges have unknown neighbours: nothing more is charged until the budget is stated again."""
    ledger.commit(ledger.reserve(claim(), free, budget=Allowance(epsilon=2.0)))
    with sqlite3.connect(where) as connection:
        as_version_4(connection.execute)
        connection.execute("DROP TABLE ledger")
        connection.execute("PRAGMA user_version = 4")
    reopened, cost = Ledger(where), claim()

    def check(standing: DatasetState) -> None:
        refuse_overspent(standing, cost, NO_LIMIT)

    assert [one.to_dict()["neighbours"] for one in reopened.standing("d").totals] == ["unknown"]
    with pytest.raises(BudgetError, match=r"epsilon 0\.1, is of unknown neighbours") as refused:
        reopened.reserve(cost, check)
    assert "budget" in str(refused.value.hint)
    reopened.commit(reopened.reserve(cost, check, budget=Allowance(epsilon=0.2)))
    assert reopened.standing("d").left == 0.0
    with pytest.raises(BudgetError, match=r"would be overspent: epsilon 0\.2 is spent"):
        reopened.reserve(cost, check)


def test_a_key_without_its_ledger_is_not_begun_anew(ledger: Ledger, where: Path) -> None:
    """The file was deleted: a new one would give the budget back. It is said how to begin anew, and that works."""
    where.unlink()
    for _ in range(2):
        with pytest.raises(LedgerError, match="is not there, and its key is") as refused:
            Ledger(where)
        assert not where.exists()
    assert str(key_file(where)) in str(refused.value.hint)
    key_file(where).unlink()
    assert Ledger(where).datasets() == []


def test_a_ledger_is_created_under_a_key_that_is_there(where: Path) -> None:
    """The caller that creates a ledger states that it is new; a key that exists is used."""
    key_file(where).write_text("ab" * 32, encoding="ascii")
    assert Ledger.create(where).key == bytes.fromhex("ab" * 32)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """It is named, and so is the way around; for root too, who may write everywhere but in a file as if a folder."""
    (tmp_path / "closed").write_text("no folder")
    with pytest.raises(LedgerError, match="closed"):
        Ledger(tmp_path / "closed" / "ledger.sqlite")


def test_another_machine_s_process_counts(ledger: Ledger, where: Path) -> None:
    """Nothing on this machine can show whether that process is alive."""
    number = ledger.reserve(claim(), free)
    with sqlite3.connect(where) as connection:
        text = '{"machine": "elsewhere", "boot": "", "number": 1, "started": ""}'
        connection.execute("UPDATE release SET process = ? WHERE id = ?", (text, number))
    assert ledger.standing("d").entries[0].state is ReleaseState.RESERVED


def test_a_ledger_is_created_where_no_file_is(where: Path) -> None:
    """An existing file is refused and left."""
    Ledger.create(where)
    before = where.read_bytes()
    with pytest.raises(LedgerError, match="is there already"):
        Ledger.create(where)
    assert where.read_bytes() == before


def test_opening_a_ledger_does_not_take_away_the_lock_of_another_thread(
    where: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On POSIX a process loses all its locks on a file when it closes any descriptor of it: none is opened."""
    backend = Ledger(where)._backend
    connect, on_its_way = sqlite3.connect, Event()

    def connected(*arguments: Any, **how: Any) -> sqlite3.Connection:
        on_its_way.set()
        return connect(*arguments, **how)

    other = Thread(target=Ledger, args=[where])
    write = f"import sqlite3; sqlite3.connect({str(where)!r}, timeout=0).execute('BEGIN IMMEDIATE')"
    with backend.transaction():
        monkeypatch.setattr("anonkit.ledger.file_store.sqlite3.connect", connected)
        other.start()
        on_its_way.wait()
        intruder = subprocess.run([sys.executable, "-c", write], capture_output=True, text=True, check=False)
    other.join()
    assert "database is locked" in intruder.stderr
