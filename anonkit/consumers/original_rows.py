# SPDX-License-Identifier: Apache-2.0
"""Rows in the original values, shown as a k-anonymous release shows such rows, whether or not k holds among them.

What a cell is, is read off the cell alone: a label of the release stays what it is, anything else is a value. One that
is both is a group of this one value, and is shown as itself either way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.consumers.columns import Columns
from anonkit.domains.coded_columns import BoolArray, IntArray, is_ordered
from anonkit.domains.domain_codes import cell_texts
from anonkit.domains.named_parts import Point, place, point_from_text
from anonkit.errors import SourceError
from anonkit.published.recoding import MASK, CategoryAxis, GlobalRecoding, Grouping, IntervalAxis, LocalRecoding
from anonkit.published.recoding.axes import UNKNOWN
from anonkit.published.recoding.recodings import LabelParts


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadAxis:
    """The cells of one recoded column: which are labels, and the parts of those that are values."""

    is_label: BoolArray
    """Cells that only a released row shows."""
    codes: IntArray
    """Part of each other cell, `UNKNOWN` where the recoding does not cover it."""

    @classmethod
    def of(
        cls, axis: IntervalAxis | CategoryAxis, labels: LabelParts, array: pa.Array, missing: frozenset[str]
    ) -> ReadAxis:
        """Read a column by the axis of its recoding; strings in `missing` are missing."""
        if isinstance(array, pa.DictionaryArray):
            array = array.dictionary_decode()
        if isinstance(axis, IntervalAxis) and is_ordered(array.type):
            calendar = any(isinstance(cut, date) for cut in axis.cuts)
            if calendar == bool(pa.types.is_temporal(array.type)):
                return cls(is_label=np.zeros(len(array), dtype=bool), codes=axis.codes(array))
        encoded = pc.dictionary_encode(cell_texts(array))
        texts = [*encoded.dictionary.to_pylist(), None]
        places = pc.fill_null(encoded.indices, len(texts) - 1).to_numpy(zero_copy_only=False).astype(np.int64)
        values = [None if text in missing else text for text in texts]
        codes = _category_codes(axis, values) if isinstance(axis, CategoryAxis) else _interval_codes(axis, values)
        own = [
            text is None or (text in labels and labels[text] == {code}) for text, code in zip(texts, codes, strict=True)
        ]
        is_label = np.array(
            [(text in labels or text == MASK) and not alone for text, alone in zip(texts, own, strict=True)]
        )
        return cls(is_label=is_label[places], codes=codes[places])


def _category_codes(axis: CategoryAxis, values: list[str | None]) -> IntArray:
    return axis.codes(pa.array(values, pa.string()))


def _interval_codes(axis: IntervalAxis, values: list[str | None]) -> IntArray:
    """Return the parts of numbers or dates that are spelled out; `UNKNOWN` for every other string."""
    points = [None if value is None else _point(value) for value in values]
    if any(isinstance(cut, date) for cut in axis.cuts):
        known = [isinstance(point, date) for point in points]
        array = pa.array([place(p) if k else None for p, k in zip(points, known, strict=True)], pa.int64()).cast(  # type: ignore[arg-type]
            pa.timestamp("us", "UTC")
        )
    else:
        known = [point is not None and not isinstance(point, date) for point in points]
        array = pa.array([float(p) if k else None for p, k in zip(points, known, strict=True)], pa.float64())  # type: ignore[arg-type]
    missing = np.array([value is None for value in values])
    return np.where(np.array(known) | missing, axis.codes(array), UNKNOWN)


def _point(text: str) -> Point | None:
    try:
        point = point_from_text(text.strip())
    except ValueError:
        return None
    return point.replace(tzinfo=UTC) if isinstance(point, datetime) and point.tzinfo is None else point


def shown_as_released(
    data: Columns,
    recoding: GlobalRecoding | LocalRecoding,
    labels: Mapping[str, tuple[IntervalAxis | CategoryAxis, LabelParts]],
    missing: frozenset[str],
) -> dict[str, pa.Array]:
    """Return the recoded columns of a table as the release shows them; a row that is not covered shows `*`.

    Parameters
    ----------
    data : Columns
        Released rows, rows in the original values, or some of each.
    labels : mapping
        Axis and labels of each recoded column.
    missing : frozenset of str
        Strings that meant missing in the source.

    Raises
    ------
    SourceError
        A local recoding asks for a column that rows in the original values do not have.
    """
    read = {
        name: ReadAxis.of(axis, of_axis, data.array(name), missing)
        for name, (axis, of_axis) in labels.items()
        if name in data
    }
    if isinstance(recoding, GlobalRecoding):
        shown: dict[str, pa.Array] = {}
        for column in recoding.columns:
            if isinstance(column, Grouping) and column.name in read:
                one = read[column.name]
                shown[column.name] = _replaced(data.array(column.name), one.is_label, (*column.labels, MASK), one.codes)
        return shown
    if not read:
        return {}
    released = np.any([one.is_label for one in read.values()], axis=0)
    if released.all():
        return {}
    absent = [axis.name for axis in recoding.axes if axis.name not in read]
    if absent:
        raise SourceError(
            f"rows in the original values need column {absent[0]!r} to be recoded as the release was",
            "the boxes of this release differ in it; or leave recode out",
        )
    codes = [read[axis.name].codes for axis in recoding.axes]
    unknown = np.any([column == UNKNOWN for column in codes], axis=0)
    leaves = recoding.leaves([np.maximum(column, 0) for column in codes])
    boxes = recoding.boxes()
    row_of = np.zeros(len(recoding.nodes), dtype=np.int64)
    row_of[list(boxes)] = np.arange(len(boxes))
    places = np.where(unknown, UNKNOWN, row_of[leaves])
    return {
        axis.name: _replaced(data.array(axis.name), released, (*(box[at] for box in boxes.values()), MASK), places)
        for at, axis in enumerate(recoding.axes)
    }


def _replaced(array: pa.Array, is_published: BoolArray, texts: tuple[Any, ...], places: IntArray) -> pa.Array:
    """Return cells with those that are not kept replaced by the string at their index; the last string is at -1."""
    replaced = pa.array(texts, pa.string()).take(pa.array(np.where(places < 0, len(texts) - 1, places)))
    return pc.if_else(pa.array(is_published), cell_texts(array), replaced) if is_published.any() else replaced
