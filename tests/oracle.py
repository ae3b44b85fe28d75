"""The pandas engine: what every engine must agree with, in as few lines as possible and with no line in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from anonkit.domains.coded_columns import CodedColumn
from anonkit.policy.declaration import Policy
from anonkit.protocols import COUNT, SEARCH_ROWS, ClassSizes
from anonkit.randomness import Randomness, keyed_words

TEMPORAL = (pa.types.is_timestamp, pa.types.is_date, pa.types.is_time, pa.types.is_duration)
ORDERED = (
    *(pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
    *(pa.types.is_date, pa.types.is_timestamp, pa.types.is_time),
)


def cells(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return cells that are equal in Python exactly when anonkit holds them for equal."""
    if any(is_kind(column.type) for is_kind in TEMPORAL):
        column = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())
    values = column.to_pylist()
    return [None if value != value else value + 0.0 if isinstance(value, float) else value for value in values]


@dataclass(frozen=True)
class PandasSource:
    """A table in memory, in one piece."""

    table: pa.Table

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    @property
    def n_rows(self) -> int:
        return self.table.num_rows

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        part = self.table if columns is None else self.table.select(list(columns))
        yield from part.combine_chunks().to_batches()


class PandasEngine:
    """All verbs on pandas, for tables of some rows and types that are canonical already."""

    name: ClassVar[str] = "pandas"
    search_rows: int = SEARCH_ROWS

    def close(self) -> None:
        """Close nothing."""

    def scan(self, data: pa.Table, policy: Policy) -> PandasSource:
        floats = [at for at, field in enumerate(data.schema) if pa.types.is_floating(field.type)]
        for at in floats:
            data = data.set_column(at, data.field(at), pa.array(cells(data.column(at)), data.field(at).type))
        return PandasSource(data)

    def frame(self, source: PandasSource, names: Sequence[str]) -> pd.DataFrame:
        """Return columns as objects, numbered; dates and times as integers."""
        columns = [pd.Series(cells(source.table.column(name)), dtype=object) for name in names]
        return pd.DataFrame(dict(enumerate(columns)), index=range(source.n_rows))

    def encode(self, source: PandasSource, columns: Sequence[str]) -> list[CodedColumn]:
        return [self._encode(name, source.table.column(name)) for name in columns]

    def _encode(self, name: str, column: pa.ChunkedArray) -> CodedColumn:
        ordered = any(is_kind(column.type) for is_kind in ORDERED)
        texts = [str(cell).lower() if isinstance(cell, bool) else cell for cell in column.to_pylist()]
        if not ordered:
            texts = [cell if cell is None else str(cell) for cell in texts]
        present = set(texts) - {None}
        values: list[Any] = sorted(present)
        if pa.types.is_dictionary(column.type):
            order = column.combine_chunks().dictionary.to_pylist()
            values = [category for category in order if category in present]
        values += [None] * (None in texts)
        codes = np.array([values.index(cell) for cell in texts], dtype=np.int32)
        shown = [float(value) if type(value).__name__ == "Decimal" else value for value in values]
        return CodedColumn(name=name, codes=codes, values=shown, ordered=ordered)

    def count_sets(self, source: PandasSource, sets: Sequence[tuple[str, ...]]) -> list[pa.Table]:
        tables = []
        for names in sets:
            keys = pd.Series([*map(tuple, self.frame(source, names).to_numpy(dtype=object))], dtype=object)
            first = keys.drop_duplicates().index
            arrays = [source.table.column(name).take(pa.array(first, pa.int64())) for name in names]
            counts = pa.array(keys.map(keys.value_counts())[first], pa.int64())
            tables.append(pa.Table.from_arrays([*arrays, counts], names=[*names, COUNT]))
        return tables

    def count_people(self, source: PandasSource, columns: Sequence[str], unit: str) -> pa.Table:
        frame = self.frame(source, [*columns, unit])
        frame["one"] = 0
        groups = frame.groupby([*range(len(columns)), "one"], dropna=False, sort=False)
        people = groups[len(columns)].transform("nunique", dropna=False)
        first = frame.drop_duplicates([*range(len(columns)), "one"]).index
        arrays = [source.table.column(name).take(pa.array(first, pa.int64())) for name in columns]
        counts = pa.array(people[first].astype(int), pa.int64())
        return pa.Table.from_arrays([*arrays, counts], names=[*columns, COUNT])

    def class_sizes(self, source: PandasSource, columns: Sequence[str], k: int, unit: str | None = None) -> ClassSizes:
        frame = self.frame(source, [*columns, *([unit] if unit else [])])
        frame["one"] = 0
        groups = frame.groupby([*range(len(columns)), "one"], dropna=False, sort=False)
        rows = groups.size()
        sizes = rows if unit is None else groups[len(columns)].nunique(dropna=False)
        counted = sizes.value_counts().sort_index()
        return ClassSizes(
            rows=source.n_rows,
            classes=len(sizes),
            smallest=int(sizes.min()) if len(sizes) else 0,
            rows_below_k=int(rows[sizes < k].sum()),
            histogram=tuple((int(size), int(n)) for size, n in counted.items()),
        )

    def small_classes(self, source: PandasSource, columns: Sequence[str], k: int, unit: str | None = None) -> pa.Table:
        frame = self.frame(source, [*columns, *([unit] if unit else [])])
        frame["one"] = 0
        groups = frame.groupby([*range(len(columns)), "one"], dropna=False, sort=False)
        rows = groups[len(columns) if unit else "one"].transform("size")
        sizes = groups[len(columns)].transform("nunique") if unit else rows
        small = frame[(sizes < k)].drop_duplicates([*range(len(columns)), "one"]).index
        arrays = [source.table.column(name).take(pa.array(small, pa.int64())) for name in columns]
        counts = pa.array(rows[small].astype(int), pa.int64())
        return pa.Table.from_arrays([*arrays, counts], names=[*columns, COUNT])

    def map_batches(
        self,
        source: PandasSource,
        function: Callable[[pa.RecordBatch, int], pa.RecordBatch],
        schema: pa.Schema,
        *,
        same_rows: bool = False,
    ) -> PandasSource:
        return PandasSource(pa.Table.from_batches([function(batch, 0) for batch in source.batches()], schema))

    def hold(self, table: pa.Table) -> PandasSource:
        return PandasSource(table)

    def draw(self, piece: Callable[[int], pa.RecordBatch], sizes: Sequence[int], empty: pa.RecordBatch) -> PandasSource:
        return PandasSource(pa.Table.from_batches([piece(at) for at in range(len(sizes))], empty.schema))

    def keep(self, source: PandasSource) -> PandasSource:
        return source

    def add_up(self, source: PandasSource, function: Any, columns: Sequence[str], size: int) -> np.ndarray[Any, Any]:
        return sum((function(batch, 0) for batch in source.batches(columns)), np.zeros(size, dtype=np.int64))

    def sample(self, source: PandasSource, n: int, randomness: Randomness) -> PandasSource:
        return PandasSource(source.table.take(np.sort(self._order(source, randomness.key("sample"))[:n])))

    def write(
        self,
        source: PandasSource,
        path: Path,
        *,
        metadata: Mapping[str, str],
        randomness: Randomness | None,
        part_rows: int | None = None,
    ) -> int:
        assert part_rows is None
        table = source.table
        if randomness is not None:
            table = table.take(self._order(source, randomness.key("shuffle")))
        pq.write_table(table.replace_schema_metadata(dict(metadata)), path)
        return int(table.num_rows)

    @staticmethod
    def _order(source: PandasSource, key: bytes) -> np.ndarray[Any, Any]:
        return np.argsort(keyed_words(key, 0, 0, source.n_rows, word_bits=64).reshape(-1), kind="stable")
