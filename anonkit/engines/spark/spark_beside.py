# SPDX-License-Identifier: Apache-2.0
"""Counts that are wanted later: executors make them while the driver searches its sample, in a thread of its own."""

from __future__ import annotations

import uuid
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Generic, TypeVar

from pyspark.sql import SparkSession
from pyspark.util import InheritableThread

from anonkit.engines.spark.spark_sessions import BESIDE, during

_Counted = TypeVar("_Counted")

_LOOK_AGAIN_S = 0.1
"""Jobs are cancelled again as long as the thread lives: it may have been about to start the next one."""


class BesideSearch:
    """Counts that run while the driver searches; those that nothing can need any more are dropped.

    Privacy
    -------
    What is counted, and when, depends on no cell: the counts are those that are needed in any case.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._waiting: list[weakref.ref[_Later[Any]]] = []

    def later(self, count: Callable[[], _Counted]) -> Callable[[], _Counted]:
        """Return a function that gives the result of a count. See `anonkit.protocols.counted_later`."""
        later = _Later(count)
        self._waiting.append(weakref.ref(later))
        return later.taken

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Count in a thread until the context ends. See `anonkit.protocols.counting_beside`."""
        announced, self._waiting = [each() for each in self._waiting], []
        counts = [later for later in announced if later is not None and not later.made]
        if not counts:
            yield
            return
        with warnings.catch_warnings():  # by this thread, for both: filters belong to all threads of a process
            warnings.filterwarnings("ignore", module=r"pyspark\.")
            thread = during("counting", lambda: _Counting.started(self._session, counts))
            try:
                yield
                thread.finish()
            finally:  # after an error or an interrupt nothing of it shall go on in the cluster
                thread.cancel()


@dataclass(eq=False)
class _Later(Generic[_Counted]):
    """One count, made once: beside the search, or by whoever asks first."""

    count: Callable[[], _Counted]
    made: list[_Counted] = field(default_factory=list)
    """The result, once it is there."""
    failure: Exception | None = None

    def make(self) -> None:
        """Count, and keep the result or the error for who asks."""
        try:
            self.made.append(self.count())
        except Warning:  # a filter of the search met PySpark: this is no error of the count, which is made later
            return
        except Exception as error:  # raised where the result is used, as if it had been counted there
            self.failure = error

    def forget_failure(self) -> None:
        """Forget an error that was that of a cancelled job."""
        self.failure = None

    def taken(self) -> _Counted:
        """Return the result, counted now if it was not beside the search.

        Raises
        ------
        AnonkitError
            What the count raised.
        """
        if self.failure is not None:
            raise self.failure
        if not self.made:
            self.made.append(self.count())
        return self.made[0]


class _Counting:
    """A thread that makes counts one after the other, all of whose jobs can be cancelled."""

    def __init__(self, session: SparkSession, counts: Sequence[_Later[Any]]) -> None:
        self._context, self._counts = session.sparkContext, counts
        self._tag = f"anonkit-beside-{uuid.uuid4().hex}"
        self._ending = Event()
        self._thread = InheritableThread(self._work, name=self._tag, daemon=True)

    @classmethod
    def started(cls, session: SparkSession, counts: Sequence[_Later[Any]]) -> _Counting:
        """Return a thread that counts."""
        thread = cls(session, counts)
        thread._thread.start()
        return thread

    def finish(self) -> None:
        """Wait until all counts are made."""
        self._thread.join()

    def cancel(self) -> None:
        """End what is not over: its jobs, and with them the thread."""
        if not self._thread.is_alive():
            return
        self._ending.set()
        while self._thread.is_alive():
            with suppress(Exception):  # where Spark is gone its jobs are too
                self._context.cancelJobsWithTag(self._tag)
            self._thread.join(_LOOK_AGAIN_S)

    def _work(self) -> None:
        BESIDE.set(True)
        with suppress(BaseException):  # what could not be counted here is counted at its first use
            self._context.addJobTag(self._tag)
            for count in self._counts:
                if self._ending.is_set():
                    return
                count.make()
                if self._ending.is_set():
                    count.forget_failure()
