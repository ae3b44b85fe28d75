# SPDX-License-Identifier: Apache-2.0
"""Tables on Spark: numbered splits that tasks read, carrier types, and copies with stable row numbers.

Batch functions are applied lazily. Spark has no unsigned integers, no nanoseconds and no categories, and reads dates
and timestamps in the time zone and the calendar of a session. So every column travels as a text, a boolean, a signed
integer, a floating-point number or a decimal, its *carrier*, and is given back its canonical type in the batch
functions. Every engine compares the values of carriers alike.

A table whose row numbers are not stable is written once as Parquet in the scratch folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyspark.sql.types as st
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from anonkit.engines.reading.column_encoding import CategoryNumbering, canonical_type
from anonkit.engines.reading.parquet_tables import check_names, open_parquet
from anonkit.engines.reading.sources import (
    LocalSource,
    ParquetRows,
    TableSplits,
    all_of,
    carrier_schema,
    carrier_type,
    grouped,
    to_carrier,
)
from anonkit.engines.spark.spark_beside import SCRATCH, during
from anonkit.engines.writing.parquet_files import write_parquet
from anonkit.engines.writing.part_tasks import COUNTED, Counted, Finish, MappedRows, MapStep, RowMap, RowSum, out_schema
from anonkit.errors import EngineError, SourceError, option
from anonkit.policy.declaration import Policy
from anonkit.protocols import BatchCount

_PLAIN: dict[pa.DataType, st.DataType] = {
    pa.string(): st.StringType(),
    pa.binary(): st.BinaryType(),
    pa.bool_(): st.BooleanType(),
    pa.int8(): st.ByteType(),
    pa.int16(): st.ShortType(),
    pa.int32(): st.IntegerType(),
    pa.int64(): st.LongType(),
    pa.float32(): st.FloatType(),
    pa.float64(): st.DoubleType(),
}


def spark_type(carrier: pa.DataType) -> st.DataType:
    """Return the Spark type of a carrier."""
    if pa.types.is_decimal(carrier):
        return st.DecimalType(carrier.precision, carrier.scale)
    return _PLAIN[carrier]


def spark_schema(names: Sequence[str], kinds: Sequence[pa.DataType]) -> st.StructType:
    """Return a Spark schema of columns by their canonical types."""
    return st.StructType(
        [st.StructField(name, spark_type(carrier_type(kind))) for name, kind in zip(names, kinds, strict=True)]
    )


def frame_types(frame: DataFrame) -> list[pa.DataType]:
    """Return the canonical types of the columns of a data frame.

    Raises
    ------
    SourceError
        A column is nested, binary, or of a type that is no value of a cell.
    """
    return [_canonical(field.name, field.dataType) for field in frame.schema.fields]


def _canonical(name: str, given: st.DataType) -> pa.DataType:
    if isinstance(given, st.StringType | st.CharType | st.VarcharType | st.NullType):
        return pa.string()
    if isinstance(given, st.DecimalType):
        return pa.decimal128(given.precision, given.scale)
    if isinstance(given, st.DateType):
        return pa.date32()
    if isinstance(given, st.TimestampType):
        return pa.timestamp("us", "UTC")
    if isinstance(given, st.TimestampNTZType):
        return pa.timestamp("us")
    for arrow, spark in _PLAIN.items():
        if given == spark:
            return canonical_type(name, arrow)
    raise SourceError(
        f"column {name!r} holds values of type {_kind(given)}",
        "flatten or convert it, or leave it out of the table",
    )


def _kind(given: st.DataType) -> str:
    """Name a type as the local engine does."""
    nested = isinstance(given, st.ArrayType | st.StructType | st.MapType)
    return "list, struct or map" if nested else given.typeName()


def storable(column: Column, given: st.DataType) -> Column:
    """Return a column as it is copied to Parquet: nothing in it depends on the session's time zone or calendar."""
    if isinstance(given, st.TimestampType):
        return sf.unix_micros(column)
    if isinstance(given, st.DateType):
        return sf.unix_date(column)
    if isinstance(given, st.NullType | st.CharType | st.VarcharType):
        return column.cast("string")
    return column


ROW = "row"
"""Column that numbers the rows of a sample; the others are c0, c1, … by place."""
Work = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A task's function of batches of the numbers of its pieces."""

