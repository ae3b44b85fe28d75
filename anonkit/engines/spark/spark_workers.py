# SPDX-License-Identifier: Apache-2.0
"""Executors as readers of the files of a release: the driver gets what a function makes of each file, no row."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from anonkit.engines.spark.spark_columns import spark_schema
from anonkit.engines.spark.spark_sessions import during
from anonkit.engines.writing.part_tasks import MADE, PartTask

Item = TypeVar("Item")
Found = TypeVar("Found")

_A_CORE = 4  # runs of files for each core: a slow one does not hold up the others


@dataclass(frozen=True, kw_only=True, eq=False)
class SparkWorkers:
    """Workers of a Spark session. See `anonkit.bundle.part_workers.PartWorkers`.

    Privacy
    -------
    Executors read files of the release, which are published or about to be; what they hand out are counts and hashes.
    """

    session: SparkSession

    @property
    def tasks(self) -> int:
        """Number of tasks that keep all executors at work."""
        return during("looking at the executors", lambda: _A_CORE * int(self.session.sparkContext.defaultParallelism))

    def each(self, function: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
        """Return what a function makes of every item, one task each. See `PartWorkers.each`.

        Raises
        ------
        AnonkitError
            What the function raised; an `EngineError` where Spark failed, or an executor does not see a file.
        """
        work = PartTask(function=function, items=[_absolute(item) for item in items])
        numbers = self.session.range(0, len(items), 1, max(len(items), 1))
        kinds = spark_schema(MADE.names, MADE.types)
        made = during("reading the files of the release", lambda: numbers.mapInArrow(work, kinds).toArrow())
        found = dict(zip(made.column("at").to_pylist(), made.column("made").to_pylist(), strict=True))
        return [pickle.loads(found[at]) for at in range(len(items))]  # noqa: S301 - from executors that run our code


def _absolute(item: Any) -> Any:
    """Return a path, or several, as executors know them, wherever they are; files elsewhere as they are named."""
    if isinstance(item, Path):
        return item.absolute()
    return [_absolute(one) for one in item] if isinstance(item, list | tuple) else item
