# SPDX-License-Identifier: Apache-2.0
"""The rows of a table as batches of codes for the tree grower, coded once by the engine that holds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.cell_values import cell_keys, codes_of_cells, labels_of_cells, refuse_kinds
from anonkit.domains.number_bins import UNKNOWN, Categories, NumberBins
from anonkit.domains.rows_of_people import sampled_rows
from anonkit.dp_trees.grower import refuse_other_totals
from anonkit.dp_trees.questions import BatchCounter, CodedBatch, Counter, Question, RowSums
from anonkit.protocols import Engine, Source, is_too_large
from anonkit.published.tree_model import Attribute
from anonkit.randomness import keyed_words

CodedCount = Callable[[CodedBatch], NDArray[np.int64]]
"""A pure, picklable function of a batch of codes: counts that add up."""

CACHED_BYTES = 256 << 20
"""Codes that are kept in memory between passes."""
_ROWS_AT_ONCE = 1 << 18
_WORD_BITS = 64


class CodedSchema(Protocol):
    """The public domains in which rows are coded: attributes, and classes where there is a target."""

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Attributes."""
        ...

    @property
    def target(self) -> str | None:
        """Name of the target; None where there is none."""
        ...

    @property
    def classes(self) -> Categories | None:
        """Classes of the target; None where there is none."""
        ...

    @property
    def most_codes(self) -> int:
        """The largest number of codes of an attribute."""
        ...


@dataclass(frozen=True, kw_only=True)
class CodedRows:
    """Batches of codes of the public domains, in row order; opened anew with each call.

    Rows without one of the declared classes are not used: whether a row is, depends on that row alone.
    """

    source: Source
    schema: CodedSchema
    keep: NDArray[np.bool_] | None = None
    """Rows that are used; all when None."""

    def __call__(self) -> Iterator[CodedBatch]:
        """Yield the batches; rows that are not used are left out and not numbered."""
        read, used = 0, 0
        for batch in self.source.batches(_names(self.source, self.schema)):
            keep = None if self.keep is None else self.keep[read : read + batch.num_rows]
            codes, labels = _coded(batch, self.schema, keep)
            read += batch.num_rows
            yield from _pieces(CodedBatch(codes=codes, labels=labels, first_row=used))
            used += labels.size


def _names(source: Source, schema: CodedSchema) -> list[str]:
    """Return the columns that are coded; refuse those whose type is not what is declared."""
    numbers = [attribute.name for attribute in schema.attributes if attribute.is_number]
    target = [] if schema.target is None else [schema.target]
    refuse_kinds(source.schema, [*numbers, *(target if isinstance(schema.classes, NumberBins) else [])])
    return [*(attribute.name for attribute in schema.attributes), *target]


def _coded(
    batch: pa.RecordBatch, schema: CodedSchema, keep: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.integer], NDArray[np.int32]]:
    """Return the codes of the rows that are used, shape (n_attributes, n_rows), and their labels, 0 without target."""
    labels: NDArray[np.int32] = np.zeros(batch.num_rows, dtype=np.int32)
    if schema.target is not None and schema.classes is not None:
        labels = labels_of_cells(batch, schema.target, schema.classes).astype(np.int32)
    width = np.uint8 if schema.most_codes <= 1 << 8 else np.int32
    codes = np.empty((len(schema.attributes), batch.num_rows), dtype=width)
    for at, attribute in enumerate(schema.attributes):
        codes[at] = codes_of_cells(batch, attribute.name, attribute.domain)
    used = labels != UNKNOWN if keep is None else keep & (labels != UNKNOWN)
    return (codes, labels) if used.all() else (codes[:, used], labels[used])


