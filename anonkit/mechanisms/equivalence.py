# SPDX-License-Identifier: Apache-2.0
"""Equivalence classes and what is asked of them: k-anonymity, l-diversity, t-closeness, (alpha, k).

Every requirement is monotone: when each class of a partition meets it, each class of any coarser partition
does too (Machanavajjhala et al. 2007; Li et al. 2007; Wong et al. 2006). The searches rely on it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from anonkit.errors import ParameterError
from anonkit.mechanisms.coding import IntArray, combine, densify, ranked

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]

_CELLS = 4_000_000  # cells of a class-by-value table held at once
_TOLERANCE = 1e-9  # thresholds are met up to rounding


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows divided into equivalence classes. Identical rows may stand as one entry with a weight."""

    classes: IntArray
    """Class of each entry, shape (n_entries,), dense in [0, n_classes)."""
    n_classes: int
    weights: IntArray | None = None
    """Rows each entry stands for, shape (n_entries,); None: one each."""

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
        if units is not None:
            return self.distinct(units)
        counts = np.bincount(self.classes, self.weights, minlength=self.n_classes)
        return counts.astype(np.int64, copy=False)

    def distinct(self, values: IntArray) -> IntArray:
        """Count the distinct values of an attribute in each class, shape (n_classes,)."""
        width = int(values.max(initial=0)) + 1
        pairs, n_pairs = densify(self.classes * width + values)
        owner = np.empty(n_pairs, dtype=np.int64)
        owner[pairs] = self.classes
        return np.bincount(owner, minlength=self.n_classes)

    def n_rows(self, marked: BoolArray | None = None) -> int:
        """Rows the marked entries (default: all) stand for."""
        if self.weights is None:
            return self.classes.size if marked is None else int(marked.sum())
        return int(self.weights.sum() if marked is None else self.weights[marked].sum())


class Requirement(Protocol):
    """Something asked of every class, monotone under merging of classes."""

    name: ClassVar[str]
    """What it is called in reports."""

    @property
    def attributes(self) -> tuple[IntArray, ...]:
        """What it looks at besides the classes: sensitive values, units; entries alike in these may be merged."""
        ...

    def at(self, entries: NDArray[np.integer] | BoolArray) -> Requirement:
        """Return the same requirement on a selection of the entries."""
        ...

    def violated(self, partition: Partition, kept: BoolArray) -> BoolArray:
        """Tell which classes break it, shape (n_classes,); `kept` marks the entries still in the release."""
        ...


@dataclass(frozen=True, eq=False)
class AtLeastK:
    """k-anonymity: at least k rows, or k distinct units (people) when `units` is given, in every class."""

    name: ClassVar[str] = "k-anonymity"

    k: int
    units: IntArray | None = None

    @property
    def attributes(self) -> tuple[IntArray, ...]:
        """The units, if people are counted."""
        return () if self.units is None else (self.units,)

    def at(self, entries: NDArray[np.integer] | BoolArray) -> AtLeastK:
        """Return the same requirement on a selection of the entries."""
        return self if self.units is None else replace(self, units=self.units[entries])

    def violated(self, partition: Partition, kept: BoolArray) -> BoolArray:
        """Mark the classes below k."""
        return partition.sizes(self.units) < self.k


@dataclass(frozen=True, eq=False)
class DistinctL:
    """Distinct l-diversity: at least l different sensitive values in every class."""

    name: ClassVar[str] = "distinct l-diversity"

    sensitive: IntArray
    l: float  # noqa: E741 - the field's own letter

    @property
    def attributes(self) -> tuple[IntArray, ...]:
        """The sensitive values."""
        return (self.sensitive,)

    def at(self, entries: NDArray[np.integer] | BoolArray) -> DistinctL:
        """Return the same requirement on a selection of the entries."""
        return replace(self, sensitive=self.sensitive[entries])

    def violated(self, partition: Partition, kept: BoolArray) -> BoolArray:
        """Mark the classes with fewer than l values."""
        return partition.distinct(self.sensitive) < self.l

    def achieved(self, partition: Partition, kept: BoolArray) -> FloatArray:
        """Distinct sensitive values per class, shape (n_classes,)."""
        return partition.distinct(self.sensitive).astype(np.float64)


