# SPDX-License-Identifier: Apache-2.0
"""Rows written by the executors in shards: in table order, or shuffled."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from anonkit.bundle.data_files import part_name
from anonkit.engines.reading.failures import shielded
from anonkit.engines.spark.spark_columns import spark_schema
from anonkit.engines.spark.spark_counts import added_up
from anonkit.engines.spark.spark_sessions import SCRATCH, during
from anonkit.engines.spark.spark_sources import SparkSource
from anonkit.engines.writing.ordered_parts import DEALT, WRITTEN, Deal, Sort, Store, StoredRows, StoredSplits, part_path
from anonkit.engines.writing.parquet_writer import cannot_write
from anonkit.engines.writing.part_files import CountCategories, WriteFiles
from anonkit.errors import EngineError, option

PART_ROWS = 1 << 19
"""Rows that are put in order together."""
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


def in_order(
    source: SparkSource, key: bytes, folder: Path, rows_together: int = PART_ROWS, first: str | None = None
) -> StoredSplits:
    """Write rows in the order of their secret words under a key of 32 bytes, in parts of so many or more; see `stored`.

    Rows of a part are in memory together. Those that the column `first` marks come before all others.
    """
    form = _form(source)
    bits = min(max(source.at_most // rows_together, 1).bit_length() - 1, _MOST_PARTS_BITS)
    dealt = source.tasks(Deal(rows=source.rows(), form=form, key=key, bits=bits, first=first), DEALT)
    together = dealt.repartition(1 << bits, "part").sortWithinPartitions("part")
    kinds = spark_schema(WRITTEN.names, WRITTEN.types)
    frame = during("planning a job", lambda: together.mapInArrow(Sort(form=form, folder=str(folder)), kinds))
    return _written(frame, form, folder, source, 1 << bits)


def written_files(
    source: SparkSource,
    metadata: Mapping[str, str],
    scratch: Path,
    folder: Path,
) -> int:
    """Let executors write each piece as a Parquet file, and move the files into a new folder; return the rows.

    Raises
    ------
    EngineError
        Spark failed, the driver does not see the files, or they cannot be moved; the folder is not there then.
    """
    used = _used(source)
    work = WriteFiles(rows=source.rows(), schema=source.schema, used=used, metadata=metadata, folder=str(scratch))
    written = during("writing files", lambda: source.tasks(work, WRITTEN).toArrow())
    sizes = dict(zip(written.column("part").to_pylist(), written.column("n").to_pylist(), strict=True))
    filled = sorted(number for number, n in sizes.items() if n)
    _refuse_unseen(scratch / part_name(number) for number in filled)
    shielded(folder.mkdir, cannot_write(folder))
    try:
        for place, number in enumerate(filled):
            shielded(partial(shutil.move, scratch / part_name(number), folder / part_name(place)), cannot_write(folder))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return sum(sizes.values())


def _used(source: SparkSource) -> dict[str, NDArray[np.bool_]]:
    """Return the categories that a row holds in each dictionary column."""
    sizes = {name: len(values) for name, values in source.categories.items()}
    if not sizes:
        return {}
    seen = added_up(source, CountCategories(sizes=sizes), list(sizes), sum(sizes.values())) > 0
    return dict(zip(sizes, np.split(seen, np.cumsum(list(sizes.values()))[:-1]), strict=True))


def _form(source: SparkSource) -> StoredRows:
    return StoredRows(source.schema, source.categories)


def _written(frame: DataFrame, form: StoredRows, folder: Path, source: SparkSource, n_parts: int) -> StoredSplits:
    """Run the tasks; return the parts they have written, those without rows left out."""
    written = during("writing rows", lambda: collected_messages(frame, source.session))
    sizes = dict(zip(written.column("part").to_pylist(), written.column("n").to_pylist(), strict=True))
    _refuse_unseen(part_path(folder, number) for number in sizes)
    rows = StoredSplits(folder=str(folder), form=form, sizes=[sizes.get(number, 0) for number in range(n_parts)])
    if not source.steps and sum(rows.sizes) != source.at_most:
        raise EngineError("rows were lost on their way through Spark", "does every node have all files of the table?")
    return rows


def _refuse_unseen(files: Iterable[Path]) -> None:
    if not all(file.exists() for file in files):
        raise EngineError(
            "the executors' files are not where the driver looks",
            f"{SCRATCH} in {option('spark_conf')} must name a folder that all nodes see",
        )


def collected_messages(frame: DataFrame, session: SparkSession) -> pa.Table:
    """Run tasks whose messages are large: a batch of them must fit in memory."""
    usual = session.conf.get(_AT_ONCE)
    session.conf.set(_AT_ONCE, _MESSAGES)
    try:
        return frame.toArrow()
    finally:
        session.conf.set(_AT_ONCE, usual or "10000")
