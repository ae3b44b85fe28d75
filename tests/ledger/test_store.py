"""The ledger: what counts when, across processes and crashes, and what it never holds."""

from __future__ import annotations

import math
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from anonkit.errors import BudgetError, LedgerError
from anonkit.ledger import Ledger
from anonkit.ledger.fingerprint import Fingerprint
from anonkit.ledger.private_key import key_file
from anonkit.ledger.standing import Claim, Standing, State, total

PROCESSES = 40


def claim(epsilon: float | None = 0.1, **more: object) -> Claim:
    """Return a claim on dataset `d`."""
    given: dict[str, object] = {
        "dataset": "d",
        "method": "rr",
        "kind": "local-dp",
        "epsilon": epsilon,
        "delta": None,
        "k": None,
        "redrawn": True,
        "output": None,
        "params": None,
        "fingerprint": Fingerprint(rows=3, exact=b"1" * 16, whole=b"2" * 16),
        **more,
    }
    return Claim(**given)  # type: ignore[arg-type]


def free(standing: Standing) -> None:
    """Refuse nothing."""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A new ledger."""
    return Ledger(tmp_path / "ledger.sqlite")


def test_only_its_owner_reads_it(ledger: Ledger) -> None:
    """Mode 0600, its key beside it too, and the key stays the same when it is opened again."""
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(key_file(ledger.path).stat().st_mode) == 0o600
    assert Ledger(ledger.path).key == ledger.key
    assert len(ledger.key) == 32


def test_a_release_counts_from_its_reservation(ledger: Ledger) -> None:
    """Reserved, publishing and committed all count; rolled back does not."""
    number = ledger.reserve(claim(), free)
    assert ledger.standing("d").epsilon == 0.1
    ledger.publishing(number, "digest")
    assert ledger.standing("d").epsilon == 0.1
    ledger.commit(number)
    other = ledger.reserve(claim(), free)
    ledger.give_up(other)

    assert ledger.standing("d").epsilon == 0.1
    assert [entry.state for entry in ledger.standing("d").entries] == [State.COMMITTED, State.ROLLED_BACK]


def test_a_refused_reservation_leaves_nothing(ledger: Ledger) -> None:
    """Neither an entry nor a budget nor a dataset."""

    def refuse(standing: Standing) -> None:
        assert standing.budget == 1
        raise BudgetError("no")

    with pytest.raises(BudgetError):
        ledger.reserve(claim(), refuse, budget=1)
    assert ledger.datasets() == []


def test_losses_add_up_as_they_are_written() -> None:
    """Ten times 0.1 is 1, three times 0.1 is 0.3, and no bound plus anything is no bound."""
    assert total([0.1] * 10) == 1
    assert total([0.1, 0.1, 0.1]) == 0.3
    assert math.isinf(total([1.0, math.inf, None]))
    assert total([]) == 0


_SPEND = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_store import claim
from anonkit.errors import BudgetError
from anonkit.ledger import Ledger
from anonkit.ledger.private_key import key_file
from anonkit.ledger.standing import total

def check(standing):
    if total([standing.epsilon, 0.1]) > standing.budget:
        raise BudgetError("overspent")

try:
    ledger = Ledger({path!r})
    number = ledger.reserve(claim(), check, budget=1.0)
except BudgetError:
    sys.exit(1)
ledger.publishing(number, "x")
ledger.commit(number)
"""


def test_forty_processes_never_overspend_one_budget(tmp_path: Path) -> None:
    """Exactly ten of forty concurrent processes get a tenth of the budget each, the ledger made by one of them."""
    path = tmp_path / "ledger.sqlite"
    code = _SPEND.format(tests=str(Path(__file__).parent), path=str(path))
    running = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(PROCESSES)]
    codes = [process.wait() for process in running]
    for process in running:
        assert process.stderr is not None
        process.stderr.close()

    assert sorted(codes) == [0] * 10 + [1] * 30
    standing = Ledger(path).standing("d")
    assert standing.epsilon == 1.0
    assert [entry.state for entry in standing.entries] == [State.COMMITTED] * 10


_DIE = """
import os, sys
sys.path.insert(0, {tests!r})
from test_store import claim, free
from anonkit.ledger import Ledger
ledger = Ledger({path!r})
number = ledger.reserve(claim(output={output!r}), free)
{then}
os.kill(os.getpid(), 9)
"""


def _die(ledger: Ledger, output: Path, then: str = "") -> None:
    code = _DIE.format(tests=str(Path(__file__).parent), path=str(ledger.path), output=str(output), then=then)
    subprocess.run([sys.executable, "-c", code], check=False)


