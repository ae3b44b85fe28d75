# SPDX-License-Identifier: Apache-2.0
"""Executors as readers of the files of a release: the driver gets what a function makes of each file, no row.

Rows written by the executors in shards: in table order, or shuffled.

Counting on Spark: groups are aggregated by the executors; only sizes and small groups reach the driver.
"""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from anonkit.bundle.data_files import GroupStep, Message, part_name
from anonkit.engines.local.spilling_counts import count_table
from anonkit.engines.reading.failures import shielded
from anonkit.engines.reading.sources import from_carrier
from anonkit.engines.spark.spark_beside import SCRATCH, during
from anonkit.engines.spark.spark_sources import SparkSource, plain_schema, spark_schema
from anonkit.engines.writing.parquet_files import (
    DEALT,
    WRITTEN,
    CountCategories,
    Deal,
    Sort,
    Store,
    StoredRows,
    StoredSplits,
    WriteFiles,
    cannot_write,
    part_path,
)
from anonkit.engines.writing.part_tasks import MADE, MESSAGES, DealTask, GroupTask, PartTask
from anonkit.errors import EngineError, option
from anonkit.protocols import BatchCount

MOST_GROUPS = 5_000_000
"""Groups the driver takes."""


def added_up(source: SparkSource, function: BatchCount, columns: Sequence[str], size: int) -> NDArray[np.int64]:
    """Return the sums of what a function counts in batches of some columns, shape (size,)."""
    sums = during("counting", lambda: source.counted(function, columns, size).toArrow())
    total = np.zeros(size, dtype=np.int64)
    total[sums.column("at").to_numpy()] = sums.column("n").to_numpy()
    return total


def combinations(source: SparkSource, sets: Sequence[tuple[str, ...]]) -> list[pa.Table]:
    """Count the rows of every combination of several sets of columns, in one job."""
    names = list(dict.fromkeys(name for column_set in sets for name in column_set))
    table = collected(source.grouped(names, sets))
    kinds = [plain_schema(source.schema).field(name).type for name in names]
    columns = [from_carrier(table.column(f"c{at}").combine_chunks(), kind) for at, kind in enumerate(kinds)]
    counts = table.column("n").combine_chunks()
    out = []
    for number, column_set in enumerate(sets):
        mine = pc.equal(table.column("set").combine_chunks(), number)
        arrays = [columns[names.index(name)].filter(mine) for name in column_set]
        out.append(count_table(column_set, arrays, counts.filter(mine)))
    return out


def count_sizes(
    source: SparkSource, columns: Sequence[str], unit: str | None
) -> tuple[list[int], list[int], list[int]]:
    """Return the sizes of the classes under some columns, and how many classes and rows have each."""
    sizes = _sizes(source, columns, unit, nobodys=True)
    histogram = sizes.groupBy("size").agg(sf.count(sf.lit(1)).alias("classes"), sf.sum("n").alias("rows"))
    table = histogram.where("size > 0").orderBy("size").toArrow()
    return (
        table.column("size").to_pylist(),
        table.column("classes").to_pylist(),
        table.column("rows").to_pylist(),
    )


def small_groups(source: SparkSource, columns: Sequence[str], k: int, unit: str | None) -> pa.Table:
    """Return the classes below k, each with its rows."""
    small = _sizes(source, columns, unit, nobodys=False).where((sf.col("size") < k) & (sf.col("n") > 0))
    return _counted(source, columns, small.drop("size"), "n")


def people_of_groups(source: SparkSource, columns: Sequence[str], unit: str) -> pa.Table:
    """Return all classes, each with its distinct units."""
    return _counted(source, columns, _sizes(source, columns, unit, nobodys=True).where("n > 0").drop("n"), "size")


def _counted(source: SparkSource, columns: Sequence[str], groups: DataFrame, count: str) -> pa.Table:
    table = collected(groups)
    arrays = [
        from_carrier(table.column(f"c{at}").combine_chunks(), plain_schema(source.schema).field(name).type)
        for at, name in enumerate(columns)
    ]
    return count_table(columns, arrays, table.column(count).combine_chunks())


def _sizes(source: SparkSource, columns: Sequence[str], unit: str | None, *, nobodys: bool) -> DataFrame:
    """Return a row a class: its columns, `n` rows, and its `size`, in rows or in distinct units.

    Rows without a unit are one unit, or count for nobody.
    """
    names = list(dict.fromkeys([*columns, *([] if unit is None else [unit])]))
    keys = [f"c{names.index(name)}" for name in columns]
    counted = source.grouped(names, [tuple(names)])
    if unit is None:
        return counted.select(*keys, "n", sf.col("n").alias("size"))
    units = sf.count(sf.lit(1) if nobodys else sf.col(f"c{names.index(unit)}"))
    return counted.groupBy(*keys).agg(sf.sum("n").alias("n"), units.alias("size"))


def collected(groups: DataFrame) -> pa.Table:
    """Bring groups to the driver, unless there are too many.

    Raises
    ------
    EngineError
        There are more than `MOST_GROUPS`.
    """
    table = groups.limit(MOST_GROUPS + 1).toArrow()
    if table.num_rows > MOST_GROUPS:
        raise EngineError(
            f"the table has more than {MOST_GROUPS:,} groups, more than the driver shall hold",
            "count fewer or coarser columns; give numbers bounds and bins",
        )
    return table


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


Item = TypeVar("Item")
Found = TypeVar("Found")

_A_CORE = 4  # runs of files for each core: a slow one does not hold up the others


@dataclass(frozen=True, kw_only=True, eq=False)
class SparkWorkers:
    """Workers of a Spark session. See `anonkit.bundle.data_files.PartWorkers`.

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
        """Work on groups, whose messages shuffles bring together. See `PartWorkers.regrouped` and `each`."""
        work = DealTask(deal=deal, items=[_absolute(item) for item in items])
        kinds = spark_schema(MESSAGES.names, MESSAGES.types)
        numbers = self.session.range(0, len(items), 1, max(len(items), 1))

        def run() -> pa.Table:
            messages = numbers.mapInArrow(work, kinds)
            for step in steps:
                together = messages.repartition(groups, "group").sortWithinPartitions("group")
                messages = together.mapInArrow(GroupTask(step=step), kinds)
            return collected_messages(messages, self.session)

        made = during("counting the files of the release", run)
        return list(zip(made.column("group").to_pylist(), made.column("message").to_pylist(), strict=True))


def _absolute(item: Any) -> Any:
    """Return a path, or several, as executors know them, wherever they are; files elsewhere as they are named."""
    if isinstance(item, Path):
        return item.absolute()
    return [_absolute(one) for one in item] if isinstance(item, list | tuple) else item
