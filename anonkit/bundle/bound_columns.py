# SPDX-License-Identifier: Apache-2.0
"""Intervals that a release shows as two columns, their bounds, read back as the labels they are.

`params.json` has for every such column the names of the two, lowest and highest value, and the pair of each label.
Whatever works on labels reads a release through here.

Workers make the labels of a file they read: a task writes its files with labels into a private folder of the worker,
works on them, and deletes them. On this machine their outlines are in a folder of their own
(`anonkit.bundle.data_files`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from anonkit.bundle.data_files import (
    BringsParts,
    GroupStep,
    Message,
    Outline,
    PartWorkers,
    all_dealt,
    iter_batches,
    outline_of,
    parts_of,
    read_by,
    read_schema,
    workers_for,
)
from anonkit.bundle.private_files import PrivateFolder
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


Item = TypeVar("Item")
Found = TypeVar("Found")

_NAME = "labels.parquet"


@dataclass(frozen=True, kw_only=True)
class OnLabelled(Generic[Found]):
    """Applies a function to a file, or to several, with labels in place of bounds: what one task does."""

    function: Callable[[Any], Found]
    columns: tuple[BoundColumn, ...]

    def __call__(self, item: Path | Sequence[Path]) -> Found:
        """Return the function's result on the labelled file, which is removed.

        Raises
        ------
        ReleaseFormatError
            A column is not there.
        """
        with closing(PrivateFolder()) as scratch:
            if isinstance(item, Path):
                return self.function(self._made(item, scratch.path))
            return self.function([self._made(path, scratch.path) for path in item])

    def _made(self, part: Path, folder: Path) -> Path:
        write_labelled(part, self.columns, folder / part.name)
        return folder / part.name


@dataclass(frozen=True, kw_only=True)
class LabelledOutline:
    """Makes the labels of a file, and counts by column the rows whose bounds are those of no label."""

    columns: tuple[BoundColumn, ...]

    def __call__(self, part: Path) -> tuple[dict[str, int], Outline]:
        """Return the number of rows without a label by column, and the outline of the file with labels."""
        with closing(PrivateFolder()) as scratch:
            strange = write_labelled(part, self.columns, scratch.path / part.name)
            return strange, outline_of(scratch.path / part.name)


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelledByWorkers:
    """Workers that read a folder of data as it is, and as labels where its outlines are. See `PartWorkers`."""

    workers: PartWorkers
    """Workers that read the files as they are."""
    data: Path
    columns: tuple[BoundColumn, ...]
    folder: Path
    """Of the outlines, which have the names of the files."""
    _brought: set[Path] = field(default_factory=set)

    def outline(self) -> dict[str, int]:
        """Make the outlines; return the number of rows without a label by column."""
        parts = parts_of(self.data)
        outlines = self.workers.each(LabelledOutline(columns=self.columns), parts)
        self.folder.mkdir()
        for part, (_, outline) in zip(parts, outlines, strict=True):
            outline.write(self.folder / part.name)
        return {column.name: sum(strange[column.name] for strange, _ in outlines) for column in self.columns}

    @property
    def tasks(self) -> int:
        """Number of tasks of the workers."""
        return self.workers.tasks

    def each(self, function: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
        """Return the result of a function on every item, with labels where they are needed. See `PartWorkers.each`."""
        if not any(self._is_outline(item) for item in items):
            return self.workers.each(function, items)
        work = OnLabelled(function=function, columns=self.columns)
        return self.workers.each(work, [self._standing(item) for item in items])

    def regrouped(
        self,
        deal: Callable[[Item], Iterable[Message]],
        steps: Sequence[GroupStep],
        items: Sequence[Item],
        groups: int,
    ) -> list[Message]:
        """Work on groups of what is dealt of every item, with labels where they are needed. See `PartWorkers`."""
        if not any(self._is_outline(item) for item in items):
            return self.workers.regrouped(deal, steps, items, groups)
        work = OnLabelled(function=partial(all_dealt, deal), columns=self.columns)
        return self.workers.regrouped(work, steps, [self._standing(item) for item in items], groups)

    def bring(self, parts: Sequence[Path]) -> None:
        """Make the labels of files here whose rows are read here; see `BringsParts`."""
        for path in parts:
            if self._is_outline(path) and path not in self._brought:
                path.unlink()
                write_labelled(self._standing(path), self.columns, path)
                self._brought.add(path)
        if isinstance(self.workers, BringsParts):
            self.workers.bring([path for path in parts if not self._is_outline(path)])

    def _is_outline(self, item: object) -> bool:
        first = item if isinstance(item, Path) else next(iter(item), None)  # type: ignore[call-overload]
        return isinstance(first, Path) and first.parent == self.folder

    def _standing(self, item: Any) -> Any:
        return self.data / item.name if isinstance(item, Path) else [self._standing(path) for path in item]


@contextmanager
def labelled_files(data: Path, columns: Sequence[BoundColumn]) -> Iterator[tuple[Path, dict[str, int]]]:
    """Let a release be read as labels.

    Parameters
    ----------
    data : Path
        The file, or the folder, with bounds.
    columns : sequence of BoundColumn
        Those that the release shows as bounds; with none its rows already have labels.

    Yields
    ------
    tuple of Path and dict
        Place of its rows with labels meanwhile, and by column the number of rows whose bounds are those of no label:
        theirs is missing.

    Raises
    ------
    ReleaseFormatError
        A column is not there.
    pyarrow.ArrowException, OSError
        The data cannot be read.
    """
    if not columns:
        yield data, {}
        return
    parts = parts_of(data)
    workers = workers_for(parts)
    with closing(PrivateFolder()) as scratch:
        labels = scratch.path / _NAME
        if workers is None or any(part.parent != data for part in parts):
            yield labels, write_labelled(data, columns, labels)
            return
        made = LabelledByWorkers(workers=workers, data=data, columns=tuple(columns), folder=labels)
        strange = made.outline()
        with read_by(made):
            yield labels, strange
