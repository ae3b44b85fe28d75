# SPDX-License-Identifier: Apache-2.0
"""The categories of files that executors read: one order for all splits, the same as in the local engine."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from anonkit.engines.reading.categories import CategoryNumbering
from anonkit.engines.reading.splits import ParquetSplits
from anonkit.engines.spark.spark_columns import spark_schema
from anonkit.engines.spark.spark_sessions import during
from anonkit.engines.writing.row_maps import DICTIONARIES, Dictionaries, texts_of


def categories_in(splits: ParquetSplits, session: SparkSession) -> Mapping[str, pa.Array]:
    """Return the categories of all dictionary columns, in order; a job when there is such a column.

    Equal dictionaries, which the row groups of most files have, reach the driver once.
    """
    names = [column.name for column in splits.schema if pa.types.is_dictionary(column.type)]
    if not names:
        return {}
    work = Dictionaries(splits=splits, columns=names)
    distinct = during("looking for categories", lambda: _distinct(work, session).toArrow())
    seen = [CategoryNumbering() for _ in names]
    for row in distinct.sort_by("seen").to_pylist():
        seen[row["column"]].know(texts_of(row["texts"]))
    return {name: pa.array(order.values, pa.string()) for name, order in zip(names, seen, strict=True)}


def _distinct(work: Dictionaries, session: SparkSession) -> DataFrame:
    n = work.splits.n_splits
    numbers = session.range(0, n, 1, max(n, 1))
    dictionaries = numbers.mapInArrow(work, spark_schema(DICTIONARIES.names, DICTIONARIES.types))
    return dictionaries.groupBy("column", "texts").agg(sf.min("seen").alias("seen"))
