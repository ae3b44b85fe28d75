# SPDX-License-Identifier: Apache-2.0
"""Work on files of a release, an item a task: what a function makes of it goes out, pickled, or to groups of others.

Batch functions on the splits of an executor: rows keep their number in the table, whichever task reads them.

A task is given the number of its piece, reads it, and puts every batch through the same functions as on one machine,
with the number of its first row. Noise that is a function of the row number is therefore the same in a task that runs
once, twice or on another executor. Each class here is a function of an iterator of batches, for `mapInArrow`.
"""

from __future__ import annotations

import base64
import json
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit import errors
from anonkit.bundle.data_files import GroupStep, Message
from anonkit.engines.reading.sources import TableSplits, carrier_schema, to_carrier
from anonkit.engines.writing.shuffling import row_words
from anonkit.errors import AnonkitError, EngineError
from anonkit.protocols import BatchCount, BatchMap

_MARK = re.compile(r"anonkit-failure:([A-Za-z0-9+/=]+)")

Rows = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class MapStep:
    """One batch function with what it returns."""

    function: BatchMap
    schema: pa.Schema
    categories: Mapping[str, pa.Array]
    """Categories of its dictionary columns, as it announced them on an empty batch."""
    same_rows: bool = False
    """True when it returns every row it is given."""

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Apply the function; refuse what it did not announce.

        Raises
        ------
        EngineError
            It returned other columns, types or categories than it declared.
        """
        out = self.function(batch, row)
        if not out.schema.equals(self.schema):
            raise EngineError("a batch function returned other columns or types than it declared")
        for name, categories in self.categories.items():
            dictionary = out.column(name).dictionary
            if not dictionary.equals(categories) and not set(dictionary.to_pylist()) <= set(categories.to_pylist()):
                raise EngineError("a batch function returned other categories than for an empty batch")
        return out


def step(function: BatchMap, given: pa.Schema, categories: Mapping[str, pa.Array], schema: pa.Schema) -> MapStep:
    """Ask a batch function for its categories, on an empty batch with the categories it is given."""
    nothing = [
        pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), categories[field.name], ordered=field.type.ordered)
        if field.name in categories
        else pa.array([], field.type)
        for field in given
    ]
    empty = pa.RecordBatch.from_arrays(nothing, schema=given)
    out = function(empty, 0)
    if not out.schema.equals(schema):
        raise EngineError("a batch function returned other columns or types than it declared")
    names = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    return MapStep(function=function, schema=schema, categories={name: out.column(name).dictionary for name in names})


class Finish(Protocol):
    """A last step on mapped rows; all arrays have the same length."""

    def __call__(self, batch: pa.RecordBatch, rows: Rows) -> Sequence[pa.Array]:
        """Return the output of some rows and their numbers."""
        ...


@dataclass(frozen=True)
class Counted:
    """Hand out how many rows of a batch have each combination of some sets of columns."""

    columns: Sequence[str]
    sets: Sequence[tuple[str, ...]]

    def __call__(self, batch: pa.RecordBatch, rows: Rows) -> Sequence[pa.Array]:
        """Return the columns, missing where they are not in the set, the set's number and the count."""
        carriers = {name: to_carrier(batch.column(name)) for name in self.columns}
        parts = []
        for number, names in enumerate(self.sets):
            groups = _groups([carriers[name] for name in names], batch.num_rows)
            size, place = groups.num_rows, {name: at for at, name in enumerate(names)}
            keys = [
                groups.column(f"c{place[name]}") if name in place else pa.nulls(size, carriers[name].type)
                for name in self.columns
            ]
            parts.append(pa.table([*keys, pa.repeat(pa.scalar(number), size), groups.column("n")], self._names))
        return [column.combine_chunks() for column in pa.concat_tables(parts).columns]

    @property
    def _names(self) -> list[str]:
        return [*map(str, range(len(self.columns))), "set", "n"]


def _groups(columns: Sequence[pa.Array], n_rows: int) -> pa.Table:
    """Return the combinations of columns c0, c1, … and their rows, `n`."""
    if not columns:
        return pa.table({"n": pa.array([n_rows], pa.int64())})
    names = [f"c{at}" for at in range(len(columns))]
    groups = pa.table(list(columns), names).group_by(names, use_threads=False).aggregate([([], "count_all")])
    return groups.rename_columns([*names, "n"] if groups.column_names[-1] == "count_all" else ["n", *names])


