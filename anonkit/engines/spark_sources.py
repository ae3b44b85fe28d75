# SPDX-License-Identifier: Apache-2.0
"""Tables on Spark: a data frame of carriers with the number of every row, and batch functions that wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyspark.sql.types as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from anonkit.engines.carriers import carrier_type, from_carrier
from anonkit.engines.row_maps import COUNTED, Finish, Picked, RowMap, RowSum, Step, out_schema
from anonkit.engines.sources import LocalSource, ParquetPart, ParquetRows
from anonkit.engines.spark_columns import carried, spark_schema, stored_type
from anonkit.engines.spark_sessions import during
from anonkit.errors import EngineError
from anonkit.protocols import BatchCount

ROW = "row"
"""Column that numbers the rows of the table; the others are c0, c1, … by place."""

_GLOB = frozenset("*?[]{}\\")  # Spark takes these for wildcards, also where such a file exists


@dataclass(frozen=True, kw_only=True, eq=False)
class SparkSource:
    """A table of the Spark engine: nothing is computed before a verb asks for it."""

    frame: DataFrame
    """Carriers c0, c1, … of the columns of `base`, and the row number."""
    base: pa.Schema
    """Names and canonical types of the frame's columns."""
    at_most: int
    """Rows of the frame."""
    files: LocalSource
    """The same rows as this machine reads them."""
    ordered: Callable[[SparkSource], LocalSource]
    """Brings mapped rows to the driver's disk, in the order of their numbers."""
    steps: tuple[Step, ...] = ()
    """Batch functions to apply."""

    def __repr__(self) -> str:
        return f"<SparkSource of {len(self.schema)} columns>"

    @property
    def schema(self) -> pa.Schema:
        """Names and canonical types, in table order."""
        return self.steps[-1].schema if self.steps else self.base

    @property
    def n_rows(self) -> int:
        """Number of rows. After a map it takes a job."""
        if not self.steps:
            return self.at_most
        return int(during("counting", self.carriers(self.schema.names[:1]).count))

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read all rows, or some columns of them, on this machine, in the order of their numbers."""
        yield from self.local.batches(self.schema.names if columns is None else list(columns))

    @property
    def local(self) -> LocalSource:
        """The rows in the order of their numbers, for this machine to read; computed by Spark after a map."""
        return self.ordered(self) if self.steps else self.files

    def narrowed(self, columns: Sequence[str]) -> SparkSource:
        """Return some columns of a table that no function waits for."""
        picked = [sf.col(f"c{self.base.get_field_index(name)}").alias(f"c{at}") for at, name in enumerate(columns)]
        base = pa.schema([self.base.field(name) for name in columns])
        return replace(self, frame=self.frame.select(*picked, ROW), base=base)

    def mapped(self, step: Step) -> SparkSource:
        """Return the table with one more function to apply."""
        return replace(self, steps=(*self.steps, step))

    def finished(self, finish: Finish, out: pa.Schema) -> DataFrame:
        """Return what the functions, and then `finish`, make of the rows."""
        row_map = RowMap(schema=self.base, steps=self.steps, finish=finish, out=out)
        kinds = spark_schema(out.names, out.types)
        return during("planning a map", lambda: self.frame.mapInArrow(row_map, kinds))

    def counted(self, function: BatchCount, columns: Sequence[str], size: int) -> DataFrame:
        """Return the counts of all tasks, by place."""
        source = self if self.steps else self.narrowed(columns)
        row_sum = RowSum(schema=source.base, steps=source.steps, function=function, columns=tuple(columns), size=size)
        kinds = spark_schema(COUNTED.names, COUNTED.types)
        found = during("planning a count", lambda: source.frame.mapInArrow(row_sum, kinds))
        return found.groupBy("at").agg(sf.sum("n").alias("n"))

    def carriers(self, columns: Sequence[str]) -> DataFrame:
        """Return the carriers c0, c1, … of some columns."""
        if not self.steps:
            return self.narrowed(columns).frame.drop(ROW)
        schema = pa.schema([self.schema.field(name) for name in columns])
        return self.finished(Picked(tuple(columns)), out_schema(schema))


def readable(files: ParquetRows, schema: pa.Schema) -> LocalSource:
    """Return files, whose columns are c0, c1, … as carriers or those of a schema, as a table of that schema."""
    source = files.source()
    stored = dict(zip(schema.names, source.schema.names, strict=True))

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        names = schema.names if columns is None else list(columns)
        wanted = pa.schema([schema.field(name) for name in names])
        for batch in source.batches([stored[name] for name in names]):
            arrays = [_restored(array, field.type) for array, field in zip(batch.columns, wanted, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=wanted)

    return LocalSource(schema, read, at_most=source.at_most, n_rows=source.n_rows)


def _restored(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if isinstance(array, pa.DictionaryArray):
        return array.dictionary_decode()
    return from_carrier(array, kind)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a canonical schema as it is on Spark: a column of categories is one of texts."""
    return pa.schema([(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in schema])


def reads_directly(files: ParquetRows) -> bool:
    """Tell whether Spark reads these files as pyarrow does; they are copied otherwise."""
    constants = files.parts[0].constants if files.parts else {}
    if any(_GLOB & set(part.path) for part in files.parts) or len(constants) == len(files.schema):
        return False
    return all(
        field.name in constants
        or (field.name in files.stored_types and stored_type(files.stored_types[field.name]) is not None)
        for field in files.schema
    )


def numbered(session: SparkSession, files: ParquetRows) -> DataFrame:
    """Return the carriers of all files' columns with the number of every row.

    Files stand in their order, rows in the order of their file: the number of a row is the number of its file's first
    row and `_metadata.row_index`, which does not depend on who reads the file, when, or how often.
    """
    schema = plain_schema(files.schema)
    constants = list(files.parts[0].constants)
    stored = [field for field in files.schema if field.name not in constants]
    kinds = [stored_type(files.stored_types[field.name]) for field in stored]
    reading = st.StructType([st.StructField(f.name, kind) for f, kind in zip(stored, kinds, strict=True) if kind])
    filled = [part for part in files.parts if part.n_rows]
    if not filled:
        return session.createDataFrame([], _numbered_schema(schema))
    frame = session.read.schema(reading).parquet(*[part.path for part in filled])
    where = frame.metadataColumn("_metadata")
    columns = [
        carried(sf.col(_quoted(field.name)), schema.field(field.name).type).alias(
            f"c{schema.get_field_index(field.name)}"
        )
        for field in stored
    ]
    index = where.getField("row_index")
    if len(filled) == 1 and not constants:
        return frame.select(*columns, index.alias(ROW))
    table = _file_table(session, frame, filled, schema, constants)
    rows = frame.select(*columns, where.getField("file_path").alias("path"), index.alias("at"))
    joined = rows.join(sf.broadcast(table), "path")
    names = [f"c{at}" for at in range(len(schema))]
    return joined.select(*names, (sf.col("first") + sf.col("at")).alias(ROW))


def _numbered_schema(schema: pa.Schema) -> st.StructType:
    names = [f"c{at}" for at in range(len(schema))]
    return spark_schema([*names, ROW], [*schema.types, pa.int64()])


def _file_table(
    session: SparkSession, frame: DataFrame, parts: Sequence[ParquetPart], schema: pa.Schema, constants: Sequence[str]
) -> DataFrame:
    """Return a row for each file, under each way to write its name: its first row and the keys of its folder."""
    uris = {_path(uri): uri for uri in frame.inputFiles()}
    rows, first = [], 0
    for part in parts:
        uri = uris.get(str(Path(part.path).absolute()))
        if uri is None:
            raise EngineError("Spark does not see all files of the table", "does every node have the folder?")
        keys = [_constant(part.constants[name], schema.field(name).type) for name in constants]
        place = urlsplit(uri)
        rows += [(f"{place.scheme}:{slashes}{place.path}", first, *keys) for slashes in ("", "//")]
        first += part.n_rows
    names = [f"c{schema.get_field_index(name)}" for name in constants]
    kinds = [schema.field(name).type for name in constants]
    return session.createDataFrame(rows, spark_schema(["path", "first", *names], [pa.string(), pa.int64(), *kinds]))


def _constant(cell: pa.Scalar, kind: pa.DataType) -> object:
    carrier = carrier_type(kind)
    return cell.cast(kind).cast(carrier).as_py()


def _path(uri: str) -> str:
    return unquote(urlsplit(uri).path)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