_A_CORE = 4  # tasks that a counting job gives to each core


@dataclass(frozen=True, kw_only=True, eq=False)
class SparkSource:
    """A table of the Spark engine: nothing is computed before a verb asks for it."""

    session: SparkSession
    splits: TableSplits
    """Pieces that tasks read, one each; the same in every action, and so are the numbers of the rows."""
    base: pa.Schema
    """Names and canonical types of the pieces."""
    base_categories: Mapping[str, pa.Array]
    """Categories of the pieces' dictionary columns."""
    at_most: int
    """Rows of the pieces."""
    stored: Callable[[SparkSource], TableSplits]
    """Lets the executors write mapped rows where this machine reads them, in the order of their numbers."""
    steps: tuple[MapStep, ...] = ()
    """Batch functions to apply."""

    def __repr__(self) -> str:
        return f"<SparkSource of {len(self.schema)} columns>"

    @property
    def schema(self) -> pa.Schema:
        """Names and canonical types, in table order."""
        return self.steps[-1].schema if self.steps else self.base

    @property
    def categories(self) -> Mapping[str, pa.Array]:
        """Categories of the dictionary columns."""
        return self.steps[-1].categories if self.steps else self.base_categories

    @property
    def n_rows(self) -> int:
        """Number of rows. After a map that may drop some it takes a job."""
        if all(step.same_rows for step in self.steps):
            return self.at_most
        counted = during("counting", self.grouped([], [()]).select("n").toArrow)
        return sum(counted.column("n").to_pylist())

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read all rows, or some columns of them, on this machine, in the order of their numbers."""
        yield from self.local.batches(self.schema.names if columns is None else list(columns))

    @property
    def local(self) -> LocalSource:
        """The rows in the order of their numbers, for this machine to read; computed by Spark after a map."""
        splits = self.stored(self) if self.steps else self.splits
        return LocalSource(self.schema, all_of(splits), at_most=self.at_most)

    def mapped(self, step: MapStep) -> SparkSource:
        """Return the table with one more function to apply."""
        return replace(self, steps=(*self.steps, step))

    def rows(self, columns: Sequence[str] | None = None) -> MappedRows:
        """Return the steps by which a task gets its rows, in some columns at least."""
        return MappedRows(splits=self.splits, steps=self.steps, columns=columns)

    def tasks(self, work: Work, out: pa.Schema, at_most: int | None = None) -> DataFrame:
        """Return the results of a function of piece numbers, one task a piece, or at most so many tasks."""
        n = self.splits.n_splits
        numbers = self.session.range(0, n, 1, max(min(n, at_most or n), 1))
        kinds = spark_schema(out.names, out.types)
        return during("planning a job", lambda: numbers.mapInArrow(work, kinds))

    def finished(self, finish: Finish, out: pa.Schema, columns: Sequence[str] | None = None) -> DataFrame:
        """Return the results of the functions, and then of `finish`, on the rows, in these columns alone."""
        return self.tasks(RowMap(rows=self.rows(columns), finish=finish, out=out), out)

    def counted(self, function: BatchCount, columns: Sequence[str], size: int) -> DataFrame:
        """Return the counts of all tasks, by place: few tasks, each of which adds up what it counts."""
        tasks = _A_CORE * self.session.sparkContext.defaultParallelism
        row_sum = RowSum(rows=self.rows(columns), function=function, columns=tuple(columns), size=size)
        return self.tasks(row_sum, COUNTED, tasks).groupBy("at").agg(sf.sum("n").alias("n"))

    def grouped(self, columns: Sequence[str], sets: Sequence[tuple[str, ...]]) -> DataFrame:
        """Return the combinations of each set of columns: c0, c1, … by place in `columns`, `set` and `n`.

        Tasks count their own rows, then the counts of all tasks are added up.
        """
        schema = pa.schema([self.schema.field(name) for name in columns])
        out = out_schema(schema, ("set", pa.int64()), ("n", pa.int64()))
        read = columns or self.schema.names[:1]
        counted = self.finished(Counted(tuple(columns), tuple(sets)), out, read)
        keys = [f"c{at}" for at in range(len(columns))]
        return counted.groupBy(*keys, "set").agg(sf.sum("n").alias("n"))


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a canonical schema as it is on Spark: a column of categories is a string column."""
    return pa.schema([(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in schema])


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
