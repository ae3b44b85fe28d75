# SPDX-License-Identifier: Apache-2.0
"""Cells of one released column as numbers: ends and middle of an interval, shares of a set; never NaN.

A label means a set of parts of its column (`anonkit.published.recoding.axes`). An interval becomes its lowest and
its highest value and the middle of the two; a set of categories, a group of a tree too, becomes the share that each
of its m members has when nothing else is known, 1/m. `*` is the set of all parts, and so is a value that the release
does not cover. Missing has an indicator of its own where released rows can show it. A cell in the original
values is the interval, or the set, of this one value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.domains.cell_values import cell_texts
from anonkit.domains.coded_columns import FloatArray, is_ordered
from anonkit.domains.named_parts import Point, place, point_from_text
from anonkit.errors import SourceError
from anonkit.published.recoding import MASK, CategoryAxis, IntervalAxis, Recoding, with_levels
from anonkit.published.recoding.recodings import LabelParts, labels_of

_DAY = 86_400_000_000
"""Microseconds of a day: dates and times become days since 1970."""
_ENDS = ("low", "high", "mid")


class CellFeatures(Protocol):
    """The map from the cells of one column to numbers."""

    @property
    def name(self) -> str:
        """Name of the column."""
        ...

    def names(self, column: str) -> tuple[str, ...]:
        """Return the name of every feature of a column that is called so."""
        ...

    def features(self, array: pa.Array) -> FloatArray:
        """Return the features of every cell, shape (len(array), n_features)."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class IntervalCells:
    """Intervals of numbers, dates or times: the lowest value, the highest, and the middle."""

    name: str
    axis: IntervalAxis
    labels: LabelParts
    whole: bool
    """True: the column holds integers, or days, so that the highest value below 40 is 39."""
    bounds: tuple[float, float] | None
    """Declared bounds, which end the outermost intervals; without them they end as `_open_ends` says."""
    missing: frozenset[str] = frozenset()
    """Strings that meant missing in the source."""

    def names(self, column: str) -> tuple[str, ...]:
        """Return the names of low, high and middle, and of missing where the release has it."""
        return (*(f"{column}_{end}" for end in _ENDS), *_indicator(column, self.axis.has_missing))

    def features(self, array: pa.Array) -> FloatArray:
        """Return low, high, middle, and the share of missing where the release has it, shape (len(array), 3 or 4).

        Raises
        ------
        SourceError
            A cell is neither a label of the release nor a number (a date).
        """
        if isinstance(array, pa.DictionaryArray):
            array = array.dictionary_decode()
        if is_ordered(array.type) and not (self._is_calendar and not pa.types.is_temporal(array.type)):
            values = _numbers(array, self.name)
            features = np.column_stack([values, values, values, np.zeros(len(values))][: self._width])
            features[np.isnan(values)] = self._missing
            return features
        return _by_text(array, self._of_text, self._width, self.name, "labels of this release nor numbers or dates")

    @property
    def _is_calendar(self) -> bool:
        return any(isinstance(cut, date) for cut in self.axis.cuts)

    @property
    def _width(self) -> int:
        return len(_ENDS) + self.axis.has_missing

    @property
    def _missing(self) -> Sequence[float]:
        """A cell without a value: any number, and missing for certain."""
        return (*self._hull(frozenset()), 1.0)[: self._width]

    def _of_text(self, text: str | None) -> Sequence[float] | None:
        if text == MASK:
            return self._of_parts(frozenset(range(self.axis.size)))
        if text in self.labels:
            return self._of_parts(self.labels[text])
        if text is None or text in self.missing:
            return self._missing
        try:
            value = _as_number(point_from_text(text.strip()))
        except ValueError:
            return None
        return None if math.isinf(value) else (value, value, value, 0.0)[: self._width]

    def _of_parts(self, parts: frozenset[int]) -> Sequence[float]:
        n_intervals = len(self.axis.cuts) + 1
        share = 1 / len(parts) if n_intervals in parts else 0.0
        return (*self._hull(frozenset(part for part in parts if part < n_intervals)), share)[: self._width]

    def _hull(self, inside: frozenset[int]) -> tuple[float, float, float]:
        """Return lowest value, highest value and middle of some intervals; of none, and of all, those of the column."""
        cuts = [_as_number(cut) for cut in self.axis.cuts]
        lowest, highest = self._open_ends(cuts)
        if not inside or len(inside) > len(cuts):
            return lowest, highest, (lowest + highest) / 2
        first, last = min(inside), max(inside)
        low = cuts[first - 1] if first > 0 else None
        high = cuts[last] if last < len(cuts) else None
        if high is not None and self.whole:
            high = math.ceil(high) - 1.0
        if low is not None and self.whole:
            low = float(math.ceil(low))
        if low is None:
            low = min(lowest, math.inf if high is None else high)
        if high is None:
            high = max(highest, low)
        return low, high, (low + high) / 2

    def _open_ends(self, cuts: Sequence[float]) -> tuple[float, float]:
        """Return the begin of the lowest interval and the end of the highest: at the bounds, or the outermost cuts.

        One cut of other than integers would be both, and its two sides one point: they reach half its size from
        it, 1 from zero, so that the cut stays in the middle between what a model has seen of either side.
        """
        if self.bounds is not None:
            return self.bounds
        if not cuts:  # nothing is known of the column: every cell has the same features
            return 0.0, 0.0
        if len(cuts) == 1 and not self.whole:
            reach = abs(cuts[0]) / 2 or 1.0
            return cuts[0] - reach, cuts[0] + reach
        return cuts[0], cuts[-1]


