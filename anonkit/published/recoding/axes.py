# SPDX-License-Identifier: Apache-2.0
"""Axes of a recoding: the parts of one column, their codes and their labels.

Exact comparison of cells with a cut point: integers, decimals and times are never converted to floats.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.documents import ReportPart, left_out
from anonkit.domains.coded_columns import is_ordered, recode_array
from anonkit.domains.named_parts import Point, exact, place, point_from_text, point_text

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9


def parts_of(array: pa.Array, cuts: Sequence[Point]) -> NDArray[np.int64]:
    """Return the number of cuts that are not above each cell, shape (len(array),); -1 where a cell is missing.

    Parameters
    ----------
    array : Array
        Numbers, dates, times of day or timestamps. A timestamp without a zone is taken for UTC where cuts have one,
        and the reverse.
    cuts : sequence of Point
        Ascending. A float beside decimals and integers is the decimal it is written as; beside floats every cut
        is the float nearest to it, as when the text of a label is read.
    """
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_floating(kind):
        thresholds = np.array([float(place(cut)) for cut in cuts], dtype=np.float64)
        numbers = pc.fill_null(array, math.nan).to_numpy(zero_copy_only=False).astype(np.float64)
        parts = np.searchsorted(thresholds, numbers, side="right")
    elif pa.types.is_decimal(kind):
        parts = _decimal_parts(array, [exact(_number(cut)) for cut in cuts])
    else:
        whole, scale = _whole_numbers(array)
        steps = [math.ceil(_fraction(cut) / scale) for cut in cuts]
        bounds = np.iinfo(whole.dtype)
        below = sum(step <= bounds.min for step in steps)
        inside = np.array([step for step in steps if bounds.min < step <= bounds.max], dtype=whole.dtype)
        parts = below + np.searchsorted(inside, whole, side="right")
    return np.where(array.is_valid().to_numpy(zero_copy_only=False), parts, -1).astype(np.int64)


def _whole_numbers(array: pa.Array) -> tuple[NDArray[np.integer], Fraction]:
    """Return cells as integers, 0 where missing, and what one of them is worth: 1, or its nanoseconds."""
    kind = array.type
    scale = Fraction(1)
    if pa.types.is_timestamp(kind):
        array, scale = array.cast(pa.int64()), Fraction(_NANOSECONDS[kind.unit])
    elif pa.types.is_date(kind):
        array, scale = array.cast(pa.date32()).cast(pa.int32()), Fraction(_DAY)
    elif pa.types.is_time(kind):
        array, scale = array.cast(pa.time64("ns")).cast(pa.int64()), Fraction(1)
    return pc.fill_null(array, 0).to_numpy(zero_copy_only=False), scale


def _fraction(cut: Point) -> Fraction:
    """Return a cut exactly: dates and timestamps in nanoseconds."""
    if isinstance(cut, int | float | Decimal):
        return Fraction(exact(cut))
    return Fraction(place(cut)) * 1000


def _number(cut: Point) -> int | float | Decimal:
    if isinstance(cut, int | float | Decimal):
        return cut
    raise TypeError("a number cannot be cut at a date")


def _decimal_parts(array: pa.Array, cuts: Sequence[Decimal]) -> NDArray[np.int64]:
    encoded = pc.dictionary_encode(array)
    lookup = np.array([*(bisect_right(cuts, value) for value in encoded.dictionary.to_pylist()), -1], dtype=np.int64)
    at: NDArray[np.int32] = pc.fill_null(encoded.indices, lookup.size - 1).to_numpy(zero_copy_only=False)
    return lookup.take(at)


MASK = "*"
"""Label of everything that a column does not show."""
OTHER = "other"
"""Label of the values that are not listed, unless a value is called so."""
MISSING = "missing"
"""Label of missing beside values of a group, unless a value is called so."""
_LONG = 4
"""Sets of more values than this are named by what they lack, when that is shorter."""
UNKNOWN = -1
"""Code of a cell that the recoding does not cover; its row cannot be released."""


Named = tuple[tuple[str, tuple[int, ...]], ...]
"""Groups of parts that the policy declares, each with its name, the smaller before the larger."""


def _named(named: Named, parts: Sequence[int]) -> str:
    """Return the name of the smallest declared group that holds all of some parts."""
    members = set(parts)
    return next((name for name, group in named if members <= set(group)), MASK)


@dataclass(frozen=True, kw_only=True)
class DeclaredGroup(ReportPart):
    """A group of parts that the policy declares, as `params.json` has it."""

    label: str
    parts: tuple[int, ...]


def _groups(named: Named | None) -> tuple[DeclaredGroup, ...] | None:
    return None if named is None else tuple(DeclaredGroup(label=name, parts=parts) for name, parts in named)


def _pairs(groups: tuple[DeclaredGroup, ...] | None) -> Named | None:
    return None if groups is None else tuple((group.label, group.parts) for group in groups)


@dataclass(frozen=True, kw_only=True)
class IntervalAxis(
    ReportPart, keys=("name", "kind", "cuts=stated_cuts", "missing=has_missing", "groups?"), made_by="of_texts"
):
    """An ordered column divided at cut points: part i holds cuts[i-1] <= x < cuts[i]; missing, if any, is the last."""

    kind: ClassVar[str] = "intervals"
    name: str
    cuts: tuple[Point, ...]
    has_missing: bool
    """False when the recoded table had no missing value here: the recoding does not cover one."""
    named: Named | None = None
    """Bins that the policy declares: a set of parts has the name of the smallest that contains it, else `*`."""

    @property
    def size(self) -> int:
        """Number of parts, missing included."""
        return len(self.cuts) + 1 + self.has_missing

    def codes(self, array: pa.Array) -> NDArray[np.int64]:
        """Return the part of every cell, shape (len(array),)."""
        parts = parts_of(array, self.cuts)
        parts[parts < 0] = self.size - 1 if self.has_missing else UNKNOWN
        return parts

    def label(self, parts: Sequence[int]) -> str | None:
        """Name a set of parts: an interval, with `missing` beside it when it is in the set; None for missing alone."""
        n_intervals = len(self.cuts) + 1
        inner = sorted(part for part in parts if part < n_intervals)
        if not inner:
            return None
        if self.named is not None:
            return _named(self.named, parts)
        if len(inner) == n_intervals:
            text = MASK
        else:
            runs = np.split(np.array(inner), np.flatnonzero(np.diff(inner) != 1) + 1)
            text = "|".join(self._interval(int(run[0]), int(run[-1])) for run in runs)
        return f"{text}|missing" if n_intervals in parts and text != MASK else text

    def _interval(self, first: int, last: int) -> str:
        low = point_text(self.cuts[first - 1]) if first > 0 else None
        high = point_text(self.cuts[last]) if last < len(self.cuts) else None
        if low is None:
            return f"< {high}"
        return f">= {low}" if high is None else f"[{low}, {high})"

    @property
    def stated_cuts(self) -> tuple[str, ...]:
        """The cut points as strings."""
        return tuple(point_text(cut) for cut in self.cuts)

    @property
    def groups(self) -> tuple[DeclaredGroup, ...] | None:
        """The declared bins, as `params.json` has them."""
        return _groups(self.named)

    @classmethod
    def of_texts(
        cls, *, name: str, cuts: tuple[str, ...], missing: bool, groups: tuple[DeclaredGroup, ...] | None = None
    ) -> Self:
        """Return the axis that `params.json` states."""
        points = tuple(point_from_text(cut) for cut in cuts)
        return cls(name=name, cuts=points, has_missing=missing, named=_pairs(groups))


@dataclass(frozen=True, kw_only=True)
class CategoryAxis(
    ReportPart,
    keys=(
        "name",
        "kind",
        "values",
        "other=has_other",
        "other_label?=shown_other",
        "missing=has_missing",
        "missing_label?=shown_missing",
        "groups?",
    ),
    made_by="of_labels",
):
    """A categorical column: one part a listed value, then one for all others and one for missing, if there are any.

    Raises
    ------
    ValueError
        A label is not the one that its values leave.
    """

    kind: ClassVar[str] = "categories"
    name: str
    values: tuple[str, ...]
    has_other: bool
    has_missing: bool
    """False when the recoded table had no missing value here: the recoding does not cover one."""
    named: Named | None = None
    """Groups that the policy declares: a set of parts has the name of the smallest that contains it, else `*`."""

    @property
    def size(self) -> int:
        """Number of parts, missing included."""
        return len(self.values) + self.has_other + self.has_missing

    @property
    def other_label(self) -> str:
        """Label of all values that are not listed: a name that no listed value has."""
        return _free_name(OTHER, self.values)

    @property
    def missing_label(self) -> str:
        """Label of a missing value: a name that no listed value has."""
        return _free_name(MISSING, self.values)

    def codes(self, array: pa.Array) -> NDArray[np.int64]:
        """Return the part of every cell, shape (len(array),); UNKNOWN for a value that the recoding does not cover."""
        lookup: dict[Any, int] = {value: at for at, value in enumerate(self.values)}
        lookup[None] = self.size - 1 if self.has_missing else UNKNOWN
        return recode_array(array, lookup, len(self.values) if self.has_other else UNKNOWN, is_ordered(array.type))

    def label(self, parts: Sequence[int]) -> str | None:
        """Name a set of parts by its values; None for missing alone."""
        present = len(self.values) + self.has_other
        if list(parts) == [present]:
            return None
        if self.named is not None:
            return _named(self.named, parts)
        if sum(part < present for part in parts) == present:
            return MASK
        names = (*self.values, *[self.other_label][: self.has_other], *[self.missing_label][: self.has_missing])
        inside = [names[part] for part in parts]
        outside = [name for part, name in enumerate(names) if part not in set(parts)]
        if len(inside) > _LONG and len(outside) < len(inside):
            return "not " + "|".join(outside)
        return "|".join(inside)

    @property
    def shown_other(self) -> str | None:
        """Label of all values that are not listed, where there are any."""
        return self.other_label if self.has_other else None

    @property
    def shown_missing(self) -> str | None:
        """Label of a missing value, where there is any."""
        return self.missing_label if self.has_missing else None

    @property
    def groups(self) -> tuple[DeclaredGroup, ...] | None:
        """The declared groups, as `params.json` has them."""
        return _groups(self.named)

    @classmethod
    def of_labels(
        cls,
        *,
        name: str,
        values: tuple[str, ...],
        other: bool,
        missing: bool,
        other_label: str | None = None,
        missing_label: str | None = None,
        groups: tuple[DeclaredGroup, ...] | None = None,
    ) -> Self:
        """Return the axis that `params.json` states; its labels are those that follow from the values."""
        axis = cls(name=name, values=values, has_other=other, has_missing=missing, named=_pairs(groups))
        if other_label not in (None, axis.other_label) or missing_label not in (None, axis.missing_label):
            raise ValueError("a label that the values do not leave")
        return axis


def _free_name(name: str, taken: Sequence[str]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free


@dataclass(frozen=True, kw_only=True)
class UnchangedAxis(ReportPart, keys=("name", "kind")):
    """A column released as it is."""

    kind: ClassVar[str] = "kept"
    name: str


@dataclass(frozen=True, kw_only=True)
class MeanAxis(UnchangedAxis, keys=("name", "kind", "unit")):
    """A column of numbers of which every row shows the mean of its group, one of the centroids of the recoding."""

    kind: ClassVar[str] = "means"
    unit: float
    """Means are multiples of it, above 0."""

    def __post_init__(self) -> None:
        if not 0 < self.unit < math.inf:
            raise ValueError("a unit above 0")


@dataclass(frozen=True, kw_only=True)
class Grouping(ReportPart, keys=("**axis", "labels", "coarser")):
    """An axis with its parts merged into labelled groups; a null label is missing."""

    axis: IntervalAxis | CategoryAxis
    labels: tuple[str | None, ...]
    """Label of each part, length `axis.size`; parts with one label are one group."""
    coarser: tuple[tuple[str | None, ...], ...] | None = field(default=None, metadata=left_out())
    """Labels of the parts at every level above, the finer first; None where no level is declared or written out."""
    unreleased: frozenset[int] = field(default=frozenset(), compare=False)
    """Parts whose rows are left out of this one release: fewer than k rows of its source have their declared groups.
    Not published: in the next batch other groups are small."""

    def __post_init__(self) -> None:
        if any(len(labels) != self.axis.size for labels in (self.labels, *(self.coarser or ()))):
            raise ValueError("a label for each part of the axis")

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.axis.name


def unique_labels(labels: Sequence[str | None], groups: Sequence[int]) -> tuple[str | None, ...]:
    """Return labels such that two parts share one exactly when they are in one group."""
    owner: dict[str | None, int] = {}
    renamed: dict[int, str | None] = {}
    for label, group in zip(labels, groups, strict=True):
        if group in renamed:
            continue
        candidate, number = label, 1
        while owner.setdefault(candidate, group) != group:
            number += 1
            candidate = f"{label if label is not None else 'missing'} ({number})"
        renamed[group] = candidate
    return tuple(renamed[group] for group in groups)
