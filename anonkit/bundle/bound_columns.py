# SPDX-License-Identifier: Apache-2.0
"""Intervals that a release shows as two columns, their lowest and highest value, read back as the labels they are.

`params.json` has for every such column the names of the two and the pair of each label. Whatever works on labels reads
a release through here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonkit.bundle.data_files import iter_batches, read_schema
from anonkit.errors import ReleaseFormatError, refusing_damage

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from anonkit.bundle.stored_release import Release

KEY = "bounds"
"""Block of the params."""
_BATCH_ROWS = 1 << 16
_DAMAGED = "the bounds in params.json are damaged"

Pair = tuple[float | None, float | None]
"""Lowest and highest value; None where the interval is open, or the label has no bounds."""


@dataclass(frozen=True, kw_only=True)
class BoundColumn:
    """One column of intervals as two of numbers."""

    name: str
    """Name of the column wherever it has labels."""
    low: str
    high: str
    """Name of the second of the two columns in its place."""
    mean: str | None = None
    """Name of a third, which shows the mean of each class; None where there is none."""
    step: float | None = None
    """Declared step of the numbers, of which means are multiples."""
    labels: tuple[tuple[str | None, Pair], ...]
    """Each label with its pair."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in its place, in their order."""
        return (self.low, self.high, *([] if self.mean is None else [self.mean]))

    def codes(self, low: pa.Array, high: pa.Array) -> NDArray[np.int64]:
        """Return the index of every pair among the labels, -1 where it is that of none, or of two, shape (n_rows,).

        Integers that some library has turned into floats, as pandas does where one is missing, are compared so.
        """
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        ends = [pc.dictionary_encode(_array(cells), null_encoding="encode") for cells in (low, high)]
        lows, highs = (end.dictionary.to_pylist() for end in ends)
        codes = [end.indices.to_numpy(zero_copy_only=False).astype(np.int64) for end in ends]
        found, place = np.unique(codes[0] * max(len(highs), 1) + codes[1], return_inverse=True)
        floats = [pa.types.is_floating(end.dictionary.type) for end in ends]
        places: dict[tuple[float | None, ...], int] = {}
        for at, (_, pair) in enumerate(self.labels):
            as_given = tuple(
                float(end) if is_float and end is not None else end for end, is_float in zip(pair, floats, strict=True)
            )
            places[as_given] = -1 if as_given in places else at
        width = max(len(highs), 1)
        known = [places.get((lows[code // width], highs[code % width]), -1) for code in found.tolist()]
        return np.array(known, dtype=np.int64)[place.reshape(-1)]

    def read(self, low: pa.Array, high: pa.Array) -> tuple[pa.Array, int]:
        """Return the label of every row, and how many rows have none: theirs is missing.

        Parameters
        ----------
        low, high : Array
            Numbers, missing as null; shape (n_rows,).
        """
        import pyarrow as pa

        codes = self.codes(low, high)
        labels = pa.array([*(label for label, _ in self.labels), None], pa.string())
        return labels.take(pa.array(codes % len(labels))), int((codes < 0).sum())


def _array(cells: pa.Array | pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    return cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells


def bound_columns(params: Mapping[str, Any]) -> tuple[BoundColumn, ...]:
    """Return the columns that a release shows as two; none where it shows labels.

    Raises
    ------
    ReleaseFormatError
        The block is not one.
    """
    with refusing_damage(_DAMAGED):
        return tuple(
            BoundColumn(
                name=str(name),
                low=str(raw["low"]),
                high=str(raw["high"]),
                mean=None if raw.get("mean") is None else str(raw["mean"]),
                step=_number(raw.get("step")),
                labels=tuple((label, (_number(low), _number(high))) for label, low, high in raw["labels"]),
            )
            for name, raw in params.get(KEY, {}).items()
        )


def _number(value: Any) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise TypeError(type(value).__name__)
    return value


def labelled(table: pa.Table, columns: Sequence[BoundColumn]) -> tuple[pa.Table, dict[str, int]]:
    """Return rows with labels in place of bounds, and of each column how many rows have a pair that is none.

    Raises
    ------
    ReleaseFormatError
        A column is not there.
    """
    strange: dict[str, int] = {}
    for column in columns:
        if not set(column.names) <= set(table.column_names):
            listed = " and ".join(map(repr, column.names))
            raise ReleaseFormatError(f"the data have no columns {listed}", _DAMAGED)
        labels, strange[column.name] = column.read(table.column(column.low), table.column(column.high))
        at = table.column_names.index(column.low)
        table = table.set_column(at, column.name, labels).drop_columns(list(column.names[1:]))
    return table, strange


def write_labelled(data: Path, columns: Sequence[BoundColumn], path: Path) -> dict[str, int]:
    """Write the rows of a data file with labels in place of bounds; return the rows whose pair is none, by column.

    Raises
    ------
    ReleaseFormatError
        A column is not there.
    pyarrow.ArrowException, OSError
        The data cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    stored = read_schema(data)
    empty, strange = labelled(stored.empty_table(), columns)
    schema = empty.schema
    with pq.ParquetWriter(path, schema) as writer:
        for batch in iter_batches(data, batch_rows=_BATCH_ROWS):
            table, more = labelled(pa.Table.from_batches([batch]), columns)
            strange = {name: strange[name] + more[name] for name in strange}
            writer.write_table(table.cast(schema))
    return strange


def labelled_rows(release: Release) -> pa.Table:
    """Return the data of a release with labels, however it shows intervals.

    Raises
    ------
    ReleaseFormatError
        A pair of numbers is that of no interval of the release, or the params are damaged.
    """
    rows, strange = labelled(release.to_arrow(), bound_columns(release.params))
    for name, count in strange.items():
        if count:
            raise ReleaseFormatError(
                f"column {name!r} has {count} rows with bounds of no interval of this release",
                "anonkit validate tells which file was changed",
            )
    return rows
