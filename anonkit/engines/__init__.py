# SPDX-License-Identifier: Apache-2.0
"""Engines move and count rows. `open_engine` is the only place that turns a name into one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anonkit.errors import MissingDependencyError, ParameterError, did_you_mean

if TYPE_CHECKING:
    from anonkit.engines.local.local_engine import LocalEngine
    from anonkit.protocols import Engine

ENGINES = ("local", "spark")

__all__ = ["ENGINES", "LocalEngine", "is_spark_frame", "open_engine"]


def open_engine(
    name: str, *, master: str | None = None, conf: Mapping[str, str] | None = None, search_rows: int | None = None
) -> Engine:
    """Return a new engine by name; close it, or use it as a context manager, so that its private files go.

    Parameters
    ----------
    name : str
        "local" or "spark".
    master, conf
        Where Spark runs, and its settings; see `anonkit.engines.spark.spark_engine.SparkEngine`.
    search_rows : int, optional
        Rows a method may hold while it searches, 1 or more; default `anonkit.protocols.SEARCH_ROWS`.

    Raises
    ------
    ParameterError
        There is no engine of this name, or it has no master and no settings, or holds no row.
    MissingDependencyError
        PySpark or Java is not installed.
    """
    if search_rows is not None and search_rows < 1:
        raise ParameterError(f"search_rows ({search_rows}) must be 1 or more", "leave it out for 500,000")
    from anonkit.protocols import SEARCH_ROWS

    rows = search_rows or SEARCH_ROWS
    if name == "spark":
        try:
            from anonkit.engines.spark.spark_engine import SparkEngine
        except ImportError as error:
            if (error.name or "").split(".")[0] not in ("pyspark", "py4j"):
                raise
            raise MissingDependencyError.of_extra("PySpark", "spark") from None
        return SparkEngine(master, conf, search_rows=rows)
    if name == "local":
        if master is not None or conf:
            raise ParameterError("the local engine has no master and no settings", "--engine spark")
        from anonkit.engines.local.local_engine import LocalEngine

        return LocalEngine(search_rows=rows)
    raise ParameterError(f"engine ({name}) is not known", did_you_mean(name, ENGINES))


def is_spark_frame(data: object) -> bool:
    """Tell whether something is a data frame of Spark; nothing is imported for it."""
    return any(kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame" for kind in type(data).mro())


def __getattr__(name: str) -> Any:
    """Import an engine when it is first used: pyarrow takes a tenth of a second."""
    if name == "LocalEngine":
        from anonkit.engines.local.local_engine import LocalEngine

        return LocalEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