@dataclass(frozen=True)
class Lowest:
    """Hand out the rows whose secret word is below a bound, with number and word."""

    key: bytes = field(repr=False)
    bound: int

    def __call__(self, batch: pa.RecordBatch, rows: Rows) -> Sequence[pa.Array]:
        """Return the columns, numbers and words of the rows taken."""
        words = words_of(self.key, rows)
        # a sample of the rows by word, not by position: the same rows whichever executor reads which split
        taken = words < np.uint64(self.bound)
        columns = [to_carrier(column) for column in batch.filter(pa.array(taken)).columns]
        # Spark has no unsigned integers: with the first bit flipped, signed order is the order of the words
        return [*columns, pa.array(rows[taken]), pa.array((words[taken] ^ np.uint64(1 << 63)).view(np.int64))]


def words_of(key: bytes, rows: Rows) -> NDArray[np.uint64]:
    """Return the secret words of rows with consecutive numbers, shape (len(rows),)."""
    return row_words(key, int(rows[0]) if rows.size else 0, rows.size)


@dataclass(frozen=True, kw_only=True, eq=False)
class MappedRows:
    """Pieces of a table with functions to apply."""

    splits: TableSplits
    steps: Sequence[MapStep] = ()
    columns: Sequence[str] | None = None
    """Columns that are read, when no function is applied; all when None."""

    def read(self, split: int) -> Iterator[tuple[pa.RecordBatch, Rows]]:
        """Yield the batches of a piece and the numbers of their rows."""
        for batch, row in self.splits.read(split, None if self.steps else self.columns):
            yield self._stepped(batch, np.arange(row, row + batch.num_rows))

    def _stepped(self, batch: pa.RecordBatch, rows: Rows) -> tuple[pa.RecordBatch, Rows]:
        """Apply the functions; rows left of a function that drops some are numbered from the first one on."""
        first = int(rows[0]) if rows.size else 0
        for step in self.steps:
            batch = step(batch, first)
        return (batch, rows) if batch.num_rows == rows.size else (batch, np.arange(first, first + batch.num_rows))


def split_numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Yield the numbers of the pieces that a task is given."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


