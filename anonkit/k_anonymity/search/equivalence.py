# SPDX-License-Identifier: Apache-2.0
"""Equivalence classes of distinct rows, and the conditions on them: k, l, t, (alpha, k), caps by value.

Searches for a recoding work on the distinct rows of a table with their multiplicities, instead of on the table.

Every requirement is monotone where everybody has one row: when each class of a partition meets it, each class of any
coarser partition does too (Machanavajjhala et al. 2007; Li et al. 2007; Wong et al. 2006). The searches rely on it to
find more, never to promise: what they found is checked as it is, since people with rows in two classes may come to hold
one value in common where these are merged.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import (
    BoolArray,
    CodedColumn,
    FloatArray,
    IntArray,
    combine,
    count_combinations,
    densify,
    distinct_in_groups,
    ranked,
)
from anonkit.errors import ParameterError
from anonkit.k_anonymity.search.class_values import (
    CountedPeople,
    Triples,
    ValueHistograms,
    at_most,
    histograms_of_people,
    histograms_of_rows,
)
from anonkit.k_anonymity.search.hierarchy_levels import Groups

_CELLS = 4_000_000  # cells of a class-by-value table in memory at once
_TOLERANCE = 1e-9  # thresholds are met up to rounding


@dataclass(frozen=True, eq=False)
class Partition:
    """A partition of the rows into equivalence classes; identical rows may be one entry with a weight.

    An entry is a row, or a set of rows alike in all quasi-identifiers, sensitive values and units.
    """

    classes: IntArray
    """Class of each entry, shape (n_entries,), dense in [0, n_classes)."""
    n_classes: int
    weights: IntArray | None = None
    """Number of rows of each entry, shape (n_entries,); None: one each."""

    @classmethod
    def whole(cls, n_rows: int, weights: IntArray | None = None) -> Partition:
        """All rows in one class: everything dropped."""
        return cls(np.zeros(n_rows, dtype=np.int64), 1 if n_rows else 0, weights)

    @classmethod
    def of(cls, columns: Sequence[NDArray[np.integer]], n_rows: int) -> Partition:
        """Partition by the combination of several code columns."""
        return cls(*combine(columns, n_rows))

    def refine(self, codes: NDArray[np.integer]) -> Partition:
        """Split every class by one more code column: O(n_entries), whatever was kept before."""
        if self.classes.size == 0:
            return self
        width = int(codes.max()) + 1
        return Partition(*densify(self.classes * width + codes), self.weights)

    def at(self, entries: BoolArray) -> Partition:
        """Return the partition of some of the entries, its classes renumbered."""
        weights = None if self.weights is None else self.weights[entries]
        return Partition(*densify(self.classes[entries]), weights)

    def sizes(self, units: IntArray | None = None) -> IntArray:
        """Rows per class, or distinct units (people) per class when `units` is given; shape (n_classes,)."""
        return self._rows if units is None else self.distinct(units)

    @cached_property
    def _rows(self) -> IntArray:
        """Rows per class, which every requirement and count asks for again."""
        counts = np.bincount(self.classes, self.weights, minlength=self.n_classes).astype(np.int64, copy=False)
        counts.flags.writeable = False
        return counts

    def distinct(self, values: IntArray) -> IntArray:
        """Count the distinct values of an attribute in each class, shape (n_classes,)."""
        return distinct_in_groups(self.classes, self.n_classes, values)

    def n_rows(self, marked: BoolArray | None = None) -> int:
        """Return the number of rows of the marked entries (default: all)."""
        if self.weights is None:
            return self.classes.size if marked is None else int(marked.sum())
        return int(self.weights.sum() if marked is None else self.weights[marked].sum())


class Requirement(Protocol):
    """A condition on every equivalence class.

    Monotone where everybody has one row: classes that meet it also meet it when merged. Searches use this to prune,
    never to promise: whatever they return is checked as it is.
    """

    name: ClassVar[str]
    """Name in reports."""

    @property
    def attributes(self) -> tuple[IntArray, ...]:
        """Columns besides the classes that it uses: sensitive values, units; entries alike in these may be merged."""
        ...

    def at(self, entries: NDArray[np.integer] | BoolArray) -> Requirement:
        """Return the same requirement on a selection of the entries."""
        ...

    def violated(self, partition: Partition, released: BoolArray) -> BoolArray:
        """Return a mask of the classes that break it, shape (n_classes,); `released` marks the released entries."""
        ...


class PeopleRequirement(ABC):
    """A condition on people with all their rows, which implies k people in every class and knows no diversity."""

    @abstractmethod
    def gone(self, partition: Partition) -> BoolArray:
        """Mark the entries of the people who must go with all their rows, shape (n_entries,)."""


@dataclass(frozen=True, eq=False)
class AtLeastK:
    """k-anonymity (Sweeney 2002): every class has at least k rows, or k distinct people where `units` is given.

    The values of a column that may identify the person count as people do, where no unit is declared.
    """

    name: ClassVar[str] = "k-anonymity"

    k: int
    units: IntArray | None = None
    nobody: int | None = None
    """Code that is no person: entries with it are members of their class and count for nobody."""

    @property
    def attributes(self) -> tuple[IntArray, ...]:
        """The units, if people are counted."""
        return () if self.units is None else (self.units,)

    def at(self, entries: NDArray[np.integer] | BoolArray) -> AtLeastK:
        """Return the same requirement on a selection of the entries."""
        return self if self.units is None else replace(self, units=self.units[entries])

    def violated(self, partition: Partition, released: BoolArray) -> BoolArray:
        """Mark the classes below k."""
        sizes = partition.sizes(self.units)
        if self.units is not None and self.nobody is not None:
            unknown = partition.classes[self.units == self.nobody]
            sizes = sizes - (np.bincount(unknown, minlength=partition.n_classes) > 0)
        return np.asarray(sizes < self.k)


@dataclass(frozen=True, eq=False)
class HistogramRequirement(ABC):
    """A condition on the histogram of a sensitive attribute within each class, counted in rows or in people.

    Entries whose code is `missing` hold no value: they count as members of their class and towards k, but towards no
    value. Either `units` or `counted` is given where people are counted, neither where rows are.
    """

    name: ClassVar[str]

    sensitive: IntArray
    """Sensitive value of each entry, as a code."""
    missing: int | None = field(default=None, kw_only=True)
    """Code that is no value: entries with it hold none."""
    units: IntArray | None = field(default=None, kw_only=True)
    """Person of each entry, when people hold values."""
    counted: CountedPeople | None = field(default=None, kw_only=True)
    """People of each entry, when it is all rows of a class with its value."""
    ends: IntArray | None = field(default=None, kw_only=True)
    """Of a measured attribute, for each of its codes: the first code that is another value, numbers up to there being
    one value with it, shape (n_codes,); None where only equal values are one."""

    @property
    def attributes(self) -> tuple[IntArray, ...]:
        """The sensitive values, and the units if people are counted."""
        return (self.sensitive,) if self.units is None else (self.sensitive, self.units)

    @property
    def n_values(self) -> int:
        """Number of codes of the sensitive attribute."""
        return int(self.sensitive.max(initial=0)) + 1

    def ends_of(self, histograms: ValueHistograms) -> IntArray | None:
        """Return the ends of the values that occur, which may be fewer than there are codes."""
        n_values = histograms.counts.shape[-1]
        return None if self.ends is None else np.minimum(self.ends[:n_values], n_values)

    def at(self, entries: NDArray[np.integer] | BoolArray) -> HistogramRequirement:
        """Return the same requirement on a selection of the entries."""
        return replace(
            self,
            sensitive=self.sensitive[entries],
            units=None if self.units is None else self.units[entries],
            counted=None if self.counted is None else self.counted.at(entries),
        )

    @abstractmethod
    def measure(self, histograms: ValueHistograms, overall: ValueHistograms) -> FloatArray:
        """Return the bounded measure, from the values of classes and those of the whole release."""

    @abstractmethod
    def breaks(self, histograms: ValueHistograms, overall: ValueHistograms) -> BoolArray:
        """Return a mask of the classes that break the requirement, shape (...)."""

    def overall(self, partition: Partition, released: BoolArray) -> ValueHistograms:
        """Return the holders of each value among the released entries, as one class: the reference of t-closeness."""
        n_values = self.n_values
        if self.counted is not None:
            return ValueHistograms(
                self._valued(self.counted.everywhere.astype(np.float64)),
                np.asarray(self.counted.anybody, dtype=np.float64),
            )
        weights = None if partition.weights is None else partition.weights[released]
        rows = np.bincount(self.sensitive[released], weights, minlength=n_values).astype(np.float64)
        if self.units is None:
            return self.histograms_of_rows(rows)
        people = np.unique(self.units[released] * n_values + self.sensitive[released]) % n_values
        holders = self._valued(at_most(rows, np.bincount(people, minlength=n_values).astype(np.float64)))
        anybody = np.unique(self.units[released & (self.sensitive != self.missing)]).size
        return ValueHistograms(holders, at_most(self._valued(rows).sum(), np.asarray(anybody, dtype=np.float64)))

    def _valued(self, counts: FloatArray) -> FloatArray:
        """Return counts of shape (..., n_values) with nobody at the code that is no value."""
        if self.missing is not None and self.missing < counts.shape[-1]:
            counts = counts.copy()
            counts[..., self.missing] = 0.0
        return counts

    def violated(self, partition: Partition, released: BoolArray) -> BoolArray:
        """Mark the classes that break it."""
        out = np.empty(partition.n_classes, dtype=bool)
        overall = self.overall(partition, released)
        for block, histograms in self._blocks(partition):
            out[block] = self.breaks(histograms, overall)
        return out

    def achieved(self, partition: Partition, released: BoolArray) -> FloatArray:
        """Return the bounded measure of every class, shape (n_classes,)."""
        out = np.empty(partition.n_classes)
        overall = self.overall(partition, released)
        for block, histograms in self._blocks(partition):
            out[block] = self.measure(histograms, overall)
        return out

    def _blocks(self, partition: Partition) -> Iterator[tuple[slice, ValueHistograms]]:
        """Yield (classes, how they hold values) in blocks of bounded size."""
        n_values = self.n_values
        triples = None
        if self.units is not None:
            triples = Triples.of(partition.classes, self.sensitive, self.units, n_values)
        for block, rows in _histograms(partition, self.sensitive, n_values):
            if self.counted is not None:
                yield block, self._histograms_as_counted(block, rows, partition, self.counted)
            elif triples is None:
                yield block, self.histograms_of_rows(rows)
            else:
                yield block, self._histograms_of_people(block, rows, triples)

    def histograms_of_rows(self, rows: FloatArray) -> ValueHistograms:
        """Return the holders of values in classes as rows, from counts by class and value, missing among them."""
        return histograms_of_rows(self._valued(rows), rows.sum(axis=-1))

    def _histograms_of_people(self, block: slice, rows: FloatArray, triples: Triples) -> ValueHistograms:
        n_classes, n_values = rows.shape
        here = slice(*np.searchsorted(triples.classes, (block.start, block.stop)))
        classes, values = triples.classes[here] - block.start, triples.values[here]
        people = np.bincount(classes * n_values + values, minlength=n_classes * n_values).reshape(rows.shape)
        valued = values != self.missing
        first = np.append(True, np.diff(triples.pairs[here][valued]) != 0)[: int(valued.sum())]
        members = slice(*np.searchsorted(triples.pair_classes, (block.start, block.stop)))
        return self.histograms_of_people(
            rows,
            people.astype(np.float64),
            np.bincount(classes[valued][first], minlength=n_classes),
            np.bincount(triples.pair_classes[members] - block.start, minlength=n_classes),
        )

    def _histograms_as_counted(
        self, block: slice, rows: FloatArray, partition: Partition, counted: CountedPeople
    ) -> ValueHistograms:
        n_classes = rows.shape[0]
        here = (partition.classes >= block.start) & (partition.classes < block.stop)
        classes = partition.classes[here] - block.start
        people = np.zeros(rows.shape)
        people[classes, self.sensitive[here]] = counted.people[here]
        with_value, everybody = np.zeros(n_classes), np.zeros(n_classes)
        with_value[classes], everybody[classes] = counted.with_value[here], counted.everybody[here]
        return self.histograms_of_people(rows, people, with_value, everybody)

    def histograms_of_people(
        self, rows: FloatArray, people: FloatArray, with_value: NDArray[Any], everybody: NDArray[Any]
    ) -> ValueHistograms:
        """Return the holders of values in classes as people, from counts by class and value, missing among them."""
        blank = np.zeros(with_value.shape)
        if self.missing is not None and self.missing < rows.shape[-1]:
            blank = rows[..., self.missing]
        return histograms_of_people(
            self._valued(rows), self._valued(people), with_value.astype(float), everybody.astype(float), blank
        )


def _histograms(partition: Partition, sensitive: IntArray, n_values: int) -> Iterator[tuple[slice, FloatArray]]:
    """Yield (classes, counts of shape (n_classes_here, n_values)) blocks of bounded size."""
    step = max(1, _CELLS // max(n_values, 1))
    if partition.n_classes <= step:
        counts = np.bincount(
            partition.classes * n_values + sensitive, partition.weights, minlength=partition.n_classes * n_values
        )
        yield slice(0, partition.n_classes), counts.reshape(-1, n_values).astype(np.float64)
        return
    order, classes = ranked(partition.classes)
    for start in range(0, partition.n_classes, step):
        stop = min(start + step, partition.n_classes)
        here = slice(*np.searchsorted(classes, (start, stop)))
        rows = order[here]
        counts = np.bincount(
            (classes[here] - start) * n_values + sensitive[rows],
            None if partition.weights is None else partition.weights[rows],
            minlength=(stop - start) * n_values,
        )
        yield slice(start, stop), counts.reshape(-1, n_values).astype(np.float64)


def _shares(counts: FloatArray) -> FloatArray:
    return np.asarray(counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1))


@dataclass(frozen=True, eq=False)
class DistinctL(HistogramRequirement):
    """Distinct l-diversity: every class needs at least l values to account for all its holders."""

    name: ClassVar[str] = "distinct l-diversity"

    l: float  # noqa: E741 - the field's own letter

    @property
    def counts_codes(self) -> bool:
        """Return True if every code is a value of its own, held by rows."""
        return self.units is None and self.missing is None and self.ends is None

    def measure(self, histograms: ValueHistograms, overall: ValueHistograms) -> FloatArray:
        """Values that are needed to account for all holders; the distinct values where each holds one."""
        ends = self.ends_of(histograms)
        if ends is not None:
            return histograms.apart(ends)
        return np.asarray((histograms.division() > 0).sum(axis=-1), dtype=np.float64)

    def breaks(self, histograms: ValueHistograms, overall: ValueHistograms) -> BoolArray:
        """Mark those with fewer than l values."""
        return self.measure(histograms, overall) < self.l


@dataclass(frozen=True, eq=False)
class EntropyL(HistogramRequirement):
    """Entropy l-diversity: exp(entropy of the sensitive values) >= l in every class (Machanavajjhala et al. 2007).

    Entropy in nats, so exp(entropy) is the effective number of values and l is comparable with distinct l-diversity.
    Of a measured attribute it is that of groups no wider than its width.
    """

    name: ClassVar[str] = "entropy l-diversity"

    l: float  # noqa: E741

    def measure(self, histograms: ValueHistograms, overall: ValueHistograms) -> FloatArray:
        """Effective number of values: exp(entropy in nats); 0 where nobody holds any."""
        p = _shares(histograms.division(self.ends_of(histograms)))
        with np.errstate(divide="ignore", invalid="ignore"):
            effective = np.exp(-np.where(p > 0, p * np.log(p), 0.0).sum(axis=-1))
        return np.asarray(np.where(histograms.holders > 0, effective, 0.0))

    def breaks(self, histograms: ValueHistograms, overall: ValueHistograms) -> BoolArray:
        """Mark those whose effective number of values is below l."""
        return self.measure(histograms, overall) < self.l - _TOLERANCE


@dataclass(frozen=True, eq=False)
class RecursiveCL(HistogramRequirement):
    """Recursive (c, l)-diversity: r_1 < c (r_l + ... + r_m), r the value counts of a class in descending order.

    Machanavajjhala et al., TKDD 2007: with l - 2 values ruled out, the commonest is still not too common. Of a measured
    attribute r are the counts of groups no wider than its width.
    """

    name: ClassVar[str] = "recursive (c, l)-diversity"

    c: float
    l: int  # noqa: E741

    def measure(self, histograms: ValueHistograms, overall: ValueHistograms) -> FloatArray:
        """Smallest c that would hold: r_1 / (r_l + ... + r_m), inf for an empty tail."""
        descending = histograms.division(self.ends_of(histograms))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(descending[..., 0] / descending[..., self.l - 1 :].sum(axis=-1))

    def breaks(self, histograms: ValueHistograms, overall: ValueHistograms) -> BoolArray:
        """Mark those whose commonest value outweighs the tail."""
        descending = histograms.division(self.ends_of(histograms))
        return np.asarray(descending[..., 0] >= self.c * descending[..., self.l - 1 :].sum(axis=-1))


@dataclass(frozen=True, eq=False)
class TCloseness(HistogramRequirement):
    """t-closeness: earth mover's distance between a class and the released table at most t.

    Ordered distance for numeric attributes, equal distance (total variation) for categories (Li et al. 2007), between
    the shares of holders with each value. People with several values make shares that add up to more than 1: what is in
    excess on either side then counts as moved all the way, so that the distance bounds the change of every share.
    """

    name: ClassVar[str] = "t-closeness"

    t: float
    ordered: bool = False

    def measure(self, histograms: ValueHistograms, overall: ValueHistograms) -> FloatArray:
        """Distance from the rows still kept, in [0, 1]; 1 where nobody holds a value."""
        present = overall.counts > 0  # distance is over the values that occur
        gaps = histograms.shares[..., present] - overall.shares[present]
        if self.ordered:
            upward = np.cumsum(gaps, axis=-1)[..., :-1]
            downward = upward - gaps.sum(axis=-1, keepdims=True)
            moved = np.maximum(np.abs(upward).sum(axis=-1), np.abs(downward).sum(axis=-1))
            moved = moved / max(int(present.sum()) - 1, 1)
        else:
            moved = np.maximum(np.maximum(gaps, 0.0).sum(axis=-1), np.maximum(-gaps, 0.0).sum(axis=-1))
        return np.asarray(np.where(histograms.holders > 0, np.minimum(moved, 1.0), 1.0))

    def breaks(self, histograms: ValueHistograms, overall: ValueHistograms) -> BoolArray:
        """Mark those further than t from the rows still kept."""
        return self.measure(histograms, overall) > self.t + _TOLERANCE


@dataclass(frozen=True, eq=False)
class AlphaK(HistogramRequirement):
    """(alpha, k)-anonymity (Wong et al. 2006): no value is held by more than a share alpha of a class's holders."""

    name: ClassVar[str] = "(alpha, k)-anonymity"

    alpha: float

    def measure(self, histograms: ValueHistograms, overall: ValueHistograms) -> FloatArray:
        """Share of the commonest sensitive value."""
        return np.asarray(histograms.within(self.ends_of(histograms)).shares.max(axis=-1, initial=0.0))

    def breaks(self, histograms: ValueHistograms, overall: ValueHistograms) -> BoolArray:
        """Mark those where one value is too common."""
        return self.measure(histograms, overall) > self.alpha + _TOLERANCE


