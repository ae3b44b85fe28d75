# SPDX-License-Identifier: Apache-2.0
"""Counts of code combinations in DuckDB, under a memory limit, with spill to the private folder.

SQL sees columns under the names c0, c1, … because SQL names do not distinguish upper from lower case, and only values
whose equality is that of anonkit: times and timestamps go in as integers, so that nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.bundle.private_files import PrivateFolder
from anonkit.bundle.sql_names import alike_names, in_quotes
from anonkit.engines.local.counting import class_sizes, count_table
from anonkit.engines.reading.carriers import counted_type
from anonkit.engines.reading.sources import LocalSource
from anonkit.errors import EngineError
from anonkit.protocols import ClassSizes

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_STREAM = "anonkit_stream"
_GLOB = frozenset("*?[]{}")  # some versions of DuckDB take these for wildcards even where such a file exists
_MOST_GROUPED = 60  # columns that fit into one GROUPING_ID


class SpillingCounter:
    """Counts with DuckDB.

    Parameters
    ----------
    memory_limit : str
        What DuckDB may hold before it spills, such as "2GB".
    folder : PrivateFolder
        Where it spills to.
    """

    def __init__(self, memory_limit: str, folder: PrivateFolder) -> None:
        self._memory_limit = memory_limit
        self._folder = folder
        self._connection: Any = None

    def close(self) -> None:
        """Close DuckDB and its spill files."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def count_sets(self, source: LocalSource, sets: Sequence[tuple[str, ...]]) -> list[pa.Table]:
        """Count the combinations of several sets of columns, none of them empty, in as few passes as possible."""
        tables: list[pa.Table] = []
        for part in _parts(sets):
            tables += self._count_part(source, part)
        return tables

    def _count_part(self, source: LocalSource, sets: Sequence[tuple[str, ...]]) -> list[pa.Table]:
        names = list(dict.fromkeys(name for columns in sets for name in columns))
        place = {name: at for at, name in enumerate(names)}
        listed = _columns(range(len(names)))
        masks = [_grouping_id(columns, names) for columns in sets]
        grouped = {
            grouping: _columns(place[name] for name in columns) for grouping, columns in zip(masks, sets, strict=True)
        }
        mask = f"GROUPING_ID({listed})" if len(grouped) > 1 else "0"  # one set may have more columns than it has bits
        counted = self._query(
            lambda relation: (
                f"SELECT {listed}, {mask}, count(*) FROM {relation} "
                f"GROUP BY GROUPING SETS ({', '.join(f'({columns})' for columns in grouped.values())})"
            ),
            source,
            names,
        )
        *values, mask_of, counts = counted.columns
        typed = [_from_sql(column, source.schema.field(name).type) for column, name in zip(values, names, strict=True)]
        # scalars of the column itself: pyarrow imports pandas to make one of a Python number, a fifth of all the time
        found = {mask.as_py(): mask for mask in pc.unique(mask_of)}
        tables = []
        for columns, mask_of_set in zip(sets, masks, strict=True):
            own = [*(typed[place[name]] for name in columns), counts]
            if mask_of_set in found:
                rows = pc.equal(mask_of, found[mask_of_set])
                *arrays, of_set = (column.filter(rows) for column in own)
            else:
                *arrays, of_set = (column.slice(0, 0) for column in own)
            tables.append(count_table(columns, arrays, of_set))
        return tables

    def class_sizes(self, source: LocalSource, columns: Sequence[str], k: int, unit: str | None) -> ClassSizes:
        """Count the equivalence classes under some columns, by rows or by distinct units."""
        names = list(dict.fromkeys([*columns, *([] if unit is None else [unit])]))

        def sql(relation: str) -> str:
            sizes = _sizes(relation, names, columns, unit, "count(*)")
            return f"SELECT size, count(*), sum(n)::BIGINT FROM ({sizes}) WHERE size > 0 GROUP BY size ORDER BY size"

        counted = self._query(sql, source, names)
        sizes, classes, rows = (column.to_pylist() for column in counted.columns)
        return class_sizes(sizes, classes, rows, k)

    def small_classes(self, source: LocalSource, columns: Sequence[str], k: int, unit: str | None) -> pa.Table:
        """Return the classes below k, each with its rows."""
        return self._classes(source, columns, unit, "n", f"size < {k} AND n > 0", nobodys=False)

    def count_people(self, source: LocalSource, columns: Sequence[str], unit: str) -> pa.Table:
        """Return all classes, each with its distinct units."""
        return self._classes(source, columns, unit, "size", "n > 0", nobodys=True)

    def _classes(
        self, source: LocalSource, columns: Sequence[str], unit: str | None, count: str, rule: str, *, nobodys: bool
    ) -> pa.Table:
        """Return the classes for which a rule holds; rows without a unit are one unit, or count for nobody."""
        names = list(dict.fromkeys([*columns, *([] if unit is None else [unit])]))
        keys = _columns(names.index(name) for name in columns)
        units = "count(*)" if nobodys or unit is None else f"count(c{names.index(unit)})"
        listed = f"{keys}, " if keys else ""
        *values, counts = self._query(
            lambda relation: (
                f"SELECT {listed}{count}::BIGINT FROM ({_sizes(relation, names, columns, unit, units)}) WHERE {rule}"
            ),
            source,
            names,
        ).columns
        typed = [_from_sql(v, source.schema.field(name).type) for v, name in zip(values, columns, strict=True)]
        return count_table(columns, typed, counts.combine_chunks())

    def _query(self, sql: Callable[[str], str], source: LocalSource, names: Sequence[str]) -> pa.Table:
        import duckdb

        connection = self._connected()
        relation = _direct(source, names)
        stream = _Stream(source, names)
        if relation is None:
            connection.register(_STREAM, stream.reader)
        try:
            return _read(connection.sql(sql(relation or _STREAM)))
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            failure = stream.failure or _failure(error)
        finally:
            if relation is None:
                connection.unregister(_STREAM)
        raise failure

    def _connected(self) -> DuckDBPyConnection:
        if self._connection is None:
            import duckdb

            self._connection = duckdb.connect(
                ":memory:",
                config={
                    "memory_limit": self._memory_limit,
                    "temp_directory": str(self._folder.path),
                    "preserve_insertion_order": False,
                    "autoload_known_extensions": False,
                    "autoinstall_known_extensions": False,
                },
            )
            self._connection.execute("SET enable_progress_bar = false")  # in a notebook it would be shown on stdout
        return self._connection