@dataclass(frozen=True, kw_only=True, eq=False)
class RowMap:
    """Maps all batches: carriers go out."""

    rows: MappedRows
    finish: Finish
    out: pa.Schema
    """Names and types of what goes out."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Map the pieces; see `in_our_words`."""
        return in_our_words(self._mapped(batches))

    def _mapped(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for split in split_numbers(batches):
            for batch, rows in self.rows.read(split):
                yield pa.RecordBatch.from_arrays(list(self.finish(batch, rows)), schema=self.out)


@dataclass(frozen=True, kw_only=True, eq=False)
class RowSum:
    """Adds up the counts of all batches of a task: (place, count) of what is not zero goes out."""

    rows: MappedRows
    function: BatchCount
    columns: Sequence[str]
    size: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Count the pieces; see `in_our_words`."""
        return in_our_words(self._counted(batches))

    def _counted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total = np.zeros(self.size, dtype=np.int64)
        for split in split_numbers(batches):
            for batch, rows in self.rows.read(split):
                first = int(rows[0]) if rows.size else 0
                np.add(total, self.function(batch.select(list(self.columns)), first), out=total)
        filled = np.flatnonzero(total)
        yield pa.RecordBatch.from_arrays([pa.array(filled), pa.array(total[filled])], schema=COUNTED)


COUNTED = pa.schema([("at", pa.int64()), ("n", pa.int64())])
"""Schema of the result of a `RowSum`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Dictionaries:
    """Hands out the dictionaries of some columns: (place of the column, number by first sight, Arrow message)."""

    splits: TableSplits
    columns: Sequence[str]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Look through the pieces; see `in_our_words`."""
        return in_our_words(self._seen(batches))

    def _seen(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for split in split_numbers(batches):
            last: dict[int, pa.Array] = {}
            for number, (batch, _) in enumerate(self.splits.read(split, self.columns)):
                for at, column in enumerate(batch.columns):
                    if at in last and column.dictionary.equals(last[at]):
                        continue
                    last[at] = column.dictionary
                    texts = pa.record_batch([column.dictionary], ["texts"]).serialize().to_pybytes()
                    yield pa.RecordBatch.from_pylist(
                        [{"column": at, "seen": (split << 32) + number, "texts": texts}], schema=DICTIONARIES
                    )


DICTIONARIES = pa.schema([("column", pa.int32()), ("seen", pa.int64()), ("texts", pa.binary())])
"""Schema of the result of `Dictionaries`."""


def texts_of(message: bytes) -> pa.Array:
    """Return the categories of a dictionary that `Dictionaries` handed out."""
    schema = pa.schema([("texts", pa.string())])
    return pa.ipc.read_record_batch(pa.ipc.read_message(message), schema).column(0)


def out_schema(schema: pa.Schema, *more: tuple[str, pa.DataType]) -> pa.Schema:
    """Return the carriers of some columns, named by index, and the further columns."""
    carriers = [(f"c{at}", kind) for at, kind in enumerate(carrier_schema(schema).types)]
    return pa.schema([*carriers, *more])


def in_our_words(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the output of a task.

    Raises
    ------
    TaskFailure
        Whatever went wrong, without a cell in it: the text of an error in an executor goes to logs.
    """
    try:
        yield from batches
    except AnonkitError as error:
        failure = error
    except Exception:
        failure = EngineError("a batch function failed in an executor")
    else:
        return
    raise TaskFailure(failure)


class TaskFailure(Exception):  # noqa: N818 - what it is
    """An error of ours on its way from an executor to the driver, as a text that survives any wrapping."""

    def __init__(self, error: AnonkitError) -> None:
        content = json.dumps([type(error).__name__, *error.told])
        super().__init__(f"anonkit-failure:{base64.b64encode(content.encode()).decode()}")


def failure_in(text: str) -> AnonkitError | None:
    """Return the error of ours that a text from Spark carries."""
    match = _MARK.search(text)
    if match is None:
        return None
    name, message, hint = json.loads(base64.b64decode(match[1]))
    kind: Any = getattr(errors, name, EngineError)
    error: AnonkitError = kind(message, hint)
    return error


MADE = pa.schema([("at", pa.int64()), ("made", pa.binary())])
"""Schema of the result of a task: the index of an item, and the value made of it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PartTask:
    """Applies a function to items by their numbers."""

    function: Callable[[Any], Any]
    items: Sequence[Any]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do the work; see `in_our_words`."""
        return in_our_words(self._made(batches))

    def _made(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for at, item in _seen(self.items, batches):
            made = pickle.dumps(self.function(item), protocol=pickle.HIGHEST_PROTOCOL)
            yield pa.RecordBatch.from_arrays([pa.array([at], pa.int64()), pa.array([made], pa.binary())], schema=MADE)


MESSAGES = pa.schema([("group", pa.int64()), ("message", pa.binary())])
"""Schema of messages from task to task: the number of a group, and the message to it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DealTask:
    """Makes messages of items by their numbers."""

    deal: Callable[[Any], Iterable[Message]]
    items: Sequence[Any]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do the work; see `in_our_words`."""
        return in_our_words(_as_batches(self._dealt(batches)))

    def _dealt(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
        for _, item in _seen(self.items, batches):
            yield from self.deal(item)


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupTask:
    """Works on groups whose messages come together."""

    step: GroupStep

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do the work; see `in_our_words`."""
        return in_our_words(_as_batches(self._worked(batches)))

    def _worked(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
        messages = (pair for batch in batches for pair in zip(*batch.columns, strict=True))
        for group, messages_of in groupby(messages, lambda pair: pair[0].as_py()):
            yield from self.step(group, [message.as_py() for _, message in messages_of])


def _as_batches(messages: Iterable[Message]) -> Iterator[pa.RecordBatch]:
    for group, message in messages:
        yield pa.RecordBatch.from_arrays(
            [pa.array([group], pa.int64()), pa.array([message], pa.binary())], schema=MESSAGES
        )


def _seen(items: Sequence[Any], batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
    """Yield the items of a task with their numbers, once their files are there."""
    for at in split_numbers(batches):
        item = items[at]
        refuse_unseen(one for one in (item if isinstance(item, list | tuple) else [item]) if isinstance(one, Path))
        yield at, item


def refuse_unseen(files: Iterable[Path]) -> None:
    """Refuse work on files that are not where they were named.

    Raises
    ------
    EngineError
        One is not there.
    """
    if not all(file.exists() for file in files):
        raise EngineError(
            "an executor does not see the files of the release",
            "put them into a folder that all nodes see under one name, or let this machine read them",
        )
