# SPDX-License-Identifier: Apache-2.0
"""Liveness of others: a process that may have ended, and a server that is starting up.

A process behind a reservation is known by number, start time and machine, not by the number alone. A server of
PostgreSQL refuses connections for a while as it starts, and then it answers.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process of one machine, distinguished from a later one of the same number."""

    machine: str
    """Host name and, where the system has them, its name space of process numbers."""
    boot: str
    """Identifier of the machine's start; empty where the system gives none."""
    number: int
    started: str
    """Start time of the process, in the system's own count; empty where it gives none."""

    @classmethod
    def this(cls) -> Process:
        """Return the process that asks."""
        return cls(machine=_machine(), boot=_boot(), number=os.getpid(), started=_started(os.getpid()))

    def to_text(self, **more: str) -> str:
        """Return the process as one line, with what more is noted of it."""
        return json.dumps({**asdict(self), **more})

    @classmethod
    def from_text(cls, text: str) -> Process:
        """Read a process back."""
        raw = json.loads(text)
        return cls(**{name: raw[name] for name in ("machine", "boot", "number", "started")})

    @property
    def host(self) -> str:
        """Name of its machine."""
        return self.machine.partition(" ")[0]

    @property
    def is_on_this_machine(self) -> bool:
        """True where it can be seen whether it has ended."""
        return self.machine == _machine()

    def is_surely_dead(self) -> bool:
        """Return True if it has ended; False where that cannot be known, as for another machine's process."""
        return self.is_on_this_machine and (self.boot != _boot() or self.has_ended())

    def has_ended(self) -> bool:
        """Return True if it ran on this machine since its last start, and runs no more.

        Machines that share a ledger may share a name, too: a start that differs may be another machine's.
        """
        if not self.is_on_this_machine or self.boot != _boot():
            return False
        return not _is_alive(self.number) or bool(self.started and self.started != _started(self.number))


def _is_alive(number: int) -> bool:
    """Return True if a process of this number runs on this machine."""
    try:
        # signal 0 is never delivered: it only checks whether the process exists
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    # the process exists and belongs to somebody else
    except PermissionError:
        pass
    return not _is_zombie(number)


def _is_zombie(number: int) -> bool:
    """Return True if a process has ended, and its parent has not read its exit code: all its threads are gone."""
    if not (fields := _stat(number)) or fields[0] not in ("Z", "X"):
        return False
    try:
        return len(os.listdir(f"/proc/{number}/task")) <= 1  # the first thread may end before the others
    except OSError:
        return not Path(f"/proc/{number}").exists()


@cache
def _machine() -> str:
    try:
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


@cache
def _boot() -> str:
    return _read(Path("/proc/sys/kernel/random/boot_id"))


def _stat(number: int) -> list[str]:
    """Return the fields of a process from its state on; none where the system has no such file."""
    return _read(Path(f"/proc/{number}/stat")).rpartition(")")[2].split()


def _started(number: int) -> str:
    fields = _stat(number)
    return fields[19] if len(fields) > 19 else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


_T = TypeVar("_T")

_STARTING, _REFUSED = 60.0, 2.0
"""Seconds to wait for a server that says it is starting, and for one that nobody answers for yet."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


def when_started(connect: Callable[[], _T], failures: tuple[type[Exception], ...]) -> _T:
    """Return a connection to a server of PostgreSQL, tried again while it is starting up.

    Parameters
    ----------
    connect : callable
        Opens it, and has done nothing when it fails.
    failures : tuple of type
        What it raises of a server. One that says that it is starting is waited for up to 60 s, one that refuses the
        connection up to 2 s. Any other failure is raised at once.
    """
    begun, pause = time.monotonic(), _FIRST_PAUSE
    while True:
        try:
            return connect()
        except failures as error:
            if time.monotonic() - begun >= _patience(error):
                raise
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _patience(error: Exception) -> float:
    """Return the number of seconds for which a failure is waited out."""
    words = str(error).lower()
    if getattr(error, "sqlstate", None) == "57P03" or re.search(
        "starting up|in recovery mode|not yet accepting", words
    ):
        return _STARTING
    return _REFUSED if "connection refused" in words else 0.0