@dataclass(frozen=True, kw_only=True, eq=False)
class SetCells:
    """Sets of categories: the share of each listed value, of all others, and of missing."""

    name: str
    axis: CategoryAxis
    labels: LabelParts
    missing: frozenset[str] = frozenset()
    """Strings that meant missing in the source."""

    def names(self, column: str) -> tuple[str, ...]:
        """Return a name for each value, then for others and for missing where there are such."""
        axis = self.axis
        others = (axis.other_label,) if axis.has_other else ()
        values = (*axis.values, *others, *((axis.missing_label,) if axis.has_missing else ()))
        return tuple(f"{column}={value}" for value in values)

    def features(self, array: pa.Array) -> FloatArray:
        """Return the shares of every cell, shape (len(array), n_features), each row of sum 1.

        A value that the release does not list is one of the others; where there are none, it has equal shares of all.
        """
        return _by_text(cell_texts(array), self._of_text, self.axis.size, self.name, "")

    def _of_text(self, text: str | None) -> FloatArray:
        shares = np.zeros(self.axis.size)
        if text in self.labels:
            shares[list(self.labels[text])] = 1 / len(self.labels[text])
        elif text in self.axis.values:
            shares[self.axis.values.index(text)] = 1.0
        elif (text is None or text in self.missing) and self.axis.has_missing:
            shares[-1] = 1.0
        elif text not in (None, MASK, *self.missing) and self.axis.has_other:
            shares[len(self.axis.values)] = 1.0
        else:
            shares[:] = 1 / self.axis.size
        return shares


@dataclass(frozen=True, kw_only=True, eq=False)
class PlainNumbers:
    """A column of numbers, dates or truth values that was not recoded: itself."""

    name: str
    middle: float = 0.0
    """Substitute for a missing cell: the median of the cells that the column was learned from."""
    has_missing: bool = False
    """True where some of them were missing: then missing has an indicator."""

    @classmethod
    def learned(cls, name: str, array: pa.Array) -> PlainNumbers:
        """Learn the median of a column, and whether cells of it are missing.

        Raises
        ------
        SourceError
            A cell is infinite.
        """
        values = cls(name=name)._values(array)
        there = values[~np.isnan(values)]
        middle = float(np.median(there)) if len(there) else 0.0
        return cls(name=name, middle=middle, has_missing=len(there) < len(values))

    def names(self, column: str) -> tuple[str, ...]:
        """Return the name of the column itself, and of its indicator."""
        return (column, *_indicator(column, self.has_missing))

    def features(self, array: pa.Array) -> FloatArray:
        """Return the number of every cell, and whether it is missing, shape (len(array), 1 or 2).

        Raises
        ------
        SourceError
            A cell is no number.
        """
        values = self._values(array)
        missing = np.isnan(values)
        return np.column_stack([np.where(missing, self.middle, values), missing][: 1 + self.has_missing])

    def _values(self, array: pa.Array) -> FloatArray:
        if isinstance(array, pa.DictionaryArray):
            array = array.dictionary_decode()
        kind = array.type
        if pa.types.is_boolean(kind) or pa.types.is_null(kind):
            array = array.cast(pa.float64()) if pa.types.is_null(kind) else array.cast(pa.int8())
        elif not is_ordered(kind):
            return _by_text(cell_texts(array), _number_of, 1, self.name, "numbers, as it was fitted on, nor dates")[
                :, 0
            ]
        return _numbers(array, self.name)


