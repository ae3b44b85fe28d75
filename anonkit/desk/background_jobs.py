# SPDX-License-Identifier: Apache-2.0
"""Jobs of the desk: each in a process of its own, with progress, results as they come, and an end whatever happens.

A job belongs to the desk and not to a page: it goes on while pages are loaded again, and every page sees it. One that
is killed, or fails in a way that nobody foresaw, has failed: none is at work for ever.

A worker of the desk: it gets an order, reports its progress, and sends results or the reason for none.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from multiprocessing.connection import Connection
from typing import Any

from anonkit.errors import AnonkitError, InternalError, warnings_unsaid

WHAT_JOBS_IMPORT = "anonkit.desk.job_imports"
"""Module that the process imports from which workers begin: the desk itself needs none of it."""
READS_CELLS = ("draft", "risk")
"""Kinds that show what the cells of the private table are, whatever their order says."""


def nothing() -> None:
    """Do nothing: the process from which workers begin is there then."""


def work(kind: str, order: Mapping[str, Any], connection: Connection, environment: Mapping[str, str]) -> None:
    """Do a job, and say how it went.

    Parameters
    ----------
    kind : str
        One of `job_kinds.KINDS`.
    order : mapping
        What it is given, of plain values.
    connection : Connection
        What results and progress are sent through.
    environment : mapping
        Variables of the desk, such as the one that names the ledger: those of the process from which workers begin are
        of the time when the first of them did.

    Privacy
    -------
    Nothing is written to the terminal, and of an exception that nobody put into words only its type and its place are
    reported: its text may quote cells.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the desk ends its workers itself
    signal.signal(signal.SIGTERM, _ended)  # so that private files are deleted
    silent = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silent, stream)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    os.environ.clear()
    os.environ.update(environment)
    from anonkit.desk import job_kinds

    channel = job_kinds.ProgressChannel(send=connection.send)
    try:
        with warnings_unsaid():
            connection.send(("done", job_kinds.KINDS[kind](order, channel)))
    except AnonkitError as error:
        message, hint = error.for_command_line()
        connection.send(("failed", (message, hint or "")))
    except Exception as error:
        connection.send(("failed", (InternalError.of(error).message, "please report this line")))
    finally:
        connection.close()


def _ended(*_: object) -> None:
    raise SystemExit(0)


NOTHING = "nothing was written"
"""The remains of a job whose process has ended, but for one that writes."""


class JobState(StrEnum):
    """The progress of a job."""

    AT_WORK = "at work"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(kw_only=True)
class Job:
    """One piece of work."""

    kind: str
    key: str
    """Key of its input: results of another key are of an earlier state of the session."""
    handle: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    """By which pages name it."""
    state: JobState = JobState.AT_WORK
    step: str = ""
    share: float = 0.0
    """Of the work, in [0, 1]."""
    parts: list[Any] = field(default_factory=list, repr=False)
    """Results as they come."""
    result: Any = field(default=None, repr=False)
    message: str = ""
    """Why it failed: one line without a cell."""
    hint: str = ""