def _pieces(batch: CodedBatch) -> Iterator[CodedBatch]:
    """Divide a batch so that what is worked on stays near the processor."""
    for start in range(0, batch.n_rows, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        yield CodedBatch(
            codes=np.ascontiguousarray(batch.codes[:, part]),
            labels=batch.labels[part],
            first_row=batch.first_row + start,
        )


def cached_in_memory(open_batches: CodedRows) -> Callable[[], Iterable[CodedBatch]]:
    """Return a function that yields the coded batches: from memory if they fit, else coded anew each time."""
    batches: list[CodedBatch] = []
    size = 0
    for batch in open_batches():
        size += batch.codes.nbytes + batch.labels.nbytes
        if size > CACHED_BYTES:
            return open_batches
        batches.append(batch)
    return lambda: batches


def counter_of(source: Source, engine: Engine, schema: CodedSchema, keep: NDArray[np.bool_] | None) -> Counter:
    """Return the counter of the rows: this machine, or the engine at the rows when they do not fit into memory."""
    if keep is None and is_too_large(source, engine):
        return EngineCounter.of(engine, source, schema)
    return BatchCounter(cached_in_memory(CodedRows(source=source, schema=schema, keep=keep)))


def counted(
    source: Source, engine: Engine, schema: CodedSchema, keep: NDArray[np.bool_] | None, count: CodedCount, size: int
) -> NDArray[np.int64]:
    """Return the sum of counts over all rows in one pass, here or in the engine that holds the rows; shape (size,).

    Privacy
    -------
    Exact counts of the source: to be noised before anything else.
    """
    if keep is None and is_too_large(source, engine):
        return engine.add_up(source, CountBatch(count=count, schema=schema, size=size), _names(source, schema), size)
    total = np.zeros(size, dtype=np.int64)
    for batch in CodedRows(source=source, schema=schema, keep=keep)():
        total += count(batch)
    return total


@dataclass(frozen=True, kw_only=True)
class EngineCounter:
    """Counter that answers each counting query by one job of the engine; rows never leave the engine.

    Integer sums are exact in any order of the batches, so the counts do not depend on how the engine divides the table.
    """

    engine: Engine
    coded: Source
    """The rows as codes, a byte or four each: coded once, read in each job."""

    @classmethod
    def of(cls, engine: Engine, source: Source, schema: CodedSchema) -> EngineCounter:
        """Code the rows where they are."""
        _names(source, schema)
        code = CodeRows(schema)
        return cls(engine=engine, coded=engine.keep(engine.map_batches(source, code, code.columns)))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.coded.n_rows

    def answer(self, question: Question) -> NDArray[np.int64]:
        """Return the sum over all batches. See `Counter.answer`."""
        return self.sum_up(question)

    def sum_up(self, sums: RowSums) -> NDArray[np.int64]:
        """Return the sum over all batches. See `Counter.sum_up`."""
        count = CountCodes(count=sums.count, size=sums.size)
        return self.engine.add_up(self.coded, count, self.coded.schema.names, sums.size)


@dataclass(frozen=True)
class CodeRows:
    """Batch function that turns rows into codes of the public domains: a function of the batch alone."""

    schema: CodedSchema

    @property
    def columns(self) -> pa.Schema:
        """Names and types of the codes: the attributes by place, the label last."""
        width = pa.uint8() if self.schema.most_codes <= 1 << 8 else pa.int32()
        return pa.schema([*((str(at), width) for at in range(len(self.schema.attributes))), ("label", pa.int32())])

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the codes."""
        codes, labels = _coded(batch, self.schema)
        return pa.RecordBatch.from_arrays([*map(pa.array, codes), pa.array(labels, pa.int32())], schema=self.columns)


@dataclass(frozen=True, kw_only=True)
class CountCodes:
    """Batch function that counts a batch of codes: it depends on the batch and the number of its first row alone."""

    count: CodedCount
    size: int

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        """Return the counts, shape (size,)."""
        *columns, labels = (column.to_numpy() for column in batch.columns)
        codes = np.stack(columns) if columns else np.zeros((0, batch.num_rows), dtype=np.uint8)
        total = np.zeros(self.size, dtype=np.int64)
        for part in _pieces(CodedBatch(codes=codes, labels=labels, first_row=row)):
            total += self.count(part)
        return total


@dataclass(frozen=True, kw_only=True)
class CountBatch:
    """Batch function that codes and counts a batch: it depends on the batch and the number of its first row alone."""

    count: CodedCount
    schema: CodedSchema
    size: int

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        """Return the counts, shape (size,)."""
        total = np.zeros(self.size, dtype=np.int64)
        codes, labels = _coded(batch, self.schema)
        for part in _pieces(CodedBatch(codes=codes, labels=labels, first_row=row)):
            total += self.count(part)
        return total


def first_rows_of_units(engine: Engine, source: Source, unit: str, most: int) -> NDArray[np.bool_]:
    """Return a mask of the first `most` rows of each unit, shape (n_rows,).

    Privacy
    -------
    The unit of a row follows from its own cell (`anonkit.domains.cell_values`), and whether it is used depends on rows
    of its own unit alone: leaving out a unit moves no other row. Rows without a unit are nobody's, and not used.

    Raises
    ------
    GuaranteeError
        A unit would have more rows than are charged for, counted a second way; the code is wrong then.
    """
    column = engine.encode(engine.map_batches(source, UnitKeys(unit), pa.schema([(unit, pa.string())])), [unit])[0]
    codes = column.codes
    order = np.argsort(codes, kind="stable")
    ascending = codes[order]
    starts = (
        np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]])) if codes.size else np.zeros(0, int)
    )
    rank = np.arange(codes.size) - np.repeat(starts, np.diff(np.append(starts, codes.size)))
    keep = np.zeros(codes.size, dtype=bool)
    keep[order] = rank < most
    if column.missing is not None:
        keep &= codes != column.missing
    used = np.bincount(codes[keep] - codes.min(initial=0), minlength=1)
    refuse_other_totals("rows of a unit", np.minimum(used, most), used)
    return keep


def sampled_rows_of_units(engine: Engine, source: Source, unit: str, most: int, key: bytes) -> NDArray[np.bool_]:
    """Return a mask of the rows that are used: a sample of the rows of each unit that has more, shape (n_rows,).

    Parameters
    ----------
    key : bytes
        Secret key of the draw, 32 bytes: a function of key and row number.

    Privacy
    -------
    As `first_rows_of_units`; which rows of a unit are drawn does not depend on their order in the table either. The
    draws of different units are independent, so that leaving out a unit leaves the law of all others as it was.

    Raises
    ------
    GuaranteeError
        A unit would have more rows than are charged for, counted a second way; the code is wrong then.
    """
    column = engine.encode(engine.map_batches(source, UnitKeys(unit), pa.schema([(unit, pa.string())])), [unit])[0]
    words = keyed_words(key, 0, 0, column.codes.size, word_bits=_WORD_BITS).reshape(-1)
    keep = sampled_rows(column.codes, most, words.astype(np.uint64, copy=False))
    if column.missing is not None:
        keep &= column.codes != column.missing
    used = np.bincount(column.codes[keep], minlength=1)
    refuse_other_totals("rows of a unit", np.minimum(used, most), used)
    return keep


@dataclass(frozen=True)
class UnitKeys:
    """Batch function that returns the unit key of each row: it depends on the batch alone."""

    unit: str

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the key of each row's unit."""
        return pa.RecordBatch.from_arrays([cell_keys(batch.column(self.unit))], names=[self.unit])
