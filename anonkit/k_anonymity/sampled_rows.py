# SPDX-License-Identifier: Apache-2.0
"""Batch functions of a release of drawn rows: codes of public domains, the draw of rows, and what they show.

Each is a function of a batch and the number of its first row alone, so that every engine, and every repeated task of a
cluster, draws the same rows; which row is drawn a keyed word of its number says.

The score of a scheme for a table: an integer of known sensitivity to one row.

A private choice depends on scores alone, so their sensitivity matters. A class of n rows counts as max(0, n - s)
rows, s being about as many as are needed for it to be shown: that changes by one at most when a row comes. With a
target,

    score = sum over groups of  sum over its classes y of  n_y**2 / n,

where groups are what the scheme makes of the columns, n_y the rows of a class of the target that count in the group, n
their sum, and all rows that do not count are one more group. It is the number of rows whose class would be guessed by
drawing from the group's own shares. As a row comes, one n_y of one group grows by one. The derivative, 2 p_y - sum p**2
for shares p, is between -1 and 1: so the score moves by one at most, up or down. Without a target the score is the
number of rows that count times the detail that the scheme shows, in [0, 1], and can only grow, by one at most.

Scores are in steps of 2**-10 of a row. Each group's part is rounded down to a step; a row moves one group's part by a
row, an integer number of steps, at most, so that the rounding adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.coded_columns import BoolArray, IntArray, combine
from anonkit.domains.domain_codes import cell_keys, labels_of_cells
from anonkit.domains.number_bins import UNKNOWN, Categories
from anonkit.domains.rows_of_people import SelectRows, sampled_rows
from anonkit.k_anonymity.public_levels import PublicLevels, Scheme
from anonkit.k_anonymity.recoded_rows import is_among
from anonkit.policy.public_domains import CategoricalAttribute
from anonkit.protocols import Engine, OwnTable
from anonkit.randomness import keyed_words

STEP_BITS = 10
"""A score is in units of 2**-10 of a row."""


def scores_of(
    schemes: Sequence[Scheme],
    levels: Sequence[PublicLevels],
    codes: IntArray,
    labels: IntArray | None,
    counts: IntArray,
    needed: int,
) -> IntArray:
    """Return the score of every scheme, shape (n_schemes,).

    Parameters
    ----------
    schemes : sequence of Scheme
        Those that show the same columns come together.
    levels : sequence of PublicLevels
        Of each column.
    codes : int64 array, shape (n_columns, n_entries)
        Parts of the distinct rows at the finest levels.
    labels : int64 array, shape (n_entries,), optional
        Class of the target of each; None without a target.
    counts : int64 array, shape (n_entries,)
        Rows that are so.
    needed : int
        Rows of a class that do not count.

    Privacy
    -------
    Computed from the exact table: for a private choice alone.
    """
    scores = []
    for shown, alike in groupby(schemes, key=lambda scheme: _shown(scheme, levels)):
        # the distinct rows of these columns alone: far fewer, and every level of them is made from these
        parts = [codes[at] for at in shown]
        cells, n_cells = combine([*parts, *([] if labels is None else [labels])], counts.size)
        rows, first = np.zeros(n_cells, dtype=np.int64), np.zeros(n_cells, dtype=np.int64)
        np.add.at(rows, cells, counts)
        first[cells] = np.arange(counts.size)
        fewer = {at: part[first] for at, part in zip(shown, parts, strict=True)}
        classes = None if labels is None else labels[first]
        for scheme in alike:
            groups = [levels[at].groups[scheme[at]][fewer[at]] for at in shown]
            detail = sum(own.detail(level) for own, level in zip(levels, scheme, strict=True)) / len(levels)
            scores.append(
                _detail_score(groups, rows, needed, detail)
                if classes is None
                else _class_score(groups, classes, rows, needed)
            )
    return np.array(scores, dtype=np.int64)


def _shown(scheme: Scheme, levels: Sequence[PublicLevels]) -> tuple[int, ...]:
    return tuple(at for at, level in enumerate(scheme) if level < levels[at].n_levels)


def _that_count(groups: Sequence[IntArray], rows: IntArray, needed: int) -> tuple[IntArray, IntArray]:
    """Return the class of each entry, and the rows that count of every class."""
    cells, n_cells = combine(groups, rows.size)
    sizes = np.zeros(n_cells, dtype=np.int64)
    np.add.at(sizes, cells, rows)
    return cells, np.maximum(sizes - needed, 0)


def _detail_score(groups: Sequence[IntArray], rows: IntArray, needed: int, detail: float) -> int:
    _, that_count = _that_count(groups, rows, needed)
    return int(that_count.sum()) * int(detail * (1 << STEP_BITS))


def _class_score(groups: Sequence[IntArray], classes: IntArray, rows: IntArray, needed: int) -> int:
    cells, that_count = _that_count([*groups, classes], rows, needed)
    group_of, n_groups = combine(groups, rows.size) if groups else (np.zeros(rows.size, dtype=np.int64), 1)
    n_classes = int(classes.max(initial=0)) + 1
    table = np.zeros((n_groups + 1, n_classes), dtype=np.int64)
    table[group_of, classes] = that_count[cells]
    total = np.zeros(n_classes, dtype=np.int64)
    np.add.at(total, classes, rows)
    table[-1] = total - table.sum(axis=0)  # all the rest is one more group
    sizes = np.maximum(table.sum(axis=1), 1)
    whole, rest = np.divmod((table * table).sum(axis=1), sizes)
    return int(((whole << STEP_BITS) + (rest << STEP_BITS) // sizes).sum())


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


def one_row_of_each(engine: Engine, source: OwnTable, unit: str, key: bytes) -> SelectRows:
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
    keep = sampled_rows(column.codes, 1, words.astype(np.uint64, copy=False))
    return SelectRows.of(keep if column.missing is None else keep & (column.codes != column.missing))


def shown_columns(batch: pa.RecordBatch, levels: Sequence[PublicLevels], scheme: Scheme) -> dict[str, pa.Array]:
    """Return each released column at its level."""
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