@dataclass(frozen=True, eq=False)
class HistogramRequirement(ABC):
    """A requirement on how often each sensitive value occurs in a class."""

    name: ClassVar[str]

    sensitive: IntArray
    """Sensitive value of each entry, as a code."""

    @property
    def attributes(self) -> tuple[IntArray, ...]:
        """The sensitive values."""
        return (self.sensitive,)

    @property
    def n_values(self) -> int:
        """Number of codes of the sensitive attribute."""
        return int(self.sensitive.max(initial=0)) + 1

    def at(self, entries: NDArray[np.integer] | BoolArray) -> HistogramRequirement:
        """Return the same requirement on a selection of the entries."""
        return replace(self, sensitive=self.sensitive[entries])

    @abstractmethod
    def measure(self, counts: FloatArray, overall: FloatArray) -> FloatArray:
        """Return what is bounded, from histograms of shape (..., m) and the released table's own, shape (m,)."""

    @abstractmethod
    def breaks(self, counts: FloatArray, overall: FloatArray) -> BoolArray:
        """Tell which histograms break the requirement, shape (...)."""

    def overall(self, partition: Partition, kept: BoolArray) -> FloatArray:
        """Return the histogram of the entries still in the release, shape (m,)."""
        weights = None if partition.weights is None else partition.weights[kept]
        return np.bincount(self.sensitive[kept], weights, minlength=self.n_values).astype(np.float64)

    def violated(self, partition: Partition, kept: BoolArray) -> BoolArray:
        """Mark the classes that break it."""
        out = np.empty(partition.n_classes, dtype=bool)
        overall = self.overall(partition, kept)
        for block, counts in _histograms(partition, self.sensitive, overall.size):
            out[block] = self.breaks(counts, overall)
        return out

    def achieved(self, partition: Partition, kept: BoolArray) -> FloatArray:
        """Return what is bounded for every class, shape (n_classes,)."""
        out = np.empty(partition.n_classes)
        overall = self.overall(partition, kept)
        for block, counts in _histograms(partition, self.sensitive, overall.size):
            out[block] = self.measure(counts, overall)
        return out


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
class EntropyL(HistogramRequirement):
    """Entropy l-diversity: exp(entropy of the sensitive values) at least l in every class."""

    name: ClassVar[str] = "entropy l-diversity"

    l: float  # noqa: E741

    def measure(self, counts: FloatArray, overall: FloatArray) -> FloatArray:
        """Effective number of values: exp(entropy in nats)."""
        p = _shares(counts)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.exp(-np.where(p > 0, p * np.log(p), 0.0).sum(axis=-1)))

    def breaks(self, counts: FloatArray, overall: FloatArray) -> BoolArray:
        """Mark those whose effective number of values is below l."""
        return self.measure(counts, overall) < self.l - _TOLERANCE


@dataclass(frozen=True, eq=False)
class RecursiveCL(HistogramRequirement):
    """Recursive (c, l)-diversity: r_1 < c (r_l + ... + r_m), r sorted descending, in every class."""

    name: ClassVar[str] = "recursive (c, l)-diversity"

    c: float
    l: int  # noqa: E741

    def measure(self, counts: FloatArray, overall: FloatArray) -> FloatArray:
        """Smallest c that would hold: r_1 / (r_l + ... + r_m), inf for an empty tail."""
        descending = -np.sort(-counts, axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(descending[..., 0] / descending[..., self.l - 1 :].sum(axis=-1))

    def breaks(self, counts: FloatArray, overall: FloatArray) -> BoolArray:
        """Mark those whose commonest value outweighs the tail."""
        descending = -np.sort(-counts, axis=-1)
        return np.asarray(descending[..., 0] >= self.c * descending[..., self.l - 1 :].sum(axis=-1))


@dataclass(frozen=True, eq=False)
class TCloseness(HistogramRequirement):
    """t-closeness: earth mover's distance between a class and the released table at most t.

    Ordered distance for numeric attributes, equal distance (total variation) for categories (Li et al. 2007).
    """

    name: ClassVar[str] = "t-closeness"

    t: float
    ordered: bool = False

    def measure(self, counts: FloatArray, overall: FloatArray) -> FloatArray:
        """Distance from the rows still kept, in [0, 1]."""
        gap = _shares(counts) - _shares(overall)
        if not self.ordered:
            return np.asarray(np.abs(gap).sum(axis=-1) / 2)
        present = overall > 0  # distance is over the values that occur
        steps = max(int(present.sum()) - 1, 1)
        return np.asarray(np.abs(np.cumsum(gap[..., present], axis=-1)).sum(axis=-1) / steps)

    def breaks(self, counts: FloatArray, overall: FloatArray) -> BoolArray:
        """Mark those further than t from the rows still kept."""
        return self.measure(counts, overall) > self.t + _TOLERANCE


@dataclass(frozen=True, eq=False)
class AlphaK(HistogramRequirement):
    """(alpha, k)-anonymity: no sensitive value makes up more than alpha of any class."""

    name: ClassVar[str] = "(alpha, k)-anonymity"

    alpha: float

    def measure(self, counts: FloatArray, overall: FloatArray) -> FloatArray:
        """Share of the commonest sensitive value."""
        return np.asarray(_shares(counts).max(axis=-1, initial=0.0))

    def breaks(self, counts: FloatArray, overall: FloatArray) -> BoolArray:
        """Mark those where one value is too common."""
        return self.measure(counts, overall) > self.alpha + _TOLERANCE


def suppressed_rows(partition: Partition, requirements: Sequence[Requirement]) -> BoolArray:
    """Mark the entries that must go so that every class left meets every requirement, shape (n_entries,).

    Whole classes go. t-closeness compares with the rows that stay, so classes are removed until nothing
    more has to go.
    """
    kept = np.ones(partition.classes.size, dtype=bool)
    bad = np.zeros(partition.n_classes, dtype=bool)
    while True:
        worse = bad.copy()
        for requirement in requirements:
            worse |= requirement.violated(partition, kept)
        if bool((worse == bad).all()) or not kept.any():
            return ~kept
        bad = worse
        kept = ~bad[partition.classes]


def check_k(k: object, n_rows: int | None = None) -> int:
    """Return k as an int, or say what k must be."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 2:
        raise ParameterError(f"k ({k}) must be an integer in [2, inf)", "k = 1 promises nothing; 5 to 20 is usual")
    if n_rows is not None and math.isfinite(n_rows) and k > n_rows:
        raise ParameterError(f"k ({k}) must be at most the number of rows ({n_rows})")
    return k
