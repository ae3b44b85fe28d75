# SPDX-License-Identifier: Apache-2.0
"""Executors as readers of the files of a release: the driver gets what a function makes of each file, no row."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from anonkit.bundle.part_workers import GroupStep, Message
from anonkit.engines.spark.spark_columns import spark_schema
from anonkit.engines.spark.spark_order import collected_messages
from anonkit.engines.spark.spark_sessions import during
from anonkit.engines.writing.part_tasks import MADE, SAID, DealTask, GroupTask, PartTask

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
        """Return the results of a function on every item, one task each. See `PartWorkers.each`.

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

    def regrouped(
        self,
        deal: Callable[[Item], Iterable[Message]],
        steps: Sequence[GroupStep],
        items: Sequence[Item],
        groups: int,
    ) -> list[Message]:
        """Work on groups, whose messages a shuffle brings together. See `PartWorkers.regrouped` and `each`."""
        work = DealTask(deal=deal, items=[_absolute(item) for item in items])
        kinds = spark_schema(SAID.names, SAID.types)
        numbers = self.session.range(0, len(items), 1, max(len(items), 1))

        def run() -> pa.Table:
            said = numbers.mapInArrow(work, kinds)
            for step in steps:
                together = said.repartition(groups, "group").sortWithinPartitions("group")
                said = together.mapInArrow(GroupTask(step=step), kinds)
            return collected_messages(said, self.session)

        made = during("counting the files of the release", run)
        return list(zip(made.column("group").to_pylist(), made.column("said").to_pylist(), strict=True))


def _absolute(item: Any) -> Any:
    """Return a path, or several, as executors know them, wherever they are; files elsewhere as they are named."""
    if isinstance(item, Path):
        return item.absolute()
    return [_absolute(one) for one in item] if isinstance(item, list | tuple) else item
