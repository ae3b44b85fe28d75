# SPDX-License-Identifier: Apache-2.0
"""Check releases that show intervals as two columns of numbers: the numbers are those of the labels, one to one.

The numbers of a label are worked out again from its words. Then labels are read from the numbers of every row and
checked like those of any release, and the classes are counted on the numbers unchanged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.bound_columns import KEY, BoundColumn, Pair, bound_columns
from anonkit.bundle.data_files import read_schema
from anonkit.bundle.labelled_parts import labelled_rows
from anonkit.checks.disclosure import measure
from anonkit.checks.recoded_labels import labels_of
from anonkit.checks.sameness import named, none_of
from anonkit.checks.written_files import is_recoded
from anonkit.promises.guarantee import Check

_WHOLE = re.compile(r"u?int(8|16|32)|int64")
_FLOAT = re.compile(r"halffloat|float|double")
_NUMBERED = re.compile(r" \([0-9]+\)$")
_BETWEEN = re.compile(r"\[([^,]+), ([^,]+)\)")
_UNTOLD = (None, "*", "missing")


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """A release as labels, whatever its file shows."""

    data: Path
    """Its rows with labels."""
    schema: pa.Schema
    checks: tuple[Check, ...]
    readable: bool = True
    """False when a row has bounds of no label: there are no labels that could be checked."""


@contextmanager
def read_as_labels(data: Path, schema: pa.Schema, params: Mapping[str, Any]) -> Iterator[Labelled]:
    """Yield a release as labels; as it is where it shows labels.

    Parameters
    ----------
    data : path
        The Parquet file or folder.
    schema : pyarrow.Schema
        Its own.

    Raises
    ------
    ReleaseFormatError, LookupError, ValueError, TypeError, AttributeError
        The params are damaged, or a column is not there.
    """
    if KEY not in params or not is_recoded(params):
        yield Labelled(data=data, schema=schema, checks=())
        return
    columns = bound_columns(params)
    types = {name: str(column["type"]) for name, column in named(params["columns"])}
    made = labels_of(params["recoding"])
    declared = {name: column.get("domain", {}).get("bounds") for name, column in named(params["columns"])}
    checks = []
    for column in columns:
        bounds = None if column.mean is None else declared.get(column.name)
        wrong = wrong_bounds(column, types, schema, bounds) + left_out(column, types, made, bounds)
        checks.append(none_of(f"bounds:{column.name}", wrong))
    ends = [end for column in columns for end in column.names]
    checks.append(none_of("bound_names", len(ends) - len(set(ends)) + len(set(ends) & set(types))))
    if not all(check.passed for check in checks):
        yield Labelled(data=data, schema=schema, checks=tuple(checks), readable=False)
        return
    with labelled_rows(data, columns) as (path, strange):
        checks += [none_of(f"cells:{name}", count) for name, count in strange.items()]
        yield Labelled(data=path, schema=read_schema(path), checks=tuple(checks), readable=not any(strange.values()))


def class_check(data: Path, labels: Labelled, params: Mapping[str, Any], names: Sequence[str]) -> Check:
    """Check that the file has the classes of its labels: the result has the smallest of both.

    Parameters
    ----------
    data : path
        The unchanged file.
    names : sequence of str
        The quasi-identifiers.
    """
    ends = {column.name: (column.low, column.high) for column in bound_columns(params)}
    shown = [name for name in names if name in labels.schema.names]
    plain = measure(data, [end for name in shown for end in ends.get(name, (name,))])
    counted = measure(labels.data, shown)
    return Check(
        name="bound_classes", passed=plain.class_sizes == counted.class_sizes, observed=plain.k, required=counted.k
    )


def wrong_bounds(
    column: BoundColumn, types: Mapping[str, str], schema: pa.Schema, bounds: Sequence[float] | None = None
) -> int:
    """Count what the bounds of a column contradict: its labels, each other, and the types of both columns.

    Parameters
    ----------
    bounds : pair of float, optional
        Declared bounds, in place of open ends.
    """
    kind = types.get(column.name, "")
    if not (_WHOLE.fullmatch(kind) or _FLOAT.fullmatch(kind)):
        return len(column.labels) + 1
    whole = _WHOLE.fullmatch(kind) is not None
    wrong = sum(pair != _closed(bounds_of(label, whole=whole), label, bounds, whole) for label, pair in column.labels)
    wrong += sum(low is not None and high is not None and low > high for _, (low, high) in column.labels)
    wrong += len(column.labels) - len({label for label, _ in column.labels})
    wrong += len(column.labels) - len({pair for _, pair in column.labels})
    expected = pa.int64() if whole else pa.float64()
    kinds = {field.name: field.type for field in schema}
    wrong += column.mean is not None and kinds.get(column.mean) != pa.float64()
    return wrong + sum(int(kinds.get(end) != expected) for end in (column.low, column.high))


def left_out(
    column: BoundColumn,
    types: Mapping[str, str],
    made: Mapping[str, Collection[str | None]],
    bounds: Sequence[float] | None = None,
) -> int:
    """Count the labels of the recoding that have no pair though one is free for them, and pairs of no such label.

    Rows need not show a label: those of the next batch may. Of two labels that would have one pair the other has it.
    """
    listed, pairs = {label for label, _ in column.labels}, {pair for _, pair in column.labels}
    whole = _WHOLE.fullmatch(types.get(column.name, "")) is not None
    missing = {
        _closed(bounds_of(label, whole=whole), label, bounds, whole)
        for label in made.get(column.name, ())
        if label not in listed
    }
    free = [pair for pair in missing - pairs if pair is not None and _is_interval(pair)]
    return len(free) + len(listed - set(made.get(column.name, ())))


def _closed(pair: Pair | None, label: str | None, bounds: Sequence[float] | None, whole: bool) -> Pair | None:
    """Return a pair with the declared bounds for its open ends; that of missing cells alone has none."""
    if pair is None or bounds is None or label is None or _NUMBERED.sub("", label) == _UNTOLD[-1]:
        return pair
    low, high = (math.ceil(bounds[0]), math.floor(bounds[1])) if whole else (bounds[0], bounds[1])
    return low if pair[0] is None else pair[0], high if pair[1] is None else pair[1]


def _is_interval(pair: Pair) -> bool:
    low, high = pair
    return all(math.isfinite(end) for end in pair if end is not None) and (low is None or high is None or low <= high)


def bounds_of(label: str | None, *, whole: bool) -> Pair | None:
    """Return the lowest and the highest value of a label; None where it is no label of numbers.

    Parameters
    ----------
    label : str or None
        An interval, several of them, `*`, a number, or missing.
    whole : bool
        Whether the column holds integers, of which both ends are in the interval.
    """
    plain = label if label is None else _NUMBERED.sub("", label)
    if plain in _UNTOLD:
        return None, None
    assert plain is not None  # noqa: S101 - it is one of those
    intervals = [text for text in plain.split("|") if text != "missing"]
    try:
        found = [_ends(text, whole) for text in intervals]
    except (InvalidOperation, ValueError, OverflowError):
        return None
    return (found[0][0], found[-1][1]) if found else None


def _ends(text: str, whole: bool) -> Pair:
    between = _BETWEEN.fullmatch(text)
    if between is None and text[:2] not in ("< ", ">="):
        return _number(text, whole), _number(text, whole)
    if between is not None:
        low, high = between.groups()
        return _number(low, whole), _before(high, whole)
    return (None, _before(text[2:], whole)) if text[0] == "<" else (_number(text[3:], whole), None)


def _number(text: str, whole: bool) -> float:
    return math.ceil(Decimal(text)) if whole else float(text)


def _before(text: str, whole: bool) -> float:
    """Return the end of an interval: of integers the last in it, else the first after it."""
    return math.ceil(Decimal(text)) - 1 if whole else float(text)
