# SPDX-License-Identifier: Apache-2.0
"""Levels of detail of columns from their public domains alone, and the schemes that combine them.

What a column may show is settled before a row is read: a number in bins of its declared widths, else of round widths
over its public bounds, each twice the one below; a category as it is, or as a group of its declared hierarchy; any
column not at all. A scheme says at which level every column is shown. The same levels follow from the same policy
whatever table is released, which is what a promise of differential privacy needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa

from anonkit.domains.coded_columns import IntArray
from anonkit.domains.domain_codes import cell_numbers, clamped, codes_of_cells
from anonkit.policy.public_domains import CategoricalAttribute, NumericAttribute, PublicAttribute
from anonkit.published.recoding import CategoryAxis, Grouping, IntervalAxis, UnchangedAxis, unique_labels

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