class _Stream:
    """The columns of a source on their way to SQL; keeps our own error when reading fails."""

    def __init__(self, source: LocalSource, names: Sequence[str]) -> None:
        self._source = source
        self._names = names
        self.failure: Exception | None = None

    @property
    def reader(self) -> pa.RecordBatchReader:
        """The stream, to be read once."""
        fields = [(f"c{at}", counted_type(self._source.schema.field(name).type)) for at, name in enumerate(self._names)]
        schema = pa.schema(fields)
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._source.batches(self._names):
                arrays = [
                    array if array.type == column.type else array.view(column.type)
                    for array, column in zip(batch.columns, schema, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        except Exception as error:
            self.failure = error
            raise


def _read(relation: Any) -> pa.Table:
    return pa.RecordBatchReader.from_stream(relation).read_all()


def _failure(error: Exception) -> EngineError:
    if "OutOfMemory" in type(error).__name__:
        return EngineError("counting needs more memory than the engine may use", "count fewer columns at a time")
    return EngineError("counting rows failed", "is there room for temporary files? TMPDIR names their folder")


def _sizes(relation: str, names: Sequence[str], columns: Sequence[str], unit: str | None, units: str) -> str:
    """Return SQL for a row a class: its columns, `n` rows, and its `size`, in rows or in units, by their SQL."""
    keys = _columns(names.index(name) for name in dict.fromkeys(columns))
    listed, group = (f"{keys}, ", f"GROUP BY {keys}") if keys else ("", "")
    if unit is None:
        return f"SELECT {listed}count(*) AS n, count(*) AS size FROM {relation} {group}"
    both = _columns(range(len(names)))  # grouping twice spills; count(DISTINCT) would not
    people = f"SELECT {both}, count(*) AS n FROM {relation} GROUP BY {both}"
    return f"SELECT {listed}sum(n) AS n, {units} AS size FROM ({people}) {group}"


def _columns(places: Iterable[int]) -> str:
    return ", ".join(f"c{at}" for at in places)


def _grouping_id(columns: Sequence[str], names: Sequence[str]) -> int:
    """Return what GROUPING_ID gives for a set: a bit for each column that is not in it, the first one highest."""
    return sum(1 << at for at, name in enumerate(reversed(names)) if name not in columns)


def _parts(sets: Sequence[tuple[str, ...]]) -> Iterator[list[tuple[str, ...]]]:
    """Divide sets, in order, so that each part has few enough columns for one query; a large set is one part."""
    part: list[tuple[str, ...]] = []
    for columns in sets:
        if part and len({*columns, *(name for column_set in part for name in column_set)}) > _MOST_GROUPED:
            yield part
            part = []
        part.append(columns)
    if part:
        yield part


# --- values ------------------------------------------------------------------------------------------------------


def _direct(source: LocalSource, names: Sequence[str]) -> str | None:
    """Return SQL that reads columns from the files themselves, when that gives the same values."""
    files = source.parquet
    if files is None or any(_GLOB & set(part.path) for part in files.parts):
        return None
    if alike_names(source.schema.names) or not all(
        name in files.stored_types and _reads_alike(files.stored_types[name], files.spilled) for name in names
    ):
        return None
    selected = ", ".join(f"{in_quotes(name)} AS c{at}" for at, name in enumerate(names))
    paths = ", ".join("'" + part.path.replace("'", "''") + "'" for part in files.parts)
    return f"(SELECT {selected} FROM read_parquet([{paths}], hive_partitioning = false))"


def _reads_alike(stored: pa.DataType, spilled: bool) -> bool:
    """Return True if SQL reads a type from Parquet as pyarrow does."""
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if pa.types.is_floating(stored):
        # files of others may hold NaN, and DuckDB 2.0 believes a file's minimum and maximum, which leave NaN out:
        # it then takes isnan(x) for false without looking
        return spilled
    return bool(
        pa.types.is_string(stored)
        or pa.types.is_large_string(stored)
        or pa.types.is_boolean(stored)
        or pa.types.is_integer(stored)
        or pa.types.is_date32(stored)
    )


def _from_sql(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    """Return a result column in its own type; categories come as strings."""
    array = column.combine_chunks()
    if pa.types.is_dictionary(kind):
        return array.cast(kind.value_type)
    if array.type != kind:
        array = array.cast(counted_type(kind)).view(kind)
    return pc.add(array, pa.scalar(0.0, kind)) if pa.types.is_floating(kind) else array
