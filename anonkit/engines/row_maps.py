# SPDX-License-Identifier: Apache-2.0
"""What an executor does with its batches: rows keep the number they have in the table, whoever works on them.

A batch of an executor may hold rows of several files. It is divided where the row numbers jump, and each part goes
through the same batch functions as on one machine, with the number of its first row. Noise that is a function of
the row number is therefore the same in a task that runs once, twice or on another executor.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit import errors
from anonkit.engines.batches import BATCH_ROWS
from anonkit.engines.canonical import canonical_array
from anonkit.engines.carriers import carrier_schema, from_carrier, to_carrier
from anonkit.engines.shuffling import row_words
from anonkit.errors import AnonkitError, EngineError
from anonkit.protocols import BatchCount, BatchMap

_MARK = re.compile(r"anonkit-failure:([A-Za-z0-9+/=]+)")

Rows = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """One batch function with what it returns."""

    function: BatchMap
    schema: pa.Schema
    categories: Mapping[str, pa.Array]
    """Categories of its dictionary columns, as it announced them on an empty batch."""

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
            found = out.column(name).dictionary
            if not found.equals(categories) and not set(found.to_pylist()) <= set(categories.to_pylist()):
                raise EngineError("a batch function returned other categories than for an empty batch")
        return out


def step(function: BatchMap, given: pa.Schema, schema: pa.Schema) -> Step:
    """Ask a batch function for its categories, on an empty batch."""
    empty = pa.RecordBatch.from_arrays([pa.array([], field.type) for field in given], schema=given)
    out = function(empty, 0)
    if not out.schema.equals(schema):
        raise EngineError("a batch function returned other columns or types than it declared")
    names = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    return Step(function=function, schema=schema, categories={name: out.column(name).dictionary for name in names})


class Finish(Protocol):
    """What becomes of mapped rows; all arrays have the same length."""

    def __call__(self, batch: pa.RecordBatch, rows: Rows) -> Sequence[pa.Array]:
        """Return what goes out of some rows and their numbers."""
        ...


@dataclass(frozen=True)
class Picked:
    """Hand out some columns as carriers."""

    columns: Sequence[str]

    def __call__(self, batch: pa.RecordBatch, rows: Rows) -> Sequence[pa.Array]:
        """Return the columns."""
        return [to_carrier(batch.column(name)) for name in self.columns]


@dataclass(frozen=True)
class Placed:
    """Hand out all columns with the place of the row: secret when there is a key, else its number."""

    key: bytes | None = field(repr=False)
    part_bits: int
    """Places are dealt into 2**part_bits parts, each of which holds a range of them."""
    row_bits: int
    """Row numbers are below 2**row_bits."""

    def __call__(self, batch: pa.RecordBatch, rows: Rows) -> Sequence[pa.Array]:
        """Return the columns, the place of each row, ascending in its order, and its part."""
        if self.key is None:
            part = rows >> max(self.row_bits - self.part_bits, 0)
            place = rows
        else:
            words = words_of(self.key, rows)
            part = (words >> np.uint64(1) >> np.uint64(63 - self.part_bits)).astype(np.int64)
            place = (words ^ np.uint64(1 << 63)).view(np.int64)  # signed, in the same order
        columns = [to_carrier(column) for column in batch.columns]
        return [*columns, pa.array(place), pa.array(part.astype(np.int32))]


@dataclass(frozen=True)
class Lowest:
    """Hand out the rows whose secret word is below a bound, with number and word."""

    key: bytes = field(repr=False)
    bound: int

    def __call__(self, batch: pa.RecordBatch, rows: Rows) -> Sequence[pa.Array]:
        """Return the columns, numbers and words of the rows taken."""
        words = words_of(self.key, rows)
        taken = words < np.uint64(self.bound)
        columns = [to_carrier(column) for column in batch.filter(pa.array(taken)).columns]
        return [*columns, pa.array(rows[taken]), pa.array((words[taken] ^ np.uint64(1 << 63)).view(np.int64))]


def words_of(key: bytes, rows: Rows) -> NDArray[np.uint64]:
    """Return the secret words of rows by number, shape (len(rows),)."""
    out = np.empty(rows.size, dtype=np.uint64)
    for part in runs(rows):
        out[part] = row_words(key, int(rows[part.start]), part.stop - part.start)
    return out


def runs(rows: Rows) -> Iterator[slice]:
    """Yield the slices of consecutive row numbers, at most `BATCH_ROWS` long."""
    borders = [0, *(np.flatnonzero(np.diff(rows) != 1) + 1).tolist(), rows.size]
    for start, stop in pairwise(borders):
        for begin in range(start, stop, BATCH_ROWS):
            yield slice(begin, min(begin + BATCH_ROWS, stop))


@dataclass(frozen=True, kw_only=True, eq=False)
class RowMap:
    """A function of an iterator of batches, for `mapInArrow`: carriers in, the row number last; carriers out."""

    schema: pa.Schema
    """Names and canonical types of the columns that come in."""
    steps: Sequence[Step]
    finish: Finish
    out: pa.Schema
    """Names and types of what goes out."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Map all batches.

        Raises
        ------
        TaskFailure
            Whatever went wrong, without a cell in it: the text of an error in an executor goes to logs.
        """
        try:
            yield from self._mapped(batches)
        except AnonkitError as error:
            failure = error
        except Exception:
            failure = EngineError("a batch function failed in an executor")
        else:
            return
        raise TaskFailure(failure)

    def _mapped(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *columns, numbers = batch.columns
            rows = numbers.to_numpy(zero_copy_only=False)
            arrays = [_canonical(array, field) for array, field in zip(columns, self.schema, strict=True)]
            whole = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
            for part in runs(rows):
                out, kept = self._stepped(whole.slice(part.start, part.stop - part.start), rows[part])
                yield pa.RecordBatch.from_arrays(list(self.finish(out, kept)), schema=self.out)

    def _stepped(self, batch: pa.RecordBatch, rows: Rows) -> tuple[pa.RecordBatch, Rows]:
        """Apply the functions; rows left of a function that drops some are numbered from the first one on."""
        for each in self.steps:
            batch = each(batch, int(rows[0]) if rows.size else 0)
            if batch.num_rows != rows.size:
                first = int(rows[0]) if rows.size else 0
                rows = np.arange(first, first + batch.num_rows)
        return batch, rows


@dataclass(frozen=True, kw_only=True, eq=False)
class RowSum:
    """Adds up the counts of all batches of a task, for `mapInArrow`: (place, count) of what is not zero goes out."""

    schema: pa.Schema
    steps: Sequence[Step]
    function: BatchCount
    columns: Sequence[str]
    size: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Count all batches; see `RowMap.__call__`."""
        total = np.zeros(self.size, dtype=np.int64)
        nothing = [pa.array([], pa.int64())] * 2

        def add(batch: pa.RecordBatch, rows: Rows) -> Sequence[pa.Array]:
            np.add(total, self.function(batch.select(list(self.columns)), int(rows[0]) if rows.size else 0), out=total)
            return nothing

        for _ in RowMap(schema=self.schema, steps=self.steps, finish=add, out=COUNTED)(batches):
            pass
        filled = np.flatnonzero(total)
        yield pa.RecordBatch.from_arrays([pa.array(filled), pa.array(total[filled])], schema=COUNTED)