@dataclass(frozen=True, kw_only=True, eq=False)
class TextIndicators:
    """A column of strings that was not recoded: one indicator for each of some values."""

    name: str
    values: tuple[str, ...]
    has_missing: bool = False
    """True where some of the cells that it was learned from were missing: then missing has an indicator."""

    def names(self, column: str) -> tuple[str, ...]:
        """Return a name for each value, and for missing."""
        return (*(f"{column}={value}" for value in self.values), *_indicator(column, self.has_missing))

    @classmethod
    def learned(cls, name: str, array: pa.Array, most: int | None) -> TextIndicators:
        """Take the values of a column, the commonest ones where there are more than `most`, in their order as text."""
        texts = cell_texts(array)
        counts = pc.value_counts(texts.drop_null())
        seen = sorted(zip((-counts.field(1).to_numpy()).tolist(), counts.field(0).to_pylist(), strict=True))
        values = tuple(sorted(value for _, value in seen[:most]))
        return cls(name=name, values=values, has_missing=texts.null_count > 0)

    def features(self, array: pa.Array) -> FloatArray:
        """Return 1 where a cell has a value and 0 elsewhere, shape (n, n_values), or one more for missing."""
        places = {value: at for at, value in enumerate(self.values)}
        width = len(self.values) + self.has_missing

        def of_text(text: str | None) -> FloatArray:
            row = np.zeros(width)
            if text in places:
                row[places[text]] = 1.0
            elif text is None:
                row[len(self.values) :] = 1.0
            return row

        return _by_text(cell_texts(array), of_text, width, self.name, "")


def _indicator(column: str, has_missing: bool) -> tuple[str, ...]:
    return (f"{column}_missing",) if has_missing else ()


Row = Sequence[float] | FloatArray


def _by_text(
    array: pa.Array, row_of: Callable[[str | None], Row | None], width: int, name: str, kinds: str
) -> FloatArray:
    """Return the features of every cell by its string, each distinct one looked up once."""
    texts = array if pa.types.is_string(array.type) else cell_texts(array)
    encoded = pc.dictionary_encode(texts)
    rows = [row_of(text) for text in (*encoded.dictionary.to_pylist(), None)]
    indices = pc.fill_null(encoded.indices, len(rows) - 1).to_numpy(zero_copy_only=False)
    strange = [at for at, row in enumerate(rows) if row is None]
    if strange:
        count = int(np.isin(indices, strange).sum())
        raise SourceError(f"column {name!r} has {count} cells that are neither {kinds}", "make them missing")
    table = np.array([row for row in rows if row is not None], dtype=np.float64).reshape(len(rows), width)
    return np.asarray(table[indices.astype(np.int64)])


def _numbers(array: pa.Array, name: str) -> FloatArray:
    """Return cells as floats, dates and timestamps as days since 1970, times of day in days, missing as NaN."""
    kind = array.type
    if pa.types.is_date(kind):
        array = array.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        array = pc.divide(array.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64()).cast(pa.float64()), _DAY)
    elif pa.types.is_time(kind):
        array = pc.divide(array.cast(pa.time64("us"), safe=False).cast(pa.int64()).cast(pa.float64()), _DAY)
    floats = pc.fill_null(array.cast(pa.float64(), safe=False), math.nan).to_numpy(zero_copy_only=False)
    values = np.asarray(floats, dtype=np.float64)
    if np.isinf(values).any():
        raise SourceError(f"column {name!r} holds infinite numbers", "make them missing, or the bound they passed")
    return values


def _number_of(text: str | None) -> tuple[float] | None:
    if text is None or not text.strip():
        return (math.nan,)
    try:
        value = _as_number(point_from_text(text.strip()))
    except ValueError:
        return None
    return None if math.isinf(value) else (value,)


def _as_number(point: Point) -> float:
    if isinstance(point, datetime) and point.tzinfo is None:
        point = point.replace(tzinfo=UTC)
    return float(place(point)) / _DAY if isinstance(point, date | time) else float(point)


def recoded_cells(params: Mapping[str, Any], recoding: Recoding) -> dict[str, CellFeatures]:
    """Return the encoding of each recoded column's cells as numbers, by the params of its release.

    Rows of the next batch may show the coarser steps of the recoding: their labels are among those that are read.

    Raises
    ------
    LookupError, TypeError, ValueError
        The params are damaged.
    """
    declared = {column["name"]: column for column in params["columns"]}
    missing = frozenset(params["missing_values"])
    cells: dict[str, CellFeatures] = {}
    for name, (axis, labels) in labels_of(with_levels(recoding)).items():
        if isinstance(axis, CategoryAxis):
            cells[name] = SetCells(name=name, axis=axis, labels=labels, missing=missing)
            continue
        bounds = declared[name].get("domain", {}).get("bounds")
        cells[name] = IntervalCells(
            name=name,
            axis=axis,
            labels=labels,
            whole=str(declared[name]["type"]).startswith(("int", "uint", "date")),
            bounds=None if bounds is None else (float(bounds[0]), float(bounds[1])),
            missing=missing,
        )
    return cells
