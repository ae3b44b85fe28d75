"""When a process has ended, for those who look at what it left behind.

A server of PostgreSQL that is starting up is waited for, as a ledger and as a source; other failures are not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest
from postgresql import Server

import anonkit
from anonkit.bundle import liveness
from anonkit.bundle.liveness import Process, when_started
from anonkit.ledger import Ledger


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that other tests do not need while it is stopped."""
    server = Server.start()
    try:
        yield server
    finally:
        server.remove()


@pytest.mark.slow
def test_a_server_that_starts_is_waited_for(
    own_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash, whose log it reads first."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setattr(liveness, "_REFUSED", 30.0)  # whatever else this machine does
    address = own_server.new_ledger()
    Ledger.create(address)
    with closing(own_server.connect()) as base:
        base.execute("CREATE TABLE people AS SELECT n % 9 + 20 AS age, n % 2 AS class FROM generate_series(1, 60) AS n")

    def booked() -> bool:
        return Ledger(address).datasets() == []

    def read() -> bool:
        source = f"{own_server.address}?table=people"
        return bool(anonkit.release(source, method="mondrian", k=5, target="class", ledger=None).report["rows"])

    for ask in (booked, read):
        own_server.stop("immediate")
        starting = Thread(target=own_server.resume)
        starting.start()
        try:
            assert ask()
        finally:
            starting.join()


class RefusedError(Exception):
    """An error of a driver."""

    def __init__(self, words: str, sqlstate: str | None = None) -> None:
        super().__init__(words)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (RefusedError("FATAL: the database system is starting up"), 60),
        (RefusedError("FATAL: das Datenbanksystem startet", "57P03"), 60),
        (RefusedError("connection to server failed: Connection refused"), 2),
        (RefusedError("password authentication failed"), 0),
    ],
)
def test_the_wait_is_bounded(error: RefusedError, seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what the server says."""
    clock = [0.0]
    monkeypatch.setattr("anonkit.bundle.liveness.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("anonkit.bundle.liveness.time.sleep", lambda pause: clock.__setitem__(0, clock[0] + pause))

    def connect() -> None:
        raise error

    with pytest.raises(RefusedError):
        when_started(connect, (RefusedError,))
    assert seconds <= clock[0] <= seconds + 1


reads_processes = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="states of processes are read from /proc"
)

LEADER_ENDS = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); \
ctypes.CDLL(None).pthread_exit(None)"
"""A program whose first thread ends while another one goes on."""


def _process(number: int) -> Process:
    """Describe a running process as it describes itself."""
    here = Process.this()
    started = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[19]
    return Process(machine=here.machine, boot=here.boot, number=number, started=started)


@pytest.fixture(name="child")
def _child(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    program = getattr(request, "param", "import time; time.sleep(60)")
    with subprocess.Popen([sys.executable, "-c", program]) as child:
        yield child
        child.kill()


def _until_zombie(number: int) -> None:
    for _ in range(500):
        if Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.02)
    raise AssertionError("the process did not end")


@reads_processes
def test_a_killed_process_that_nobody_waited_for_has_ended(child: subprocess.Popen[bytes]) -> None:
    """It has its number until its parent asks for it, and runs no more."""
    process = _process(child.pid)
    assert not process.has_ended()
    os.kill(child.pid, 9)
    _until_zombie(child.pid)
    assert process.has_ended()
    assert process.is_surely_dead()


@reads_processes
@pytest.mark.parametrize("child", [LEADER_ENDS], indirect=True)
def test_a_process_whose_other_threads_go_on_has_not_ended(child: subprocess.Popen[bytes]) -> None:
    """The first thread alone has ended."""
    process = _process(child.pid)
    _until_zombie(child.pid)
    assert not process.has_ended()


@reads_processes
def test_this_process_has_not_ended() -> None:
    """Every thread sees it."""
    seen: list[bool] = []
    thread = threading.Thread(target=lambda: seen.append(Process.this().has_ended()))
    thread.start()
    thread.join()
    assert seen == [False]
    assert not Process.this().has_ended()