def test_a_reservation_of_a_dead_process_never_reached_its_place(ledger: Ledger, tmp_path: Path) -> None:
    """Killed before `publishing`: rolled back by the next reader."""
    _die(ledger, tmp_path / "out.parquet")
    assert ledger.standing("d").epsilon == 0
    assert ledger.standing("d").entries[0].state is State.ROLLED_BACK


def test_what_was_publishing_counts_when_nobody_can_tell(ledger: Ledger, tmp_path: Path) -> None:
    """Killed after `publishing`, no file there: it may have been there and carried away, so it counts."""
    _die(ledger, tmp_path / "out.parquet", 'ledger.publishing(number, "digest")')
    assert ledger.standing("d").epsilon == 0.1
    assert ledger.standing("d").entries[0].state is State.PUBLISHING


def test_what_was_published_is_committed(ledger: Ledger, tmp_path: Path) -> None:
    """Killed between the last rename and `commit`: the data file's hash shows that it is there."""
    from anonkit.bundle.stored_release import sha256

    (tmp_path / "out.parquet").write_bytes(b"the release")
    _die(ledger, tmp_path / "out.parquet", f"ledger.publishing(number, {sha256(b'the release')!r})")
    assert ledger.standing("d").entries[0].state is State.COMMITTED


def test_another_release_in_the_same_place_proves_nothing(ledger: Ledger, tmp_path: Path) -> None:
    """A data file with another hash may have replaced the one in question: it still counts."""
    (tmp_path / "out.parquet").write_bytes(b"another")
    _die(ledger, tmp_path / "out.parquet", 'ledger.publishing(number, "digest")')
    assert ledger.standing("d").epsilon == 0.1


def test_a_living_process_is_left_alone(ledger: Ledger) -> None:
    """A reservation of a process that runs is not settled by others."""
    ledger.reserve(claim(), free)
    other = Ledger(ledger.path)
    assert other.standing("d").entries[0].state is State.RESERVED


def test_another_machine_s_process_counts(ledger: Ledger) -> None:
    """Whether it lives cannot be known from here."""
    number = ledger.reserve(claim(), free)
    with sqlite3.connect(ledger.path) as connection:
        text = '{"machine": "elsewhere", "boot": "", "number": 1, "started": ""}'
        connection.execute("UPDATE release SET process = ? WHERE id = ?", (text, number))
    assert ledger.standing("d").entries[0].state is State.RESERVED


def test_a_process_of_the_same_number_is_another(ledger: Ledger) -> None:
    """The number of a dead process may be given away again; its start tells the two apart."""
    from dataclasses import replace

    from anonkit.ledger.liveness import Process

    this = Process.this()
    assert not this.is_surely_dead()
    if this.started:
        assert replace(this, started="1").is_surely_dead()
    if this.boot:
        assert replace(this, boot="another").is_surely_dead()


def test_a_withdrawn_release_does_not_count(ledger: Ledger) -> None:
    """Only for promises without epsilon; what noise has shown stays shown."""
    spent = ledger.reserve(claim(), free)
    free_of = ledger.reserve(claim(None, kind="k-anonymity", k=5, redrawn=False), free)
    ledger.withdraw(free_of)

    assert [entry.number for entry in ledger.standing("d").counted] == [spent]
    with pytest.raises(LedgerError, match="cannot be taken back"):
        ledger.withdraw(spent)
    with pytest.raises(LedgerError, match="no release 9"):
        ledger.withdraw(9)


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


def test_a_ledger_of_a_later_version_is_refused(ledger: Ledger) -> None:
    """What a later anonkit wrote may mean something else."""
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("PRAGMA user_version = 4")
    with pytest.raises(LedgerError, match="version 4"):
        Ledger(ledger.path)


def test_a_ledger_of_version_2_is_brought_to_this_one(ledger: Ledger) -> None:
    """Its releases stay, with their losses; what they were asked for is not known, and of later ones it is."""
    ledger.commit(ledger.reserve(claim(), free))
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("ALTER TABLE release DROP COLUMN request")
        connection.execute("PRAGMA user_version = 2")
    reopened = Ledger(ledger.path)
    reopened.publishing(reopened.reserve(claim(request=b"asked"), free), "digest")
    entries = Ledger(ledger.path).standing("d").entries
    assert [(entry.request, entry.data_sha256) for entry in entries] == [(None, None), (b"asked", "digest")]
    assert Ledger(ledger.path).standing("d").epsilon == 0.2


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """It is named, and so is the way around; for root too, who may write everywhere but in a file as if a folder."""
    (tmp_path / "closed").write_text("no folder")
    with pytest.raises(LedgerError, match="closed"):
        Ledger(tmp_path / "closed" / "ledger.sqlite")
