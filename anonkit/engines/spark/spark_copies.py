# SPDX-License-Identifier: Apache-2.0
"""Copies of tables whose row numbers are not stable, written once as Parquet in the scratch folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from anonkit.engines.reading.encoding import CategoryNumbering
from anonkit.engines.reading.parquet_tables import check_names, open_parquet
from anonkit.engines.reading.sources import LocalSource, ParquetRows, carrier_schema, grouped, to_carrier
from anonkit.engines.spark.spark_beside import SCRATCH, during
from anonkit.engines.spark.spark_sources import frame_types, storable
from anonkit.engines.writing.part_files import write_parquet
from anonkit.errors import EngineError, option
from anonkit.policy.declaration import Policy

_AT_ONCE = 64 << 20  # bytes

_NO_TABLE = ("REQUIRES_SINGLE_PART_NAMESPACE", "CATALOG_NOT_FOUND", "SCHEMA_NOT_FOUND")


@dataclass(frozen=True, kw_only=True, eq=False)
class Copy:
    """A table in files that hold columns c0, c1, and so on."""

    files: ParquetRows
    schema: pa.Schema
    """The names and canonical types of the columns."""
    categories: Mapping[str, pa.Array] = field(default_factory=dict)
    """Categories of the dictionary columns, in order."""


def is_table(session: SparkSession, name: str) -> bool:
    """Return True if the catalog, or a view of the session, has a table of this name."""
    try:
        return bool(session.catalog.tableExists(name))
    except ParseException:
        return False  # no name of a table: a path that is not there
    except AnalysisException as error:
        if error.getCondition() in _NO_TABLE:
            return False
        raise


def has_files(session: SparkSession, place: str) -> bool:
    """Return True if there are files at a place that Spark can name; no job is started."""
    try:
        return bool(session.read.format("binaryFile").load(place).columns)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return False
        raise


def is_there(path: Path) -> bool:
    """Return True if this machine sees something under a path."""
    try:
        return path.exists()
    except OSError:
        return False  # no name of a path: too long


def copied(frame: DataFrame, folder: Path) -> Copy:
    """Copy a data frame: whatever it is computed from, its rows are drawn once and numbered.

    Raises
    ------
    SourceError
        Its columns have no names, or a type that is none of a cell.
    EngineError
        Spark failed, or the driver does not see what the executors wrote.
    """
    names = during("looking at the table", lambda: frame.columns)
    check_names(names)
    kinds = frame_types(frame)
    during("copying the table", lambda: _copy(frame, folder))
    if not any(folder.glob("*.parquet")):
        raise EngineError(
            "the executors' copy of the table is not where the driver looks",
            f"{SCRATCH} in {option('spark_conf')} must name a folder that all nodes see",
        )
    return Copy(files=open_parquet(folder, Policy()), schema=pa.schema(list(zip(names, kinds, strict=True))))


def _copy(frame: DataFrame, folder: Path) -> None:
    places = [f"c{at}" for at in range(len(frame.columns))]
    columns = [
        storable(sf.col(place), column.dataType).alias(place)
        for place, column in zip(places, frame.schema.fields, strict=True)
    ]
    copy = frame.toDF(*places).select(*columns)
    place = folder.absolute().as_uri()  # not the default file system of a cluster
    copy.write.mode("overwrite").option("compression", "zstd").parquet(place)


def converted(source: LocalSource, folder: Path) -> Copy:
    """Copy a table of the local engine, as carriers, so that Spark can read it in parts."""
    names = [f"c{at}" for at in range(len(source.schema))]
    stored = pa.schema(list(zip(names, carrier_schema(source.schema).types, strict=True)))
    path = folder / "rows.parquet"
    seen = {column.name: CategoryNumbering() for column in source.schema if pa.types.is_dictionary(column.type)}

    def carriers() -> Iterator[pa.RecordBatch]:
        for batch in source.batches():
            for name, categories in seen.items():
                categories.look(batch.column(name))
            yield pa.RecordBatch.from_arrays([to_carrier(column) for column in batch.columns], schema=stored)

    write_parquet(grouped(carriers(), stored, _AT_ONCE), stored, path, {})
    orders = {name: pa.array(categories.values, pa.string()) for name, categories in seen.items()}
    return Copy(files=open_parquet(path, Policy()), schema=source.schema, categories=orders)
