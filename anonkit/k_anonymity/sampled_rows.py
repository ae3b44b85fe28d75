# SPDX-License-Identifier: Apache-2.0
"""Batch functions of a release of drawn rows: codes of public domains, the draw of rows, and what they show.

Each is a function of a batch and the number of its first row alone, so that every engine, and every repeated task of a
cluster, draws the same rows; which row is drawn a keyed word of its number says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.array_types import BoolArray, IntArray
from anonkit.domains.attribute_domains import UNKNOWN, Categories
from anonkit.domains.cell_keys import cell_keys
from anonkit.domains.domain_codes import labels_of_cells
from anonkit.domains.rows_of_people import KeptRows, drawn_rows
from anonkit.k_anonymity.public_levels import PublicLevels, Scheme
from anonkit.k_anonymity.recoded_rows import is_among
from anonkit.policy.public_domains import CategoricalAttribute
from anonkit.protocols import Engine, OwnTable
from anonkit.randomness import keyed_words

_WORD_BITS = 32


@dataclass(frozen=True, kw_only=True, eq=False)
class CodePublic:
    """Batch function that turns rows into parts of the public levels; rows without a declared class are left out."""

    levels: Sequence[PublicLevels]
    target: CategoricalAttribute | None

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the codes: the columns by their places, the class last."""
        names = [str(at) for at in range(len(self.levels))]
        return pa.schema([(name, pa.int32()) for name in [*names, "class"]])

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the codes."""
        classes, used = classes_of(batch, self.target)
        codes = [own.codes(batch)[used] for own in self.levels]
        return pa.RecordBatch.from_arrays(
            [pa.array(part.astype(np.int32)) for part in [*codes, classes[used]]], schema=self.schema
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawRows:
    """Batch function that draws rows, each by a word of its own, and shows them at the levels of a scheme."""

    levels: Sequence[PublicLevels]
    scheme: Scheme
    target: CategoricalAttribute | None
    key: bytes
    """Secret key of the draw, 32 bytes."""
    sampled: int
    """A row is drawn where its 32-bit word is below this."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of what is shown: labels, and the target last."""
        shown = [own.name for own, level in zip(self.levels, self.scheme, strict=True) if level < own.n_levels]
        return pa.schema(
            [(name, pa.string()) for name in [*shown, *([] if self.target is None else [self.target.name])]]
        )

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows that are drawn."""
        words = keyed_words(self.key, 0, row, batch.num_rows, word_bits=_WORD_BITS).reshape(-1)
        classes, used = classes_of(batch, self.target)
        used = used & (words.astype(np.uint64) < self.sampled)
        shown = shown_columns(batch, self.levels, self.scheme)
        if self.target is not None:
            labels = pa.array(self.target.domain.labels(), pa.string())
            shown[self.target.name] = labels.take(pa.array(np.maximum(classes, 0)))
        arrays = [shown[name] for name in self.schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema).filter(pa.array(used))


@dataclass(frozen=True, eq=False)
class LeaveOut:
    """Batch function that leaves out the rows of some classes, given with all their columns."""

    classes: pa.Table

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows of the others."""
        columns = {name: batch.column(name) for name in batch.schema.names}
        return batch.filter(pa.array(~is_among(columns, self.classes, batch.num_rows)))


@dataclass(frozen=True, kw_only=True, eq=False)
class ShownAsReleased:
    """The released view of rows of the source under the scheme of a release: for the owner's measures."""

    levels: Sequence[PublicLevels]
    scheme: Scheme

    def apply(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
        """Return the released columns; no row is left out for what its cells hold."""
        return shown_columns(batch, self.levels, self.scheme), np.zeros(batch.num_rows, dtype=bool)


@dataclass(frozen=True)
class _Units:
    """Batch function that returns the key of each row's unit: it depends on the batch alone."""

    unit: str

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([cell_keys(batch.column(self.unit))], names=[self.unit])


def one_row_of_each(engine: Engine, source: OwnTable, unit: str, key: bytes) -> KeptRows:
    """Return the batch function that keeps one row of each unit, drawn by secret words; rows of nobody are left out.

    Parameters
    ----------
    key : bytes
        Secret key of the draw, 32 bytes.

    Privacy
    -------
    Which row of a unit stays depends on the words of its own rows alone, so that a unit that goes moves no other.
    """
    column = engine.encode(engine.map_batches(source, _Units(unit), pa.schema([(unit, pa.string())])), [unit])[0]
    words = keyed_words(key, 0, 0, column.codes.size, word_bits=64).reshape(-1)
    keep = drawn_rows(column.codes, 1, words.astype(np.uint64, copy=False))
    return KeptRows.of(keep if column.missing is None else keep & (column.codes != column.missing))


def shown_columns(batch: pa.RecordBatch, levels: Sequence[PublicLevels], scheme: Scheme) -> dict[str, pa.Array]:
    """Return what each column that is shown shows at its level."""
    return {
        own.name: pa.array(own.labels[level], pa.string()).take(pa.array(own.codes(batch)))
        for own, level in zip(levels, scheme, strict=True)
        if level < own.n_levels
    }


def classes_of(batch: pa.RecordBatch, target: CategoricalAttribute | None) -> tuple[IntArray, BoolArray]:
    """Return the class of each row, and which rows are used: those with a declared class; all without a target."""
    if target is None:
        return np.zeros(batch.num_rows, dtype=np.int64), np.ones(batch.num_rows, dtype=bool)
    domain: Categories = target.domain
    classes = labels_of_cells(batch, target.name, domain).astype(np.int64, copy=False)
    return classes, classes != UNKNOWN
