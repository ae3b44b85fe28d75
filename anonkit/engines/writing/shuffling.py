# SPDX-License-Identifier: Apache-2.0
"""The secret shuffle of a table's rows, also of tables larger than memory.

A row's place is the rank of its secret word. A large table is dealt into files by the first bits of the words;
each file is then sorted in memory, which gives the order that sorting the whole table would give.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.engines.reading.failures import shielded
from anonkit.engines.reading.sources import drained, folded, gather, grouped, repeating
from anonkit.errors import EngineError
from anonkit.randomness import keyed_words

_WORD_BITS = 64
_MOST_BITS = 8  # at most 256 files
_PARTS = 4  # of the memory a table may take, a quarter is worked on at a time

Words = NDArray[np.uint64]


def row_words(key: bytes, first_row: int, n_rows: int) -> Words:
    """Return one secret word a row, a function of the key and the row number alone, shape (n_rows,)."""
    return keyed_words(key, 0, first_row, n_rows, word_bits=_WORD_BITS).reshape(-1).astype(np.uint64, copy=False)


def marked_first(words: Words, marks: pa.Array | pa.ChunkedArray) -> Words:
    """Return words by which marked rows come before all others, in an order as random as before, shape (n_rows,).

    Words of marked rows are drawn together into the first fifth of their range, all others into the rest: where a fifth
    of the rows is marked, files by the first bits of words are of one size still.

    Parameters
    ----------
    words : uint64 array, shape (n_rows,)
    marks : array of truth values, shape (n_rows,)
    """
    last = np.uint64(((1 << _WORD_BITS) - 1) // 5)
    fifth = words // np.uint64(5)
    others = last + np.uint64(1) + np.minimum(fifth, last - np.uint64(1)) * np.uint64(4)
    return np.where(np.asarray(pc.fill_null(marks, False)), fifth, others)


def _words(key: bytes, row: int, table: pa.Table, first: str | None) -> Words:
    words = row_words(key, row, table.num_rows)
    return words if first is None else marked_first(words, table.column(first))


def shuffled(
    batches: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    key: bytes,
    *,
    at_most: int,
    in_memory: int,
    folder: Callable[[], Path],
    first: str | None = None,
) -> Generator[pa.Table, None, None]:
    """Yield all rows in pieces, in the order of their secret words; no piece before the last batch was read.

    Text columns that repeat themselves come folded.

    Parameters
    ----------
    batches, schema
        The table, without dictionaries. Integers of a batch may be of a smaller type than the schema says.
    key : bytes
        Secret key of the order, 32 bytes.
    at_most : int
        A bound on the number of rows.
    in_memory : int
        Bytes of a table that are kept in memory.
    folder : callable
        Makes a private folder for the rest.
    first : str, optional
        Column of truth values: the rows it marks come before all others.
    """
    gathered, complete = gather(batches, in_memory)
    head = _joined(gathered, schema)
    places = repeating(head)
    if complete:
        yield sorted_by(folded(head, places), _words(key, 0, head, first))
        return
    del head
    part = in_memory // _PARTS
    n_bytes = sum(batch.nbytes for batch in gathered) * at_most // max(1, sum(batch.num_rows for batch in gathered))
    # so many files (up to 256) that each fits into `part`: words are uniform, so files hardly differ in size
    bits = min(max((n_bytes // part).bit_length(), 1), _MOST_BITS)
    place = folder()
    try:
        files = [place / f"{number}.arrow" for number in range(1 << bits)]
        rest = (batch.cast(schema) for batch in chain(drained(gathered), batches))
        _deal(grouped(rest, schema, part), schema, key, files, bits, first)
        for file in files:
            table = shielded(partial(_read, file), spill_failed)
            yield sorted_by(folded(table.drop_columns([_WORD]), places), table.column(_WORD).to_numpy())
            file.unlink()
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _joined(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Return batches as one table, each column of the largest type it has in any of them."""
    if not batches:
        return schema.empty_table()
    return pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches], promote_options="permissive")


_WORD = ""  # name of the column of words: no column of a table has an empty name


def _deal(
    tables: Iterable[pa.Table], schema: pa.Schema, key: bytes, files: Sequence[Path], bits: int, first: str | None
) -> None:
    """Put every row, with its word, into the file its word begins with."""
    keyed = schema.append(pa.field(_WORD, pa.uint64()))
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with ExitStack() as stack:
        sinks = [stack.enter_context(pa.ipc.new_stream(str(file), keyed, options=options)) for file in files]
        row = 0
        for table in tables:
            words = _words(key, row, table, first)
            row += table.num_rows
            order = _order(words)
            table = table.append_column(keyed.field(_WORD), pa.array(words)).take(pa.array(order))
            ends = np.searchsorted(words[order] >> np.uint64(_WORD_BITS - bits), np.arange(len(files)), side="right")
            for sink, start, end in zip(sinks, [0, *ends[:-1]], ends, strict=True):
                shielded(partial(sink.write_table, table.slice(start, end - start)), spill_failed)


def _read(file: Path) -> pa.Table:
    with pa.ipc.open_stream(str(file)) as stream:
        return stream.read_all()


def _order(words: Words) -> NDArray[np.int64]:
    """Return `argsort(words)`, by sorting the words with their places written over their last bits.

    Where two words differ in those bits only (once in 30 tables of a million rows), they are sorted in full.
    """
    bits = max(1, (words.size - 1).bit_length())
    last = np.uint64((1 << bits) - 1)
    # sorting plain integers in place is faster than an argsort
    packed = (words & ~last) | np.arange(words.size, dtype=np.uint64)
    packed.sort()
    first = packed >> np.uint64(bits)
    if np.any(first[1:] == first[:-1]):
        return np.argsort(words)
    return (packed & last).astype(np.int64)


def sorted_by(table: pa.Table, words: Words) -> pa.Table:
    """Return rows in the order of their words."""
    places = pa.array(_order(words))
    return pa.Table.from_arrays([_taken(column, places) for column in table.columns], schema=table.schema)


def _taken(column: pa.ChunkedArray, places: pa.Array) -> pa.ChunkedArray:
    """Return the cells at places, each of which is one of the column's.

    Numbers and their marks of missing are taken apart where there are such marks: together Arrow takes them cell by
    cell, which lasts four times as long.
    """
    if not column.null_count or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return pc.take(column, places, boundscheck=False)
    whole = column.combine_chunks()
    numbers = pa.Array.from_buffers(whole.type, len(whole), [None, whole.buffers()[1]], offset=whole.offset)
    present, taken = (pc.take(each, places, boundscheck=False) for each in (whole.is_valid(), numbers))
    cells = pa.Array.from_buffers(whole.type, len(taken), [present.buffers()[1], taken.buffers()[1]])
    return pa.chunked_array([cells])


def spill_failed(error: Exception) -> EngineError:
    """Return the error for private files that found no space on disk."""
    return EngineError("writing the engine's private files failed", "is there room? TMPDIR names their folder")
