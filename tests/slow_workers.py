"""Python workers of Spark that take their time over each piece of a table, so that a stage has a middle to break.

Executors start this module where `spark.python.daemon.module` names it. What the workers compute stays as it is.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from pyspark import TaskContext, daemon

SECONDS = "ANONKIT_SECONDS_A_PIECE"
"""Environment variable of the executors: how long a worker rests after each batch it has read."""
STRAGGLER = "ANONKIT_STRAGGLER"
"""Environment variable of the executors: seconds that the first attempt at the first piece of a table rests instead."""


def _slowed(read: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    @functools.wraps(read)
    def rested(self: Any, split: int, columns: Any = None) -> Iterator[Any]:
        straggles = split == 0 and STRAGGLER in os.environ and TaskContext.get().attemptNumber() == 0
        seconds = float(os.environ[STRAGGLER if straggles else SECONDS])
        for batch in read(self, split, columns):
            yield batch
            time.sleep(seconds)

    return rested


def _slowed_task(made: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    @functools.wraps(made)
    def rested(self: Any, batches: Any) -> Iterator[Any]:
        for batch in made(self, batches):
            time.sleep(float(os.environ[SECONDS]))
            yield batch

    return rested


@functools.cache
def _slow_down() -> None:
    from anonkit.engines.reading.sources import GeneratedSplits, ParquetSplits
    from anonkit.engines.writing.parquet_files import StoredSplits
    from anonkit.engines.writing.part_tasks import PartTask

    for kind in (ParquetSplits, StoredSplits, GeneratedSplits):
        kind.read = _slowed(kind.read)  # type: ignore[method-assign]
    PartTask._made = _slowed_task(PartTask._made)  # type: ignore[method-assign]


def _worker(*given: Any) -> int:
    """Do the work of `pyspark.daemon.worker`: called in a process of its own, once a task."""
    _slow_down()
    return work(*given)


if __name__ == "__main__":
    work = daemon.worker
    daemon.worker = _worker
    daemon.manager()
