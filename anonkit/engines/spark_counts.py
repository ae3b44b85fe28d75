# SPDX-License-Identifier: Apache-2.0
"""Counting on Spark: groups are formed and added up in the executors, sizes and small groups reach the driver."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from anonkit.engines.carriers import from_carrier
from anonkit.engines.counting import count_table
from anonkit.engines.spark_sources import SparkSource, plain_schema
from anonkit.errors import EngineError

MOST_GROUPS = 5_000_000
"""Groups the driver takes."""
_MOST_GROUPED = 60  # columns that fit into one GROUPING_ID


def combinations(source: SparkSource, sets: Sequence[tuple[str, ...]]) -> list[pa.Table]:
    """Count the rows of every combination of several sets of columns, none empty; one job as far as they fit."""
    tables: list[pa.Table] = []
    waiting = list(sets)
    while waiting:
        part = [waiting.pop(0)]
        while waiting and len({name for each in [*part, waiting[0]] for name in each}) <= _MOST_GROUPED:
            part.append(waiting.pop(0))
        tables += _counted(source, part)
    return tables


def _counted(source: SparkSource, sets: Sequence[tuple[str, ...]]) -> list[pa.Table]:
    names = list(dict.fromkeys(name for each in sets for name in each))
    keys = [sf.col(f"c{at}") for at in range(len(names))]
    distinct = list(dict.fromkeys(frozenset(each) for each in sets))
    rows = source.carriers(names)
    if len(distinct) == 1:
        counted = rows.groupBy(*keys).agg(sf.lit(0).alias("set"), _size())
    else:
        grouping = [[keys[names.index(name)] for name in names if name in each] for each in distinct]
        counted = rows.groupingSets(grouping, *keys).agg(sf.grouping_id(*keys).alias("set"), _size())
    table = collected(counted)
    kinds = [plain_schema(source.schema).field(name).type for name in names]
    columns = [from_carrier(table.column(f"c{at}").combine_chunks(), kind) for at, kind in enumerate(kinds)]
    out = []
    for each in sets:
        mask = sum(1 << at for at, name in enumerate(reversed(names)) if name not in each) if len(distinct) > 1 else 0
        mine = pc.equal(table.column("set").combine_chunks(), mask)
        arrays = [columns[names.index(name)].filter(mine) for name in each]
        out.append(count_table(each, arrays, table.column("n").combine_chunks().filter(mine)))
    return out


def count_sizes(
    source: SparkSource, columns: Sequence[str], unit: str | None
) -> tuple[list[int], list[int], list[int]]:
    """Return the sizes of the classes under some columns, and how many classes and rows have each."""
    sizes = _sizes(source, columns, unit)
    found = sizes.groupBy("size").agg(sf.count(sf.lit(1)).alias("classes"), sf.sum("n").alias("rows"))
    table = found.where("size > 0").orderBy("size").toArrow()
    return (
        table.column("size").to_pylist(),
        table.column("classes").to_pylist(),
        table.column("rows").to_pylist(),
    )


def small_groups(source: SparkSource, columns: Sequence[str], k: int, unit: str | None) -> pa.Table:
    """Return the classes below k, each with its rows."""
    small = _sizes(source, columns, unit).where((sf.col("size") < k) & (sf.col("n") > 0))
    table = collected(small.drop("size"))
    arrays = [
        from_carrier(table.column(f"c{at}").combine_chunks(), plain_schema(source.schema).field(name).type)
        for at, name in enumerate(columns)
    ]
    return count_table(columns, arrays, table.column("n").combine_chunks())


def _sizes(source: SparkSource, columns: Sequence[str], unit: str | None) -> DataFrame:
    """Return a row a class: its columns, `n` rows, and its `size`, in rows or in distinct units."""
    names = list(dict.fromkeys([*columns, *([] if unit is None else [unit])]))
    keys = [f"c{names.index(name)}" for name in columns]
    rows = source.carriers(names)
    if unit is None:
        grouped = rows.groupBy(*keys).agg(_size())
        return grouped.withColumn("size", sf.col("n"))
    people = rows.groupBy(*[f"c{at}" for at in range(len(names))]).agg(_size())
    return people.groupBy(*keys).agg(sf.sum("n").alias("n"), sf.count(sf.lit(1)).alias("size"))


def _size() -> Column:
    return sf.count(sf.lit(1)).alias("n")


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