class Jobs:
    """All jobs of a desk: of each kind the newest.

    Parameters
    ----------
    changed : callable
        Called, from another thread, whenever a job is not as it was.
    left : callable
        Given a job whose process has ended before it was done; returns what is left of it, such as "nothing was
        written".
    """

    def __init__(self, changed: Callable[[], None], left: Callable[[Job], str] = lambda job: NOTHING) -> None:
        self._changed, self._left = changed, left
        self._of_kind: dict[str, Job] = {}
        self._processes: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._is_ready = threading.Event()
        self._is_ready.set()
        methods = multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        if "forkserver" in methods:  # each worker begins with everything imported
            self._context.set_forkserver_preload([WHAT_JOBS_IMPORT])

    def of_kind(self, kind: str) -> Job | None:
        """Return the newest job of a kind."""
        with self._lock:
            return self._of_kind.get(kind)

    def found(self, kind: str, key: str) -> Job | None:
        """Return the newest job of a kind if it was made from this."""
        job = self.of_kind(kind)
        return job if job is not None and job.key == key else None

    @property
    def are_at_work(self) -> bool:
        """True while any job is."""
        with self._lock:
            return any(job.state is JobState.AT_WORK for job in self._of_kind.values())

    def warm_up(self) -> None:
        """Have a process ready from which workers begin, without waiting for it; jobs wait until it is there."""
        self._is_ready.clear()
        threading.Thread(target=self._start_ready, daemon=True).start()

    def _start_ready(self) -> None:
        with suppress(Exception):  # a job says why none can be started
            ready = self._context.Process(target=nothing, daemon=True)
            ready.start()
            ready.join()
        self._is_ready.set()

    def start(self, kind: str, key: str, order: Mapping[str, Any]) -> Job:
        """Start a job; one of the kind that is at work on something else is cancelled first.

        Parameters
        ----------
        kind : str
            One of `KINDS`.
        key : str
            What it is made from.
        order : mapping
            What it is given, of plain values.

        Returns
        -------
        Job
            The one that is at work on this already, if there is one.

        Raises
        ------
        AnonkitError
            No process can be started; the job before is as it was.
        """
        with self._lock:
            before = self._of_kind.get(kind)
            if before is not None and before.state is JobState.AT_WORK and before.key == key:
                return before
            job = Job(kind=kind, key=key)
            begun = None
            if self._is_ready.is_set():
                begun = self._begun(kind, order)
                self._processes[job.handle] = begun[0]
            if before is not None:
                self._end(before, process_of=self._processes)
            self._of_kind[kind] = job
        if begun is None:  # pages are answered meanwhile
            threading.Thread(target=self._start_later, args=(job, order), daemon=True).start()
        else:
            threading.Thread(target=self._watch, args=(job, *begun), daemon=True).start()
        self._changed()
        return job

    def _begun(self, kind: str, order: Mapping[str, Any]) -> tuple[Any, Connection]:
        """Start the process of a job, and return it with the end of the pipe that it sends its results through."""
        here, there = self._context.Pipe(duplex=False)
        given = (kind, dict(order), there, dict(os.environ))
        process = self._context.Process(target=work, args=given, daemon=True)
        try:
            process.start()
        except (OSError, EOFError) as error:
            here.close()
            raise AnonkitError("no process can be started for this", "close other programs") from error
        finally:
            there.close()
        return process, here

    def _start_later(self, job: Job, order: Mapping[str, Any]) -> None:
        """Start a job once the process is ready from which workers begin, unless it was cancelled by then."""
        self._is_ready.wait()
        with self._lock:
            if job.state is not JobState.AT_WORK:
                return
            try:
                process, here = self._begun(job.kind, order)
            except AnonkitError as error:
                job.state, (job.message, job.hint) = JobState.FAILED, (error.told[0], error.told[1] or "")
                process = None
            else:
                self._processes[job.handle] = process
        if process is not None:
            self._watch(job, process, here)
        self._changed()

    def cancel(self, handle: str) -> None:
        """End a job that is at work; nothing happens to others."""
        with self._lock:
            for job in self._of_kind.values():
                if job.handle == handle:
                    self._end(job, process_of=self._processes)
        self._changed()

    def close(self) -> None:
        """End all that is at work."""
        with self._lock:
            processes = list(self._processes.values())
            for job in self._of_kind.values():
                self._end(job, process_of=self._processes)
        for process in processes:
            process.join(2)

    @staticmethod
    def _end(job: Job, *, process_of: Mapping[str, Any]) -> None:
        if job.state is JobState.AT_WORK:
            job.state, job.message = JobState.CANCELLED, "cancelled"
            process = process_of.get(job.handle)
            if process is None:  # it has not begun
                job.message = f"{job.message}; {NOTHING}"
            else:
                process.terminate()

    def _watch(self, job: Job, process: Any, connection: Connection) -> None:
        """Take note of what a worker says, until it says no more.

        A job has failed once it is known what is left of it: until then its files may be on their way into place.
        """
        unread = ""
        try:
            with connection:
                while True:
                    self._note(job, connection.recv())
        except EOFError:
            pass
        except Exception as error:  # what it sent cannot be read: it would never be done otherwise
            unread = f"its results could not be read ({type(error).__name__})"
            process.terminate()
        process.join()
        if job.state in (JobState.AT_WORK, JobState.CANCELLED):  # what failed in words of its own says what is left
            left = self._left(job)
            with self._lock:
                if job.state is JobState.AT_WORK:
                    job.state, job.hint = JobState.FAILED, "start it again"
                    job.message = unread or f"its process has ended{_how(process.exitcode)}"
                job.message = f"{job.message}; {left}"
        with self._lock:
            self._processes.pop(job.handle, None)
        self._changed()

    def _note(self, job: Job, message: tuple[str, Any]) -> None:
        what, value = message
        with self._lock:
            if job.state is not JobState.AT_WORK:
                return
            if what == "progress":
                job.step, job.share = value
            elif what == "part":
                job.parts.append(value)
            elif what == "done":
                job.state, job.result, job.share = JobState.DONE, value, 1.0
            else:
                job.state, (job.message, job.hint) = JobState.FAILED, value
        self._changed()


def _how(code: int | None) -> str:
    """Return the words for the signal that ended a process; an empty string without one."""
    if code is None or code >= 0:
        return ""
    try:
        return f" by {signal.Signals(-code).name}"
    except ValueError:
        return f" by signal {-code}"
