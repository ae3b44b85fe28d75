# SPDX-License-Identifier: Apache-2.0
"""Labels of intervals as two numbers, lowest and highest value, for releases that show them as plain columns.

Of integers both ends are in the interval: [30, 40) is 30 and 39. Of other numbers the highest is the first number
after the interval, as in the label: [1.5, 2.5) is 1.5 and 2.5. A single number is its own lowest and highest value. An
open end, and a part of `*`, has no number. Two labels with one pair are refused where rows show both: the
classes that the numbers make would not be those that were counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from anonkit.errors import ParameterError, option
from anonkit.published.recoding import MASK, IntervalAxis, recoding_from_dict
from anonkit.published.recoding.label_parts import Labels, labels_of

_WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
_FLOATS = ("float", "double", "halffloat")
_ENDS, _MEAN = ("low", "high"), "mean"
_HINT = f"{option('cells', 'labels')} shows both as they are"
_WITHOUT_MISSING = '; missing = "drop" in the policy leaves rows with missing cells out'

Pair = tuple[float | None, float | None]


def bounds_of_labels(
    params: Mapping[str, Any],
    released: Collection[str],
    shown: Callable[[str], Collection[str | None]],
    *,
    steps: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return the bounds of every label, by column, in their form in `params.json`.

    Columns of intervals of numbers have some; dates, places, categories, decimals and unsigned numbers of 64 bits stay
    labels, and so do columns that are released as they are.

    Parameters
    ----------
    params : mapping
        Those of the draft: `columns` and `recoding`.
    released : collection of str
        Names of the columns that are released.
    shown : callable
        Given the name of a released column: the labels that its rows show. Others, which the next batch may show, have
        a pair where it is that of no other label.
    steps : mapping of column name to float, optional
        Given, means are shown beside the bounds: the declared steps of numbers. Open ends are then the declared bounds.

    Raises
    ------
    ParameterError
        A name that a bound would get is taken, or two labels that rows of a column show would have one pair.

    Privacy
    -------
    A function of the recoding and of the released labels, both published, and one to one on these: the rows show
    neither more nor less.
    """
    recoding = recoding_from_dict(params["recoding"])
    declared = {column["name"]: column for column in params["columns"]}
    taken = {*declared, *released}
    found: dict[str, Any] = {}
    for name, (axis, labels) in labels_of(recoding).items():
        kind = declared[name]["type"]
        is_number = not declared[name].keys() & {"calendar", "place"} and kind in (*_WHOLE, *_FLOATS)
        if name not in released or not isinstance(axis, IntervalAxis) or not is_number:
            continue
        means = steps is not None
        names = {end: f"{name}_{end}" for end in (*_ENDS, *([_MEAN] if means else []))}
        for given in names.values():
            if given in taken:
                raise ParameterError(
                    f"column {name!r} cannot be shown as bounds: there is a column {given!r}", "rename it"
                )
        taken |= set(names.values())
        bounds = declared[name].get("domain", {}).get("bounds") if means else None
        pairs = _pairs(axis, labels, shown(name), kind in _WHOLE, bounds)
        step = (steps or {}).get(name)
        found[name] = {
            **names,
            **({} if step is None else {"step": step}),
            "labels": [[label, *pair] for label, pair in pairs.items()],
        }
    return found


def _pairs(
    axis: IntervalAxis,
    labels: Labels,
    shown: Collection[str | None],
    whole: bool,
    bounds: Sequence[float] | None,
) -> dict[str | None, Pair]:
    """Return the pair of every label that rows show, and of the others those that are free."""
    named = {name: frozenset(parts) for name, parts in axis.named or ()}
    pairs: dict[str | None, Pair] = {}
    for label in sorted(labels, key=lambda label: (label not in shown, label is None, label or "")):
        pair = _pair(axis, label, named.get(label, labels[label]) if label is not None else labels[label], whole)
        pair = _closed(pair, label, whole, bounds)
        if pair not in pairs.values() and _is_interval(pair):
            pairs[label] = pair
        elif label in shown:
            raise ParameterError(
                f"column {axis.name!r} cannot be shown as bounds: two of its labels would have one pair of numbers, "
                "or one none" + (", with missing cells in one" if axis.has_missing else ""),
                _HINT + (_WITHOUT_MISSING if axis.has_missing else ""),
            )
    return pairs


def _closed(pair: Pair, label: str | None, whole: bool, bounds: Sequence[float] | None) -> Pair:
    """Return the ends of a label with the declared bounds for those that are open; a missing cell has none."""
    if bounds is None or label is None or label.split(" (")[0] == "missing":
        return pair
    low, high = (math.ceil(bounds[0]), math.floor(bounds[1])) if whole else (float(bounds[0]), float(bounds[1]))
    return low if pair[0] is None else pair[0], high if pair[1] is None else pair[1]


def _is_interval(pair: Pair) -> bool:
    low, high = pair
    if not all(math.isfinite(end) for end in pair if end is not None):
        return False
    return low is None or high is None or low <= high


def _pair(axis: IntervalAxis, label: str | None, parts: Collection[int], whole: bool) -> Pair:
    n_intervals = len(axis.cuts) + 1
    inside = [part for part in parts if part < n_intervals]
    if not inside or label == MASK:
        return None, None
    first, last = min(inside), max(inside)
    low = axis.cuts[first - 1] if first > 0 else None
    high = axis.cuts[last] if last < len(axis.cuts) else None
    if whole:
        return _ceil(low), None if high is None else _ceil(high) - 1  # type: ignore[operator]
    if label is not None and _spelled(label) and low is not None:
        return float(low), float(low)  # type: ignore[arg-type]
    return (None if low is None else float(low)), (None if high is None else float(high))  # type: ignore[arg-type]


def _ceil(point: Any) -> int | None:
    return None if point is None else math.ceil(point)


def _spelled(label: str) -> bool:
    """Return True if a label is a number, the only one of its interval."""
    try:
        return math.isfinite(float(label))
    except ValueError:
        return False
