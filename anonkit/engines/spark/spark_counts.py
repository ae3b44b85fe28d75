# SPDX-License-Identifier: Apache-2.0
"""Counting on Spark: groups are aggregated by the executors; only sizes and small groups reach the driver."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from anonkit.engines.local.counting import count_table
from anonkit.engines.reading.carriers import from_carrier
from anonkit.engines.spark.spark_sessions import during
from anonkit.engines.spark.spark_sources import SparkSource, plain_schema
from anonkit.errors import EngineError
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
