# SPDX-License-Identifier: Apache-2.0
"""Counts that are wanted later: executors make them while the driver searches its sample, in a thread of its own.

Spark sessions: the active one or one of our own, and Spark's failures as errors of anonkit.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import uuid
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import Any, Generic, TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from pyspark.util import InheritableThread

from anonkit.engines.writing.part_tasks import failure_in
from anonkit.errors import AnonkitError, EngineError, MissingDependencyError, ParameterError, option, spoken

_T = TypeVar("_T")

SCRATCH = "spark.anonkit.scratch"
"""Setting that names a folder the driver and all executors see under the same name."""
TASK_ROWS = "spark.anonkit.taskRows"
"""Setting that says about how many rows a task reads."""

STARTING = "starting Spark"

BESIDE: ContextVar[bool] = ContextVar("beside", default=False)
"""True in a thread that works beside the one of the user."""

_OWN: Mapping[str, str] = {
    "spark.log.level": "OFF",  # what a failed task prints may quote cells; failures are reported in our words
    "spark.ui.showConsoleProgress": "false",
}
_LOCAL: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
_READING: Mapping[str, str] = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 16),
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.files.maxRecordsPerFile": "0",
    "spark.sql.sources.partitionOverwriteMode": "static",
}
_FINE = ("spark.sql.files.maxPartitionBytes", str(32 << 20))
"""Small tasks: less to do again when one is lost. Only where the session does not say otherwise."""
_MASTERS = re.compile(r"(local(\[.*\])?|yarn|(spark|k8s)://.+)$")
_TALKATIVE = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Loggers through which PySpark prints an error when it is caught, with the cell it is about."""
_SILENCING = Lock()
_SILENCED: dict[str, tuple[int, bool]] = {}
"""By logger: how many threads want it silent, and whether it was so before the first of them."""


@dataclass(frozen=True, kw_only=True)
class OpenSession:
    """A session to work in, and what is to be stopped at the end."""

    session: SparkSession
    """Settings changed here are not those of the session it was made from."""
    base: SparkSession
    """The session it was made from, with its catalog and its views."""
    is_own: bool
    """True when the base was started here."""

    @property
    def scratch(self) -> Path | None:
        """The folder that all nodes see, if one is named."""
        named = self.base.conf.get(SCRATCH, None)
        return Path(named).absolute() if named else None

    def task_rows(self, usual: int) -> int:
        """Return about how many rows a task reads.

        Raises
        ------
        ParameterError
            The setting is no number of rows.
        """
        named = self.base.conf.get(TASK_ROWS, None) or str(usual)
        if not (named.isascii() and named.isdecimal() and int(named) > 0):
            raise ParameterError(f"{TASK_ROWS} ({named}) must be a whole number above 0")
        return int(named)

    def close(self) -> None:
        """Stop Spark if it was started here; make the session that was there before the active one again."""
        with suppress(Exception):
            if self.is_own:
                self.base.stop()
            else:
                self.base.createDataFrame([], "nothing int")


def open_session(master: str | None, conf: Mapping[str, str], given: SparkSession | None) -> OpenSession:
    """Return a session of our own settings on the Spark that is there, or on a new one.

    Raises
    ------
    MissingDependencyError
        There is no Java.
    EngineError
        Spark cannot be started, or the cluster does not answer.
    """
    return during(STARTING, lambda: _open(master, conf, given))


def _open(master: str | None, conf: Mapping[str, str], given: SparkSession | None) -> OpenSession:
    active = given or (SparkSession.getActiveSession() if master is None and not conf else None)
    base = active or _start(master, conf)
    session = base.newSession()
    for key, value in _READING.items():
        session.conf.set(key, value)
    if session.conf.get(_FINE[0], None) in (None, "134217728b"):
        session.conf.set(*_FINE)
    return OpenSession(session=session, base=base, is_own=active is None)