@dataclass(frozen=True, eq=False)
class CapByValue(HistogramRequirement):
    """(alpha, k)-anonymity with an alpha of each value: no value is held by more than its cap of a class's members.

    Members without a value count in the class. The caps stay as they are, whatever is suppressed.
    """

    name: ClassVar[str] = "cap on confidence by value"

    caps: FloatArray
    """Largest share of the members of a class that may hold each code, shape (n_codes,); infinite where exempt."""

    def measure(self, histograms: ValueHistograms, overall: ValueHistograms) -> FloatArray:
        """Most by which the share of a value is above its cap; below 0 where none is."""
        within = histograms.within(self.ends_of(histograms))
        members = histograms.everybody[..., np.newaxis]
        shares = np.minimum(within.counts, members) / np.maximum(members, 1.0)
        over = np.where(within.counts > 0, shares - self.caps[: shares.shape[-1]], -np.inf)
        return np.asarray(over.max(axis=-1, initial=-np.inf))

    def breaks(self, histograms: ValueHistograms, overall: ValueHistograms) -> BoolArray:
        """Mark those where one value is above its cap."""
        return self.measure(histograms, overall) > _TOLERANCE


def check_k(k: object, n_rows: int | None = None) -> int:
    """Return k as an int, or say what k must be."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 2:
        raise ParameterError(f"k ({k}) must be an integer in [2, inf)", "k = 1 promises nothing; 5 to 20 is usual")
    if n_rows is not None and math.isfinite(n_rows) and k > n_rows:
        raise ParameterError(f"k ({k}) must be at most the number of rows ({n_rows})")
    return k


@dataclass(frozen=True, kw_only=True, eq=False)
class DistinctRows:
    """A table in which rows that are alike in everything a search looks at are counted instead of repeated.

    Entries are in ascending order of their codes, columns in order of their names, so nothing depends on the
    order of rows and columns in the table.
    """

    columns: tuple[CodedColumn, ...]
    """The columns of the entries, each of shape (n_entries,)."""
    requirements: tuple[Requirement, ...]
    """The requirements on the entries."""
    whole: Partition
    """All entries, with their weights, in one class."""

    @classmethod
    def of(cls, columns: Sequence[CodedColumn], requirements: Sequence[Requirement]) -> DistinctRows:
        """Count the distinct rows of at least one column: O(n_rows) a column and one sort."""
        if any(requirement.attributes for requirement in requirements):
            return NumberedRows.of(columns, requirements)
        columns = sorted(columns, key=lambda column: column.name)
        codes, weights = count_combinations([column.codes for column in columns], columns[0].codes.size)
        return cls(
            columns=tuple(replace(column, codes=own) for column, own in zip(columns, codes, strict=True)),
            requirements=tuple(requirements),
            whole=Partition.whole(weights.size, weights),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberedRows(DistinctRows):
    """Distinct rows that say which of them each row of the table is."""

    entry: IntArray
    """Entry of each row of the table, shape (n_rows,)."""

    @property
    def weights(self) -> FloatArray:
        """Number of rows of each entry, shape (n_entries,)."""
        return np.bincount(self.entry, minlength=self.whole.classes.size).astype(np.float64)

    @classmethod
    def of(cls, columns: Sequence[CodedColumn], requirements: Sequence[Requirement]) -> NumberedRows:
        """Give the distinct rows of at least one column numbers: O(n_rows) a column and one sort."""
        columns = sorted(columns, key=lambda column: column.name)
        looked_at = [values for requirement in requirements for values in requirement.attributes]
        n_rows = columns[0].codes.size
        entry, n_entries = combine([*(column.codes for column in columns), *looked_at], n_rows)
        example = np.empty(n_entries, dtype=np.int64)
        example[entry] = np.arange(n_rows)
        return cls(
            columns=tuple(replace(column, codes=column.codes[example]) for column in columns),
            requirements=tuple(requirement.at(example) for requirement in requirements),
            whole=Partition.whole(n_entries, np.bincount(entry, minlength=n_entries)),
            entry=entry,
        )


def released_partition(columns: Sequence[CodedColumn], groups: Mapping[str, Groups | None]) -> Partition:
    """Return the equivalence classes of a table, row by row, when each column is released by its groups.

    Columns whose groups are None are dropped.
    """
    released = []
    for column in columns:
        of_code = groups[column.name]
        if of_code is not None:
            released.append(of_code[column.codes])
    return Partition.of(released, columns[0].codes.size)
