"""When a process has ended, for those who look at what it left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from anonkit.bundle.liveness import Process

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="states of processes are read from /proc")

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


def test_a_killed_process_that_nobody_waited_for_has_ended(child: subprocess.Popen[bytes]) -> None:
    """It has its number until its parent asks for it, and runs no more."""
    process = _process(child.pid)
    assert not process.has_ended()
    os.kill(child.pid, 9)
    _until_zombie(child.pid)
    assert process.has_ended()
    assert process.is_surely_dead()


@pytest.mark.parametrize("child", [LEADER_ENDS], indirect=True)
def test_a_process_whose_other_threads_go_on_has_not_ended(child: subprocess.Popen[bytes]) -> None:
    """The first thread alone has ended."""
    process = _process(child.pid)
    _until_zombie(child.pid)
    assert not process.has_ended()


def test_this_process_has_not_ended() -> None:
    """Every thread sees it."""
    seen: list[bool] = []
    thread = threading.Thread(target=lambda: seen.append(Process.this().has_ended()))
    thread.start()
    thread.join()
    assert seen == [False]
    assert not Process.this().has_ended()
