"""The ledger, in a file and on a server: what counts when, across processes and crashes, and what it never holds."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest
from ledger.claims import TESTS, claim, die, environment, free

from anonkit.errors import BudgetError, LedgerError
from anonkit.ledger import Ledger
from anonkit.ledger.booked_releases import Allowance, DatasetState, ReleaseState
from anonkit.ledger.neighbour_totals import total


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
    assert [entry.state for entry in ledger.standing("d").entries] == [ReleaseState.COMMITTED, ReleaseState.ROLLED_BACK]


def test_a_refused_reservation_leaves_nothing(ledger: Ledger) -> None:
    """Neither an entry nor a budget nor a dataset."""

    def refuse(standing: DatasetState) -> None:
        assert (standing.budget, standing.budget_delta) == (1, 1e-6)
        raise BudgetError("no")

    with pytest.raises(BudgetError):
        ledger.reserve(claim(), refuse, budget=Allowance(epsilon=1, delta=1e-6))
    assert ledger.datasets() == []


def test_losses_add_up_as_they_are_written() -> None:
    """Ten times 0.1 is 1, three times 0.1 is 0.3, and no bound plus anything is no bound."""
    assert total([0.1] * 10) == 1
    assert total([0.1, 0.1, 0.1]) == 0.3
    assert math.isinf(total([1.0, math.inf, None]))
    assert total([]) == 0


@pytest.mark.quick_cases("file")
def test_a_reservation_of_a_dead_process_never_reached_its_place(ledger: Ledger, where: str, tmp_path: Path) -> None:
    """Killed before `publishing`: rolled back by the next reader."""
    die(where, tmp_path / "out.parquet")
    assert ledger.standing("d").epsilon == 0
    assert ledger.standing("d").entries[0].state is ReleaseState.ROLLED_BACK


@pytest.mark.quick_cases("file")
def test_what_was_publishing_counts_when_nobody_can_tell(ledger: Ledger, where: str, tmp_path: Path) -> None:
    """Killed after `publishing`, no file there: it may have been there and carried away, so it counts."""
    die(where, tmp_path / "out.parquet", 'ledger.publishing(number, "digest")')
    assert ledger.standing("d").epsilon == 0.1
    assert ledger.standing("d").entries[0].state is ReleaseState.PUBLISHING


@pytest.mark.quick_cases("file")
def test_what_was_published_is_committed(ledger: Ledger, where: str, tmp_path: Path) -> None:
    """Killed between the last rename and `commit`: the data file's hash shows that it is there."""
    from anonkit.bundle.data_files import sha256

    (tmp_path / "out.parquet").write_bytes(b"the release")
    die(where, tmp_path / "out.parquet", f"ledger.publishing(number, {sha256(b'the release')!r})")
    assert ledger.standing("d").entries[0].state is ReleaseState.COMMITTED


@pytest.mark.quick_cases("file")
def test_another_release_in_the_same_place_proves_nothing(ledger: Ledger, where: str, tmp_path: Path) -> None:
    """A data file with another hash may have replaced the one in question: it still counts."""
    (tmp_path / "out.parquet").write_bytes(b"another")
    die(where, tmp_path / "out.parquet", 'ledger.publishing(number, "digest")')
    assert ledger.standing("d").epsilon == 0.1


def test_a_living_process_is_left_alone(ledger: Ledger, where: str) -> None:
    """A reservation of a process that runs is not settled by others."""
    ledger.reserve(claim(), free)
    other = Ledger(where)
    assert other.standing("d").entries[0].state is ReleaseState.RESERVED


def test_a_process_of_the_same_number_is_another(ledger: Ledger) -> None:
    """The number of a dead process may be given away again; its start distinguishes the two."""
    from dataclasses import replace

    from anonkit.bundle.liveness import Process

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


