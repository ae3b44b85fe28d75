# SPDX-License-Identifier: Apache-2.0
"""Equivalence classes and what is asked of them: k-anonymity, l-diversity, t-closeness, (alpha, k).

Every requirement is monotone: when each class of a partition meets it, each class of any coarser partition
does too (Machanavajjhala et al. 2007; Li et al. 2007; Wong et al. 2006). The searches rely on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from anonkit.errors import ParameterError
from anonkit.mechanisms.coding import IntArray, densify

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]

_CELLS = 4_000_000  # cells of a class-by-value table held at once


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows divided into equivalence classes."""

    classes: IntArray
    """Class of each row, shape (n_rows,), dense in [0, n_classes)."""
    n_classes: int

    @classmethod
    def whole(cls, n_rows: int) -> Partition:
        """All rows in one class: everything dropped."""
        return cls(np.zeros(n_rows, dtype=np.int64), 1 if n_rows else 0)

    @classmethod
    def of(cls, columns: Sequence[NDArray[np.integer]], n_rows: int) -> Partition:
        """Partition by the combination of several code columns."""
        partition = cls.whole(n_rows)
        for codes in columns:
            partition = partition.refine(codes)
        return partition

    def refine(self, codes: NDArray[np.integer]) -> Partition:
        """Split every class by one more code column: O(n_rows), whatever was kept before."""
        if self.classes.size == 0:
            return self
        width = int(codes.max()) + 1
        return Partition(*densify(self.classes * width + codes))

    def sizes(self, units: IntArray | None = None) -> IntArray:
        """Rows per class, or distinct units (people) per class when rows are given their unit; shape (n_classes,)."""
        if units is None:
            return np.bincount(self.classes, minlength=self.n_classes)
        return np.bincount(self._pairs(units) // (int(units.max(initial=0)) + 1), minlength=self.n_classes)

    def _pairs(self, codes: IntArray) -> IntArray:
        width = int(codes.max(initial=0)) + 1
        return np.unique(self.classes * width + codes)


class Requirement(Protocol):
    """Something asked of every class, monotone under merging of classes."""

    def violated(self, partition: Partition, kept: BoolArray) -> BoolArray:
        """Tell which classes break it, shape (n_classes,); `kept` marks the rows still in the release."""
        ...


@dataclass(frozen=True, eq=False)
class AtLeastK:
    """k-anonymity: at least k rows, or k distinct units (people) when `units` is given, in every class."""

    k: int
    units: IntArray | None = None

    def violated(self, partition: Partition, kept: BoolArray) -> BoolArray:
        """Mark the classes below k."""
        return partition.sizes(self.units) < self.k


def _tables(partition: Partition, sensitive: IntArray, n_values: int) -> Iterator[tuple[slice, FloatArray]]:
    """Yield (classes, counts of shape (n_classes_here, n_values)) blocks of bounded size."""
    step = max(1, _CELLS // max(n_values, 1))
    if partition.n_classes <= step:
        counts = np.bincount(partition.classes * n_values + sensitive, minlength=partition.n_classes * n_values)
        yield slice(0, partition.n_classes), counts.reshape(-1, n_values).astype(np.float64)
        return
    order = np.argsort(partition.classes, kind="stable")
    ranked = partition.classes[order]
    for start in range(0, partition.n_classes, step):
        stop = min(start + step, partition.n_classes)
        rows = order[np.searchsorted(ranked, start) : np.searchsorted(ranked, stop)]
        counts = np.bincount(
            (partition.classes[rows] - start) * n_values + sensitive[rows], minlength=(stop - start) * n_values
        )
        yield slice(start, stop), counts.reshape(-1, n_values).astype(np.float64)


@dataclass(frozen=True, eq=False)
class DistinctL:
    """Distinct l-diversity: at least l different sensitive values in every class."""

    sensitive: IntArray
    l: float  # noqa: E741 - the field's own letter

    def violated(self, partition: Partition, kept: BoolArray) -> BoolArray:
        """Mark the classes with fewer than l values."""
        return self.achieved(partition, kept) < self.l

    def achieved(self, partition: Partition, kept: BoolArray) -> FloatArray:
        """Distinct sensitive values per class, shape (n_classes,)."""
        width = int(self.sensitive.max(initial=0)) + 1
        pairs = np.unique(partition.classes * width + self.sensitive)
        return np.bincount(pairs // width, minlength=partition.n_classes).astype(np.float64)


@dataclass(frozen=True, eq=False)
class EntropyL:
    """Entropy l-diversity: exp(entropy of the sensitive values) at least l in every class."""

    sensitive: IntArray
    l: float  # noqa: E741

    def violated(self, partition: Partition, kept: BoolArray) -> BoolArray:
        """Mark the classes whose effective number of values is below l."""
        return self.achieved(partition, kept) < self.l - 1e-9

    def achieved(self, partition: Partition, kept: BoolArray) -> FloatArray:
        """Effective number of values, exp(entropy in nats), per class, shape (n_classes,)."""
        out = np.empty(partition.n_classes)
        for block, counts in _tables(partition, self.sensitive, int(self.sensitive.max(initial=0)) + 1):
            p = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            with np.errstate(divide="ignore", invalid="ignore"):
                out[block] = np.exp(-np.where(p > 0, p * np.log(p), 0.0).sum(axis=1))
        return out


@dataclass(frozen=True, eq=False)
class RecursiveCL:
    """Recursive (c, l)-diversity: r_1 < c (r_l + ... + r_m), r sorted descending, in every class."""

    sensitive: IntArray
    c: float
    l: int  # noqa: E741

    def violated(self, partition: Partition, kept: BoolArray) -> BoolArray:
        """Mark the classes whose commonest value outweighs the tail."""
        out = np.empty(partition.n_classes, dtype=bool)
        for block, counts in _tables(partition, self.sensitive, int(self.sensitive.max(initial=0)) + 1):
            ranked = -np.sort(-counts, axis=1)
            out[block] = ranked[:, 0] >= self.c * ranked[:, self.l - 1 :].sum(axis=1)
        return out


@dataclass(frozen=True, eq=False)
class TCloseness:
    """t-closeness: earth mover's distance between a class and the released table at most t.

    Ordered distance for numeric attributes, equal distance (total variation) for categories (Li et al. 2007).
    """

    sensitive: IntArray
    t: float
    ordered: bool = False

    def violated(self, partition: Partition, kept: BoolArray) -> BoolArray:
        """Mark the classes further than t from the rows still kept."""
        return self.achieved(partition, kept) > self.t + 1e-9

    def achieved(self, partition: Partition, kept: BoolArray) -> FloatArray:
        """Distance per class, in [0, 1], shape (n_classes,)."""
        m = int(self.sensitive.max(initial=0)) + 1
        total = np.bincount(self.sensitive[kept], minlength=m).astype(np.float64)
        overall = total / max(total.sum(), 1.0)
        out = np.empty(partition.n_classes)
        for block, counts in _tables(partition, self.sensitive, m):
            gap = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1) - overall
            if self.ordered:
                present = total > 0  # distance is over the values that occur
                steps = max(int(present.sum()) - 1, 1)
                out[block] = np.abs(np.cumsum(gap[:, present], axis=1)).sum(axis=1) / steps
            else:
                out[block] = np.abs(gap).sum(axis=1) / 2
        return out


@dataclass(frozen=True, eq=False)
class AlphaK:
    """(alpha, k)-anonymity: no sensitive value makes up more than alpha of any class."""

    sensitive: IntArray
    alpha: float

    def violated(self, partition: Partition, kept: BoolArray) -> BoolArray:
        """Mark the classes where one value is too common."""
        return self.achieved(partition, kept) > self.alpha + 1e-9

    def achieved(self, partition: Partition, kept: BoolArray) -> FloatArray:
        """Share of the commonest sensitive value per class, shape (n_classes,)."""
        out = np.empty(partition.n_classes)
        for block, counts in _tables(partition, self.sensitive, int(self.sensitive.max(initial=0)) + 1):
            out[block] = counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1)
        return out


def suppressed_rows(partition: Partition, requirements: Sequence[Requirement]) -> BoolArray:
    """Mark the rows that must go so that every class left meets every requirement, shape (n_rows,).

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
