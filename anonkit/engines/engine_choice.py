# SPDX-License-Identifier: Apache-2.0
"""The choice of an engine and its settings, as values that are made before anything is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from anonkit.bundle.data_files import PartWorkers, workers_of
from anonkit.errors import MissingDependencyError, ParameterError, did_you_mean, option
from anonkit.protocols import SEARCH_ROWS, Engine


class EngineChoice(Protocol):
    """The source of the engine of a release."""

    def opened(self) -> AbstractContextManager[Engine]:
        """Return the engine; its private files go with the context.

        Raises
        ------
        MissingDependencyError
            PySpark or Java is not installed.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class _Searching:
    """Settings that every engine has."""

    search_rows: int = SEARCH_ROWS
    """Rows of a table that a method may hold while it searches, 1 or more."""

    def __post_init__(self) -> None:
        if isinstance(self.search_rows, bool) or not isinstance(self.search_rows, int) or self.search_rows < 1:
            raise ParameterError(
                f"search_rows ({self.search_rows}) must be an integer in [1, inf)", "leave it out for 500,000"
            )


@dataclass(frozen=True, kw_only=True)
class Local(_Searching):
    """The engine of one machine: pyarrow, numpy and DuckDB.

    Raises
    ------
    ParameterError
        A number of rows is below 1.
    """

    name: ClassVar[str] = "local"

    def open(self) -> Engine:
        """Return a new engine; whoever opens it closes it."""
        from anonkit.engines.local.local_engine import LocalEngine

        return LocalEngine(search_rows=self.search_rows)

    def opened(self) -> AbstractContextManager[Engine]:
        """Return a new engine that is closed with the context."""
        return closing(self.open())

    def workers(self) -> AbstractContextManager[PartWorkers | None]:
        """Return the reader of a release's files: this machine itself."""
        return nullcontext(None)


@dataclass(frozen=True, kw_only=True)
class Spark(_Searching):
    """The engine of a cluster, or of Spark on this machine.

    Raises
    ------
    ParameterError
        A number of rows is below 1.
    """

    name: ClassVar[str] = "spark"
    master: str | None = None
    """Address of the Spark master; None: the active session, else Spark's own settings, else this machine."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Settings of Spark, by key."""

    def open(self) -> Engine:
        """Return a new engine; whoever opens it closes it.

        Raises
        ------
        MissingDependencyError
            PySpark or Java is not installed.
        """
        try:
            from anonkit.engines.spark.spark_engine import SparkEngine
        except ImportError as error:
            if (error.name or "").split(".")[0] not in ("pyspark", "py4j"):
                raise
            raise MissingDependencyError.of_extra("PySpark", "spark") from None
        return SparkEngine(self.master, self.conf, search_rows=self.search_rows)

    def opened(self) -> AbstractContextManager[Engine]:
        """Return a new engine that is closed with the context."""
        return closing(self.open())

    @contextmanager
    def workers(self) -> Iterator[PartWorkers | None]:
        """Yield executors that read the files of a release, for `anonkit.validate(…, workers=…)`.

        Raises
        ------
        MissingDependencyError
            PySpark or Java is not installed.
        """
        with self.opened() as engine:
            yield workers_of(engine)


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenEngine:
    """An engine that somebody opened before: it has its settings, and stays open."""

    engine: Engine

    def opened(self) -> AbstractContextManager[Engine]:
        """Return the engine."""
        return nullcontext(self.engine)


ENGINES: tuple[str, ...] = (Local.name, Spark.name)
"""Names of the engines, as `engine=` takes them."""


def engine_choice(
    name: str, *, master: str | None = None, conf: Mapping[str, str] | None = None, **settings: int | None
) -> Local | Spark:
    """Return the choice that a name and its settings make.

    Parameters
    ----------
    name : str
        "local" or "spark".
    master, conf
        Where Spark runs, and its settings.
    **settings
        Further fields of `Local` and `Spark`; None leaves one as it is.

    Raises
    ------
    ParameterError
        There is no engine of this name, or it has no master and no settings.
    """
    given: dict[str, Any] = {field: value for field, value in settings.items() if value is not None}
    if name == Spark.name:
        return Spark(master=master, conf=dict(conf or {}), **given)
    if name != Local.name:
        raise ParameterError(f"engine ({name}) is not known", did_you_mean(name, ENGINES))
    if master is not None or conf:
        raise ParameterError("the local engine has no master and no settings", option("engine", "spark"))
    return Local(**given)


def open_engine(
    name: str, *, master: str | None = None, conf: Mapping[str, str] | None = None, **settings: int | None
) -> Engine:
    """Return a new engine by name; close it, or use it as a context manager, so that its private files go.

    Parameters and errors are those of `engine_choice`; besides:

    Raises
    ------
    MissingDependencyError
        PySpark or Java is not installed.
    """
    return engine_choice(name, master=master, conf=conf, **settings).open()


def is_spark_frame(data: object) -> bool:
    """Return True if something is a data frame of Spark; nothing is imported for it."""
    return any(kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame" for kind in type(data).mro())
