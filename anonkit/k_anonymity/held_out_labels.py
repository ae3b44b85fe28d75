# SPDX-License-Identifier: Apache-2.0
"""Rows whose labels no search sees: a secret random fifth, on which the usefulness of the release is measured.

A search that saw every label fits the noise of these labels, and a model that is scored on the same rows finds that
noise again. So a fifth of the rows is marked before the search. Only their labels are hidden, and only from the search
for quality: classes, suppression and the conditions on sensitive values are counted on all rows. The marked rows come
first in the released file.

Labels of intervals as two numbers, lowest and highest value, for releases that show them as plain columns.

Of integers both ends are in the interval: [30, 40) is 30 and 39. Of other numbers the highest is the first number
after the interval, as in the label: [1.5, 2.5) is 1.5 and 2.5. A single number is its own lowest and highest value. An
open end, and a part of `*`, has no number. Two labels with one pair are refused where rows show both: the
classes that the numbers make would not be those that were counted.

The labels of a recoding with what each means, as the descriptor of a release lists them for readers without anonkit.

An interval has the bounds `low <= value < high`, null where it is open; a set of categories has its values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.domains.named_parts import Point, point_text
from anonkit.errors import ParameterError, option
from anonkit.k_anonymity.contribution_bounds import KeysOfUsable
from anonkit.k_anonymity.violating_classes import WithValue
from anonkit.parameters import parameter
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Source
from anonkit.published.recoding import MASK, CategoryAxis, IntervalAxis, recoding_from_dict
from anonkit.published.recoding.recodings import LabelParts, labels_of
from anonkit.randomness import Randomness, keyed_words

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
    labels: LabelParts,
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


MOST_LISTED = 20_000
"""Labels and values that are listed of one column; a column that needs more has no list."""


def label_entries(params: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the labels of each recoded column, in the order of their parts.

    Parameters
    ----------
    params : mapping
        Those of a release. Without a recoding no column has labels; neither has a column of places, whose cells the
        params outline.

    Returns
    -------
    dict
        By column, `{label, low, high}` of an interval and `{label, values}` of categories. `*` has no bounds and no
        values. A bound is a number, or a string where JSON would round it: dates, moments, long decimals.

    Privacy
    -------
    A function of the published params.
    """
    if "recoding" not in params:
        return {}
    places = {column["name"] for column in params["columns"] if "place" in column}
    found = {}
    for name, (axis, labels) in labels_of(recoding_from_dict(params["recoding"])).items():
        if name not in places:
            entries = _entries(axis, labels)
            if sum(1 + len(entry.get("values", ())) for entry in entries) <= MOST_LISTED:
                found[name] = entries
    return found


def _entries(axis: IntervalAxis | CategoryAxis, labels: LabelParts) -> list[dict[str, Any]]:
    groups = {name: frozenset(parts) for name, parts in axis.named or ()}
    parts = {label: sorted(groups.get(label, own_parts)) for label, own_parts in labels.items() if label is not None}
    order = sorted(parts, key=lambda label: (label == MASK, parts[label], label))
    if isinstance(axis, IntervalAxis):
        return [{"label": label, **_bounds(axis, label, parts[label])} for label in order]
    names = _names(axis)
    return [
        {"label": label, **({} if label == MASK else {"values": [names[part] for part in parts[label]]})}
        for label in order
    ]


def _names(axis: CategoryAxis) -> list[str]:
    added = ((axis.other_label, axis.has_other), (axis.missing_label, axis.has_missing))
    return [*axis.values, *(name for name, there in added if there)]


def _bounds(axis: IntervalAxis, label: str, parts: Collection[int]) -> dict[str, Any]:
    inside = [part for part in parts if part <= len(axis.cuts)]
    if not inside or label == MASK:
        return {"low": None, "high": None}
    first, last = min(inside), max(inside)
    return {
        "low": _plain(axis.cuts[first - 1]) if first > 0 else None,
        "high": _plain(axis.cuts[last]) if last < len(axis.cuts) else None,
    }


def _plain(point: Point) -> float | str:
    """Return a cut as a number where JSON keeps its text, else as the text that labels have."""
    text = point_text(point)
    try:
        number = int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text
    return number if str(number) == text and abs(number) <= 2**53 else text


SHARE = 5
"""One in so many rows is marked."""
LEAST = 1_750
"""Rows below which none is marked: a fifth of them could be fewer than the three hundred that a figure needs."""
_WORD_BITS = 64


def all_labels_parameter() -> bool:
    """Declare the parameter of a method whose search may look at every label."""
    declared: bool = parameter(
        default=False,
        range="on or off",
        help="choose the detail by the labels of all rows; then no figure of prediction is public",
        silent=True,
    )
    return declared


def one_row_each(source: Source, unit: str | None, engine: Engine, needed: Sequence[str] = ()) -> bool:
    """Return True if no person has two rows; without a unit rows are independent.

    Parameters
    ----------
    unit : str, optional
        Column whose distinct values are people.
    needed : sequence of str
        Columns whose missing cells drop their row, which then counts for nobody.

    Privacy
    -------
    The answer is public: a figure of prediction is stated where it is yes.
    """
    if unit is None:
        return True
    keys = KeysOfUsable(unit=unit, needed=needed)
    schema = pa.schema([(unit, pa.string())])
    people = engine.map_batches(source, keys, schema, same_rows=True)
    sizes = engine.class_sizes(engine.map_batches(people, WithValue(unit), schema), (unit,), 1)
    return all(size == 1 for size, _ in sizes.histogram)


def held_out_labels(source: Source, policy: Policy, engine: Engine, randomness: Randomness) -> tuple[Source, str]:
    """Mark the rows whose labels the search does not see; return the table with the column of marks, and its name.

    Parameters
    ----------
    randomness : Randomness
        The same one marks the same rows of the same table.

    Privacy
    -------
    Whether a row is marked depends on the secret key and on its number alone: on no cell of it or of another row. The
    order of the released file shows which rows were marked, which discloses nothing of a row. Where a person has
    several rows and no unit is declared, as many marks as rows are independent of each other: the order connects no two
    rows.
    """
    mark = "held out"
    while mark in source.schema.names or mark in policy.columns:
        mark += "_"
    function = MarkRows(mark=mark, key=randomness.key("held-out labels"))
    return engine.map_batches(source, function, function.schema(source.schema), same_rows=True), mark


@dataclass(frozen=True, kw_only=True, eq=False)
class MarkRows:
    """Batch function that marks a random fifth of the rows by secret words of their numbers."""

    mark: str
    key: bytes
    """Secret key of the draw, 32 bytes."""

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of the batches it makes."""
        return schema.append(pa.field(self.mark, pa.bool_()))

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the batch with the mark of every row."""
        words = keyed_words(self.key, 0, row, batch.num_rows, word_bits=_WORD_BITS).reshape(-1)
        marks = pa.array(words.astype(np.uint64, copy=False) < np.uint64((1 << _WORD_BITS) // SHARE))
        return pa.RecordBatch.from_arrays([*batch.columns, marks], schema=self.schema(batch.schema))
