# SPDX-License-Identifier: Apache-2.0
"""Labels of a population's people in a release: the published recoding, computed independently.

By the recoding of `params.json` alone, and by code of its own: the rows that a method has made are not used.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.checks.recoded_labels import AxisParts
from anonkit.checks.sameness import named
from anonkit.checks.shown_boxes import shown_by_box, within
from anonkit.errors import UncheckedError

Codes = NDArray[np.int64]
_DAY = 86_400 * 10**9
_IN_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NOWHERE = -1


def needed_columns(recoding: Mapping[str, Any]) -> list[str]:
    """Return the columns whose cells say what a person would show.

    Raises
    ------
    UncheckedError
        Small groups were merged: which of them is not published, so that nobody can say what somebody else would show.
    LookupError, TypeError
        The recoding is none.
    """
    if "centroids" in recoding:
        raise UncheckedError(
            "rows show the mean of their group, and no file tells which group a person of a population would be in",
            "leave the population file out",
        )
    if recoding.get("merged"):
        raise UncheckedError(
            "small groups of this batch show coarser labels, and no file tells which people of a population would",
            "leave the population file out",
        )
    return [name for name, _ in named(recoding["axes" if recoding["kind"] == "local" else "columns"])]


def labels_of_people(cells: pa.Table, recoding: Mapping[str, Any]) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
    """Return the labels of people in every recoded column, and which of them would be released at all.

    Parameters
    ----------
    cells : Table
        The columns of `needed_columns`, as they are declared, one row a person or a kind of person.
    recoding : mapping
        The block of the params.

    Returns
    -------
    labels : dict
        By column: a string, or the cell itself where the column is kept; arrays of shape (n_rows,).
    placed : array of bool, shape (n_rows,)
        False where the recoding has no part for a cell: nobody who shows it is in the release.

    Raises
    ------
    LookupError, TypeError, ValueError
        The recoding is none.
    """
    placed = np.ones(cells.num_rows, dtype=bool)
    shown: dict[str, pa.Array] = {}
    codes: list[Codes] = []
    axes: list[AxisParts] = []
    local = recoding["kind"] == "local"
    for name, column in named(recoding["axes" if local else "columns"]):
        array = cells.column(name).combine_chunks()
        if column["kind"] == "kept":
            shown[name] = array
            continue
        axis = AxisParts.of(column)
        at = _parts(array, axis)
        placed &= at != _NOWHERE
        if local:
            axes.append(axis)
            codes.append(at)
        else:
            shown[name] = pa.array(column["labels"], pa.string()).take(pa.array(np.maximum(at, 0)))
    if local:
        names = [name for name, _ in named(recoding["axes"])]
        boxes = _boxes(codes, axes, recoding, placed)
        shown = dict(zip(names, boxes, strict=True))
    return shown, placed


def _boxes(
    codes: Sequence[Codes], axes: Sequence[AxisParts], recoding: Mapping[str, Any], placed: NDArray[np.bool_]
) -> list[pa.Array]:
    """Return what rows show whose parts of every axis are these: those of the box that a tree of splits leads to.

    Rows that are outside what their box shows are no longer `placed`.
    """
    label_of: list[dict[frozenset[int], str | None]] = [{} for _ in axes]
    shown = [np.full(placed.size, None, dtype=object) for _ in axes]
    nodes, narrow = recoding["nodes"], shown_by_box(recoding, [axis.size for axis in axes])
    waiting = [(0, np.flatnonzero(placed), [frozenset(range(axis.size)) for axis in axes])]
    while waiting:
        number, inside, region = waiting.pop()
        if not inside.size:
            continue
        node = nodes[number]
        if node is None:
            region = within(narrow[number], region) if narrow else region
            for at, parts in enumerate(region):
                if narrow:
                    placed[inside] &= np.isin(codes[at][inside], sorted(parts))
                if parts not in label_of[at]:
                    label_of[at][parts] = axes[at].label(parts)
                shown[at][inside] = label_of[at][parts]
            continue
        at, left = node["axis"], frozenset(node["left"])
        goes_left = np.isin(codes[at][inside], sorted(left))
        for child, members, side in (
            (node["children"][0], inside[goes_left], region[at] & left),
            (node["children"][1], inside[~goes_left], region[at] - left),
        ):
            waiting.append((child, members, [*region[:at], side, *region[at + 1 :]]))
    return [pa.array(column, pa.string()) for column in shown]


def _parts(array: pa.Array, axis: AxisParts) -> Codes:
    """Return the part of every cell, -1 where there is none for it, shape (len(array),)."""
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    place = _place_of_point(kind, axis) if axis.intervals else _place_of_value(axis)
    missing = axis.size - 1 if axis.has_missing else _NOWHERE
    of_values = np.array([*(place(value) for value in _values(encoded.dictionary, kind)), missing], np.int64)
    at = encoded.indices.fill_null(of_values.size - 1).to_numpy(zero_copy_only=False)
    return np.asarray(of_values[at], np.int64)


def _values(dictionary: pa.Array, kind: pa.DataType) -> list[Any]:
    """Return cells as they are compared with cuts: moments and times of day in nanoseconds."""
    if pa.types.is_timestamp(kind):
        scale = 10**9 // _IN_A_SECOND[kind.unit]
        return [value * scale for value in dictionary.cast(pa.int64()).to_pylist()]
    if pa.types.is_date(kind):
        return [value * _DAY for value in dictionary.cast(pa.date32()).cast(pa.int32()).to_pylist()]
    if pa.types.is_time(kind):
        return list(dictionary.cast(pa.time64("ns")).cast(pa.int64()).to_pylist())
    return list(dictionary.to_pylist())


def _place_of_point(kind: pa.DataType, axis: AxisParts) -> Callable[[Any], int]:
    """Return the function from a cell to its part between cuts."""
    if pa.types.is_floating(kind):
        cuts: list[Any] = [float(cut) for cut in axis.names]
    elif pa.types.is_temporal(kind):
        cuts = [_nanoseconds(cut) for cut in axis.names]
    else:
        cuts = [Decimal(cut) for cut in axis.names]
    return lambda value: bisect_right(cuts, value)


def _nanoseconds(text: str) -> int:
    """Return a cut of dates, moments or times of day as nanoseconds since 1970, or since midnight."""
    if ":" in text and "-" not in text.partition("T")[0]:
        clock = time.fromisoformat(text)
        return (((clock.hour * 60 + clock.minute) * 60 + clock.second) * 10**6 + clock.microsecond) * 1000
    moment = datetime.fromisoformat(text)
    since = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1000


def _place_of_value(axis: AxisParts) -> Callable[[Any], int]:
    """Return the function from a category to its part: its index in the list, that of all others, or none."""
    listed = axis.names[: axis.size - axis.has_other - axis.has_missing]
    place = {value: at for at, value in enumerate(listed)}
    other = len(listed) if axis.has_other else _NOWHERE
    return lambda value: place.get(_text(value), other)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
