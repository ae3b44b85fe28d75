# SPDX-License-Identifier: Apache-2.0
"""Rows in order, out of the executors: dealt into parts by the first bits of their place, sorted part by part."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as sf

from anonkit.engines.row_maps import Placed, out_schema
from anonkit.engines.sources import LocalSource, ParquetPart, ParquetRows
from anonkit.engines.spark_sessions import SCRATCH, during
from anonkit.engines.spark_sources import SparkSource
from anonkit.errors import EngineError

_PART_ROWS = 1 << 20  # rows that are put in order together
_MOST_PARTS_BITS = 12


def in_order(source: SparkSource, key: bytes | None, folder: Path) -> LocalSource:
    """Put rows in the order of their numbers, or of their secret words, and return the files they stand in.

    Parameters
    ----------
    key : bytes or None
        Secret key of the order, 32 bytes; None for the order of the row numbers.
    folder : Path
        Where the executors write the files and the driver reads them.

    Raises
    ------
    EngineError
        Spark failed, or the driver does not see the files.
    """
    schema = source.schema
    part_bits = min(max(source.at_most // _PART_ROWS, 1).bit_length() - 1, _MOST_PARTS_BITS)
    finish = Placed(key, part_bits, max(source.at_most - 1, 1).bit_length())
    rows = source.finished(finish, out_schema(schema, ("place", pa.int64()), ("part", pa.int32())))
    part = next(name for name in ("part", "part of the order", " part ") if name not in schema.names)
    columns = [sf.col(f"c{at}").alias(name) for at, name in enumerate(schema.names)]
    dealt = rows.repartition(1 << part_bits, "part").sortWithinPartitions("part", "place")
    writer = dealt.select(*columns, sf.col("part").alias(part)).write.mode("overwrite").partitionBy(part)
    during("putting rows in order", lambda: writer.parquet(str(folder)))
    return _in_parts(folder, source)


def _in_parts(folder: Path, source: SparkSource) -> LocalSource:
    """Return the files of the parts, in the order of the parts, as one table."""
    if not (folder / "_SUCCESS").exists():
        raise EngineError(
            "the executors' files are not where the driver looks",
            f"--spark-conf {SCRATCH}=… must name a folder that all nodes see",
        )
    places = sorted(folder.glob("*=*"), key=lambda place: int(place.name.rpartition("=")[2]))
    files = [file for place in places for file in sorted(place.glob("*.parquet"))]
    schema = source.schema
    parts = [
        ParquetPart(path=str(file), names=frozenset(schema.names), n_rows=pq.read_metadata(file).num_rows)
        for file in files
    ]
    rows = ParquetRows(
        parts=parts,
        schema=schema,
        stored_types={},
        categories=dict(source.steps[-1].categories) if source.steps else {},
        spilled=True,
    )
    n_rows = sum(part.n_rows for part in parts)
    if not source.steps and n_rows != source.at_most:
        raise EngineError("rows were lost on their way through Spark", "does every node have all files of the table?")
    return rows.source()
