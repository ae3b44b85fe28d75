# SPDX-License-Identifier: Apache-2.0
"""The engine for tables larger than one machine: Spark moves and counts rows, the same batch functions map them.

The categories of files that executors read: one order for all splits, the same as in the local engine.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import ClassVar, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from anonkit.bundle.private_files import PrivateFolder
from anonkit.domains.coded_columns import CodedColumn
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.engines.local.spilling_counts import class_sizes, count_table
from anonkit.engines.reading.column_encoding import CategoryNumbering
from anonkit.engines.reading.declared_tables import HideListed, listed_missing, listed_texts
from anonkit.engines.reading.number_columns import ReadForms, reading_forms
from anonkit.engines.reading.parquet_tables import open_parquet, refuse_lake_place
from anonkit.engines.reading.sources import (
    SPLIT_ROWS,
    GeneratedSplits,
    LocalSource,
    ParquetRows,
    ParquetSplits,
    TableSplits,
    all_of,
    restored,
    table_source,
)
from anonkit.engines.spark.spark_beside import BesideSearch, OpenSession, during, open_session
from anonkit.engines.spark.spark_sources import (
    ROW,
    Copy,
    SparkSource,
    converted,
    copied,
    has_files,
    is_table,
    is_there,
    spark_schema,
)
from anonkit.engines.spark.spark_workers import (
    PART_ROWS,
    SparkWorkers,
    added_up,
    combinations,
    count_sizes,
    in_order,
    people_of_groups,
    small_groups,
    stored,
    written_files,
)
from anonkit.engines.writing.parquet_files import JoinedSplits, StoredSplits
from anonkit.engines.writing.part_tasks import DICTIONARIES, Dictionaries, Lowest, out_schema, step, texts_of
from anonkit.errors import EngineError, option
from anonkit.policy.declaration import Policy
from anonkit.protocols import SEARCH_ROWS, BatchCount, BatchMap, ClassSizes, DrawPiece
from anonkit.randomness import Randomness


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


_CODED_CELLS = 1 << 27
"""Cells `encode` brings to the driver: half a gigabyte of codes."""

_Source = SparkSource | LocalSource
_Counted = TypeVar("_Counted")


class SparkEngine:
    """PySpark 4: on a cluster, in a session that is there, or on this machine.

    Parameters
    ----------
    master : str, optional
        Where Spark runs, such as "spark://host:7077", "yarn" or "local[4]"; default the active session, else
        "local[*]".
    conf : mapping, optional
        Settings of Spark for a session that is started here. `spark.anonkit.scratch` names a folder that the driver
        and all executors see under the same name; without it the temporary folder of this machine is used.
    session : SparkSession, optional
        The session to work in; it is not stopped.
    search_rows : int
        Rows a method may hold on the driver while it searches; larger tables are searched on a keyed sample.

    Privacy
    -------
    Copies of the source, and released rows on their way to their order, are in a private folder in the scratch until
    `close`. Executors hold the key of the noise in memory, and rows in their shuffle files: encrypt both on clusters
    shared with others (`spark.io.encryption.enabled`, `spark.network.crypto.enabled`).
    """

    name: ClassVar[str] = "spark"

    def __init__(
        self,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        session: SparkSession | None = None,
        search_rows: int = SEARCH_ROWS,
    ) -> None:
        self._opened: OpenSession = open_session(master, conf or {}, session)
        self._session = self._opened.session
        self._task_rows = self._opened.task_rows(SPLIT_ROWS)
        self._private = PrivateFolder(during("looking at the settings", lambda: self._opened.scratch))
        self._local = LocalEngine()
        self._beside = BesideSearch(self._session)
        self.search_rows = search_rows

    def __enter__(self) -> SparkEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop Spark if it was started here, so that nobody writes any more, and delete every private file."""
        try:
            self._opened.close()
        finally:
            self._local.close()
            self._private.close()

    @property
    def workers(self) -> SparkWorkers:
        """The executors, as readers of the files of a release: for `anonkit.validate(…, workers=…)`."""
        return SparkWorkers(session=self._session)

    def shared_folder(self) -> Path:
        """Return a new private folder in the scratch."""
        return self._new_folder()

    # --- reading -------------------------------------------------------------------------------------------------

    def scan(self, data: object, policy: Policy) -> SparkSource:
        """Open a table with canonical values. See `anonkit.protocols.Engine.scan`.

        Parquet that this machine sees is read in place, by executors that see it too. Data frames of Spark,
        tables of its catalog and places only Spark can name are copied to the scratch once, so that rows have a number
        that stays. Text files and tables in memory are read by the local engine, with its types, and copied too.

        Raises
        ------
        SourceError
            The table cannot be read as one; names the column, the line or the row, never a cell.
        """
        if isinstance(data, DataFrame):
            return self._without_listed(self._copy(copied(data, self._new_folder())), policy)
        if isinstance(data, str | os.PathLike):
            path, named = Path(data), self._named(os.fspath(data))
            if named is not None:
                return self._without_listed(self._copy(copied(named, self._new_folder())), policy)
            if is_there(path) and (path.is_dir() or path.suffix.lower() in (".parquet", ".pq")):
                return self._without_listed(self._in_place(open_parquet(path, policy)), policy)
        return self._copy(converted(self._local.scan(data, policy), self._new_folder()))

    def _without_listed(self, source: SparkSource, policy: Policy) -> SparkSource:
        """Return a table that brought its types without the strings that a policy lists as missing, numbers read."""
        function = None
        if listed_texts(policy):
            function = listed_missing(source.schema, policy, partial(self.add_up, source))
        source = source if function is None else self._mapped(source, function)
        forms = reading_forms(source.schema, policy)
        return source if forms is None else self._mapped(source, forms)

    def _mapped(self, source: SparkSource, function: HideListed | ReadForms) -> SparkSource:
        return source.mapped(replace(step(function, source.schema, source.categories, function.schema), same_rows=True))

    def hold(self, table: pa.Table) -> LocalSource:
        """Return a table that a method has made. See `anonkit.protocols.Engine.hold`."""
        return self._local.hold(table)

    def _named(self, name: str) -> DataFrame | None:
        """Return the data frame of a place or a table that only Spark knows."""
        if "://" in name:
            during("reading the table", lambda: refuse_lake_place(name, partial(has_files, self._session)))
            return during("reading the table", lambda: self._session.read.parquet(name))
        if is_there(Path(name)) or not during("looking up the table", lambda: is_table(self._opened.base, name)):
            return None
        return self._opened.base.table(name)

    def _in_place(self, files: ParquetRows) -> SparkSource:
        """Return files of the user as a source, wherever an executor is when it reads them."""
        parts = [replace(part, path=str(Path(part.path).absolute())) for part in files.parts]
        files = replace(files, parts=parts)
        splits = ParquetSplits.of(files, files.schema, self._task_rows)
        return self._read(replace(splits, categories=categories_in(splits, self._session)))

    def _copy(self, copy: Copy) -> SparkSource:
        """Return files of our own as a source."""
        splits = ParquetSplits.of(copy.files, copy.schema, self._task_rows)
        return self._read(replace(splits, categories=copy.categories))

    def _read(self, splits: ParquetSplits) -> SparkSource:
        return self._of(splits, splits.schema, sum(part.n_rows for part in splits.files.parts), splits.categories)

    def _of(
        self, splits: TableSplits, schema: pa.Schema, n_rows: int, categories: Mapping[str, pa.Array] | None = None
    ) -> SparkSource:
        return SparkSource(
            session=self._session,
            splits=splits,
            base=schema,
            base_categories=categories or {},
            at_most=n_rows,
            stored=self._stored,
        )

    def _stored(self, source: SparkSource) -> StoredSplits:
        return stored(source, self._new_folder())

    def draw(self, piece: DrawPiece, sizes: Sequence[int], empty: pa.RecordBatch) -> SparkSource:
        """Return a table that executors draw when it is read. See `anonkit.protocols.Engine.draw`."""
        categories = {
            name: column.dictionary
            for name, column in zip(empty.schema.names, empty.columns, strict=True)
            if isinstance(column, pa.DictionaryArray)
        }
        splits = GeneratedSplits(draw=piece, schema=empty.schema, sizes=sizes)
        return self._of(splits, empty.schema, sum(sizes), categories)

    def keep(self, source: _Source) -> _Source:
        """Let executors apply functions once, into the scratch. See `anonkit.protocols.Engine.keep`."""
        if isinstance(source, LocalSource):
            return self._local.keep(source)
        rows = self._stored(source)
        return self._of(rows, rows.schema, sum(rows.sizes), rows.form.categories)

    def _new_folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._private.path))

    # --- counting ------------------------------------------------------------------------------------------------

    def encode(self, source: _Source, columns: Sequence[str]) -> list[CodedColumn]:
        """Return columns as codes, on the driver. See `anonkit.protocols.Engine.encode`.

        Raises
        ------
        EngineError
            The columns hold more cells than the driver shall hold; methods look at a `sample` then.
        SourceError
            A column holds numbers, dates or times beyond Python's precision or range.
        """
        names = list(dict.fromkeys(columns))
        if isinstance(source, LocalSource) or not names:
            return self._local.encode(source, columns)  # type: ignore[arg-type]
        if source.at_most * len(names) > _CODED_CELLS:
            raise EngineError(
                "the table is too large to be coded on the driver",
                f"{option('search_rows')} names the rows of a sample to look at",
            )
        return self._local.encode(source.local, columns)

    def count_sets(self, source: _Source, sets: Sequence[tuple[str, ...]]) -> list[pa.Table]:
        """Count combinations. See `anonkit.protocols.Engine.count_sets` and `LocalEngine.count_sets`.

        Raises
        ------
        EngineError
            There are more combinations than the driver shall hold.
        """
        if isinstance(source, LocalSource):
            return self._local.count_sets(source, sets)
        filled = [column_set for column_set in sets if column_set]
        counted = iter(during("counting", lambda: combinations(source, filled)) if filled else ())
        total = pa.array([source.n_rows], pa.int64()) if not all(sets) else None
        return [next(counted) if column_set else count_table((), [], total) for column_set in sets]

    def count_people(self, source: _Source, columns: Sequence[str], unit: str) -> pa.Table:
        """Count distinct units where the rows are. See `anonkit.protocols.Engine.count_people`.

        Raises
        ------
        EngineError
            There are more combinations than the driver shall hold.
        """
        if isinstance(source, LocalSource):
            return self._local.count_people(source, columns, unit)
        return during("counting", lambda: people_of_groups(source, columns, unit))

    def class_sizes(self, source: _Source, columns: Sequence[str], k: int, unit: str | None = None) -> ClassSizes:
        """Count equivalence classes; only the histogram of their sizes reaches the driver.

        See `anonkit.protocols.Engine.class_sizes` and `LocalEngine.class_sizes`.
        """
        if isinstance(source, LocalSource):
            return self._local.class_sizes(source, columns, k, unit)
        sizes, classes, rows = during("counting", lambda: count_sizes(source, columns, unit))
        return class_sizes(sizes, classes, rows, k)

    def small_classes(self, source: _Source, columns: Sequence[str], k: int, unit: str | None = None) -> pa.Table:
        """Return the classes below k, counted where the rows are. See `anonkit.protocols.Engine.small_classes`.

        Raises
        ------
        EngineError
            There are more small classes than the driver shall hold.
        """
        if isinstance(source, LocalSource):
            return self._local.small_classes(source, columns, k, unit)
        return during("counting", lambda: small_groups(source, columns, k, unit))

    def add_up(self, source: _Source, function: BatchCount, columns: Sequence[str], size: int) -> NDArray[np.int64]:
        """Add up counts: executors count and add, the driver gets one sum a place.

        See `anonkit.protocols.Engine.add_up`.
        """
        if isinstance(source, LocalSource):
            return self._local.add_up(source, function, columns, size)
        return added_up(source, function, columns, size)

    def later(self, count: Callable[[], _Counted]) -> Callable[[], _Counted]:
        """Return a function that gives a count, made while the driver searches. See `protocols.counted_later`."""
        return self._beside.later(count)

    def searching(self) -> AbstractContextManager[None]:
        """Return a context in which executors count beside the driver. See `anonkit.protocols.counting_beside`."""
        return self._beside.searching()

    # --- rows ----------------------------------------------------------------------------------------------------

    def map_batches(
        self, source: _Source, function: BatchMap, schema: pa.Schema, *, same_rows: bool = False
    ) -> _Source:
        """Apply a batch function lazily, in the executors. See `anonkit.protocols.Engine.map_batches`.

        Rows keep their numbers, unless the function drops some: the rows that are left are numbered anew then, in a
        way that is the same in every run of a task but not on every engine.
        """
        if isinstance(source, LocalSource):
            return self._local.map_batches(source, function, schema, same_rows=same_rows)
        return source.mapped(replace(step(function, source.schema, source.categories, schema), same_rows=same_rows))

    def sample(self, source: _Source, n: int, randomness: Randomness) -> LocalSource:
        """Draw rows by lowest secret word, into the driver's memory. See `anonkit.protocols.Engine.sample`."""
        if isinstance(source, LocalSource):
            return self._local.sample(source, n, randomness)
        key = randomness.key("sample")
        share = 1.0 if n >= source.at_most else (n + 8 * n**0.5 + 64) / source.at_most
        while True:  # the first round is enough but for one case in 10**15
            bound = min(int(share * 2.0**64), 2**64 - 1)
            sampled = self._below(source, key, bound)
            if sampled.num_rows >= n or share >= 1:
                break
            share *= 2
        best = sampled.sort_by("word").slice(0, n).sort_by(ROW)
        rows = [
            restored(batch, source.schema, source.categories)
            for batch in best.select(best.column_names[:-2]).to_batches()
        ]
        return table_source(pa.Table.from_batches(rows, source.schema))

    def _below(self, source: SparkSource, key: bytes, bound: int) -> pa.Table:
        out = out_schema(source.schema, (ROW, pa.int64()), ("word", pa.int64()))
        return during("drawing a sample", source.finished(Lowest(key, bound), out).toArrow)

    def write(
        self,
        source: _Source,
        path: Path,
        *,
        metadata: Mapping[str, str],
        randomness: Randomness | None,
        part_rows: int | None = None,
        first: str | None = None,
    ) -> int:
        """Write a Parquet file, or a folder of them, on the driver's machine. See `anonkit.protocols.Engine.write`.

        Executors put the rows in order, in parts. The driver copies part after part into one file; the files of a
        folder are written by the executors, and moved by the driver. Files of about the requested size stay
        one each where the order of the rows stays.

        Raises
        ------
        EngineError
            The data cannot be written; what was written is deleted then.
        """
        local = partial(self._local.write, path=path, metadata=metadata, part_rows=part_rows)
        if isinstance(source, LocalSource):
            return local(source, randomness=randomness, first=first)
        if randomness is None and part_rows is not None and source.at_most:
            by_file = _by_file(source.splits, part_rows)
            each = max(part_rows * by_file.n_splits // source.at_most, 1)
            files = replace(source, splits=JoinedSplits(splits=by_file, each=each))
            return written_files(files, metadata, self._new_folder(), path)
        if randomness is None:
            return local(source.local, randomness=None)
        together = min(part_rows or PART_ROWS, PART_ROWS)
        parts = in_order(source, randomness.key("shuffle"), self._new_folder(), together, first)
        if part_rows is None or not any(parts.sizes):
            return local(LocalSource(source.schema, all_of(parts), at_most=source.at_most), randomness=None)
        rows_a_part = max(part_rows * len(parts.sizes) // sum(parts.sizes), 1)
        joined = JoinedSplits(splits=parts, each=rows_a_part)
        files = self._of(joined, parts.schema, sum(parts.sizes), parts.form.categories)
        return written_files(files, metadata, self._new_folder(), path)


def _by_file(splits: TableSplits, part_rows: int) -> TableSplits:
    """Return a table in pieces that are its files, where none of them is much larger than a part shall be."""
    if not isinstance(splits, ParquetSplits) or any(part.n_rows > 2 * part_rows for part in splits.files.parts):
        return splits
    return splits.by_file()