_SPEND = """
import sys
from threading import Thread
sys.path.insert(0, {tests!r})
from ledger.claims import claim
from anonkit.errors import BudgetError
from anonkit.ledger import Ledger
from anonkit.ledger.account import refuse_overspent
from anonkit.ledger.booked_releases import NO_LIMIT, Allowance, Cost
from anonkit.promises.guarantee import REPLACE, Neighbours

KIND = Neighbours(adjacency=REPLACE)
COST = Cost(epsilon=0.1, delta=1e-6, redrawn=False, neighbours=KIND)
BUDGETS = {{"epsilon": Allowance(epsilon=1.0), "delta": Allowance(delta=1e-5)}}

def check(standing):
    refuse_overspent(standing, COST, NO_LIMIT)

def spend():
    for name, budget in BUDGETS.items():
        try:
            ledger = Ledger({where!r})
            number = ledger.reserve(claim(dataset=name, delta=COST.delta), check, budget=budget)
        except BudgetError:
            continue
        ledger.publishing(number, "x")
        ledger.commit(number)
        spent.append(number)

spent = []
writers = [Thread(target=spend) for _ in range({threads})]
for writer in writers:
    writer.start()
for writer in writers:
    writer.join()
print(len(spent))
"""


@pytest.mark.quick_cases("file-2-20")
@pytest.mark.parametrize(
    ("processes", "threads"), [(2, 20), pytest.param(40, 1, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_forty_writers_never_overspend_one_budget(where: str, processes: int, threads: int) -> None:
    """Exactly ten of forty that write at once get a tenth each of a budget, of epsilon or delta, in one ledger."""
    code = _SPEND.format(tests=str(TESTS), where=where, threads=threads)
    command = [sys.executable, "-c", code]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) for _ in range(processes)]
    spent = [int(process.communicate()[0]) for process in running]

    assert sum(spent) == 20
    for standing in Ledger(where).datasets():
        assert (standing.epsilon, standing.delta) == (1.0, 1e-5)
        assert [entry.state for entry in standing.entries] == [ReleaseState.COMMITTED] * 10


def test_who_was_taken_for_gone_publishes_nothing(ledger: Ledger) -> None:
    """A reservation that others gave up does not count, so nothing may be put in place under it."""
    number = ledger.reserve(claim(), free)
    ledger.give_up(number)
    with pytest.raises(LedgerError, match="was given up") as refused:
        ledger.publishing(number, "digest")
    assert refused.value.exit_code == 3
    assert ledger.standing("d").epsilon == 0


def test_a_policy_lowers_what_is_remembered_and_never_raises_it(ledger: Ledger) -> None:
    """An option does both."""
    remembered = []
    for given, declared in ((None, 3.0), (None, 5.0), (4.0, 3.0), (None, 9.0), (None, 2.0), (None, None)):
        said = [Allowance(epsilon=limit, delta=limit and limit / 1e6) for limit in (given, declared)]
        ledger.reserve(claim(), free, budget=said[0], declared=said[1])
        remembered.append(ledger.standing("d").allowance)
    assert [allowance.epsilon for allowance in remembered] == [3.0, 3.0, 4.0, 4.0, 2.0, 2.0]
    assert [allowance.delta for allowance in remembered] == [3e-6, 3e-6, 4e-6, 4e-6, 2e-6, 2e-6]


def test_threads_that_share_a_ledger_do_not_share_transactions(ledger: Ledger) -> None:
    """For any action of one thread during another's reservation, the charges of each thread are booked."""
    inside, booked = Event(), []

    def slow(standing: DatasetState) -> None:
        inside.set()
        other.join(timeout=0.5)  # it waits for its turn: were it let in, it would be done by now

    other = Thread(target=lambda: (inside.wait(), booked.append(ledger.reserve(claim(0.2), free))))
    other.start()
    booked.append(ledger.reserve(claim(), slow))
    other.join()
    entries = ledger.standing("d").counted
    assert sorted(booked) == [entry.number for entry in entries]
    assert [entry.epsilon for entry in entries] == [0.1, 0.2]