COUNTED = pa.schema([("at", pa.int64()), ("n", pa.int64())])
"""What a `RowSum` hands out."""


def _canonical(array: pa.Array, field: pa.Field) -> pa.Array:
    if pa.types.is_string(field.type):
        return canonical_array(field.name, array, field.type)  # Spark does not look whether texts are UTF-8
    return from_carrier(array, field.type)


def out_schema(schema: pa.Schema, *more: tuple[str, pa.DataType]) -> pa.Schema:
    """Return the carriers of some columns, named by place, and what stands beside them."""
    carriers = [(f"c{at}", kind) for at, kind in enumerate(carrier_schema(schema).types)]
    return pa.schema([*carriers, *more])


class TaskFailure(Exception):  # noqa: N818 - what it is
    """An error of ours on its way from an executor to the driver, as a text that survives any wrapping."""

    def __init__(self, error: AnonkitError) -> None:
        content = json.dumps([type(error).__name__, error.message, error.hint])
        super().__init__(f"anonkit-failure:{base64.b64encode(content.encode()).decode()}")


def failure_in(text: str) -> AnonkitError | None:
    """Return the error of ours that a text from Spark carries."""
    found = _MARK.search(text)
    if found is None:
        return None
    name, message, hint = json.loads(base64.b64decode(found[1]))
    kind: Any = getattr(errors, name, EngineError)
    error: AnonkitError = kind(message, hint)
    return error