def _start(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    if SparkSession.getActiveSession() is not None:
        raise EngineError(
            "a Spark session is active already: its master and settings cannot be changed",
            "leave master and settings out to use it, or stop it",
        )
    where = master or conf.get("spark.master") or os.environ.get("MASTER") or "local[*]"
    if not _MASTERS.match(where):
        raise ParameterError(
            f"Spark has no master of the form {where!r}", "spark://host:7077, yarn, k8s://…, local or local[4]"
        )
    settings = {**_OWN, **(_LOCAL if where.startswith("local") else {}), **conf, "spark.master": where}
    os.environ["PYSPARK_PYTHON"] = conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("anonkit")
    for key, value in settings.items():
        builder = builder.config(key, value)
    with _quiet_java():
        return builder.getOrCreate()


@contextmanager
def _quiet_java() -> Iterator[None]:
    """Start Java with no place to complain: it keeps for its whole life the error output that it was started with.

    What it logs is of no use to a user, and may quote cells later on. `ANONKIT_DEBUG=1` leaves it as it is.
    """
    if os.environ.get("ANONKIT_DEBUG"):
        yield
        return
    sys.stderr.flush()
    stderr_copy, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(stderr_copy, 2)
        os.close(stderr_copy)
        os.close(nowhere)


def during(doing: str, action: Callable[[], _T]) -> _T:
    """Return the result of an action of Spark; what it says when it fails may quote cells, and is never passed on.

    Raises
    ------
    AnonkitError
        The error an executor sent, or one in our words. No attribute of it leads back to Spark's.
    KeyboardInterrupt
        The user, or the system, ended the job.
    """
    failure: BaseException
    try:
        with _without_warnings(), _silent():
            return action()
    except AnonkitError:
        raise
    except (PySparkException, Py4JError, OSError, RuntimeError, ValueError, TypeError, AttributeError) as error:
        failure = KeyboardInterrupt() if _was_interrupted(error) else _explained(error, doing)
    raise failure


def _was_interrupted(error: BaseException | None) -> bool:
    """Return True if Ctrl-C is what an error replaces: Spark cancels its jobs then, and reports them as failed."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Let PySpark warn nobody. The filters of warnings are those of all threads: a thread beside leaves them alone."""
    if BESIDE.get():
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _silent() -> Iterator[None]:
    """Keep PySpark from printing the errors that we catch, until the last thread that wants it so has ended."""
    with _SILENCING:
        for name in _TALKATIVE:
            logger = PySparkLogger.getLogger(name)
            wanted, before = _SILENCED.get(name, (0, logger.disabled))
            _SILENCED[name] = wanted + 1, before
            logger.disabled = True
    try:
        yield
    finally:
        with _SILENCING:
            for name in _TALKATIVE:
                wanted, before = _SILENCED.pop(name)
                if wanted > 1:
                    _SILENCED[name] = wanted - 1, before
                else:
                    PySparkLogger.getLogger(name).disabled = before


def _explained(error: Exception, doing: str) -> AnonkitError:
    text = str(error)
    ours = failure_in(text)
    if ours is not None:
        return ours
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    if condition == "JAVA_GATEWAY_EXITED" or "JAVA_HOME" in text:
        return _no_java()
    is_over = condition == "SESSION_OR_CONTEXT_NOT_EXISTS" or "stopped SparkContext" in text
    if doing == STARTING and (is_over or "unresponsive" in text):
        return EngineError(
            "the master of the Spark cluster does not answer", f"{option('spark_master')} names it: is it running?"
        )
    if is_over or isinstance(error, AttributeError):  # PySpark looks for what it has let go of
        return EngineError(f"{doing} failed: the Spark session was stopped", "leave it open until the release is made")
    if "maxResultSize" in text:
        return EngineError(f"{doing} needs more memory", _setting("spark.driver.maxResultSize"))
    if "No module named 'anonkit'" in text or "No module named 'pyarrow'" in text:
        return EngineError(
            "the executors do not have anonkit",
            "install anonkit[spark] on every node; PYSPARK_PYTHON names their Python",
        )
    if "OutOfMemoryError" in text:
        return EngineError(f"{doing} needs more memory", f"{_setting('spark.executor.memory')}, spark.driver.memory")
    if "No space left" in text:
        return EngineError(f"{doing} failed: a disk is full", f"{SCRATCH} and spark.local.dir name the folders")
    why = f" ({condition})" if condition else ""
    return EngineError(f"{doing} failed in Spark{why}", "the logs of the driver and of the executors say more")


def _setting(key: str) -> str:
    """Return a setting of Spark that the reader has to choose."""
    return spoken(python=f'spark_conf={{"{key}": "…"}}', typed=f"--spark-conf {key}=…")


def _no_java() -> AnonkitError:
    """Return the error for a missing Java machine."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java" if home is None else str(Path(home, "bin", "java"))) is None:
        return MissingDependencyError("Spark needs Java 17 or later, and found none", "install it, or set JAVA_HOME")
    return EngineError(
        "Java ended before Spark had started",
        f"Spark needs Java 17 or later, and values it knows in {option('spark_conf')}; the lines above may say more",
    )


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
