# SPDX-License-Identifier: Apache-2.0
"""Generalization schemes over public levels, their scores, and the random sample of rows that they show.

What a column may show is settled before a row is read: a number in bins of its declared widths, else of round widths
over its public bounds, each twice the one below; a category as it is, or as a group of its declared hierarchy; any
column not at all. A scheme says at which level every column is shown. The same levels follow from the same policy
whatever table is released, which is what a promise of differential privacy needs.

**The score of a scheme** is an integer of known sensitivity to one row, since a private choice depends on scores
alone. A class of n rows counts as max(0, n - s) rows, s being about as many as are needed for it to be shown: that
changes by one at most when a row comes. With a target,

    score = sum over groups of  sum over its classes y of  n_y**2 / n,

where groups are what the scheme makes of the columns, n_y the rows of a class of the target that count in the group, n
their sum, and all rows that do not count are one more group. It is the number of rows whose class would be guessed by
drawing from the group's own shares. As a row comes, one n_y of one group grows by one. The derivative, 2 p_y - sum p**2
for shares p, is between -1 and 1: so the score moves by one at most, up or down. Without a target the score is the
number of rows that count times the detail that the scheme shows, in [0, 1], and can only grow, by one at most.

Scores are in steps of 2**-10 of a row. Each group's part is rounded down to a step; a row moves one group's part by a
row, an integer number of steps, at most, so that the rounding adds nothing.

**The sample.** Every batch function depends on a batch and the number of its first row alone, so that every engine, and
every repeated task of a cluster, draws the same rows; a keyed word of its number decides which row is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, groupby, product

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.cell_values import cell_keys, cell_numbers, clamped, codes_of_cells, labels_of_cells
from anonkit.domains.coded_columns import BoolArray, IntArray, combine
from anonkit.domains.number_bins import UNKNOWN, Categories
from anonkit.domains.rows_of_people import SelectRows, sampled_rows
from anonkit.k_anonymity.recoded_rows import is_among
from anonkit.policy.public_domains import CategoricalAttribute, NumericAttribute, PublicAttribute
from anonkit.protocols import Engine, OwnTable
from anonkit.published.recoding import CategoryAxis, Grouping, IntervalAxis, UnchangedAxis, unique_labels
from anonkit.randomness import keyed_words

Scheme = tuple[int, ...]
"""Level of each column, 0 the finest; its number of levels where it is not shown."""

FINEST_BINS = 16
"""Bins of a number without declared widths, at most, at its finest level."""
_ROUND = (Fraction(1), Fraction(2), Fraction(5, 2), Fraction(5), Fraction(10))
_WHOLE = (Fraction(1), Fraction(2), Fraction(5), Fraction(10))
_MOST_CUTS = 1024


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicLevels:
    """The levels of detail of one column, by parts of its public domain."""

    attribute: PublicAttribute
    axis: IntervalAxis | CategoryAxis
    """Its parts at the finest level, missing last where it can occur."""
    groups: tuple[IntArray, ...]
    """Group of each part at every level, finest first, each of shape (axis.size,) and numbered from 0."""
    labels: tuple[tuple[str | None, ...], ...]
    """Label of each part at every level; None is missing."""

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.attribute.name

    @property
    def n_levels(self) -> int:
        """Levels at which it is shown; a scheme drops it with this number."""
        return len(self.groups)

    @classmethod
    def of(cls, attribute: PublicAttribute, widths: Sequence[float] | None = None) -> PublicLevels:
        """Return the levels of a column.

        Parameters
        ----------
        attribute : PublicAttribute
        widths : sequence of float, optional
            Declared widths of the bins of a number, ascending, each a multiple of the one before.

        Raises
        ------
        PolicyError
            A declared hierarchy lacks a category.
        """
        if isinstance(attribute, NumericAttribute):
            return cls._of_number(attribute, widths)
        return cls._of_categories(attribute)

    @classmethod
    def _of_number(cls, attribute: NumericAttribute, widths: Sequence[float] | None) -> PublicLevels:
        cuts = [cut for cut in _cuts(attribute, widths) if cut]
        cuts = cuts or [()]  # declared widths beyond the bounds: it shows that a number is there
        finest = cuts[0]
        axis = IntervalAxis(name=attribute.name, cuts=finest, has_missing=attribute.has_missing)
        groups, labels = [], []
        for own in cuts:
            wider = IntervalAxis(name=attribute.name, cuts=own, has_missing=attribute.has_missing)
            inside = [0, *(1 + np.searchsorted(own, finest, side="right") - 1).tolist()]
            parts = [*inside, *([len(own) + 1] if attribute.has_missing else [])]
            groups.append(np.array(parts, dtype=np.int64))
            labels.append(tuple(wider.label([part]) for part in parts))
        return cls(attribute=attribute, axis=axis, groups=tuple(groups), labels=tuple(labels))

    @classmethod
    def _of_categories(cls, attribute: CategoricalAttribute) -> PublicLevels:
        domain, paths = attribute.domain, attribute.paths
        missing: list[str | None] = [None] if domain.has_missing else []
        axis = CategoryAxis(name=attribute.name, values=domain.values, has_other=False, has_missing=domain.has_missing)
        names: list[list[str | None]] = [[*domain.values, *missing]]
        names += [[*(path[level] for path in paths), *missing] for level in range(1, len(paths[0]) if paths else 0)]
        groups: list[IntArray] = []
        labels: list[tuple[str | None, ...]] = []
        for level in names:
            number = {label: at for at, label in enumerate(dict.fromkeys(level))}
            own = [number[label] for label in level]
            if not groups or len(number) < int(groups[-1].max()) + 1:  # a level that joins nothing is none
                groups.append(np.array(own, dtype=np.int64))
                labels.append(unique_labels(level, own))
        return cls(attribute=attribute, axis=axis, groups=tuple(groups), labels=tuple(labels))

    def codes(self, batch: pa.RecordBatch) -> IntArray:
        """Return the part of each cell, shape (n,): a function of the cell and the public domain.

        Numbers beyond a bound are at the bound; what the domain does not have is missing, or where that cannot be,
        the first category, or the lower bound.
        """
        if isinstance(self.attribute, CategoricalAttribute):
            return codes_of_cells(batch, self.name, self.attribute.domain).astype(np.int64, copy=False)
        low, high = self.attribute.bounds
        numbers = clamped(cell_numbers(batch.column(self.name)), low, high)
        absent = np.isnan(numbers)
        cuts: IntArray = np.array(self.axis.cuts if isinstance(self.axis, IntervalAxis) else (), dtype=np.float64)
        parts = np.searchsorted(cuts, np.where(absent, low, numbers), side="right").astype(np.int64)
        return np.where(absent, self.axis.size - 1, parts) if self.attribute.has_missing else parts

    def recoding(self, level: int) -> UnchangedAxis | Grouping:
        """Return the published axis of the column at a level at which it is shown."""
        if isinstance(self.axis, CategoryAxis):
            return UnchangedAxis(name=self.name) if level == 0 else Grouping(axis=self.axis, labels=self.labels[level])
        inner_cuts = np.flatnonzero(np.diff(self.groups[level][: len(self.axis.cuts) + 1]))
        cuts = tuple(self.axis.cuts[at] for at in inner_cuts.tolist())
        axis = IntervalAxis(name=self.name, cuts=cuts, has_missing=self.axis.has_missing)
        return Grouping(axis=axis, labels=tuple(axis.label([part]) for part in range(axis.size)))

    def detail(self, level: int) -> float:
        """Return the detail of the column at a level, in [0, 1]: ln of its groups over ln of its parts."""
        if level >= self.n_levels or self.axis.size < 2:
            return 0.0
        return math.log(int(self.groups[level].max()) + 1) / math.log(self.axis.size)


def _cuts(attribute: NumericAttribute, widths: Sequence[float] | None) -> Iterator[tuple[int | float, ...]]:
    """Yield the cuts of every level of a number, finest first: multiples of a width between the bounds.

    Of a column of multiples of a step, such as integers, a width is so many steps: else a range between two of its
    numbers would be called one, and ranges of one width would hold different numbers of them.
    """
    low, high = (Fraction(bound) for bound in attribute.bounds)
    if widths is not None:
        yield from (_multiples(low, high, Fraction(str(width))) for width in widths)
        return
    values = attribute.values
    if values is None:
        width = _round_width((high - low) / FINEST_BINS)
    else:
        step = values.step
        low, high = values.low * step, values.high * step
        width = step * _round_width(max((high - low) / FINEST_BINS / step, Fraction(1)), _WHOLE)
    while width < high - low:
        yield _multiples(low, high, width)
        width *= 2


def _multiples(low: Fraction, high: Fraction, width: Fraction) -> tuple[int | float, ...]:
    """Return the multiples of a width that lie between two bounds; of very many none, for then nothing is shown."""
    first, last = math.floor(low / width) + 1, math.ceil(high / width) - 1
    if last - first >= _MOST_CUTS:
        return ()
    points = (at * width for at in range(first, last + 1))
    return tuple(dict.fromkeys(int(point) if point.denominator == 1 else float(point) for point in points))


def _round_width(least: Fraction, digits: Sequence[Fraction] = _ROUND) -> Fraction:
    """Return the smallest round number that is not below a positive one: one of some digits times a power of ten."""
    power = Fraction(10) ** math.floor(math.log10(least))
    power = power if power <= least else power / 10
    return next(power * digit for digit in digits if power * digit >= least)


# --- schemes -----------------------------------------------------------------------------------------------------


def schemes_of(levels: Sequence[PublicLevels], most: int, *, may_show_nothing: bool) -> list[Scheme]:
    """Return the schemes among which one is chosen: a public list.

    All that show so many columns at most, as many as make the list no longer than `most`; those that show one column in
    any case.

    Parameters
    ----------
    levels : sequence of PublicLevels
        At least one.
    most : int
        Schemes, 1 or more.
    may_show_nothing : bool
        Whether a scheme may drop all columns, since a target is left.
    """
    found = [tuple(own.n_levels for own in levels)] if may_show_nothing else []
    for shown in range(1, len(levels) + 1):
        more = sum(math.prod(levels[at].n_levels for at in names) for names in combinations(range(len(levels)), shown))
        if shown > 1 and len(found) + more > most:
            break
        for names in combinations(range(len(levels)), shown):
            for chosen in product(*(range(levels[at].n_levels) for at in names)):
                level_of = dict(zip(names, chosen, strict=True))
                found.append(tuple(level_of.get(at, own.n_levels) for at, own in enumerate(levels)))
    return found


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
