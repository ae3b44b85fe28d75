# SPDX-License-Identifier: Apache-2.0
"""Counts of code combinations in DuckDB, under a memory limit, with spill to the private folder.

SQL sees columns under the names c0, c1, … because SQL names do not distinguish upper from lower case, and only values
whose equality is that of anonkit: times and timestamps go in as integers, so that nothing is rounded.

Counts of code combinations in memory, and the form in which every engine returns counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.bundle.private_files import PrivateFolder
from anonkit.bundle.sql_names import alike_names, in_quotes
from anonkit.domains.coded_columns import combine, distinct_in_groups
from anonkit.engines.reading.column_encoding import Encoded
from anonkit.engines.reading.sources import LocalSource, counted_type
from anonkit.errors import EngineError
from anonkit.protocols import COUNT, ClassSizes

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def count_combinations(columns: Mapping[str, Encoded], names: Sequence[str], n_rows: int) -> pa.Table:
    """Count the rows of every combination of some columns."""
    groups = _Groups.of([columns[name].codes for name in names], n_rows)
    return groups.table(columns, names, groups.sizes())


def small_combinations(
    columns: Mapping[str, Encoded], names: Sequence[str], n_rows: int, k: int, unit: str | None
) -> pa.Table:
    """Return the combinations of some columns that fewer than k rows (distinct units) hold, with their rows."""
    groups = _Groups.of([columns[name].codes for name in names], n_rows)
    sizes = groups.sizes() if unit is None else groups.sizes(columns[unit].codes)
    if unit is not None:  # rows without one count for nobody
        nobodys = columns[unit].codes == len(columns[unit].values)
        sizes = sizes - (np.bincount(groups.of_row[nobodys], minlength=groups.number) > 0)
    return groups.table(columns, names, groups.sizes(), np.flatnonzero(sizes < k))


def people_of_combinations(
    columns: Mapping[str, Encoded], names: Sequence[str], n_rows: int, units: NDArray[np.int32]
) -> pa.Table:
    """Count the distinct units of every combination of some columns."""
    groups = _Groups.of([columns[name].codes for name in names], n_rows)
    return groups.table(columns, names, groups.sizes(units))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Groups:
    """Rows by their combination of several coded columns."""

    of_row: NDArray[np.int64]
    """Shape (n_rows,), dense in [0, number)."""
    number: int

    @classmethod
    def of(cls, codes: Sequence[NDArray[np.int32]], n_rows: int) -> _Groups:
        of_row, number = combine(codes, n_rows)
        return cls(of_row=of_row, number=number)

    def sizes(self, units: NDArray[np.int32] | None = None) -> NDArray[np.int64]:
        """Rows of each group, or its distinct units, shape (number,)."""
        if units is not None:
            return distinct_in_groups(self.of_row, self.number, units.astype(np.int64))
        return np.bincount(self.of_row, minlength=self.number)

    def table(
        self,
        columns: Mapping[str, Encoded],
        names: Sequence[str],
        counts: NDArray[np.int64],
        groups: NDArray[np.int64] | slice = slice(None),
    ) -> pa.Table:
        """Return the combinations of some groups, each with its count."""
        member = np.zeros(self.number, dtype=np.int64)  # a row of each group
        member[self.of_row] = np.arange(self.of_row.size)
        arrays = [columns[name].values.take(_places(columns[name], member[groups])) for name in names]
        return count_table(names, arrays, pa.array(counts[groups], pa.int64()))


def _places(column: Encoded, rows: NDArray[np.int64]) -> pa.Array:
    codes = column.codes[rows]
    return pa.array(codes, mask=codes == len(column.values))


def count_table(names: Sequence[str], arrays: Sequence[pa.Array | pa.ChunkedArray], counts: pa.Array) -> pa.Table:
    """Return counts in the order of their combinations, missing last: the same on every engine and in every run."""
    table = pa.Table.from_arrays([*arrays, counts], names=[*map(str, range(len(names))), COUNT])
    if names:
        table = table.sort_by([(str(at), "ascending") for at in range(len(names))])
    return table.rename_columns([*names, COUNT])


def count_classes(
    codes: Sequence[NDArray[np.int32]], n_rows: int, k: int, units: NDArray[np.int32] | None
) -> ClassSizes:
    """Count the equivalence classes of coded columns."""
    groups = _Groups.of(codes, n_rows)
    members = groups.sizes()
    sizes = members if units is None else groups.sizes(units)
    values, inverse, classes = np.unique(sizes, return_inverse=True, return_counts=True)
    rows = np.bincount(inverse.reshape(-1), weights=members, minlength=values.size)
    return class_sizes(values.tolist(), classes.tolist(), rows.astype(np.int64).tolist(), k)


def class_sizes(sizes: Sequence[int], classes: Sequence[int], rows: Sequence[int], k: int) -> ClassSizes:
    """Return class sizes from a histogram: the sizes ascending, the classes and the rows of each."""
    return ClassSizes(
        rows=sum(rows),
        classes=sum(classes),
        smallest=min(sizes, default=0),
        rows_below_k=sum(n for size, n in zip(sizes, rows, strict=True) if size < k),
        histogram=tuple(zip(sizes, classes, strict=True)),
    )


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
    """Return the GROUPING_ID of a set: a bit for each column that is not in it, the first one highest."""
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
