# SPDX-License-Identifier: Apache-2.0
"""Rows out of the executors, in parts: as they are, or in a secret order."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from anonkit.engines.ordered_parts import DEALT, WRITTEN, Deal, Sort, Store, StoredRows, StoredSplits, part_path
from anonkit.engines.spark_columns import spark_schema
from anonkit.engines.spark_sessions import SCRATCH, during
from anonkit.engines.spark_sources import SparkSource
from anonkit.errors import EngineError

_PART_ROWS = 1 << 19  # rows that are put in order together
_MOST_PARTS_BITS = 12
_AT_ONCE = "spark.sql.execution.arrow.maxRecordsPerBatch"
_MESSAGES = "8"  # handed to a task together


def stored(source: SparkSource, folder: Path) -> StoredSplits:
    """Write rows, in the order of their numbers, where executors and the driver read them.

    Raises
    ------
    EngineError
        Spark failed, or the driver does not see the files.
    """
    form = _form(source)
    frame = source.tasks(Store(rows=source.rows(), form=form, folder=str(folder)), WRITTEN)
    return _written(frame, form, folder, source, source.splits.n_splits)


def in_order(source: SparkSource, key: bytes, folder: Path) -> StoredSplits:
    """Write rows in the order of their secret words under a key of 32 bytes; see `stored`."""
    form = _form(source)
    bits = min(max(source.at_most // _PART_ROWS, 1).bit_length() - 1, _MOST_PARTS_BITS)
    dealt = source.tasks(Deal(rows=source.rows(), form=form, key=key, bits=bits), DEALT)
    together = dealt.repartition(1 << bits, "part").sortWithinPartitions("part")
    kinds = spark_schema(WRITTEN.names, WRITTEN.types)
    frame = during("planning a job", lambda: together.mapInArrow(Sort(form=form, folder=str(folder)), kinds))
    return _written(frame, form, folder, source, 1 << bits)


def _form(source: SparkSource) -> StoredRows:
    return StoredRows(source.schema, source.categories)


def _written(frame: DataFrame, form: StoredRows, folder: Path, source: SparkSource, n_parts: int) -> StoredSplits:
    """Run the tasks; return the parts they have written, those without rows left out."""
    told = during("writing rows", lambda: _collected(frame, source.session))
    sizes = dict(zip(told.column("part").to_pylist(), told.column("n").to_pylist(), strict=True))
    if any(not part_path(folder, number).exists() for number in sizes):
        raise EngineError(
            "the executors' files are not where the driver looks",
            f"--spark-conf {SCRATCH}=… must name a folder that all nodes see",
        )
    rows = StoredSplits(folder=str(folder), form=form, sizes=[sizes.get(number, 0) for number in range(n_parts)])
    if not source.steps and sum(rows.sizes) != source.at_most:
        raise EngineError("rows were lost on their way through Spark", "does every node have all files of the table?")
    return rows


def _collected(frame: DataFrame, session: SparkSession) -> pa.Table:
    """Run tasks whose messages are large: a batch of them must fit in memory."""
    usual = session.conf.get(_AT_ONCE)
    session.conf.set(_AT_ONCE, _MESSAGES)
    try:
        return frame.toArrow()
    finally:
        session.conf.set(_AT_ONCE, usual or "10000")
