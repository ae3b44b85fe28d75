# SPDX-License-Identifier: Apache-2.0
"""Copies of tables whose rows have no number that stays: Parquet in the scratch, written once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from anonkit.engines.batches import grouped
from anonkit.engines.carriers import carrier_schema, to_carrier
from anonkit.engines.names import check_names
from anonkit.engines.parquet_tables import open_parquet
from anonkit.engines.sources import LocalSource, ParquetRows
from anonkit.engines.spark_columns import frame_types, storable
from anonkit.engines.spark_sessions import SCRATCH, during
from anonkit.engines.spark_sources import plain_schema
from anonkit.engines.writing import write_parquet
from anonkit.errors import EngineError
from anonkit.policy import Policy

_AT_ONCE = 64 << 20  # bytes

Copy = tuple[ParquetRows, pa.Schema]
"""Files that hold columns c0, c1, …, and the names and canonical types these stand for."""


def copied(frame: DataFrame, folder: Path) -> Copy:
    """Copy a data frame: whatever it is computed from, its rows are drawn once and numbered.

    Raises
    ------
    SourceError
        Its columns have no names, or a type that is none of a cell.
    EngineError
        Spark failed, or the driver does not see what the executors wrote.
    """
    check_names(frame.columns)
    kinds = frame_types(frame)
    safe = frame.toDF(*[f"c{at}" for at in range(len(kinds))])
    columns = [
        storable(sf.col(f"c{at}"), field.dataType).alias(f"c{at}") for at, field in enumerate(frame.schema.fields)
    ]
    writer = safe.select(*columns).write.mode("overwrite").option("compression", "zstd")
    during("copying the table", lambda: writer.parquet(str(folder)))
    if not any(folder.glob("*.parquet")):
        raise EngineError(
            "the executors' copy of the table is not where the driver looks",
            f"--spark-conf {SCRATCH}=… must name a folder that all nodes see",
        )
    return open_parquet(folder, Policy()), pa.schema(list(zip(frame.columns, kinds, strict=True)))


def converted(source: LocalSource, folder: Path) -> Copy:
    """Copy a table of the local engine, as carriers, so that Spark can read it in parts."""
    names = [f"c{at}" for at in range(len(source.schema))]
    stored = pa.schema(list(zip(names, carrier_schema(source.schema).types, strict=True)))
    path = folder / "rows.parquet"
    batches = (
        pa.RecordBatch.from_arrays([to_carrier(column) for column in batch.columns], schema=stored)
        for batch in source.batches()
    )
    write_parquet(grouped(batches, stored, _AT_ONCE), stored, path, {})
    return open_parquet(path, Policy()), plain_schema(source.schema)
