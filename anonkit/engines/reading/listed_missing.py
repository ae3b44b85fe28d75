# SPDX-License-Identifier: Apache-2.0
"""Strings that a policy lists as missing, in tables with types of their own: Parquet, JSON Lines, frames, Spark.

CSV and TSV are read so by their own reader. Elsewhere a cell is missing when its text, as a text file would have it,
is listed: the number -9 by "-9", a day by "9999-12-31". The default, the empty text, is for CSV and TSV alone: they
have no other form of a missing cell, and in the other formats an empty string is a value. Each cell is judged by
itself.

A text column with listed strings, and nothing else that is no number, is one of numbers then, by the rule and
the types of text files. Under differential privacy no column changes its type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.domain_codes import NO_CATEGORY, category_codes
from anonkit.engines.reading.canonical import canonical_array
from anonkit.engines.reading.number_columns import text_columns
from anonkit.engines.reading.text_cells import Parse, TextCells
from anonkit.errors import EngineError
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy
from anonkit.protocols import BatchCount

AddUp = Callable[[BatchCount, Sequence[str], int], NDArray[np.int64]]
"""Adds up a count over some columns of a table: function, columns, number of counts."""


def listed_texts(policy: Policy) -> tuple[str, ...]:
    """Return the strings that mean missing in every format: those of the policy, none by default."""
    return () if policy.missing_values == Policy.missing_values else policy.missing_values


def listed_missing(schema: pa.Schema, policy: Policy, add_up: AddUp) -> HideListed | None:
    """Return the function that makes listed strings missing in the batches of a table; None where none is listed.

    Parameters
    ----------
    schema : pyarrow.Schema
        Names and canonical types.
    add_up : callable
        Reads the text columns nobody declared once, to find which become numbers; not called under differential
        privacy.
    """
    listed = listed_texts(policy)
    if not listed:
        return None
    bounded = frozenset(name for name in schema.names if policy.column(name).bounds is not None)
    names = [] if policy.cell_by_cell else text_columns(schema, policy)
    kinds: dict[str, pa.DataType] = {}
    if names:
        count = _CountFits(columns={name: policy.column(name) for name in names}, listed=listed)
        counts = add_up(count, names, count.size)
        kinds = count.kinds(counts)
    return HideListed(
        listed=listed,
        bounded=bounded,
        columns={name: policy.column(name) for name in kinds},
        schema=pa.schema([field.with_type(kinds.get(field.name, field.type)) for field in schema]),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class HideListed:
    """Makes listed strings missing, and types the columns that are numbers then: a function of the batch alone."""

    listed: tuple[str, ...]
    bounded: frozenset[str]
    """Columns with declared bounds, in which an infinite number is beyond a bound and no string."""
    columns: dict[str, Column]
    """The columns whose type changes, as they are declared."""
    schema: pa.Schema

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows with listed cells missing."""
        arrays = [self._column(field, batch.column(field.name)) for field in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _column(self, field: pa.Field, array: pa.Array) -> pa.Array:
        hidden = without_listed(array, self.listed, finite=field.name in self.bounded)
        if field.name not in self.columns:
            return hidden
        parse = dict(_parsers(self.columns[field.name]))[field.type]
        typed = parse(hidden)
        if typed is None:
            raise EngineError(f"column {field.name!r} has changed while the table was read")
        return typed


def without_listed(array: pa.Array, listed: Sequence[str], *, finite: bool = False) -> pa.Array:
    """Return a column of any canonical type with the cells missing whose string is listed.

    Parameters
    ----------
    finite : bool
        True when an infinite number has no string.
    """
    if isinstance(array, pa.DictionaryArray):
        texts = without_listed(array.dictionary, listed)
        if texts.null_count == array.dictionary.null_count:
            return array
        return canonical_array("", pa.DictionaryArray.from_arrays(array.indices, texts), array.type)
    if pa.types.is_string(array.type):
        observed = pc.is_in(array, value_set=pa.array(listed, pa.string()))
    else:
        observed = pa.array(category_codes(array, listed, texts_alone=True) != NO_CATEGORY)
        if finite and pa.types.is_floating(array.type):
            observed = pc.and_(observed, pc.fill_null(pc.is_finite(array), False))
    return pc.if_else(observed, pa.scalar(None, array.type), array)


def _parsers(column: Column) -> Sequence[tuple[pa.DataType, Parse]]:
    """Return the types a text column may have, narrowest first; made where it is used, since it cannot be pickled."""
    return TextCells.of(column, cell_by_cell=False).parsers


@dataclass(frozen=True, kw_only=True)
class _CountFits:
    """Counts the listed cells of text columns, and the batches that do not fit each type a column may have."""

    columns: dict[str, Column]
    listed: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of counts."""
        return sum(1 + len(_parsers(column)) for column in self.columns.values())

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        """Return the counts of each column, shape (size,)."""
        counts: list[int] = []
        for name, column in self.columns.items():
            texts = batch.column(name)
            hidden = without_listed(texts, self.listed)
            counts.append(hidden.null_count - texts.null_count)
            filled = hidden.drop_null()
            counts += [int(len(filled) > 0 and parse(filled) is None) for _, parse in _parsers(column)]
        return np.array(counts, np.int64)

    def kinds(self, counts: NDArray[np.int64]) -> dict[str, pa.DataType]:
        """Return, of the summed counts, the columns that held listed cells and that another type fits."""
        out, at = {}, 0
        for name, column in self.columns.items():
            parsers = _parsers(column)
            n_listed, misfits = counts[at], counts[at + 1 : at + 1 + len(parsers)]
            at += 1 + len(parsers)
            fitting = [kind for (kind, _), n in zip(parsers, misfits, strict=True) if not n]
            if n_listed and fitting and not pa.types.is_string(fitting[0]):
                out[name] = fitting[0]
        return out
